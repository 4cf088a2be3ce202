//! Models of the parking lot, of the latch's queue and of the baton under shuttle: random schedules
//! in which no wake-up may be lost, writers are alone and one worker at a time holds a scheduler;
//! and mutants that must fail.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test -p sos --release --test shuttle --target-dir
//! target/shuttle`
#![cfg(shuttle)]

use shuttle::sync::atomic::{AtomicBool, AtomicU32};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;
use sos::lock::{LatchClass, LatchOrders, Proven, RawRwLatch, ReaderOrders, Row, SpinClass};
use sos::park::{Lot, Queue, QueueOrders, Waiter};
use sos::sched::baton::{Baton, Grant, Passed, Seat};
use sos::sync::Ordering;

const SCHEDULES: usize = 20_000;

/// Runs random schedules. A lost wake-up shows as a deadlock, which fails the check.
fn check(model: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(model, SCHEDULES);
}

/// When the parking thread checks its condition.
#[derive(Clone, Copy)]
enum Check {
    UnderTheLock,
    BeforeTheLock,
}

fn park_model(when: Check) {
    check(move || {
        let shared = Arc::new((Lot::new(), AtomicBool::new(false)));
        let waker = Arc::clone(&shared);
        let waker = thread::spawn(move || {
            waker.1.store(true, Ordering::SeqCst);
            waker.0.unpark_all(1, 0);
        });
        let (lot, ready) = &*shared;
        while !ready.load(Ordering::SeqCst) {
            let waiter = match when {
                Check::UnderTheLock => lot.enter(1, || !ready.load(Ordering::SeqCst)),
                Check::BeforeTheLock => lot.enter(1, || true),
            };
            if let Some(waiter) = waiter {
                waiter.word.wait(None);
            }
        }
        waker.join().expect("wakes");
    });
}

#[test]
fn parking_loses_no_wake_up() {
    park_model(Check::UnderTheLock);
}

#[test]
#[should_panic]
fn mutant_that_checks_before_the_lock_loses_a_wake_up() {
    park_model(Check::BeforeTheLock);
}

#[test]
fn cancelled_waiter_does_not_swallow_a_wake_up() {
    check(|| {
        let lot = Arc::new(Lot::new());
        let one = lot.enter(1, || true).expect("waits");
        let two = lot.enter(1, || true).expect("waits");
        let cancelled = sos::sync::Arc::clone(&one);
        let canceller = thread::spawn(move || cancelled.end(Waiter::CANCELLED, 0));
        let waker = Arc::clone(&lot);
        let waker = thread::spawn(move || waker.unpark_one(1, 0));
        let first = one.word.wait(None);
        if first == Waiter::CANCELLED {
            lot.leave(1, &one);
            assert_eq!(two.word.wait(None), Waiter::SIGNALLED);
        }
        canceller.join().expect("cancels");
        assert!(waker.join().expect("wakes"));
    });
}

/// A queue with the parking lot at which both sides wait, as a crew does at its bell.
struct HandOver<O> {
    queue: Queue<u32, O>,
    lot: Lot,
}

const PUT_BY_EACH: u32 = 3;

impl<O: QueueOrders> HandOver<O> {
    fn wait(&self, must_wait: impl FnOnce() -> bool) {
        if let Some(waiter) = self.lot.enter(1, must_wait) {
            waiter.word.wait(None);
        }
    }

    /// Puts values, as a helper of a parallel plan does.
    fn put(&self) {
        for value in 0..PUT_BY_EACH {
            while self.queue.is_full() {
                self.wait(|| self.queue.is_full());
            }
            self.queue.push(value);
            self.lot.unpark_all(1, 0);
        }
    }

