//! Tests of crews: which schedulers are asked, which items are revoked, what happens after a panic,
//! and that a scheduler that helps still serves its own requests.

use std::time::Duration;

use sos::clock;
use sos::ledger;
use sos::sched::{self, Bell, Machine, MachineConfig};
use sos::sync::{Arc, AtomicU32, Ordering};
use sos::thread;
use sos::wait::WaitType;

use crate::machine::Server;

fn machine(schedulers: usize) -> Machine {
    Machine::start(&MachineConfig { schedulers, ..MachineConfig::default() }).expect("it starts")
}

/// Waits until `count` schedulers sleep in their pollers.
fn until_idle(machine: &Machine, count: usize) {
    let deadline_ns = clock::deadline_ns(Duration::from_secs(60));
    while machine.idle_schedulers() < count {
        assert!(clock::monotonic_ns() < deadline_ns, "schedulers without work are idle");
        sos::park::sleep(Duration::from_millis(1), WaitType::WaitFor, None);
    }
}

#[test]
fn idle_schedulers_help_and_their_threads_say_for_whom() {
    let machine = machine(3);
    until_idle(&machine, 3);
    let (helped, parts) = (AtomicU32::new(0), AtomicU32::new(0));
    let help = |number: usize, bell: &Bell| {
        let part = u32::try_from(number + 1).expect("a few");
        let _helping = sched::help_for(7, part, 0);
        helped.fetch_add(1, Ordering::SeqCst);
        bell.notify();
        while helped.load(Ordering::SeqCst) < 2 {
            bell.wait(WaitType::CxPacket, || helped.load(Ordering::SeqCst) < 2);
        }
        parts.fetch_add(part, Ordering::SeqCst);
    };
    let asked = machine.crew(2, &help, |crew| {
        while helped.load(Ordering::SeqCst) < 2 {
            crew.wait(WaitType::CxConsumer, || helped.load(Ordering::SeqCst) < 2);
        }
        crew.len()
    });
    assert_eq!((asked, helped.into_inner(), parts.into_inner()), (2, 2, 3));
    let left = machine.activities().iter().filter(|activity| activity.part() > 0).count();
    assert_eq!(left, 0, "who has helped works for nobody");
    machine.stop(Duration::from_secs(5));
}

#[test]
fn what_nobody_has_begun_is_taken_back_and_nobody_runs_afterwards() {
    let machine = machine(2);
    for round in 0..500_u32 {
        let data = AtomicU32::new(round);
        let help = |_: usize, _: &Bell| {
            assert_eq!(data.load(Ordering::SeqCst), round, "only while the leader is there");
        };
        machine.crew(2, &help, |_| ());
        data.store(u32::MAX, Ordering::SeqCst);
    }
    machine.stop(Duration::from_secs(5));
}

/// How long a helper runs that is not stopped.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn requests_of_a_scheduler_that_helps_are_answered_between_quanta() {
    let server = Server::start(1);
    let client = server.client();
    assert_eq!(client.ask(b"warm"), b"warm");
    until_idle(&server.machine, 1);
    let (is_begun, is_over) = (AtomicU32::new(0), AtomicU32::new(0));
    let help = |_: usize, bell: &Bell| {
        let deadline_ns = clock::deadline_ns(PATIENCE);
        is_begun.store(1, Ordering::SeqCst);
        bell.notify();
        while is_over.load(Ordering::SeqCst) == 0 && clock::monotonic_ns() < deadline_ns {
            sched::yield_if_quantum_due();
        }
    };
    let mut longest_ns = 0;
    server.machine.crew(1, &help, |crew| {
        while is_begun.load(Ordering::SeqCst) == 0 {
            crew.wait(WaitType::CxConsumer, || is_begun.load(Ordering::SeqCst) == 0);
        }
        for _ in 0..50 {
            let begin = clock::monotonic_ns();
            assert_eq!(client.ask(b"quick"), b"quick");
            longest_ns = longest_ns.max(clock::monotonic_ns() - begin);
        }
        assert!(!crew.is_over(), "they were answered when the helper had ended");
        is_over.store(1, Ordering::SeqCst);
    });
    // A quantum is 4 ms; the rest allows for a busy machine.
    assert!(longest_ns < 2_000_000_000, "an answer took {longest_ns} ns");
    server.stop();
}

#[test]
fn a_panic_of_a_helper_is_the_leaders_when_all_have_ended() {
    let machine = machine(2);
    until_idle(&machine, 2);
    let begun = AtomicU32::new(0);
    let help = |_: usize, bell: &Bell| {
        begun.store(1, Ordering::SeqCst);
        bell.notify();
        panic!("a part is broken");
    };
    let led = thread::contain(|| {
        machine.crew(1, &help, |crew| {
            while begun.load(Ordering::SeqCst) == 0 {
                crew.wait(WaitType::CxConsumer, || begun.load(Ordering::SeqCst) == 0);
            }
        });
    });
    let message = led.expect_err("the helper has panicked");
    assert!(message.contains("a part is broken"), "{message}");
    // The scheduler still runs.
    until_idle(&machine, 2);
    machine.stop(Duration::from_secs(5));
}

#[test]
fn books_of_helpers_are_added_to_those_of_the_session() {
    let (own, theirs) =
        (Arc::<ledger::SessionBooks>::default(), Arc::<ledger::SessionBooks>::default());
    ledger::request(Some(&theirs), || {
        sos::park::sleep(Duration::from_millis(5), WaitType::WaitFor, None);
    });
    own.absorb(&theirs);
    own.absorb(&theirs);
    let waits = own.waits();
    assert_eq!((waits.len(), waits[0].wait_type, waits[0].count), (1, WaitType::WaitFor, 2));
    // Ticks are rounded to nanoseconds once for the sum, and twice for its halves.
    let twice_ns = 2 * theirs.waits()[0].wait_ns;
    assert!(waits[0].wait_ns.abs_diff(twice_ns) <= 1, "{} {twice_ns}", waits[0].wait_ns);
}
