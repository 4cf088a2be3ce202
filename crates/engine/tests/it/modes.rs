//! Row mode and vector mode return the same rows, errors and warnings, over tables of several
//! batches.

use engine::instance::ExecutionMode;

use crate::client::{Answer, batch, describe, instance, login};

/// Tables with duplicates, NULLs, and keys with no, one and many matches in the other table.
pub(crate) const TABLES: &str = "
CREATE TABLE n (i int NOT NULL PRIMARY KEY);
INSERT n SELECT value FROM GENERATE_SERIES(1, 3000);
CREATE TABLE a (id int NOT NULL PRIMARY KEY, k int NULL, big bigint NULL, d decimal(12, 2) NULL,
    wide decimal(30, 4) NULL, m money NULL, f float NULL, s varchar(20) NULL, u nvarchar(40) NULL,
    day date NULL, at datetime NULL, at2 datetime2 NULL, b bit NULL, g uniqueidentifier NULL,
    blob varbinary(max) NULL);
INSERT a SELECT i, NULLIF(i % 97, 3), i * 3000000000 % 1000003, NULLIF(i % 13, 5) * 1.25,
    i * 12345678901.0001, i % 7 * 1.5, i % 11 / 4.0, NULLIF(CHAR(65 + i % 5), 'C') + 'x',
    CASE WHEN i % 2 = 0 THEN N'ab' ELSE N'AB ' END + CAST(i % 3 AS nvarchar(2)),
    DATEADD(day, i % 31, '2024-01-01'), DATEADD(minute, i % 50, '2024-01-01'),
    DATEADD(second, i % 60, '2024-01-01'), i % 2, NULL, CAST(REPLICATE('z', i % 40) AS varbinary(max))
    FROM n;
CREATE TABLE b (id int NOT NULL PRIMARY KEY, k int NULL, s char(4) NULL, d decimal(12, 2) NULL, x int NOT NULL);
INSERT b SELECT i, NULLIF(i % 50, 7), CHAR(97 + i % 7) + 'X', i % 10 * 0.5, i FROM n WHERE i <= 700;
CREATE TABLE one (k int NOT NULL PRIMARY KEY, name varchar(10) NOT NULL);
INSERT one SELECT i, 'n' + CAST(i AS varchar(8)) FROM n WHERE i <= 60;
CREATE TABLE none (k int NULL, v int NULL);
CREATE TABLE c (id int NOT NULL, k int NULL, big bigint NULL, d decimal(12, 2) NULL, m money NULL, f float NULL,
    s varchar(20) NULL, day date NULL, at datetime NULL, at2 datetime2 NULL, t tinyint NULL, sm smallint NULL,
    never int NULL, wide bigint NOT NULL);
INSERT c SELECT id, k, big, d, m, f, s, day, at, at2, id % 200, NULLIF(id % 3000 - 1500, 7), NULL,
    CASE WHEN id % 2 = 0 THEN 9000000000000000000 ELSE -9000000000000000000 END + id FROM a;
CREATE CLUSTERED COLUMNSTORE INDEX cc ON c;
DELETE c WHERE id IN (1, 1500);
INSERT c (id, k, big, wide) VALUES (4000, 5, -7, 1), (4001, NULL, NULL, 2);
CREATE TABLE far (v bigint NULL, INDEX f CLUSTERED COLUMNSTORE);
INSERT far SELECT 9000000000000000000 FROM n;
CREATE TABLE p (x int NOT NULL, y int NOT NULL, k int NULL, s varchar(20) NULL, PRIMARY KEY (x, y));
CREATE INDEX pk ON p (k DESC, s);
INSERT p SELECT i % 40, i, NULLIF(i % 23, 4), CHAR(65 + i % 5) + 'x' FROM n WHERE i <= 2000;
UPDATE p SET k = 96 WHERE y % 50 = 1;
DELETE p WHERE y % 100 = 2;
ALTER INDEX f ON far REBUILD;
CREATE TABLE e (id int NOT NULL, k smallint NOT NULL, s varchar(20) NOT NULL, at datetime2(0) NULL,
    u nvarchar(20) COLLATE Latin1_General_BIN2 NOT NULL, t varchar(20) NOT NULL, INDEX ce CLUSTERED COLUMNSTORE);
INSERT e SELECT i, i * 37 % 101, CHAR(65 + i % 7) + CASE WHEN i % 3 = 0 THEN 'x ' ELSE 'X' END,
    DATEADD(second, NULLIF(i * 7919 % 3001, 77), '2024-01-01'), N'u' + CAST(i / 9 % 40 AS nvarchar(9)), CAST(i AS varchar(9)) FROM n;
ALTER INDEX ce ON e REBUILD;
INSERT e SELECT i, 7, 'ax', NULL, N'u' + CAST(i AS nvarchar(9)), 'u3' FROM n WHERE i < 30;
DELETE e WHERE id % 11 = 5;
";