    /// Takes values, as the leader does, until all helpers are done.
    fn take(&self, helpers: u32) {
        let (mut count, mut sum) = (0, 0);
        while count < helpers * PUT_BY_EACH {
            match self.queue.pop() {
                Some((value, was_full)) => {
                    (count, sum) = (count + 1, sum + value);
                    if was_full {
                        self.lot.unpark_all(1, 0);
                    }
                }
                None => self.wait(|| self.queue.is_empty()),
            }
        }
        assert_eq!(sum, helpers * (0..PUT_BY_EACH).sum::<u32>(), "each value comes once");
        assert!(self.queue.pop().is_none());
    }
}

fn hand_over_queue_model<O: QueueOrders + Send + Sync + 'static>(helpers: u32) {
    check(move || {
        // With room for one value only, a queue that is not empty is full, and no wake-up can be
        // missed.
        let queue = Queue::<u32, O>::new(SpinClass::ServerOther, 2);
        let shared = Arc::new(HandOver { queue, lot: Lot::new() });
        let helping: Vec<_> = (0..helpers)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.put())
            })
            .collect();
        shared.take(helpers);
        helping.into_iter().for_each(|helper| helper.join().expect("puts all"));
    });
}

struct LooksBefore;

impl QueueOrders for LooksBefore {
    const LOOKS_AT_ONCE: bool = false;
}

#[test]
fn neither_side_of_a_queue_waits_for_good() {
    hand_over_queue_model::<Proven>(1);
    hand_over_queue_model::<Proven>(2);
}

#[test]
#[should_panic]
fn mutant_that_looks_before_it_takes_leaves_who_puts_waiting() {
    hand_over_queue_model::<LooksBefore>(1);
}

/// One scheduler, with a poller made of a flag and a condition variable.
struct Machine {
    baton: Baton,
    holders: AtomicU32,
    kicked: Mutex<bool>,
    changed: Condvar,
    requests_done: AtomicU32,
}

const WAITING_REQUESTS: u32 = 2;

impl Machine {
    fn new() -> Self {
        Self {
            baton: Baton::new(),
            holders: AtomicU32::new(0),
            kicked: Mutex::new(false),
            changed: Condvar::new(),
            requests_done: AtomicU32::new(0),
        }
    }

    fn kick(&self) {
        *self.kicked.lock().expect("no panic under it") = true;
        self.changed.notify_all();
    }

    fn sleep_in_poller(&self) {
        let mut kicked = self.kicked.lock().expect("no panic under it");
        while !*kicked {
            kicked = self.changed.wait(kicked).expect("no panic under it");
        }
        *kicked = false;
    }

    fn holding(&self) {
        assert_eq!(self.holders.fetch_add(1, Ordering::SeqCst), 0, "two workers hold it");
    }

    fn letting_go(&self) {
        self.holders.fetch_sub(1, Ordering::SeqCst);
    }

    fn is_done(&self) -> bool {
        self.requests_done.load(Ordering::SeqCst) == WAITING_REQUESTS
    }

    /// The loop of a worker that holds the scheduler.
    fn serve(&self, seat: &sos::sync::Arc<Seat>) {
        loop {
            if self.is_done() {
                self.letting_go();
                self.baton.dismiss();
                self.baton.abandon();
                return;
            }
            if self.baton.has_signalled() || self.baton.has_yielded() {
                self.letting_go();
                let grant = self.baton.rest(seat, || None);
                match grant {
                    Some(Grant::Exit | Grant::Unneeded) => return,
                    None | Some(Grant::Scheduler) => self.holding(),
                }
                continue;
            }
            self.baton.poll(|| self.sleep_in_poller());
        }
    }
}

/// How a returning worker announces itself to a holder that may sleep in the poller.
#[derive(Clone, Copy)]
enum Kick {
    Given,
    Forgotten,
}

/// A worker in the middle of a request that waits, comes back, finishes and serves on.
fn waiting_worker(machine: &Machine, kick: Kick) {
    let seat = sos::sync::Arc::new(Seat::default());
    machine.baton.take(&seat, || match kick {
        Kick::Given => machine.kick(),
        Kick::Forgotten => {}
    });
    machine.holding();
    machine.requests_done.fetch_add(1, Ordering::SeqCst);
    machine.serve(&seat);
}

