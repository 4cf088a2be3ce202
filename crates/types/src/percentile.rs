//! Percentiles of ordered values, for PERCENTILE_CONT, PERCENTILE_DISC and APPROX_PERCENTILE_CONT,
//! APPROX_PERCENTILE_DISC.

use crate::{Msg, Result, Value};

/// Returns the percentile `share` (0 to 1) of ordered values without NULLs. A discrete one is one
/// of the values; a continuous one is interpolated between two, which must be `float`. NULL if
/// there are no values.
///
/// # Errors
/// 8624 if `continuous` and the values are not `float`.
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

/// The rank of a percentile among the rows, rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and a row count"
)]
fn place_of(x: f64) -> usize {
    x.ceil() as usize
}
