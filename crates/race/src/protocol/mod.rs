//! `Protocol`: encodes requests for one kind of server and decodes its answers; `client.rs` has the
//! sockets.

use crate::Result;
use crate::work::{Ask, Reply};

pub(crate) mod mariadb;
pub(crate) mod memcached;
pub(crate) mod postgres;
pub(crate) mod redis;
pub(crate) mod tds;

/// The protocol state of one connection. A request is sent when the previous one has been answered.
pub(crate) trait Protocol {
    /// Returns the messages that every connection sends first, each when the previous one has been
    /// answered. An empty one waits for a message that the server sends by itself.
    fn opening(&self) -> Vec<Vec<u8>>;

    /// Checks the answer to a step of the opening, and keeps what later requests need.
    fn opened(&mut self, step: usize, answer: &[u8]) -> Result<()>;

    /// Returns the messages that every connection sends when the tables exist, likewise.
    fn preparing(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Checks the answer to a step of the preparation, and keeps what later requests need.
    fn prepared(&mut self, answer: &[u8]) -> Result<()> {
        self.done(answer)
    }

    /// Returns the messages that create tables, procedures and rows, sent once on one connection.
    fn setup(&self) -> Vec<Vec<u8>>;

    /// Returns the messages that remove them, if the server outlives the race.
    fn teardown(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Checks the answer to a step of the setup or the teardown.
    fn done(&self, answer: &[u8]) -> Result<()>;

    /// Appends an encoded request to `out`.
    fn put(&self, ask: Ask, out: &mut Vec<u8>);

    /// Returns the length of the answer at the start of `received`; `None` if it is not whole yet.
    ///
    /// # Errors
    /// If the bytes are no answer of this protocol.
    fn answer_bytes(&self, received: &[u8]) -> Result<Option<usize>>;

    /// Decodes a whole answer.
    ///
    /// # Errors
    /// The server's error, or that it is no answer to such a request.
    fn read<'a>(&self, ask: Ask, answer: &'a [u8]) -> Result<Reply<'a>>;
}

/// Returns the length of the first line, its CR LF included.
pub(crate) fn line_bytes(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some(end + 1)
}

/// Parses a text that is a whole number.
pub(crate) fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Returns the beginning of an answer as text, for messages.
pub(crate) fn shown(answer: &[u8]) -> String {
    const BYTES_MAX: usize = 120;
    let text = String::from_utf8_lossy(&answer[..answer.len().min(BYTES_MAX)]);
    text.chars().map(|letter| if letter.is_control() { '.' } else { letter }).collect()
}

/// Asserts that an answer is found whole at its end, not before, and not with the bytes that follow
/// it.
#[cfg(test)]
pub(crate) fn assert_ends(protocol: &dyn Protocol, answer: &[u8]) {
    for cut in 0..answer.len() {
        assert_eq!(protocol.answer_bytes(&answer[..cut]), Ok(None), "cut at {cut}");
    }
    let longer = [answer, answer].concat();
    assert_eq!(protocol.answer_bytes(&longer), Ok(Some(answer.len())));
}
