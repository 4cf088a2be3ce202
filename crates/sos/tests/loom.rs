//! Models of the locks and of reclamation, checked by loom under every interleaving and every
//! reordering that the memory model allows; and mutants with one ordering too weak, which must
//! fail, to prove that the models detect such errors.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom --target-dir target/loom`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, AtomicUsize};
use loom::thread;
use sos::epoch::{Domain, EpochOrders, Slot};
use sos::lock::{
    Hold, LatchClass, LatchOrders, Proven, RawDistributed, RawRwLatch, RawRwSpin, RawSpin,
    ReaderOrders, Row, SpinClass, SpinOrders, VersionLatch, VersionOrders, WordMode,
};
use sos::memory::{Depot, DepotOrders};
use sos::sync::Ordering;

const CLASS: SpinClass = SpinClass::ServerOther;

fn check(model: impl Fn() + Send + Sync + 'static) {
    check_with(3, model);
}

/// Checks all schedules with up to `preemptions` preemptions.
fn check_with(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// A mutant of locks: taking or freeing orders nothing.
struct WeakTake;
struct WeakFree;

impl SpinOrders for WeakTake {
    const TAKE: Ordering = Ordering::Relaxed;
    const FREE: Ordering = Ordering::Release;
}

impl SpinOrders for WeakFree {
    const TAKE: Ordering = Ordering::Acquire;
    const FREE: Ordering = Ordering::Relaxed;
}

macro_rules! latch_mutant {
    ($name:ident {
        take: $take:ident, free: $free:ident, fences: [$writer:literal, $validate:literal],
        barriers: [$reader_barrier:literal, $writer_barrier:literal],
        leave: $leave:ident, scan: $scan:ident
    }) => {
        impl LatchOrders for $name {
            const TAKE: Ordering = Ordering::$take;
            const FREE: Ordering = Ordering::$free;
            const WRITER_FENCE: bool = $writer;
            const VALIDATE_FENCE: bool = $validate;
        }
        impl ReaderOrders for $name {
            const READER_BARRIER: bool = $reader_barrier;
            const WRITER_BARRIER: bool = $writer_barrier;
            const LEAVE: Ordering = Ordering::$leave;
            const SCAN: Ordering = Ordering::$scan;
        }
    };
}

/// Mutants of latches and of visible readers.
struct NoWriterFence;
struct NoReaderFence;
struct NoReaderBarrier;
struct NoWriterBarrier;
struct WeakLeave;
struct WeakScan;

latch_mutant!(WeakTake {
    take: Relaxed,
    free: Release,
    fences: [true, true],
    barriers: [true, true],
    leave: Release,
    scan: Acquire
});
latch_mutant!(WeakFree {
    take: Acquire,
    free: Relaxed,
    fences: [true, true],
    barriers: [true, true],
    leave: Release,
    scan: Acquire
});
latch_mutant!(NoWriterFence {
    take: Acquire,
    free: Release,
    fences: [false, true],
    barriers: [true, true],
    leave: Release,
    scan: Acquire
});
latch_mutant!(NoReaderFence {
    take: Acquire,
    free: Release,
    fences: [true, false],
    barriers: [true, true],
    leave: Release,
    scan: Acquire
});
latch_mutant!(NoReaderBarrier {
    take: Acquire,
    free: Release,
    fences: [true, true],
    barriers: [false, true],
    leave: Release,
    scan: Acquire
});
latch_mutant!(NoWriterBarrier {
    take: Acquire,
    free: Release,
    fences: [true, true],
    barriers: [true, false],
    leave: Release,
    scan: Acquire
});
latch_mutant!(WeakLeave {
    take: Acquire,
    free: Release,
    fences: [true, true],
    barriers: [true, true],
    leave: Relaxed,
    scan: Acquire
});
latch_mutant!(WeakScan {
    take: Acquire,
    free: Release,
    fences: [true, true],
    barriers: [true, true],
    leave: Release,
    scan: Relaxed
});

fn add_one(cell: &UnsafeCell<u32>) {
    // SAFETY: the lock under test is held; loom reports it if that does not exclude other threads.
    cell.with_mut(|value| unsafe { *value += 1 });
}

fn read(cell: &UnsafeCell<u32>) -> u32 {
    // SAFETY: as above.
    cell.with(|value| unsafe { *value })
}

struct NotAtOnce;

macro_rules! depot_mutant {
    ($name:ident, $put:ident, $take:ident, $at_once:literal) => {
        impl DepotOrders for $name {
            const PUT: Ordering = Ordering::$put;
            const TAKE: Ordering = Ordering::$take;
            const TAKES_AT_ONCE: bool = $at_once;
        }
    };
}

depot_mutant!(WeakFree, Relaxed, Acquire, true);
depot_mutant!(WeakTake, Release, Relaxed, true);
depot_mutant!(NotAtOnce, Release, Relaxed, false);

/// Packs are numbers here, and the memory of each extent is a separate cell. Each thread takes a
/// pack or makes one, writes to it, and puts it into the depot.
fn depot_model<O: DepotOrders + Send + Sync + 'static>() {
    check(|| {
        let cells = || [UnsafeCell::new(0), UnsafeCell::new(0)];
        let shared = Arc::new((Depot::<O>::new(), cells()));
        let work = |shared: &(Depot<O>, [UnsafeCell<u32>; 2]), own: usize| {
            let mut kept = 1;
            add_one(&shared.1[own - 1]);
            kept -= usize::from(shared.0.put(own));
            if let Some(pack) = shared.0.take() {
                kept += 1;
                add_one(&shared.1[pack - 1]);
                kept -= usize::from(shared.0.put(pack));
            }
            kept
        };
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || work(&other, 2));
        let mut found = work(&shared, 1) + thread.join().expect("works");
        while let Some(pack) = shared.0.take() {
            found += 1;
            add_one(&shared.1[pack - 1]);
        }
        assert_eq!(found, 2, "no pack is lost, and none is there twice");
    });
}

