//! One row by a unique key: the autocommit statements that commit on the row itself.
//!
//! A version is linked with the mark COMMITTING, and only then is its timestamp taken and stored. A
//! reader that meets the mark takes the timestamp itself, so neither waits for the other.

use std::ops::ControlFlow;

use types::row::RowBuffer;

use crate::durability::{Announced, EpochMark, Lost, logged_bytes};
use crate::index::{Index, has_key, with_buffer};
use crate::primitives::{Guard, Label, Mutant, Timestamp, is_mutant, label, labelled, pin};
use crate::spec::{
    Decision, Error, IndexId, Isolation, Read, Result, RowId, RowImage, RowLock,
    TransactionOptions, WhenOwned,
};
use crate::store::{
    Asker, IndexSet, KeyTaken, Moves, Store, Table, add_new_keys, check_free, link_moved, moves,
};
use crate::transaction::{Basis, RowRef, Transaction, wait_for};
use crate::version::{
    Begin, Blocker, Holder, RowHead, TxState, Version, VersionKind, newest, newest_durable,
};

/// The newest committed version of a row, and what a writer needs.
struct Found<'g> {
    head: &'g RowHead,
    top: *mut Version,
    version: &'g Version,
    /// The transaction that owns the row now.
    holder: Option<&'g TxState>,
}

/// What the log admits for a change before its size is known.
const ADMITTED_BYTES: u64 = 4096;

/// Attempts that a statement may lose to other writers before it claims its row. A claim costs a
/// transaction. Without it a statement whose expressions yield would not end while others change the
/// row in each gap.
const LOST_BEFORE_CLAIM: u32 = 8;

/// The result of one attempt to change a row.
enum Attempt {
    Done(bool),
    Raced,
    Owned(Blocker),
    KeysChange,
    /// The row may be locked: only a transaction can find out.
    Held,
    /// Memory for the new row is short.
    Short,
    /// The log has to admit this many bytes first.
    Larger(u64),
}

impl Table {
    /// Waits for the transaction that owns a row of the table, while owning nothing.
    fn wait_behind(&self, blocker: Blocker, options: &TransactionOptions) -> Result<()> {
        let blocker = blocker.in_table(self.id());
        self.counted_wait(|| wait_for(&self.shared.locks, None, blocker, &options.patience()))
    }

