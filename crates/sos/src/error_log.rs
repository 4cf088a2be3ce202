//! The server's log: one line per event on stderr, with the time in UTC, and the latest lines for
//! `xp_readerrorlog`.
//!
//! What collects stderr keeps the log. The process keeps the latest lines, so that an administrator
//! can read them through a connection.

use std::collections::VecDeque;
use std::fmt::Display;

use crate::clock;
use crate::lock::{SpinClass, SpinLock};

/// Most lines that are kept.
const LINES_MAX: usize = 1_000;
/// Most bytes of a line that are kept.
const LINE_BYTES_MAX: usize = 4_096;

/// A line of the log.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// Ticks of the clock when it was written.
    pub ticks: u64,
    /// The text, without time.
    pub text: String,
}

static LINES: SpinLock<VecDeque<LogLine>> = SpinLock::new(SpinClass::ServerOther, VecDeque::new());

/// Writes a line about the server, and keeps it.
pub fn line(what: &dyn Display) {
    let (days, ticks) = clock::utc_days_and_ticks();
    keep(&what.to_string());
    eprintln!("{} {} {what}", Date(days), Time(ticks / 10_000));
}

/// Keeps a line; the oldest one is dropped if there are too many.
pub fn keep(text: &str) {
    let mut end = text.len().min(LINE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let line = LogLine { ticks: clock::now_ticks(), text: text[..end].to_owned() };
    let mut lines = LINES.lock();
    let dropped = if lines.len() < LINES_MAX { None } else { lines.pop_front() };
    lines.push_back(line);
    drop(lines);
    // Outside the lock: memory is freed here.
    drop(dropped);
}

/// Returns the lines that are kept, the oldest first.
#[must_use]
pub fn lines() -> Vec<LogLine> {
    LINES.lock().iter().cloned().collect()
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
