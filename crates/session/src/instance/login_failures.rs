//! `LoginFailures`: counts failed logins, by login and by client, and delays the answers to further
//! ones.
//!
//! ```text
//!   failures in a row   1, 2  3       4       5       6       7      8 and more
//!   delay               none  100 ms  200 ms  400 ms  800 ms  1.6 s  3.2 s
//! ```
//!
//! Every answer is delayed, also to a right password, so that its time reveals nothing. One failure
//! is forgiven every ten seconds, so that no login is locked out for long. That applies per login;
//! a client, which may be many users behind one address, is delayed after three more failures. It
//! then gets [`LANES`] answers at a time, so that more connections do not guess faster. The tables
//! are bounded, and the entries with the most failures stay: names and addresses that an attacker
//! invents evict only each other.

use std::collections::BTreeMap;
use std::net::IpAddr;

use sos::clock;
use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicBool, AtomicU64, Ordering};
use types::{DataType, Value};

/// Maximum number of entries of each kind.
const ENTRIES_MAX: usize = if cfg!(test) { 4 } else { 1_024 };
/// Shortest delay, in nanoseconds.
const DELAY_FIRST_NS: u64 = 100_000_000;
/// Maximum number of times that the delay doubles.
const STEPS_MAX: u32 = 6;
/// Failures of a login, and of a client, without a delay: for users who mistype.
const FREE_OF_LOGIN: u32 = 2;
const FREE_OF_ADDRESS: u32 = 5;
/// Time after which one failure is forgiven.
const FORGIVEN_AFTER_NS: u64 = 10_000_000_000;
/// Number of delayed answers to one client at a time; further ones queue behind them.
const LANES: usize = 16;
/// An answer that would be delayed longer is refused at once.
const DELAY_MAX_NS: u64 = 15_000_000_000;
/// Maximum number of characters of a name that are kept.
const NAME_LENGTH_MAX: usize = 128;

/// The subject of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A login name, whether the login exists or not.
    Login,
    /// A client's address; for IPv6 the 64-bit network.
    Address,
}

/// When a login is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// At once, without delay.
    Now,
    /// At this time of the monotonic clock, in nanoseconds.
    At(u64),
    /// At once, with a refusal: too many answers to its client are delayed.
    Refused,
}

/// A row of the view about failed logins.
#[derive(Clone, Debug)]
pub struct FailureRow {
    /// Whether it is about a login or an address.
    pub kind: FailureKind,
    /// The name or address.
    pub name: String,
    /// Total number of failures.
    pub count: u64,
    /// Number of consecutive failures that are not forgiven.
    pub streak: u32,
    /// Delay of the next answer, in ms.
    pub delay_ms: u64,
    /// Time of the first failure, as `datetime`.
    pub first: Value,
    /// Time of the last failure, as `datetime`.
    pub last: Value,
    /// State of error 18456 of the last failure.
    pub state: u8,
}

#[derive(Debug)]
struct Entry {
    count: u64,
    streak: u32,
    since_ns: u64,
    first: Value,
    last: Value,
    state: u8,
    /// Monotonic time at which each lane is free.
    lanes: [u64; LANES],
}

impl Entry {
    fn streak_at(&self, now_ns: u64) -> u32 {
        let forgiven = now_ns.saturating_sub(self.since_ns) / FORGIVEN_AFTER_NS;
        self.streak.saturating_sub(u32::try_from(forgiven).unwrap_or(u32::MAX))
    }

    /// Returns the delay; the first `free` failures do not count.
    fn delay_ns(&self, now_ns: u64, free: u32) -> u64 {
        match self.streak_at(now_ns).saturating_sub(free) {
            0 => 0,
            steps => DELAY_FIRST_NS << (steps - 1),
        }
    }

    /// Takes the lane that is free first; `None` if the delay would be too long.
    fn take_lane(&mut self, now_ns: u64, delay_ns: u64) -> Option<u64> {
        let lane = self.lanes.iter_mut().min()?;
        let until = now_ns.max(*lane) + delay_ns;
        (until - now_ns <= DELAY_MAX_NS).then(|| {
            *lane = until;
            until
        })
    }
}

/// The entries of one kind.
#[derive(Debug, Default)]
struct Table {
    entries: BTreeMap<Box<str>, Entry>,
    /// Number of failures without a delay.
    free: u32,
}

