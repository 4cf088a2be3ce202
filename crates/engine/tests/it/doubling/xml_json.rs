//! Documents: XML and JSON, read, changed and written.

use super::{Case, list};

/// Declares `@x`: a root with `n` elements, each with another attribute.
fn document(n: usize) -> String {
    format!(
        "DECLARE @x xml = (SELECT value AS [@a], 'x' AS f FROM GENERATE_SERIES(1, {n}) \
         FOR XML PATH('e'), ROOT('r'), TYPE); "
    )
}

/// Declares `@j`: an array of `n` objects.
fn array(n: usize) -> String {
    format!(
        "DECLARE @j nvarchar(max) = N'[' + REPLICATE(CAST(N'{{\"a\":1,\"b\":\"x\"}},' AS nvarchar(max)), {n}) + N'0]'; "
    )
}

/// Declares `@j`: an object of `n` properties.
fn object(n: usize) -> String {
    format!(
        "DECLARE @j nvarchar(max) = N'{{' + (SELECT STRING_AGG(CAST(CONCAT(N'\"p', value, N'\":', value) AS nvarchar(max)), N',') \
         FROM GENERATE_SERIES(1, {n})) + N'}}'; "
    )
}

/// Declares `@t`: a text inside `n` brackets.
fn nested(n: usize, open: &str, close: &str) -> String {
    format!(
        "DECLARE @t nvarchar(max) = REPLICATE(CAST(N'{open}' AS nvarchar(max)), {n}) + N'1' \
         + REPLICATE(CAST(N'{close}' AS nvarchar(max)), {n}); "
    )
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = xml();
    all.extend(queries());
    all.extend(json());
    all.extend(written());
    all
}

fn xml() -> Vec<Case> {
    vec![
        Case::new("xml from text", 5_000, |n| document(n) + "SELECT DATALENGTH(@x)"),
        Case::new("xml with many attributes", 1_000, |n| {
            let attributes = list(n, " ", |at| format!("a{at}=\"1\""));
            format!("DECLARE @x xml = N'<r {attributes}/>'; SELECT DATALENGTH(@x)")
        }),
        Case::new("xml with many name spaces", 1_000, |n| {
            let spaces = list(n, " ", |at| format!("xmlns:n{at}=\"u{at}\" n{at}:a=\"1\""));
            format!("DECLARE @x xml = N'<r {spaces}/>'; SELECT DATALENGTH(@x)")
        }),
        Case::new("xml, deep", 16, |n| {
            nested(n, "<e>", "</e>") + "DECLARE @x xml = @t; SELECT @x.value('count(//e)', 'int')"
        }),
        Case::new("nodes()", 2_000, |n| document(n) + "SELECT COUNT(*) FROM @x.nodes('/r/e') t(c)"),
        Case::new("nodes() and value()", 1_000, |n| {
            document(n)
                + "SELECT SUM(c.value('@a', 'int')), MAX(c.value('(f/text())[1]', 'varchar(9)')) \
                   FROM @x.nodes('/r/e') t(c)"
        }),
        Case::new("nodes() and value() of the parent", 1_000, |n| {
            document(n)
                + "SELECT MAX(c.value('local-name(..)', 'varchar(9)')) FROM @x.nodes('/r/e') t(c)"
        }),
        Case::new("nodes() of a column", 1_000, |_| {
            "SELECT SUM(c.value('@a', 'int')) FROM t CROSS APPLY x.nodes('/r/e') n(c)".to_owned()
        })
        .after(|n| vec!["CREATE TABLE t (x xml)".to_owned(), document(n) + "INSERT t VALUES (@x)"]),
        Case::new("nodes() of nodes()", 500, |n| {
            document(n) + "SELECT COUNT(*) FROM @x.nodes('/r/e') t(c) CROSS APPLY c.nodes('f') u(d)"
        }),
        Case::new("modify() in a loop", 100, |n| {
            format!(
                "DECLARE @x xml = N'<r/>', @i int = 0; WHILE @i < {n} BEGIN \
                 SET @x.modify('insert <e/> into (/r)[1]'); SET @i += 1 END"
            )
        })
        .at_most(2.1, "each call reads and writes the whole instance"),
        Case::new("modify(), one delete of many", 1_000, |n| {
            document(n) + "SET @x.modify('delete /r/e'); SELECT DATALENGTH(@x)"
        }),
        Case::new("modify(), one insert of many", 200, |n| {
            format!(
                "DECLARE @x xml = N'<r/>'; SET @x.modify('insert ({}) into (/r)[1]'); \
                 SELECT @x.value('count(/r/e)', 'int')",
                list(n, ",", |at| format!("<e a=\"{at}\"/>"))
            )
        }),
        Case::new("modify(), the last of many", 1_000, |n| {
            document(n)
                + "SET @x.modify('replace value of (/r/e[last()]/@a)[1] with \"0\"'); \
                   SELECT DATALENGTH(@x)"
        }),
        Case::new("OPENXML", 1_000, |n| {
            document(n)
                + "DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT, @x; \
                   SELECT SUM(a) FROM OPENXML(@h, '/r/e', 1) WITH (a int)"
        }),
        Case::new("OPENXML, edge table", 1_000, |n| {
            document(n)
                + "DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT, @x; \
                   SELECT COUNT(*), MAX(prev) FROM OPENXML(@h, '/r')"
        }),
        Case::new("OPENXML, @mp:prev", 1_000, |n| {
            document(n)
                + "DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT, @x; \
                   SELECT MAX(p) FROM OPENXML(@h, '/r/e') WITH (p int '@mp:prev')"
        }),
    ]
}