#[test]
fn depot_gives_each_pack_to_one_thread_and_publishes_it() {
    depot_model::<Proven>();
}

#[test]
#[should_panic]
fn mutant_depot_that_puts_relaxed_fails() {
    depot_model::<WeakFree>();
}

#[test]
#[should_panic]
fn mutant_depot_that_takes_relaxed_fails() {
    depot_model::<WeakTake>();
}

#[test]
#[should_panic]
fn mutant_depot_that_looks_before_it_takes_fails() {
    depot_model::<NotAtOnce>();
}

fn spin_model<O: SpinOrders + Send + Sync + 'static>() {
    check(|| {
        let shared = Arc::new((RawSpin::<O>::new(), UnsafeCell::new(0)));
        let other = Arc::clone(&shared);
        let add = |shared: &(RawSpin<O>, UnsafeCell<u32>)| {
            let _ = shared.0.take(CLASS);
            add_one(&shared.1);
            shared.0.free();
        };
        let thread = thread::spawn(move || add(&other));
        add(&shared);
        thread.join().expect("adds");
        assert_eq!(read(&shared.1), 2);
    });
}

#[test]
fn spinlock_excludes_and_publishes() {
    spin_model::<Proven>();
}

#[test]
#[should_panic]
fn mutant_spinlock_that_takes_relaxed_fails() {
    spin_model::<WeakTake>();
}

#[test]
#[should_panic]
fn mutant_spinlock_that_frees_relaxed_fails() {
    spin_model::<WeakFree>();
}

/// A lock with readers and writers, as the models below use it.
trait ReadWrite: Send + Sync + 'static {
    fn read<'r>(&self, row: Option<&'r Row>) -> Hold<'r>;
    fn free_read(&self, hold: Hold<'_>);
    fn write(&self, rows: &[Row]);
    fn free_write(&self);
}

impl<O: LatchOrders + Send + Sync + 'static> ReadWrite for RawRwSpin<O> {
    fn read<'r>(&self, _row: Option<&'r Row>) -> Hold<'r> {
        let _ = self.read(CLASS);
        Hold::Counted
    }
    fn free_read(&self, _hold: Hold<'_>) {
        self.free_read();
    }
    fn write(&self, _rows: &[Row]) {
        let _ = self.write(CLASS);
    }
    fn free_write(&self) {
        self.free_write();
    }
}

