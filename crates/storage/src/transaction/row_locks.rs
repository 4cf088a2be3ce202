//! Taking row locks for reads and table hints, and waiting for those of other transactions.

use std::sync::Arc;

use types::Bytes;

use crate::primitives::{Guard, Mutant, PinWait, is_mutant, pin, wait_for_pins};
use crate::row_lock::{Asked, Held, Hold, KeyRange, Place};
use crate::spec::{
    Bounds, Error, IndexId, Isolation, Order, Read, Result, RowId, RowLock, Scope, TableKind,
    WhenOwned,
};
use crate::store::{Mistake, Table};
use crate::transaction::Transaction;
use crate::transaction::writes::PIECE;
use crate::version::{
    Blocker, HeapPosition, Holder, LockWait, RowHead, TxState, Version, VersionKind, View,
    announce_withdrawal, changer, newest,
};

/// Rows that are read under one pin.
const BATCH: usize = 64;
/// From this many row locks on, memory is asked for before their list doubles.
const ASKED_PLACES: usize = 1 << 12;

/// The row locks that a transaction holds.
#[derive(Default)]
pub(crate) struct Holds {
    /// The tables whose books it uses, and what it holds there.
    tables: Vec<(*const Table, Vec<Place>)>,
}

impl Holds {
    fn of(&mut self, table: &Table) -> Option<&mut Vec<Place>> {
        let found = self.tables.iter_mut().find(|(other, _)| std::ptr::eq(*other, table));
        found.map(|(_, places)| places)
    }

    /// Releases all row locks, and pauses in between: those of a transaction that has ended hold no
    /// other off.
    pub(crate) fn end(&mut self, state: &TxState) {
        for (table, places) in self.tables.drain(..) {
            // SAFETY: a dropped table stays until every transaction that began before has ended.
            let book = &unsafe { &*table }.book;
            if book.end_few(&places, state) {
                continue;
            }
            if let Some(taken) = book.take_all(state) {
                taken.free(&|| state.pause());
                book.leave(state);
                continue;
            }
            for part in places.chunks(PIECE) {
                book.remove_all(part, state);
                if places.len() > PIECE {
                    state.pause();
                }
            }
            book.leave(state);
        }
    }
}

/// Returns the mode in which a read locks what it reads; `None` if it takes no row locks.
pub(crate) fn hold_of(table: &Table, read: Read) -> Option<Hold> {
    if table.kind() != TableKind::Ordinary || read.isolation < Isolation::RepeatableRead {
        return None;
    }
    Some(match read.lock {
        RowLock::Update(_) => Hold::Update,
        RowLock::Exclusive(_) => Hold::Exclusive,
        RowLock::None | RowLock::Past | RowLock::Committed(_) | RowLock::Dirty => Hold::Shared,
    })
}

impl Read {
    fn when_owned(self) -> WhenOwned {
        match self.lock {
            RowLock::Update(when) | RowLock::Exclusive(when) | RowLock::Committed(when) => when,
            RowLock::None | RowLock::Past | RowLock::Dirty => WhenOwned::Wait,
        }
    }
}

impl Transaction {
    /// Locks a whole table until the end of the transaction (TABLOCK, TABLOCKX). Other transactions
    /// cannot change it or, depending on `hold`, lock any of it.
    ///
    /// # Errors
    /// Those of a wait.
    pub fn hold_table(&self, table: &Table, hold: Hold, when_owned: WhenOwned) -> Result<()> {
        self.hold(table, Place::Table, (hold, when_owned), &|| self.find_in_table(table, hold))
    }

    /// Locks the range that an access under SERIALIZABLE reads.
    pub(crate) fn hold_range(
        &self,
        table: &Table,
        index: Option<IndexId>,
        bounds: Bounds<'_>,
        read: Read,
    ) -> Result<()> {
        let Some(hold) = hold_of(table, read) else { return Ok(()) };
        self.keep_locks();
        if read.isolation < Isolation::Serializable || self.makes(Mistake::NoRangeHolds) {
            return Ok(());
        }
        let Some(index) = index else { return self.hold_table(table, hold, read.when_owned()) };
        let look = || self.find_in_range(table, (index, bounds), hold);
        let place = Place::Range(KeyRange::new(index, bounds));
        self.hold(table, place, (hold, read.when_owned()), &look)?;
        table.count_lock();
        Ok(())
    }

