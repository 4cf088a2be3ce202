//! Extended Events in the engine: its events, the probes that fire them, and the event sessions
//! that collect them.
//!
//! - `list/` declares the events, `action.rs` the facts about the moment of one, `map.rs` their
//!   maps;
//! - `registry.rs` finds everything by name, including the machine layer's;
//! - `emit/` fires the events: a probe without an event session costs one load;
//! - `context.rs` holds what the thread works for, for actions and predicates;
//! - `sessions.rs` starts and stops event sessions; `xml.rs` writes the content of targets.

pub mod action;
pub mod context;
pub mod emit;
pub mod error;
pub mod list;
pub mod map;
pub mod registry;
mod sessions;
pub mod xml;

pub use sessions::Changing;
pub use sessions::Events;

use types::date::Moment;
use types::{DataType, Value};

/// Ticks of 100 ns in a day.
const DAY_TICKS: u64 = 864_000_000_000;

/// Converts a time in 100 ns since 0001-01-01 UTC to a `datetime`.
pub fn datetime_of(ticks: u64) -> Value {
    moment_of(ticks).to_value(&DataType::DateTime).unwrap_or(Value::Null)
}

/// Converts the same to a `datetime2`.
pub fn datetime2_of(ticks: u64) -> Value {
    moment_of(ticks).to_value(&DataType::DateTime2(7)).unwrap_or(Value::Null)
}

fn moment_of(ticks: u64) -> Moment {
    let days = i32::try_from(ticks / DAY_TICKS).unwrap_or(types::date::DAYS_MAX);
    Moment { days, ticks: i64::try_from(ticks % DAY_TICKS).unwrap_or(0), offset: 0 }
}
