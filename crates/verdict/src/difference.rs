//! Differences of two readings: how long apart they are, and how much a counter grew.
//!
//! A server's own monotonic clock measures the time between two readings, since the counters follow
//! it: a client that slept, or a wall clock that was set, changes nothing. Where that clock went
//! backwards, the client's clock is used.

use crate::row::Row;

/// The clocks of one reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clock {
    /// The server's monotonic clock in milliseconds.
    pub ticks_ms: i64,
    /// That clock at the server's start: another value is another process.
    pub start_ticks_ms: i64,
    /// The server's time of day as text.
    pub time: String,
    /// Seconds since the server's start, by its wall clock.
    pub up_seconds: i64,
    /// Number of schedulers for requests.
    pub schedulers: u64,
    /// CPU time of the server's process in user mode, in milliseconds.
    pub user_ms: u64,
    /// CPU time of the server's process in the kernel, in milliseconds.
    pub kernel_ms: u64,
    /// CPU time of our own session, in milliseconds.
    pub own_cpu_ms: u64,
    /// The client's monotonic clock in nanoseconds.
    pub local_ns: u64,
}

impl Clock {
    /// Reads the first result of a question about time.
    #[must_use]
    pub fn from_row(row: &Row, local_ns: u64) -> Self {
        Self {
            ticks_ms: row.integer(0).unwrap_or(0),
            start_ticks_ms: row.integer(1).unwrap_or(0),
            time: row.text(2).to_owned(),
            up_seconds: row.integer(3).unwrap_or(0),
            schedulers: row.count(4),
            user_ms: row.count(5),
            kernel_ms: row.count(6),
            own_cpu_ms: row.count(7),
            local_ns,
        }
    }

    /// Returns the seconds from an earlier reading to this one; `None` if the server was restarted
    /// between them, or if no time passed.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a time between two readings is short")]
    pub fn seconds_since(&self, before: &Self) -> Option<f64> {
        if self.start_ticks_ms != before.start_ticks_ms {
            return None;
        }
        let server_ms = self.ticks_ms.saturating_sub(before.ticks_ms);
        let local_ns = self.local_ns.saturating_sub(before.local_ns);
        let seconds = if server_ms > 0 { server_ms as f64 / 1e3 } else { local_ns as f64 / 1e9 };
        (seconds > 0.0).then_some(seconds)
    }
}

/// Returns how much a counter grew. A counter that is less than half of what it was, was reset, and
/// has grown from zero since. One that is a little lower was corrected: times that a server had
/// guessed while a thread ran. It has not grown.
#[must_use]
pub const fn grown(before: u64, after: u64) -> u64 {
    if after >= before {
        after - before
    } else if after < before / 2 {
        after
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(start_ticks_ms: i64, ticks_ms: i64, local_ms: u64) -> Clock {
        Clock { ticks_ms, start_ticks_ms, local_ns: local_ms * 1_000_000, ..Clock::default() }
    }

    #[test]
    fn server_clock_measures_the_time_between_readings() {
        // The client slept: the server counted 60 s, the client 1 s.
        let (before, after) = (clock(5, 1_000, 0), clock(5, 61_000, 1_000));
        assert_eq!(after.seconds_since(&before), Some(60.0));
    }

    #[test]
    fn clock_that_went_back_is_replaced_by_the_clients() {
        let (before, after) = (clock(5, 90_000, 0), clock(5, 20_000, 2_000));
        assert_eq!(after.seconds_since(&before), Some(2.0));
        assert_eq!(before.seconds_since(&before), None, "no time, no rate");
    }

    #[test]
    fn restarted_server_has_no_difference() {
        let (before, after) = (clock(5, 1_000, 0), clock(7, 2_000, 1_000));
        assert_eq!(after.seconds_since(&before), None);
    }

    #[test]
    fn counter_that_was_reset_has_grown_from_zero() {
        assert_eq!(grown(10, 15), 5);
        assert_eq!(grown(1_000, 4), 4);
        assert_eq!(grown(u64::MAX, u64::MAX), 0);
    }

    #[test]
    fn counter_that_was_corrected_has_not_grown() {
        assert_eq!(grown(36_100, 36_000), 0);
    }
}
