//! Garbage collection: frees versions, rows and tables that no snapshot needs any more.
//!
//! Every write leaves a note in its thread's queue: at time `ts` this row got a new version, so the
//! older ones are garbage once the horizon has passed `ts`. Each writer processes a few notes of
//! its own queue; [`crate::Store::collect`] processes all queues. With a log, the horizon is not after
//! what is not durable yet (`durable_horizon.rs`).

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::index::Index;
#[cfg(not(any(loom, shuttle)))]
use crate::primitives::Cancel;
use crate::primitives::{
    AtomicBool, AtomicU64, CachePadded, Guard, Label, Mutant, Ordering, Shards, SpinClass,
    SpinLock, Timestamp, is_mutant, labelled, pin, retire_arc,
};
use crate::store::durable_horizon::DurableHorizon;
use crate::store::{Collected, Shared, Table, remove_dead_keys};
use crate::version::{Owner, RowHead, Version, VersionKind, owner, versions};

/// A note of what can be freed; its queue has the time from which on.
enum Note {
    /// The row got a new version at the note's time.
    Row { table: *const Table, head: *const RowHead },
    /// No index has an entry for the head any more.
    Head { table: *const Table, head: *const RowHead },
    /// The table was dropped at the note's time.
    Table(Arc<Table>),
    /// The index was dropped at the note's time.
    Index(Arc<Index>),
}

// SAFETY: heads live as long as their table, and a table outlives the notes about it: they are
// purged from all queues before the store drops the table, and none is left after that.
unsafe impl Send for Note {}

#[derive(Default)]
struct Queue {
    notes: Notes,
    since_horizon: u32,
    durable: DurableHorizon,
}

/// A queue of notes in pieces, so that growing never needs twice its memory at once.
#[derive(Default)]
struct Notes {
    /// No piece is empty, unless it is the only one, which stays for the next note.
    pieces: VecDeque<VecDeque<(Timestamp, Note)>>,
    len: usize,
}

impl Notes {
    fn push(&mut self, note: (Timestamp, Note)) {
        match self.pieces.back_mut() {
            Some(piece) if piece.len() < NOTES_PER_PIECE => piece.push_back(note),
            _ => self.pieces.push_back(VecDeque::from([note])),
        }
        self.len += 1;
    }

    fn first(&self) -> Option<&(Timestamp, Note)> {
        self.pieces.front()?.front()
    }

    fn pop(&mut self) -> Option<Note> {
        let piece = self.pieces.front_mut()?;
        let (_, note) = piece.pop_front()?;
        if piece.is_empty() && self.pieces.len() > 1 {
            self.pieces.pop_front();
        }
        self.len -= 1;
        Some(note)
    }

    fn retain(&mut self, mut keeps: impl FnMut(&Note) -> bool) {
        self.pieces.iter_mut().for_each(|piece| piece.retain(|(_, note)| keeps(note)));
        self.pieces.retain(|piece| !piece.is_empty());
        self.len = self.pieces.iter().map(VecDeque::len).sum();
    }
}

impl Queue {
    /// Adds a note about a table, unless the table's notes have been purged.
    fn push(&mut self, table: &Table, ts: Timestamp, note: Note) {
        if !table.is_forgotten() || is_mutant(Mutant::ForgottenIsNoted) {
            self.notes.push((ts, note));
        }
    }

    /// Like [`Self::push`]; returns whether the horizon should be recomputed.
    fn add(&mut self, table: &Table, ts: Timestamp, note: Note) -> bool {
        self.push(table, ts, note);
        self.since_horizon += 1;
        let is_due = self.since_horizon >= NOTES_PER_HORIZON;
        if is_due {
            self.since_horizon = 0;
        }
        is_due
    }

    fn take_due(&mut self, horizon: Timestamp) -> Option<Note> {
        let (ts, _) = self.notes.first()?;
        if *ts >= horizon {
            return None;
        }
        self.notes.pop()
    }
}

/// Notes per piece of a queue.
const NOTES_PER_PIECE: usize = 1_024;
/// Notes after which a thread recomputes the horizon.
const NOTES_PER_HORIZON: u32 = if cfg!(test) { 2 } else { 64 };
/// Notes that a writer processes for each one it leaves.
const NOTES_PER_WRITE: usize = 2;

struct GarbageShard {
    queue: SpinLock<Queue>,
    /// The horizon that was last computed for this shard.
    horizon: AtomicU64,
}

impl Default for GarbageShard {
    fn default() -> Self {
        let queue = SpinLock::new(SpinClass::XtpTransaction, Queue::default());
        Self { queue, horizon: AtomicU64::new(0) }
    }
}

/// The garbage queues of a store, one per thread.
pub(crate) struct Garbage {
    shards: Shards<GarbageShard>,
    /// Whether the collector sleeps because there is no garbage. Read with every note, and written
    /// rarely, so all threads can share its cache line.
    is_unwatched: CachePadded<AtomicBool>,
    /// Whether a dropped table was still referenced when no transaction could see it any more.
    has_held: AtomicBool,
}

