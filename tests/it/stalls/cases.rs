//! What runs: functions with arguments that were found by trying, conversions, and what `texts.rs` and `sets.rs` list.

use types::Value;

use crate::client::{Client, error_numbers, rows};

use super::{sets, texts};

/// A batch that is measured, and its name in the table.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) text: String,
}

impl Case {
    /// Returns a case that evaluates an expression over values of `dbo.big`.
    pub(super) fn expression(expression: &str) -> Self {
        let text = format!("{} SELECT DATALENGTH({expression})", declared(expression));
        Self { name: expression.to_owned(), text }
    }

    /// Returns a case that runs a statement with variables of values of `dbo.big`.
    pub(super) fn statement(statement: &str) -> Self {
        let text = format!("{} {statement}", declared(statement));
        Self { name: statement.to_owned(), text }
    }
}

/// The large values: variable, type, and how it is made of `@n` pieces.
const VALUES: &[(&str, &str, &str)] = &[
    ("@s", "varchar(max)", "REPLICATE(CONVERT(varchar(max), 'aB1,'), @n / 4)"),
    ("@w", "nvarchar(max)", "REPLICATE(CONVERT(nvarchar(max), N'aÄ1😀,'), @n / 12)"),
    (
        "@b",
        "varbinary(max)",
        "CONVERT(varbinary(max), REPLICATE(CONVERT(varchar(max), 'aB1,'), @n / 4))",
    ),
    ("@h", "varchar(max)", "REPLICATE(CONVERT(varchar(max), '0123'), @n / 4)"),
    (
        "@j",
        "nvarchar(max)",
        "CONCAT('[', REPLICATE(CONVERT(varchar(max), '{\"a\":\"b\",\"c\":12},'), @n / 36), '{\"a\":1}]')",
    ),
    (
        "@x",
        "xml",
        "CONCAT('<r>', REPLICATE(CONVERT(varchar(max), '<a b=\"c\">12</a>'), @n / 64), '</r>')",
    ),
];

/// Declares the variables that a text uses, with their values.
fn declared(text: &str) -> String {
    let mut all = String::new();
    for (name, ty, _) in VALUES {
        let is_used = text.match_indices(name).any(|(place, found)| {
            let next = text[place + found.len()..].chars().next();
            !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
        });
        if is_used {
            let column = &name[1..];
            all.push_str(&format!("DECLARE {name} {ty} = (SELECT {column} FROM dbo.big);"));
        }
    }
    if text.contains("@n") {
        all.push_str("DECLARE @n int = (SELECT n FROM dbo.big);");
    }
    all
}

/// How large the values are, and how many rows there are.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// How many bytes a value has.
    bytes: u32,
    /// How many rows `dbo.many` has.
    rows: u32,
    /// Rows of `dbo.long`, of 2.7 KB each.
    long_rows: u32,
}

impl Scale {
    /// Small values, by which what is valid is found.
    pub(super) const SMALL: Self = Self { bytes: 1_200, rows: 50, long_rows: 10 };
    /// Values of which eight clients have one each.
    pub(super) const MIDDLE: Self = Self { bytes: 8_000_000, rows: 100_000, long_rows: 2_000 };
    /// Values that one client works on.
    pub(super) const LARGE: Self = Self { bytes: 50_000_000, rows: 1_000_000, long_rows: 40_000 };

    /// Returns the batches that make the tables.
    pub(super) fn tables(self) -> Vec<String> {
        let columns: Vec<_> =
            VALUES.iter().map(|(name, ty, _)| format!("{} {ty}", &name[1..])).collect();
        let mut all = vec![
            format!("CREATE TABLE dbo.big (n int, {})", columns.join(", ")),
            format!("INSERT dbo.big (n) VALUES ({})", self.bytes / 2),
        ];
        all.extend(VALUES.iter().map(|(name, _, made)| {
            format!("DECLARE @n int = {}; UPDATE dbo.big SET {} = {made}", self.bytes, &name[1..])
        }));
        all.push(format!(
            "SELECT value AS id, CONVERT(varchar(40), CONCAT('x', CAST(value AS bigint) * 7919 % 1000003)) AS t, value % 7 AS g \
             INTO dbo.many FROM GENERATE_SERIES(1, {})",
            self.rows
        ));
        all.push(format!(
            "SELECT value AS id, REPLICATE(CONVERT(varchar(max), 'long '), 540) + CONVERT(varchar(9), value) AS t, \
             value % 7 AS g INTO dbo.long FROM GENERATE_SERIES(1, {})",
            self.long_rows
        ));
        all
    }
}

/// Tries batches on a server with small tables.
pub(super) struct Probe<'a> {
    client: &'a mut Client,
}

impl<'a> Probe<'a> {
    /// Returns a probe that asks by this client.
    pub(super) fn new(client: &'a mut Client) -> Self {
        Self { client }
    }

    fn is_valid(&mut self, case: &Case) -> bool {
        error_numbers(&self.client.batch(&case.text)).is_empty()
    }

