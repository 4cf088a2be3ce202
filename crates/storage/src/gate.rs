//! The gate of a table: who may write to it while it is redefined, and with which plans after that.
//!
//! ```text
//!                close_for_alone                                open_for(version)
//!  open ─────────► one session ──────────────────────────► alone ────────────────────► open
//!                   waits until no write that saw it open         or retire(): nobody any more
//!                   is under way, then for the transactions       or reopen(): as it was
//!                   that have written
//! ```
//!
//! A writer looks at the gate in the set of indexes, which it reads anyway, under the pin that spans its
//! write. So the fast path writes nothing, and `close_for_alone` need only wait until the pins of its time have
//! ended. A transaction that wrote before the gate was closed may go on writing: the redefinition waits
//! for its end.

use crate::chain::{Holder, newest};
use crate::error::{Error, Result};
use crate::head::HeapPosition;
use crate::reclaim::{Guard, pin, wait_for_pins};
use crate::sync::{Mutant, is_mutant};
use crate::table::Table;
use crate::transaction::{SessionTag, Transaction};
use crate::wait::Blocker;

/// Who may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// The one session that may; 0 for all.
    session: u32,
    /// The oldest version of the catalog that a statement may be planned for.
    since: u64,
}

impl Gate {
    /// Everybody, with any plan.
    pub(crate) const OPEN: Self = Self { session: 0, since: 0 };

    /// Tells whether a statement may write.
    #[inline]
    pub(crate) fn admits(self, tag: SessionTag) -> bool {
        (self.session == 0 || self.session == tag.number) && tag.plan >= self.since
    }
}

/// Rows that are looked at between two pins.
const BATCH: usize = 64;

impl Table {
    /// Lets all write again, as if nothing had been.
    pub fn reopen(&self) {
        self.change_gate(|gate| Gate { session: 0, ..gate });
    }

    /// Lets all write whose statements are planned for this version of the catalog or a later one.
    pub fn open_for(&self, version: u64) {
        self.change_gate(|gate| Gate { session: 0, since: gate.since.max(version) });
    }

    /// Lets nobody write any more: another table has taken its place, or none.
    pub fn retire(&self) {
        self.change_gate(|_| Gate { session: u32::MAX, since: u64::MAX });
    }

    fn change_gate(&self, change: impl Fn(Gate) -> Gate) {
        self.parts().for_each(|part| part.change_indexes(|set| set.behind(change(set.gate))));
    }
}

impl Transaction {
    /// Keeps all sessions but that of this transaction from writing to a table, and waits until nobody
    /// else has written who has not ended. Fails as waiting for a row does; then the gate is open.
    pub fn close_for_alone(&self, table: &Table) -> Result<()> {
        let session = self.session().number;
        table.change_gate(|gate| Gate { session, ..gate });
        let waited = is_mutant(Mutant::GateWithoutWait) || wait_for_pins(self.patience());
        let closed = match waited {
            true => self.wait_for_writers(table),
            false => Err(Error::Cancelled),
        };
        closed.inspect_err(|_| table.reopen())
    }

    /// Waits until no other transaction that has not ended has written to a table whose gate is closed
    /// for this one.
    fn wait_for_writers(&self, table: &Table) -> Result<()> {
        for part in table.parts() {
            while let Some(writer) = self.find_writer(part) {
                self.wait_for(writer)?;
            }
        }
        Ok(())
    }

    fn find_writer(&self, table: &Table) -> Option<Blocker> {
        let me = self.state_address();
        let mut position = HeapPosition::default();
        let mut heads = Vec::new();
        loop {
            heads.clear();
            table.heap.walk(&mut position, &mut heads, BATCH);
            if heads.is_empty() {
                return None;
            }
            let guard = pin();
            for head in &heads {
                let row = newest(head, me, &table.shared.clock, &guard);
                if let Holder::Other(state) = row.holder {
                    return Some(Blocker::new(state, head, row.top));
                }
            }
        }
    }

    /// Fails with [`Error::Closed`] where the gate is closed to this transaction.
    #[inline]
    pub(crate) fn admit(&self, table: &Table, guard: &Guard) -> Result<()> {
        if table.index_set(guard).gate.admits(self.session()) {
            return Ok(());
        }
        self.admit_writer(table)
    }

    #[cold]
    fn admit_writer(&self, table: &Table) -> Result<()> {
        if self.has_written_to(table) { Ok(()) } else { Err(Error::Closed(table.id())) }
    }
}
