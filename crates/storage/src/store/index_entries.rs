//! Index maintenance: which keys a change adds, whether they are free in unique indexes, and which
//! keys no version has any more.

use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::index::{Index, has_key, key_differs, with_buffer};
use crate::primitives::{Clock, Guard, Label, Timestamp, labelled};
use crate::spec::{IndexId, Keys, RowImage, Uniqueness};
use crate::store::{IndexSet, Table, Trust};
use crate::version::{Blocker, Owner, RowHead, TxState, Version, VersionKind, owner, versions};

/// Why a key cannot be taken.
pub(crate) enum KeyTaken {
    /// A live row has the key.
    Duplicate { index: IndexId, key: Box<[u8]> },
    /// A transaction that has not ended is adding or removing the key.
    Busy { blocker: Blocker, change: KeyChange },
    /// The asker's snapshot sees a row with the key, which another transaction has changed.
    Stale,
}

/// The transaction that wants to add a key.
#[derive(Clone, Copy)]
pub(crate) struct Asker {
    /// The state of the transaction, or null.
    pub(crate) me: *const TxState,
    /// Its snapshot, if it must not insert over changes after it.
    pub(crate) snapshot: Option<Timestamp>,
}

impl Asker {
    /// An autocommit statement, which has neither state nor snapshot.
    pub(crate) const STATEMENT: Self = Self { me: std::ptr::null(), snapshot: None };
}

/// What the blocking transaction does with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyChange {
    /// It adds a row with the key.
    Taking,
    /// It changes or deletes the row that has the key.
    Giving,
}

/// In which indexes an update changes the row's key.
pub(crate) enum Moves<'s> {
    /// In none of them.
    Nowhere,
    /// In this one only.
    In(&'s Index),
    /// In more than one index.
    InSeveral,
}

impl Moves<'_> {
    /// Returns whether a range index that is not unique may be among them.
    pub(crate) fn in_plain_range(&self) -> bool {
        match self {
            Self::Nowhere => false,
            Self::In(index) => index.is_plain_range(),
            Self::InSeveral => true,
        }
    }
}

/// Finds the indexes in which an update changes the key, as far as known before it is linked.
pub(crate) fn moves<'s>(
    keys: Keys,
    set: &'s IndexSet,
    image: RowImage<'_>,
    before: RowImage<'_>,
) -> Moves<'s> {
    let mut moves = Moves::Nowhere;
    for index in &set.list {
        if !may_move(keys, set, index) {
            debug_assert!(!key_differs(index, image, before), "the plan said so");
        } else if key_differs(index, image, before) {
            moves = match moves {
                Moves::Nowhere => Moves::In(index),
                Moves::In(_) | Moves::InSeveral => return Moves::InSeveral,
            };
        }
    }
    moves
}

/// Returns whether an update may change the key in `index`: by the plan, if that is trusted.
fn may_move(keys: Keys, set: &IndexSet, index: &Index) -> bool {
    match (keys, set.trust) {
        (Keys::Same, Trust::Plan) => false,
        (Keys::In(mask), Trust::Plan) => mask.contains(index.id),
        (Keys::MayDiffer, _) | (_, Trust::Nobody) => true,
    }
}

/// Links a version whose key changes in one range index that is not unique; returns whether `top`
/// was still the newest version.
///
/// The version is linked under the latch of its entry's leaf, so no reader misses the row. The
/// entry is there when the version can first be seen. And a thread that removes the entry for an
/// older version with the same key checks the chain under that latch: either before, and then the
/// entry is added again, or after, and then it finds the version.
pub(crate) fn link_moved(
    index: &Index,
    head: &RowHead,
    (top, version): (*mut Version, &Version),
    guard: &Guard,
) -> bool {
    head.note_keys_changed();
    with_buffer(|key| {
        index.extractor.key(version.image(), key);
        let mut linked = false;
        let link = || {
            linked = head.replace_latest(top, std::ptr::from_ref(version).cast_mut());
        };
        let part = index.part_of(version);
        let Ok(()) = index.add::<Infallible>((key, head), part, guard, |_| Ok(()), link);
        if !linked {
            let is_dead = || !chain_has_key((index, part), key, head, guard);
            index.remove((key, head), part, guard, is_dead);
        }
        linked
    })
}

/// The version that an update replaces, and in which indexes their keys may differ.
pub(crate) type Before<'a> = (RowImage<'a>, Keys);

