//! Functions of conditions and NULL that the binder does not turn into CASE, and those that create
//! identifiers.

#![expect(clippy::ptr_arg, reason = "binders share a signature, and some add arguments")]

use types::value::ColumnType;
use types::{Collation, DataType, Mode, Msg, Result, Value};

use crate::{Call, Collating, Evaluate, Function};
use plan::convert::convert_to;
use plan::expr::{Expr, ExprKind};
use plan::function::Context;
use plan::stop::is_about_resources;

pub(crate) static FUNCTIONS: &[Function] = &[
    Function {
        name: "ISNULL",
        arity: (2, 2),
        bind: bind_is_null,
        eval: Evaluate::Full(eval_is_null),
        deterministic: true,
        collation: Collating::Combine,
    },
    Function {
        name: "NEWID",
        arity: (0, 0),
        bind: bind_new_id,
        eval: Evaluate::Session(new_id),
        deterministic: false,
        collation: Collating::Apart,
    },
    Function {
        name: "NEWSEQUENTIALID",
        arity: (0, 0),
        bind: |_| Err(Msg::NewSequentialIdPlace.into()),
        eval: Evaluate::Session(|cx| cx.next_sequential_id()),
        deterministic: false,
        collation: Collating::Apart,
    },
    Function {
        name: "ISNUMERIC",
        arity: (1, 1),
        bind: bind_is_numeric,
        eval: Evaluate::Full(eval_is_numeric),
        deterministic: true,
        collation: Collating::Apart,
    },
    Function {
        name: "ISDATE",
        arity: (1, 1),
        bind: bind_is_date,
        eval: Evaluate::Full(eval_is_date),
        deterministic: false,
        collation: Collating::Apart,
    },
];

/// The result has the type of the first argument; the second is converted to it, and truncated.
fn bind_is_null(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let ty = if arguments[0].is_null_literal() { arguments[1].ty } else { arguments[0].ty };
    // NULL only if both arguments are.
    let nullable = arguments.iter().all(|argument| argument.ty.nullable);
    for argument in arguments.iter_mut() {
        let taken = std::mem::replace(argument, Expr::constant(Value::Null, DataType::Int));
        *argument = plan::convert::assign(taken, &ty, Mode::Implicit)?;
    }
    Ok(ColumnType { nullable, ..ty })
}

fn eval_is_null(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    Ok(if values[0].is_null() { values[1].clone() } else { values[0].clone() })
}

fn bind_new_id(_: &mut Vec<Expr>) -> Result<ColumnType> {
    let data_type = DataType::UniqueIdentifier;
    Ok(ColumnType { data_type, collation: Collation::default(), nullable: false })
}

/// Returns a version 4 identifier: the version is the upper half of byte 7, since the groups are
/// little-endian.
fn new_id(_: &mut Context<'_>) -> Value {
    catalog::new_guid()
}

/// Binds NEWSEQUENTIALID() as a column's default, the only place where it is allowed.
pub fn sequential_default(default: &tsql::ast::Expr) -> Option<Expr> {
    let tsql::ast::ExprKind::Call(call) = &default.kind else { return None };
    let name = call.name.as_simple().filter(|name| name.is("newsequentialid"))?;
    let function = super::find(&name.to_ascii_uppercase()).filter(|_| call.arguments.is_empty())?;
    let data_type = DataType::UniqueIdentifier;
    let ty = ColumnType { data_type, collation: Collation::default(), nullable: false };
    Some(Expr::new(ExprKind::Call(function, Box::new([])), ty))
}

fn int() -> ColumnType {
    ColumnType { data_type: DataType::Int, collation: Collation::default(), nullable: false }
}

fn bind_is_numeric(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(int())
}

fn converts(value: &Value, from: &ColumnType, to: DataType, cx: &Context<'_>) -> Result<bool> {
    let to = ColumnType { data_type: to, ..*from };
    match types::convert(value, from, &to, 0, Mode::Explicit, &cx.convert_options()) {
        Ok(_) => Ok(true),
        Err(error) if is_about_resources(&error) => Err(error),
        Err(_) => Ok(false),
    }
}

fn eval_is_numeric(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let from = &call.arguments[0].ty;
    // A blank string converts to 0, but is not numeric.
    let is_blank =
        plan::long::text(&values[0], from.collation)?.is_some_and(|text| text.trim().is_empty());
    let mut numeric = !values[0].is_null() && !is_blank && from.data_type.is_numeric();
    if from.data_type.is_string() && !values[0].is_null() && !is_blank {
        let decimal = DataType::Decimal { precision: 38, scale: 0 };
        for to in [DataType::Float, DataType::Money, decimal] {
            numeric = numeric || converts(&values[0], from, to, cx)?;
        }
    }
    Ok(Value::Int(i32::from(numeric)))
}

fn bind_is_date(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let taken = arguments.remove(0);
    let text = ColumnType { data_type: DataType::NVarChar(types::Length::Max), ..taken.ty };
    arguments.push(convert_to(taken, &text, Mode::Implicit)?);
    Ok(int())
}

/// Bytes of a text that ISDATE looks at: SQL Server takes less than 4,000 characters.
const DATE_BYTES_MAX: usize = 2 * 3_999;

fn eval_is_date(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let is_short = values[0].string_bytes().is_none_or(|bytes| bytes.len() <= DATE_BYTES_MAX);
    let is_date = !values[0].is_null()
        && is_short
        && converts(&values[0], &call.arguments[0].ty, DataType::DateTime, cx)?;
    Ok(Value::Int(i32::from(is_date)))
}
