//! Table-valued functions: STRING_SPLIT and GENERATE_SERIES.

use types::value::ColumnType;
use types::{DataType, Error, Length, Mode, Msg, Result, Value, type_rules};

use crate::bind::Binder;
use crate::bind::expr::convert_to;
use crate::exec::Cx;
use crate::func::TableFunction;
use crate::func::entry::{convert, of, whole};
use crate::plan::expr::Expr;

pub(super) static FUNCTIONS: &[TableFunction] = &[
    TableFunction { name: "STRING_SPLIT", bind: bind_split, rows: split },
    TableFunction { name: "GENERATE_SERIES", bind: bind_series, rows: series },
];

fn bind_split(_: &mut Binder<'_>, arguments: &mut Vec<Expr>) -> Result<Vec<(String, ColumnType)>> {
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
        // The third argument decides about the columns, so it must be known now.
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

fn split(_: &mut Cx<'_>, values: &[Value]) -> Result<Vec<Vec<Value>>> {
    let [text, separator, rest @ ..] = values else { return Ok(Vec::new()) };
    let Some(bytes) = text.string_bytes() else { return Ok(Vec::new()) };
    let unit = if matches!(text, Value::NVarChar(_)) { 2 } else { 1 };
    let separator = separator.string_bytes().unwrap_or_default();
    if separator.len() != unit {
        let text = "Procedure expects parameter 'separator' of type 'nchar(1)/nvarchar(1)'.";
        return Err(Error::custom(214, 11, 21, text));
    }
    let numbered = whole(rest, 0) == Some(1);
    let mut rows = Vec::new();
    let mut start = 0;
    let ends = (0..bytes.len()).step_by(unit).filter(|at| &bytes[*at..*at + unit] == separator);
    for end in ends.chain(std::iter::once(bytes.len())) {
        let mut row = vec![text.with_bytes(types::Bytes::copy_from(&bytes[start..end]))];
        if numbered {
            row.push(Value::BigInt(i64::try_from(rows.len() + 1).unwrap_or(i64::MAX)));
        }
        rows.push(row);
        start = end + unit;
    }
    Ok(rows)
}

fn bind_series(_: &mut Binder<'_>, arguments: &mut Vec<Expr>) -> Result<Vec<(String, ColumnType)>> {
    if arguments.len() < 2 || arguments.len() > 3 {
        return Err(Msg::FunctionArgumentRange("generate_series", 2, 3).into());
    }
    let mut data_type = arguments[0].ty.data_type;
    for argument in arguments.iter() {
        let given = argument.ty.data_type;
        if !given.is_integer() {
            return Err(Msg::InvalidOperandType(given.name(), "generate_series").into());
        }
        data_type = type_rules::common(&data_type, &given)?;
    }
    for argument in std::mem::take(arguments) {
        arguments.push(convert_to(argument, &of(data_type), Mode::Implicit)?);
    }
    Ok(vec![("value".to_owned(), ColumnType { nullable: false, ..of(data_type) })])
}

/// Rows that one call makes at most: they are kept in memory.
const SERIES_MAX: i64 = 100_000_000;

fn series(_: &mut Cx<'_>, values: &[Value]) -> Result<Vec<Vec<Value>>> {
    let (Some(start), Some(stop)) = (whole(values, 0), whole(values, 1)) else {
        return Ok(Vec::new());
    };
    let step = match values.get(2) {
        None => {
            if start <= stop {
                1
            } else {
                -1
            }
        }
        Some(_) => match whole(values, 2) {
            None => return Ok(Vec::new()),
            Some(step) => step,
        },
    };
    if step == 0 {
        return Err(Msg::InvalidParameter(3, "generate_series").into());
    }
    let ahead = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) };
    if ahead < 0 {
        return Ok(Vec::new());
    }
    let last = ahead / step.saturating_abs();
    if last >= SERIES_MAX {
        return Err(Msg::OutOfMemory.into());
    }
    // Every number lies between the first two arguments, so it has their type.
    let like = &values[0];
    Ok((0..=last).map(|n| vec![number_like(like, start + n * step)]).collect())
}

/// Makes a number of the type that another has.
fn number_like(like: &Value, n: i64) -> Value {
    match like {
        Value::TinyInt(_) => u8::try_from(n).map_or(Value::Null, Value::TinyInt),
        Value::SmallInt(_) => i16::try_from(n).map_or(Value::Null, Value::SmallInt),
        Value::Int(_) => i32::try_from(n).map_or(Value::Null, Value::Int),
        _ => Value::BigInt(n),
    }
}
