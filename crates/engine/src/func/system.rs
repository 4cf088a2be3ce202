//! `@@` names and functions that tell the session's state.

use types::value::ColumnType;
use types::{Collation, DataType, Result, Value};

use crate::bind::Binder;
use crate::exec::Cx;
use crate::func::{Evaluate, Function};
use crate::plan::expr::Expr;

pub(super) static FUNCTIONS: &[Function] = &[
    session("@@ROWCOUNT", bind_int, |cx| {
        // Counts past the range of int wrap in no client: ROWCOUNT_BIG() is for those.
        Value::Int(i32::try_from(cx.session.row_count).unwrap_or(i32::MAX))
    }),
    session("ROWCOUNT_BIG", bind_bigint, |cx| {
        Value::BigInt(i64::try_from(cx.session.row_count).unwrap_or(i64::MAX))
    }),
    session("@@ERROR", bind_int, |cx| Value::Int(cx.session.last_error)),
    session("@@TRANCOUNT", bind_int, |cx| {
        Value::Int(i32::try_from(cx.session.transaction.count).unwrap_or(i32::MAX))
    }),
    session("XACT_STATE", bind_smallint, |cx| {
        let transaction = &cx.session.transaction;
        Value::SmallInt(match (transaction.count, transaction.doomed) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        })
    }),
    session("@@SPID", bind_smallint, |cx| Value::SmallInt(cx.session.id)),
    session("@@NESTLEVEL", bind_int, |cx| {
        Value::Int(i32::try_from(cx.session.nest_level).unwrap_or(i32::MAX))
    }),
];

/// Makes an entry for a function without arguments that reads the session.
const fn session(
    name: &'static str,
    bind: fn(&mut Binder<'_>, &mut Vec<Expr>) -> Result<ColumnType>,
    read: fn(&mut Cx<'_>) -> Value,
) -> Function {
    Function { name, arity: (0, 0), bind, eval: Evaluate::Session(read), deterministic: false }
}

fn of(data_type: DataType) -> ColumnType {
    ColumnType { data_type, collation: Collation::default(), nullable: false }
}

fn bind_int(_: &mut Binder<'_>, _: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::Int))
}

fn bind_bigint(_: &mut Binder<'_>, _: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::BigInt))
}

fn bind_smallint(_: &mut Binder<'_>, _: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::SmallInt))
}
