//! Statements that only generators write: too deep, too long, too wide, or no text at all. Each gets SQL
//! Server's error or its answer; the session goes on and the server lives.
//!
//! Limits are those of "Maximum capacity specifications for SQL Server" and of the messages themselves.

use tds::ProcedureId;
use tds::client::{self, RpcBuilder, Token};
use types::data_type::Length;
use types::{DataType, Value};

use crate::client::{Client, column_type, error_numbers, errors, output_value};
use crate::server::ServerProcess;

/// How deep what nests is made to nest.
const DEEP: usize = 10_000;

fn nested(before: &str, open: &str, middle: &str, close: &str) -> String {
    format!("{before}{}{middle}{}", open.repeat(DEEP), close.repeat(DEEP))
}

/// Texts that nest deeper than anybody's stack.
fn deep_texts() -> Vec<String> {
    vec![
        nested("SELECT ", "(", "1", ")"),
        nested("SELECT ", "- ", "1", ""),
        nested("SELECT ", "~", "1", ""),
        nested("SELECT 1 WHERE ", "NOT ", "1 = 1", ""),
        nested("SELECT ", "CASE WHEN 1 = 1 THEN ", "1", " END"),
        nested("SELECT ", "CASE WHEN 1 = 0 THEN 1 ELSE ", "1", " END"),
        nested("SELECT ", "(SELECT ", "1", ")"),
        nested("SELECT 1 WHERE ", "EXISTS (SELECT 1 WHERE ", "1 = 1", ")"),
        nested("SELECT 1 WHERE ", "1 IN (SELECT 1 WHERE ", "1 = 1", ")"),
        nested("SELECT * FROM ", "(SELECT * FROM ", "(SELECT 1 AS a) AS x", ") AS x"),
        nested("SELECT ", "ABS(", "1", ")"),
        nested("SELECT ", "IIF(1 = 1, 1, ", "1", ")"),
        nested("SELECT ", "CAST(", "1", " AS int)"),
        nested("", "(", "SELECT 1", ")"),
        nested("", "BEGIN ", "SELECT 1 ", "END "),
        nested("", "IF 1 = 1 ", "SELECT 1", ""),
        nested("", "WHILE 1 = 0 ", "SELECT 1", ""),
        nested("", "BEGIN TRY ", "SELECT 1 ", "END TRY BEGIN CATCH END CATCH "),
    ]
}

#[test]
fn what_nests_too_deeply_is_191() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    for text in deep_texts() {
        let start: String = text.chars().take(40).collect();
        assert_eq!(error_numbers(&client.batch(&text)), [191], "{start}");
    }
    assert_eq!(client.value_of("1"), Value::Int(1));
}

#[test]
fn what_is_only_long_is_answered() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let texts = [
        format!("SELECT 1 WHERE 1 = 1{}", " AND 1 = 1".repeat(DEEP)),
        format!("SELECT 1 WHERE 1 = 1{}", " OR 1 = 0".repeat(DEEP)),
        format!("SELECT 1{}", " + 1".repeat(DEEP)),
        format!("SELECT 1 WHERE 1 IN (0{})", ", 1".repeat(DEEP)),
        format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(DEEP)),
        format!("{}SELECT 1", ";".repeat(DEEP)),
        format!("{}{}SELECT 1", "/*".repeat(DEEP), "*/".repeat(DEEP)),
    ];
    for text in texts {
        let tokens = client.batch(&text);
        let start: String = text.chars().take(40).collect();
        assert_eq!(error_numbers(&tokens), [], "{start}");
        assert!(tokens.iter().any(|token| matches!(token, Token::Row(_))), "{start}");
    }
}

#[test]
fn text_of_100_megabytes_is_a_value() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let long = "x".repeat(100 << 20);
    let tokens = client.batch(&format!("SELECT DATALENGTH('{long}')"));
    let rows: Vec<_> = tokens.iter().filter(|token| matches!(token, Token::Row(_))).collect();
    assert_eq!(rows, [&Token::Row(vec![Value::BigInt(100 << 20)])]);
}

