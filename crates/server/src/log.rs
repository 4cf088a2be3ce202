//! The server's log, as `sos::error_log` writes it, and the lines in it that clients cause.
//!
//! Lines that clients cause are limited in number per second, so that a flood of bad connections
//! does not flood the log.

use std::fmt::Display;

use sos::clock;
use sos::sync::{AtomicU64, Ordering};
use types::Error;

/// Most lines per second that clients may cause.
const CLIENT_LINES_PER_SECOND_MAX: u64 = 50;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Errors by which all clients learn that the server lacks something: memory, or room for the log.
const SHORTAGES: [i32; 3] = [701, 8645, 9002];
/// The least time between two lines about the same shortage.
const SHORTAGE_QUIET_NS: u64 = 10 * NANOS_PER_SECOND;

pub(crate) use sos::error_log::line;

/// Returns a client's text without characters that would break a log line.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The number, severity, state and text of an error, as lines of the log have them.
pub(crate) fn error_line(error: &Error) -> String {
    let (number, severity, state) = (error.number, error.severity, error.state);
    let text = printable(&error.message);
    format!("Error: {number}, Severity: {severity}, State: {state}. {text}")
}

/// Limits the lines that clients cause.
#[derive(Debug, Default)]
pub(crate) struct ClientLog {
    /// The second that is counted.
    second: AtomicU64,
    /// Lines in that second so far.
    lines: AtomicU64,
    /// Since when the log has a line about each shortage.
    shortages: [AtomicU64; SHORTAGES.len()],
}

impl ClientLog {
    /// Writes a line about an error that says what the server lacks, if it is one. While the shortage
    /// lasts, most clients get it: one line in ten seconds is enough.
    #[cold]
    pub(crate) fn shortage(&self, client: &dyn Display, error: &Error) {
        let Some(place) = SHORTAGES.iter().position(|number| *number == error.number) else {
            return;
        };
        let (now_ns, last) = (clock::monotonic_ns(), &self.shortages[place]);
        let last_ns = last.load(Ordering::Relaxed);
        let is_due = last_ns == 0 || now_ns.saturating_sub(last_ns) >= SHORTAGE_QUIET_NS;
        // Relaxed: of the threads that see the same time, one writes the line.
        let taken = is_due
            && last.compare_exchange(last_ns, now_ns, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if taken {
            self.line(client, &error_line(error));
        }
    }

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