impl Table {
    fn note(&mut self, name: &str, state: u8, now_ns: u64, now: &Value) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.streak = (entry.streak_at(now_ns) + 1).min(STEPS_MAX + self.free);
            entry.since_ns = now_ns;
            entry.count += 1;
            entry.last = now.clone();
            entry.state = state;
            return;
        }
        if self.entries.len() >= ENTRIES_MAX {
            let least = self.entries.iter().min_by_key(|(_, e)| (e.streak_at(now_ns), e.since_ns));
            if let Some(name) = least.map(|(name, _)| name.clone()) {
                self.entries.remove(&name);
            }
        }
        let entry = Entry {
            count: 1,
            streak: 1,
            since_ns: now_ns,
            first: now.clone(),
            last: now.clone(),
            state,
            lanes: [0; LANES],
        };
        self.entries.insert(name.into(), entry);
    }

    fn delay_ns(&self, name: &str, now_ns: u64) -> u64 {
        self.entries.get(name).map_or(0, |entry| entry.delay_ns(now_ns, self.free))
    }

    fn rows(&self, kind: FailureKind, now_ns: u64) -> impl Iterator<Item = FailureRow> {
        self.entries.iter().map(move |(name, entry)| FailureRow {
            kind,
            name: name.to_string(),
            count: entry.count,
            streak: entry.streak_at(now_ns),
            delay_ms: entry.delay_ns(now_ns, self.free) / 1_000_000,
            first: entry.first.clone(),
            last: entry.last.clone(),
            state: entry.state,
        })
    }
}

#[derive(Debug)]
struct Tables {
    logins: Table,
    addresses: Table,
}

/// The failed logins of an instance.
pub struct LoginFailures {
    tables: SpinLock<Tables>,
    /// Whether there was any failure: without one, a login reads nothing but this.
    any: AtomicBool,
    count: AtomicU64,
}

impl Default for LoginFailures {
    fn default() -> Self {
        let addresses = Table { free: FREE_OF_ADDRESS, ..Table::default() };
        let logins = Table { free: FREE_OF_LOGIN, ..Table::default() };
        let tables = Tables { logins, addresses };
        Self {
            tables: SpinLock::new(SpinClass::SessionManager, tables),
            any: AtomicBool::new(false),
            count: AtomicU64::new(0),
        }
    }
}

impl LoginFailures {
    /// Returns the number of failed logins since the instance started.
    pub fn count(&self) -> u64 {
        // Relaxed: the counter orders nothing else.
        self.count.load(Ordering::Relaxed)
    }