#[test]
fn results_and_tables_have_so_many_columns() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let items = |count: usize| format!("SELECT 0{}", ", 1".repeat(count - 1));
    assert_eq!(error_numbers(&client.batch(&items(4_096))), []);
    assert_eq!(error_numbers(&client.batch(&items(4_097))), [1056]);
    assert_eq!(error_numbers(&client.batch(&items(65_536))), [1056]);
    let table = |count: usize| {
        let columns: Vec<_> = (0..count).map(|number| format!("c{number} int")).collect();
        format!("CREATE TABLE t{count} ({})", columns.join(", "))
    };
    assert_eq!(error_numbers(&client.batch(&table(1_024))), []);
    assert_eq!(error_numbers(&client.batch(&table(1_025))), [1702]);
    assert_eq!(client.value_of("1"), Value::Int(1));
}

/// Runs a sum of `count` parameters by `sp_executesql`, which has two more.
fn sum_of_parameters(client: &mut Client, count: usize) -> Vec<Token> {
    let text = column_type(DataType::NVarChar(Length::Max));
    let int = column_type(DataType::Int);
    let names: Vec<_> = (0..count).map(|number| format!("@p{number}")).collect();
    let declared: Vec<_> = names.iter().map(|name| format!("{name} int")).collect();
    let statement = format!("SET @sum = {}", names.join(" + "));
    let mut call = RpcBuilder::new(client.settings)
        .call_id(ProcedureId::ExecuteSql)
        .input("", text, &Value::nvarchar(&statement))
        .input("", text, &Value::nvarchar(&format!("@sum int OUTPUT, {}", declared.join(", "))))
        .output("@sum", int, &Value::Null);
    for name in &names {
        call = call.input(name, int, &Value::Int(1));
    }
    client.send(&call.finish());
    client.response()
}

#[test]
fn a_call_has_at_most_2100_parameters() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    assert_eq!(output_value(&sum_of_parameters(&mut client, 2_097)), Value::Int(2_097));
    assert_eq!(error_numbers(&sum_of_parameters(&mut client, 2_098)), [8003]);
    assert_eq!(client.value_of("1"), Value::Int(1), "the session goes on");
}

#[test]
fn errors_of_values_name_what_is_wrong() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let cases = [
        ("SELECT 2147483647 + 1", 8115, "int"),
        ("SELECT CAST(1000 AS decimal(3, 1))", 8115, "numeric"),
        ("SELECT CAST(300 AS tinyint)", 220, "tinyint, value = 300"),
        ("SELECT 1 / 0", 8134, "Divide by zero"),
        ("SELECT CAST('abc' AS int)", 245, "the varchar value 'abc' to data type int"),
        ("SELECT CAST('abc' AS decimal(5, 2))", 8114, "varchar to numeric"),
        ("SELECT CAST('abc' AS date)", 241, "date"),
        (
            "CREATE TABLE dbo.short (name varchar(3)); INSERT dbo.short VALUES ('abcdef')",
            2628,
            "table 'master.dbo.short', column 'name'. Truncated value: 'abc'",
        ),
    ];
    for (text, number, words) in cases {
        let tokens = client.batch(text);
        let error = errors(&tokens);
        let [error, ..] = error.as_slice() else { panic!("{text}: {tokens:?}") };
        assert_eq!(error.number, number, "{text}");
        assert!(error.message.contains(words), "{text}: {}", error.message);
    }
}

/// A batch of text with `X` in place of units that Rust's text cannot hold.
fn batch_with_unit(client: &Client, text: &str, unit: u16) -> Vec<u8> {
    let mut bytes = client::batch(text, client.settings);
    let mark = u16::from(b'X').to_le_bytes();
    let places: Vec<_> = (0..bytes.len() - 1).filter(|&at| bytes[at..at + 2] == mark).collect();
    assert_eq!(places.len(), text.matches('X').count());
    for place in places {
        bytes[place..place + 2].copy_from_slice(&unit.to_le_bytes());
    }
    bytes
}

#[test]
fn any_unit_may_stand_in_a_text() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    for unit in [0, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xFFFE, 0xFFFF, 0xFEFF] {
        client.send(&batch_with_unit(&client, "SELECT DATALENGTH(N'aXb')", unit));
        let tokens = client.response();
        let row = tokens.iter().find(|token| matches!(token, Token::Row(_)));
        assert_eq!(row, Some(&Token::Row(vec![Value::Int(6)])), "unit {unit:04X}: {tokens:?}");
        for text in ["SELECT X", "X", "SELECT 1 AS [X]", "SELECT 'X", "/*X", "--X"] {
            client.send(&batch_with_unit(&client, text, unit));
            client.response();
        }
        assert_eq!(client.value_of("1"), Value::Int(1), "after unit {unit:04X}");
    }
}
