//! Functions of strings, and strings as keys.

use super::Case;

/// The longest needle of CHARINDEX is 8,000 bytes; one character follows this many.
const NEEDLE_CHARACTERS_MAX: usize = 3_999;

/// Declares `@s`: a text repeated `n` times.
fn text(n: usize, ty: &str, piece: &str) -> String {
    format!("DECLARE @s {ty} = REPLICATE(CAST({piece} AS {ty}), {n}); ")
}

fn wide(n: usize, piece: &str) -> String {
    text(n, "nvarchar(max)", &format!("N'{piece}'"))
}

fn narrow(n: usize, piece: &str) -> String {
    text(n, "varchar(max)", &format!("'{piece}'"))
}

/// A loop of `n` rounds.
fn rounds(n: usize, body: &str) -> String {
    format!("DECLARE @i int = 0; WHILE @i < {n} BEGIN {body}; SET @i += 1 END")
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = searches();
    all.extend(changes());
    all.extend(loops());
    all.extend(conversions());
    all.extend(keys());
    all
}

fn searches() -> Vec<Case> {
    vec![
        Case::new("REPLACE, case-insensitive", 40_000, |n| {
            wide(n, "aB") + "SELECT LEN(REPLACE(@s, N'ab', N'xyz'))"
        }),
        Case::new("REPLACE, accents", 20_000, |n| {
            wide(n, "äB") + "SELECT LEN(REPLACE(@s, N'Äb', N'xyz'))"
        }),
        Case::new("REPLACE, binary", 40_000, |n| {
            wide(n, "ab") + "SELECT LEN(REPLACE(@s COLLATE Latin1_General_BIN2, N'ab', N'xyz'))"
        }),
        Case::new("REPLACE, supplementary characters", 500, |n| {
            wide(n, "a😀")
                + "SELECT LEN(REPLACE(@s COLLATE Latin1_General_100_CI_AS_SC, N'😀', N'xyz'))"
        }),
        Case::new("REPLACE, UTF-8", 20_000, |n| {
            text(n, "varchar(max)", "N'aé' COLLATE Latin1_General_100_CI_AS_SC_UTF8")
                + "SELECT LEN(REPLACE(@s COLLATE Latin1_General_100_CI_AS_SC_UTF8, N'É', N'xyz'))"
        }),
        Case::new("REPLACE, long needle", 10_000, |n| {
            wide(2 * n, "a")
                + &format!(
                    "SELECT LEN(REPLACE(@s, REPLICATE(CAST(N'a' AS nvarchar(max)), {n}) + N'b', N''))"
                )
        }),
        Case::new("CHARINDEX, long needle", 500, |n| {
            wide(200 * n, "ä")
                + &format!(
                    "SELECT CHARINDEX(REPLICATE(N'Ä', {}) + N'b', @s)",
                    n.min(NEEDLE_CHARACTERS_MAX)
                )
        }),
        Case::new("PATINDEX, one word", 20_000, |n| wide(n, "aB") + "SELECT PATINDEX('%ac%', @s)"),
        Case::new("PATINDEX, long word", 500, |n| {
            narrow(4 * n, "a") + &format!("SELECT PATINDEX('%' + REPLICATE('a', {n}) + 'b%', @s)")
        })
        .at_most(2.1, "a pattern has at most 4,000 characters"),
        Case::new("PATINDEX, word at the end", 500, |n| {
            narrow(4 * n, "a") + &format!("SELECT PATINDEX('%' + REPLICATE('a', {n}), @s + 'b')")
        })
        .at_most(2.1, "a pattern has at most 4,000 characters"),
        Case::new("LIKE, many %", 500, |n| {
            narrow(8 * n, "a") + &format!("SELECT IIF(@s LIKE REPLICATE('%a', {n}) + '%b', 1, 0)")
        }),
        Case::new("LIKE, one character beside many %", 500, |n| {
            narrow(8 * n, "ab")
                + &format!("SELECT IIF(@s LIKE REPLICATE('%ab_', {n}) + '%c', 1, 0)")
        }),
        Case::new("LIKE, long run behind %", 500, |n| {
            narrow(4 * n, "a")
                + &format!("SELECT IIF(@s LIKE '%' + REPLICATE('a', {n}) + 'b%', 1, 0)")
        })
        .at_most(2.1, "a pattern has at most 4,000 characters"),
        Case::new("LIKE, large set", 500, |n| {
            wide(20 * n, "z")
                + &format!("SELECT IIF(@s LIKE '%[' + REPLICATE(N'aé', {n}) + ']', 1, 0)")
        })
        .at_most(2.1, "a set has at most 4,000 characters"),
        Case::new("STRING_SPLIT", 10_000, |n| {
            wide(n, "ab,") + "SELECT MAX(value) FROM STRING_SPLIT(@s, N',')"
        }),
        Case::new("STRING_SPLIT with ordinals", 10_000, |n| {
            wide(n, "ab,") + "SELECT MAX(ordinal) FROM STRING_SPLIT(@s, N',', 1)"
        }),
        Case::new("SOUNDEX, DIFFERENCE", 40_000, |n| {
            narrow(n, "abc") + "SELECT SOUNDEX(@s), DIFFERENCE(@s, @s + 'x')"
        }),
    ]
}

