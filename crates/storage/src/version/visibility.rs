//! Visibility: which version of a row a transaction sees.
//!
//! It sees the newest version whose commit time is not above its snapshot, or that an earlier
//! statement of the same transaction wrote. It passes over versions of transactions that have not committed. If
//! such a transaction is validating with a commit time within the snapshot, visibility depends on
//! its outcome, and the reader waits for it. When the log has failed, it passes over what is not
//! durable as well.

use crate::durability::Lost;
use crate::primitives::{Clock, Guard, Label, Timestamp, check_quantum_soon, measured};
use crate::version::{
    Begin, Blocker, Owner, RowHead, TxState, TxStatus, Version, VersionKind, owner, versions,
};

/// What a transaction sees of a row.
pub(crate) enum Sight<'g> {
    /// This version of the row.
    Row(&'g Version),
    /// No row: it is deleted, moved to a row group, or not there yet.
    Nothing,
    /// It depends on this transaction, which is validating with a commit time within the snapshot.
    Undecided(Blocker),
    /// READ UNCOMMITTED: the caller copies the newest version, committed or not.
    Dirty,
}

/// What decides visibility: the transaction, its statement and its snapshot.
#[derive(Clone, Copy)]
pub(crate) struct View {
    /// The state of the reading transaction; null if it has written nothing.
    pub(crate) me: *const TxState,
    /// The number of the statement. Own versions of this statement and later ones are not visible.
    pub(crate) command: u32,
    /// Commits up to this time are visible.
    pub(crate) snapshot: Timestamp,
    /// READ UNCOMMITTED: uncommitted versions are visible too.
    pub(crate) is_dirty: bool,
    /// The commits that are passed over since they are not durable and the log has failed.
    pub(crate) lost: Lost,
}

/// A walk over more versions than this has a name in the ledger: an old snapshot makes it long.
const STEPS_UNLABELLED: usize = 16;
/// A walk over more versions than this takes longer than the rows between two checks of the quantum.
const STEPS_LONG: usize = 1_024;

/// Finds the version that is visible to `view`.
pub(crate) fn visible<'g>(
    head: &RowHead,
    view: View,
    clock: &Clock,
    guard: &'g Guard,
) -> Sight<'g> {
    let top = head.latest();
    let mut walk = None;
    for (steps, version) in versions(top, guard).enumerate() {
        if steps == STEPS_UNLABELLED {
            walk = Some(measured(Label::Versions));
        }
        if steps == STEPS_LONG {
            check_quantum_soon();
        }
        let counts = match owner(version, view.me, clock, guard) {
            Owner::Committed(ts) => ts <= view.snapshot && !view.lost.hides(version.mark()),
            Owner::Own => version.command < view.command,
            Owner::Nobody => false,
            Owner::Other(state) => match state.status() {
                TxStatus::Validating(ts) if ts <= view.snapshot => {
                    return Sight::Undecided(Blocker::new(state, head, top));
                }
                // It can only commit above this snapshot: `owner` has just helped it.
                TxStatus::Active
                | TxStatus::Committing
                | TxStatus::ValidatingSoon
                | TxStatus::Validating(_)
                | TxStatus::Aborted => false,
                // It ended after `owner` looked; its commit time decides.
                TxStatus::Committed(ts) => {
                    // Its owner has not stamped the version yet.
                    version.set_mark(state.mark());
                    ts <= view.snapshot && !view.lost.hides(state.mark())
                }
            },
        };
        if counts {
            match version.kind {
                VersionKind::Data => return Sight::Row(version),
                VersionKind::Tombstone | VersionKind::Moved => return Sight::Nothing,
                VersionKind::Lock => {}
            }
        }
    }
    drop(walk);
    Sight::Nothing
}

/// Like [`visible`], with a fast path: the newest version is committed within the snapshot.
#[inline]
pub(crate) fn visible_fast<'g>(
    head: &RowHead,
    view: View,
    clock: &Clock,
    guard: &'g Guard,
) -> Sight<'g> {
    let top = head.latest();
    // SAFETY: a linked version is freed only through `epoch`, so it is alive under the guard.
    if let Some(version) = unsafe { top.as_ref::<'g>() }
        && version.kind == VersionKind::Data
        && let Begin::Committed(ts) = version.begin()
        && ts <= view.snapshot
        && view.lost.is_nothing()
    {
        return Sight::Row(version);
    }
    if view.is_dirty {
        return Sight::Dirty;
    }
    visible(head, view, clock, guard)
}
