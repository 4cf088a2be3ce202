//! Reading a chain of versions: which transaction wrote each, whether it has committed, and the
//! newest state of a row for a writer.

use crate::durability::Lost;
use crate::primitives::{Clock, Guard, Mutant, Ordering, Timestamp, is_mutant};
use crate::version::{Begin, RowHead, TxState, TxStatus, Version, VersionKind};

/// Which transaction a version belongs to.
pub(crate) enum Owner<'g> {
    /// A transaction that committed at this time.
    Committed(Timestamp),
    /// The asking transaction itself.
    Own,
    /// Another transaction, which has not ended.
    Other(&'g TxState),
    /// None: the version was undone, or is an insert that is not decided.
    Nobody,
}

/// Finds which transaction a version belongs to, and completes a half-done commit on the way.
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
                // Taken after COMMITTING was seen, so it is above this reader's snapshot.
                version.replace_begin(begin, Begin::Committed(clock.commit()));
                continue;
            }
        };
        // SAFETY: a state is retired through `epoch` after all its versions are stamped or
        // unlinked, so one that is read from a version is alive under the guard.
        let state = unsafe { &*state };
        match state.help(clock) {
            TxStatus::Committed(ts) => {
                if !is_mutant(Mutant::HelpedUnmarked) {
                    version.set_mark(state.mark());
                }
                version.replace_begin(begin, Begin::Committed(ts));
            }
            TxStatus::Aborted => return Owner::Nobody,
            TxStatus::Active
            | TxStatus::Validating(_)
            | TxStatus::Committing
            | TxStatus::ValidatingSoon => return Owner::Other(state),
        }
    }
}

/// Iterates over a chain, newest version first.
pub(crate) fn versions<'g>(
    first: *mut Version,
    _guard: &'g Guard,
) -> impl Iterator<Item = &'g Version> {
    let mut next = first;
    std::iter::from_fn(move || {
        // SAFETY: a linked version is freed only through `epoch`, so it is alive under the guard.
        let version = unsafe { next.as_ref::<'g>() }?;
        // Acquire: pairs with the Release that linked the older version.
        next = version.next.load(Ordering::Acquire);
        Some(version)
    })
}

/// Finds another transaction that is changing a row, not only owning it, and the newest link.
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

/// The newest state of a row, as a writer needs it.
pub(crate) struct Newest<'g> {
    /// The newest version, whose link a writer replaces.
    pub(crate) top: *mut Version,
    /// Which transaction owns the row.
    pub(crate) holder: Holder<'g>,
    /// The newest version that counts for the asker: its own, or the newest committed one.
    pub(crate) content: Option<&'g Version>,
    /// The commit time of `content`, if it is committed.
    pub(crate) content_ts: Option<Timestamp>,
}

/// Which transaction owns a row, so that only it may write.
pub(crate) enum Holder<'g> {
    Nobody,
    Own,
    Other(&'g TxState),
}

/// Finds the newest committed version of a row that readers do not pass over.
#[cold]
pub(crate) fn newest_durable<'g>(
    head: &RowHead,
    lost: Lost,
    clock: &Clock,
    guard: &'g Guard,
) -> Option<&'g Version> {
    versions(head.latest(), guard).find(|version| {
        let is_content = version.kind != VersionKind::Lock;
        let owner = owner(version, std::ptr::null(), clock, guard);
        is_content && matches!(owner, Owner::Committed(_)) && !lost.hides(version.mark())
    })
}

/// Reads the newest state of a row for a writer.
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
