//! `Work`: the kinds of work that are raced, and the requests and answers they are made of, whatever the protocol.

use std::borrow::Cow;

/// Connections to each peer, each with at most one request under way.
pub(crate) const CONNECTIONS: usize = 64;
/// Keys, and sessions, that each connection has of its own.
pub(crate) const KEYS_EACH: usize = 64;
/// Keys, and sessions, of all connections.
pub(crate) const KEYS: usize = CONNECTIONS * KEYS_EACH;
/// Counters, which all connections share.
pub(crate) const COUNTERS: usize = 16;
/// Bytes of a value, and of a session.
pub(crate) const ITEM_BYTES: usize = 500;
/// Minutes that a session lives after its last use.
pub(crate) const MINUTES: i32 = 20;
/// What a session holds: so many of this letter.
pub(crate) const SESSION_LETTER: char = 'x';

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The value of a key is read.
    Get,
    /// The value of a key is replaced.
    Set,
    /// A session is read and locked in one request, and released by the next.
    Session,
    /// One is added to a counter that others add to as well, and the sum comes back.
    Counter,
}

impl Work {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Get, Self::Set, Self::Session, Self::Counter];

    /// What it is called on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
            Self::Session => "session",
            Self::Counter => "counter",
        }
    }

    /// What it is, for a reader.
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

    /// The one of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|work| work.name() == name)
    }
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// The value of a key.
    Get { key: usize },
    /// Replaces the value of a key by that of a version.
    Set { key: usize, version: u32 },
    /// If nobody has locked the session: locks it, counts its cookie up, moves its end of life, and returns both its
    /// item and the cookie.
    Lock { key: usize },
    /// If it is locked under this cookie: releases it and moves its end of life.
    Release { key: usize, cookie: i32 },
    /// Adds one and returns the sum.
    Add { counter: usize },
}

/// What an answer says; what it does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply<'a> {
    /// A value, or the item of a session that was locked.
    pub(crate) value: Option<Cow<'a, [u8]>>,
    /// The sum of a counter, or the cookie of a session that was locked.
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

/// The key of a value or of a session: 32 characters, as web servers make them for sessions.
pub(crate) fn key_text(key: usize) -> String {
    format!("{KEY_START}{key:0>KEY_DIGITS$}{KEY_END}")
}

/// What keys begin with, how many digits follow, and what they end with.
pub(crate) const KEY_START: &str = "q3hx0zkvw5n1tb4";
/// See [`KEY_START`].
pub(crate) const KEY_DIGITS: usize = 9;
/// See [`KEY_START`].
pub(crate) const KEY_END: &str = "0f5d6c2a";

const PATTERN_BYTES: usize = 16 * 1024;

/// Bytes without a pattern, of which every value is a part.
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

/// The value of a key in one of its versions: all byte values occur, line ends among them.
pub(crate) fn item(key: usize, version: u32) -> &'static [u8] {
    let version = usize::try_from(version).unwrap_or(0);
    let start = (key * 7 + version * 1_031) % (PATTERN_BYTES - ITEM_BYTES);
    &PATTERN[start..start + ITEM_BYTES]
}

/// What a session holds.
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
