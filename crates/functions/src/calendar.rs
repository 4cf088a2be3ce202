//! Date functions that extract parts of dates and construct dates from parts.

use types::date;
use types::date::DatePart;
use types::value::ColumnType;
use types::{DataType, Length, Msg, Result, Value};

use crate::date::{part, to_date};
use crate::entry::{convert, id, lookup, of, pure, text};
use crate::{Call, Function};
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[
    lookup("DATEPART", (2, 2), bind_part, eval_part),
    lookup("DATENAME", (2, 2), bind_name, eval_name),
    pure("YEAR", (1, 1), bind_field, |cx, c, v| field(cx, c, v, DatePart::Year)),
    pure("MONTH", (1, 1), bind_field, |cx, c, v| field(cx, c, v, DatePart::Month)),
    pure("DAY", (1, 1), bind_field, |cx, c, v| field(cx, c, v, DatePart::Day)),
    pure("EOMONTH", (1, 2), bind_end_of_month, |_, _, v| {
        date::end_of_month(&v[0], id(v, 1).unwrap_or(0))
    }),
    pure(
        "DATEFROMPARTS",
        (3, 3),
        |a| ints(a, DataType::Date),
        |_, _, v| date::from_date_parts(int(v, 0), int(v, 1), int(v, 2)),
    ),
    pure(
        "DATETIMEFROMPARTS",
        (7, 7),
        |a| ints(a, DataType::DateTime),
        |_, _, v| moment(v, 0, &DataType::DateTime),
    ),
    pure(
        "SMALLDATETIMEFROMPARTS",
        (5, 5),
        |a| ints(a, DataType::SmallDateTime),
        |_, _, v| moment(v, 0, &DataType::SmallDateTime),
    ),
    pure(
        "TIMEFROMPARTS",
        (5, 5),
        |a| {
            let scale = scale_of(a, 4)?;
            ints(a, DataType::Time(scale))
        },
        |_, c, v| {
            let time = [int(v, 0), int(v, 1), int(v, 2), int(v, 3)];
            date::from_time_parts(time, c.ty.data_type.scale())
        },
    ),
    pure(
        "DATETIME2FROMPARTS",
        (8, 8),
        |a| {
            let scale = scale_of(a, 7)?;
            ints(a, DataType::DateTime2(scale))
        },
        |_, c, v| moment(v, 0, &c.ty.data_type),
    ),
    pure(
        "DATETIMEOFFSETFROMPARTS",
        (10, 10),
        |a| {
            let scale = scale_of(a, 9)?;
            ints(a, DataType::DateTimeOffset(scale))
        },
        |_, c, v| {
            let (hours, minutes) = (int(v, 7), int(v, 8));
            moment(v, hours.saturating_mul(60).saturating_add(minutes), &c.ty.data_type)
        },
    ),
    pure("SWITCHOFFSET", (2, 2), bind_switch, |_, c, v| date::switch_offset(&v[0], offset(c, v)?)),
    pure("TODATETIMEOFFSET", (2, 2), bind_offset, |_, c, v| {
        date::to_date_time_offset(&v[0], offset(c, v)?, c.ty.data_type.scale())
    }),
    lookup("DATETRUNC", (2, 2), bind_truncate, eval_truncate),
];

fn int(values: &[Value], place: usize) -> i32 {
    id(values, place).unwrap_or(0)
}

/// Converts all arguments to `int`.
fn ints(arguments: &mut [Expr], result: DataType) -> Result<ColumnType> {
    for place in 0..arguments.len() {
        convert(arguments, place, DataType::Int)?;
    }
    Ok(of(result))
}

/// Returns the precision argument of a ..FROMPARTS function: a literal, 0 to 7.
fn scale_of(arguments: &[Expr], place: usize) -> Result<u8> {
    match arguments.get(place).and_then(Expr::as_constant) {
        Some(Value::Int(n @ 0..=7)) => Ok(u8::try_from(*n).unwrap_or(7)),
        _ => Err(Msg::InvalidParameter(i64::try_from(place + 1).unwrap_or(0), "fromparts").into()),
    }
}

fn moment(values: &[Value], offset: i32, data_type: &DataType) -> Result<Value> {
    let offset = i16::try_from(offset).unwrap_or(i16::MAX);
    let day = [int(values, 0), int(values, 1), int(values, 2)];
    let second = if values.len() > 5 { int(values, 5) } else { 0 };
    let fraction = if values.len() > 6 { int(values, 6) } else { 0 };
    let time = [int(values, 3), int(values, 4), second, fraction];
    date::from_date_time_parts(day, time, offset, data_type)
}

/// Converts the date argument: text and numbers become dates.
fn date_argument(arguments: &mut Vec<Expr>, place: usize, text: DataType) -> Result<()> {
    let taken = arguments.remove(place);
    // A number counts days, as in `datetime`; no other date type accepts numbers.
    let target = if taken.ty.data_type.is_numeric() { DataType::DateTime } else { text };
    arguments.insert(place, to_date(taken, target)?);
    Ok(())
}

