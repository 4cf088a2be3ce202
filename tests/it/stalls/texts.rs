//! Operators and statements over one large value, and what no function of the registry is called by.

use super::cases::Case;

const EXPRESSIONS: &[&str] = &[
    "@s",
    "@s + @s",
    "@w + @s",
    "CONCAT(@s, @w, @s)",
    "SUBSTRING(@s, 2, @n)",
    "SUBSTRING(@w, 2, @n)",
    "LEFT(@w, @n / 4)",
    "STUFF(@s, 2, 3, 'x')",
    "STUFF(@s, 2, 3, @s)",
    "REPLACE(@s, 'a', 'xyz')",
    "REPLACE(@w, N'ä', N'xyz')",
    "REPLACE(@s COLLATE Latin1_General_BIN2, 'a', 'xyz')",
    "TRANSLATE(@s, 'aB1', 'xyz')",
    "TRIM('aB1,' FROM @s)",
    "TRIM(REPLICATE(CONVERT(varchar(max), ' '), @n))",
    "UPPER(@s COLLATE Turkish_CI_AS)",
    "UPPER(@s COLLATE Latin1_General_100_CI_AS_SC_UTF8)",
    "ISNULL(@s, 'x')",
    "COALESCE(@s, @w)",
    "NULLIF(@s, @s + 'x')",
    "IIF(@s = @s + 'x', 1, 2)",
    "IIF(@w < @w + N'x', 1, 2)",
    "IIF(@s COLLATE Latin1_General_BIN2 = @s + 'x', 1, 2)",
    "IIF(@b = @b + 0x01, 1, 2)",
    "IIF(@s IN ('x', @s + 'y', @s + 'z'), 1, 2)",
    "IIF(@s BETWEEN @s AND @s + 'y', 1, 2)",
    "GREATEST(@s, @s + 'x')",
    "CHOOSE(1, @s, @w)",
    "IIF(@s LIKE '%zz%', 1, 2)",
    "IIF(@s LIKE 'a%z', 1, 2)",
    "IIF(@s LIKE '%[x-z]_', 1, 2)",
    "IIF(@w LIKE N'%ö%ü%', 1, 2)",
    "IIF(@s COLLATE Latin1_General_BIN2 LIKE '%b%c', 1, 2)",
    "CAST(@s AS xml)",
    "CAST(CAST(@x AS nvarchar(max)) AS xml)",
    "CAST(CAST(@j AS json) AS nvarchar(max))",
    "@x.value('count(/r/a)', 'int')",
    "@x.value('(/r/a)[last()]', 'int')",
    "@x.value('sum(/r/a)', 'int')",
    "@x.value('string(/r[1])', 'nvarchar(max)')",
    "@x.query('/r/a')",
    "@x.query('for $a in /r/a where $a/@b = \"d\" order by $a return $a')",
    "@x.query('<z>{/r}</z>')",
    "@x.exist('/r/a[@b = \"d\"]')",
    "@x.exist('//a[. = \"13\"]')",
    "JSON_MODIFY(@j, '$[0].a', @s)",
    "JSON_VALUE(@j, '$[100000000].a')",
    "JSON_QUERY(@j, '$')",
    "JSON_OBJECT('a': @s, 'b': @j)",
    "JSON_ARRAY(@s, @w)",
    "@s COLLATE Japanese_CI_AS",
    "CONVERT(varchar(max), @w) COLLATE Japanese_CI_AS",
    "IIF(@w COLLATE Latin1_General_BIN2 < @w + N'x', 1, 2)",
    "IIF(@w COLLATE Japanese_CI_AS = @w + N'x', 1, 2)",
    "IIF(@w IN (N'x', @w + N'y', @w + N'z'), 1, 2)",
    "IIF(@w > ALL (SELECT @w + N'x' UNION ALL SELECT @w + N'y'), 1, 2)",
    "LEN(@w COLLATE Latin1_General_100_CI_AS_SC)",
    "SUBSTRING(@w COLLATE Latin1_General_100_CI_AS_SC, 2, @n)",
    "RIGHT(@s COLLATE Latin1_General_100_CI_AS_SC_UTF8, @n / 2)",
    "LTRIM(REPLICATE(CONVERT(nvarchar(max), N' '), @n))",
    "TRIM(N'aÄ1,' FROM @w)",
    "CAST('<a>' + @s + '</a>' AS xml)",
    "CAST('<a b=\"' + @s + '\"/>' AS xml)",
    "CAST('<a><![CDATA[' + @s + ']]></a>' AS xml)",
    "CAST('<!--' + @s + '--><a/>' AS xml)",
    "CAST(N'<a>' + @w + N'</a>' AS xml)",
    "@x.value('avg(/r/a)', 'float')",
    "@x.value('max(/r/a)', 'int')",
    "@x.query('distinct-values(/r/a)')",
    "@x.query('data(/r/a)')",
    "@x.query('<z b=\"{/r/a}\"/>')",
    "DECOMPRESS(COMPRESS(@w))",
    "DECRYPTBYPASSPHRASE('a', ENCRYPTBYPASSPHRASE('a', LEFT(@s, 7000)))",
];