fn changes() -> Vec<Case> {
    vec![
        Case::new("TRANSLATE, long sets", 2_000, |n| {
            format!(
                "DECLARE @f nvarchar(max) = N'', @t nvarchar(max) = REPLICATE(CAST(N'x' AS nvarchar(max)), {n}); \
                 SELECT @f = STRING_AGG(CAST(NCHAR(19968 + value % 20000) AS nvarchar(max)), N'') \
                 FROM GENERATE_SERIES(1, {n}); SELECT LEN(TRANSLATE(@f + @f, @f, @t))"
            )
        }),
        Case::new("TRIM, long set", 2_000, |n| {
            format!(
                "DECLARE @f nvarchar(max); \
                 SELECT @f = STRING_AGG(CAST(NCHAR(19968 + value % 20000) AS nvarchar(max)), N'') \
                 FROM GENERATE_SERIES(1, {n}); SELECT LEN(TRIM(@f FROM REVERSE(@f) + @f))"
            )
        }),
        Case::new("TRIM of blanks", 100_000, |n| {
            narrow(n, " ") + "SELECT LEN(TRIM(@s) + LTRIM(@s))"
        }),
        Case::new("UPPER, LOWER, REVERSE", 40_000, |n| {
            wide(n, "aÄ") + "SELECT LEN(UPPER(@s) + LOWER(@s) + REVERSE(@s))"
        }),
        Case::new("STUFF", 100_000, |n| wide(n, "ab") + "SELECT LEN(STUFF(@s, 2, 3, N'x'))")
            .at_most(1.9, "results of megabytes are made in memory that is new"),
        Case::new("STRING_ESCAPE", 40_000, |n| {
            wide(n, "\"\\") + "SELECT LEN(STRING_ESCAPE(@s, 'json'))"
        }),
        Case::new("CONCAT_WS", 20_000, |n| wide(n, "ab") + "SELECT LEN(CONCAT_WS(@s, @s, @s, @s))")
            .at_most(1.9, "results of megabytes are made in memory that is new"),
        Case::new("STRING_AGG", 10_000, |n| {
            format!(
                "SELECT LEN(STRING_AGG(CAST(value AS nvarchar(max)), N',')) FROM GENERATE_SERIES(1, {n})"
            )
        }),
        Case::new("STRING_AGG, ordered", 10_000, |n| {
            format!(
                "SELECT LEN(STRING_AGG(CAST(value AS nvarchar(max)), N',') WITHIN GROUP (ORDER BY -value)) \
                 FROM GENERATE_SERIES(1, {n})"
            )
        }),
        Case::new("FORMAT with a long picture", 2_000, |n| {
            format!(
                "SELECT LEN(FORMAT(CAST(1234567 AS bigint), REPLICATE(CAST('#,0' AS nvarchar(max)), {n})))"
            )
        }),
        Case::new("FORMATMESSAGE", 500, |n| {
            narrow(n, "x") + "SELECT LEN(FORMATMESSAGE('%s%s', @s, @s))"
        }),
        Case::new("COMPRESS, DECOMPRESS", 40_000, |n| {
            narrow(n, "abc") + "SELECT DATALENGTH(DECOMPRESS(COMPRESS(@s)))"
        }),
        Case::new("HASHBYTES, CHECKSUM", 40_000, |n| {
            narrow(n, "abc") + "SELECT HASHBYTES('SHA2_256', @s), CHECKSUM(@s)"
        }),
    ]
}

