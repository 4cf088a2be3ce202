//! Models of the locks and of reclamation, checked by loom under every interleaving and every
//! reordering that the memory model allows; and mutants with one ordering too weak, which must fail,
//! so that we know that the models can see.
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
    DistributedOrders, LatchClass, LatchOrders, Proven, RawDistributed, RawRwLatch, RawRwSpin,
    RawSpin, SpinClass, SpinOrders, VersionLatch, VersionOrders, WordMode,
};
use sos::sync::Ordering;

const CLASS: SpinClass = SpinClass::ServerOther;

fn check(model: impl Fn() + Send + Sync + 'static) {
    check_with(3, model);
}

/// Checks all schedules with up to so many preemptions.
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

impl LatchOrders for WeakTake {
    const TAKE: Ordering = Ordering::Relaxed;
    const FREE: Ordering = Ordering::Release;
}

impl LatchOrders for WeakFree {
    const TAKE: Ordering = Ordering::Acquire;
    const FREE: Ordering = Ordering::Relaxed;
}

fn add_one(cell: &UnsafeCell<u32>) {
    // SAFETY: the lock under test is held; loom reports it if that excludes nobody.
    cell.with_mut(|value| unsafe { *value += 1 });
}

fn read(cell: &UnsafeCell<u32>) -> u32 {
    // SAFETY: as above.
    cell.with(|value| unsafe { *value })
}

fn spin_model<O: SpinOrders + Send + Sync + 'static>() {
    check(|| {
        let shared = Arc::new((RawSpin::<O>::new(), UnsafeCell::new(0)));
        let other = Arc::clone(&shared);
        let add = |shared: &(RawSpin<O>, UnsafeCell<u32>)| {
            shared.0.take(CLASS);
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

/// A lock with readers and writers, as the models below see it.
trait ReadWrite: Send + Sync + 'static {
    fn read(&self);
    fn free_read(&self);
    fn write(&self);
    fn free_write(&self);
}

impl<O: LatchOrders + Send + Sync + 'static> ReadWrite for RawRwSpin<O> {
    fn read(&self) {
        self.read(CLASS);
    }
    fn free_read(&self) {
        self.free_read();
    }
    fn write(&self) {
        self.write(CLASS);
    }
    fn free_write(&self) {
        self.free_write();
    }
}

impl<O: LatchOrders + Send + Sync + 'static> ReadWrite for RawRwLatch<O> {
    fn read(&self) {
        self.read(LatchClass::Other);
    }
    fn free_read(&self) {
        self.free_read();
    }
    fn write(&self) {
        self.write(LatchClass::Other);
    }
    fn free_write(&self) {
        self.free_write();
    }
}

/// One thread writes; the other reads, then writes as well. Two threads: with a third one, spinning
/// makes the number of interleavings endless.
fn read_write_model<L: ReadWrite>(make: impl Fn() -> L + Send + Sync + 'static) {
    check(move || {
        let shared = Arc::new((make(), UnsafeCell::new(0)));
        let writer = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            writer.0.write();
            add_one(&writer.1);
            writer.0.free_write();
        });
        shared.0.read();
        assert!(read(&shared.1) <= 1);
        shared.0.free_read();
        shared.0.write();
        add_one(&shared.1);
        shared.0.free_write();
        writer.join().expect("writes");
        assert_eq!(read(&shared.1), 2);
    });
}

fn rw_spin_model<O: LatchOrders + Send + Sync + 'static>(mode: WordMode) {
    read_write_model(move || RawRwSpin::<O>::new(mode));
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

fn latch_model<O: LatchOrders + Send + Sync + 'static>() {
    read_write_model(RawRwLatch::<O>::new);
}

#[test]
fn latch_excludes_and_publishes() {
    latch_model::<Proven>();
}

#[test]
#[should_panic]
fn mutant_latch_that_takes_relaxed_fails() {
    latch_model::<WeakTake>();
}

#[test]
#[should_panic]
fn mutant_latch_that_frees_relaxed_fails() {
    latch_model::<WeakFree>();
}

struct NoReaderBarrier;

impl DistributedOrders for NoReaderBarrier {
    const READER_BARRIER: bool = false;
    const FREE: Ordering = Ordering::Release;
}

impl DistributedOrders for WeakFree {
    const READER_BARRIER: bool = true;
    const FREE: Ordering = Ordering::Relaxed;
}

fn distributed_model<O: DistributedOrders + Send + Sync + 'static>() {
    check(|| {
        let shared = Arc::new((RawDistributed::<O>::new(), UnsafeCell::new(0)));
        let reader = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            reader.0.read_as(0, CLASS);
            let seen = read(&reader.1);
            reader.0.free_read_as(0);
            assert!(seen <= 1);
        });
        shared.0.write(CLASS);
        add_one(&shared.1);
        shared.0.free_write();
        reader.join().expect("reads");
    });
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
fn mutant_distributed_rw_spin_that_frees_relaxed_fails() {
    distributed_model::<WeakFree>();
}

struct NoWriterFence;
struct NoReaderFence;

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

/// Two values of which a word names the current one; the old one is "freed" by writing to it.
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
        // SAFETY: what a pinned thread has read from `current` is not freed; loom checks it.
        let seen = self.values[index].with(|value| unsafe { *value });
        assert_eq!(seen, u32::try_from(index).expect("is 0 or 1"), "a freed value");
    }
}

/// Moves the epoch as far as it goes and frees the old value when it may.
fn retire_old<O: EpochOrders>(domain: &Domain<O>, slot: &Slot, published: &Published) {
    published.current.store(1, Ordering::Release);
    let tag = domain.tag(slot);
    for _ in 0..2 {
        domain.quiescent(slot);
        domain.advance();
    }
    if domain.is_free(tag) {
        // SAFETY: nobody may read it any more; loom checks it.
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
    // The reader's last quiescent point must fall between two moves of the epoch, twice.
    check_with(12, move || {
        let shared = Arc::new((Domain::<O>::new(), Published::new()));
        let (reader_slot, writer_slot) = (shared.0.join(), shared.0.join());
        shared.0.online(&writer_slot);
        // The epoch may run ahead of the retiring thread by one.
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
#[should_panic]
fn mutant_epoch_without_the_online_fence_fails() {
    epoch_model::<NoOnlineFence>(GoesOnline::Late, EARLY);
}

#[test]
#[should_panic]
fn mutant_epoch_that_frees_too_soon_fails() {
    epoch_model::<TooSoon>(GoesOnline::Late, EARLY);
}
