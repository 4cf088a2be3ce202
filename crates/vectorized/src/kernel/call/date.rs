//! YEAR, MONTH, DAY and DATEPART of types that contain a date.

use types::batch::{Data, Selection, Vector};
use types::date::{Civil, DAYS_1900, DatePart, civil_of};

use super::super::side::{Operand, Side, map};
use super::Inputs;

/// `YEAR(date)`, 1 to 9999.
pub(super) fn year(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    field(inputs.vectors[0], rows, out, |civil| civil.year)
}

/// `MONTH(date)`, 1 to 12.
pub(super) fn month(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    field(inputs.vectors[0], rows, out, |civil| i32::from(civil.month))
}

/// `DAY(date)`, 1 to 31.
pub(super) fn day(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    field(inputs.vectors[0], rows, out, |civil| i32::from(civil.day))
}

/// `DATEPART(part, date)`, for the parts above.
pub(super) fn part(inputs: &Inputs<'_>, rows: &Selection, out: &mut Vector) -> bool {
    let Some(place) = inputs.vectors[0].constant_value() else { return false };
    let date = inputs.vectors[1];
    match functions::date::part(std::slice::from_ref(place)) {
        Ok(DatePart::Year) => field(date, rows, out, |civil| civil.year),
        Ok(DatePart::Month) => field(date, rows, out, |civil| i32::from(civil.month)),
        Ok(DatePart::Day) => field(date, rows, out, |civil| i32::from(civil.day)),
        Ok(DatePart::Quarter) => field(date, rows, out, |civil| (i32::from(civil.month) + 2) / 3),
        _ => false,
    }
}

/// Extracts a field of dates; `false`, and nothing is done, if the operand has no dates.
fn field(
    dates: &Vector,
    rows: &Selection,
    out: &mut Vector,
    pick: impl Fn(Civil) -> i32 + Copy,
) -> bool {
    let (Data::Int(out), nulls) = out.parts_mut() else { return false };
    // NULL rows may contain a day outside the calendar.
    let pick = |days: i32| pick(civil_of(days.clamp(0, types::date::DAYS_MAX)));
    match Operand::of(dates) {
        Operand::Date(Side::Rows(days)) => map(days, rows, out, pick),
        Operand::DateTime(Side::Rows(stamps)) => map(stamps, rows, out, |stamp| {
            pick(Data::unpack_datetime(stamp).0.saturating_add(DAYS_1900))
        }),
        Operand::DateTime2(Side::Rows(stamps)) => {
            map(stamps, rows, out, |stamp| pick(Data::unpack_datetime2(stamp).0));
        }
        _ => return false,
    }
    nulls.add(dates.nulls());
    true
}
