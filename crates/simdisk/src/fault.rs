//! `Fault`: which calls of the disk fail, though the disk works.

use crate::Call;

/// Calls that fail with EIO: one kind, in one part of the disk, once or several times. What a failed call
/// leaves is that of a power loss in it: of a write perhaps sectors at the front; of a sync what became
/// durable, and the rest never will.
#[derive(Clone, Debug)]
pub struct Fault {
    call: Call,
    prefix: String,
    skipped: u64,
    times: u64,
}

impl Fault {
    /// The next call of this kind fails, on any path.
    #[must_use]
    pub const fn new(call: Call) -> Self {
        Self { call, prefix: String::new(), skipped: 0, times: 1 }
    }

    /// Only paths that begin like this fail. A file has the path by which it was opened.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// This number of calls succeed before.
    #[must_use]
    pub const fn after(mut self, calls: u64) -> Self {
        self.skipped = calls;
        self
    }

    /// This number of calls fail.
    #[must_use]
    pub const fn times(mut self, calls: u64) -> Self {
        self.times = calls;
        self
    }

    /// Returns whether it hits a call, and counts it.
    pub(crate) fn hits(&mut self, call: Call, path: &str) -> bool {
        if self.call != call || !path.starts_with(&self.prefix) {
            return false;
        }
        if self.skipped > 0 {
            self.skipped -= 1;
            return false;
        }
        if self.times == 0 {
            return false;
        }
        self.times -= 1;
        true
    }
}
