//! The listener's thread: accepts connections, each of which gets a thread, and closes what has
//! been idle for long.

use std::io;
use std::time::Duration;

use sos::clock;
use sos::memory;
use sos::park::{self, Wake};
use sos::sched;
use sos::sync::Arc;
use sos::sys::{Direction, Listener, Peer};
use sos::wait::WaitType;

use crate::{Console, connection};

/// Interval at which idle sessions are looked for.
const SWEEP_PERIOD: Duration = Duration::from_secs(5);
/// Pause after an error of accept, such as too many open files.
const ERROR_PAUSE: Duration = Duration::from_millis(100);
/// Longest time that a stopping server waits for the console's connections.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval at which a stopping server looks whether they have ended.
const STOP_PERIOD: Duration = Duration::from_millis(10);

/// Accepts connections until the server stops.
pub(crate) fn run(console: &Arc<Console>, listener: &Listener) {
    let mut swept_ns = clock::monotonic_ns();
    while !console.stopping().is_set() {
        match listener.accept() {
            Ok((socket, Peer::Tcp(peer))) => connection::begin(console, socket, peer),
            Ok((_, Peer::Unix)) => unreachable!("the console listens on TCP"),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(console, listener),
            Err(_) => {
                park::sleep(ERROR_PAUSE, WaitType::ConsoleIdle, Some(console.stopping()));
            }
        }
        let now_ns = clock::monotonic_ns();
        if u128::from(now_ns - swept_ns) >= SWEEP_PERIOD.as_nanos() {
            console.visitors.sweep(now_ns);
            memory::tidy();
            swept_ns = now_ns;
        }
    }
    stop(console);
}

fn wait(console: &Console, listener: &Listener) {
    // Without visitors there is nothing to sweep, and no reason to wake up.
    let timeout = (!console.visitors.is_empty()).then_some(SWEEP_PERIOD);
    let stopping = Some(console.stopping());
    let wait = WaitType::ConsoleIdle;
    if sched::wait_fd(listener, Direction::Readable, wait, timeout, stopping).is_err() {
        park::sleep(ERROR_PAUSE, wait, stopping);
    }
}

/// Ends all sessions, and waits until no connection uses one.
fn stop(console: &Console) {
    let deadline_ns = clock::deadline_ns(STOP_TIMEOUT);
    while console.connections() > 0 && clock::monotonic_ns() < deadline_ns {
        console.visitors.cancel_all();
        if park::sleep(STOP_PERIOD, WaitType::Shutdown, None) != Wake::TimedOut {
            break;
        }
    }
    console.visitors.clear();
}