const STATEMENTS: &[&str] = &[
    "SET @s += 'x'",
    "SET @w += @w",
    "SET @x.modify('delete /r/a[2]')",
    "SET @x.modify('insert <z/> as last into /r[1]')",
    "SET @x.modify('replace value of (/r/a/text())[1] with \"z\"')",
    "SELECT COUNT(*) FROM @x.nodes('/r/a') AS t (n)",
    "SELECT MAX(t.n.value('.', 'int')) FROM @x.nodes('/r/a') AS t (n)",
    "DECLARE @d int; EXEC sp_xml_preparedocument @d OUTPUT, @x; SELECT COUNT(*) FROM OPENXML(@d, '/r/a') WITH (b char); \
     EXEC sp_xml_removedocument @d",
    "SELECT COUNT(*) FROM OPENJSON(@j) WITH (a varchar(9), c int)",
    "SELECT COUNT(*) FROM OPENJSON(@j) AS o CROSS APPLY OPENJSON(o.value)",
    "SELECT @s",
    "SELECT @w, @x",
    "PRINT @s",
    "EXEC sp_executesql @w",
    "EXEC (@s)",
    "RAISERROR ('%s', 10, 1, @s)",
    "SELECT @s AS s, @w AS w, @x AS x INTO #t; DROP TABLE #t",
    "DECLARE @t TABLE (s varchar(max), w nvarchar(max)); INSERT @t VALUES (@s, @w); UPDATE @t SET s = w, w = s; DELETE @t",
    "CREATE TABLE #w (s varchar(max)); INSERT #w VALUES (@s); UPDATE #w SET s.WRITE('x', NULL, NULL); \
     UPDATE #w SET s.WRITE('x', 5, 1); SELECT COUNT(*) FROM #w WHERE s LIKE '%zz'; DROP TABLE #w",
    "SELECT TOP (1) 1 AS n FROM (SELECT @w AS w UNION ALL SELECT @w + N'x') AS t ORDER BY w",
    "SELECT COUNT(*) FROM (SELECT w FROM (VALUES (@w), (@w + N'x')) AS t (w) GROUP BY w) AS x",
    "SELECT COUNT(DISTINCT s) FROM (VALUES (@s), (@s + 'x')) AS t (s)",
    "SELECT DATALENGTH(MAX(w)) FROM (VALUES (@w), (@w + N'x')) AS t (w)",
    "SELECT COUNT(*) FROM (VALUES (@w)) AS a (w) JOIN (VALUES (@w)) AS b (w) ON a.w = b.w",
    "SELECT COUNT(*) FROM STRING_SPLIT(@s, ';')",
    "SELECT DATALENGTH(STRING_AGG(w, ',')) FROM (VALUES (@w), (@w)) AS t (w)",
    "SELECT @b AS b FOR JSON PATH",
    "SELECT @b AS b FOR XML PATH, BINARY BASE64",
    "SELECT @s AS s FOR XML RAW, TYPE",
    "DECLARE @p nvarchar(max) = N'SELECT 1 AS n' + REPLICATE(CONVERT(nvarchar(max), N' UNION ALL SELECT 1'), 10000); \
     SET @p = N'SELECT COUNT(*) FROM (' + @p + N') AS t'; EXEC sp_executesql @p",
    "SELECT @s AS s, @w AS w FOR XML PATH",
    "SELECT @s AS s, @w AS w FOR JSON PATH",
    "SELECT @x FOR XML PATH, TYPE",
    "DECLARE @p nvarchar(max) = N'SELECT 1 --' + @w; EXEC sp_executesql @p",
    "DECLARE @p nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'SET @i = 1;'), 60000); \
     SET @p = N'DECLARE @i int;' + @p; EXEC sp_executesql @p",
    "DECLARE @p nvarchar(max) = N'SELECT 1 WHERE 1 IN (1' + REPLICATE(CONVERT(nvarchar(max), N',1'), 300000) + N')'; \
     EXEC sp_executesql @p",
    "DECLARE @p nvarchar(max) = N'SELECT ''' + CONVERT(nvarchar(max), @s) + N''' AS a'; EXEC sp_executesql @p",
    "SELECT @s AS s, @w AS w FOR JSON AUTO, WITHOUT_ARRAY_WRAPPER",
    "DECLARE @t varchar(max) = FORMATMESSAGE(@s), @u varchar(max) = FORMATMESSAGE('%s', @s); PRINT @t + @u",
    "SELECT TRY_CONVERT(money, @h), TRY_CONVERT(decimal(38, 4), @h), TRY_CONVERT(float, @h), ISNUMERIC(@h)",
    "DECLARE @p nvarchar(max) = N'SELECT ' + @w; EXEC (@p)",
    "DECLARE @p nvarchar(max) = N'SELECT ''' + REPLICATE(CONVERT(nvarchar(max), N'it''''s '), @n / 4) + N''' AS a'; EXEC (@p)",
    "DECLARE @p varchar(max) = REPLICATE(CONVERT(varchar(max), '('), @n); EXEC (@p)",
    "DECLARE @p varchar(max) = 'SELECT 1 AS a' + REPLICATE(CONVERT(varchar(max), ' '), @n) + '/*' + @s + '*/'; EXEC (@p)",
    "DECLARE @p varchar(max) = 'SELECT ' + REPLACE(LEFT(@s, 1000000), ',', ''); EXEC (@p)",
];

