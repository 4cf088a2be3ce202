//! The latest lines of the server's log, for `xp_readerrorlog`.
//!
//! The log itself goes to stderr and is kept by whatever collects that. The process keeps the latest
//! lines, so that an administrator can read them through a connection.

use std::collections::VecDeque;

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
