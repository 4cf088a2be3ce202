//! Tests of the parking lot and of cancellation on threads that are not workers.

use std::time::Duration;

use std::net::Ipv4Addr;

use sos::ledger::Accounts;
use sos::park::{self, Cancel, Wake, Watch};
use sos::sched::{Machine, MachineConfig, wait_fd};
use sos::sync::{Arc, AtomicU32, Ordering};
use sos::sys::{Direction, Listener, Socket};
use sos::thread;
use sos::wait::WaitType;

#[test]
fn nothing_to_wait_for_returns_at_once_and_books_nothing() {
    let booked = || sos::ledger::with_current(|a| a.wait(WaitType::LockShared).count.get());
    let before = booked();
    let wake = park::park(0x10, WaitType::LockShared, || false, None, None);
    assert_eq!((wake, booked()), (Wake::Signalled, before));
}

#[test]
fn deadline_ends_a_wait() {
    let timeout = Some(Duration::from_millis(20));
    let wake = park::park(0x20, WaitType::LockShared, || true, timeout, None);
    assert_eq!(wake, Wake::TimedOut);
    assert!(!park::unpark_one(0x20), "it has left the lot");
}

#[test]
fn cancellation_before_the_wait_ends_it_too() {
    let cancel = Cancel::new();
    cancel.set();
    assert_eq!(
        park::park(0x30, WaitType::LockShared, || true, None, Some(&cancel)),
        Wake::Cancelled
    );
    cancel.clear();
    let short = Duration::from_millis(5);
    assert_eq!(park::sleep(short, WaitType::WaitFor, Some(&cancel)), Wake::TimedOut);
}

#[test]
fn ping_pong_loses_no_wake_up() {
    const ROUNDS: u32 = 5_000;
    let accounts = Arc::<Accounts>::default();
    let turn = Arc::new(AtomicU32::new(0));
    let player = |parity: u32| {
        let turn = Arc::clone(&turn);
        move || {
            let key = Arc::as_ptr(&turn) as usize;
            for round in 0..ROUNDS {
                let mine = round * 2 + parity;
                while turn.load(Ordering::Acquire) != mine {
                    let not_mine = || turn.load(Ordering::Acquire) != mine;
                    let long = Some(Duration::from_secs(20));
                    let wake = park::park(key, WaitType::LockExclusive, not_mine, long, None);
                    assert_ne!(wake, Wake::TimedOut, "a wake-up was lost in round {round}");
                }
                turn.store(mine + 1, Ordering::Release);
                park::unpark_all(key);
            }
        }
    };
    let one = thread::spawn(&accounts, "ping", player(0)).expect("spawns");
    let two = thread::spawn(&accounts, "pong", player(1)).expect("spawns");
    one.join().expect("plays");
    two.join().expect("plays");
    assert_eq!(turn.load(Ordering::Relaxed), 2 * ROUNDS);
    let row = accounts.waits()[WaitType::LockExclusive.index()];
    assert!(row.count > 0 && row.signal_ns <= row.wait_ns && row.max_wait_ns <= row.wait_ns);
}

#[test]
fn wait_for_a_socket_ends_by_data_deadline_or_cancellation() {
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("binds");
    let client = Socket::connect(listener.local_address().expect("is bound")).expect("connects");
    let (server, _) = listener.accept().expect("accepts");
    let cancel = Arc::new(Cancel::new());
    let wait = |timeout| {
        let kind = WaitType::AsyncNetworkIo;
        wait_fd(&server, Direction::Readable, kind, timeout, Some(&cancel)).expect("polls")
    };
    assert_eq!(wait(Some(Duration::from_millis(10))), Wake::TimedOut);
    let other = Arc::clone(&cancel);
    let set_later = move || {
        park::sleep(Duration::from_millis(20), WaitType::WaitFor, None);
        other.set();
    };
    let canceller = thread::spawn(&Arc::default(), "canceller", set_later).expect("spawns");
    assert_eq!(wait(None), Wake::Cancelled);
    canceller.join().expect("cancels");
    cancel.clear();
    client.send(b"!").expect("sends");
    assert_eq!(wait(None), Wake::Signalled);
}

/// Longer than any test runs.
const FOREVER: Duration = Duration::from_secs(3_600);

#[test]
fn a_part_of_a_request_ends_when_its_time_is_up_and_the_request_goes_on() {
    let machine = Machine::start(&MachineConfig { schedulers: 1, ..MachineConfig::default() });
    let machine = machine.expect("it starts");
    let watch = Watch::start(&machine, "watch").expect("there is a thread");
    let request = Arc::new(Cancel::new());
    let sleeping =
        |cancel: &Arc<Cancel>| park::sleep(FOREVER, WaitType::WaitFor, Some(cancel.as_ref()));
    let late = watch.run(Duration::from_millis(10), &request, sleeping);
    assert_eq!((late, request.is_set()), (Wake::Cancelled, false));
    // A part that ends in time keeps its flag clear, and each part has another flag.
    let in_time = watch.run(FOREVER, &request, |cancel| cancel.is_set());
    assert!(!in_time);
    // The request's end is the end of its part.
    let by_client = thread::spawn(&Arc::<Accounts>::default(), "client", {
        let request = Arc::clone(&request);
        move || request.set()
    });
    assert_eq!(watch.run(FOREVER, &request, sleeping), Wake::Cancelled);
    assert!(request.is_set());
    by_client.expect("there is a thread").join().expect("it has ended");
    drop(watch);
    machine.stop(Duration::from_secs(5));
}
