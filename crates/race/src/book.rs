//! `Book`: decides a connection's next request, and checks its answer against what the connection
//! has sent before.

use crate::Result;
use crate::work::{Ask, COUNTERS, KEYS_EACH, Reply, Work, item, session_item};

/// The cookie of a session that has never been locked.
pub(crate) const COOKIE_FIRST: i32 = 1;

/// What a connection knows of its keys, sessions and counters.
pub(crate) struct Book {
    connection: usize,
    turn: usize,
    /// The current version of each of its keys.
    versions: Vec<u32>,
    /// The current cookie of each of its sessions.
    cookies: Vec<i32>,
    /// The session that it has locked; `None` if there is none.
    locked: Option<usize>,
    /// The largest sum that it has seen of each counter.
    sums: [i64; COUNTERS],
    /// How often it has incremented each counter.
    added: [i64; COUNTERS],
}

impl Book {
    /// Makes the book of a connection, given its index.
    pub(crate) fn new(connection: usize) -> Self {
        Self {
            connection,
            turn: 0,
            versions: vec![0; KEYS_EACH],
            cookies: vec![COOKIE_FIRST; KEYS_EACH],
            locked: None,
            sums: [0; COUNTERS],
            added: [0; COUNTERS],
        }
    }

    /// Returns the connection's first key.
    pub(crate) fn first_key(&self) -> usize {
        self.connection * KEYS_EACH
    }

    /// Returns how often it has incremented each counter.
    pub(crate) fn added(&self) -> &[i64; COUNTERS] {
        &self.added
    }

    /// Returns the next request of a kind of work.
    #[inline]
    pub(crate) fn next(&mut self, work: Work) -> Ask {
        // A locked session must be released first, whatever the work.
        if let Some(own) = self.locked {
            return Ask::Release { key: self.first_key() + own, cookie: self.cookies[own] };
        }
        let own = self.turn % KEYS_EACH;
        let key = self.first_key() + own;
        self.turn += 1;
        match work {
            Work::Get => Ask::Get { key },
            Work::Set => Ask::Set { key, version: self.versions[own] + 1 },
            Work::Session => Ask::Lock { key },
            Work::Counter => Ask::Add { counter: (self.connection + self.turn) % COUNTERS },
        }
    }

    /// Checks an answer, and updates the book from it.
    #[inline]
    pub(crate) fn check(&mut self, ask: Ask, reply: &Reply<'_>) -> Result<()> {
        let is_right = match ask {
            Ask::Get { key } => {
                reply.value.as_deref() == Some(item(key, self.versions[key % KEYS_EACH]))
            }
            Ask::Set { key, version } => {
                self.versions[key % KEYS_EACH] = version;
                reply.changed == Some(1)
            }
            Ask::Lock { key } => {
                let own = key % KEYS_EACH;
                self.cookies[own] += 1;
                self.locked = Some(own);
                reply.value.as_deref() == Some(&session_item())
                    && reply.number == Some(self.cookies[own].into())
            }
            Ask::Release { .. } => {
                self.locked = None;
                reply.changed == Some(1)
            }
            Ask::Add { counter } => {
                self.added[counter] += 1;
                let before = self.sums[counter];
                self.sums[counter] = reply.number.unwrap_or(0);
                self.sums[counter] > before
            }
        };
        if is_right { Ok(()) } else { Err(wrong(ask, reply)) }
    }
}

/// Returns the message for a wrong answer.
#[cold]
pub(crate) fn wrong(ask: Ask, reply: &Reply<'_>) -> String {
    let value = reply.value.as_deref().map(|value| format!("{} bytes", value.len()));
    format!(
        "wrong answer to {ask:?}: value {}, number {:?}, changed {:?}",
        value.as_deref().unwrap_or("none"),
        reply.number,
        reply.changed
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_must_be_that_of_the_last_version_set() {
        let mut book = Book::new(2);
        let ask = book.next(Work::Set);
        assert_eq!(ask, Ask::Set { key: 128, version: 1 });
        book.check(ask, &Reply::of_changed(1)).unwrap();
        let get = Ask::Get { key: 128 };
        book.check(get, &Reply::of_value(Some(item(128, 1)))).unwrap();
        assert!(book.check(get, &Reply::of_value(Some(item(128, 0)))).is_err());
        assert!(book.check(get, &Reply::of_value(None)).is_err());
        assert!(book.check(ask, &Reply::of_changed(0)).is_err());
    }

    #[test]
    fn a_locked_session_is_released_under_its_cookie() {
        let mut book = Book::new(0);
        let item = session_item();
        let locked = |cookie| Reply { number: Some(cookie), ..Reply::of_value(Some(&item)) };
        let ask = book.next(Work::Session);
        assert_eq!(ask, Ask::Lock { key: 0 });
        book.check(ask, &locked(2)).unwrap();
        let release = book.next(Work::Session);
        assert_eq!(release, Ask::Release { key: 0, cookie: 2 });
        book.check(release, &Reply::of_changed(1)).unwrap();
        let ask = book.next(Work::Session);
        assert_eq!(ask, Ask::Lock { key: 1 });
        assert!(book.check(ask, &locked(9)).is_err(), "a cookie that was never given");
    }

    #[test]
    fn a_counter_never_comes_back_smaller_or_the_same() {
        let mut book = Book::new(0);
        let ask = Ask::Add { counter: 3 };
        book.check(ask, &Reply::of_number(Some(5))).unwrap();
        book.check(ask, &Reply::of_number(Some(9))).unwrap();
        assert!(book.check(ask, &Reply::of_number(Some(9))).is_err());
        assert_eq!(book.added()[3], 3);
    }
}
