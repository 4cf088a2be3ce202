//! The writes of a transaction: insert, claim, update, delete.
//!
//! A write links a version above the newest one and adds its keys to the indexes. It then looks
//! again for row locks that it may have missed (`row_lock/`), and undoes itself if there is one. If
//! another transaction owns or has changed the row, the kind of table and the scope decide what
//! happens.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::primitives::{Guard, Label, Mutant, Ordering, is_mutant, labelled, pin};
use crate::row_group::Place;
use crate::row_lock::{Change, Hold};
use crate::spec::{Error, Isolation, Keys, Result, RowImage, Scope, TableKind, WhenOwned};
use crate::store::{
    Asker, IndexSet, KeyChange, KeyTaken, Moves, Table, add_keys, check_keys, moves,
};
use crate::transaction::undo::{Write, WriteKind, unlink_top};
use crate::transaction::{Basis, Claim, RowRef, Transaction};
use crate::version::{
    Begin, Blocker, Holder, Newest, Pace, RowHead, TxState, Version, VersionKind, announce_undo,
    newest, versions,
};

/// Finds a transaction that holds a row lock on what a writer has just changed, and queues the
/// writer for it. `set` was read under the pin, before the version was linked.
#[inline]
fn held_off(
    table: &Table,
    set: &IndexSet,
    state: &Arc<TxState>,
    change: Change<'_>,
) -> Option<Blocker> {
    if !set.has_holds {
        return None;
    }
    let close = || table.change_indexes(|set| set.with_holds(false));
    table.book.in_the_way(Arc::as_ptr(state), (&set.list, &close), change)
}

/// The state of a row that a writer wants to change.
enum Ready<'t> {
    /// The row has not changed since it was read; `top` is the link to replace.
    Current {
        top: *mut Version,
        version: &'t Version,
        is_own: bool,
    },
    /// The row has a newer version than the one read.
    Changed {
        top: *mut Version,
        version: &'t Version,
        is_own: bool,
    },
    Gone,
    /// The row is in a row group; `version` is the one that moved there.
    Moved {
        place: Place,
        version: &'t Version,
        is_same: bool,
    },
    Skipped,
    /// Another transaction owns the row: drop the pin, wait for it, and look again.
    Owned(Blocker),
}

/// The result of trying to own a row.
enum Linked {
    Yes,
    /// The row has changed: look again.
    Not,
    /// Another transaction holds the row, and it is to be skipped.
    Skipped,
}

/// What a writer may link above, if the row has not changed since it was read.
enum Writable<'t> {
    /// The link to replace, the version, and whether the transaction owned the row before.
    Yes(*mut Version, &'t Version, bool),
    Owned(Blocker),
}

