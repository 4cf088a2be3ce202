//! Logins to the console: credentials from the page or from a scraper, checked by the engine.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use engine::instance::Answer;
use engine::session::{Admission, ClientInfo, LoginRequest, Session};
use sos::clock;
use sos::lock::{SpinClass, SpinLock};
use sos::park;
use sos::sync::{Arc, AtomicUsize, Ordering};
use sos::wait::WaitType;

use crate::Console;
use crate::response::Response;

/// Failed logins of one address in [`WINDOW_NS`] after which it has to wait.
pub(crate) const FAILURES_MAX: u32 = if cfg!(test) { 5 } else { 20 };
/// The time in which failures are counted.
const WINDOW_NS: u64 = 60_000_000_000;
/// Most addresses that are counted; past it the oldest is forgotten.
const ADDRESSES_MAX: usize = 1_024;
/// Most logins whose answers are delayed at a time: each holds a thread.
const DELAYED_MAX: usize = 8;

/// Counts failed logins. The engine counts and delays them as well, per login name; this bounds
/// what one address can make the console do.
pub(crate) struct Failures {
    counts: SpinLock<BTreeMap<IpAddr, (u32, u64)>>,
    delayed: AtomicUsize,
}

impl Default for Failures {
    fn default() -> Self {
        let counts = SpinLock::new(SpinClass::ServerOther, BTreeMap::new());
        Self { counts, delayed: AtomicUsize::new(0) }
    }
}

impl Failures {
    fn is_over(&self, address: IpAddr, now_ns: u64) -> bool {
        let counts = self.counts.lock();
        counts.get(&address).is_some_and(|(count, since_ns)| {
            *count >= FAILURES_MAX && now_ns.saturating_sub(*since_ns) < WINDOW_NS
        })
    }

    fn count(&self, address: IpAddr, now_ns: u64) {
        let mut counts = self.counts.lock();
        if counts.len() >= ADDRESSES_MAX && !counts.contains_key(&address) {
            let oldest = counts.iter().min_by_key(|(_, (_, since_ns))| *since_ns);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                counts.remove(&oldest);
            }
        }
        let entry = counts.entry(address).or_insert((0, now_ns));
        if now_ns.saturating_sub(entry.1) >= WINDOW_NS {
            *entry = (0, now_ns);
        }
        entry.0 += 1;
    }
}

/// Checks name and password, and that the login may see the server's state; returns a session.
///
/// # Errors
/// The answer that refuses the login. It does not say whether the name or the password is wrong.
pub(crate) fn log_in(
    console: &Console,
    user: &str,
    password: &str,
    peer: SocketAddr,
) -> Result<Session, Response> {
    let address = peer.ip().to_canonical();
    if console.failures.is_over(address, clock::monotonic_ns()) {
        return Err(too_many());
    }
    let request = login_request(console, user, password, peer);
    let Admission { answer, refused } = Session::admit(&console.instance, &request);
    match answer {
        Answer::Now => {}
        Answer::At(until_ns) => delay(console, until_ns)?,
        Answer::Refused => return Err(too_many()),
    }
    if refused.is_some() {
        console.failures.count(address, clock::monotonic_ns());
        return Err(Response::error(401, "The login or its password is wrong."));
    }
    open(console, request)
}

/// Opens a session for a login whose password has been checked before.
///
/// # Errors
/// The answer that refuses it: the login is gone, disabled, or has lost its permission.
pub(crate) fn reopen(console: &Console, user: &str, peer: SocketAddr) -> Result<Session, Response> {
    open(console, login_request(console, user, "", peer))
}

fn open(console: &Console, request: LoginRequest) -> Result<Session, Response> {
    let session = Session::open(&console.instance, request).map_err(|errors| {
        let first = errors.first().map_or_else(String::new, |error| error.message.to_string());
        Response::error(403, &first)
    })?;
    if !session.state().identity.rights.views_server_state() {
        let sentence = "The login needs the permission VIEW SERVER STATE.";
        return Err(Response::error(403, sentence));
    }
    Ok(session)
}

fn delay(console: &Console, until_ns: u64) -> Result<(), Response> {
    let delayed = &console.failures.delayed;
    // Relaxed: a count, which orders nothing.
    if delayed.fetch_add(1, Ordering::Relaxed) >= DELAYED_MAX {
        delayed.fetch_sub(1, Ordering::Relaxed);
        return Err(too_many());
    }
    let rest = Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns()));
    park::sleep(rest, WaitType::LoginDelay, Some(console.stopping()));
    delayed.fetch_sub(1, Ordering::Relaxed);
    Ok(())
}

fn too_many() -> Response {
    Response::error(429, "Too many logins have failed; try again in a minute.")
        .with("Retry-After", "60")
}

fn login_request(console: &Console, user: &str, password: &str, peer: SocketAddr) -> LoginRequest {
    let of = |address: SocketAddr| (address.ip().to_canonical().to_string(), address.port());
    LoginRequest {
        user: user.to_owned(),
        password: password.to_owned(),
        new_password: None,
        database: String::new(),
        language: String::new(),
        client: ClientInfo {
            host_name: peer.ip().to_canonical().to_string(),
            program_name: "clearway console".to_owned(),
            interface_name: "HTTP".to_owned(),
            address: of(peer),
            local_address: of(console.address),
            encrypted: console.tls.is_some(),
            odbc: true,
            traffic: Arc::default(),
            ..ClientInfo::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_per_address_and_forgotten() {
        let failures = Failures::default();
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        for _ in 0..FAILURES_MAX {
            assert!(!failures.is_over(one, 5));
            failures.count(one, 5);
        }
        assert!(failures.is_over(one, 6));
        assert!(!failures.is_over(other, 6));
        assert!(!failures.is_over(one, 5 + WINDOW_NS));
        failures.count(one, 5 + WINDOW_NS);
        assert!(!failures.is_over(one, 6 + WINDOW_NS), "counting starts again");
    }

    #[test]
    fn invented_addresses_do_not_fill_the_memory() {
        let failures = Failures::default();
        for number in 0..u32::try_from(2 * ADDRESSES_MAX).expect("a small number") {
            failures.count(IpAddr::from(number.to_be_bytes()), u64::from(number));
        }
        assert_eq!(failures.counts.lock().len(), ADDRESSES_MAX);
    }
}
