//! The distributed cache benchmark: its GET is one batch of an UPDATE and a SELECT, sent through
//! sp_executesql.

use load::{Answer, Result, ServerProcess};
use tds::ProcedureId;
use tds::client::{ClientSettings, RpcBuilder};
use types::{Bytes, ColumnType, DataType, Length, Value};

use crate::Plan;
use crate::setup::{connect, read_workload, run_batches};
use crate::work::{Asked, ROWS, Work, expect, item};

const DATABASE: &str = "BenchCache";
const SEED: u8 = 7;
/// How long an entry lives after each GET, in seconds.
const SLIDE_SECONDS: i64 = 1_200;

/// Whether a GET extends an entry's expiration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiry {
    /// Sliding expiration: the UPDATE writes a row.
    Sliding,
    /// Absolute expiration: the UPDATE finds no row to write.
    Absolute,
}

/// Creates the table and its entries, and returns the two kinds of GET.
pub(crate) fn prepare(plan: &Plan, server: &ServerProcess) -> Result<Vec<Work>> {
    let script = read_workload(plan, "cache.sql")?;
    run_batches(&mut connect(server, "")?, ["create database [BenchCache]"])?;
    let mut client = connect(server, DATABASE)?;
    let install = [statement(&script, "install-table")?, statement(&script, "install-index")?];
    run_batches(&mut client, install.iter().map(String::as_str))?;
    let now = now();
    let set = statement(&script, "set")?;
    for index in 0..ROWS {
        for expiry in [Expiry::Sliding, Expiry::Absolute] {
            let packets = client.ask(&set_request(&set, index, expiry, &now))?;
            Answer::decode(&packets)?.check()?;
        }
    }
    let get = statement(&script, "get")?;
    let kinds =
        [("cache GET, sliding", Expiry::Sliding), ("cache GET, absolute", Expiry::Absolute)];
    Ok(kinds.into_iter().map(|(name, expiry)| work(name, &get, expiry, &now)).collect())
}

fn work(name: &'static str, get: &str, expiry: Expiry, now: &Value) -> Work {
    let check = |index: usize, answer: &Answer| {
        let body = Value::VarBinary(Bytes::from(item(index, SEED)));
        expect("the result", answer.rows(), vec![&[body][..]])
    };
    let request = |index| {
        execute_sql(get, "@Id nvarchar(449),@Now datetimeoffset(7)")
            .input("@Id", text(449), &id(index, expiry))
            .input("@Now", moment(), now)
            .finish()
    };
    Work {
        name,
        ratio_max: 2.2,
        database: DATABASE,
        measured: Asked { requests: (0..ROWS).map(request).collect(), check: Box::new(check) },
        after: None,
    }
}

fn set_request(set: &str, index: usize, expiry: Expiry, now: &Value) -> Vec<u8> {
    let (slide, last) = match (expiry, now) {
        (Expiry::Sliding, _) => (Value::BigInt(SLIDE_SECONDS), Value::Null),
        (Expiry::Absolute, Value::DateTimeOffset { days, ticks, offset }) => {
            let tomorrow = Value::DateTimeOffset { days: days + 1, ticks: *ticks, offset: *offset };
            (Value::Null, tomorrow)
        }
        (Expiry::Absolute, _) => (Value::Null, Value::Null),
    };
    let parameters = "@Id nvarchar(449),@Body varbinary(max),@Slide bigint,\
                      @Last datetimeoffset(7),@Now datetimeoffset(7)";
    let body = ColumnType::nullable(DataType::VarBinary(Length::Max));
    execute_sql(set, parameters)
        .input("@Id", text(449), &id(index, expiry))
        .input("@Body", body, &Value::VarBinary(Bytes::from(item(index, SEED))))
        .input("@Slide", ColumnType::nullable(DataType::BigInt), &slide)
        .input("@Last", moment(), &last)
        .input("@Now", moment(), now)
        .finish()
}

fn execute_sql(statement: &str, parameters: &str) -> RpcBuilder {
    RpcBuilder::new(ClientSettings::default())
        .call_id(ProcedureId::ExecuteSql)
        .input("", text(4_000), &Value::nvarchar(statement))
        .input("", text(4_000), &Value::nvarchar(parameters))
}

fn id(index: usize, expiry: Expiry) -> Value {
    let kind = match expiry {
        Expiry::Sliding => 's',
        Expiry::Absolute => 'a',
    };
    Value::nvarchar(&format!("shop:basket:{kind}{index:0>9}"))
}

fn text(units: u16) -> ColumnType {
    ColumnType::nullable(DataType::NVarChar(Length::Limited(units)))
}

fn moment() -> ColumnType {
    ColumnType::nullable(DataType::DateTimeOffset(7))
}

fn now() -> Value {
    let (days, ticks) = sos::clock::utc_days_and_ticks();
    let (days, ticks) = (i32::try_from(days).unwrap_or(0), i64::try_from(ticks).unwrap_or(0));
    Value::DateTimeOffset { days, ticks, offset: 0 }
}

/// Returns the statement of this name in the script.
fn statement(script: &str, name: &str) -> Result<String> {
    let heading = format!("-- name: {name}");
    let lines = script.lines().skip_while(|line| line.trim() != heading).skip(1);
    let lines: Vec<_> = lines.take_while(|line| !line.starts_with("-- name:")).collect();
    let text = lines.join("\n").trim().to_owned();
    if text.is_empty() { Err(format!("cache.sql has no statement '{name}'")) } else { Ok(text) }
}