/// Queries whose answers must be equal.
pub(crate) const QUERIES: &[&str] = &[
    "SELECT id, t FROM e WHERE s LIKE '%ax%' AND u <> N'u7' AND k > 5",
    "SELECT id FROM e WHERE s = 'AX' AND t LIKE '%7%' AND (u = N'u3' OR u > N'u5')",
    "SELECT COUNT(*) FROM e WHERE u LIKE N'%1%' AND LEN(s) = 2",
    "SELECT id, CHARINDEX('x', s), CHARINDEX('aX', s), CHARINDEX('1', t, id % 4 - 1), CHARINDEX('', s), CHARINDEX(NULL, s) FROM e",
    "SELECT id, CHARINDEX('x', s COLLATE Latin1_General_BIN2), CHARINDEX('Ax', s COLLATE Latin1_General_CS_AS, k) FROM a WHERE k < 9",
    "SELECT id, CHARINDEX('b', s), CHARINDEX(s, 'xAxBx'), CHARINDEX(N'b', u), CHARINDEX('x', s + CHAR(228), NULLIF(k, 4)) FROM a WHERE id < 200",
    "SELECT one.k, (SELECT COUNT(*) FROM e WHERE e.t = one.name OR e.u = N'u' + CAST(one.k AS nvarchar(9))) FROM one",
    "SELECT s, COUNT(*), SUM(id), MIN(t) FROM e WHERE u > N'u' GROUP BY s",
    "SELECT u, s, COUNT(*), COUNT(DISTINCT t), COUNT(DISTINCT s) FROM e GROUP BY u, s",
    "SELECT COUNT(DISTINCT s), COUNT(DISTINCT u), COUNT(DISTINCT t) FROM e",
    "SELECT s FROM e UNION SELECT s FROM c",
    "SELECT COUNT(*), SUM(x.id) FROM e x JOIN e y ON x.u = y.u AND x.s = y.s WHERE y.id < 400",
    "SELECT x.id, a.id FROM e x JOIN a ON a.s = x.s WHERE a.id < 8 AND x.k < 9",
    "SELECT TOP 10 s, COUNT(*) AS n, SUM(k), MIN(id) FROM e GROUP BY s ORDER BY n DESC, s",
    "SELECT TOP 3 k, COUNT(*), AVG(id), MAX(t) FROM e GROUP BY k ORDER BY 2, k DESC",
    "SELECT TOP 4 t, SUM(id) FROM e GROUP BY t HAVING SUM(k) > 9 ORDER BY SUM(id) DESC",
    "SELECT TOP 4 t, MIN(at) FROM e GROUP BY t ORDER BY MIN(at), t",
    "SELECT TOP 4 t, MAX(at), COUNT(at) FROM e GROUP BY t ORDER BY MAX(at) DESC, t",
    "SELECT t, COUNT(*) FROM e GROUP BY t ORDER BY COUNT(*) DESC, t OFFSET 3 ROWS FETCH NEXT 5 ROWS ONLY",
    "SELECT TOP 4 k, COUNT(*), SUM(wide) FROM c GROUP BY k ORDER BY COUNT(*) DESC, k",
    "SELECT TOP 2 k, SUM(k), SUM(k + 3), SUM(k - 1) FROM e GROUP BY k ORDER BY 2 DESC",
    "SELECT TOP 3 k, SUM(big) FROM a GROUP BY k ORDER BY SUM(big), k",
    "SELECT TOP 5 id, s, at FROM e ORDER BY at, id",
    "SELECT TOP 5 id, s, at, t FROM e WHERE t LIKE '%3%' AND s <> 'bx' ORDER BY at DESC, id",
    "SELECT TOP 5 id, t FROM e ORDER BY id DESC",
    "SELECT TOP 5 id, t FROM e WHERE k < 50 ORDER BY k, id DESC",
    "SELECT TOP 3 id, s FROM e WHERE 10 / (id - 2500) < 5 ORDER BY k, id",
    "SELECT TOP 3 id, 10 / (id - 2500) FROM e ORDER BY id",
    "SELECT TOP 3 id, 10 / (id - 2900) AS q FROM e ORDER BY id, q",
    "SELECT TOP 4 WITH TIES k, COUNT(*) FROM e GROUP BY k ORDER BY COUNT(*)",
    "SELECT TOP 6 at, at2, day, id FROM a ORDER BY at DESC, at2, id",
    "SELECT TOP 6 m, d, id FROM a ORDER BY m, id",
    "SELECT COUNT(*) FROM a",
    "SELECT COUNT(*), COUNT(k), SUM(k), AVG(k), MIN(k), MAX(k) FROM a WHERE id > 1500",
    "SELECT k, COUNT(*), SUM(big), SUM(d), AVG(d), SUM(wide), SUM(m), AVG(f), MIN(s), MAX(u) FROM a GROUP BY k",
    "SELECT s, u, MIN(day), MAX(at), MIN(at2), MAX(d), MIN(wide), MAX(big), MIN(f), COUNT(DISTINCT k) FROM a GROUP BY s, u",
    "SELECT d, b, COUNT(DISTINCT s), SUM(DISTINCT k), AVG(DISTINCT d) FROM a GROUP BY d, b",
    "SELECT g, f, COUNT(*) FROM a GROUP BY g, f",
    "SELECT s, STRING_AGG(CAST(id AS varchar(5)), ',') WITHIN GROUP (ORDER BY id DESC) FROM a WHERE id < 60 GROUP BY s",
    "SELECT s, STDEV(f), VAR(k), CHECKSUM_AGG(k) FROM a GROUP BY s",
    "SELECT s, b, SUM(k), GROUPING_ID(s, b) FROM a GROUP BY CUBE (s, b)",
    "SELECT s, b, SUM(k) FROM a GROUP BY GROUPING SETS ((s), (b), ())",
    "SELECT b, AVG(k), SUM(k), SUM(big), AVG(big), AVG(wide), SUM(wide), SUM(wide * 1000), AVG(d), SUM(d), SUM(f), AVG(f), AVG(m), SUM(m), COUNT(k), COUNT(*) FROM a GROUP BY b",
    "SELECT t % 3, AVG(k), SUM(k), SUM(big), AVG(big), AVG(d), SUM(d), SUM(d * d), AVG(d * d), SUM(wide / 1000), COUNT(k) FROM c GROUP BY t % 3",
    "SELECT SUM(CASE WHEN id = 1 THEN CAST(REPLICATE('9', 38) AS decimal(38, 0)) WHEN id = 2000 THEN 1 WHEN id = 2001 THEN -1 ELSE 0 END) FROM a",
    "SELECT s, k, b, COUNT(*) FROM a GROUP BY s, k, b",
    "SELECT d, k, b, u, COUNT(*) FROM a GROUP BY d, k, b, u",
    "SELECT SUM(v), COUNT(*), MAX(k) FROM none",
    "SELECT COUNT(*), COUNT(k), COUNT_BIG(s), SUM(k), AVG(k), SUM(big), AVG(big), SUM(d), AVG(d), SUM(m), AVG(m) FROM c",
    "SELECT MIN(k), MAX(k), MIN(big), MAX(big), MIN(d), MAX(m), MIN(day), MAX(day), MIN(at), MAX(at2), MIN(t), MAX(sm) FROM c",
    "SELECT SUM(CAST(k AS bigint)), SUM(CAST(sm AS bigint)), SUM(sm), AVG(t), SUM(id), SUM(wide) FROM c",
    "SELECT COUNT(never), SUM(never), MIN(never), MAX(never), COUNT(*) FROM c",
    "SELECT COUNT(DISTINCT k), SUM(k), MIN(s), MAX(f), SUM(f) FROM c",
    "SELECT COUNT(*), SUM(k) FROM c WHERE id > 1400",
    "SELECT SUM(k) FROM c HAVING COUNT(*) > 5",
    "SELECT (SELECT SUM(big) FROM c) + COUNT(*) FROM none",
    "SELECT SUM(v) FROM far",
    "SELECT MIN(v), AVG(CAST(v AS decimal(38, 0))) FROM far",
    "SELECT k, SUM(v) FROM none GROUP BY k",
    "SELECT k, SUM(v) FROM none GROUP BY ROLLUP (k)",
    "SELECT a.id, b.id FROM a JOIN b ON a.k = b.k WHERE a.id < 400",
    "SELECT a.id, one.name FROM a JOIN one ON a.k = one.k",
    "SELECT a.id, one.name FROM a LEFT JOIN one ON a.k = one.k",
    "SELECT a.id, one.name FROM a LEFT JOIN one ON a.k = one.k AND one.name > 'n3'",
    "SELECT a.id, b.id FROM a LEFT JOIN b ON a.k = b.k AND b.x > a.id + 300",
    "SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k AND a.id = b.x",
    "SELECT a.id, none.v FROM a LEFT JOIN none ON a.k = none.k",
    "SELECT a.id, none.v FROM none FULL JOIN a ON a.k = none.k",
    "SELECT a.id, b.s FROM a JOIN b ON a.s = b.s",
    "SELECT a.id, b.s FROM a JOIN b ON a.d = b.d AND a.k = b.k",
    "SELECT x.id, y.id FROM a x JOIN a y ON x.big = y.big",
    "SELECT a.id, y.id FROM a JOIN (SELECT id, id * 3 AS far, id * 1000003 AS farther FROM a WHERE id <= 2000) y ON y.far = a.id",
    "SELECT a.id, y.id FROM a LEFT JOIN (SELECT id, id * 3 AS far FROM a WHERE id <= 2000) y ON y.far = a.id AND a.k > 3",
    "SELECT x.id, y.id FROM (SELECT id, id * 100003 AS far FROM a) x JOIN (SELECT id, id * 100003 AS far FROM a WHERE id % 9 = 4) y ON y.far = x.far",
    "SELECT x.id, y.id FROM (SELECT id, id * 100003 AS far FROM a) x LEFT JOIN (SELECT id, id * 100003 AS far FROM a WHERE id % 9 = 4) y ON y.far = x.far",
    "SELECT x.id, y.id FROM a x JOIN a y ON y.id = x.id AND y.k = x.k AND y.s = x.s",
    "SELECT x.id, y.id FROM a x JOIN a y ON y.id = x.id AND y.k = x.k AND y.s = x.s AND y.day = x.day",
    "SELECT x.id, y.id FROM a x JOIN a y ON y.id = x.id AND y.k = x.k AND y.s = x.s AND y.day = x.day AND y.d = x.d",
    "SELECT x.id, y.id, y.u FROM c x LEFT JOIN a y ON y.id = x.k WHERE x.id % 10 = 1",
    "SELECT a.id FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k)",
    "SELECT a.id FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE b.k = a.k AND b.x > a.id)",
    "SELECT a.id FROM a WHERE a.k IN (SELECT k FROM b)",
    "SELECT a.id FROM a WHERE a.k NOT IN (SELECT k FROM b)",
    "SELECT a.id FROM a WHERE a.k NOT IN (SELECT k FROM b WHERE k IS NOT NULL)",
    "SELECT a.id, b.x, b.s FROM a JOIN b ON b.id = a.k OPTION (LOOP JOIN)",
    "SELECT a.id, b.x, n.i FROM a JOIN b ON b.id = a.k JOIN n ON n.i = b.x + 2990 OPTION (LOOP JOIN, FORCE ORDER)",
    "SELECT a.id, b.x FROM a JOIN b ON b.id = a.k AND b.s < a.s AND b.d > 1 WHERE a.id BETWEEN 5 AND 2000 OPTION (LOOP JOIN)",
    "SELECT a.id FROM a WHERE EXISTS (SELECT * FROM b WHERE b.id = a.k AND b.x > a.id / 40) OPTION (LOOP JOIN)",
    "SELECT a.id FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE b.id = a.k) OPTION (LOOP JOIN)",
    "SELECT TOP 5 a.id, b.x FROM a JOIN b ON b.id = a.k WHERE a.id > 40 OPTION (LOOP JOIN)",
    "SELECT a.id, b.x FROM a JOIN b ON b.id = 100 / (a.id - 300) OPTION (LOOP JOIN)",
    "SELECT a.id, b.x FROM a JOIN b ON b.id = a.k AND 10 / (a.k - 50) < b.x OPTION (LOOP JOIN)",
    "SELECT COUNT(*) FROM a JOIN b ON b.id = a.k JOIN one ON one.k = a.k OPTION (LOOP JOIN)",
    "SELECT a.id, p.y, p.s FROM a JOIN p ON p.x = a.k WHERE a.id < 700 OPTION (LOOP JOIN)",
    "SELECT TOP 70 a.id, p.y FROM a JOIN p ON p.x = a.k WHERE a.id > 40 OPTION (LOOP JOIN)",
    "SELECT TOP 3 a.id, p.y FROM a JOIN p ON p.k = a.k OPTION (LOOP JOIN)",
    "SELECT a.id, p.y FROM a JOIN p ON p.k = a.k AND p.s = a.s OPTION (LOOP JOIN)",
    "SELECT a.id, p.y FROM a JOIN p ON p.k = a.k AND p.s < a.s AND p.y <> a.id OPTION (LOOP JOIN)",
    "SELECT a.id, p.y FROM a JOIN p ON p.x = 100 / (a.id - 300) OPTION (LOOP JOIN)",
    "SELECT COUNT(*), SUM(q.y) FROM a JOIN p ON p.x = a.k JOIN p q ON q.k = p.k WHERE a.id < 60 OPTION (LOOP JOIN)",
    "SELECT a.id FROM a WHERE EXISTS (SELECT * FROM p WHERE p.x = a.k) OPTION (LOOP JOIN)",
    "SELECT a.id FROM a WHERE NOT EXISTS (SELECT * FROM p WHERE p.k = a.k) OPTION (LOOP JOIN)",
    "SELECT a.id FROM a WHERE EXISTS (SELECT * FROM p WHERE p.x = a.k AND p.y > a.id) OPTION (LOOP JOIN)",
    "SELECT a.id FROM a WHERE NOT EXISTS (SELECT * FROM p WHERE p.x = a.k AND p.y > a.id AND p.s < a.s) OPTION (LOOP JOIN)",
    "SELECT a.id FROM a WHERE EXISTS (SELECT * FROM p WHERE p.k = a.k AND p.s <> a.s) AND NOT EXISTS (SELECT * FROM p WHERE p.x = a.k AND p.y > 1900) OPTION (LOOP JOIN)",
    "SELECT one.k, one.name FROM one WHERE one.k <= 9 AND EXISTS (SELECT * FROM c WHERE c.id = one.k)",
    "SELECT one.k FROM one WHERE EXISTS (SELECT * FROM c WHERE c.id = one.k)",
    "SELECT one.k FROM one WHERE one.k <= 9 AND NOT EXISTS (SELECT * FROM c WHERE c.id = one.k AND c.k > 4)",
    "SELECT b.id, b.k FROM b WHERE b.x < 20 AND EXISTS (SELECT * FROM c WHERE c.k = b.k)",
    "SELECT b.id, b.k FROM b WHERE b.x < 20 AND NOT EXISTS (SELECT * FROM c WHERE c.k = b.k)",
    "SELECT b.id FROM b WHERE b.x < 20 AND EXISTS (SELECT * FROM c WHERE c.k = b.k AND c.id > b.x * 140)",
    "SELECT b.id FROM b WHERE b.x < 20 AND NOT EXISTS (SELECT * FROM c WHERE c.k = b.k AND c.id > b.x * 140)",
    "SELECT b.id FROM b WHERE b.x < 20 AND EXISTS (SELECT * FROM c WHERE c.k = b.k AND c.s = b.s)",
    "SELECT one.k, c.id, c.s FROM one LEFT JOIN c ON c.k = one.k AND c.id > 2000 WHERE one.k < 9",
    "SELECT one.k, c.id FROM one LEFT JOIN c ON c.id = one.k * 100",
    "SELECT one.k FROM one WHERE one.k < 9 AND EXISTS (SELECT * FROM c JOIN b ON b.id = c.id WHERE c.k = one.k AND b.x > 100)",
    "SELECT one.k FROM one WHERE one.k < 9 AND EXISTS (SELECT * FROM c WHERE c.id = one.k AND EXISTS (SELECT * FROM a WHERE a.k = c.k))",
    "SELECT TOP 3 one.k FROM one WHERE EXISTS (SELECT * FROM c WHERE c.id = one.k) ORDER BY one.k",
    "SELECT COUNT(*) FROM (SELECT TOP 2 one.k FROM one WHERE 10 / (one.k - 20) < 100 AND EXISTS (SELECT * FROM c WHERE c.id = one.k)) t",
    "SELECT one.k FROM one WHERE one.k > 900 AND EXISTS (SELECT * FROM c WHERE c.id = one.k)",
    "SELECT COUNT(*), COUNT(c.id), SUM(c.k), MIN(c.s) FROM one LEFT JOIN c ON c.k = one.k",
    "SELECT one.k, COUNT(c.id), SUM(c.id) FROM one LEFT JOIN c ON c.k = one.k WHERE one.k < 20 GROUP BY one.k",
    "SELECT one.k, COUNT(c.id), MAX(c.s) FROM one LEFT JOIN c ON c.id = one.k * 100 WHERE one.k < 20 GROUP BY one.k",
    "SELECT b.id, COUNT(c.id), SUM(c.id), MIN(b.s) FROM b LEFT JOIN c ON c.k = b.k WHERE b.x < 20 GROUP BY b.id",
    "SELECT b.id, COUNT(c.id), SUM(c.id) FROM b LEFT JOIN c ON c.k = b.k AND c.id > b.x * 140 WHERE b.x < 20 GROUP BY b.id",
    "SELECT b.id, COUNT(c.id) FROM b LEFT JOIN c ON c.s = b.s AND c.d = b.d WHERE b.x < 20 GROUP BY b.id",
    "SELECT b.id, COUNT(c.id) FROM b LEFT JOIN (SELECT * FROM c WHERE never = 3 OR id < 0) c ON c.k = b.k WHERE b.x < 20 GROUP BY b.id",
    "SELECT b.id, b.s, c.id FROM b LEFT JOIN c ON c.k = b.k WHERE b.x < 20 ORDER BY b.id, c.id",
    "SELECT b.id, b.s, c.id FROM c RIGHT JOIN b ON c.k = b.k AND c.s > b.s WHERE b.x < 20 ORDER BY b.id, c.id",
    "SELECT COUNT(*), COUNT(b.id), COUNT(c.id), SUM(c.k), SUM(b.x) FROM (SELECT * FROM b WHERE x < 20) b FULL JOIN c ON c.k = b.k",
    "SELECT COUNT(*), COUNT(b.id), COUNT(c.id), SUM(c.k), SUM(b.x) FROM b FULL JOIN c ON c.k = b.k",
    "SELECT b.id, c.id, c.s FROM (SELECT * FROM b WHERE x < 20) b FULL JOIN c ON c.k = b.k AND c.id > b.x * 140 ORDER BY b.id, c.id",
    "SELECT none.v, c.id FROM none FULL JOIN c ON c.k = none.k ORDER BY c.id",
    "SELECT b.id FROM b WHERE b.x < 20 AND EXISTS (SELECT * FROM c WHERE c.s = b.s)",
    "SELECT b.id FROM b WHERE b.x < 20 AND NOT EXISTS (SELECT * FROM c WHERE c.s = b.s AND c.d = b.d)",
    "SELECT b.id FROM b WHERE b.x < 20 AND NOT EXISTS (SELECT * FROM c WHERE c.never = b.k)",
    "SELECT b.id FROM b WHERE b.x IN (7, 57) AND NOT EXISTS (SELECT * FROM c WHERE c.k = b.k)",
    "SELECT TOP 3 b.id FROM b WHERE b.x < 20 AND EXISTS (SELECT * FROM c WHERE c.k = b.k AND c.s <> b.s)",
    "SELECT b.id, COUNT(c.id), SUM(c.k), MAX(b.x) FROM b LEFT JOIN c ON c.s = b.s WHERE b.x < 20 GROUP BY b.id",
    "SELECT b.id, COUNT(c.id), SUM(c.k) FROM b LEFT JOIN c ON c.s = b.s AND c.id > b.x * 140 WHERE b.x < 20 GROUP BY b.id",
    "SELECT COUNT(*), COUNT(b.id), COUNT(c.id), SUM(c.k), SUM(b.x) FROM (SELECT * FROM b WHERE x < 20) b FULL JOIN c ON c.s = b.s",
    "SELECT COUNT(*), COUNT(b.id), COUNT(c.id), SUM(c.k), SUM(b.x) FROM (SELECT * FROM b WHERE x < 20) b FULL JOIN c ON c.s = b.s AND c.k < b.x * 9",
    "SELECT b.id FROM b WHERE b.x < 20 AND NOT EXISTS (SELECT * FROM c WHERE c.s = b.s AND c.k > b.x * 8)",
    "SELECT b.id FROM b WHERE b.x < 20 AND EXISTS (SELECT * FROM c WHERE c.s = b.s AND c.k > b.x * 8)",
    "SELECT one.k, a.id FROM one JOIN p ON p.x = one.k JOIN a ON a.id = p.y WHERE one.name > 'n3' OPTION (LOOP JOIN, FORCE ORDER)",
    "SELECT a.id, t.x FROM a CROSS APPLY (SELECT TOP 2 x FROM b WHERE b.k = a.k ORDER BY x DESC) t WHERE a.id < 300",
    "SELECT a.id, t.x FROM a OUTER APPLY (SELECT TOP 1 x FROM b WHERE b.k = a.k AND b.x > a.id ORDER BY x) t WHERE a.id < 300",
    "SELECT a.id, (SELECT MAX(x) FROM b WHERE b.k = a.k) FROM a WHERE id < 500",
    "SELECT a.id, b.id FROM a, b WHERE a.id < 60 AND b.id < 60 AND a.id + b.id = 70",
    "SELECT id, k FROM a ORDER BY k DESC, id",
    "SELECT TOP 37 id, s, d FROM a ORDER BY s, d DESC, id",
    "SELECT TOP 10 WITH TIES k, s FROM a ORDER BY k",
    "SELECT TOP 3 PERCENT id FROM a ORDER BY f, id",
    "SELECT TOP 1 PERCENT WITH TIES f FROM a ORDER BY f",
    "SELECT id FROM a ORDER BY wide OFFSET 1010 ROWS FETCH NEXT 1100 ROWS ONLY",
    "SELECT TOP 5 id FROM a WHERE id > 100",
    "SELECT DISTINCT k, s FROM a",
    "SELECT DISTINCT u FROM a",
    "SELECT k FROM a UNION SELECT k FROM b",
    "SELECT k, s FROM a UNION ALL SELECT k, s FROM b",
    "SELECT k FROM a EXCEPT SELECT k FROM b",
    "SELECT k, d FROM a INTERSECT SELECT k, d FROM b",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id), RANK() OVER (ORDER BY s), SUM(k) OVER (PARTITION BY s ORDER BY id ROWS 3 PRECEDING) FROM a",
    "SELECT TOP 20 ROW_NUMBER() OVER (ORDER BY (SELECT NULL)), a.id, b.id FROM a CROSS JOIN b WHERE a.id > 90",
    "SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC), RANK() OVER (ORDER BY id DESC, s) FROM a WHERE k > 5",
    "SELECT id, k, RANK() OVER (ORDER BY (SELECT 1)), DENSE_RANK() OVER (PARTITION BY (SELECT 1) ORDER BY id) FROM a",
    "SELECT TOP 3 ROW_NUMBER() OVER (ORDER BY id), 10 / (id - 4) FROM a",
    "SELECT id, LAG(d, 2) OVER (ORDER BY id), FIRST_VALUE(s) OVER (PARTITION BY b ORDER BY id), NTILE(7) OVER (ORDER BY id) FROM a",
    "SELECT id, blob, at, at2, m, g FROM a WHERE b = 1 AND at > '2024-01-01 00:20'",
    "SELECT CASE WHEN k > 50 THEN s ELSE u END, COALESCE(k, id), d * 2 + wide, LEN(s), UPPER(u) FROM a",
    "SELECT x.s, SUM(x.d * (1 - y.d)) FROM a x JOIN b y ON x.k = y.k GROUP BY x.s HAVING SUM(x.d) > 100 ORDER BY 2 DESC",
    "WITH r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 90) SELECT r.i, a.id FROM r JOIN a ON a.k = r.i",
    "SELECT value, s FROM GENERATE_SERIES(1, 100) g JOIN a ON a.k = g.value",
    "SELECT id, 100 / (k - 50) FROM a WHERE id < 200",
    "SELECT TOP 3 id, 100 / (k - 50) FROM a WHERE 100 / (id - 700) < 5 ORDER BY id",
    "SELECT COUNT(*) FROM a WHERE 1 / (id - 2000) = 0",
    "SELECT TOP 2 id FROM a WHERE 1 / (id - 2000) = 0",
    "SELECT SUM(CAST(big AS int) * 1000) FROM a",
    "SELECT SUM(i * 1000000) FROM n",
    "SELECT SUM(CAST(wide * 1000000000000000000 AS decimal(38, 4))) FROM a",
    "SELECT id, CAST(s AS int) FROM a",
    "SELECT (SELECT k FROM a WHERE id IN (1, 2)) FROM n",
    "SELECT x.id FROM a x JOIN b y ON x.k = y.k AND 10 / (y.x - 400) > 100",
    "SELECT s, SUM(k) AS k FROM a GROUP BY s FOR JSON PATH",
    "SELECT p.[Ax], p.[Bx] FROM (SELECT s, k FROM a) t PIVOT (SUM(k) FOR s IN ([Ax], [Bx])) p",
    "SELECT TOP (SELECT 3) id FROM a ORDER BY id",
    "SELECT one.name, t.n, t.m FROM one JOIN (SELECT k, COUNT(*) AS n, MAX(id) AS m FROM a GROUP BY k) t ON t.k = one.k",
    "SELECT one.name, t.total FROM one JOIN (SELECT k, SUM(d) AS total FROM a GROUP BY k) t ON t.k = one.k WHERE one.k < 3",
    "SELECT x.id, y.id FROM a x JOIN a y ON x.day = y.day WHERE y.id < 4 AND x.id > 2900",
    "SELECT x.id, y.x FROM a x JOIN b y ON x.big = y.x",
    "SELECT x.id, y.id FROM a x LEFT JOIN b y ON y.x = x.k JOIN one z ON z.k = x.k WHERE z.name < 'n2'",
    "SELECT x.id FROM a x JOIN one y ON x.k = y.k WHERE 10 / (x.id - 2010) < 1",
    "SELECT COUNT(*) FROM a WHERE day >= '2024-01-05' AND day < DATEADD(day, 7, CAST('2024-01-05' AS date))",
    "SELECT id, s FROM a WHERE s LIKE 'A%' AND k > 5 AND u <> N'ab0' AND (d = 1.25 OR b = 1) AND at > '2024-01-01'",
    "SELECT x.id, x.blob, y.name FROM a x JOIN one y ON x.k = y.k WHERE x.s > 'B' AND x.id <> 7 AND x.u LIKE N'a%' AND y.name <> 'n9'",
    "SELECT k, s FROM c WHERE s LIKE '%x' AND s > 'A' AND k > 5 AND (at > '2024-01-01' OR f < 2)",
    "SELECT TOP 3 id, s, d FROM a WHERE 10 / (id - 30) <> 3 AND s = 'Ax'",
    "SELECT id, s, d FROM a WHERE 10 / (id - 30) <> 3 AND s = 'Ax'",
    "SELECT TOP 4 x.id, x.s, y.name FROM a x JOIN one y ON x.k = y.k WHERE 10 / (x.id - 30) <> 3 AND x.s <> 'Ax' ORDER BY x.id",
    "SELECT TOP 4 x.id, x.s, y.name FROM a x JOIN one y ON x.k = y.k WHERE 10 / (x.id - 1030) <> 3 AND x.s <> 'Ax'",
    "SELECT COUNT(*) FROM a WHERE day < DATEADD(month, 1, CAST('2024-01-15' AS date)) AND day > CAST('2024-01-06' AS date) AND at2 < '2024-03-01'",
    "SELECT COUNT(*) FROM a WHERE id < 5 AND day < DATEADD(year, 9000, CAST('2024-01-15' AS date))",
    "SELECT COUNT(*) FROM a WHERE id < 0 AND day < DATEADD(year, 9000, CAST('2024-01-15' AS date))",
    "SELECT COUNT(*) FROM a WHERE id < 5 AND day < CAST('2024-02-30' AS date)",
    "SELECT COUNT(*) FROM a WHERE k > 5 AND at < DATEADD(month, 1 / (SELECT COUNT(*) FROM none), at2)",
    "SELECT SUM(d * (1 - d) * (1 + d)), SUM(wide * d), MAX(wide * wide) FROM a",
    "SELECT i FROM n WHERE i IN (SELECT id FROM b) AND i NOT IN (1, 2, 3) ORDER BY i DESC",
];