impl<O: LatchOrders + ReaderOrders + Send + Sync + 'static> ReadWrite for RawRwLatch<O> {
    fn read<'r>(&self, row: Option<&'r Row>) -> Hold<'r> {
        self.read(row, LatchClass::Other).0
    }
    fn free_read(&self, hold: Hold<'_>) {
        self.free_read(hold);
    }
    fn write(&self, rows: &[Row]) {
        let _ = self.write(|| rows, LatchClass::Other);
    }
    fn free_write(&self) {
        self.free_write();
    }
}

impl<O: LatchOrders + ReaderOrders + Send + Sync + 'static> ReadWrite for RawDistributed<O> {
    fn read<'r>(&self, row: Option<&'r Row>) -> Hold<'r> {
        self.read(row, CLASS).0
    }
    fn free_read(&self, hold: Hold<'_>) {
        self.free_read(hold);
    }
    fn write(&self, rows: &[Row]) {
        let _ = self.write(|| rows, CLASS);
    }
    fn free_write(&self) {
        self.free_write();
    }
}

/// Whether the threads of a model have rows.
#[derive(Clone, Copy)]
enum Rows {
    None,
    OneEach,
}

impl Rows {
    fn make(self) -> Vec<Row> {
        match self {
            Self::None => Vec::new(),
            Self::OneEach => vec![Row::new(), Row::new()],
        }
    }
}

fn read_once<L: ReadWrite>(lock: &L, row: Option<&Row>, cell: &UnsafeCell<u32>) -> u32 {
    let hold = lock.read(row);
    let seen = read(cell);
    lock.free_read(hold);
    seen
}

fn write_once<L: ReadWrite>(lock: &L, rows: &[Row], cell: &UnsafeCell<u32>) {
    lock.write(rows);
    add_one(cell);
    lock.free_write();
}

/// One thread writes; the other one reads, then writes as well. Only two threads, because with a
/// third one spinning makes the number of interleavings endless.
fn read_write_model<L: ReadWrite>(rows: Rows, make: impl Fn() -> L + Send + Sync + 'static) {
    check(move || {
        let shared = Arc::new((make(), UnsafeCell::new(0), rows.make()));
        let writer = Arc::clone(&shared);
        let writer = thread::spawn(move || write_once(&writer.0, &writer.2, &writer.1));
        assert!(read_once(&shared.0, shared.2.first(), &shared.1) <= 1);
        write_once(&shared.0, &shared.2, &shared.1);
        writer.join().expect("writes");
        assert_eq!(read(&shared.1), 2);
    });
}

/// One thread reads twice, so that it may make the lock favour readers; the other one writes twice.
fn read_twice_model<L: ReadWrite>(make: impl Fn() -> L + Send + Sync + 'static) {
    check(move || {
        let shared = Arc::new((make(), UnsafeCell::new(0), Rows::OneEach.make()));
        let writer = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            write_once(&writer.0, &writer.2, &writer.1);
            write_once(&writer.0, &writer.2, &writer.1);
        });
        let first = read_once(&shared.0, shared.2.first(), &shared.1);
        let second = read_once(&shared.0, shared.2.first(), &shared.1);
        assert!(first <= second && second <= 2);
        writer.join().expect("writes");
    });
}

fn rw_spin_model<O: LatchOrders + Send + Sync + 'static>(mode: WordMode) {
    read_write_model(Rows::None, move || RawRwSpin::<O>::new(mode));
}

#[test]
fn one_word_rw_spin_excludes_and_publishes() {
    rw_spin_model::<Proven>(WordMode::Shared);
}

#[test]
fn exclusive_rw_spin_excludes_and_publishes() {
    rw_spin_model::<Proven>(WordMode::Exclusive);
}

#[test]
#[should_panic]
fn mutant_rw_spin_that_takes_relaxed_fails() {
    rw_spin_model::<WeakTake>(WordMode::Shared);
}

#[test]
#[should_panic]
fn mutant_rw_spin_that_frees_relaxed_fails() {
    rw_spin_model::<WeakFree>(WordMode::Shared);
}

fn counted_latch_model<O: LatchOrders + ReaderOrders + Send + Sync + 'static>() {
    read_write_model(Rows::None, RawRwLatch::<O>::new);
}

