//! Extended Events as the engine has them: what it can tell of itself, where it is told, and the sessions
//! that are told.
//!
//! - `list/` declares the events, `action.rs` the facts about the moment of one, `map.rs` their maps;
//! - `registry.rs` finds everything by name, that of the machine layer included;
//! - `emit/` fires the events: a probe that nobody wants is one load;
//! - `context.rs` knows what the thread works for, for actions and predicates;
//! - `sessions.rs` starts and stops sessions; `xml.rs` writes what targets hold.

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

/// A point in time, in 100 ns since 0001-01-01 UTC, as `datetime`.
pub fn datetime_of(ticks: u64) -> Value {
    moment_of(ticks).to_value(&DataType::DateTime).unwrap_or(Value::Null)
}

/// The same as `datetime2`.
pub fn datetime2_of(ticks: u64) -> Value {
    moment_of(ticks).to_value(&DataType::DateTime2(7)).unwrap_or(Value::Null)
}

fn moment_of(ticks: u64) -> Moment {
    let days = i32::try_from(ticks / DAY_TICKS).unwrap_or(types::date::DAYS_MAX);
    Moment { days, ticks: i64::try_from(ticks % DAY_TICKS).unwrap_or(0), offset: 0 }
}