    /// Shows the newest committed state of a row, for views; `None` if there is none.
    pub fn show_row<R>(&self, row: RowId, show: impl FnOnce(RowImage<'_>) -> R) -> Option<R> {
        let guard = pin();
        let head = self.heap.find_head(row)?;
        let found = newest(head, std::ptr::null(), &self.shared.clock, &guard);
        let content = found.content.filter(|version| version.kind != VersionKind::Tombstone);
        content.map(|version| show(version.image()))
    }

    /// Calls `show` with the newest committed row with this key. `index` must be unique, `key`
    /// whole. Writes nothing shared and never waits. `show` should copy what it needs and return at
    /// once, because no memory is reclaimed while it runs.
    pub fn read_point<R>(
        &self,
        index: IndexId,
        key: &[u8],
        show: impl FnOnce(RowImage<'_>) -> R,
    ) -> Result<Option<R>> {
        let _label = labelled(Label::Index);
        let guard = pin();
        let lost = self.lost();
        let Some(found) = self.find_durable(index, key, lost, &guard)? else {
            self.note_barrier_of(lost);
            return Ok(None);
        };
        label(Label::Row);
        self.note_version(found.version);
        Ok(Some(show(found.version.image())))
    }

    /// Changes the row with this key, as an autocommit statement.
    ///
    /// `change` sees the newest committed row and decides; for [`Decision::Update`] it leaves the
    /// new row in `buffer` (which it receives cleared). It is called again if another writer
    /// changed the row since, so its only effects must be on captured variables that it overwrites.
    /// After a few such calls this claims the row first, so that the next call is the last. While an
    /// active transaction owns the row, this waits. Returns `false` if there is no such row or the
    /// decision was to keep it.
    pub fn change_point<E: From<Error>>(
        &self,
        index: IndexId,
        key: &[u8],
        options: &TransactionOptions,
        buffer: &mut RowBuffer,
        mut change: impl FnMut(RowImage<'_>, &mut RowBuffer) -> Result<Decision, E>,
    ) -> Result<bool, E> {
        let mut admitted = ADMITTED_BYTES;
        let mut lost = 0;
        while lost < LOST_BEFORE_CLAIM {
            self.admit(admitted)?;
            let at = (index, key, admitted);
            match self.try_change(at, options, buffer, &mut change)? {
                Attempt::Done(is_changed) => return Ok(is_changed),
                Attempt::Raced => lost += 1,
                Attempt::Larger(bytes) => admitted = bytes,
                Attempt::Owned(blocker) => self.wait_behind(blocker, options)?,
                Attempt::Held => break,
                Attempt::Short => self.need().wait(options.cancel.as_deref())?,
                Attempt::KeysChange => {
                    match self.change_keys((index, key), options, buffer, &mut change) {
                        Ok(is_changed) => return Ok(is_changed),
                        Err(Failure::Raced) => lost += 1,
                        Err(Failure::User(error)) => return Err(error),
                    }
                }
            }
        }
        self.change_held((index, key), options, buffer, &mut change)
    }

    fn try_change<E: From<Error>>(
        &self,
        (index, key, admitted): (IndexId, &[u8], u64),
        options: &TransactionOptions,
        buffer: &mut RowBuffer,
        change: &mut impl FnMut(RowImage<'_>, &mut RowBuffer) -> Result<Decision, E>,
    ) -> Result<Attempt, E> {
        let _label = labelled(Label::Index);
        let guard = pin();
        let set = self.index_set(&guard);
        if !set.gate.admits(options.session) {
            return Err(Error::Closed(self.id()).into());
        }
        if set.has_holds {
            return Ok(Attempt::Held);
        }
        let Some(found) = self.find_newest(index, key, &guard)? else {
            self.note_barrier();
            return Ok(Attempt::Done(false));
        };
        if let Some(holder) = found.holder {
            return Ok(Attempt::Owned(Blocker::new(holder, found.head, found.top)));
        }
        label(Label::Row);
        self.note_version(found.version);
        buffer.bytes.clear();
        buffer.blobs.clear();
        let before = found.version.image();
        let (kind, image, moved) = match change(before, buffer)? {
            Decision::Keep => return Ok(Attempt::Done(false)),
            Decision::Delete => (VersionKind::Tombstone, RowImage { bytes: &[], blobs: &[] }, None),
            Decision::Update(keys) => {
                let image = RowImage::from(&*buffer);
                match moves(keys, set, image, before) {
                    Moves::Nowhere => (VersionKind::Data, image, None),
                    Moves::In(index) if index.is_plain_range() => {
                        (VersionKind::Data, image, Some(index))
                    }
                    Moves::In(_) | Moves::InSeveral => return Ok(Attempt::KeysChange),
                }
            }
        };
        let bytes = logged_bytes(image);
        if bytes > admitted {
            return Ok(Attempt::Larger(bytes));
        }
        let mut begin = Begin::Committing;
        if is_mutant(Mutant::TimeBeforeLink) {
            begin = Begin::Committed(self.shared.clock.commit());
        }
        let version = match self.new_version(kind, (begin, 0), found.top, image) {
            Err(Error::OutOfMemory) if self.need().check().is_err() => return Ok(Attempt::Short),
            made => made?,
        };
        set.note_change(found.head);
        let announced = self.announce(found.head, options.is_lazy);
        // SAFETY: made just now, and no other thread has it until it is linked.
        let made = unsafe { version.as_ref() };
        made.set_part(set.part_after(moved, found.version));
        made.set_mark(mark_of(announced.as_ref()));
        let linked = match moved {
            None => found.head.replace_latest(found.top, version.as_ptr()),
            Some(index) => link_moved(index, found.head, (found.top, made), &guard),
        };
        label(Label::Commit);
        if !linked {
            drop(announced);
            // No other thread has seen it.
            self.release_version(version, &guard);
            return Ok(Attempt::Raced);
        }
        // SAFETY: linked just now, and the guard keeps it alive.
        let version = unsafe { version.as_ref() };
        let ts = self.commit_version((version, found.head), Some(before), (set, announced), &guard);
        self.count_point(set, (kind, before, image), moved);
        self.shared.garbage.note_row(&self.shared, self, found.head, ts);
        Ok(Attempt::Done(true))
    }

    /// Counts a change that has been committed, and the index in which it has changed the key.
    #[inline]
    fn count_point(
        &self,
        set: &IndexSet,
        (kind, before, image): (VersionKind, RowImage<'_>, RowImage<'_>),
        moved: Option<&Index>,
    ) {
        if kind == VersionKind::Tombstone {
            self.count_rows(-1);
        }
        if let Some(index) = moved {
            index.count_changed(before, index.has_entry_of(image));
        }
        self.count_change(set, (kind, before), false);
    }

    /// Makes the change through a transaction: the key changes in a unique, a hash or several
    /// indexes.
    fn change_keys<E: From<Error>>(
        &self,
        (index, key): (IndexId, &[u8]),
        options: &TransactionOptions,
        buffer: &mut RowBuffer,
        change: &mut impl FnMut(RowImage<'_>, &mut RowBuffer) -> Result<Decision, E>,
    ) -> Result<bool, Failure<E>> {
        let transaction = Store::of(&self.shared).begin(options.clone());
        transaction.ensure_slot();
        let guard = pin();
        let found = self.find_newest(index, key, &guard).map_err(Failure::from_write)?;
        let Some(found) = found else {
            self.note_barrier();
            return Ok(false);
        };
        self.note_version(found.version);
        buffer.bytes.clear();
        buffer.blobs.clear();
        let decision = change(found.version.image(), buffer).map_err(Failure::User)?;
        let (table, head, version) = (self, found.head, found.version);
        let row = RowRef { table, head, version, basis: Basis::Statement };
        let written = match decision {
            Decision::Keep => return Ok(false),
            Decision::Delete => transaction.delete(row),
            Decision::Update(keys) => {
                transaction.update(row, RowImage::from(&*buffer), keys).map(|_| ())
            }
        };
        written.map_err(Failure::from_write)?;
        drop(guard);
        transaction.commit().map_err(Failure::from_write)?;
        Ok(true)
    }

    /// Makes the change through a transaction that claims the row first and waits for its locks.
    fn change_held<E: From<Error>>(
        &self,
        at: (IndexId, &[u8]),
        options: &TransactionOptions,
        buffer: &mut RowBuffer,
        change: &mut impl FnMut(RowImage<'_>, &mut RowBuffer) -> Result<Decision, E>,
    ) -> Result<bool, E> {
        let mut transaction = Store::of(&self.shared).begin(options.clone());
        loop {
            match self.try_held(&transaction, at, buffer, change) {
                Ok(is_changed) => {
                    transaction.commit()?;
                    return Ok(is_changed);
                }
                Err(Failure::Raced) => transaction.restart()?,
                Err(Failure::User(error)) => return Err(error),
            }
        }
    }

    fn try_held<E: From<Error>>(
        &self,
        transaction: &Transaction,
        (index, key): (IndexId, &[u8]),
        buffer: &mut RowBuffer,
        change: &mut impl FnMut(RowImage<'_>, &mut RowBuffer) -> Result<Decision, E>,
    ) -> Result<bool, Failure<E>> {
        let lock = RowLock::Update(WhenOwned::Wait);
        let read = Read { isolation: Isolation::ReadCommitted, lock };
        let found = transaction.get(self, index, key, read).map_err(Failure::from_write)?;
        let Some(row) = found else { return Ok(false) };
        buffer.bytes.clear();
        buffer.blobs.clear();
        let written = match change(row.image(), buffer).map_err(Failure::User)? {
            Decision::Keep => return Ok(false),
            Decision::Delete => transaction.delete(row),
            Decision::Update(keys) => {
                transaction.update(row, RowImage::from(&*buffer), keys).map(|_| ())
            }
        };
        written.map_err(Failure::from_write)?;
        Ok(true)
    }

    /// Inserts a row, as an autocommit statement.
    pub fn insert_point(&self, options: &TransactionOptions, row: RowImage<'_>) -> Result<RowId> {
        if self.need().check().is_err() {
            self.need().wait(options.cancel.as_deref())?;
        }
        loop {
            self.admit(logged_bytes(row))?;
            let guard = pin();
            let set = self.index_set(&guard);
            if !set.gate.admits(options.session) {
                return Err(Error::Closed(self.id()));
            }
            if set.list.len() > 1 || set.has_holds {
                break;
            }
            match self.try_insert(set, row, options.is_lazy, &guard)? {
                Ok(id) => return Ok(id),
                Err(KeyTaken::Duplicate { index, key }) => {
                    self.note_barrier();
                    return Err(Error::Unique { table: self.id(), index, key });
                }
                Err(KeyTaken::Stale) => unreachable!("no snapshot was asked for"),
                Err(KeyTaken::Busy { blocker, .. }) => {
                    drop(guard);
                    self.wait_behind(blocker, options)?;
                }
            }
        }
        // The row must appear in several indexes at once, or its key range may be locked.
        let transaction = Store::of(&self.shared).begin(options.clone());
        let id = transaction.insert(self, row)?.id();
        transaction.commit()?;
        Ok(id)
    }

    /// Inserts a row into a table with at most one index: entering that index makes it visible.
    fn try_insert(
        &self,
        set: &IndexSet,
        row: RowImage<'_>,
        is_lazy: bool,
        guard: &Guard,
    ) -> Result<Result<RowId, KeyTaken>> {
        let _label = labelled(Label::Row);
        let null = std::ptr::null_mut();
        let place = self.new_version(VersionKind::Data, (Begin::Pending, 0), null, row)?;
        // SAFETY: made just now; a version that is not committed cannot be superseded, and
        // afterwards the guard keeps it alive.
        let version = unsafe { place.as_ref() };
        version.set_part(set.part());
        let head = self.heap.allocate();
        let linked = head.replace_latest(null, place.as_ptr());
        assert!(linked, "a fresh head is empty");
        let mut announced = None;
        let mut publish = || {
            // When the key is known to be free: then its last owner has announced its commit.
            announced = self.announce(head, is_lazy);
            version.set_mark(mark_of(announced.as_ref()));
            version.set_begin(Begin::Committing);
        };
        let entered = match set.list.first() {
            None => {
                publish();
                Ok(())
            }
            Some(index) => {
                let _label = labelled(Label::Index);
                with_buffer(|key| {
                    index.extractor.key(row, key);
                    let (asker, clock) = (Asker::STATEMENT, &self.shared.clock);
                    let check =
                        |other: &RowHead| check_free((index, key), other, asker, clock, guard);
                    index.add((key, head), index.part_of(version), guard, check, publish)
                })
            }
        };
        if let Err(taken) = entered {
            let unlinked = head.replace_latest(place.as_ptr(), null);
            assert!(unlinked, "nobody links above an undecided version");
            self.release_version(place, guard);
            self.shared.garbage.note_head(&self.shared, self, head);
            return Ok(Err(taken));
        }
        label(Label::Commit);
        self.commit_version((version, head), None, (set, announced), guard);
        self.count_rows(1);
        self.count_insert();
        if let Some(index) = set.list.first().filter(|index| index.has_entry_of(row)) {
            index.counts.count_added();
        }
        if is_mutant(Mutant::ReuseMarkedLate) {
            head.note_reused();
        }
        Ok(Ok(head.id()))
    }

    /// Takes the timestamp of an autocommit write that has been linked, and logs it. A reader may
    /// have taken another one before, which counts.
    fn commit_version(
        &self,
        (version, head): (&Version, &RowHead),
        before: Option<RowImage<'_>>,
        (set, announced): (&IndexSet, Option<Announced<'_>>),
        guard: &Guard,
    ) -> Timestamp {
        if !std::ptr::eq(set, self.index_set(guard)) {
            // An index was added since the keys were compared, and may have passed this row.
            head.note_keys_changed();
            add_new_keys(self, head, version, guard);
        }
        let ts = self.shared.clock.commit();
        version.replace_begin(Begin::Committing, Begin::Committed(ts));
        if let Some(announced) = announced {
            let Begin::Committed(ts) = version.begin() else { unreachable!("it was committed") };
            // Not read from the chain: the version below may have been collected by now.
            self.write_change(&announced, (head, version), before);
            announced.finish(ts.0);
        }
        ts
    }

    /// Finds the row whose newest committed version has this key.
    fn find_newest<'g>(
        &'g self,
        index: IndexId,
        key: &[u8],
        guard: &'g Guard,
    ) -> Result<Option<Found<'g>>> {
        self.find_durable(index, key, Lost::NOTHING, guard)
    }

    /// As [`Self::find_newest`], by the newest version that readers do not pass over.
    fn find_durable<'g>(
        &'g self,
        index: IndexId,
        key: &[u8],
        lost: Lost,
        guard: &'g Guard,
    ) -> Result<Option<Found<'g>>> {
        let index = self.index(index, guard)?;
        index.count_seeks(1);
        let mut found = None;
        index.find(key, guard, |head| {
            let is_known = is_mutant(Mutant::MarkReadFirst) && index.has_key_of_entry(head);
            let row = newest(head, std::ptr::null(), &self.shared.clock, guard);
            // The head may have been reused for another row since the entry was read.
            let content = if lost.is_nothing() {
                row.content
            } else {
                newest_durable(head, lost, &self.shared.clock, guard)
            };
            let version = content.filter(|version| {
                version.kind == VersionKind::Data
                    && (is_known
                        || index.has_key_of_entry(head)
                        || has_key(index, version.image(), key))
            });
            let Some(version) = version else { return ControlFlow::Continue(()) };
            let holder = match row.holder {
                Holder::Other(state) => Some(state),
                Holder::Nobody | Holder::Own => None,
            };
            found = Some(Found { head, top: row.top, version, holder });
            ControlFlow::Break(())
        });
        Ok(found)
    }
}

/// Returns what a version keeps of an announced commit.
fn mark_of(announced: Option<&Announced<'_>>) -> EpochMark {
    announced.map_or(EpochMark::NONE, Announced::mark)
}

enum Failure<E> {
    Raced,
    User(E),
}

impl<E: From<Error>> Failure<E> {
    fn from_write(error: Error) -> Self {
        match error {
            Error::Restart | Error::UpdateConflict | Error::SnapshotConflict(_) => Self::Raced,
            other => Self::User(other.into()),
        }
    }
}