fn queries() -> Vec<Case> {
    let value = |query: &'static str| {
        move |n: usize| document(n) + &format!("SELECT @x.value('{query}', 'varchar(99)')")
    };
    vec![
        Case::new("value() of the last element", 2_000, value("(/r/e[last()]/@a)[1]")),
        Case::new("query('//f')", 2_000, |n| document(n) + "SELECT DATALENGTH(@x.query('//f'))"),
        Case::new(
            "XQuery: for, order by",
            1_000,
            value("count(for $e in /r/e order by $e/@a descending return $e)"),
        ),
        Case::new("XQuery: distinct-values", 1_000, value("count(distinct-values(/r/e/@a))")),
        Case::new(
            "XQuery: let, then many reads",
            500,
            value("count(let $s := /r/e return for $e in $s where $e/@a = 1 return $e)"),
        ),
        Case::new("XQuery: union", 1_000, value("count(/r/e | /r/e/f)")),
        Case::new("XQuery: position() in a step", 1_000, value("count(/r/e[position() > 3])")),
        Case::new("XQuery: comparison of two sequences", 500, value("/r/e/@a = /r/e/f")),
        Case::new("XQuery: less, of two sequences", 500, value("/r/e/f < /r/e/@a")),
        Case::new("XQuery: a following step of many", 1_000, value("count(/r/e/f/../@a)")),
        Case::new("XQuery: constructors", 1_000, |n| {
            document(n)
                + "SELECT DATALENGTH(@x.query('for $e in /r/e return <g>{ $e/@a, $e/f }</g>'))"
        }),
        Case::new("XQuery: long OR", 100, |n| {
            let tests = list(n, " or ", |at| format!("@a = {at}"));
            document(1) + &format!("SELECT @x.exist('/r/e[{tests}]')")
        }),
    ]
}