/// The queries that fail, by their first words, with the error.
const FAILING: &[(&str, &str)] = &[
    ("SELECT id, 100 / (k - 50) FROM", "8134"),
    ("SELECT a.id, b.x FROM a JOIN b ON b.id = 100 /", "8134"),
    ("SELECT a.id, b.x FROM a JOIN b ON b.id = a.k AND 10 /", "8134"),
    ("SELECT a.id, p.y FROM a JOIN p ON p.x = 100 /", "8134"),
    ("SELECT id, s, d FROM a WHERE 10 /", "8134"),
    ("SELECT COUNT(*) FROM a WHERE 1 /", "8134"),
    ("SELECT SUM(CAST(big", "8115"),
    ("SELECT SUM(i *", "8115"),
    ("SELECT SUM(CAST(wide", "8115"),
    ("SELECT id, CAST(s AS int)", "245"),
    ("SELECT (SELECT k FROM a WHERE id IN (1, 2))", "512"),
    ("SELECT x.id FROM a x JOIN b y", "8134"),
    ("SELECT x.id FROM a x JOIN one y", "8134"),
    ("SELECT COUNT(*) FROM a WHERE k > 5 AND at <", "8134"),
    ("SELECT COUNT(*) FROM a WHERE id < 5 AND day < DATEADD(year", "517"),
    ("SELECT COUNT(*) FROM a WHERE id < 5 AND day < CAST", "241"),
    ("SELECT SUM(v) FROM far", "8115"),
    ("SELECT SUM(CASE WHEN id = 1 THEN", "8115"),
    ("SELECT TOP 4 k, COUNT(*), SUM(wide)", "8115"),
    ("SELECT TOP 3 id, s FROM e WHERE 10 /", "8134"),
    ("SELECT TOP 3 id, 10 / (id - 2900)", "8134"),
];

