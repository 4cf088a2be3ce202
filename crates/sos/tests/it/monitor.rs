//! Tests of the activities and rows that a machine reports, and of the stalls that its monitor
//! finds.

use std::time::Duration;

use sos::clock;
use sos::park;
use sos::sched::{Blocker, MachineConfig, Role, Stall, StallKind, Standing};
use sos::wait::WaitType;

use crate::machine::{
    BLOCK, BUSY, CANCEL, HOLD, KEY, PARK, PARK_SHARED, SLEEP, STALL_MS, Server, TAG, URGENT,
    ms_since,
};

fn pause(ms: u64) {
    park::sleep(Duration::from_millis(ms), WaitType::WaitFor, None);
}

/// Waits until the condition holds; `what` names it in a failure.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline_ns = clock::deadline_ns(Duration::from_secs(20));
    while !is_so() {
        assert!(clock::monotonic_ns() < deadline_ns, "not within 20 s: {what}");
        pause(1);
    }
}

fn with_workers(workers_max: usize) -> Server {
    Server::with(&MachineConfig { schedulers: 1, workers_max, ..MachineConfig::default() })
}

fn stalls(server: &Server, kind: StallKind) -> Vec<Stall> {
    server.machine.stalls().into_iter().filter(|stall| stall.kind == kind).collect()
}

#[test]
fn waiting_task_shows_what_it_waits_for_and_behind_whom() {
    let server = Server::start(1);
    let client = server.client();
    client.send(&[PARK_SHARED]);
    let mut seen = None;
    until("a thread waits", || {
        let found = server.machine.activities().into_iter().find_map(|activity| {
            let waiting = activity.waiting()?;
            (waiting.address == KEY).then_some((activity, waiting))
        });
        seen = found;
        seen.is_some()
    });
    let (activity, waiting) = seen.expect("was seen");
    assert_eq!(waiting.wait_type, WaitType::LockExclusive);
    assert_eq!(waiting.blocker, Some(Blocker::Work(TAG + 1)));
    assert_eq!((activity.work(), activity.role()), (Some(TAG), Role::Worker(0)));
    assert_eq!(activity.standing(), Standing::Waiting);
    until("it is woken", || park::unpark_all(KEY) > 0);
    assert_eq!(client.receive(), b"Signalled");
    until("it waits no more", || activity.waiting().is_none());
    assert_eq!((activity.tasks(), activity.waits()), (1, 1));
    server.stop();
    assert!(server.machine.activities().is_empty(), "threads that have ended are gone");
}

#[test]
fn wait_for_a_latch_names_the_thread_that_has_it() {
    let server = Server::start(1);
    let clients = [server.client(), server.client()];
    clients.iter().for_each(|client| client.send(&[HOLD]));
    let mut seen = None;
    until("one of them waits for the latch", || {
        let threads = server.machine.activities();
        seen = threads.iter().find_map(|thread| {
            let waiting = thread.waiting()?;
            (waiting.wait_type == WaitType::LatchExclusive).then_some((thread.number(), waiting))
        });
        seen.is_some()
    });
    let (waiter, waiting) = seen.expect("was seen");
    let Some(Blocker::Thread(holder)) = waiting.blocker else { panic!("{waiting:?}") };
    assert_ne!(holder, waiter);
    let threads = server.machine.activities();
    let holder = threads.iter().find(|thread| thread.number() == holder).expect("it lives");
    assert_eq!(holder.last_wait(), Some(WaitType::WaitFor));
    assert_ne!(waiting.address, 0);
    clients.iter().for_each(|client| assert_eq!(client.receive(), b"held"));
    server.stop();
}

#[test]
fn attention_reaches_a_request_when_every_worker_there_may_be_waits() {
    let server = with_workers(1);
    let client = server.client();
    client.send(&[PARK]);
    pause(50);
    client.send(&[CANCEL]);
    assert_eq!(client.receive(), b"Cancelled");
    server.stop();
}

#[test]
fn request_without_a_worker_is_a_threadpool_wait() {
    let server = with_workers(1);
    let (holder, other) = (server.client(), server.client());
    assert_eq!(other.ask(b"warm"), b"warm");
    let refused = server.machine.schedulers()[0].counts.refused_hires;
    holder.send(&[SLEEP]);
    pause(20);
    let start = clock::monotonic_ns();
    other.send(b"late");
    until("it is queued", || server.machine.schedulers()[0].queued == 1);
    let since = server.machine.schedulers()[0].queued_since.clone();
    assert!(since.len() == 1 && since[0] <= sos::clock::now_ticks(), "{since:?}");
    assert_eq!(other.receive(), b"late");
    let waited_ms = ms_since(start);
    assert_eq!(holder.receive(), b"TimedOut");
    until("it is booked", || server.waits(WaitType::ThreadPool).count == 1);
    let row = server.waits(WaitType::ThreadPool);
    assert!(row.wait_ns / 1_000_000 <= waited_ms + 5, "{row:?} in {waited_ms} ms");
    let after = &server.machine.schedulers()[0];
    assert!(after.counts.refused_hires > refused && after.queued == 0, "{after:?}");
    server.stop();
}

