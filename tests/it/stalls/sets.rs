//! Operations on a million rows, and on forty thousand long ones.

use super::cases::Case;

/// `{t}` is the table: `many` or `long`.
const STATEMENTS: &[&str] = &[
    "SELECT COUNT(*) FROM (SELECT DISTINCT t FROM dbo.{t}) AS x",
    "SELECT COUNT(*) FROM (SELECT t FROM dbo.{t} UNION SELECT t + 'x' FROM dbo.{t}) AS x",
    "SELECT COUNT(*) FROM (SELECT t FROM dbo.{t} INTERSECT SELECT t FROM dbo.{t}) AS x",
    "SELECT COUNT(*) FROM (SELECT t FROM dbo.{t} EXCEPT SELECT t + 'x' FROM dbo.{t}) AS x",
    "SELECT COUNT(*) FROM (SELECT t, COUNT(*) AS n FROM dbo.{t} GROUP BY t) AS x",
    "SELECT COUNT(*) FROM (SELECT g, t, COUNT(*) AS n FROM dbo.{t} GROUP BY ROLLUP (g, t)) AS x",
    "SELECT COUNT(*) FROM dbo.{t} AS a JOIN dbo.{t} AS b ON a.t = b.t",
    "SELECT COUNT(*) FROM dbo.{t} AS a JOIN dbo.{t} AS b ON a.t = b.t OPTION (MERGE JOIN)",
    "SELECT COUNT(*) FROM dbo.{t} AS a FULL JOIN dbo.{t} AS b ON a.id = b.id + 5",
    "SELECT COUNT(*) FROM dbo.{t} WHERE id IN (SELECT id + 1 FROM dbo.{t})",
    "SELECT COUNT(*) FROM dbo.{t} AS a WHERE NOT EXISTS (SELECT 1 FROM dbo.{t} AS b WHERE b.t = a.t + 'x')",
    "SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY t) AS n FROM dbo.{t}) AS x",
    "SELECT MAX(n) FROM (SELECT RANK() OVER (PARTITION BY g ORDER BY t) AS n FROM dbo.{t}) AS x",
    "SELECT MAX(n) FROM (SELECT NTILE(5) OVER (ORDER BY id) AS n FROM dbo.{t}) AS x",
    "SELECT MAX(n) FROM (SELECT LAG(t) OVER (ORDER BY id) AS n FROM dbo.{t}) AS x",
    "SELECT MAX(n) FROM (SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY id) OVER (PARTITION BY g) AS n FROM dbo.{t}) AS x",
    "SELECT COUNT(*) FROM (SELECT TOP (1000000) t FROM dbo.{t} ORDER BY t DESC) AS x",
    "SELECT COUNT(*) FROM (SELECT t FROM dbo.{t} ORDER BY id OFFSET 900000 ROWS FETCH NEXT 10 ROWS ONLY) AS x",
    "SELECT COUNT(*) FROM (SELECT g, t, id FROM dbo.{t}) AS s PIVOT (COUNT(id) FOR g IN ([1], [2], [3])) AS p",
    "SELECT COUNT(*) FROM dbo.{t} WHERE t LIKE '%99%'",
    "SELECT COUNT(*) FROM dbo.{t} WHERE t < 'long m' OR t = REPLICATE('x', 3000)",
    "SELECT COUNT(*) FROM dbo.{t} WHERE t IN ('a', 'b', 'c', 'd', 'e', 'f')",
    "SELECT COUNT(TRANSLATE(t, 'lon', 'xyz')), COUNT(REPLACE(t, 'n', 'm')), COUNT(CHARINDEX('zz', t)) FROM dbo.{t}",
    "SELECT COUNT(CONVERT(nvarchar(max), t)), COUNT(TRIM('x' FROM t)), COUNT(PATINDEX('%[x-z]%', t)) FROM dbo.{t}",
    "SELECT MAX(t), MIN(t) FROM dbo.{t}",
    "SELECT CHECKSUM_AGG(CHECKSUM(*)) FROM dbo.{t}",
    "SELECT COUNT(HASHBYTES('MD5', t)), COUNT(UPPER(t)), COUNT(REVERSE(t)) FROM dbo.{t}",
    "SELECT DATALENGTH((SELECT * FROM dbo.{t} FOR XML AUTO))",
    "SELECT DATALENGTH((SELECT * FROM dbo.{t} FOR XML PATH, TYPE))",
    "SELECT DATALENGTH((SELECT * FROM dbo.{t} FOR JSON AUTO))",
    "SELECT * FROM dbo.{t}",
    "SELECT * INTO #t FROM dbo.{t}; TRUNCATE TABLE #t; DROP TABLE #t",
    "SELECT * INTO #t FROM dbo.{t}; DROP TABLE #t",
    "SELECT * INTO #t FROM dbo.{t}; CREATE INDEX i ON #t (t); DROP TABLE #t",
    "SELECT id, g, LEFT(t, 40) AS t INTO #t FROM dbo.{t}; CREATE CLUSTERED COLUMNSTORE INDEX i ON #t; SELECT MAX(t) FROM #t; \
     DELETE #t WHERE g = 1; ALTER INDEX i ON #t REORGANIZE; DROP TABLE #t",
    "SELECT * INTO #t FROM dbo.{t}; ALTER TABLE #t ADD c int NOT NULL DEFAULT 5; ALTER TABLE #t ALTER COLUMN g bigint; \
     CREATE UNIQUE CLUSTERED INDEX i ON #t (id); DROP TABLE #t",
    "SELECT * INTO #t FROM dbo.{t}; ALTER TABLE #t ADD CHECK (id > 0); DELETE #t; DROP TABLE #t",
    "SELECT * INTO #t FROM dbo.{t}; CREATE STATISTICS s ON #t (t) WITH FULLSCAN; UPDATE STATISTICS #t WITH FULLSCAN; DROP TABLE #t",
    "SELECT * INTO #t FROM dbo.{t}; MERGE #t AS a USING dbo.{t} AS b ON a.id = b.id WHEN MATCHED THEN UPDATE SET g = 1; DROP TABLE #t",
    "BEGIN TRANSACTION; UPDATE dbo.{t} SET g = g + 1; ROLLBACK",
    "BEGIN TRANSACTION; UPDATE dbo.{t} SET g = g; COMMIT",
    "BEGIN TRANSACTION; DELETE dbo.{t}; ROLLBACK",
    "BEGIN TRANSACTION; DELETE dbo.{t}; SELECT COUNT(*), MAX(id) FROM dbo.{t}; SELECT COUNT(*) FROM dbo.{t} WITH (TABLOCKX); ROLLBACK",
    "BEGIN TRANSACTION; SELECT COUNT(*) FROM dbo.{t} WITH (REPEATABLEREAD); COMMIT",
    "BEGIN TRANSACTION; SELECT COUNT(*) FROM dbo.{t} WITH (UPDLOCK); COMMIT",
    "DECLARE @t TABLE (id int PRIMARY KEY, t varchar(max)); INSERT @t SELECT id, t FROM dbo.{t}; UPDATE @t SET t = 'x'; DELETE @t",
    "DECLARE c CURSOR STATIC FOR SELECT t FROM dbo.{t}; OPEN c; FETCH c; CLOSE c; DEALLOCATE c",
    "DECLARE c CURSOR KEYSET FOR SELECT t FROM dbo.{t}; OPEN c; FETCH c; CLOSE c; DEALLOCATE c",
    "DECLARE c CURSOR SCROLL FOR SELECT t FROM dbo.{t}; OPEN c; FETCH LAST FROM c; CLOSE c; DEALLOCATE c",
    "WITH r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 100000) SELECT MAX(n), MAX(t) FROM r \
     CROSS JOIN (SELECT TOP (1) t FROM dbo.{t}) AS t OPTION (MAXRECURSION 0)",
    "DBCC CHECKTABLE ('dbo.{t}') WITH NO_INFOMSGS",
    "SELECT COUNT(*) FROM dbo.{t} AS a CROSS APPLY STRING_SPLIT(a.t, ' ')",
];

/// Returns all of them, for both tables.
pub(super) fn cases() -> Vec<Case> {
    let of = |table: &'static str| {
        STATEMENTS.iter().map(move |text| Case::statement(&text.replace("{t}", table)))
    };
    of("many").chain(of("long")).collect()
}
