//! Moments of system-versioned tables: `datetime2` values of the scale that the period's columns have.
//!
//! A moment is cut to that scale and not rounded, so that no row begins to hold in the future.

use std::cmp::Ordering;

use types::compare::compare;
use types::date::{DAYS_MAX, Moment, TICKS_PER_DAY};
use types::{Collation, DataType, Value};

/// Decimals of a second that a tick is.
const SCALE_MAX: u8 = 7;

/// The present moment.
pub fn now(data_type: &DataType) -> Value {
    of(crate::clock::clock(), data_type)
}

/// The end of the period of every row that is the current one.
pub fn end_of_time(data_type: &DataType) -> Value {
    of(Moment { days: DAYS_MAX, ticks: TICKS_PER_DAY - 1, offset: 0 }, data_type)
}

/// A moment as a period's column has it.
pub fn of(moment: Moment, data_type: &DataType) -> Value {
    let unit = match data_type {
        DataType::DateTime2(scale) => 10_i64.pow(u32::from(SCALE_MAX.saturating_sub(*scale))),
        _ => 1,
    };
    let cut = Moment { ticks: moment.ticks - moment.ticks % unit, ..moment };
    // Cut to the scale, and within the range of the type.
    cut.to_value(data_type).unwrap_or(Value::Null)
}

/// Compares two moments of one type.
pub fn order(one: &Value, other: &Value) -> Ordering {
    compare(one, other, Collation::default()).unwrap_or(Ordering::Equal)
}

/// Returns whether a moment is earlier than another of the same type.
pub fn is_before(one: &Value, other: &Value) -> bool {
    order(one, other) == Ordering::Less
}
