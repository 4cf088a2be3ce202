//! The server's log: one line per event on stderr, with the time in UTC.
//!
//! Lines that clients cause are limited in number per second, so that a flood of bad connections
//! does not flood the log.

use std::fmt::Display;

use sos::clock;
use sos::sync::{AtomicU64, Ordering};

/// Most lines per second that clients may cause.
const CLIENT_LINES_PER_SECOND_MAX: u64 = 50;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Writes a line about the server itself.
pub(crate) fn line(what: &dyn Display) {
    let (days, ticks) = clock::utc_days_and_ticks();
    sos::error_log::keep(&what.to_string());
    eprintln!("{} {} {what}", Date(days), Time(ticks / 10_000));
}

/// Returns a client's text without characters that would break a log line.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Limits the lines that clients cause.
#[derive(Debug, Default)]
pub(crate) struct ClientLog {
    /// The second that is counted.
    second: AtomicU64,
    /// Lines in that second so far.
    lines: AtomicU64,
}

impl ClientLog {
    /// Writes a line that a client has caused, unless this second has had too many.
    pub(crate) fn line(&self, client: &dyn Display, what: &dyn Display) {
        let second = clock::monotonic_ns() / NANOS_PER_SECOND;
        // Relaxed: two threads at the start of a second may let a few lines more or less through.
        if self.second.swap(second, Ordering::Relaxed) != second {
            let before = self.lines.swap(0, Ordering::Relaxed);
            if before > CLIENT_LINES_PER_SECOND_MAX {
                let left_out = before - CLIENT_LINES_PER_SECOND_MAX;
                line(&format_args!("{left_out} lines about clients were left out"));
            }
        }
        if self.lines.fetch_add(1, Ordering::Relaxed) < CLIENT_LINES_PER_SECOND_MAX {
            line(&format_args!("{what} [CLIENT: {client}]"));
        }
    }
}

/// Days since 0001-01-01; displays as a date.
struct Date(u32);

impl Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Howard Hinnant's civil-from-days, with years that begin in March.
        let days = u64::from(self.0) + 306;
        let era = days / 146_097;
        let day_of_era = days % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// Milliseconds since midnight; displays as a time.
struct Time(u64);

impl Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seconds, ms) = (self.0 / 1_000, self.0 % 1_000);
        let (minutes, second) = (seconds / 60, seconds % 60);
        write!(f, "{:02}:{:02}:{second:02}.{ms:03}", minutes / 60, minutes % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_as_dates() {
        assert_eq!(Date(0).to_string(), "0001-01-01");
        assert_eq!(Date(719_162).to_string(), "1970-01-01");
        assert_eq!(Date(730_178).to_string(), "2000-02-29");
        assert_eq!(Date(3_652_058).to_string(), "9999-12-31");
    }

    #[test]
    fn milliseconds_are_written_as_times() {
        assert_eq!(Time(0).to_string(), "00:00:00.000");
        assert_eq!(Time(86_399_999).to_string(), "23:59:59.999");
    }
}
