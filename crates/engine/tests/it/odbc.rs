//! ODBC's escapes beside the T-SQL expressions of the same meaning.

use crate::client::{batch, instance, login};

/// Pairs of an escape and an expression of the same value and type.
const PAIRS: &[(&str, &str)] = &[
    // Strings
    ("{fn ASCII('a')}", "ASCII('a')"),
    ("{fn BIT_LENGTH(N'abc')}", "48"),
    ("{fn CHAR(65)}", "CHAR(65)"),
    ("{fn CHAR_LENGTH('abc ')}", "LEN('abc ')"),
    ("{fn CHARACTER_LENGTH('abc')}", "LEN('abc')"),
    ("{fn CONCAT('a', 'b')}", "'a' + 'b'"),
    ("{fn CONCAT('a', CAST(NULL AS varchar(3)))}", "CAST(NULL AS varchar(4))"),
    ("{fn DIFFERENCE('Smith', 'Smythe')}", "DIFFERENCE('Smith', 'Smythe')"),
    ("{fn INSERT('abcdef', 2, 3, 'XY')}", "STUFF('abcdef', 2, 3, 'XY')"),
    ("{fn LCASE('ABC')}", "LOWER('ABC')"),
    ("{fn LEFT('abc', 2)}", "LEFT('abc', 2)"),
    ("{fn LENGTH('abc  ')}", "LEN('abc  ')"),
    ("{fn LOCATE('c', 'abcabc')}", "CHARINDEX('c', 'abcabc')"),
    ("{fn LOCATE('c', 'abcabc', 4)}", "CHARINDEX('c', 'abcabc', 4)"),
    ("{fn LTRIM('  a')}", "LTRIM('  a')"),
    ("{fn OCTET_LENGTH(N'abc')}", "DATALENGTH(N'abc')"),
    ("{fn POSITION('b' IN 'abc')}", "CHARINDEX('b', 'abc')"),
    ("{fn REPEAT('ab', 3)}", "REPLICATE('ab', 3)"),
    ("{fn REPLACE('abc', 'b', 'x')}", "REPLACE('abc', 'b', 'x')"),
    ("{fn RIGHT('abc', 2)}", "RIGHT('abc', 2)"),
    ("{fn RTRIM('a  ')}", "RTRIM('a  ')"),
    ("{fn SOUNDEX('Smith')}", "SOUNDEX('Smith')"),
    ("{fn SPACE(3)}", "SPACE(3)"),
    ("{fn SUBSTRING('abcdef', 2, 3)}", "SUBSTRING('abcdef', 2, 3)"),
    ("{fn UCASE(N'abc')}", "UPPER(N'abc')"),
    // Numbers
    ("{fn ABS(-1.5)}", "ABS(-1.5)"),
    ("{fn ACOS(0.5)}", "ACOS(0.5)"),
    ("{fn ASIN(0.5)}", "ASIN(0.5)"),
    ("{fn ATAN(0.5)}", "ATAN(0.5)"),
    ("{fn ATAN2(1, 2)}", "ATN2(1, 2)"),
    ("{fn CEILING(1.2)}", "CEILING(1.2)"),
    ("{fn COS(1)}", "COS(1)"),
    ("{fn COT(1)}", "COT(1)"),
    ("{fn DEGREES(1.0)}", "DEGREES(1.0)"),
    ("{fn EXP(1)}", "EXP(1)"),
    ("{fn FLOOR(-1.2)}", "FLOOR(-1.2)"),
    ("{fn LOG(2)}", "LOG(2)"),
    ("{fn LOG10(2)}", "LOG10(2)"),
    ("{fn MOD(17, 5)}", "17 % 5"),
    ("{fn MOD(17, 5 + 1)} * 2", "(17 % (5 + 1)) * 2"),
    ("{fn PI()}", "PI()"),
    ("{fn POWER(2, 10)}", "POWER(2, 10)"),
    ("{fn RADIANS(180.0)}", "RADIANS(180.0)"),
    ("{fn RAND(7)}", "RAND(7)"),
    ("{fn ROUND(1.256, 2)}", "ROUND(1.256, 2)"),
    ("{fn SIGN(-3)}", "SIGN(-3)"),
    ("{fn SIN(1)}", "SIN(1)"),
    ("{fn SQRT(2)}", "SQRT(2)"),
    ("{fn TAN(1)}", "TAN(1)"),
    ("{fn TRUNCATE(1.256, 2)}", "ROUND(1.256, 2, 1)"),
    ("{fn TRUNCATE(-1299, -2)}", "ROUND(-1299, -2, 1)"),
    // Dates and times
    ("{fn CURDATE()}", "CONVERT(varchar(10), GETDATE(), 121)"),
    ("{fn CURRENT_DATE()}", "CONVERT(varchar(10), GETDATE(), 121)"),
    ("{fn CURTIME()}", "CONVERT(varchar(12), RIGHT(CONVERT(varchar(23), GETDATE(), 121), 12))"),
    ("{fn CURRENT_TIME(3)}", "CONVERT(varchar(16), CONVERT(time(3), SYSDATETIME()))"),
    ("{fn CURRENT_TIMESTAMP()}", "GETDATE()"),
    ("{fn CURRENT_TIMESTAMP(4)}", "CONVERT(datetime2(4), SYSDATETIME())"),
    ("{fn NOW()}", "GETDATE()"),
    ("{fn DAYNAME('2024-02-29')}", "DATENAME(weekday, '2024-02-29')"),
    ("{fn DAYOFMONTH('2024-02-29')}", "DAY('2024-02-29')"),
    ("{fn DAYOFWEEK('2024-02-29')}", "DATEPART(weekday, '2024-02-29')"),
    ("{fn DAYOFYEAR('2024-12-31')}", "DATEPART(dayofyear, '2024-12-31')"),
    ("{fn EXTRACT(YEAR FROM {d '2024-02-29'})}", "DATEPART(year, '2024-02-29')"),
    ("{fn EXTRACT(SECOND FROM {ts '2024-02-29 10:11:12'})}", "12"),
    ("{fn HOUR('10:11:12')}", "DATEPART(hour, '10:11:12')"),
    ("{fn MINUTE('10:11:12')}", "DATEPART(minute, '10:11:12')"),
    ("{fn MONTH('2024-02-29')}", "MONTH('2024-02-29')"),
    ("{fn MONTHNAME('2024-02-29')}", "DATENAME(month, '2024-02-29')"),
    ("{fn QUARTER('2024-05-01')}", "DATEPART(quarter, '2024-05-01')"),
    ("{fn SECOND('10:11:12')}", "DATEPART(second, '10:11:12')"),
    ("{fn WEEK('2024-05-01')}", "DATEPART(week, '2024-05-01')"),
    ("{fn YEAR('2024-05-01')}", "YEAR('2024-05-01')"),
    (
        "{fn TIMESTAMPADD(SQL_TSI_FRAC_SECOND, 7, {ts '2024-01-31 00:00:00'})}",
        "DATEADD(ms, 7, CAST('20240131' AS datetime))",
    ),
    (
        "{fn TIMESTAMPADD(SQL_TSI_SECOND, 7, {ts '2024-01-31 00:00:00'})}",
        "DATEADD(ss, 7, CAST('20240131' AS datetime))",
    ),
    (
        "{fn TIMESTAMPADD(SQL_TSI_MINUTE, 7, {ts '2024-01-31 00:00:00'})}",
        "DATEADD(mi, 7, CAST('20240131' AS datetime))",
    ),
    (
        "{fn TIMESTAMPADD(SQL_TSI_HOUR, 7, {ts '2024-01-31 00:00:00'})}",
        "DATEADD(hh, 7, CAST('20240131' AS datetime))",
    ),
    (
        "{fn TIMESTAMPADD(SQL_TSI_DAY, 7, {ts '2024-01-31 00:00:00'})}",
        "DATEADD(dd, 7, CAST('20240131' AS datetime))",
    ),
    (
        "{fn TIMESTAMPADD(SQL_TSI_WEEK, 7, {ts '2024-01-31 00:00:00'})}",
        "DATEADD(ww, 7, CAST('20240131' AS datetime))",
    ),
    (
        "{fn TIMESTAMPADD(SQL_TSI_MONTH, 1, {ts '2024-01-31 00:00:00'})}",
        "DATEADD(mm, 1, CAST('20240131' AS datetime))",
    ),
    (
        "{fn TIMESTAMPADD(SQL_TSI_QUARTER, 1, {ts '2024-01-31 00:00:00'})}",
        "DATEADD(qq, 1, CAST('20240131' AS datetime))",
    ),
    (
        "{fn TIMESTAMPADD(sql_tsi_year, -1, {ts '2024-01-31 00:00:00'})}",
        "DATEADD(yy, -1, CAST('20240131' AS datetime))",
    ),
    (
        "{fn TIMESTAMPDIFF(SQL_TSI_DAY, '2024-01-31', '2024-03-01')}",
        "DATEDIFF(day, '2024-01-31', '2024-03-01')",
    ),
    (
        "{fn TIMESTAMPDIFF(SQL_TSI_MONTH, '2024-01-31', '2024-03-01')}",
        "DATEDIFF(month, '2024-01-31', '2024-03-01')",
    ),
    // The system
    ("{fn DATABASE()}", "DB_NAME()"),
    ("{fn IFNULL(CAST(NULL AS int), 3)}", "ISNULL(CAST(NULL AS int), 3)"),
    ("{fn USER()}", "USER_NAME()"),
    // CONVERT
    ("{fn CONVERT('12', SQL_BIGINT)}", "CONVERT(bigint, '12')"),
    ("{fn CONVERT(12, SQL_BINARY)}", "CONVERT(binary, 12)"),
    ("{fn CONVERT(12, SQL_BIT)}", "CONVERT(bit, 12)"),
    ("{fn CONVERT(12, SQL_CHAR)}", "CONVERT(char, 12)"),
    ("{fn CONVERT('2024-01-31', SQL_DATE)}", "CONVERT(date, '2024-01-31')"),
    ("{fn CONVERT('12', SQL_DECIMAL)}", "CONVERT(decimal, '12')"),
    ("{fn CONVERT('12', SQL_DOUBLE)}", "CONVERT(float, '12')"),
    ("{fn CONVERT('12', SQL_FLOAT)}", "CONVERT(float, '12')"),
    (
        "{fn CONVERT('0E984725-C51C-4BF4-9960-E1C80E27ABA0', SQL_GUID)}",
        "{guid '0E984725-C51C-4BF4-9960-E1C80E27ABA0'}",
    ),
    ("{fn CONVERT('12', SQL_INTEGER)}", "CONVERT(int, '12')"),
    ("{fn CONVERT('12', SQL_NUMERIC)}", "CONVERT(numeric, '12')"),
    ("{fn CONVERT('12', SQL_REAL)}", "CONVERT(real, '12')"),
    ("{fn CONVERT('12', SQL_SMALLINT)}", "CONVERT(smallint, '12')"),
    ("{fn CONVERT('10:11:12', SQL_TIME)}", "CONVERT(time, '10:11:12')"),
    ("{fn CONVERT('2024-01-31', SQL_TIMESTAMP)}", "CONVERT(datetime, '2024-01-31')"),
    ("{fn CONVERT('12', SQL_TINYINT)}", "CONVERT(tinyint, '12')"),
    ("{fn CONVERT('2024-01-31', SQL_TYPE_TIMESTAMP)}", "CONVERT(datetime, '2024-01-31')"),
    ("{fn CONVERT(12, SQL_VARBINARY)}", "CONVERT(varbinary, 12)"),
    ("{fn CONVERT(12, SQL_VARCHAR)}", "CONVERT(varchar, 12)"),
    ("{fn CONVERT('abcdef', SQL_VARCHAR(3))}", "'abc'"),
    ("{fn CONVERT(12, SQL_WCHAR)}", "CONVERT(nchar, 12)"),
    ("{fn CONVERT(12, SQL_WVARCHAR)}", "CONVERT(nvarchar, 12)"),
    // Literals
    ("{d '2024-02-29'}", "CAST('20240229' AS datetime)"),
    ("{ts '2024-02-29 10:11:12.123'}", "CAST('20240229 10:11:12.123' AS datetime)"),
    // One in another
    ("{fn UCASE({fn LEFT({fn CONCAT('ab', 'cd')}, 3)})}", "'ABC'"),
];