impl Garbage {
    pub(crate) fn new() -> Self {
        Self {
            shards: Shards::default(),
            is_unwatched: CachePadded::new(AtomicBool::new(false)),
            has_held: AtomicBool::new(false),
        }
    }

    /// Returns whether a dropped table could not be freed since the last call.
    pub(crate) fn take_held(&self) -> bool {
        // Relaxed: only a hint.
        self.has_held.swap(false, Ordering::Relaxed)
    }

    /// Sleeps until there is garbage, or `cancel` is set.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn wait(&self, cancel: &Cancel) {
        use std::time::Duration;

        use sos::memory;
        use sos::park::{Wake, park};
        use sos::wait::WaitType;

        self.is_unwatched.store(true, Ordering::Relaxed);
        let must_wait = || self.is_unwatched.load(Ordering::Relaxed) && !memory::is_relief_wanted();
        // Ordered by the queues' locks: a later note in a queue sees the flag.
        if self.count() > 0 {
            self.is_unwatched.store(false, Ordering::Relaxed);
            return;
        }
        let wait = |timeout| {
            park(memory::collectors_key(), WaitType::SleepTask, must_wait, timeout, Some(cancel))
        };
        if wait(Some(Duration::from_nanos(memory::TIDY_NS))) == Wake::TimedOut {
            memory::tidy();
            wait(None);
        }
    }

    /// Wakes the collector if it sleeps. Called after a note was left under its queue's lock.
    #[inline]
    fn announce(&self) {
        if self.is_unwatched.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if self.is_unwatched.swap(false, Ordering::Relaxed) {
            #[cfg(not(any(loom, shuttle)))]
            sos::park::unpark_all(sos::memory::collectors_key());
        }
    }

    fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.queue.lock().notes.len).sum()
    }

    /// Notes that `head` got a new version at `ts`, and processes a few notes.
    pub(crate) fn note_row(&self, shared: &Shared, table: &Table, head: &RowHead, ts: Timestamp) {
        self.note(shared, table, ts, Note::Row { table, head });
    }

    /// Notes that no index leads to `head` any more and its chain is empty.
    pub(crate) fn note_head(&self, shared: &Shared, table: &Table, head: &RowHead) {
        if is_mutant(Mutant::HeadFreedAtOnce) {
            return table.heap.release(head);
        }
        let ts = shared.clock.commit();
        self.shards.own().queue.lock().push(table, ts, Note::Head { table, head });
        self.announce();
    }

    /// Notes that a table was dropped.
    pub(crate) fn note_table(&self, shared: &Shared, table: Arc<Table>) {
        self.push(shared.clock.commit(), Note::Table(table));
    }

    /// Notes that an index was dropped.
    pub(crate) fn note_index(&self, shared: &Shared, index: Arc<Index>) {
        self.push(shared.clock.commit(), Note::Index(index));
    }

    fn push(&self, ts: Timestamp, note: Note) {
        self.shards.own().queue.lock().notes.push((ts, note));
        self.announce();
    }

    fn note(&self, shared: &Shared, table: &Table, ts: Timestamp, note: Note) {
        let shard = self.shards.own();
        let is_due = shard.queue.lock().add(table, ts, note);
        self.announce();
        if is_due && let Some(horizon) = shared.snapshots.horizon(&shared.clock) {
            shard.advance(shared, horizon);
        }
        let horizon = shard.horizon();
        let mut done = Collected::default();
        for _ in 0..NOTES_PER_WRITE {
            if !shard.work_off(shared, horizon, &mut done) {
                break;
            }
        }
    }

    /// Processes all queues as far as the horizon allows.
    pub(crate) fn collect(&self, shared: &Shared) -> Collected {
        let _label = labelled(Label::Collect);
        let mut done = Collected::default();
        if let Some(horizon) = shared.snapshots.horizon(&shared.clock) {
            for shard in self.shards.iter() {
                shard.advance(shared, horizon);
                let horizon = shard.horizon();
                // Bounded by the notes that exist now: processing may leave new ones.
                let count = shard.queue.lock().notes.len;
                for _ in 0..count {
                    if !shard.work_off(shared, horizon, &mut done) {
                        break;
                    }
                }
            }
        }
        done.remaining = u64::try_from(self.count()).unwrap_or(u64::MAX);
        done
    }

    /// Removes every note about a table, for good. A thread that is processing such a note may want
    /// to leave another one. It checks the table under its queue's lock, so it either leaves the
    /// note before this removes it, or sees that the table's notes are purged.
    fn purge(&self, purged: &Table) {
        purged.forget();
        for shard in self.shards.iter() {
            let mut queue = shard.queue.lock();
            queue.notes.retain(|note| match note {
                Note::Row { table, .. } | Note::Head { table, .. } => !std::ptr::eq(*table, purged),
                Note::Table(_) | Note::Index(_) => true,
            });
        }
    }

    /// Returns whether there is a note about a table.
    #[cfg(all(test, shuttle))]
    pub(crate) fn knows(&self, wanted: &Table) -> bool {
        self.shards.iter().any(|shard| {
            shard.queue.lock().notes.pieces.iter().flatten().any(|(_, note)| match note {
                Note::Row { table, .. } | Note::Head { table, .. } => std::ptr::eq(*table, wanted),
                Note::Table(_) | Note::Index(_) => false,
            })
        })
    }

    /// Removes all notes; called when the store is dropped.
    pub(crate) fn clear(&self) {
        for shard in self.shards.iter() {
            let notes = std::mem::take(&mut shard.queue.lock().notes);
            drop(notes);
        }
    }
}