fn hand_over_model(kick: Kick) {
    check(move || {
        let machine = Arc::new(Machine::new());
        let workers: Vec<_> = (0..WAITING_REQUESTS)
            .map(|_| {
                let machine = Arc::clone(&machine);
                thread::spawn(move || waiting_worker(&machine, kick))
            })
            .collect();
        machine.holding();
        machine.serve(&sos::sync::Arc::new(Seat::default()));
        for worker in workers {
            worker.join().expect("serves");
        }
        assert!(machine.is_done());
    });
}

#[test]
fn returning_workers_always_get_the_scheduler_and_one_at_a_time() {
    hand_over_model(Kick::Given);
}

#[test]
#[should_panic]
fn mutant_that_forgets_the_kick_leaves_a_worker_waiting() {
    hand_over_model(Kick::Forgotten);
}

#[test]
fn yielding_worker_comes_back_and_an_abandoned_scheduler_is_taken() {
    check(|| {
        let machine = Arc::new(Machine::new());
        let other = Arc::clone(&machine);
        // Returns from a wait while the first worker yields and then gives the scheduler up.
        let returning = thread::spawn(move || {
            let seat = sos::sync::Arc::new(Seat::default());
            other.baton.take(&seat, || panic!("nobody polls in this model"));
            other.holding();
            other.letting_go();
            if other.baton.pass() == Passed::Nobody {
                other.baton.abandon();
            }
        });
        let seat = sos::sync::Arc::new(Seat::default());
        machine.holding();
        machine.letting_go();
        machine.baton.offer(&seat, || false);
        machine.holding();
        machine.letting_go();
        if machine.baton.pass() == Passed::Nobody {
            machine.baton.abandon();
        }
        returning.join().expect("returns");
        // The next worker finds it free.
        machine.baton.take(&seat, || panic!("nobody polls in this model"));
    });
}

/// Takes the scheduler now and then if no worker holds it, as the monitor does.
fn tend(machine: &Machine) {
    for _ in 0..2 {
        if machine.baton.take_if_free() {
            machine.holding();
            machine.letting_go();
            machine.baton.abandon();
        }
    }
}

#[test]
fn tending_an_unattended_scheduler_keeps_nobody_out_for_ever() {
    check(|| {
        let machine = Arc::new(Machine::new());
        let others: Vec<_> = (0..2)
            .map(|_| {
                let machine = Arc::clone(&machine);
                thread::spawn(move || {
                    let seat = sos::sync::Arc::new(Seat::default());
                    machine.baton.take(&seat, || panic!("nobody polls in this model"));
                    machine.holding();
                    machine.letting_go();
                    machine.baton.abandon();
                })
            })
            .collect();
        let monitor = Arc::clone(&machine);
        let monitor = thread::spawn(move || tend(&monitor));
        machine.holding();
        machine.letting_go();
        machine.baton.abandon();
        for other in others {
            other.join().expect("returns");
        }
        monitor.join().expect("tends");
        assert!(machine.baton.is_unattended() && machine.baton.take_if_free());
    });
}

/// A latch and the data that it guards: the readers and writers inside, and the number of writes.
struct Guarded<O> {
    latch: RawRwLatch<O>,
    inside: AtomicU32,
    writes: AtomicU32,
    rows: Vec<Row>,
}

const WRITER_INSIDE: u32 = 1_000;

impl<O: LatchOrders + ReaderOrders> Guarded<O> {
    fn new(latch: RawRwLatch<O>, threads: usize) -> Self {
        let rows = (0..threads).map(|_| Row::new()).collect();
        Self { latch, inside: AtomicU32::new(0), writes: AtomicU32::new(0), rows }
    }

    fn read(&self, thread: usize) {
        let (hold, _) = self.latch.read(self.rows.get(thread), LatchClass::Other);
        assert!(self.inside.fetch_add(1, Ordering::SeqCst) < WRITER_INSIDE, "a writer is inside");
        thread::yield_now();
        self.inside.fetch_sub(1, Ordering::SeqCst);
        self.latch.free_read(hold);
    }