/// Programs of megabytes: how a text begins, what is repeated how often, and how it ends.
const PROGRAMS: &[(&str, &str, u32, &str)] = &[
    ("SELECT 1 WHERE 1 IN (1", ",1", 100_000, ")"),
    ("SELECT 1 WHERE @i IN (1", ",1", 500_000, ")"),
    ("SELECT COUNT(*) FROM dbo.long WHERE id IN (1", ",1234567", 100_000, ")"),
    ("SELECT COUNT(*) FROM dbo.long WHERE t IN ('a'", ",'abcdefg'", 100_000, ")"),
    ("SELECT 1 WHERE 1 = 2", " OR @i = 1", 50_000, ""),
    ("SELECT COUNT(*) FROM dbo.big WHERE n = 1", " OR n = 2", 50_000, ""),
    ("SELECT COUNT(*) FROM dbo.big WHERE n > 1", " AND n <> 2", 50_000, ""),
    ("SELECT 1", " + 1", 50_000, ""),
    ("SELECT @i", " + 1", 50_000, ""),
    ("SELECT 'a'", " + 'a'", 50_000, ""),
    ("SELECT CASE @i WHEN 1 THEN 1", " WHEN 2 THEN 3", 50_000, " END"),
    ("SELECT COALESCE(@i", ",1", 50_000, ")"),
    ("SELECT 1 AS a", ", 1 AS a", 4_000, ""),
    ("DECLARE @t TABLE (a int, b int); ", "INSERT @t VALUES (1, 2);", 40_000, ""),
    (
        "DECLARE @t TABLE (a int, b varchar(9)); INSERT @t SELECT 1, 'a'",
        " UNION ALL SELECT 1, 'a'",
        10_000,
        "",
    ),
    ("DECLARE @t TABLE (a int, b varchar(9)); INSERT @t VALUES (1, 'a')", ", (1, 'a')", 999, ""),
    (
        "DECLARE @t TABLE (a varchar(9), b int); INSERT @t (a) VALUES ('a')",
        ", (REPLICATE('a', 9) + 'b' + 'c' + 'd' + 'e')",
        999,
        "",
    ),
    ("", "IF @i = 1 SET @i = 2 ELSE PRINT 1;", 40_000, ""),
    ("", "BEGIN TRY SET @i = 1 END TRY BEGIN CATCH SET @i = 2 END CATCH;", 30_000, ""),
    ("SET @i = 1", ";", 2_000_000, ""),
    ("GOTO b; a: ", "SET @i = 1;", 60_000, " b: SET @i = 2"),
    ("DBCC FREEPROCCACHE WITH NO_INFOMSGS; ", "SET @i = 1;", 60_000, ""),
    (
        "",
        "SELECT @i = m.id FROM dbo.many AS m WHERE m.id = @i;",
        4_000,
        "SELECT @i = COUNT(*) FROM sys.dm_exec_query_stats;",
    ),
];

/// Returns the case of a program, which is cached and then dropped.
fn program((before, part, times, after): &(&str, &str, u32, &str)) -> Case {
    let quoted = |text: &str| text.replace('\'', "''");
    let text = format!(
        "DECLARE @p nvarchar(max) = N'{}' + REPLICATE(CONVERT(nvarchar(max), N'{}'), {times}) + N'{}'; \
         EXEC sp_executesql @p, N'@i int', 5; DBCC FREEPROCCACHE WITH NO_INFOMSGS",
        quoted(before),
        quoted(part),
        quoted(after)
    );
    Case { name: format!("{before} [{times} times {part}] {after}"), text }
}

/// Returns a case for each text of the lists.
pub(super) fn cases() -> Vec<Case> {
    let expressions = EXPRESSIONS.iter().map(|text| Case::expression(text));
    let statements = STATEMENTS.iter().map(|text| Case::statement(text));
    expressions.chain(statements).chain(PROGRAMS.iter().map(program)).collect()
}
