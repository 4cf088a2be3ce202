//! ERROR_NUMBER() and related functions: the error that the innermost CATCH block handles. NULL
//! outside a CATCH block.

use types::value::ColumnType;
use types::{Collation, DataType, Error, Length, Result, Value};

use crate::function::session::session_of;
use crate::function::{Collating, Evaluate, Function};
use ::plan::expr::Expr;
use ::plan::function::Context;

pub(super) static FUNCTIONS: &[Function] = &[
    of_error("ERROR_NUMBER", bind_int, |cx| field(cx, |e| Value::Int(e.number))),
    of_error("ERROR_SEVERITY", bind_int, |cx| field(cx, |e| Value::Int(i32::from(e.severity)))),
    of_error("ERROR_STATE", bind_int, |cx| field(cx, |e| Value::Int(i32::from(e.state)))),
    of_error("ERROR_LINE", bind_int, |cx| {
        field(cx, |e| Value::Int(i32::try_from(e.line).unwrap_or(i32::MAX)))
    }),
    of_error("ERROR_MESSAGE", bind_message, |cx| field(cx, |e| Value::nvarchar(&e.message))),
    of_error("ERROR_PROCEDURE", bind_name, |cx| {
        field(cx, |e| match e.procedure.as_str() {
            "" => Value::Null,
            name => Value::nvarchar(name),
        })
    }),
];

const fn of_error(
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

fn field(cx: &Context<'_>, read: impl FnOnce(&Error) -> Value) -> Value {
    session_of(cx).request.handled_errors.last().map_or(Value::Null, read)
}

fn of(data_type: DataType) -> Result<ColumnType> {
    Ok(ColumnType { data_type, collation: Collation::default(), nullable: true })
}

fn bind_int(_: &mut Vec<Expr>) -> Result<ColumnType> {
    of(DataType::Int)
}

fn bind_message(_: &mut Vec<Expr>) -> Result<ColumnType> {
    of(DataType::NVarChar(Length::Limited(4000)))
}

fn bind_name(_: &mut Vec<Expr>) -> Result<ColumnType> {
    of(DataType::NVarChar(Length::Limited(128)))
}