    /// Locks a row, for REPEATABLE READ or XLOCK, and returns its version once it is locked.
    pub(crate) fn hold_row<'t>(
        &'t self,
        (table, head): (&'t Table, &'t RowHead),
        view: View,
        (hold, when_owned): (Hold, WhenOwned),
    ) -> Result<Option<&'t Version>> {
        if view.lost.is_nothing() && !self.is_worth_holding(table, head) {
            return Ok(None);
        }
        if when_owned == WhenOwned::Skip && self.changer(table, head).is_some() {
            return Ok(None);
        }
        let look = || {
            let guard = pin();
            Ok(self.owner_in(table, head, hold, &guard))
        };
        self.hold(table, Place::Row(head.id()), (hold, when_owned), &look)?;
        table.count_lock();
        let snapshot = self.clock().snapshot();
        self.see(head, View { me: self.me(), snapshot, ..view })
    }

    /// Waits until no transaction is changing a row, for READ COMMITTED without row versions, and
    /// returns its version then; the row is not locked.
    pub(crate) fn see_committed<'t>(
        &'t self,
        (table, head): (&'t Table, &'t RowHead),
        view: View,
        when_owned: WhenOwned,
    ) -> Result<Option<&'t Version>> {
        if when_owned == WhenOwned::Skip && self.changer(table, head).is_some() {
            return Ok(None);
        }
        self.wait_for_changer(table, head, when_owned)?;
        let snapshot = self.clock().snapshot();
        self.see(head, View { me: self.me(), snapshot, ..view })
    }

    /// Returns whether there is a row, or an active transaction may make one.
    fn is_worth_holding(&self, table: &Table, head: &RowHead) -> bool {
        let guard = pin();
        let row = newest(head, self.me(), &table.shared.clock, &guard);
        let is_row = row.content.is_some_and(|version| version.kind == VersionKind::Data);
        is_row || matches!(row.holder, Holder::Other(_))
    }

    fn changer(&self, table: &Table, head: &RowHead) -> Option<Blocker> {
        let guard = pin();
        let found = changer(head, self.me(), &table.shared.clock, &guard);
        found.map(|(state, top)| Blocker::new(state, head, top).booked_as(LockWait::Shared))
    }

    fn wait_for_changer(&self, table: &Table, head: &RowHead, when: WhenOwned) -> Result<()> {
        while let Some(blocker) = self.changer(table, head) {
            self.meet(table, blocker, when)?;
        }
        Ok(())
    }

    /// From here on the transaction keeps its locks until it ends, and waits instead of restarting:
    /// what it has read may have been returned to the client.
    pub fn keep_locks(&self) {
        self.set_scope(Scope::Explicit);
    }

    fn meet(&self, table: &Table, blocker: Blocker, when: WhenOwned) -> Result<()> {
        match when {
            WhenOwned::Fail => Err(Error::LockTimeout),
            WhenOwned::Wait | WhenOwned::Skip => self.meet_owner(table, blocker),
        }
    }

    /// Enters a hold, and waits until nothing that it covers is being changed, by `look`.
    fn hold(
        &self,
        table: &Table,
        place: Place,
        (hold, when): (Hold, WhenOwned),
        look: &dyn Fn() -> Result<Option<Blocker>>,
    ) -> Result<()> {
        self.keep_locks();
        let state = self.writing_state()?;
        if place != Place::Table {
            self.wait_for_lock_memory(state.pace)?;
        }
        self.use_book(table, &state)?;
        let (places, room) = self.with_holds(|holds| {
            holds.of(table).map_or((0, 0), |places| (places.len(), places.capacity()))
        });
        if places == room && places >= ASKED_PLACES {
            self.wait_for_lock_bytes(2 * room * size_of::<Place>())?;
        }
        let mine = Held { state: Arc::as_ptr(&state), hold };
        let mut has_waited = false;
        loop {
            // After a wait, first look whether a transaction is in the way. Entering and
            // withdrawing over and over would wake the transactions that wait for this one, and
            // they would do the same in turn.
            if has_waited && let Some(other) = look()? {
                self.meet(table, other, when)?;
                continue;
            }
            match table.book.ask(&place, mine, places == 0) {
                Asked::Had => return Ok(()),
                Asked::Behind(other) => {
                    self.meet(table, other, when)?;
                    continue;
                }
                Asked::Entered => {}
            }
            let found = match is_mutant(Mutant::HoldWithoutLook) {
                true => Ok(None),
                false => look(),
            };
            let Ok(Some(other)) = found else {
                if let Err(error) = found {
                    table.book.withdraw(&place, mine);
                    return Err(error);
                }
                self.with_holds(|holds| {
                    let all = holds.of(table).expect("the book is in use");
                    all.push(place);
                });
                return Ok(());
            };
            // Others would wait for this one while it waits: it holds all or nothing. What it held
            // before, in a weaker mode, it keeps.
            match is_mutant(Mutant::OlderHoldsWithdrawn) {
                true => table.book.remove_all(std::slice::from_ref(&place), mine.state),
                false => table.book.withdraw(&place, mine),
            }
            announce_withdrawal(&state);
            self.meet(table, other, when)?;
            has_waited = true;
        }
    }

    /// Makes writers to a table look at its book.
    fn use_book(&self, table: &Table, state: &Arc<TxState>) -> Result<()> {
        if self.with_holds(|holds| holds.of(table).is_some()) {
            return Ok(());
        }
        let must_wait = table
            .book
            .enter(Arc::as_ptr(state), || table.change_indexes(|set| set.with_holds(true)));
        self.with_holds(|holds| holds.tables.push((table, Vec::new())));
        if must_wait {
            if !is_mutant(Mutant::BookWithoutWait)
                && !wait_for_pins(PinWait::Definition, self.patience().cancel.as_deref())
            {
                return Err(Error::Cancelled);
            }
            table.book.settle();
        }
        Ok(())
    }

    /// Finds a transaction that changes a row of a range; unless shared, also one that owns a row.
    fn find_in_range(
        &self,
        table: &Table,
        (index, bounds): (IndexId, Bounds<'_>),
        hold: Hold,
    ) -> Result<Option<Blocker>> {
        self.ensure_slot();
        let index = self.index_of(table, index)?;
        let mut after: Option<(Bytes, RowId)> = None;
        loop {
            let guard = pin();
            let mut batch = Vec::new();
            let from = after.as_ref().map(|(key, id)| (&**key, *id));
            let is_last = index.walk(bounds, Order::Forward, from, &guard, &mut batch);
            let mut heads = batch.iter().map(|entry| entry.head);
            let found = heads.find_map(|head| self.owner_in(table, head, hold, &guard));
            let last = batch.last().filter(|_| !is_last);
            let Some(last) = last.filter(|_| found.is_none()) else { return Ok(found) };
            after = Some((last.key.clone(), last.head.id()));
            drop(guard);
            self.pause()?;
        }
    }

    /// Like [`Self::find_in_range`], for all rows of the table.
    fn find_in_table(&self, table: &Table, hold: Hold) -> Result<Option<Blocker>> {
        let mut position = HeapPosition::default();
        let mut heads = Vec::new();
        loop {
            heads.clear();
            table.heap.walk(&mut position, &mut heads, BATCH);
            if heads.is_empty() {
                return Ok(None);
            }
            let guard = pin();
            let found = heads.iter().find_map(|head| self.owner_in(table, head, hold, &guard));
            if found.is_some() {
                return Ok(found);
            }
            drop(guard);
            self.pause()?;
        }
    }

    fn owner_in(
        &self,
        table: &Table,
        head: &RowHead,
        hold: Hold,
        guard: &Guard,
    ) -> Option<Blocker> {
        let (me, clock) = (self.me(), &table.shared.clock);
        if hold == Hold::Shared {
            let found = changer(head, me, clock, guard);
            return found
                .map(|(state, top)| Blocker::new(state, head, top).booked_as(LockWait::Shared));
        }
        let row = newest(head, me, clock, guard);
        match row.holder {
            Holder::Other(state) => Some(Blocker::new(state, head, row.top)),
            Holder::Nobody | Holder::Own => None,
        }
    }

    /// Waits for the transaction that holds what a writer is changing. The writer has taken its
    /// version back and is in the queue. Returns `false` if the row is to be skipped (READPAST).
    pub(crate) fn wait_for_hold(
        &self,
        table: &Table,
        state: &Arc<TxState>,
        (other, when): (Blocker, WhenOwned),
    ) -> Result<bool> {
        let waited = match when {
            WhenOwned::Wait => self.meet_owner(table, other).map(|()| true),
            WhenOwned::Fail => Err(Error::LockTimeout),
            WhenOwned::Skip => Ok(false),
        };
        table.book.unqueue(Arc::as_ptr(state));
        // Readers that wait behind this writer look again.
        announce_withdrawal(state);
        waited
    }
}