    /// Names of the types that a server has.
    fn types(&mut self) -> Vec<String> {
        let tokens =
            self.client.batch("SELECT CONVERT(varchar(100), name) FROM sys.types ORDER BY name");
        let text = |row: &Vec<Value>| match &row[0] {
            Value::VarChar(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("{other:?} is no name"),
        };
        rows(&tokens).iter().map(text).collect()
    }
}

/// Arguments beside the large one.
const OTHERS: &[&str] = &["'b'", "@n", "1", "'$'", "'json'", "'SHA2_256'", "0x01", "N'Ä'"];
/// Most combinations that are tried.
const COMBINATIONS_MAX: usize = 512;

/// Returns the cases of the registry and of both lists.
pub(super) fn all(probe: &mut Probe<'_>, only: &str) -> Vec<Case> {
    let mut all = of_registry(probe, only);
    all.extend(texts::cases());
    all.extend(sets::cases());
    all
}

/// Returns the cases of functions and conversions whose names contain `only` or are part of it.
pub(super) fn of_registry(probe: &mut Probe<'_>, only: &str) -> Vec<Case> {
    // Internal names have other characters. Only syntax calls these functions: `texts` has them.
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_wanted = |name: &str| is_plain(name) && (name.contains(only) || only.contains(name));
    let mut all = Vec::new();
    let scalars = functions::SCALARS.iter().chain(metadata::function::OF_SESSION);
    for function in scalars.flat_map(|list| list.iter()).filter(|f| is_wanted(f.name)) {
        all.extend(scalar(probe, function.name, function.arity));
    }
    let tables = functions::TABLES.iter().flat_map(|list| list.iter());
    for function in tables.filter(|f| is_wanted(f.name)) {
        all.extend(table(probe, function.name));
    }
    let aggregates = functions::AGGREGATES.iter().flat_map(|list| list.iter());
    for function in aggregates.filter(|f| is_wanted(f.name)) {
        all.extend(aggregate(probe, function.name));
    }
    if is_wanted("TRY_CONVERT") {
        all.extend(conversions(probe));
    }
    all
}

/// Returns the combinations of `count` other arguments.
fn combinations(count: usize) -> Vec<Vec<&'static str>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let longer = |row: &Vec<&'static str>| {
            let row = row.clone();
            OTHERS.iter().map(move |other| [row.as_slice(), &[*other]].concat())
        };
        all = all.iter().flat_map(longer).take(COMBINATIONS_MAX).collect();
    }
    all
}

/// Returns calls of a scalar function with a large value in each place that takes one: of each kind, the first that is valid.
fn scalar(probe: &mut Probe<'_>, name: &str, arity: (u8, u8)) -> Vec<Case> {
    let mut found = Vec::new();
    let most = arity.1.min(arity.0 + 1).min(4);
    for count in usize::from(arity.0.max(1))..=usize::from(most) {
        let part = if functions::takes_date_part(name) { "day" } else { "" };
        for place in usize::from(!part.is_empty())..count {
            // What suits one kind mostly suits the others, which are tried with it alone.
            let mut suited: Option<Vec<&str>> = None;
            for (large, _, _) in VALUES {
                let tried = match &suited {
                    Some(others) => vec![others.clone()],
                    None => combinations(count - 1 - usize::from(!part.is_empty())),
                };
                for others in tried {
                    let mut arguments = others.clone();
                    if !part.is_empty() {
                        arguments.insert(0, part);
                    }
                    arguments.insert(place, large);
                    let case = Case::expression(&format!("{name}({})", arguments.join(", ")));
                    if probe.is_valid(&case) {
                        found.push(case);
                        suited = Some(others);
                        break;
                    }
                }
            }
        }
    }
    found
}

fn table(probe: &mut Probe<'_>, name: &str) -> Vec<Case> {
    let mut found = Vec::new();
    for (large, _, _) in VALUES {
        for rest in ["", ", ','", ", ',', 1", ", '$'"] {
            let case = Case::statement(&format!("SELECT COUNT(*) FROM {name}({large}{rest})"));
            if probe.is_valid(&case) {
                found.push(case);
                break;
            }
        }
    }
    found
}

/// Returns an aggregate over many rows and over long ones, with DISTINCT and over windows.
fn aggregate(probe: &mut Probe<'_>, name: &str) -> Vec<Case> {
    let mut found = Vec::new();
    for (table, column) in [("many", "id"), ("many", "t"), ("long", "t")] {
        for call in [
            format!("{name}({column})"),
            format!("{name}(DISTINCT {column})"),
            format!("{name}({column}, ',')"),
            format!("{name}(CONVERT(varchar(max), {column}), ',')"),
            format!("{name}('a' + CONVERT(varchar(9), id) : {column})"),
            format!("{name}(0.5) WITHIN GROUP (ORDER BY {column})"),
            format!("{name}({column}) OVER (PARTITION BY g ORDER BY id ROWS 10 PRECEDING)"),
        ] {
            let text = format!("SELECT COUNT(v) FROM (SELECT {call} AS v FROM dbo.{table}) AS t");
            let case = Case::statement(&text);
            if probe.is_valid(&case) {
                found.push(case);
            }
        }
    }
    found
}

/// Returns conversions of each large value to each type.
fn conversions(probe: &mut Probe<'_>) -> Vec<Case> {
    let mut found = Vec::new();
    for ty in probe.types() {
        let ty = match ty.as_str() {
            "varchar" | "nvarchar" | "varbinary" => format!("{ty}(max)"),
            _ => ty,
        };
        for (large, _, _) in VALUES {
            for style in ["", ", 1", ", 2"] {
                let case = Case::expression(&format!("TRY_CONVERT({ty}, {large}{style})"));
                if probe.is_valid(&case) {
                    found.push(case);
                }
            }
        }
    }
    found
}
