//! Visibility: which version of a row a transaction sees.
//!
//! The newest version whose commit time is not above the snapshot, or which an earlier statement of the
//! transaction itself wrote. A version whose transaction has not committed is passed over. If that
//! transaction is validating with a commit time within the snapshot, nobody can say yet: the reader waits.

use crate::primitives::clock::{Clock, Timestamp};
use crate::primitives::epoch::Guard;
use crate::version::blocker::Blocker;
use crate::version::chain::{Owner, owner, versions};
use crate::version::head::RowHead;
use crate::version::layout::{Begin, Version, VersionKind};
use crate::version::state::{TxState, TxStatus};

/// What a snapshot sees of a row.
pub(crate) enum Sight<'g> {
    /// This version.
    Row(&'g Version),
    /// No row.
    Nothing,
    /// It depends on a transaction that is validating with a time within the snapshot.
    Undecided(Blocker),
    /// The newest version, whoever wrote it, for who reads that and can keep it.
    Dirty,
}

/// From where a transaction looks.
#[derive(Clone, Copy)]
pub(crate) struct View {
    /// The state of the looking transaction; null if it has written nothing.
    pub(crate) me: *const TxState,
    /// Own versions of this statement and later ones are not seen.
    pub(crate) command: u32,
    /// Commits up to this time are seen.
    pub(crate) snapshot: Timestamp,
    /// Whether what is not committed is seen too: READ UNCOMMITTED.
    pub(crate) is_dirty: bool,
}

/// Finds the version that `view` sees.
pub(crate) fn visible<'g>(
    head: &RowHead,
    view: View,
    clock: &Clock,
    guard: &'g Guard,
) -> Sight<'g> {
    let top = head.latest();
    for version in versions(top, guard) {
        let counts = match owner(version, view.me, clock, guard) {
            Owner::Committed(ts) => ts <= view.snapshot,
            Owner::Own => version.command < view.command,
            Owner::Nobody => false,
            Owner::Other(state) => match state.status() {
                TxStatus::Validating(ts) if ts <= view.snapshot => {
                    return Sight::Undecided(Blocker::new(state, head, top));
                }
                // It can only commit above this snapshot: `owner` has just looked.
                TxStatus::Active
                | TxStatus::Committing
                | TxStatus::ValidatingSoon
                | TxStatus::Validating(_)
                | TxStatus::Aborted => false,
                // It ended between the two looks; its time decides.
                TxStatus::Committed(ts) => ts <= view.snapshot,
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
    Sight::Nothing
}

/// [`visible`], with the usual case first: the newest version is committed and within the snapshot.
#[inline]
pub(crate) fn visible_fast<'g>(
    head: &RowHead,
    view: View,
    clock: &Clock,
    guard: &'g Guard,
) -> Sight<'g> {
    let top = head.latest();
    // SAFETY: a linked version is freed only through `reclaim`, so it is alive under the guard.
    if let Some(version) = unsafe { top.as_ref::<'g>() }
        && version.kind == VersionKind::Data
        && let Begin::Committed(ts) = version.begin()
        && ts <= view.snapshot
    {
        return Sight::Row(version);
    }
    if view.is_dirty {
        return Sight::Dirty;
    }
    visible(head, view, clock, guard)
}