fn bind_part(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    date_argument(arguments, 1, DataType::DateTimeOffset(7))?;
    Ok(of(DataType::Int))
}

fn bind_name(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    date_argument(arguments, 1, DataType::DateTimeOffset(7))?;
    Ok(of(DataType::NVarChar(Length::Limited(30))))
}

fn bind_field(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    date_argument(arguments, 0, DataType::DateTime2(7))?;
    Ok(of(DataType::Int))
}

fn bind_end_of_month(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    date_argument(arguments, 0, DataType::Date)?;
    convert(arguments, 1, DataType::Int)?;
    Ok(of(DataType::Date))
}

fn eval_part(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let ty = &call.arguments[1].ty.data_type;
    let number = date::date_part(part(values)?, &values[1], ty, cx.date_first())?;
    Ok(number.map_or(Value::Null, Value::Int))
}

fn eval_name(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let ty = &call.arguments[1].ty.data_type;
    let language = cx.convert_options().language;
    let name = date::date_name(part(values)?, &values[1], ty, cx.date_first(), language)?;
    Ok(name.map_or(Value::Null, |name| Value::nvarchar(&name)))
}

fn field(_: &mut Context<'_>, call: &Call<'_>, values: &[Value], part: DatePart) -> Result<Value> {
    let number = date::date_part(part, &values[0], &call.arguments[0].ty.data_type, 7)?;
    Ok(number.map_or(Value::Null, Value::Int))
}

fn bind_switch(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let scale = offset_scale(&arguments[0].ty.data_type);
    convert(arguments, 0, DataType::DateTimeOffset(scale))?;
    Ok(of(DataType::DateTimeOffset(scale)))
}

fn bind_offset(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let scale = offset_scale(&arguments[0].ty.data_type);
    convert(arguments, 0, DataType::DateTime2(scale))?;
    Ok(of(DataType::DateTimeOffset(scale)))
}

fn offset_scale(data_type: &DataType) -> u8 {
    match data_type {
        DataType::DateTime2(s) | DataType::DateTimeOffset(s) | DataType::Time(s) => *s,
        DataType::DateTime => 3,
        DataType::Date | DataType::SmallDateTime => 0,
        _ => 7,
    }
}

/// Returns the offset in minutes, given as `'+hh:mm'` or as a number.
fn offset(call: &Call<'_>, values: &[Value]) -> Result<i32> {
    let written = match &values[1] {
        Value::VarChar(_) | Value::NVarChar(_) => {
            text(call, values, 1)?.and_then(|t| date::parse_offset(t.trim()))
        }
        _ => id(values, 1),
    };
    written.ok_or_else(|| Msg::InvalidParameter(2, "switchoffset").into())
}

fn bind_truncate(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    date_argument(arguments, 1, DataType::DateTime2(7))?;
    Ok(of(arguments[1].ty.data_type))
}

/// Truncates to the start of the date part. 0001-01-01 was a Monday, so the ISO week follows from
/// the day number; a plain week begins on the day that DATEFIRST sets.
fn eval_truncate(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let ty = &call.ty.data_type;
    let part = part(values)?;
    let value = &values[1];
    let Some(moment) = date::Moment::from_value(value) else { return Ok(Value::Null) };
    let first_day = cx.date_first();
    let in_day = |ticks: i64| date::Moment { ticks, ..moment };
    let days_back = |days: i32| date::Moment { days: moment.days - days, ticks: 0, ..moment };
    let number = |part| date::date_part(part, value, ty, first_day).map(|n| n.unwrap_or(1));
    let unit = |ticks: i64| in_day(moment.ticks - moment.ticks % ticks);
    let truncated = match part {
        DatePart::Year => days_back(number(DatePart::DayOfYear)? - 1),
        DatePart::Quarter | DatePart::Month => {
            let month = number(DatePart::Month)?;
            let first = if part == DatePart::Quarter { (month - 1) / 3 * 3 + 1 } else { month };
            let start = date::from_date_parts(number(DatePart::Year)?, first, 1)?;
            let days = date::Moment::from_value(&start).map_or(moment.days, |m| m.days);
            date::Moment { days, ticks: 0, ..moment }
        }
        DatePart::Day | DatePart::DayOfYear => days_back(0),
        DatePart::Week => days_back(number(DatePart::Weekday)? - 1),
        DatePart::IsoWeek => days_back(moment.days.rem_euclid(7)),
        DatePart::Hour => unit(36_000_000_000),
        DatePart::Minute => unit(600_000_000),
        DatePart::Second => unit(10_000_000),
        DatePart::Millisecond => unit(10_000),
        DatePart::Microsecond => unit(10),
        DatePart::Weekday | DatePart::Nanosecond | DatePart::TzOffset => {
            return Err(Msg::InvalidParameter(1, "datetrunc").into());
        }
    };
    truncated.to_value(ty)
}
