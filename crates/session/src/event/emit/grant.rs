//! Release of a query's memory: query_memory_grant_usage.

use sos::xe::{self, Value};

use crate::event::list::QUERY_MEMORY_GRANT_USAGE;
use crate::grant::GrantNow;

/// Smaller grants fire no event, as in SQL Server.
const GRANT_MIN_BYTES: u64 = 5 << 20;

/// Returns whether an event session collects the event: one load.
#[inline]
pub fn is_wanted() -> bool {
    xe::enabled(&QUERY_MEMORY_GRANT_USAGE)
}

/// Fires the event once the last operator of a query has released its memory.
#[cold]
pub fn used(grant: &GrantNow) {
    if grant.used_max < GRANT_MIN_BYTES {
        return;
    }
    let kb = |bytes: u64| Value::UInt(bytes >> 10);
    let percent = grant.used_max.saturating_mul(100).checked_div(grant.ideal).unwrap_or(100);
    let values = [
        kb(grant.ideal),
        kb(grant.used_max),
        kb(grant.used_max),
        Value::UInt(100),
        Value::UInt(1),
        Value::UInt(percent.min(100)),
    ];
    xe::fire(&QUERY_MEMORY_GRANT_USAGE, &values);
}