/// Adds the entries that `image` needs and `before` did not have; `keys` says in which indexes they
/// may differ. The version is in the chain already; `parts` are the part of its entries, and the one
/// of those of the version before. On failure the entries that were added stay: the
/// caller unlinks the version, which removes them.
pub(crate) fn add_keys(
    table: &Table,
    head: &RowHead,
    (image, part): (RowImage<'_>, u8),
    before: Option<(Before<'_>, u8)>,
    asker: Asker,
    guard: &Guard,
) -> Result<(), KeyTaken> {
    let set = table.index_set(guard);
    for (place, index) in set.list.iter().enumerate() {
        // The first index is where the row is; the others are the price of finding it by more keys.
        let _label = (place > 0).then(|| labelled(Label::IndexMaintenance));
        let is_plain = index.is_plain_range();
        let has_entry = before.is_some_and(|((before, keys), before_part)| {
            (!is_plain || part == before_part)
                && (!may_move(keys, set, index) || !key_differs(index, image, before))
        });
        if has_entry {
            continue;
        }
        let part = if is_plain { part } else { 0 };
        with_buffer(|key| {
            index.extractor.key(image, key);
            let clock = &table.shared.clock;
            let check = |other: &RowHead| check_free((index, key), other, asker, clock, guard);
            index.add((key, head), part, guard, check, || {})?;
            match before {
                Some(((before, _), _)) => index.count_changed(before, !key.is_empty()),
                None if !key.is_empty() => index.counts.count_added(),
                None => {}
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Checks, without adding anything, whether the keys are free that [`add_keys`] would add. Used
/// when a key was taken and the write is tried again. It links nothing that other transactions
/// could meet, so there is nothing to undo and announce: two transactions that each want a key of
/// the other would otherwise wake each other for ever, and no cycle of waits would last long enough
/// to be found.
pub(crate) fn check_keys(
    table: &Table,
    set: &IndexSet,
    image: RowImage<'_>,
    before: Option<Before<'_>>,
    asker: Asker,
    guard: &Guard,
) -> Result<(), KeyTaken> {
    let unique = set.list.iter().filter(|index| index.uniqueness != Uniqueness::NotUnique);
    for index in unique {
        let moves =
            |(before, keys)| may_move(keys, set, index) && key_differs(index, image, before);
        if !before.is_none_or(moves) {
            continue;
        }
        let mut found = Ok(());
        with_buffer(|key| {
            index.extractor.key(image, key);
            if key.is_empty() {
                return;
            }
            index.find(key, guard, |other| {
                found = check_free((index, key), other, asker, &table.shared.clock, guard);
                if found.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        });
        found?;
    }
    Ok(())
}

/// Adds the entries that a committed version lacks, without checks: for indexes that were added
/// while it was being linked.
pub(crate) fn add_new_keys(table: &Table, head: &RowHead, version: &Version, guard: &Guard) {
    if version.kind != VersionKind::Data {
        return;
    }
    for index in table.indexes(guard) {
        with_buffer(|key| {
            index.extractor.key(version.image(), key);
            let part = index.part_of(version);
            let Ok(()) = index.add::<Infallible>((key, head), part, guard, |_| Ok(()), || {});
        });
    }
}

/// Checks, under the index's latch, that `other` does not prevent a new row with `key`.
pub(crate) fn check_free(
    (index, key): (&Index, &[u8]),
    other: &RowHead,
    asker: Asker,
    clock: &Clock,
    guard: &Guard,
) -> Result<(), KeyTaken> {
    if index.uniqueness == Uniqueness::NotUnique || index.is_suspended() {
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

/// Returns the version in `chain` that was the row's content at `snapshot`.
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

/// Removes the entries for the keys of `gone`, a version cut off from the chain, unless a version
/// in the chain has the same key in the same part.
pub(crate) fn remove_dead_keys(table: &Table, head: &RowHead, gone: &Version, guard: &Guard) {
    if gone.kind != VersionKind::Data {
        return;
    }
    let newest = versions(head.latest(), guard).next();
    for index in table.indexes(guard) {
        if newest.is_some_and(|newest| shares_key(index, newest, gone)) {
            continue;
        }
        with_buffer(|key| {
            index.extractor.key(gone.image(), key);
            let part = index.part_of(gone);
            let is_dead = || {
                // A version never changes: what was found of the newest one still holds.
                let is_new = |version: &&Version| {
                    index.shares_entries()
                        || !newest.is_some_and(|newest| std::ptr::eq(newest, *version))
                };
                !any_has_key((index, part), key, versions(head.latest(), guard).filter(is_new))
            };
            index.remove((key, head), part, guard, is_dead);
        });
    }
}

/// Returns whether a version has the key of `gone`. If the newest version has it, which is asked
/// without the index's latch, the entry stays, and is removed with that version.
fn shares_key(index: &Index, version: &Version, gone: &Version) -> bool {
    version.kind == VersionKind::Data
        && index.part_of(version) == index.part_of(gone)
        && !key_differs(index, version.image(), gone.image())
}

/// Returns whether a version in the chain needs the entry of `key` in a part of the index.
fn chain_has_key(at: (&Index, u8), key: &[u8], head: &RowHead, guard: &Guard) -> bool {
    any_has_key(at, key, versions(head.latest(), guard))
}

/// Returns whether one of some versions needs the entry of `key` in a part of the index.
fn any_has_key<'g>(
    (index, part): (&Index, u8),
    key: &[u8],
    mut versions: impl Iterator<Item = &'g Version>,
) -> bool {
    versions.any(|version| {
        version.kind == VersionKind::Data
            && index.part_of(version) == part
            && with_buffer(|buffer| {
                index.extractor.key(version.image(), buffer);
                index.is_same_entry(buffer, key)
            })
    })
}