fn loops() -> Vec<Case> {
    vec![
        Case::new("SET @s += in a loop", 5_000, |n| {
            "DECLARE @s nvarchar(max) = N''; ".to_owned() + &rounds(n, "SET @s += N'abcdefgh'")
        })
        .at_most(2.4, "each round makes a new value"),
        Case::new("SET @s = @s + in a loop", 5_000, |n| {
            "DECLARE @s varchar(max) = ''; ".to_owned() + &rounds(n, "SET @s = @s + 'abcdefgh'")
        })
        .at_most(2.4, "each round makes a new value"),
        Case::new("SELECT @s += over rows", 5_000, |n| {
            format!(
                "DECLARE @s nvarchar(max) = N''; SELECT @s += N'abcdefgh' FROM GENERATE_SERIES(1, {n})"
            )
        })
        .at_most(2.4, "each row makes a new value"),
        Case::new("SUBSTRING at each place", 5_000, |n| {
            wide(n, "a") + "DECLARE @c nchar(1); " + &rounds(n, "SET @c = SUBSTRING(@s, @i, 1)")
        }),
        Case::new("LEN in each round", 5_000, |n| {
            wide(n, "a") + "DECLARE @c int; " + &rounds(n, "SET @c = LEN(@s)")
        }),
        Case::new("CHARINDEX from each place", 2_000, |n| {
            wide(n, "ab,") + "DECLARE @c int = 0; " + &rounds(n, "SET @c = CHARINDEX(N',', @s, @c + 1)")
        }),
        Case::new(".WRITE at the end in a loop", 1_000, |n| {
            "CREATE TABLE #w (t nvarchar(max)); INSERT #w VALUES (N'x'); ".to_owned()
                + &rounds(n, "UPDATE #w SET t.WRITE(N'abcdefgh', NULL, NULL)")
        })
        .at_most(2.4, "each round makes a new version of the row"),
    ]
}

fn conversions() -> Vec<Case> {
    let number = |target: &'static str| {
        move |n: usize| {
            narrow(n, "0") + &format!("SELECT TRY_CAST(@s + '1' AS {target}), ISNUMERIC(@s)")
        }
    };
    vec![
        Case::new("CAST of long digits to int", 40_000, number("int")),
        Case::new("CAST of long digits to decimal", 40_000, number("decimal(38, 10)")),
        Case::new("CAST of long digits to float", 40_000, number("float")),
        Case::new("CAST of long digits to money", 40_000, number("money")),
        Case::new("CAST of long text to datetime2", 40_000, number("datetime2")),
        Case::new("PARSE of long digits", 1_000, |n| {
            format!("SELECT TRY_PARSE(REPLICATE('1', {n}) AS decimal(38, 2))")
        }),
        Case::new("CONVERT of hexadecimal digits", 40_000, |n| {
            narrow(n, "aB") + "SELECT DATALENGTH(CONVERT(varbinary(max), @s, 2))"
        }),
        Case::new("CAST varchar to nvarchar and back", 40_000, |n| {
            narrow(n, "aB") + "SELECT DATALENGTH(CAST(CAST(@s AS nvarchar(max)) AS varchar(max)))"
        }),
    ]
}

fn keys() -> Vec<Case> {
    let table = |ty: &'static str| {
        move |n: usize| {
            vec![format!(
                "CREATE TABLE t (id int IDENTITY PRIMARY KEY, s {ty}); INSERT t SELECT \
                 REPLICATE(N'a', 40) + CAST(value % 100000 AS nvarchar(20)) FROM GENERATE_SERIES(1, {n})"
            )]
        }
    };
    vec![
        Case::new("comparison of long texts, CI_AS", 40_000, |n| {
            wide(n, "aB")
                + "SELECT IIF(@s + N'x' = LOWER(@s) + N'y', 1, 0), IIF(@s < @s + N'x', 1, 0)"
        }),
        Case::new("ORDER BY text, CI_AS", 2_000, |n| {
            format!(
                "SELECT TOP (1) s FROM (SELECT TOP ({n}) s FROM t ORDER BY s DESC) x ORDER BY s"
            )
        })
        .after(table("nvarchar(60) COLLATE Latin1_General_CI_AS")),
        Case::new("GROUP BY text, CI_AS", 2_000, |_| {
            "SELECT COUNT(*) FROM (SELECT s FROM t GROUP BY s) x".to_owned()
        })
        .after(table("nvarchar(60) COLLATE Latin1_General_100_CI_AS_KS_WS")),
        Case::new("join of texts, CI_AS", 2_000, |_| {
            "SELECT COUNT(*) FROM t a JOIN t b ON a.s = b.s AND a.id = b.id".to_owned()
        })
        .after(table("nvarchar(60) COLLATE Latin1_General_CI_AS")),
        Case::new("DISTINCT of long texts", 500, |n| {
            format!(
                "SELECT COUNT(DISTINCT REPLICATE(CAST(N'ä' AS nvarchar(max)), 5000) + CAST(value AS nvarchar(9))) \
                 FROM GENERATE_SERIES(1, {})",
                n / 10
            )
        }),
    ]
}
