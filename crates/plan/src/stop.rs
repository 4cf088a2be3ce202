//! Errors that are not about what a statement works on: its client has cancelled it, or there is no memory. Code that
//! turns errors of its input into others passes these on.

use types::Error;

/// Number of errors that are never sent to a client.
pub const INTERNAL: i32 = 0;

/// Severity of the error of a statement whose client is gone; that of a cancelled one is 16.
pub const GONE: u8 = 20;

/// Returns whether an error is not about the data: lack of memory (701), of a memory grant (8645) or of room in the log
/// (9002), a log that failed (9001), a cancelled statement, a lost connection.
pub fn is_about_resources(error: &Error) -> bool {
    matches!(error.number, INTERNAL | 701 | 8_645 | 9_001 | 9_002)
}

/// Returns the error of a cancelled statement, which no client receives.
pub fn cancelled() -> Error {
    Error::custom(INTERNAL, 16, 1, "Operation cancelled by user.")
}