/// The latch starts in favour of readers.
fn favouring_latch_model<O: LatchOrders + ReaderOrders + Send + Sync + 'static>() {
    read_write_model(Rows::OneEach, RawRwLatch::<O>::favouring_readers);
}

#[test]
fn counted_latch_excludes_and_publishes() {
    counted_latch_model::<Proven>();
}

#[test]
#[should_panic]
fn mutant_latch_that_takes_relaxed_fails() {
    counted_latch_model::<WeakTake>();
}

#[test]
#[should_panic]
fn mutant_latch_that_frees_relaxed_fails() {
    counted_latch_model::<WeakFree>();
}

#[test]
fn favouring_latch_excludes_and_publishes() {
    favouring_latch_model::<Proven>();
}

#[test]
fn latch_that_turns_to_favour_readers_excludes_and_publishes() {
    read_twice_model(RawRwLatch::<Proven>::new);
}

#[test]
#[should_panic]
fn mutant_latch_that_turns_to_favour_readers_without_their_barrier_fails() {
    read_twice_model(RawRwLatch::<NoReaderBarrier>::new);
}

#[test]
#[should_panic]
fn mutant_latch_without_the_readers_barrier_fails() {
    favouring_latch_model::<NoReaderBarrier>();
}

#[test]
#[should_panic]
fn mutant_latch_without_the_writers_barrier_fails() {
    favouring_latch_model::<NoWriterBarrier>();
}

#[test]
#[should_panic]
fn mutant_latch_whose_shown_readers_leave_relaxed_fails() {
    favouring_latch_model::<WeakLeave>();
}

#[test]
#[should_panic]
fn mutant_latch_whose_writer_looks_relaxed_at_the_rows_fails() {
    favouring_latch_model::<WeakScan>();
}

fn optimistic_model<O: LatchOrders + ReaderOrders + Send + Sync + 'static>() {
    check(|| {
        let data = (RawRwLatch::<O>::new(), AtomicU64::new(0), AtomicU64::new(0));
        let shared = Arc::new(data);
        let writer = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            let _ = writer.0.write(|| &[], LatchClass::Other);
            writer.1.store(1, Ordering::Relaxed);
            writer.2.store(1, Ordering::Relaxed);
            writer.0.free_write();
        });
        if let Some(version) = shared.0.optimistic() {
            let left = shared.1.load(Ordering::Relaxed);
            let right = shared.2.load(Ordering::Relaxed);
            if shared.0.validate(version) {
                assert_eq!(left, right);
            }
        }
        writer.join().expect("writes");
    });
}

#[test]
fn latch_validates_only_what_is_whole() {
    optimistic_model::<Proven>();
}

#[test]
#[should_panic]
fn mutant_latch_without_the_writers_fence_fails() {
    optimistic_model::<NoWriterFence>();
}

#[test]
#[should_panic]
fn mutant_latch_without_the_readers_fence_fails() {
    optimistic_model::<NoReaderFence>();
}

/// The lock starts in the distributed mode, and returns to it with every counted read.
fn distributed_model<O: LatchOrders + ReaderOrders + Send + Sync + 'static>() {
    read_twice_model(RawDistributed::<O>::new);
    read_write_model(Rows::OneEach, RawDistributed::<O>::new);
}

#[test]
fn distributed_rw_spin_excludes_and_publishes() {
    distributed_model::<Proven>();
}

#[test]
#[should_panic]
fn mutant_distributed_rw_spin_without_the_readers_barrier_fails() {
    distributed_model::<NoReaderBarrier>();
}

#[test]
#[should_panic]
fn mutant_distributed_rw_spin_without_the_writers_barrier_fails() {
    distributed_model::<NoWriterBarrier>();
}

#[test]
#[should_panic]
fn mutant_distributed_rw_spin_whose_readers_leave_relaxed_fails() {
    distributed_model::<WeakLeave>();
}

#[test]
#[should_panic]
fn mutant_distributed_rw_spin_whose_writer_looks_relaxed_at_the_rows_fails() {
    distributed_model::<WeakScan>();
}

