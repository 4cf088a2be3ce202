//! Generates the compared expressions as T-SQL text.

use super::data::{Random, Table};
use crate::library::Function;
use functions::takes_date_part;

/// Literals of many types.
const LITERALS: [&str; 22] = [
    "0",
    "1",
    "-1",
    "2",
    "2147483647",
    "5000000000",
    "1.5",
    "-0.05",
    "0.00",
    "12345678901234567890.5",
    "1e0",
    "-2.5e-3",
    "'a'",
    "'A '",
    "N'ab'",
    "N'É'",
    "'2024-02-29'",
    "'12'",
    "0x01FF",
    "$3.25",
    "NULL",
    "CAST('2024-02-29 12:34:56' AS datetime2(3))",
];

fn columns() -> Vec<String> {
    Table::new(0).columns.into_iter().map(|column| column.name).collect()
}

/// Returns one column of each type.
fn firsts() -> Vec<String> {
    columns().into_iter().filter(|name| name.starts_with("a_")).collect()
}

/// Calls `write` for pairs of operands: columns of each pair of types, columns and literals.
fn pairs(mut write: impl FnMut(&str, &str)) {
    for left in firsts() {
        for right in columns().iter().filter(|name| name.starts_with("b_")) {
            write(&left, right);
        }
        for literal in LITERALS {
            write(&left, literal);
            write(literal, &left);
        }
    }
}

/// Returns every arithmetic operator over every pair of types.
pub(super) fn operators() -> Vec<String> {
    let mut texts = Vec::new();
    pairs(|left, right| {
        for op in ["+", "-", "*", "/", "%", "&", "|", "^"] {
            texts.push(format!("{left} {op} {right}"));
        }
    });
    for column in firsts() {
        texts.push(format!("-{column}"));
        texts.push(format!("~{column}"));
        texts.push(format!("-(-{column})"));
    }
    texts
}

/// Returns every kind of condition over every pair of types, and the connectives.
pub(super) fn conditions() -> Vec<String> {
    let mut texts = Vec::new();
    let mut add = |condition: String| texts.push(format!("CASE WHEN {condition} THEN 1 END"));
    pairs(|left, right| {
        for op in ["=", "<>", "<", "<=", ">", ">="] {
            add(format!("{left} {op} {right}"));
        }
        add(format!("{left} IN ({right}, {left}, NULL)"));
        add(format!("{left} LIKE {right}"));
    });
    for column in firsts() {
        let name = &column[2..];
        add(format!("{column} IS NULL"));
        add(format!("{column} IS NOT NULL"));
        add(format!("{column} = {column}"));
        add(format!("{column} BETWEEN b_{name} AND {column}"));
        add(format!("NOT ({column} < b_{name}) OR {column} IS NULL"));
        add(format!("{column} NOT IN (1, 2, 3)"));
        add(format!("{column} IN ('a', 'B', 'ab', '12', '1e3', 'x', 'y')"));
        add(format!("{column} IN (N'a', N'É', N'ab')"));
        add(format!("{column} NOT IN ('a', 'B', 'ab', NULL, '12', '1e3', 'x', 'y')"));
        add(format!("{column} IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2147483647)"));
        add(format!("{column} IN ('2024-02-29', '1900-01-01')"));
    }
    let patterns = [
        "", "%", "a%", "%b", "%a%b%", "_", "__", "a_c%", "[a-c]%", "[^a]%", "%[%]%", "a[%]b",
        "a!%b", "%abc%abc", "ab", "AB  ", "É%", "%ß%", "[", "a[", "% %", "a%  ", "_%_", "%e%",
    ];
    for column in firsts() {
        for pattern in patterns {
            add(format!("{column} LIKE '{pattern}'"));
            add(format!("{column} NOT LIKE N'{pattern}'"));
            add(format!("{column} LIKE '{pattern}' ESCAPE '!'"));
        }
        add(format!("{column} LIKE 'a' ESCAPE 'xy'"));
    }
    let terms = [
        "a_int = b_int",
        "a_int > 0",
        "a_int IS NULL",
        "1 / a_int > 0",
        "a_v = b_v",
        "a_big / a_int2 > 1",
        "1 = 0",
        "1 = 1",
        "NULL = 1",
        "a_d15 * a_d38 > 1",
        "a_bit = 1",
        "CAST(a_v AS int) = 12",
        "a_date < b_date",
        "a_n LIKE N'a%'",
    ];
    for left in terms {
        for right in terms {
            for third in ["a_tiny > 1", "1 / a_small = 1"] {
                add(format!("{left} AND {right} AND {third}"));
                add(format!("{left} OR {right} OR {third}"));
                add(format!("({left} OR {third}) AND {right}"));
                add(format!("NOT ({left} AND {right}) OR {third}"));
            }
        }
    }
    texts
}