    /// Counts a login that fails for a reason other than a wrong name or password; it causes no
    /// delay.
    pub fn count_other(&self) {
        // Relaxed: the counter orders nothing else.
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns when a login is answered; `failed` is the state of its error if name or password is
    /// wrong.
    pub fn admit(&self, login: &str, address: &str, failed: Option<u8>) -> Answer {
        // Relaxed: a login concurrent with the first failure need not be delayed.
        if failed.is_none() && !self.any.load(Ordering::Relaxed) {
            return Answer::Now;
        }
        let now = catalog::clock::clock().to_value(&DataType::DateTime).unwrap_or(Value::Null);
        self.admit_at(
            clock::monotonic_ns(),
            &now,
            (&key(login), network(address).as_deref()),
            failed,
        )
    }

    fn admit_at(
        &self,
        now_ns: u64,
        now: &Value,
        (login, address): (&str, Option<&str>),
        failed: Option<u8>,
    ) -> Answer {
        let mut tables = self.tables.lock();
        if let Some(state) = failed {
            // Relaxed: as in `admit`.
            self.any.store(true, Ordering::Relaxed);
            self.count.fetch_add(1, Ordering::Relaxed);
            tables.logins.note(login, state, now_ns, now);
            if let Some(address) = address {
                tables.addresses.note(address, state, now_ns, now);
            }
        }
        let of_login = tables.logins.delay_ns(login, now_ns);
        let mut until = (of_login > 0).then_some(now_ns + of_login);
        let Table { entries, free } = &mut tables.addresses;
        if let Some(entry) = address.and_then(|address| entries.get_mut(address)) {
            let delay_ns = entry.delay_ns(now_ns, *free);
            if delay_ns > 0 {
                match entry.take_lane(now_ns, delay_ns) {
                    None => return Answer::Refused,
                    lane => until = until.max(lane),
                }
            }
        }
        until.map_or(Answer::Now, Answer::At)
    }

    /// Forgives the consecutive failures of one login: ALTER LOGIN .. UNLOCK. The total is
    /// unchanged.
    pub fn forgive(&self, login: &str) {
        if let Some(entry) = self.tables.lock().logins.entries.get_mut(&*key(login)) {
            entry.streak = 0;
        }
    }

    /// Returns the number of consecutive failures of one login.
    pub fn streak(&self, login: &str) -> u32 {
        let now_ns = clock::monotonic_ns();
        let tables = self.tables.lock();
        tables.logins.entries.get(&*key(login)).map_or(0, |entry| entry.streak_at(now_ns))
    }

    /// Returns the entries, logins first.
    pub fn rows(&self) -> Vec<FailureRow> {
        let now_ns = clock::monotonic_ns();
        let tables = self.tables.lock();
        let logins = tables.logins.rows(FailureKind::Login, now_ns);
        logins.chain(tables.addresses.rows(FailureKind::Address, now_ns)).collect()
    }
}

/// Returns the key of a login name.
fn key(login: &str) -> String {
    let name: String = login.chars().take(NAME_LENGTH_MAX).collect();
    name.to_lowercase()
}

/// Returns the key of an address: for IPv6 the first 64 bits, since one client owns the rest.
fn network(address: &str) -> Option<String> {
    match address.parse().ok()? {
        IpAddr::V4(address) => Some(address.to_string()),
        IpAddr::V6(address) if address.is_loopback() => Some(address.to_string()),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Some(format!("{a:x}:{b:x}:{c:x}:{d:x}::/64"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn failures() -> LoginFailures {
        LoginFailures::default()
    }

    fn fail(of: &LoginFailures, at: u64, login: &str, address: &str) -> Answer {
        of.admit_at(at, &Value::Null, (login, Some(address)), Some(8))
    }

    #[test]
    fn delays_double_up_to_a_limit_and_hold_for_a_right_password_too() {
        let of = failures();
        let mut now = SECOND;
        for delay_ms in [0, 0, 100, 200, 400, 800, 1_600, 3_200, 3_200] {
            let wanted = match delay_ms {
                0 => Answer::Now,
                ms => Answer::At(now + ms * 1_000_000),
            };
            assert_eq!(fail(&of, now, "sa", "10.0.0.1"), wanted);
            now += SECOND;
        }
        let right = of.admit_at(now, &Value::Null, ("sa", Some("10.0.0.1")), None);
        assert_eq!(right, Answer::At(now + 3_200_000_000));
        let elsewhere = of.admit_at(now, &Value::Null, ("other", Some("10.0.0.2")), None);
        assert_eq!(elsewhere, Answer::Now);
    }

    #[test]
    fn a_failure_is_forgiven_every_ten_seconds() {
        let of = failures();
        for _ in 0..8 {
            fail(&of, SECOND, "sa", "10.0.0.1");
        }
        let later = |seconds| of.admit_at(SECOND * seconds, &Value::Null, ("sa", None), None);
        assert_eq!(later(31), Answer::At(31 * SECOND + 400_000_000));
        assert_eq!(later(71), Answer::Now);
    }

    #[test]
    fn unlocking_forgives_a_login_and_not_its_client() {
        let of = failures();
        for _ in 0..8 {
            fail(&of, SECOND, "sa", "10.0.0.1");
        }
        of.forgive("SA");
        let other = of.admit_at(SECOND, &Value::Null, ("sa", Some("10.0.0.2")), None);
        assert_eq!(other, Answer::Now);
        let same = of.admit_at(SECOND, &Value::Null, ("sa", Some("10.0.0.1")), None);
        assert_eq!(same, Answer::At(SECOND + 400_000_000));
        assert_eq!(of.count(), 8);
    }

    #[test]
    fn many_connections_of_one_client_guess_no_faster() {
        let of = failures();
        let mut answers = Vec::new();
        for n in 0..200 {
            answers.push(fail(&of, SECOND, &format!("l{n}"), "10.0.0.1"));
        }
        // 16 lanes of 15 seconds hold some eighty answers of up to 3.2 s.
        let at = |answer: &&Answer| matches!(answer, Answer::At(_));
        let waiting = answers.iter().filter(at).count();
        assert!((64..=96).contains(&waiting), "{waiting}");
        assert_eq!(answers.last(), Some(&Answer::Refused));
        let right = of.admit_at(SECOND, &Value::Null, ("other", Some("10.0.0.1")), None);
        assert_eq!(right, Answer::Refused);
    }

    #[test]
    fn made_up_names_do_not_push_out_what_is_attacked() {
        let of = failures();
        for _ in 0..3 {
            fail(&of, SECOND, "sa", "10.0.0.1");
        }
        for n in 0..100u64 {
            fail(&of, SECOND + n, &format!("made up {n}"), &format!("10.0.1.{n}"));
        }
        let rows = of.rows();
        assert_eq!(rows.len(), 2 * ENTRIES_MAX);
        assert!(rows.iter().any(|row| row.name == "sa" && row.count == 3));
        assert_eq!(of.count(), 103);
    }

    #[test]
    fn a_network_of_64_bits_is_one_client() {
        assert_eq!(network("2001:db8::1"), network("2001:db8::2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:1::1"));
        assert_eq!(network("::1").as_deref(), Some("::1"));
        assert_eq!(network(""), None);
    }
}