impl VersionOrders for NoWriterFence {
    const WRITER_FENCE: bool = false;
    const READER_FENCE: Option<Ordering> = Some(Ordering::Acquire);
}

impl VersionOrders for NoReaderFence {
    const WRITER_FENCE: bool = true;
    const READER_FENCE: Option<Ordering> = None;
}

fn version_model<O: VersionOrders + Send + Sync + 'static>() {
    check(|| {
        let data = (VersionLatch::<O>::new(), AtomicU64::new(0), AtomicU64::new(0));
        let shared = Arc::new(data);
        let writer = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            let guard = writer.0.lock().expect("the node stays");
            writer.1.store(1, Ordering::Relaxed);
            writer.2.store(1, Ordering::Relaxed);
            drop(guard);
        });
        let version = shared.0.read().expect("the node stays");
        let left = shared.1.load(Ordering::Relaxed);
        let right = shared.2.load(Ordering::Relaxed);
        if shared.0.validate(version) {
            assert_eq!(left, right);
        }
        writer.join().expect("writes");
    });
}

#[test]
fn version_latch_validates_only_what_is_whole() {
    version_model::<Proven>();
}

#[test]
#[should_panic]
fn mutant_version_latch_without_the_writers_fence_fails() {
    version_model::<NoWriterFence>();
}

#[test]
#[should_panic]
fn mutant_version_latch_without_the_readers_fence_fails() {
    version_model::<NoReaderFence>();
}

/// Two values, of which a word selects the current one; the old one is "freed" by writing to it.
struct Published {
    current: AtomicUsize,
    values: [UnsafeCell<u32>; 2],
}

impl Published {
    fn new() -> Self {
        let values = [UnsafeCell::new(0), UnsafeCell::new(1)];
        Self { current: AtomicUsize::new(0), values }
    }

    fn use_current(&self) {
        let index = self.current.load(Ordering::Acquire);
        // SAFETY: a value that a pinned thread has read from `current` is not freed; loom checks
        // it.
        let seen = self.values[index].with(|value| unsafe { *value });
        assert_eq!(seen, u32::try_from(index).expect("is 0 or 1"), "a freed value");
    }
}

/// Advances the epoch as far as possible and frees the old value when allowed.
fn retire_old<O: EpochOrders>(domain: &Domain<O>, slot: &Slot, published: &Published) {
    published.current.store(1, Ordering::Release);
    let tag = domain.tag(slot);
    for _ in 0..2 {
        domain.quiescent(slot);
        domain.advance();
    }
    if domain.is_free(tag) {
        // SAFETY: no thread may read it any more; loom checks it.
        published.values[0].with_mut(|value| unsafe { *value = 99 });
    }
    domain.offline(slot);
}

/// Whether the reader goes online before or while the writer unlinks.
#[derive(Clone, Copy, PartialEq)]
enum GoesOnline {
    Early,
    Late,
}

/// When the reader of the model uses the value: before, between or after its quiescent points.
fn epoch_model<O: EpochOrders + Send + Sync + 'static>(goes_online: GoesOnline, uses: [bool; 3]) {
    // The reader's last quiescent point must fall between two advances of the epoch, twice.
    check_with(12, move || {
        let shared = Arc::new((Domain::<O>::new(), Published::new()));
        let (reader_slot, writer_slot) = (shared.0.join(), shared.0.join());
        shared.0.online(&writer_slot);
        // The epoch may be ahead of the retiring thread by one.
        shared.0.advance();
        shared.0.online(&reader_slot);
        let reader = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            let (domain, published) = &*reader;
            if goes_online == GoesOnline::Late {
                domain.offline(&reader_slot);
                domain.online(&reader_slot);
            }
            for (point, used) in uses.into_iter().enumerate() {
                if point > 0 {
                    domain.quiescent(&reader_slot);
                }
                if used {
                    published.use_current();
                }
            }
            domain.offline(&reader_slot);
        });
        retire_old(&shared.0, &writer_slot, &shared.1);
        reader.join().expect("reads");
    });
}

