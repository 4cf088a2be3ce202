//! Date and time functions.

use types::date::{self, DatePart};
use types::value::ColumnType;
use types::{Collation, DataType, Error, Mode, Msg, Result, Value};

use crate::entry::{pure, session};
use crate::{Call, Function};
use plan::convert::convert_to;
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[
    session("GETDATE", |_| Ok(of(DataType::DateTime)), |cx| local(cx, &DataType::DateTime)),
    session("GETUTCDATE", |_| Ok(of(DataType::DateTime)), |cx| utc(cx, &DataType::DateTime)),
    session(
        "SYSDATETIME",
        |_| Ok(of(DataType::DateTime2(7))),
        |cx| local(cx, &DataType::DateTime2(7)),
    ),
    session(
        "SYSUTCDATETIME",
        |_| Ok(of(DataType::DateTime2(7))),
        |cx| utc(cx, &DataType::DateTime2(7)),
    ),
    session(
        "SYSDATETIMEOFFSET",
        |_| Ok(of(DataType::DateTimeOffset(7))),
        |cx| local(cx, &DataType::DateTimeOffset(7)),
    ),
    session("CURRENT_DATE", |_| Ok(of(DataType::Date)), |cx| local(cx, &DataType::Date)),
    pure("DATEADD", (3, 3), bind_date_add, eval_date_add),
    pure("DATEDIFF", (3, 3), bind_date_diff, eval_date_diff),
    pure("DATEDIFF_BIG", (3, 3), bind_date_diff_big, eval_date_diff_big),
];

/// Finds a date part by any of its names and returns its place, by which bound calls name it.
pub fn date_part_place(word: &str) -> Option<i32> {
    i32::try_from(DatePart::by_name(word)?.place()).ok()
}

fn of(data_type: DataType) -> ColumnType {
    ColumnType { data_type, collation: Collation::default(), nullable: false }
}

/// Returns the statement's time. The server's time zone is UTC, so local and UTC time are equal.
fn local(cx: &mut Context<'_>, data_type: &DataType) -> Value {
    utc(cx, data_type)
}

fn utc(cx: &mut Context<'_>, data_type: &DataType) -> Value {
    // The clock's range is within that of every date type, so the rounding can't fail.
    cx.now().to_value(data_type).unwrap_or(Value::Null)
}

/// Returns the date part that the binder passes as the first argument.
pub fn part(values: &[Value]) -> Result<DatePart> {
    match values.first() {
        Some(Value::Int(place)) => usize::try_from(*place).ok().and_then(DatePart::at),
        _ => None,
    }
    .ok_or_else(|| Error::from(Msg::InvalidParameter(1, "datepart")))
}

/// Converts an operand to a date: text with the precision of `datetimeoffset`, as DATEDIFF and
/// DATEPART do; a number as days since 1900.
pub(crate) fn to_date(expr: Expr, text: DataType) -> Result<Expr> {
    let data_type = match expr.ty.data_type {
        string if string.is_string() => text,
        number if number.is_numeric() => DataType::DateTime,
        other => other,
    };
    let target = ColumnType { data_type, ..expr.ty };
    convert_to(expr, &target, Mode::Implicit)
}

fn bind_date_add(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let (Some(date), Some(number)) = (arguments.pop(), arguments.pop()) else {
        return Err(Msg::FunctionArguments("dateadd", 3).into());
    };
    let date = to_date(date, DataType::DateTime)?;
    let ty = ColumnType { nullable: true, ..date.ty };
    // The documentation says that a fraction is truncated.
    let whole = ColumnType { data_type: DataType::BigInt, ..number.ty };
    arguments.push(convert_to(number, &whole, Mode::Implicit)?);
    arguments.push(date);
    Ok(ty)
}

fn eval_date_add(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    date_added(values, &call.ty.data_type)
}

/// Returns the result of DATEADD for the values of its arguments as bound.
///
/// # Errors
/// 517 if the result is outside the type's range.
pub fn date_added(values: &[Value], to: &DataType) -> Result<Value> {
    match values {
        [_, Value::BigInt(number), date] => date::date_add(part(values)?, *number, date, to),
        _ => Ok(Value::Null),
    }
}

fn bind_difference(arguments: &mut Vec<Expr>, result: DataType) -> Result<ColumnType> {
    let (Some(end), Some(start)) = (arguments.pop(), arguments.pop()) else {
        return Err(Msg::FunctionArguments("datediff", 3).into());
    };
    arguments.push(to_date(start, DataType::DateTimeOffset(7))?);
    arguments.push(to_date(end, DataType::DateTimeOffset(7))?);
    Ok(ColumnType { nullable: true, ..of(result) })
}

fn bind_date_diff(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    bind_difference(arguments, DataType::Int)
}

fn bind_date_diff_big(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    bind_difference(arguments, DataType::BigInt)
}

fn eval_date_diff(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let [_, start, end] = values else { return Ok(Value::Null) };
    let difference = date::date_diff(part(values)?, start, end)?;
    i32::try_from(difference)
        .map(Value::Int)
        .map_err(|_| Error::from(Msg::DateDiffOverflow("datediff")))
}

fn eval_date_diff_big(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let [_, start, end] = values else { return Ok(Value::Null) };
    Ok(Value::BigInt(date::date_diff(part(values)?, start, end)?))
}
