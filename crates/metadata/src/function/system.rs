//! `@@` names and functions that return the session's state: `@@ROWCOUNT`, `@@OPTIONS`, `@@VERSION`
//! and others.

use types::value::ColumnType;
use types::{Collation, DataType, Length, Result, Value};

use crate::function::session::{frame_of, session_of};
use crate::function::{Collating, Evaluate, Function};
use ::plan::expr::Expr;
use ::plan::function::Context;

pub(super) static FUNCTIONS: &[Function] = &[
    session("@@ROWCOUNT", bind_int, |cx| {
        // A count past the range of int becomes its maximum; ROWCOUNT_BIG() returns the whole.
        Value::Int(i32::try_from(session_of(cx).last.row_count).unwrap_or(i32::MAX))
    }),
    session("ROWCOUNT_BIG", bind_bigint, |cx| {
        Value::BigInt(i64::try_from(session_of(cx).last.row_count).unwrap_or(i64::MAX))
    }),
    session("@@ERROR", bind_int, |cx| Value::Int(session_of(cx).last.error)),
    session("@@TRANCOUNT", bind_int, |cx| {
        Value::Int(i32::try_from(session_of(cx).transaction.count).unwrap_or(i32::MAX))
    }),
    session("XACT_STATE", bind_smallint, |cx| {
        let transaction = &session_of(cx).transaction;
        Value::SmallInt(match (transaction.count, transaction.doomed) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        })
    }),
    // 0 without BEGIN TRANSACTION: the transaction of a single statement has no number.
    session("CURRENT_TRANSACTION_ID", bind_bigint, |cx| {
        let open = session_of(cx).locks.owner().transaction();
        Value::BigInt(open.and_then(|open| i64::try_from(open.number).ok()).unwrap_or(0))
    }),
    session("@@SPID", bind_smallint, |cx| Value::SmallInt(session_of(cx).connection.id)),
    session("@@FETCH_STATUS", bind_int, |cx| Value::Int(session_of(cx).last.fetch_status)),
    session("@@CURSOR_ROWS", bind_int, |cx| Value::Int(session_of(cx).last.cursor_rows)),
    session("@@DATEFIRST", bind_tinyint, |cx| Value::TinyInt(session_of(cx).options.date_first)),
    session("@@TEXTSIZE", bind_int, |cx| Value::Int(session_of(cx).options.text_size)),
    session("@@LOCK_TIMEOUT", bind_int, |cx| Value::Int(session_of(cx).options.lock_timeout_ms)),
    session("@@MAX_PRECISION", bind_tinyint, |_| Value::TinyInt(38)),
    session("@@LANGUAGE", bind_name, |cx| Value::nvarchar(session_of(cx).options.language.name())),
    session("@@SERVERNAME", bind_name, |cx| {
        Value::nvarchar(&session_of(cx).instance.config.server_name)
    }),
    session("@@VERSION", bind_name, |_| Value::nvarchar(VERSION)),
    session("@@OPTIONS", bind_int, |cx| Value::Int(option_bits(cx))),
    session("@@IDENTITY", bind_identity, |cx| {
        session_of(cx).last.identity.clone().unwrap_or(Value::Null)
    }),
    session("@@DBTS", bind_row_version, |cx| session_of(cx).instance.catalog.last_row_version()),
    session("CURRENT_REQUEST_ID", bind_smallint, |_| Value::SmallInt(0)),
    session("@@REMSERVER", bind_remote_server, |_| Value::Null),
    session("SCOPE_IDENTITY", bind_identity, |cx| {
        frame_of(cx).scope_identity.clone().unwrap_or(Value::Null)
    }),
    session("CONTEXT_INFO", bind_context_info, |cx| {
        match session_of(cx).held.context_info.is_empty() {
            true => Value::Null,
            false => Value::VarBinary(session_of(cx).held.context_info.clone()),
        }
    }),
    // NULL outside a DDL trigger.
    session("EVENTDATA", bind_xml, |cx| {
        session_of(cx).request.event_data.as_deref().map_or(Value::Null, Value::nvarchar)
    }),
    session("TRIGGER_NESTLEVEL", bind_int, |cx| {
        Value::Int(i32::try_from(session_of(cx).request.trigger_level).unwrap_or(i32::MAX))
    }),
    session("@@NESTLEVEL", bind_int, |cx| {
        Value::Int(i32::try_from(session_of(cx).request.nest_level).unwrap_or(i32::MAX))
    }),
];

/// `@@VERSION`, in the form that drivers and scripts parse: product, ` - `, four numbers with
/// points between them. The major version is that of the SQL Server whose behaviour is followed.
const VERSION: &str = concat!(
    "Microsoft SQL Server 2022 (RTM) - 16.0.1000.6 (X64) \n\tClearway ",
    env!("CARGO_PKG_VERSION"),
    " (in memory) on Linux"
);

/// `@@OPTIONS`: bits as documented for sp_configure 'user options'.
fn option_bits(cx: &Context<'_>) -> i32 {
    session_of(cx).options.bits()
}

/// Makes an entry for a function without arguments that reads the session.
const fn session(
    name: &'static str,
    bind: fn(&mut Vec<Expr>) -> Result<ColumnType>,
    read: fn(&mut Context<'_>) -> Value,
) -> Function {
    Function {
        name,
        arity: (0, 0),
        bind,
        eval: Evaluate::Session(read),
        deterministic: false,
        collation: Collating::Apart,
    }
}

fn of(data_type: DataType) -> ColumnType {
    ColumnType { data_type, collation: Collation::default(), nullable: false }
}

fn bind_xml(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(ColumnType { nullable: true, ..of(DataType::Xml) })
}

fn bind_int(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::Int))
}

fn bind_bigint(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::BigInt))
}

fn bind_smallint(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::SmallInt))
}

fn bind_tinyint(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::TinyInt))
}

fn bind_name(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::NVarChar(Length::Limited(300))))
}

fn bind_identity(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(ColumnType { nullable: true, ..of(DataType::Decimal { precision: 38, scale: 0 }) })
}

fn bind_row_version(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::VarBinary(Length::Limited(8))))
}

/// `@@REMSERVER`: NULL, because no remote server can call.
fn bind_remote_server(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(ColumnType { nullable: true, ..of(DataType::NVarChar(Length::Limited(128))) })
}

fn bind_context_info(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(ColumnType { nullable: true, ..of(DataType::VarBinary(Length::Limited(128))) })
}
