//! Reading a chain of versions: which transaction wrote each, whether it has committed, and the newest
//! state of a row for a writer.

use crate::primitives::clock::{Clock, Timestamp};
use crate::primitives::epoch::Guard;
use crate::primitives::sync::Ordering;
use crate::version::head::RowHead;
use crate::version::layout::{Begin, Version, VersionKind};
use crate::version::state::{TxState, TxStatus};

/// Whose a version is.
pub(crate) enum Owner<'g> {
    /// Committed at this time.
    Committed(Timestamp),
    /// Written by the asking transaction.
    Own,
    /// Written by another transaction that has not ended.
    Other(&'g TxState),
    /// Does not count: undone, or an insert that is not decided.
    Nobody,
}

/// Finds out whose a version is, and finishes a half-done commit on the way.
pub(crate) fn owner<'g>(
    version: &'g Version,
    me: *const TxState,
    clock: &Clock,
    _guard: &'g Guard,
) -> Owner<'g> {
    loop {
        let begin = version.begin();
        let state = match begin {
            Begin::Committed(ts) => return Owner::Committed(ts),
            Begin::Pending => return Owner::Nobody,
            Begin::Transaction(state) if state == me => return Owner::Own,
            Begin::Transaction(state) => state,
            Begin::Committing => {
                // The time is taken after COMMITTING was seen, so it is above this reader's snapshot.
                version.replace_begin(begin, Begin::Committed(clock.commit()));
                continue;
            }
        };
        // SAFETY: a state is given back through `reclaim` after all its versions are stamped or
        // unlinked, so one that is read from a version is alive under the guard.
        let state = unsafe { &*state };
        match state.help(clock) {
            TxStatus::Committed(ts) => version.replace_begin(begin, Begin::Committed(ts)),
            TxStatus::Aborted => return Owner::Nobody,
            TxStatus::Active
            | TxStatus::Validating(_)
            | TxStatus::Committing
            | TxStatus::ValidatingSoon => return Owner::Other(state),
        }
    }
}

/// Walks a chain from its newest version.
pub(crate) fn versions<'g>(
    first: *mut Version,
    _guard: &'g Guard,
) -> impl Iterator<Item = &'g Version> {
    let mut next = first;
    std::iter::from_fn(move || {
        // SAFETY: a linked version is freed only through `reclaim`, so it is alive under the guard.
        let version = unsafe { next.as_ref::<'g>() }?;
        // Acquire: pairs with the Release that linked the older version.
        next = version.next.load(Ordering::Acquire);
        Some(version)
    })
}

/// Finds the other transaction that is changing a row, not only owning it, and the newest link then.
pub(crate) fn changer<'g>(
    head: &RowHead,
    me: *const TxState,
    clock: &Clock,
    guard: &'g Guard,
) -> Option<(&'g TxState, *mut Version)> {
    let top = head.latest();
    for version in versions(top, guard) {
        match (owner(version, me, clock, guard), version.kind) {
            (Owner::Nobody, _) | (_, VersionKind::Lock) => {}
            (Owner::Other(state), _) => return Some((state, top)),
            (Owner::Own | Owner::Committed(_), _) => return None,
        }
    }
    None
}

/// The newest state of a row, for a writer.
pub(crate) struct Newest<'g> {
    /// The newest link, the one to replace.
    pub(crate) top: *mut Version,
    /// Who owns the row now.
    pub(crate) holder: Holder<'g>,
    /// The newest version that counts for the asker: its own or the newest committed one.
    pub(crate) content: Option<&'g Version>,
    /// The time of `content` if it is committed.
    pub(crate) content_ts: Option<Timestamp>,
}

/// Who may write a row.
pub(crate) enum Holder<'g> {
    Nobody,
    Own,
    Other(&'g TxState),
}

/// Looks at a row as a writer does.
pub(crate) fn newest<'g>(
    head: &RowHead,
    me: *const TxState,
    clock: &Clock,
    guard: &'g Guard,
) -> Newest<'g> {
    let top = head.latest();
    let mut found = Newest { top, holder: Holder::Nobody, content: None, content_ts: None };
    for version in versions(top, guard) {
        let ts = match owner(version, me, clock, guard) {
            Owner::Committed(ts) => Some(ts),
            Owner::Own => {
                found.holder = Holder::Own;
                None
            }
            Owner::Other(state) => {
                found.holder = Holder::Other(state);
                continue;
            }
            Owner::Nobody => continue,
        };
        match version.kind {
            VersionKind::Lock => {}
            VersionKind::Data | VersionKind::Tombstone | VersionKind::Moved => {
                found.content = Some(version);
                found.content_ts = ts;
                break;
            }
        }
    }
    found
}
