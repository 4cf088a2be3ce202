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
    "SELECT @s AS s, @w AS w FOR XML PATH",
    "SELECT @s AS s, @w AS w FOR JSON PATH",
    "SELECT @x FOR XML PATH, TYPE",
    "DECLARE @p nvarchar(max) = N'SELECT 1 --' + @w; EXEC sp_executesql @p",
    "DECLARE @p nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'SET @i = 1;'), 60000); \
     SET @p = N'DECLARE @i int;' + @p; EXEC sp_executesql @p",
    "DECLARE @p nvarchar(max) = N'SELECT 1 WHERE 1 IN (1' + REPLICATE(CONVERT(nvarchar(max), N',1'), 300000) + N')'; \
     EXEC sp_executesql @p",
    "DECLARE @p nvarchar(max) = N'SELECT ''' + CONVERT(nvarchar(max), @s) + N''' AS a'; EXEC sp_executesql @p",
];

/// Returns a case for each text of the two lists.
pub(super) fn cases() -> Vec<Case> {
    let expressions = EXPRESSIONS.iter().map(|text| Case::expression(text));
    expressions.chain(STATEMENTS.iter().map(|text| Case::statement(text))).collect()
}
