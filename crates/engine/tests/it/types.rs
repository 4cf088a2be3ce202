//! Types and nullability of results: sp_describe_first_result_set describes what is sent.

use std::fmt::Write as _;

use engine::session::Session;
use engine::sink::ColumnInfo;

use crate::client::{Answer, batch, instance, login};
use crate::script::{blocks, scripts};

/// Ordinals of columns of sp_describe_first_result_set, as its page lists them.
const NAME: usize = 2;
const NULLABLE: usize = 3;
const TYPE_NAME: usize = 5;
const IDENTITY: usize = 27;
const UPDATEABLE: usize = 29;

/// Words that make another result of the text the first that is sent, or change its meaning on the
/// way.
const FLOW: [&str; 7] =
    ["CATCH", "FETCH ", "ALTER ", "CREATE ", "TRUNCATE ", "EXEC", "SET CONCAT_NULL"];

/// Formats the compared properties of a column.
fn sent(column: &ColumnInfo) -> String {
    let name = if column.name.is_empty() { "NULL" } else { &column.name };
    let data_type = column.column_type.data_type.to_string();
    let data_type = match column.traits.numeric {
        true => data_type.replacen("decimal", "numeric", 1),
        false => data_type,
    };
    let bit = |on: bool| if on { "1" } else { "0" };
    let traits = column.traits;
    [
        name,
        bit(column.column_type.nullable),
        &data_type,
        bit(traits.identity),
        bit(column.updatable && !traits.identity),
    ]
    .join(" ")
}

fn described(row: &[String]) -> String {
    [NAME, NULLABLE, TYPE_NAME, IDENTITY, UPDATEABLE].map(|place| row[place].as_str()).join(" ")
}

/// Describes the first result of a text; `None` if it can't be described.
fn describe(session: &mut Session, text: &str) -> Option<Vec<String>> {
    let quoted = text.replace('\'', "''");
    let answer = batch(session, &format!("EXEC sp_describe_first_result_set N'{quoted}'"));
    let rows = answer.sets.first().filter(|_| answer.errors.is_empty())?;
    // Under SHOWPLAN the result is a plan.
    let is_description = rows.first().is_some_and(|row| row.len() > UPDATEABLE);
    is_description.then(|| rows.iter().map(|row| described(row)).collect())
}

/// Checks for each query of each script that sp_describe_first_result_set agrees with what is sent.
#[test]
fn described_results_are_those_that_are_sent() {
    let (mut compared, mut failures) = (0, String::new());
    for path in scripts() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let instance = instance();
        let mut sessions = std::collections::BTreeMap::new();
        let mut current = "a".to_owned();
        for block in blocks(&text) {
            if let Some(session) = block.head.strip_prefix("session ") {
                current = session.to_owned();
                continue;
            }
            let kind = block.head.split(' ').next().unwrap_or_default();
            if !matches!(kind, "run" | "query" | "error" | "answer" | "tokens" | "count") {
                continue;
            }
            let session = sessions.entry(current.clone()).or_insert_with(|| login(&instance));
            let lines = block.lines.iter().take_while(|line| **line != "----");
            let sql = lines.copied().collect::<Vec<_>>().join("\n");
            let is_plain = kind == "query" && !FLOW.iter().any(|word| sql.contains(word));
            let before = is_plain.then(|| describe(session, &sql)).flatten();
            let answer: Answer = batch(session, &sql);
            let (Some(before), Some(columns)) = (before, answer.columns.first()) else { continue };
            compared += 1;
            let columns: Vec<String> = columns.iter().map(sent).collect();
            if before != columns && answer.errors.is_empty() {
                writeln!(failures, "{name}:{}: {sql}\n  {before:?}\n  {columns:?}", block.line)
                    .unwrap();
            }
        }
    }
    assert!(compared > 500, "only {compared} results were described");
    assert!(failures.is_empty(), "\n{failures}");
}

/// "A message string can be up to 8,000 characters long if it is a non-Unicode string, and 4,000
/// characters long if it is a Unicode string." (PRINT)
#[test]
fn print_gives_8000_characters_or_4000_of_unicode() {
    let mut session = login(&instance());
    let mut length = |text: &str| batch(&mut session, text).messages[0].message.chars().count();
    assert_eq!(length("PRINT REPLICATE(CAST('a' AS varchar(max)), 9000)"), 8_000);
    assert_eq!(length("PRINT REPLICATE(CAST(N'a' AS nvarchar(max)), 9000)"), 4_000);
}

/// The flags of COLMETADATA: `[MS-TDS] 2.2.7.4`. A column of a table may be updated, an expression
/// is computed.
#[test]
fn columns_of_tables_are_updatable_and_expressions_are_not() {
    let mut session = login(&instance());
    let setup = "CREATE TABLE t (id int IDENTITY PRIMARY KEY, n int NULL, c AS n + 1)";
    assert!(batch(&mut session, setup).errors.is_empty());
    let view = "CREATE VIEW v AS SELECT id, n, n * 2 AS twice FROM t";
    assert!(batch(&mut session, view).errors.is_empty());
    let mut flags = |text: &str| {
        let answer = batch(&mut session, text);
        let flag = |c: &ColumnInfo| (c.traits.identity, c.updatable);
        answer.columns[0].iter().map(flag).collect::<Vec<_>>()
    };
    let (identity, stored, computed) = ((true, true), (false, true), (false, false));
    assert_eq!(
        flags("SELECT id, n, c, n + 1, 5 FROM t"),
        [identity, stored, computed, computed, computed]
    );
    assert_eq!(flags("SELECT id, n, twice FROM v"), [identity, stored, computed]);
    assert_eq!(
        flags("SELECT * FROM (SELECT n, COUNT(*) AS k FROM t GROUP BY n) d"),
        [stored, computed]
    );
    assert_eq!(flags("SELECT n FROM t UNION ALL SELECT n FROM t"), [computed]);
}
