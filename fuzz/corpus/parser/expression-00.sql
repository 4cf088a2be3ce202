-- Expressions and conditions.
SELECT 1, -1, 1.5, .5, 5., 1e3, 1.5E-3, 1e, $1.5, $-2, -$3, $1,000.25, $, €5, 0x, 0x1F, 0xABC, 'it''s', N'x', NULL, 2147483647, 2147483648, 12345678901234567890123456789012345678
SELECT a + b - c & d | e ^ f, a * b / c % d, -a, +a, ~a, - - a, ~ ~ a, (a), ((a)), (a + b) * c
SELECT a COLLATE Latin1_General_100_BIN2 + b, a AT TIME ZONE 'UTC' AT TIME ZONE @z, 'x' COLLATE DATABASE_DEFAULT
SELECT CASE WHEN a = 1 THEN 'x' WHEN b IS NULL THEN 'y' ELSE 'z' END, CASE a WHEN 1 THEN 2 WHEN 3 THEN 4 END, CASE WHEN EXISTS (SELECT 1) THEN 1 END
SELECT IIF(a > b, 1, 0), COALESCE(a, b, 0), NULLIF(a, 0), ISNULL(a, b), LEFT(a, 1), RIGHT(a, 2), CHOOSE(1, 'a', 'b')
SELECT CAST(a AS decimal(9, 2)), CONVERT(varchar(max), b, 121), TRY_CAST(a AS int), TRY_CONVERT(datetime2(7), b), PARSE(a AS date USING 'en-US'), TRY_PARSE(a AS money), CAST(a AS dbo.mytype), CONVERT(xml (CONTENT s.c), b)
SELECT CAST(a AS double precision), CAST(a AS national character varying(5)), CAST(a AS char varying(3)), CAST(a AS national text), CAST(a AS [varchar](10)), CAST(a AS sysname)
SELECT DATEADD(day, 1, a), DATEDIFF(second, a, GETUTCDATE()), DATEPART(yy, a), dbo.f(a, DEFAULT), f(), db.s.f(1)
SELECT CURRENT_TIMESTAMP, CURRENT_USER, SESSION_USER, SYSTEM_USER, USER, @@ROWCOUNT, @@VERSION, @@ERROR
SELECT TRIM(a), TRIM('x' FROM a), TRIM(LEADING 'x' FROM a), TRIM(TRAILING 'x' FROM a), TRIM(BOTH 'x' FROM a)
SELECT JSON_OBJECT('a': 1, 'b': c NULL ON NULL), JSON_OBJECT(), JSON_ARRAY(1, 2 ABSENT ON NULL), JSON_OBJECT('a': 1 ABSENT ON NULL), JSON_ARRAY(NULL ON NULL)
SELECT NEXT VALUE FOR dbo.s, NEXT VALUE FOR s OVER (ORDER BY a), geometry::Parse('POINT(1 1)').STAsText(), hierarchyid::GetRoot(), $PARTITION.pf(1), $ROWGUID, $IDENTITY, IDENTITYCOL
SELECT CHECKSUM(*), COUNT(*), COUNT(ALL a), GROUPING(a), IDENTITY(int, 1, 1) AS id