#[test]
fn urgent_request_is_answered_while_every_worker_waits() {
    let server = with_workers(1);
    let (holder, urgent, other) = (server.client(), server.client(), server.client());
    assert_eq!(urgent.ask(&[URGENT]), [URGENT]);
    assert_eq!(other.ask(b"warm"), b"warm");
    holder.send(&[PARK]);
    until("the worker waits", || server.machine.schedulers()[0].counts.holder == 0);
    other.send(b"late");
    until("the other is queued", || server.machine.schedulers()[0].queued == 1);
    // One after the other, each by a worker that ends.
    for text in ["now", "again"] {
        assert_eq!(urgent.ask(text.as_bytes()), text.as_bytes());
    }
    assert_eq!(server.machine.schedulers()[0].queued, 1, "the other still waits");
    // An urgent request that waits itself gives the scheduler up as well.
    urgent.send(&[PARK]);
    until("both wait", || {
        let threads = server.machine.activities();
        threads.iter().filter(|one| one.work() == Some(TAG) && one.waiting().is_some()).count() == 2
    });
    holder.send(&[CANCEL]);
    assert_eq!(holder.receive(), b"Cancelled");
    assert_eq!(other.receive(), b"late");
    urgent.send(&[CANCEL]);
    assert_eq!(urgent.receive(), b"Cancelled");
    until("the worker beyond the limit has ended", || server.machine.schedulers()[0].workers == 1);
    server.stop();
}

#[test]
fn worker_that_does_not_yield_is_found() {
    let server = Server::start(1);
    let client = server.client();
    assert_eq!(client.ask(&[BUSY]), b"was busy");
    let found = stalls(&server, StallKind::NonYielding);
    let longest = found.iter().max_by_key(|stall| stall.duration_ns).expect("is found");
    assert!(longest.duration_ns / 1_000_000 > STALL_MS / 3, "{longest:?}");
    assert!(longest.duration_ns / 1_000_000 < STALL_MS + 1000, "{longest:?}");
    assert_eq!((longest.scheduler, longest.work), (Some(0), Some(TAG)));
    assert!(longest.looks > 1, "{longest:?}");
    let worker = server.machine.activities().into_iter().find(|a| a.role() == Role::Worker(0));
    assert_eq!(longest.thread_id, worker.map(|worker| worker.thread_id()));
    server.stop();
}

#[test]
fn worker_that_blocks_with_its_scheduler_in_hand_is_found() {
    let server = Server::start(1);
    let client = server.client();
    assert_eq!(client.ask(&[BLOCK]), b"blocked");
    let found = stalls(&server, StallKind::Blocked);
    assert!(found.iter().any(|stall| stall.work == Some(TAG)), "{:?}", server.machine.stalls());
    server.stop();
}

/// A worker that the system does not run for a while stalls in truth, between its wait and its rest: so
/// one of several machines is without.
#[test]
fn waiting_or_idle_schedulers_do_not_stall() {
    let is_ours = |stall: &Stall| stall.kind != StallKind::Machine;
    let mut found = Vec::new();
    for _ in 0..8 {
        let server = Server::start(2);
        let client = server.client();
        assert_eq!(client.ask(&[SLEEP]), b"TimedOut");
        pause(100);
        found = server.machine.stalls().into_iter().filter(is_ours).collect();
        server.stop();
        if found.is_empty() {
            return;
        }
    }
    panic!("{found:?}");
}

#[test]
fn idle_machine_wakes_its_monitor_ten_times_a_second() {
    let server = Server::start(2);
    pause(100);
    let monitor = server.machine.activities().into_iter().find(|a| a.name() == "monitor");
    let monitor = monitor.expect("there is one").number();
    let naps = || {
        let threads = server.machine.accounts().threads();
        let account = threads.iter().find(|account| account.number() == monitor);
        account.expect("it lives").wait(WaitType::SleepTask).count.get()
    };
    let (before, start) = (naps(), clock::monotonic_ns());
    pause(500);
    let (naps, ms) = (naps() - before, ms_since(start));
    assert!(naps <= ms / 100 + 1, "{naps} in {ms} ms");
    server.stop();
}

#[test]
fn idle_workers_book_their_idleness() {
    let server = Server::start(1);
    let client = server.client();
    assert_eq!(client.ask(b"one"), b"one");
    pause(30);
    assert_eq!(client.ask(b"two"), b"two");
    let row = server.waits(WaitType::WorkDispatcher);
    assert!(row.count >= 2 && row.wait_ns >= 30_000_000, "{row:?}");
    let scheduler = &server.machine.schedulers()[0];
    assert!(scheduler.counts.idle_switches >= 2, "{scheduler:?}");
    until("the worker is idle", || server.machine.schedulers()[0].is_idle);
    let worker = server.machine.activities().into_iter().find(|a| a.role() == Role::Worker(0));
    let worker = worker.expect("there is one");
    until("it says so", || worker.standing() == Standing::Idle);
    assert_eq!(worker.last_wait(), Some(WaitType::WorkDispatcher));
    server.stop();
}

#[test]
fn two_stalls_are_two_rows() {
    let server = Server::start(1);
    let client = server.client();
    for _ in 0..2 {
        assert_eq!(client.ask(&[BUSY]), b"was busy");
    }
    let found = stalls(&server, StallKind::NonYielding);
    assert!(found.len() >= 2, "{found:?}");
    assert!(found.is_sorted_by_key(|stall| stall.began_100ns), "{found:?}");
    server.stop();
}