    fn write(&self) {
        let _ = self.latch.write(|| &self.rows, LatchClass::Other);
        assert_eq!(self.inside.fetch_add(WRITER_INSIDE, Ordering::SeqCst), 0, "not alone");
        thread::yield_now();
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.inside.fetch_sub(WRITER_INSIDE, Ordering::SeqCst);
        self.latch.free_write();
    }
}

/// What a thread of the model does, twice, so that a thread overtaken once must be handed the
/// latch.
#[derive(Clone, Copy)]
enum Role {
    Reads,
    Writes,
    ReadsThenWrites,
}

fn latch_model<O>(make: fn() -> RawRwLatch<O>, roles: &'static [Role])
where
    O: LatchOrders + ReaderOrders + Send + Sync + 'static,
{
    check(move || {
        let guarded = Arc::new(Guarded::new(make(), roles.len()));
        let start = |(number, &role): (usize, &Role)| {
            let guarded = Arc::clone(&guarded);
            thread::spawn(move || {
                for _ in 0..2 {
                    match role {
                        Role::Reads => guarded.read(number),
                        Role::Writes => guarded.write(),
                        Role::ReadsThenWrites => {
                            guarded.read(number);
                            guarded.write();
                        }
                    }
                }
            })
        };
        let threads: Vec<_> = roles.iter().enumerate().map(start).collect();
        for thread in threads {
            thread.join().expect("gets in");
        }
        let writers = roles.iter().filter(|role| !matches!(role, Role::Reads)).count();
        let writes = guarded.writes.load(Ordering::SeqCst);
        assert_eq!(usize::try_from(writes).expect("small"), writers * 2);
    });
}

const MIXED: &[Role] = &[Role::Reads, Role::Writes, Role::ReadsThenWrites, Role::Reads];
const WRITERS: &[Role] = &[Role::Writes, Role::Writes, Role::Writes];

#[test]
fn latch_loses_no_waiter_and_keeps_writers_alone() {
    latch_model(RawRwLatch::<Proven>::new, MIXED);
    latch_model(RawRwLatch::<Proven>::new, WRITERS);
}

#[test]
fn latch_in_favour_of_readers_loses_no_waiter_and_keeps_writers_alone() {
    latch_model(RawRwLatch::<Proven>::favouring_readers, MIXED);
}

/// Mutants of the latch's queue.
struct LooksOnce;
struct LastReaderSleepsOn;
struct SaysNothing;

macro_rules! queue_mutant {
    ($name:ident { $step:ident }) => {
        impl LatchOrders for $name {
            const TAKE: Ordering = Ordering::Acquire;
            const FREE: Ordering = Ordering::Release;
            const WRITER_FENCE: bool = true;
            const VALIDATE_FENCE: bool = true;
            const $step: bool = false;
        }
        impl ReaderOrders for $name {
            const READER_BARRIER: bool = true;
            const WRITER_BARRIER: bool = true;
            const LEAVE: Ordering = Ordering::Release;
            const SCAN: Ordering = Ordering::Acquire;
        }
    };
}

queue_mutant!(LooksOnce { LOOKS_AGAIN });
queue_mutant!(LastReaderSleepsOn { LAST_READER_WAKES });
queue_mutant!(SaysNothing { SAYS_IT_IS_THERE });

#[test]
#[should_panic]
fn mutant_latch_that_does_not_look_again_loses_a_wake_up() {
    latch_model(RawRwLatch::<LooksOnce>::new, WRITERS);
}

#[test]
#[should_panic]
fn mutant_latch_whose_woken_threads_say_nothing_leaves_others_waiting() {
    latch_model(RawRwLatch::<SaysNothing>::new, MIXED);
}

#[test]
#[should_panic]
fn mutant_latch_whose_last_reader_does_not_wake_leaves_a_writer_waiting() {
    latch_model(RawRwLatch::<LastReaderSleepsOn>::new, MIXED);
}
