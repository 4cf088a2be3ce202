//! DATE_BUCKET: the start of the bucket of a fixed width that a date falls into.

use types::date::{self, DatePart, Moment};
use types::value::ColumnType;
use types::{DataType, Error, Msg, Result, Value};

use crate::date::{part, to_date};
use crate::entry::{convert, of, pure, whole};
use crate::{Call, Function};
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[pure("DATE_BUCKET", (3, 4), bind_bucket, eval_bucket)];

fn bind_bucket(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    convert(arguments, 1, DataType::Int)?;
    let date = to_date(arguments.remove(2), DataType::DateTime2(7))?;
    let ty = of(date.ty.data_type);
    arguments.insert(2, date);
    if arguments.len() > 3 {
        convert(arguments, 3, ty.data_type)?;
    }
    Ok(ty)
}

/// Buckets are counted from the origin, by default 1900-01-01: those of months and years on the
/// calendar, the others in ticks.
fn eval_bucket(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let width = whole(values, 1).unwrap_or(0);
    if width <= 0 {
        return Err(Msg::BucketWidth.into());
    }
    let part = part(values)?;
    let origin = values.get(3).cloned().unwrap_or(Value::Date(date::DAYS_1900));
    let (Some(at), Some(from)) = (Moment::from_value(&values[2]), Moment::from_value(&origin))
    else {
        return Ok(Value::Null);
    };
    let ty = &call.ty.data_type;
    let months = match part {
        DatePart::Year => Some(12),
        DatePart::Quarter => Some(3),
        DatePart::Month => Some(1),
        _ => None,
    };
    let start = match (months, ticks_of(part)) {
        (Some(months), _) if !matches!(ty, DataType::Time(_)) => {
            by_months(at, from, width.saturating_mul(months))
        }
        (None, Some(ticks)) => by_ticks(at, from, i128::from(ticks) * i128::from(width)),
        _ => {
            let name = "date_bucket";
            let of = ty.name();
            return Err(Msg::DatePartNotSupportedType(part.name(), name, of).into());
        }
    };
    let start = start.ok_or_else(|| Error::from(Msg::DateAddOverflow("datetime2")))?;
    Moment { offset: at.offset, ..start }.to_value(ty)
}

fn ticks_of(part: DatePart) -> Option<i64> {
    Some(match part {
        DatePart::Week => 7 * date::TICKS_PER_DAY,
        DatePart::Day => date::TICKS_PER_DAY,
        DatePart::Hour => 60 * date::TICKS_PER_MINUTE,
        DatePart::Minute => date::TICKS_PER_MINUTE,
        DatePart::Second => date::TICKS_PER_SECOND,
        DatePart::Millisecond => 10_000,
        _ => return None,
    })
}

fn by_ticks(at: Moment, from: Moment, width: i128) -> Option<Moment> {
    let total =
        |m: Moment| i128::from(m.days) * i128::from(date::TICKS_PER_DAY) + i128::from(m.ticks);
    let behind = (total(at) - total(from)).rem_euclid(width);
    let start = total(at) - behind;
    let days = i32::try_from(start.div_euclid(i128::from(date::TICKS_PER_DAY))).ok()?;
    let ticks = i64::try_from(start.rem_euclid(i128::from(date::TICKS_PER_DAY))).ok()?;
    (0..=date::DAYS_MAX).contains(&days).then_some(Moment { days, ticks, offset: 0 })
}

fn by_months(at: Moment, from: Moment, width: i64) -> Option<Moment> {
    let month = |m: Moment| {
        let civil = date::civil_of(m.days);
        i64::from(civil.year) * 12 + i64::from(civil.month) - 1
    };
    let mut whole = (month(at) - month(from)).div_euclid(width);
    loop {
        let start = plus_months(from, month(from) + whole * width)?;
        if (start.days, start.ticks) <= (at.days, at.ticks) {
            return Some(start);
        }
        whole -= 1;
    }
}

/// Returns the origin's day and time in another month, or that month's last day if it is shorter.
fn plus_months(from: Moment, month: i64) -> Option<Moment> {
    let year = i32::try_from(month.div_euclid(12)).ok()?;
    let number = i32::try_from(month.rem_euclid(12) + 1).ok()?;
    let last = date::days_in_month(year, number)?;
    let day = i32::from(date::civil_of(from.days).day).min(last);
    Some(Moment { days: date::days_of(year, number, day)?, ..from })
}
