//! `Work`: the kinds of work in a race, with their requests and answers in a form that every
//! protocol can encode.

use std::borrow::Cow;

/// Connections to each peer, each with at most one outstanding request.
pub(crate) const CONNECTIONS: usize = 64;
/// Keys, and sessions, of each connection.
pub(crate) const KEYS_EACH: usize = 64;
/// Keys, and sessions, of all connections.
pub(crate) const KEYS: usize = CONNECTIONS * KEYS_EACH;
/// Counters, which all connections share.
pub(crate) const COUNTERS: usize = 16;
/// Length of a value and of a session's item, in bytes.
pub(crate) const ITEM_BYTES: usize = 500;
/// Minutes after its last use at which a session expires.
pub(crate) const MINUTES: i32 = 20;
/// A session's item is this letter, repeated.
pub(crate) const SESSION_LETTER: char = 'x';

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reads the value of a key.
    Get,
    /// Replaces the value of a key.
    Set,
    /// Reads and locks a session in one request, and releases it in the next.
    Session,
    /// Increments a counter that other connections increment too, and returns the sum.
    Counter,
}

impl Work {
    /// Every kind of work.
    pub const ALL: [Self; 4] = [Self::Get, Self::Set, Self::Session, Self::Counter];

    /// Returns its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
            Self::Session => "session",
            Self::Counter => "counter",
        }
    }

    /// Returns its description for a report.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Get => "a value of 500 bytes by its key",
            Self::Set => "replace a value of 500 bytes by its key",
            Self::Session => {
                "lock a session and read its 500 bytes; release it (each counts as a request)"
            }
            Self::Counter => "add one to one of 16 counters, which all connections share",
        }
    }

    /// Returns the kind with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|work| work.name() == name)
    }
}

/// A request, independent of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Reads the value of a key.
    Get { key: usize },
    /// Replaces the value of a key by the one of a version.
    Set { key: usize, version: u32 },
    /// Locks the session if it is not locked: increments its cookie, extends its expiry, and
    /// returns item and cookie.
    Lock { key: usize },
    /// Releases the session's lock, if held under this cookie, and extends its expiry.
    Release { key: usize, cookie: i32 },
    /// Increments a counter and returns the sum.
    Add { counter: usize },
}

/// The content of an answer; `None` for what it does not contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply<'a> {
    /// A value, or the item of the session that was locked.
    pub(crate) value: Option<Cow<'a, [u8]>>,
    /// The sum of a counter, or the cookie of the session that was locked.
    pub(crate) number: Option<i64>,
    /// How many rows or keys were changed.
    pub(crate) changed: Option<u64>,
}

impl<'a> Reply<'a> {
    pub(crate) fn of_value(value: Option<&'a [u8]>) -> Self {
        Self { value: value.map(Cow::Borrowed), ..Self::default() }
    }

    pub(crate) fn of_number(number: Option<i64>) -> Self {
        Self { number, ..Self::default() }
    }

    pub(crate) fn of_changed(changed: u64) -> Self {
        Self { changed: Some(changed), ..Self::default() }
    }
}

/// Returns the key of a value or of a session: 32 characters, as web servers make session ids.
pub(crate) fn key_text(key: usize) -> String {
    format!("{KEY_START}{key:0>KEY_DIGITS$}{KEY_END}")
}

/// The start of every key; digits and [`KEY_END`] follow.
pub(crate) const KEY_START: &str = "q3hx0zkvw5n1tb4";
/// The number of digits in a key.
pub(crate) const KEY_DIGITS: usize = 9;
/// The end of every key.
pub(crate) const KEY_END: &str = "0f5d6c2a";

const PATTERN_BYTES: usize = 16 * 1024;

/// Pseudo-random bytes, from which every value is a slice.
static PATTERN: [u8; PATTERN_BYTES] = pattern();

const fn pattern() -> [u8; PATTERN_BYTES] {
    let mut bytes = [0; PATTERN_BYTES];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut at = 0;
    while at < PATTERN_BYTES {
        // Marsaglia's xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[at] = state.to_le_bytes()[3];
        at += 1;
    }
    bytes
}

/// Returns the value of a key in one of its versions; values contain every byte value, line ends
/// among them.
pub(crate) fn item(key: usize, version: u32) -> &'static [u8] {
    let version = usize::try_from(version).unwrap_or(0);
    let start = (key * 7 + version * 1_031) % (PATTERN_BYTES - ITEM_BYTES);
    &PATTERN[start..start + ITEM_BYTES]
}

/// Returns the item of a session.
pub(crate) fn session_item() -> [u8; ITEM_BYTES] {
    [u8::try_from(SESSION_LETTER).unwrap_or_default(); ITEM_BYTES]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_keys_and_versions_differ() {
        let mut seen = std::collections::BTreeSet::new();
        for key in 0..16 {
            for version in 0..8 {
                assert!(seen.insert(item(key, version)), "{key} {version}");
            }
        }
        assert_eq!(key_text(7), "q3hx0zkvw5n1tb40000000070f5d6c2a");
    }
}
