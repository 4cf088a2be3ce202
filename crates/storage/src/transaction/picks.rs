//! `Note`, `Pick`: whether several transactions pick among the rows of one table at the same time.
//!
//! A statement that ranks rows by a window function and changes some of them relies on the others,
//! which it has read from its snapshot and not claimed. Two of them can each rely on what the other one
//! deletes. So each notes itself at the table before its snapshot, until its transaction ends, and asks
//! after its last claim whether it was the only one. If not, it begins again and claims all that it reads.
//!
//! Of two that overlap, the one whose note comes later finds the other active, or finds that it has
//! ended since; the earlier one may be alone if it asks before that note. An end comes after the
//! commit is visible: a statement that notes itself then has a snapshot with all changes. One that
//! claims all rows waits for each claim of another one. It needs no answer; it is noted because others ask.
//!
//! Checked by `models/picks.rs`. Mutants must fail.

use std::sync::Arc;

use crate::primitives::{Mutant, is_mutant};
use crate::store::{PickersState, Table};
use crate::transaction::Transaction;

/// A transaction's note at a table, until this is dropped.
pub(super) struct Note {
    table: Arc<Table>,
}

impl Drop for Note {
    fn drop(&mut self) {
        self.table.pickers.leave();
    }
}

/// What a statement has found at its table before its snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// The table's pickers with the statement's own note; `None` if it was not the only one even then.
    alone: Option<PickersState>,
}

impl Transaction {
    /// Notes that a statement picks among the rows of a table. To be called before it has read.
    pub fn pick_among(&self, table: &Arc<Table>) -> Pick {
        let inner = &mut *self.inner.borrow_mut();
        let state = if inner.picks.iter().any(|note| Arc::ptr_eq(&note.table, table)) {
            table.pickers.now()
        } else {
            let state = table.pickers.enter();
            inner.picks.push(Note { table: Arc::clone(table) });
            state
        };
        // With an older snapshot it may not see what one that has ended since has changed.
        let is_alone = state.active() == 1 && inner.statement_snapshot.is_none();
        Pick { alone: is_alone.then_some(state) }
    }

    /// Returns whether no other transaction has picked among the rows of the table since the
    /// statement's snapshot. To be called after the statement's last claim.
    pub fn has_picked_alone(&self, table: &Table, pick: Pick) -> bool {
        if is_mutant(Mutant::PickersUnseen) {
            return true;
        }
        // A claim reads the newest state of its row. One that comes after the claim of another
        // transaction sees that one's note as well, and one that comes before holds the other off.
        pick.alone == Some(table.pickers.now())
    }
}
