//! Keeping indexes true to the rows: which keys a change adds, which ones are free to take, and which
//! ones no version has any more.

use crate::chain::{Owner, owner, versions};
use crate::head::RowHead;
use crate::index::{Index, IndexSet, Trust};
use crate::reclaim::Guard;
use crate::row::{Keys, RowImage};
use crate::table::{IndexId, Table, Uniqueness};
use crate::time::{Clock, Timestamp};
use crate::txstate::TxState;
use crate::version::{Version, VersionKind};
use crate::wait::Blocker;
use std::cell::RefCell;
use std::convert::Infallible;

/// Why a key cannot be taken.
pub(crate) enum KeyTaken {
    /// A live row has it.
    Duplicate { index: IndexId, key: Box<[u8]> },
    /// A transaction that has not ended is giving or taking it.
    Busy { blocker: Blocker, change: KeyChange },
    /// The asker's snapshot still sees a row with it, which others have changed since.
    Stale,
}

/// Who wants a key.
#[derive(Clone, Copy)]
pub(crate) struct Asker {
    /// The state of the asking transaction, or null.
    pub(crate) me: *const TxState,
    /// The snapshot it keeps to, if it does.
    pub(crate) snapshot: Option<Timestamp>,
}

impl Asker {
    /// An autocommit statement.
    pub(crate) const STATEMENT: Self = Self { me: std::ptr::null(), snapshot: None };
}

/// What the busy transaction does with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyChange {
    /// It adds a row with the key.
    Taking,
    /// It changes or deletes the row that has the key.
    Giving,
}

