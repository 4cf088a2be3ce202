//! Table-valued functions: STRING_SPLIT and GENERATE_SERIES.

use std::cmp::Ordering;

use types::Decimal;
use types::decimal::Rounding;
use types::value::ColumnType;
use types::{DataType, Error, Length, Mode, Msg, Result, Value, type_rules};

use crate::entry::{convert, of, whole};
use crate::{Collating, NextRow, TableFunction, made};
use plan::convert::convert_to;
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[TableFunction] = &[
    TableFunction {
        name: "STRING_SPLIT",
        bind: bind_split,
        rows: split,
        collation: Collating::Apart,
    },
    TableFunction {
        name: "GENERATE_SERIES",
        bind: bind_series,
        rows: series,
        collation: Collating::Apart,
    },
];

fn bind_split(arguments: &mut Vec<Expr>) -> Result<Vec<(String, ColumnType)>> {
    if arguments.len() < 2 || arguments.len() > 3 {
        return Err(Msg::FunctionArgumentRange("string_split", 2, 3).into());
    }
    let wide = arguments[..2].iter().any(|a| a.ty.data_type.is_unicode());
    let large = arguments[0].ty.data_type.is_large();
    let data_type = match (wide, large) {
        (true, true) => DataType::NVarChar(Length::Max),
        (true, false) => DataType::NVarChar(Length::Limited(4_000)),
        (false, true) => DataType::VarChar(Length::Max),
        (false, false) => DataType::VarChar(Length::Limited(8_000)),
    };
    let ty = ColumnType { collation: arguments[0].ty.collation, ..of(data_type) };
    convert(arguments, 0, data_type)?;
    convert(arguments, 1, data_type)?;
    let mut columns = vec![("value".to_owned(), ty)];
    if let Some(ordinal) = arguments.get(2) {
        // The third argument determines the columns, so it must be a constant.
        match ordinal.as_constant() {
            Some(Value::Int(0) | Value::Bit(false)) => {}
            Some(Value::Int(1) | Value::Bit(true)) => {
                columns.push(("ordinal".to_owned(), of(DataType::BigInt)));
            }
            _ => {
                return Err(Msg::NotSupported("STRING_SPLIT with a variable enable_ordinal").into());
            }
        }
    }
    Ok(columns)
}

fn split(_: &mut Context<'_>, values: &[Value]) -> Result<NextRow> {
    let [text, separator, rest @ ..] = values else { return Ok(made(Vec::new())) };
    let Some(bytes) = text.string_bytes() else { return Ok(made(Vec::new())) };
    let unit = if matches!(text, Value::NVarChar(_)) { 2 } else { 1 };
    let separator = separator.string_bytes().unwrap_or_default();
    if separator.len() != unit {
        let text = "Procedure expects parameter 'separator' of type 'nchar(1)/nvarchar(1)'.";
        return Err(Error::custom(214, 11, 21, text));
    }
    let numbered = whole(rest, 0) == Some(1);
    let (text, separator, len) = (text.clone(), separator.to_vec(), bytes.len());
    let (mut start, mut number, mut pace) = (0, 0_i64, sos::sched::Pace::new());
    Ok(Box::new(move |row| {
        let Some(bytes) = text.string_bytes().filter(|_| start <= len) else { return false };
        let mut ends = (start..len).step_by(unit);
        let end = ends.find(|at| {
            pace.tick();
            bytes[*at..*at + unit] == separator
        });
        let end = end.unwrap_or(len);
        row.push(text.with_bytes(crate::pieces::copied(&bytes[start..end])));
        if numbered {
            number += 1;
            row.push(Value::BigInt(number));
        }
        start = end + unit;
        true
    }))
}

fn bind_series(arguments: &mut Vec<Expr>) -> Result<Vec<(String, ColumnType)>> {
    if arguments.len() < 2 || arguments.len() > 3 {
        return Err(Msg::FunctionArgumentRange("generate_series", 2, 3).into());
    }
    let mut data_type = arguments[0].ty.data_type;
    for argument in arguments.iter() {
        let given = argument.ty.data_type;
        // "All operands need to be of the same data type", which literals of decimals need not be
        // in precision and scale.
        let is_decimal = matches!(given, DataType::Decimal { .. });
        if !given.is_integer() && !is_decimal {
            return Err(Msg::InvalidOperandType(given.name(), "generate_series").into());
        }
        data_type = type_rules::common(&data_type, &given)?;
    }
    for argument in std::mem::take(arguments) {
        arguments.push(convert_to(argument, &of(data_type), Mode::Implicit)?);
    }
    Ok(vec![("value".to_owned(), ColumnType { nullable: false, ..of(data_type) })])
}

fn series(_: &mut Context<'_>, values: &[Value]) -> Result<NextRow> {
    if values.iter().any(|value| matches!(value, Value::Decimal(_))) {
        return decimal_series(values);
    }
    let (Some(start), Some(stop)) = (whole(values, 0), whole(values, 1)) else {
        return Ok(made(Vec::new()));
    };
    let step = match (values.get(2), whole(values, 2)) {
        (None, _) if start <= stop => 1,
        (None, _) => -1,
        (Some(_), Some(step)) => step,
        (Some(_), None) => return Ok(made(Vec::new())),
    };
    if step == 0 {
        return Err(Msg::InvalidParameter(3, "generate_series").into());
    }
    // Every number is between the first two arguments, so it fits their type.
    let like = values[0].clone();
    let mut next = Some(start);
    Ok(Box::new(move |row| {
        let is_in = |n: &i64| if step > 0 { *n <= stop } else { *n >= stop };
        let Some(n) = next.filter(is_in) else { return false };
        row.push(number_like(&like, n));
        next = n.checked_add(step);
        true
    }))
}

/// The numbers of a series of decimals, which all have the type of the first.
fn decimal_series(values: &[Value]) -> Result<NextRow> {
    let mut numbers = values.iter().map(|value| match value {
        Value::Decimal(number) => Some(*number),
        _ => None,
    });
    let (Some(Some(start)), Some(Some(stop))) = (numbers.next(), numbers.next()) else {
        return Ok(made(Vec::new()));
    };
    let one = Decimal::checked(1, start.precision, 0);
    let one = one.and_then(|one| one.rescale(start.precision, start.scale, Rounding::HalfAway));
    let step = match numbers.next() {
        Some(Some(step)) => step.mantissa(),
        Some(None) => return Ok(made(Vec::new())),
        None => {
            let ascending = start.order(&stop) != Ordering::Greater;
            // A type without a digit before the point has no 1: the series is its start.
            one.map_or(i128::MAX, |one| one.mantissa()) * if ascending { 1 } else { -1 }
        }
    };
    if step == 0 {
        return Err(Msg::InvalidParameter(3, "generate_series").into());
    }
    let mut next = Some(start.mantissa());
    Ok(Box::new(move |row| {
        let is_in = |n: &i128| if step > 0 { *n <= stop.mantissa() } else { *n >= stop.mantissa() };
        let Some(mantissa) = next.filter(is_in) else { return false };
        row.push(Value::Decimal(Decimal::new(mantissa, start.precision, start.scale)));
        next = mantissa.checked_add(step);
        true
    }))
}

/// Returns a number of the same type as another value.
fn number_like(like: &Value, n: i64) -> Value {
    match like {
        Value::TinyInt(_) => u8::try_from(n).map_or(Value::Null, Value::TinyInt),
        Value::SmallInt(_) => i16::try_from(n).map_or(Value::Null, Value::SmallInt),
        Value::Int(_) => i32::try_from(n).map_or(Value::Null, Value::Int),
        _ => Value::BigInt(n),
    }
}