/// Only the reader advances the epoch, after its last use; the thread that has retired the value
/// only checks it.
fn distant_epoch_model<O: EpochOrders + Send + Sync + 'static>() {
    check(|| {
        let shared = Arc::new((Domain::<O>::new(), Published::new()));
        let (reader_slot, writer_slot) = (shared.0.join(), shared.0.join());
        shared.0.online(&reader_slot);
        let reader = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            let (domain, published) = &*reader;
            published.use_current();
            for _ in 0..4 {
                domain.quiescent(&reader_slot);
                domain.advance();
            }
            domain.offline(&reader_slot);
        });
        let (domain, published) = &*shared;
        domain.online(&writer_slot);
        published.current.store(1, Ordering::Release);
        let tag = domain.tag(&writer_slot);
        domain.offline(&writer_slot);
        if domain.is_free(tag) {
            // SAFETY: no thread may read it any more; loom checks it.
            published.values[0].with_mut(|value| unsafe { *value = 99 });
        }
        reader.join().expect("reads");
    });
}

const EARLY: [bool; 3] = [true, true, false];
const LATE: [bool; 3] = [false, false, true];

macro_rules! epoch_mutant {
    ($name:ident { $($constant:ident : $kind:ty = $value:expr;)+ }) => {
        struct $name;
        impl EpochOrders for $name {
            $( const $constant: $kind = $value; )+
        }
    };
}

epoch_mutant!(WeakSlotStore {
    SLOT_STORE: Ordering = Ordering::Relaxed;
    SLOT_LOAD: Ordering = Ordering::Acquire;
    EPOCH_LOAD: Ordering = Ordering::Acquire;
    ONLINE_FENCE: bool = true;
    DELAY: u64 = 3;
});
epoch_mutant!(WeakSlotLoad {
    SLOT_STORE: Ordering = Ordering::Release;
    SLOT_LOAD: Ordering = Ordering::Relaxed;
    EPOCH_LOAD: Ordering = Ordering::Acquire;
    ONLINE_FENCE: bool = true;
    DELAY: u64 = 3;
});
epoch_mutant!(WeakEpochLoad {
    SLOT_STORE: Ordering = Ordering::Release;
    SLOT_LOAD: Ordering = Ordering::Acquire;
    EPOCH_LOAD: Ordering = Ordering::Relaxed;
    ONLINE_FENCE: bool = true;
    DELAY: u64 = 3;
});
epoch_mutant!(NoOnlineFence {
    SLOT_STORE: Ordering = Ordering::Release;
    SLOT_LOAD: Ordering = Ordering::Acquire;
    EPOCH_LOAD: Ordering = Ordering::Acquire;
    ONLINE_FENCE: bool = false;
    DELAY: u64 = 3;
});
epoch_mutant!(TooSoon {
    SLOT_STORE: Ordering = Ordering::Release;
    SLOT_LOAD: Ordering = Ordering::Acquire;
    EPOCH_LOAD: Ordering = Ordering::Acquire;
    ONLINE_FENCE: bool = true;
    DELAY: u64 = 2;
});

#[test]
fn epoch_frees_nothing_that_can_be_seen() {
    epoch_model::<Proven>(GoesOnline::Late, EARLY);
    epoch_model::<Proven>(GoesOnline::Early, LATE);
}

#[test]
#[should_panic]
fn mutant_epoch_with_relaxed_slot_stores_fails() {
    epoch_model::<WeakSlotStore>(GoesOnline::Late, EARLY);
}

#[test]
#[should_panic]
fn mutant_epoch_with_relaxed_slot_loads_fails() {
    epoch_model::<WeakSlotLoad>(GoesOnline::Late, EARLY);
}

#[test]
fn epoch_that_another_thread_moves_frees_nothing_that_can_be_seen() {
    distant_epoch_model::<Proven>();
}

#[test]
#[should_panic]
fn mutant_epoch_with_relaxed_epoch_loads_fails_where_another_thread_moves_it() {
    distant_epoch_model::<WeakEpochLoad>();
}

#[test]
#[should_panic]
fn mutant_epoch_without_the_online_fence_fails() {
    epoch_model::<NoOnlineFence>(GoesOnline::Late, EARLY);
}

#[test]
#[should_panic]
fn mutant_epoch_that_frees_too_soon_fails() {
    epoch_model::<TooSoon>(GoesOnline::Late, EARLY);
}