#[test]
fn both_modes_give_the_same() {
    let instance = instance();
    let mut session = login(&instance);
    let made = batch(&mut session, TABLES);
    assert!(made.errors.is_empty(), "{}", describe(&made.errors[0]));
    let mut failures = String::new();
    for query in QUERIES {
        let [row, vector] = [ExecutionMode::Row, ExecutionMode::Vector].map(|mode| {
            instance.set_execution_mode(mode);
            outcome(&batch(&mut session, query), query.contains("ORDER BY"))
        });
        let number = row.first().and_then(|line| line.strip_prefix("msg ")?.split(' ').next());
        let fails = number.filter(|number| *number != "8153");
        let wanted = FAILING.iter().find(|(start, _)| query.starts_with(start)).map(|f| f.1);
        if fails != wanted {
            failures += &format!("{query}\n  expected {wanted:?}, got {:?}\n", row.first());
        }
        if row != vector {
            let at = row.iter().zip(&vector).position(|(a, b)| a != b);
            let at = at.unwrap_or(row.len().min(vector.len()));
            failures += &format!(
                "{query}\n  row mode {} lines, vector mode {}; at {at}:\n    {:?}\n    {:?}\n",
                row.len(),
                vector.len(),
                row.get(at),
                vector.get(at)
            );
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// The outcome of a query: its rows, in order if it has ORDER BY, and its errors and messages. For
/// a query that fails the rows before the error do not count, since their number is not defined.
fn outcome(answer: &Answer, is_ordered: bool) -> Vec<String> {
    let mut lines: Vec<String> =
        answer.errors.iter().chain(&answer.messages).map(describe).collect();
    if answer.errors.is_empty() {
        let mut rows: Vec<String> =
            answer.sets.iter().flatten().map(|row| row.join(" | ")).collect();
        if !is_ordered {
            rows.sort();
        }
        lines.extend(rows);
    }
    lines
}

#[test]
fn a_large_table_is_read_in_order_where_that_shows() {
    let mut session = login(&instance());
    let made = batch(
        &mut session,
        "CREATE TABLE big (id int NOT NULL PRIMARY KEY, k int NOT NULL, f float NOT NULL);
         INSERT big SELECT 20000 - value, value % 7, value FROM GENERATE_SERIES(1, 12000)",
    );
    assert!(made.errors.is_empty(), "{}", describe(&made.errors[0]));
    let rows = |text: &str, session: &mut _| outcome(&batch(session, text), true);
    let ids: Vec<String> = (8_000..20_000).map(|id| id.to_string()).collect();
    assert_eq!(rows("SELECT id FROM big", &mut session), ids);
    assert_eq!(rows("SELECT MIN(id) FROM (SELECT TOP 3 id FROM big) t", &mut session), ["8000"]);
    assert_eq!(rows("SELECT MAX(id) FROM (SELECT TOP 3 id FROM big) t", &mut session), ["8002"]);
    assert_eq!(
        rows("SELECT COUNT(*), MIN(id) FROM big WHERE k = 3", &mut session),
        ["1714 | 8006"]
    );
    let shown = [
        ("SELECT SUM(k) FROM big", false),
        ("SELECT id FROM big ORDER BY k", false),
        ("SELECT k, COUNT(*) FROM big WHERE f > 2 GROUP BY k", false),
        ("SELECT SUM(f) FROM big", true),
        ("SELECT id FROM big WHERE k = 3", true),
        ("SELECT COUNT(*) FROM (SELECT TOP 5 id FROM big WHERE k = 3) t", true),
    ];
    rows("SET SHOWPLAN_TEXT ON", &mut session);
    for (text, is_ordered) in shown {
        let plan = rows(text, &mut session).join("\n");
        assert!(plan.contains("Index Scan(OBJECT:([master].[dbo].[big]"), "{plan}");
        assert_eq!(plan.contains("ORDERED FORWARD"), is_ordered, "{text}\n{plan}");
    }
}
