//! The session-state benchmark: its read and write procedures, called as the session providers of
//! web servers call them, and the reset of a pooled connection.

use load::{Answer, Generator, Result, ServerProcess};
use tds::client::{ClientSettings, RpcBuilder};
use types::{Bytes, ColumnType, DataType, Length, Value};

use crate::Plan;
use crate::setup::{connect, read_workload, run_batches};
use crate::work::{Asked, ROWS, Work, expect, item};
use load::stress::batches;

pub(crate) const DATABASE: &str = "WebSessions";
/// The content of sessions at first, and after the write procedure.
const SEED_MADE: u8 = 0;
const SEED_SAVED: u8 = 101;
/// The lock cookie of a session that is not locked.
const COOKIE: i32 = 1;
const MINUTES: i32 = 20;

/// Installs the database and makes the sessions.
pub(crate) fn prepare(plan: &Plan, server: &ServerProcess) -> Result<()> {
    let script = read_workload(plan, "session_state.sql")?;
    let parts = batches(&script);
    run_batches(&mut connect(server, "")?, parts.iter().map(String::as_str))?;
    let mut client = connect(server, DATABASE)?;
    for index in 0..ROWS {
        let request = call("dbo.SessionCreate")
            .input("@Id", id_type(), &id(index))
            .input("@Minutes", int(), &Value::Int(MINUTES))
            .input("@Item", item_type(), &binary(item(index, SEED_MADE)))
            .finish();
        Answer::decode(&client.ask(&request)?)?.check()?;
    }
    Ok(())
}

/// Returns the read procedure, which also extends the session's expiration.
pub(crate) fn read() -> Work {
    Work {
        name: "session read",
        ratio_max: 1.5,
        database: DATABASE,
        measured: reads(SEED_MADE),
        after: None,
    }
}

/// Returns the write procedure: it stores the item and releases the lock.
pub(crate) fn save() -> Work {
    let request = |index| {
        call("dbo.SessionSave")
            .input("@Id", id_type(), &id(index))
            .input("@Cookie", int(), &Value::Int(COOKIE))
            .input("@Minutes", int(), &Value::Int(MINUTES))
            .input("@Item", item_type(), &binary(item(index, SEED_SAVED)))
            .finish()
    };
    let check = |_: usize, answer: &Answer| {
        expect("the return status", answer.return_status(), Some(0))?;
        expect("the number of rows", answer.rows().len(), 0)
    };
    Work {
        name: "session write",
        ratio_max: 1.4,
        database: DATABASE,
        measured: Asked { requests: (0..ROWS).map(request).collect(), check: Box::new(check) },
        after: Some(reads(SEED_SAVED)),
    }
}

/// Returns the reset of a pooled connection, as a request by itself.
pub(crate) fn reset() -> Work {
    let check = |_: usize, answer: &Answer| {
        expect("the number of rows", answer.rows().len(), 0)?;
        expect("the return status", answer.return_status().unwrap_or(0), 0)
    };
    Work {
        name: "sp_reset_connection",
        ratio_max: 1.1,
        database: DATABASE,
        measured: Asked {
            requests: vec![call("sp_reset_connection").finish()],
            check: Box::new(check),
        },
        after: None,
    }
}

/// Returns one read, for connections that must have worked once.
pub(crate) fn read_request(index: usize) -> Vec<u8> {
    call("dbo.SessionRead")
        .input("@Id", id_type(), &id(index))
        .output("@Held", ColumnType::nullable(DataType::Bit), &Value::Null)
        .output("@Age", int(), &Value::Null)
        .output("@Cookie", int(), &Value::Null)
        .output("@Todo", int(), &Value::Null)
        .finish()
}

/// Checks the answer to a read of an unchanged session.
pub(crate) fn check_read(index: usize, answer: &Answer) -> Result<()> {
    check_item(index, answer, SEED_MADE)
}

fn reads(seed: u8) -> Asked {
    Asked {
        requests: (0..ROWS).map(read_request).collect(),
        check: Box::new(move |index, answer| check_item(index, answer, seed)),
    }
}

fn check_item(index: usize, answer: &Answer, seed: u8) -> Result<()> {
    expect("the result", answer.rows(), vec![&[binary(item(index, seed))][..]])?;
    expect("@Held", answer.output("@Held"), Some(&Value::Bit(false)))?;
    expect("@Cookie", answer.output("@Cookie"), Some(&Value::Int(COOKIE)))?;
    expect("@Todo", answer.output("@Todo"), Some(&Value::Int(0)))?;
    match answer.output("@Age") {
        Some(Value::Int(0..3_600)) => Ok(()),
        other => Err(format!("@Age is {other:?}")),
    }
}

fn call(procedure: &str) -> RpcBuilder {
    RpcBuilder::new(ClientSettings::default()).call(procedure)
}

/// Returns a session's id as web servers make them: 24 characters, and 8 of the application.
fn id(index: usize) -> Value {
    Value::nvarchar(&format!("q3hx0zkvw5n1tb4{index:0>9}0f5d6c2a"))
}

fn id_type() -> ColumnType {
    ColumnType::nullable(DataType::NVarChar(Length::Limited(88)))
}

fn int() -> ColumnType {
    ColumnType::nullable(DataType::Int)
}

fn item_type() -> ColumnType {
    ColumnType::nullable(DataType::VarBinary(Length::Max))
}

fn binary(bytes: Vec<u8>) -> Value {
    Value::VarBinary(Bytes::from(bytes))
}

/// Returns a client that has read one session, to prove that a server is prepared.
pub(crate) fn prove(server: &ServerProcess) -> Result<Generator> {
    let mut client = connect(server, DATABASE)?;
    let answer = Answer::decode(&client.ask(&read_request(0))?)?.check()?;
    check_read(0, &answer)?;
    Ok(client)
}