fn json() -> Vec<Case> {
    vec![
        Case::new("ISJSON", 10_000, |n| array(n) + "SELECT ISJSON(@j)"),
        Case::new("JSON, deep", 16, |n| nested(n, "[", "]") + "SELECT ISJSON(@t)"),
        Case::new("OPENJSON of an array", 5_000, |n| {
            array(n) + "SELECT COUNT(*), MAX(value) FROM OPENJSON(@j)"
        }),
        Case::new("OPENJSON of an object", 5_000, |n| {
            object(n) + "SELECT COUNT(*), MAX(value) FROM OPENJSON(@j)"
        }),
        Case::new("OPENJSON WITH", 2_000, |n| {
            array(n) + "SELECT SUM(a), MAX(b) FROM OPENJSON(@j) WITH (a int, b nvarchar(9))"
        }),
        Case::new("OPENJSON WITH many columns", 100, |n| {
            let columns = list(n.min(1_000), ", ", |at| format!("p{at} int"));
            object(n) + &format!("SELECT * FROM OPENJSON(@j) WITH ({columns})")
        }),
        Case::new("OPENJSON nested", 2_000, |n| {
            array(n)
                + "SELECT COUNT(*) FROM OPENJSON(@j) o CROSS APPLY OPENJSON(o.value) i WHERE o.type = 5"
        }),
        Case::new("OPENJSON of the last element", 2_000, |n| {
            array(n) + &format!("SELECT COUNT(*) FROM OPENJSON(@j, '$[{}]')", n - 1)
        }),
        Case::new("JSON_VALUE at the end", 5_000, |n| {
            array(n) + &format!("SELECT JSON_VALUE(@j, '$[{}].b')", n - 1)
        }),
        Case::new("JSON_VALUE of each element", 200, |n| {
            array(n)
                + &format!(
                    "SELECT SUM(CAST(JSON_VALUE(@j, CONCAT('$[', value, '].a')) AS int)) FROM GENERATE_SERIES(0, {})",
                    n - 1
                )
        })
        .at_most(2.1, "each call parses the whole text"),
        Case::new("JSON_MODIFY in a loop", 200, |n| {
            format!(
                "DECLARE @j nvarchar(max) = N'[]', @i int = 0; WHILE @i < {n} BEGIN \
                 SET @j = JSON_MODIFY(@j, 'append $', @i); SET @i += 1 END"
            )
        })
        .at_most(2.1, "each call parses and writes the whole text"),
        Case::new("JSON_OBJECTAGG, JSON_ARRAYAGG", 5_000, |n| {
            format!(
                "SELECT DATALENGTH(JSON_OBJECTAGG(CAST(value AS nvarchar(9)): value)), DATALENGTH(JSON_ARRAYAGG(value)) \
                 FROM GENERATE_SERIES(1, {n})"
            )
        }),
        Case::new("JSON string with many escapes", 20_000, |n| {
            format!(
                "DECLARE @j nvarchar(max) = N'[\"' + REPLICATE(CAST(N'\\u0041\\n' AS nvarchar(max)), {n}) + N'\"]'; \
                 SELECT MAX(LEN(value)) FROM OPENJSON(@j)"
            )
        }),
    ]
}

fn written() -> Vec<Case> {
    let of = |form: &'static str| {
        move |n: usize| {
            format!(
                "DECLARE @r nvarchar(max) = CONVERT(nvarchar(max), \
                 (SELECT value AS a, N'x' AS b FROM GENERATE_SERIES(1, {n}) g {form})); \
                 SELECT LEN(@r)"
            )
        }
    };
    vec![
        Case::new("FOR JSON PATH", 5_000, of("FOR JSON PATH")),
        Case::new("FOR JSON AUTO", 5_000, of("FOR JSON AUTO")),
        Case::new("FOR XML PATH", 5_000, of("FOR XML PATH('e')")),
        Case::new("FOR XML PATH, TYPE", 5_000, of("FOR XML PATH('e'), TYPE")),
        Case::new("FOR XML AUTO, ELEMENTS", 5_000, of("FOR XML AUTO, ELEMENTS")),
        Case::new("FOR XML RAW, XMLSCHEMA", 5_000, of("FOR XML RAW, ROOT('r')")),
        Case::new("FOR XML EXPLICIT", 2_000, |n| {
            format!(
                "DECLARE @r nvarchar(max) = (SELECT 1 AS Tag, NULL AS Parent, value AS [e!1!a] \
                 FROM GENERATE_SERIES(1, {n}) FOR XML EXPLICIT); SELECT LEN(@r)"
            )
        }),
        Case::new("FOR XML PATH in each row", 1_000, |n| {
            format!(
                "SELECT MAX(DATALENGTH(x)) FROM (SELECT (SELECT g.value AS [@a] FOR XML PATH('e'), TYPE) AS x \
                 FROM GENERATE_SERIES(1, {n}) g) q"
            )
        }),
    ]
}
