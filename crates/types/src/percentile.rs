//! The value at a share of values in order, as PERCENTILE_CONT, PERCENTILE_DISC and their approximate kin have it.

use crate::{Msg, Result, Value};

/// The value at a share (0 to 1) of values in order, none of them NULL: one of them, or what lies between
/// two, which are `float` then. NULL if there are none.
///
/// # Errors
/// 8624 if `continuous` values are no `float`s.
pub fn percentile(continuous: bool, share: f64, values: &[&Value]) -> Result<Value> {
    let Some(last) = values.len().checked_sub(1) else { return Ok(Value::Null) };
    if !continuous {
        let place = place_of(share * float(values.len())).saturating_sub(1);
        return Ok(values[place.min(last)].clone());
    }
    let row = share * float(last);
    let below = place_of(row.floor()).min(last);
    let above = place_of(row).min(last);
    let (Value::Float(low), Value::Float(high)) = (values[below], values[above]) else {
        return Err(Msg::InternalError.into());
    };
    Ok(Value::Float(low + (high - low) * (row - row.floor())))
}

#[expect(clippy::cast_precision_loss, reason = "a row count")]
fn float(count: usize) -> f64 {
    count as f64
}

/// A place among rows, rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and a row count"
)]
fn place_of(x: f64) -> usize {
    x.ceil() as usize
}