/// Returns every conversion between two types, and conversions of literals.
pub(super) fn conversions() -> Vec<String> {
    let targets = [
        "bit",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "decimal(9,2)",
        "decimal(15,2)",
        "decimal(18,0)",
        "decimal(38,10)",
        "decimal(5,3)",
        "money",
        "smallmoney",
        "real",
        "float",
        "date",
        "time",
        "time(0)",
        "datetime",
        "smalldatetime",
        "datetime2",
        "datetime2(3)",
        "datetimeoffset",
        "char(3)",
        "varchar(5)",
        "varchar(60)",
        "varchar(max)",
        "nchar(3)",
        "nvarchar(3)",
        "nvarchar(60)",
        "nvarchar(max)",
        "binary(3)",
        "varbinary(60)",
        "uniqueidentifier",
        "sql_variant",
    ];
    let mut texts = Vec::new();
    for column in firsts() {
        for target in targets {
            texts.push(format!("CAST({column} AS {target})"));
            texts.push(format!("TRY_CAST({column} AS {target})"));
            for style in ["1", "3", "102", "112", "120", "126", "a_int2"] {
                texts.push(format!("CONVERT({target}, {column}, {style})"));
            }
        }
    }
    texts
}

/// Returns calls of a function with arguments of all types.
pub(super) fn calls(function: &Function, random: &mut Random) -> Vec<String> {
    let name = function.name;
    if name.starts_with("@@") {
        return vec![name.to_owned()];
    }
    if name.contains(['.', ' ']) {
        // A method or clause, whose syntax is special.
        return (0..20).flat_map(|_| special_calls(name, random)).collect();
    }
    if function.arity == (0, 0) {
        // Some functions are keywords without parentheses.
        return vec![format!("{name}()"), name.to_owned()];
    }
    let (fewest, most) = (usize::from(function.arity.0), usize::from(function.arity.1).min(12));
    let columns = columns();
    // `make whole` tries three times as many.
    let share = if std::env::var_os("CLEARWAY_WHOLE").is_some() { 1 } else { 3 };
    let rounds = if most == 0 { 1 } else { (60 + 40 * most) / share };
    let mut texts = Vec::new();
    for round in 0..rounds {
        let count = fewest + random.below(most - fewest + 1);
        let mut arguments = Vec::with_capacity(count);
        for place in 0..count {
            arguments.push(match (place, round % 4) {
                (0, _) if takes_date_part(name) => random.pick(&PARTS).to_string(),
                (1, _) if name == "ISJSON" => "VALUE".to_owned(),
                (0, 0) if name == "HASHBYTES" => "'SHA2_256'".to_owned(),
                // All arguments of one type, so that functions of several dates or numbers bind.
                (_, 1) => format!("{}_int2", random.pick(&["a", "b"])),
                (_, 2) if random.below(2) == 0 => random.pick(&LITERALS).to_string(),
                _ => random.pick(&columns).clone(),
            });
        }
        // Some functions are found only with their schema.
        let schema = match name {
            functions::hex::OF_MSDB => "msdb.dbo.",
            _ if name.starts_with(functions::hex::PREFIX) => "sys.",
            _ => "",
        };
        texts.push(format!("{schema}{name}({})", arguments.join(", ")));
        let mut special = special_calls(name, random);
        texts.append(&mut special);
    }
    texts
}

const PARTS: [&str; 15] = [
    "year",
    "quarter",
    "month",
    "dayofyear",
    "day",
    "week",
    "weekday",
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
    "nanosecond",
    "tzoffset",
    "iso_week",
];

