//! Times of system-versioned tables: `datetime2` values with the scale of the period's columns.
//!
//! A time is truncated to that scale, not rounded, so that no row version begins in the future.

use std::cmp::Ordering;

use types::compare::compare;
use types::date::{DAYS_MAX, Moment, TICKS_PER_DAY};
use types::{Collation, DataType, Value};

/// Largest scale of `datetime2`: a tick is 100 ns.
const SCALE_MAX: u8 = 7;

/// Returns the current time as a value of a period column.
pub fn now(data_type: &DataType) -> Value {
    of(crate::clock::clock(), data_type)
}

/// Returns the end time of every current row version.
pub fn end_of_time(data_type: &DataType) -> Value {
    of(Moment { days: DAYS_MAX, ticks: TICKS_PER_DAY - 1, offset: 0 }, data_type)
}

/// Returns a time as a value of a period column.
pub fn of(moment: Moment, data_type: &DataType) -> Value {
    let unit = match data_type {
        DataType::DateTime2(scale) => 10_i64.pow(u32::from(SCALE_MAX.saturating_sub(*scale))),
        _ => 1,
    };
    let cut = Moment { ticks: moment.ticks - moment.ticks % unit, ..moment };
    // Truncated to the scale, and clamped to the range of the type.
    cut.to_value(data_type).unwrap_or(Value::Null)
}

/// Compares two times of one type.
pub fn order(one: &Value, other: &Value) -> Ordering {
    compare(one, other, Collation::default()).unwrap_or(Ordering::Equal)
}

/// Returns whether a time is earlier than another of the same type.
pub fn is_before(one: &Value, other: &Value) -> bool {
    order(one, other) == Ordering::Less
}