impl Transaction {
    /// Inserts a row, waiting for transactions that add or remove the same unique key.
    pub fn insert<'t>(&'t self, table: &'t Table, row: RowImage<'_>) -> Result<RowRef<'t>> {
        let _label = labelled(Label::Row);
        let state = self.writing_state()?;
        let mut has_met = false;
        self.wait_for_memory(table, state.pace)?;
        loop {
            let guard = pin();
            self.admit(table, &guard)?;
            let set = table.index_set(&guard);
            if has_met
                && let Err(taken) =
                    check_keys(table, set, row, None, self.asker(table, &state), &guard)
            {
                drop(guard);
                self.resolve_taken(table, taken)?;
                continue;
            }
            let change = Change { row: None, before: None, after: Some(row), minds: Hold::Shared };
            if let Some(other) = held_off(table, set, &state, change) {
                drop(guard);
                self.wait_for_hold(table, &state, (other, WhenOwned::Wait))?;
                continue;
            }
            let head = table.heap.allocate();
            let version =
                self.own_version(table, VersionKind::Data, &state, std::ptr::null_mut(), row);
            let version = match version {
                Ok(version) => version,
                Err(error) => {
                    table.heap.release(head);
                    return Err(error);
                }
            };
            let part = set.part();
            // SAFETY: made just now, and no other thread has it until it is linked.
            unsafe { version.as_ref() }.set_part(part);
            let linked = head.replace_latest(std::ptr::null_mut(), version.as_ptr());
            assert!(linked, "a fresh head is empty");
            match add_keys(table, head, (row, part), None, self.asker(table, &state), &guard) {
                Ok(()) => {
                    let is_blind = is_mutant(Mutant::HoldsSeenBeforeLink);
                    let found = held_off(table, set, &state, change).filter(|_| !is_blind);
                    if let Some(other) = found {
                        unlink_top(table, head, version, &guard);
                        table.shared.garbage.note_head(&table.shared, table, head);
                        drop(guard);
                        announce_undo(&state);
                        self.wait_for_hold(table, &state, (other, WhenOwned::Wait))?;
                        continue;
                    }
                    table.count_insert();
                    return Ok(self.written(table, head, version, WriteKind::Insert));
                }
                Err(taken) => {
                    unlink_top(table, head, version, &guard);
                    table.shared.garbage.note_head(&table.shared, table, head);
                    drop(guard);
                    announce_undo(&state);
                    self.resolve_taken(table, taken)?;
                    has_met = true;
                }
            }
        }
    }

    /// Takes ownership of a row that is to be changed, until the end of the transaction. Then
    /// `update` and `delete` of the returned row cannot conflict.
    pub fn claim<'t>(&'t self, row: RowRef<'t>, when_owned: WhenOwned) -> Result<Claim<'t>> {
        let state = self.writing_state()?;
        self.wait_for_removal(state.pace)?;
        loop {
            let guard = pin();
            self.admit(row.table, &guard)?;
            let (top, version, is_own, is_changed) = match self
                .ready(row, when_owned, &state, &guard)?
            {
                Ready::Current { top, version, is_own } => (top, version, is_own, false),
                Ready::Changed { top, version, is_own } => {
                    row.table.note_version(version);
                    (top, version, is_own, true)
                }
                Ready::Gone => {
                    row.table.note_barrier();
                    return Ok(Claim::Gone);
                }
                Ready::Moved { place, version, is_same } => {
                    row.table.note_barrier();
                    drop(guard);
                    let taken = self.take_compressed(row.table, place, version.image())?;
                    return Ok(if is_same { Claim::Current(taken) } else { Claim::Changed(taken) });
                }
                Ready::Skipped => return Ok(Claim::Skipped),
                Ready::Owned(other) => {
                    drop(guard);
                    self.meet_owner(row.table, other)?;
                    continue;
                }
            };
            if !is_own {
                let found = RowRef { version, ..row };
                match self.link_lock(found, top, &state, when_owned, guard)? {
                    Linked::Yes => {}
                    Linked::Not => continue,
                    Linked::Skipped => return Ok(Claim::Skipped),
                }
            }
            let row = RowRef { version, ..row };
            return Ok(if is_changed { Claim::Changed(row) } else { Claim::Current(row) });
        }
    }

    /// Links a `Lock` version, which makes the row this transaction's; not if the row changed.
    fn link_lock(
        &self,
        row: RowRef<'_>,
        top: *mut Version,
        state: &Arc<TxState>,
        when_owned: WhenOwned,
        guard: Guard,
    ) -> Result<Linked> {
        let table = row.table;
        let set = table.index_set(&guard);
        let before = Some(row.image());
        let change = Change { row: Some(row.id()), before, after: None, minds: Hold::Update };
        let give_way = |other, guard| {
            drop::<Guard>(guard);
            let is_over = self.wait_for_hold(table, state, (other, when_owned))?;
            Ok(if is_over { Linked::Not } else { Linked::Skipped })
        };
        if let Some(other) = held_off(table, set, state, change) {
            return give_way(other, guard);
        }
        let begin = (Begin::Transaction(Arc::as_ptr(state)), self.command());
        let none = RowImage { bytes: &[], blobs: &[] };
        let lock = table.new_version(VersionKind::Lock, begin, top, none)?;
        if !row.head.replace_latest(top, lock.as_ptr()) {
            table.release_version(lock, &guard);
            return Ok(Linked::Not);
        }
        if let Some(other) = held_off(table, set, state, change) {
            let unlinked = row.head.replace_latest(lock.as_ptr(), top);
            assert!(unlinked, "nobody links above an undecided version");
            table.release_version(lock, &guard);
            announce_undo(state);
            return give_way(other, guard);
        }
        self.note_write(table, row.head, lock, WriteKind::Lock);
        table.count_lock();
        Ok(Linked::Yes)
    }

    /// Replaces a row. Without a claim, it is a conflict if the row has changed since it was read.
    pub fn update<'t>(
        &'t self,
        row: RowRef<'t>,
        image: RowImage<'_>,
        keys: Keys,
    ) -> Result<RowRef<'t>> {
        let _label = labelled(Label::Row);
        let state = self.writing_state()?;
        let mut has_met = false;
        self.wait_for_memory(row.table, state.pace)?;
        loop {
            let guard = pin();
            self.admit(row.table, &guard)?;
            let (top, before, is_own) = match self.writable(row, &state, &guard)? {
                Writable::Yes(top, before, is_own) => (top, before, is_own),
                Writable::Owned(other) => {
                    drop(guard);
                    self.meet_owner(row.table, other)?;
                    continue;
                }
            };
            let set = row.table.index_set(&guard);
            let asker = self.asker(row.table, &state);
            let known = Some((before.image(), keys));
            if has_met && let Err(taken) = check_keys(row.table, set, image, known, asker, &guard) {
                drop(guard);
                self.resolve_taken(row.table, taken)?;
                continue;
            }
            let (row_id, held) = (Some(row.id()), Some(before.image()));
            let change =
                Change { row: row_id, before: held, after: Some(image), minds: Hold::Shared };
            if let Some(other) = held_off(row.table, set, &state, change) {
                drop(guard);
                self.wait_for_hold(row.table, &state, (other, WhenOwned::Wait))?;
                continue;
            }
            let moves = moves(keys, set, image, before.image());
            let differs = !matches!(moves, Moves::Nowhere);
            let part = if moves.in_plain_range() { set.part() } else { before.part() };
            if differs {
                row.head.note_keys_changed();
            }
            let version = self.own_version(row.table, VersionKind::Data, &state, top, image)?;
            // SAFETY: made just now, and no other thread has it until it is linked.
            unsafe { version.as_ref() }.set_part(part);
            set.note_change(row.head);
            if !row.head.replace_latest(top, version.as_ptr()) {
                row.table.release_version(version, &guard);
                continue;
            }
            let (table, head) = (row.table, row.head);
            // An index that was added since may have neither this version nor the one before.
            let is_same_set = std::ptr::eq(set, table.index_set(&guard));
            let known = is_same_set.then(|| ((before.image(), keys), before.part()));
            if !is_same_set {
                head.note_keys_changed();
            }
            if (differs || !is_same_set)
                && let Err(taken) = add_keys(table, head, (image, part), known, asker, &guard)
            {
                unlink_top(table, head, version, &guard);
                drop(guard);
                announce_undo(&state);
                self.resolve_taken(table, taken)?;
                has_met = true;
                continue;
            }
            if let Some(other) = held_off(table, set, &state, change) {
                unlink_top(table, head, version, &guard);
                drop(guard);
                announce_undo(&state);
                self.wait_for_hold(table, &state, (other, WhenOwned::Wait))?;
                continue;
            }
            table.count_change(set, (VersionKind::Data, before.image()), is_own);
            return Ok(self.written(table, head, version, WriteKind::Update));
        }
    }

    /// Deletes a row. Conflicts are as in `update`.
    pub fn delete(&self, row: RowRef<'_>) -> Result<()> {
        let _label = labelled(Label::Row);
        let state = self.writing_state()?;
        self.wait_for_removal(state.pace)?;
        loop {
            let guard = pin();
            self.admit(row.table, &guard)?;
            let (top, found, is_own) = match self.writable(row, &state, &guard)? {
                Writable::Yes(top, found, is_own) => (top, found, is_own),
                Writable::Owned(other) => {
                    drop(guard);
                    self.meet_owner(row.table, other)?;
                    continue;
                }
            };
            let set = row.table.index_set(&guard);
            let (row_id, before) = (Some(row.id()), Some(found.image()));
            let change = Change { row: row_id, before, after: None, minds: Hold::Shared };
            if let Some(other) = held_off(row.table, set, &state, change) {
                drop(guard);
                self.wait_for_hold(row.table, &state, (other, WhenOwned::Wait))?;
                continue;
            }
            let none = RowImage { bytes: &[], blobs: &[] };
            let version = self.own_version(row.table, VersionKind::Tombstone, &state, top, none)?;
            set.note_change(row.head);
            if row.head.replace_latest(top, version.as_ptr()) {
                if let Some(other) = held_off(row.table, set, &state, change) {
                    unlink_top(row.table, row.head, version, &guard);
                    drop(guard);
                    announce_undo(&state);
                    self.wait_for_hold(row.table, &state, (other, WhenOwned::Wait))?;
                    continue;
                }
                self.note_write(row.table, row.head, version, WriteKind::Delete);
                row.table.count_change(set, (VersionKind::Tombstone, found.image()), is_own);
                return Ok(());
            }
            row.table.release_version(version, &guard);
        }
    }

    /// Finds the version to link above, if the row must not have changed since it was read.
    fn writable<'t>(
        &'t self,
        row: RowRef<'t>,
        state: &Arc<TxState>,
        guard: &Guard,
    ) -> Result<Writable<'t>> {
        match self.ready(row, WhenOwned::Wait, state, guard)? {
            Ready::Current { top, version, is_own } => Ok(Writable::Yes(top, version, is_own)),
            Ready::Owned(other) => Ok(Writable::Owned(other)),
            Ready::Changed { .. } | Ready::Gone | Ready::Moved { .. } | Ready::Skipped => {
                Err(self.lose(row.table))
            }
        }
    }

    /// Finds out whether the row is free or own, and compares it with what was read. What it
    /// returns may be linked above as long as `guard` lasts.
    fn ready<'t>(
        &'t self,
        row: RowRef<'t>,
        when_owned: WhenOwned,
        state: &Arc<TxState>,
        guard: &Guard,
    ) -> Result<Ready<'t>> {
        let found = newest(row.head, Arc::as_ptr(state), &row.table.shared.clock, guard);
        let is_own = match found.holder {
            Holder::Nobody => false,
            Holder::Own => true,
            Holder::Other(other) => {
                let is_brief = other.pace == Pace::Brief;
                return match when_owned {
                    WhenOwned::Skip | WhenOwned::Fail if is_brief => {
                        Ok(Ready::Owned(Blocker::new(other, row.head, found.top)))
                    }
                    WhenOwned::Skip => Ok(Ready::Skipped),
                    WhenOwned::Fail => Err(Error::LockTimeout),
                    WhenOwned::Wait => Ok(Ready::Owned(Blocker::new(other, row.head, found.top))),
                };
            }
        };
        self.compare(row, &found, is_own)
    }

    fn compare<'t>(
        &'t self,
        row: RowRef<'t>,
        found: &Newest<'_>,
        is_own: bool,
    ) -> Result<Ready<'t>> {
        let top = found.top;
        if let Some(moved) = found.content.filter(|content| content.kind == VersionKind::Moved) {
            return self.compare_moved(row, moved);
        }
        let is_same = found.content.is_some_and(|content| std::ptr::eq(content, row.version));
        // A conflict if the row was read by the transaction's snapshot; own changes are none.
        if !is_same && row.basis == Basis::Transaction && found.content_ts.is_some() {
            return Err(self.lose(row.table));
        }
        let Some(content) = found.content.filter(|content| content.kind == VersionKind::Data)
        else {
            return Ok(Ready::Gone);
        };
        // SAFETY: the caller links above it only if it still is the newest, and then owns the row,
        // so no other transaction can supersede it before this one ends.
        let version = unsafe { &*std::ptr::from_ref(content) };
        Ok(match is_same {
            true => Ready::Current { top, version, is_own },
            false => Ready::Changed { top, version, is_own },
        })
    }

    /// Like `compare`, for a row that has moved to a row group since it was read.
    fn compare_moved<'t>(&'t self, row: RowRef<'t>, moved: &Version) -> Result<Ready<'t>> {
        if is_mutant(Mutant::MovedIsGone) {
            return Ok(Ready::Gone);
        }
        let guard = pin();
        let below = versions(moved.next.load(Ordering::Acquire), &guard);
        let version = below.into_iter().find(|version| version.kind == VersionKind::Data);
        // It was read by a snapshot from before the move, or the move would not be met here.
        let version = version.expect("what has moved is kept for who has read it");
        let is_same = std::ptr::eq(version, row.version);
        if !is_same && row.basis == Basis::Transaction {
            return Err(self.lose(row.table));
        }
        // SAFETY: it was superseded after this transaction's snapshot, so it stays as long as that.
        let version = unsafe { &*std::ptr::from_ref(version) };
        Ok(Ready::Moved { place: Place::of_key(moved.image().bytes), version, is_same })
    }

    /// Links a version above a row that says where it has moved. Returns `false` if the row has
    /// changed since it was read, or another transaction owns it.
    pub(crate) fn forward(&self, row: RowRef<'_>, to: RowImage<'_>) -> Result<bool> {
        let state = self.writing_state()?;
        let guard = pin();
        self.admit(row.table, &guard)?;
        let found = newest(row.head, Arc::as_ptr(&state), &row.table.shared.clock, &guard);
        let is_same = found.content.is_some_and(|content| std::ptr::eq(content, row.version));
        if !is_same || !matches!(found.holder, Holder::Nobody) {
            return Ok(false);
        }
        let version = self.own_version(row.table, VersionKind::Moved, &state, found.top, to)?;
        if !row.head.replace_latest(found.top, version.as_ptr()) {
            row.table.release_version(version, &guard);
            return Ok(false);
        }
        self.note_write(row.table, row.head, version, WriteKind::Delete);
        Ok(true)
    }

    /// Waits for a transaction that owns what this one needs, or fails: by kind and scope.
    pub(crate) fn meet_owner(&self, table: &Table, other: Blocker) -> Result<()> {
        let other = other.in_table(table.id());
        match (self.scope(), table.kind()) {
            (Scope::Explicit, TableKind::MemoryOptimized) => Err(self.doom(Error::UpdateConflict)),
            (Scope::Explicit, TableKind::Ordinary) => table.counted_wait(|| self.wait_for(other)),
            (Scope::Statement, _) if self.owns_nothing() => {
                table.counted_wait(|| self.wait_for(other))
            }
            (Scope::Statement, _) => Err(self.restart_behind(other)),
        }
    }

    /// Fails because a key cannot be added, or waits until it is worth another try.
    fn resolve_taken(&self, table: &Table, taken: KeyTaken) -> Result<()> {
        match taken {
            KeyTaken::Duplicate { index, key } => {
                table.note_barrier();
                Err(Error::Unique { table: table.id(), index, key })
            }
            KeyTaken::Stale => Err(self.lose(table)),
            KeyTaken::Busy { change: KeyChange::Taking, .. }
                if self.scope() == Scope::Explicit
                    && table.kind() == TableKind::MemoryOptimized =>
            {
                Err(self.doom(Error::SerializableFailure))
            }
            KeyTaken::Busy { blocker, .. } => self.meet_owner(table, blocker),
        }
    }

    fn asker(&self, table: &Table, state: &Arc<TxState>) -> Asker {
        // Transactions on memory-optimized tables use one snapshot throughout, also for inserts.
        let keeps = self.scope() == Scope::Explicit && table.kind() == TableKind::MemoryOptimized;
        let snapshot = keeps.then(|| self.view(table, Isolation::Snapshot).0.snapshot);
        Asker { me: Arc::as_ptr(state), snapshot }
    }

    /// Returns the error for a row that has changed since it was read.
    pub(crate) fn lose(&self, table: &Table) -> Error {
        match (self.scope(), table.kind()) {
            (Scope::Statement, _) => Error::Restart,
            (Scope::Explicit, TableKind::MemoryOptimized) => self.doom(Error::UpdateConflict),
            (Scope::Explicit, TableKind::Ordinary) => {
                self.doom(Error::SnapshotConflict(table.id()))
            }
        }
    }

    fn own_version(
        &self,
        table: &Table,
        kind: VersionKind,
        state: &Arc<TxState>,
        next: *mut Version,
        image: RowImage<'_>,
    ) -> Result<NonNull<Version>> {
        let begin = (Begin::Transaction(Arc::as_ptr(state)), self.command());
        table.new_version(kind, begin, next, image)
    }

    /// Notes a write, and returns the row as it is now.
    fn written<'t>(
        &'t self,
        table: &'t Table,
        head: &'t RowHead,
        version: NonNull<Version>,
        kind: WriteKind,
    ) -> RowRef<'t> {
        self.note_write(table, head, version, kind);
        self.row_ref(table, head, version)
    }

    fn row_ref<'t>(
        &'t self,
        table: &'t Table,
        head: &'t RowHead,
        version: NonNull<Version>,
    ) -> RowRef<'t> {
        // SAFETY: an own version stays until the transaction ends or undoes it, which take `&mut`.
        let version = unsafe { &*version.as_ptr() };
        RowRef { table, head, version, basis: Basis::Statement }
    }

    fn note_write(
        &self,
        table: &Table,
        head: &RowHead,
        version: NonNull<Version>,
        kind: WriteKind,
    ) {
        self.push_write(Write::new(table, head, version, kind));
    }
}

impl Transaction {
    /// Moves a compressed row that is to be changed to the delta store, where the transaction owns
    /// it until its end. `image` is the row's content.
    ///
    /// # Errors
    /// [`Error::Restart`] or [`Error::UpdateConflict`] if another transaction has changed it since
    /// it was read; else as [`Transaction::insert`].
    ///
    /// # Panics
    /// If the table has no clustered columnstore.
    pub fn take_compressed<'t>(
        &'t self,
        table: &'t Table,
        place: Place,
        image: RowImage<'_>,
    ) -> Result<RowRef<'t>> {
        let store = table.columnstore().expect("only tables that have columns compress rows");
        let key = place.key();
        match self.insert(&store.deleted, RowImage { bytes: &key, blobs: &[] }) {
            Ok(_) => self.insert(table, image),
            Err(Error::Unique { .. }) => Err(self.lose(table)),
            Err(other) => Err(other),
        }
    }
}
