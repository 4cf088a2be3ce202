//! The gate of a table: which sessions may write while it is redefined, and with which plans.
//!
//! ```text
//!                close_for_alone                                open_for(version)
//!  open ─────────► one session ──────────────────────────► alone ────────────────────► open
//!                   waits until no write that saw it open         or retire(): no session any more
//!                   is under way, then for the transactions       or reopen(): as before
//!                   that have written
//! ```
//!
//! A writer checks the gate in the set of indexes, which it reads anyway, under the pin that spans
//! its write. So the fast path writes nothing, and `close_for_alone` need only wait until the pins
//! of its time have ended. A transaction that wrote before the gate was closed may go on writing:
//! the redefinition waits for its end.

use crate::spec::SessionTag;
use crate::store::Table;

/// Which sessions may write to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// The only session that may write; 0 if all may.
    session: u32,
    /// The oldest version of the catalog that a statement may be planned for.
    since: u64,
}

impl Gate {
    /// Open to all sessions, with plans for any version of the catalog.
    pub(crate) const OPEN: Self = Self { session: 0, since: 0 };

    /// The same gate, open to one session only; to all for session 0.
    pub(crate) fn for_session(self, session: u32) -> Self {
        Self { session, ..self }
    }

    /// Returns whether a statement may write.
    #[inline]
    pub(crate) fn admits(self, tag: SessionTag) -> bool {
        (self.session == 0 || self.session == tag.number) && tag.plan >= self.since
    }
}

impl Table {
    /// Lets all sessions write again, with the plans that they have.
    pub fn reopen(&self) {
        self.change_gate(|gate| gate.for_session(0));
    }

    /// Lets all sessions write with plans for this version of the catalog or a later one.
    pub fn open_for(&self, version: u64) {
        self.change_gate(|gate| Gate { session: 0, since: gate.since.max(version) });
    }

    /// Closes the table to all sessions, for good: another table has replaced it, or none.
    pub fn retire(&self) {
        self.change_gate(|_| Gate { session: u32::MAX, since: u64::MAX });
    }

    pub(crate) fn change_gate(&self, change: impl Fn(Gate) -> Gate) {
        self.parts().for_each(|part| part.change_indexes(|set| set.behind(change(set.gate))));
    }
}
