//! Deliberate shared writes, so that the census is known to see them.

use std::sync::Arc as StdArc;

use census::{Domain, Report, Symbols};
use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicU64, CachePadded, Ordering};

/// Turns of each of two threads.
pub(crate) const TURNS: u64 = 200;

/// What two threads do in turn.
struct Shared {
    turn: CachePadded<AtomicU64>,
    counter: CachePadded<AtomicU64>,
    counted: StdArc<u64>,
    locked: CachePadded<SpinLock<u64>>,
    apart: [CachePadded<AtomicU64>; 2],
    neighbours: CachePadded<[AtomicU64; 2]>,
    only_read: u64,
}

/// Lets two threads that count as schedulers take turns.
pub(crate) fn count(symbols: &mut Symbols) -> Report {
    let shared = Shared {
        turn: CachePadded::new(AtomicU64::new(0)),
        counter: CachePadded::new(AtomicU64::new(0)),
        counted: StdArc::new(7),
        locked: CachePadded::new(SpinLock::new(SpinClass::ServerOther, 0)),
        apart: [const { CachePadded::new(AtomicU64::new(0)) }; 2],
        neighbours: CachePadded::new([const { AtomicU64::new(0) }; 2]),
        only_read: 5,
    };
    census::forget_counts();
    std::thread::scope(|scope| {
        let shared = &shared;
        for number in 0..2 {
            scope.spawn(move || run(shared, number));
        }
    });
    symbols.report()
}

fn run(shared: &Shared, number: u16) {
    census::enter(Domain::Scheduler(number));
    for turn in 0..TURNS {
        wait_for(&shared.turn, turn * 2 + u64::from(number));
        shared_counter(shared);
        reference_count(shared);
        plain_store_under_lock(shared);
        own_counter(shared, number);
        false_sharing(shared, number);
        read_only(shared);
        shared.turn.fetch_add(1, Ordering::SeqCst);
    }
    census::leave();
}

fn wait_for(turn: &AtomicU64, wanted: u64) {
    while turn.load(Ordering::SeqCst) != wanted {
        std::thread::yield_now();
    }
}

#[inline(never)]
fn shared_counter(shared: &Shared) {
    // Looked at afterwards, so that the call of the hook is not the function's last one: that would
    // leave the function's name out.
    std::hint::black_box(shared.counter.fetch_add(1, Ordering::Relaxed));
}

#[inline(never)]
fn reference_count(shared: &Shared) {
    drop(std::hint::black_box(StdArc::clone(&shared.counted)));
}

#[inline(never)]
fn plain_store_under_lock(shared: &Shared) {
    *shared.locked.lock() += 1;
}

#[inline(never)]
fn own_counter(shared: &Shared, number: u16) {
    std::hint::black_box(shared.apart[usize::from(number)].fetch_add(1, Ordering::Relaxed));
}

#[inline(never)]
fn false_sharing(shared: &Shared, number: u16) {
    shared.neighbours[usize::from(number)].store(1, Ordering::Relaxed);
    std::hint::black_box(());
}

#[inline(never)]
fn read_only(shared: &Shared) {
    std::hint::black_box(shared.only_read);
}