thread_local! {
    static SCRATCH: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `body` with an empty buffer that is kept for the next call, so that no key allocates.
pub(crate) fn with_buffer<R>(body: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut buffer = SCRATCH.with(|pool| pool.borrow_mut().pop()).unwrap_or_default();
    buffer.clear();
    let result = body(&mut buffer);
    SCRATCH.with(|pool| pool.borrow_mut().push(buffer));
    result
}

/// Tells whether `image` has `key` in `index`.
pub(crate) fn has_key(index: &Index, image: RowImage<'_>, key: &[u8]) -> bool {
    with_buffer(|buffer| {
        index.extractor.key(image, buffer);
        buffer.as_slice() == key
    })
}

/// Tells whether an update may leave the indexes alone, as far as they are known before it is linked.
pub(crate) fn keys_differ(
    keys: Keys,
    set: &IndexSet,
    image: RowImage<'_>,
    before: RowImage<'_>,
) -> bool {
    match (keys, set.trust) {
        (Keys::Same, Trust::Plan) => {
            debug_assert!(!any_key_differs(set, image, before), "the plan said so");
            false
        }
        (Keys::MayDiffer, _) | (_, Trust::Nobody) => any_key_differs(set, image, before),
    }
}

/// Adds the entries that `image` needs and `before` did not have. `version` is in the chain already.
/// On failure, removes what it has added, and the caller takes the version out first.
pub(crate) fn add_keys(
    table: &Table,
    head: &RowHead,
    image: RowImage<'_>,
    before: Option<RowImage<'_>>,
    asker: Asker,
    guard: &Guard,
) -> Result<(), KeyTaken> {
    for index in table.indexes(guard) {
        with_buffer(|key| {
            index.extractor.key(image, key);
            if before.is_some_and(|before| has_key(index, before, key)) {
                return Ok(());
            }
            let clock = &table.shared.clock;
            let check = |other: &RowHead| check_free((index, key), other, asker, clock, guard);
            index.add(key, head, guard, check, || {})
        })?;
    }
    Ok(())
}

/// Adds whatever entries a committed version lacks, checking nothing: for indexes that were added while
/// it was being linked.
pub(crate) fn add_new_keys(table: &Table, head: &RowHead, version: &Version, guard: &Guard) {
    if version.kind != VersionKind::Data {
        return;
    }
    for index in table.indexes(guard) {
        with_buffer(|key| {
            index.extractor.key(version.image(), key);
            let Ok(()) = index.add::<Infallible>(key, head, guard, |_| Ok(()), || {});
        });
    }
}

fn any_key_differs(set: &IndexSet, image: RowImage<'_>, before: RowImage<'_>) -> bool {
    set.list.iter().any(|index| {
        with_buffer(|key| {
            index.extractor.key(image, key);
            !has_key(index, before, key)
        })
    })
}

/// Checks, under the index's latch, that `other` does not stand in the way of a new row with `key`.
pub(crate) fn check_free(
    (index, key): (&Index, &[u8]),
    other: &RowHead,
    asker: Asker,
    clock: &Clock,
    guard: &Guard,
) -> Result<(), KeyTaken> {
    if index.uniqueness == Uniqueness::NotUnique {
        return Ok(());
    }
    let mut busy: Option<(&TxState, KeyChange)> = None;
    let top = other.latest();
    let mut chain = versions(top, guard);
    while let Some(version) = chain.next() {
        let whose = owner(version, asker.me, clock, guard);
        if version.kind == VersionKind::Lock {
            if let Owner::Other(state) = whose {
                // Its owner may be about to delete the row or to change its key.
                busy = busy.or(Some((state, KeyChange::Giving)));
            }
            continue;
        }
        let is_same = version.kind == VersionKind::Data && has_key(index, version.image(), key);
        match whose {
            Owner::Nobody => {}
            Owner::Other(state) if is_same => {
                let blocker = Blocker::new(state, other, top);
                return Err(KeyTaken::Busy { blocker, change: KeyChange::Taking });
            }
            Owner::Other(state) => busy = Some((state, KeyChange::Giving)),
            Owner::Own if !is_same => return Ok(()),
            Owner::Committed(ts) if !is_same => {
                let snapshot = asker.snapshot.filter(|snapshot| ts > *snapshot);
                let seen = snapshot.and_then(|s| committed_by(chain, s, clock, guard));
                let is_seen = seen.is_some_and(|seen| has_key(index, seen.image(), key));
                return if is_seen { Err(KeyTaken::Stale) } else { Ok(()) };
            }
            Owner::Own | Owner::Committed(_) => {
                let Some((state, change)) = busy else {
                    return Err(KeyTaken::Duplicate { index: index.id, key: Box::from(key) });
                };
                let blocker = Blocker::new(state, other, top);
                return Err(KeyTaken::Busy { blocker, change });
            }
        }
    }
    Ok(())
}

/// Returns the row among `chain` as it was at `snapshot`.
fn committed_by<'g>(
    chain: impl Iterator<Item = &'g Version>,
    snapshot: Timestamp,
    clock: &Clock,
    guard: &'g Guard,
) -> Option<&'g Version> {
    let mut contents = chain.filter(|version| version.kind != VersionKind::Lock);
    let seen = contents.find(|version| {
        matches!(owner(version, std::ptr::null(), clock, guard), Owner::Committed(ts) if ts <= snapshot)
    });
    seen.filter(|version| version.kind == VersionKind::Data)
}

/// Removes the entries for the keys of `gone`, a version cut off from the chain, that no version in
/// the chain has.
pub(crate) fn remove_dead_keys(table: &Table, head: &RowHead, gone: &Version, guard: &Guard) {
    if gone.kind != VersionKind::Data {
        return;
    }
    for index in table.indexes(guard) {
        with_buffer(|key| {
            index.extractor.key(gone.image(), key);
            index.remove(key, head, guard, || !chain_has_key(index, key, head, guard));
        });
    }
}

/// Tells whether a version in the chain needs the entry that `key` has.
fn chain_has_key(index: &Index, key: &[u8], head: &RowHead, guard: &Guard) -> bool {
    versions(head.latest(), guard).any(|version| {
        version.kind == VersionKind::Data
            && with_buffer(|buffer| {
                index.extractor.key(version.image(), buffer);
                index.is_same_entry(buffer, key)
            })
    })
}