impl GarbageShard {
    /// Moves the horizon to that of the snapshots, as far as what is not durable allows.
    fn advance(&self, shared: &Shared, snapshots: Timestamp) {
        let mut horizon = snapshots;
        if let Some(log) = shared.log.get()
            && shared.lost().is_nothing()
        {
            let durable = self.queue.lock().durable.advance(log.as_ref(), &shared.clock);
            horizon = horizon.min(durable);
        }
        // Release: pairs with the Acquire in `horizon`, for the failure of the log.
        self.horizon.fetch_max(horizon.0, Ordering::Release);
    }

    fn horizon(&self) -> Timestamp {
        Timestamp(self.horizon.load(Ordering::Acquire))
    }

    /// Processes the oldest note if it is due.
    fn work_off(&self, shared: &Shared, horizon: Timestamp, done: &mut Collected) -> bool {
        // Pinned before the note is taken: a table that is dropped from now on is freed after this.
        let guard = pin();
        let Some(note) = self.queue.lock().take_due(horizon) else { return false };
        match note {
            Note::Row { table, head } => {
                // SAFETY: see the notes' `Send`: the table outlives them.
                let table = unsafe { &*table };
                if !table.lost().is_nothing() {
                    // Readers may need the older versions for good. There are no new ones.
                    return true;
                }
                // SAFETY: and so do its heads.
                let head = unsafe { &*head };
                trim(table, head, horizon, &guard, done);
            }
            Note::Head { table, head } => {
                // SAFETY: as above.
                let table = unsafe { &*table };
                // SAFETY: as above.
                let head = unsafe { &*head };
                table.heap.release(head);
                done.rows += 1;
            }
            Note::Index(index) => retire_arc(&guard, index),
            Note::Table(table) => {
                // A transaction that wrote to the table began before it was dropped, and has ended.
                table.parts().for_each(|part| shared.garbage.purge(part));
                if Arc::strong_count(&table) > 1 {
                    shared.garbage.has_held.store(true, Ordering::Relaxed);
                }
                retire_arc(&guard, table);
            }
        }
        true
    }
}

/// Frees the versions older than the newest one that every snapshot sees; if that one is a
/// deletion, frees the row too.
fn trim(table: &Table, head: &RowHead, horizon: Timestamp, guard: &Guard, done: &mut Collected) {
    let shared = &table.shared;
    for version in versions(head.latest(), guard) {
        let Owner::Committed(ts) = owner(version, std::ptr::null(), &shared.clock, guard) else {
            continue;
        };
        if ts > horizon {
            continue;
        }
        match version.kind {
            VersionKind::Lock => continue,
            VersionKind::Data => {
                let keys_changed = head.have_keys_changed();
                free_below(table, head, version, keys_changed, guard, done);
            }
            VersionKind::Tombstone | VersionKind::Moved => {
                // No version is linked above a committed tombstone. The winner frees the row.
                let tombstone = std::ptr::from_ref(version).cast_mut();
                if head.replace_latest(tombstone, std::ptr::null_mut()) {
                    free_below(table, head, version, true, guard, done);
                    table.release_version(NonNull::from(version), guard);
                    done.versions += 1;
                    shared.garbage.note_head(shared, table, head);
                }
            }
        }
        return;
    }
}

fn free_below(
    table: &Table,
    head: &RowHead,
    version: &Version,
    with_keys: bool,
    guard: &Guard,
    done: &mut Collected,
) {
    // Each swap decides which thread frees the older versions, if two trim a chain.
    let mut next = NonNull::new(version.next.swap(std::ptr::null_mut(), Ordering::AcqRel));
    while let Some(old) = next {
        // SAFETY: cut off by this thread, which alone retires it below.
        let version = unsafe { old.as_ref() };
        next = NonNull::new(version.next.swap(std::ptr::null_mut(), Ordering::AcqRel));
        if with_keys {
            remove_dead_keys(table, head, version, guard);
        }
        table.release_version(old, guard);
        done.versions += 1;
    }
}