/// Returns calls of functions that accept few arguments.
fn special_calls(name: &str, random: &mut Random) -> Vec<String> {
    let small = random.pick(&["a_int2", "2", "a_tiny", "-1", "NULL"]);
    let text = random.pick(&["a_v", "a_n", "a_max", "a_char", "a_n_sc", "a_v_utf8"]);
    let date = random.pick(&["a_date", "a_stamp", "a_stamp2", "a_sstamp", "a_zoned", "a_time"]);
    let part = random.pick(&PARTS);
    match name {
        "SUBSTRING" => vec![format!("SUBSTRING({text}, {small}, a_int2)")],
        "LEFT" | "RIGHT" | "REPLICATE" => vec![format!("{name}({text}, {small})")],
        "DATEADD" => vec![format!("DATEADD({part}, {small}, {date})")],
        "DATEDIFF" | "DATEDIFF_BIG" => {
            vec![format!("{name}({part}, {date}, b_stamp2)")]
        }
        "DATEPART" | "DATENAME" | "DATETRUNC" => vec![format!("{name}({part}, {date})")],
        "DATE_BUCKET" => vec![format!("DATE_BUCKET({part}, 2, {date})")],
        "YEAR" | "MONTH" | "DAY" => vec![format!("{name}({date})")],
        "HASHBYTES" => {
            let algorithm = random.pick(&["SHA2_256", "md5", "SHA1", "SHA2_512", "none"]);
            vec![format!("HASHBYTES('{algorithm}', {text})")]
        }
        "SWITCHOFFSET" | "TODATETIMEOFFSET" => vec![format!("{name}({date}, '+05:30')")],
        "DATETIME2FROMPARTS" => {
            vec!["DATETIME2FROMPARTS(2000 + a_int2, a_int2, 1, 2, 3, 4, 5, 7)".to_owned()]
        }
        "TIMEFROMPARTS" => vec!["TIMEFROMPARTS(a_int2, a_int2, 3, 4, 7)".to_owned()],
        "DATETIMEOFFSETFROMPARTS" => {
            vec!["DATETIMEOFFSETFROMPARTS(2000, a_int2, 1, 2, 3, 4, 5, 1, 0, 7)".to_owned()]
        }
        "TRIM" => vec![format!("TRIM({text})"), format!("TRIM('a' FROM {text})")],
        "JSON_OBJECT" => vec![format!("JSON_OBJECT('k': {small}, 't': {text})")],
        "JSON_ARRAY" => vec![format!("JSON_ARRAY({small}, {text})")],
        "FORMAT" => vec![format!("FORMAT({small}, 'N2')"), format!("FORMAT({date}, 'd')")],
        "AT TIME ZONE" => {
            let zone = random.pick(&["UTC", "Central European Standard Time", "none"]);
            vec![format!("{date} AT TIME ZONE '{zone}'")]
        }
        "DECOMPRESS" => vec![format!("DECOMPRESS(COMPRESS({text}))")],
        "TEXTPTR" => vec!["TEXTPTR(a_text)".to_owned()],
        "CRYPT_GEN_RANDOM" => {
            vec!["CRYPT_GEN_RANDOM(a_int2)".to_owned(), "CRYPT_GEN_RANDOM(4)".to_owned()]
        }
        "PARSE AS" => vec![format!("PARSE({text} AS int)")],
        "TRY_PARSE AS" => vec![format!("TRY_PARSE({text} AS date USING 'en-US')")],
        "XML.VALUE()" => {
            let ty = random.pick(&["int", "varchar(3)", "float"]);
            vec![
                format!("a_xml.value('(/a)[1]', '{ty}')"),
                "b_xml.value('(//@c)[1]', 'int')".to_owned(),
            ]
        }
        "XML.QUERY()" => vec!["a_xml.query('/a')".to_owned()],
        "XML.EXIST()" => vec!["a_xml.exist('/b[@c=2]')".to_owned()],
        _ => Vec::new(),
    }
}

/// Returns random combinations of operators, functions and CASE.
pub(super) fn nests(count: usize) -> Vec<String> {
    let mut random = Random::new();
    let columns = columns();
    (0..count).map(|_| nest(&columns, 3, &mut random)).collect()
}

fn nest(columns: &[String], depth: usize, random: &mut Random) -> String {
    if depth == 0 {
        return match random.below(4) {
            0 => random.pick(&LITERALS).to_string(),
            // Mostly operands that fit together; otherwise few texts bind.
            1 => random.pick(columns).clone(),
            _ => {
                random.pick(&["a_int", "b_int", "a_int2", "a_big", "a_d15", "a_float"]).to_string()
            }
        };
    }
    let mut inner = || nest(columns, random_depth(depth), random);
    let (a, b, c) = (inner(), inner(), inner());
    let op = random.pick(&["+", "-", "*", "/", "%"]);
    let comparison = random.pick(&["=", "<>", "<", ">="]);
    match random.below(12) {
        0..3 => format!("({a} {op} {b})"),
        3 => format!("CASE WHEN {a} {comparison} {b} THEN {c} ELSE {b} END"),
        4 => format!("CASE {a} WHEN {b} THEN {c} WHEN 1 THEN {a} END"),
        5 => format!("COALESCE({a}, {b}, {c})"),
        6 => format!("NULLIF({a}, {b})"),
        7 => format!("IIF({a} IS NULL OR {b} {comparison} {c}, {b}, {a})"),
        8 => format!("ISNULL({a}, {b})"),
        9 => format!("CASE WHEN {a} IN ({b}, 1, 2) AND NOT {c} IS NULL THEN {a} END"),
        10 => format!("ABS({a})"),
        _ => format!("CAST({a} AS {})", random.pick(&["int", "bigint", "decimal(18,4)", "float"])),
    }
}

const fn random_depth(depth: usize) -> usize {
    depth - 1
}