/// Escapes that are refused, with the number of the error.
const REFUSED: &[(&str, i32)] = &[
    ("{fn FROB(1)}", 195),
    ("{fn UCASE()}", 174),
    ("{fn UCASE('a', 'b')}", 174),
    ("{fn LOCATE('a')}", 189),
    ("{fn MOD(1)}", 174),
    ("{fn NOW(1)}", 174),
    ("{fn TIMESTAMPADD(day, 1, GETDATE())}", 155),
    ("{fn TIMESTAMPADD(SQL_TSI_EON, 1, GETDATE())}", 155),
    ("{fn TIMESTAMPDIFF(1, 2, 3)}", 155),
    ("{fn EXTRACT(WEEK FROM GETDATE())}", 155),
    ("{fn CURRENT_TIME(8)}", 102),
    ("{fn CURRENT_TIME(@a)}", 102),
    ("{fn CONVERT(1, SQL_FROB)}", 243),
    ("{fn CONVERT(1)}", 102),
    ("{fn UCASE('a'}", 102),
    ("{fn UCASE('a')", 102),
    ("{fx UCASE('a')}", 102),
    ("{d '2024-02-30'}", 242),
];

#[test]
fn escape_has_value_and_type_of_its_expression() {
    let instance = instance();
    let mut session = login(&instance);
    for (escape, expression) in PAIRS {
        let facts = |of: &str| {
            let text = format!(
                "SELECT {of}, SQL_VARIANT_PROPERTY({of}, 'BaseType'), SQL_VARIANT_PROPERTY({of}, 'Precision')"
            );
            text
        };
        // One statement reads the clock once.
        let text = format!("{} UNION ALL {}", facts(escape), facts(expression));
        let answer = batch(&mut session, &text);
        assert!(answer.errors.is_empty(), "{escape}: {:?}", answer.errors);
        let rows = &answer.sets[0];
        let is_clock = expression.contains("SYSDATETIME");
        assert_eq!(rows[0][1..], rows[1][1..], "{escape}");
        assert!(is_clock || rows[0][0] == rows[1][0], "{escape}: {rows:?}");
    }
}

