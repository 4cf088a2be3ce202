//! Keeping indexes true to the rows: which keys a change adds, which ones are free to take, and which
//! ones no version has any more.

use crate::chain::{Owner, owner, versions};
use crate::head::RowHead;
use crate::index::Index;
use crate::reclaim::Guard;
use crate::row::RowImage;
use crate::table::{IndexId, Table, Uniqueness};
use crate::time::Clock;
use crate::txstate::TxState;
use crate::version::{Version, VersionKind};
use crate::wait::Blocker;
use std::cell::RefCell;

/// Why a key cannot be taken.
pub(crate) enum KeyTaken {
    /// A live row has it.
    Duplicate { index: IndexId, key: Box<[u8]> },
    /// A transaction that has not ended is giving or taking it.
    Busy { blocker: Blocker, change: KeyChange },
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

/// Adds the entries that `image` needs and `before` did not have. `version` is in the chain already.
/// On failure, removes what it has added, and the caller takes the version out first.
pub(crate) fn add_keys(
    table: &Table,
    head: &RowHead,
    image: RowImage<'_>,
    before: Option<RowImage<'_>>,
    me: *const TxState,
    guard: &Guard,
) -> Result<(), KeyTaken> {
    for index in table.indexes(guard) {
        with_buffer(|key| {
            index.extractor.key(image, key);
            if before.is_some_and(|before| has_key(index, before, key)) {
                return Ok(());
            }
            let clock = &table.shared.clock;
            let check = |other: &RowHead| check_free(index, key, other, me, clock, guard);
            index.add(key, head, guard, check, || {})
        })?;
    }
    Ok(())
}

/// Tells whether an update changes the key of any index.
pub(crate) fn any_key_differs(
    table: &Table,
    image: RowImage<'_>,
    before: RowImage<'_>,
    guard: &Guard,
) -> bool {
    table.indexes(guard).iter().any(|index| {
        with_buffer(|key| {
            index.extractor.key(image, key);
            !has_key(index, before, key)
        })
    })
}

/// Checks, under the index's latch, that `other` does not stand in the way of a new row with `key`.
pub(crate) fn check_free(
    index: &Index,
    key: &[u8],
    other: &RowHead,
    me: *const TxState,
    clock: &Clock,
    guard: &Guard,
) -> Result<(), KeyTaken> {
    if index.uniqueness == Uniqueness::NotUnique {
        return Ok(());
    }
    let mut busy: Option<(&TxState, KeyChange)> = None;
    let top = other.latest();
    for version in versions(top, guard) {
        let whose = owner(version, me, clock, guard);
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
            Owner::Own | Owner::Committed(_) => {
                return match (is_same, busy) {
                    (false, _) => Ok(()),
                    (true, None) => {
                        Err(KeyTaken::Duplicate { index: index.id, key: Box::from(key) })
                    }
                    (true, Some((state, change))) => {
                        let blocker = Blocker::new(state, other, top);
                        Err(KeyTaken::Busy { blocker, change })
                    }
                };
            }
        }
    }
    Ok(())
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