#[test]
fn escape_that_is_none_is_refused_by_name() {
    let instance = instance();
    let mut session = login(&instance);
    for (escape, number) in REFUSED {
        let answer = batch(&mut session, &format!("SELECT {escape}"));
        let numbers: Vec<i32> = answer.errors.iter().map(|error| error.number).collect();
        assert_eq!(numbers, [*number], "{escape}: {:?}", answer.errors);
    }
    let answer = batch(&mut session, "SELECT {fn FROB(1)}");
    assert_eq!(answer.errors[0].message, "'FROB' is not a recognized built-in function name.");
}

#[test]
fn joins_calls_and_like_have_escapes() {
    let instance = instance();
    let mut session = login(&instance);
    let mut first = |text: &str| {
        let answer = batch(&mut session, text);
        assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
        answer.sets.first().map(|rows| rows.concat().join(","))
    };
    first(
        "CREATE TABLE a (x int); CREATE TABLE b (x int); INSERT a VALUES (1), (2); INSERT b VALUES (2)",
    );
    first("CREATE PROCEDURE p @x int = 5, @y varchar(9) = 'z' AS SELECT @x, @y");
    let joined = "SELECT a.x, b.x FROM {oj a LEFT OUTER JOIN b ON a.x = b.x} ORDER BY a.x";
    assert_eq!(first(joined).as_deref(), Some("1,NULL,2,2"));
    assert_eq!(first("{call p(7, 'w')}").as_deref(), Some("7,w"));
    assert_eq!(first("{call p}").as_deref(), Some("5,z"));
    assert_eq!(first("{call p()}").as_deref(), Some("5,z"));
    assert_eq!(first("{call dbo.p(7)}").as_deref(), Some("7,z"));
    let like = "SELECT x FROM (VALUES ('a_b'), ('acb')) v (x) WHERE x LIKE 'a\\_b' {escape '\\'}";
    assert_eq!(first(like).as_deref(), Some("a_b"));
    // Wherever an expression may be.
    let everywhere = "SELECT {fn COUNT(*)} FROM a WHERE {fn MOD(x, 2)} = 1 GROUP BY {fn MOD(x, 2)} ORDER BY {fn MOD(x, 2)}";
    assert_eq!(first(everywhere).as_deref(), Some("1"));
    first(
        "CREATE TABLE c (n varchar(9), u AS {fn UCASE(n)}, d datetime DEFAULT {fn NOW()}, CHECK ({fn LENGTH(n)} < 5))",
    );
    first("INSERT c (n) VALUES ('ab')");
    assert_eq!(first("SELECT u FROM c").as_deref(), Some("AB"));
}
