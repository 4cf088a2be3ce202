//! `Protocol`: how one kind of server is spoken to, as bytes; the sockets are `client.rs`'s.

use crate::Result;
use crate::work::{Ask, Reply};

pub(crate) mod mariadb;
pub(crate) mod memcached;
pub(crate) mod postgres;
pub(crate) mod redis;
pub(crate) mod tds;

/// One connection's side of a protocol. A request is sent when the one before it has been answered.
pub(crate) trait Protocol {
    /// What is sent first on every connection, each when the one before has been answered. An empty one waits for
    /// what the server says by itself.
    fn opening(&self) -> Vec<Vec<u8>>;

    /// Checks the answer to a step of the opening, and learns from it.
    fn opened(&mut self, step: usize, answer: &[u8]) -> Result<()>;

    /// What is sent on every connection when the tables are there, likewise.
    fn preparing(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Checks the answer to a step of that, and learns from it.
    fn prepared(&mut self, answer: &[u8]) -> Result<()> {
        self.done(answer)
    }

    /// What makes tables, procedures and rows, once on one connection.
    fn setup(&self) -> Vec<Vec<u8>>;

    /// What takes them away again, where the server outlives the race.
    fn teardown(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Checks the answer to a step of the setup or of the teardown.
    fn done(&self, answer: &[u8]) -> Result<()>;

    /// Puts a request at the end of `out`.
    fn put(&self, ask: Ask, out: &mut Vec<u8>);

    /// Bytes of the answer that `received` begins with; `None` if it is not whole yet.
    ///
    /// # Errors
    /// When that is no answer of this protocol.
    fn answer_bytes(&self, received: &[u8]) -> Result<Option<usize>>;

    /// What a whole answer says.
    ///
    /// # Errors
    /// The server's error, or that it is no answer to such a request.
    fn read<'a>(&self, ask: Ask, answer: &'a [u8]) -> Result<Reply<'a>>;
}

/// Where a line of text ends, its CR LF included.
pub(crate) fn line_bytes(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some(end + 1)
}

/// Reads a whole number that is all of a text.
pub(crate) fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// The begin of an answer as text, for messages.
pub(crate) fn shown(answer: &[u8]) -> String {
    const BYTES_MAX: usize = 120;
    let text = String::from_utf8_lossy(&answer[..answer.len().min(BYTES_MAX)]);
    text.chars().map(|letter| if letter.is_control() { '.' } else { letter }).collect()
}

/// Fails a test unless an answer is found at its end, not before, and not behind what follows it.
#[cfg(test)]
pub(crate) fn assert_ends(protocol: &dyn Protocol, answer: &[u8]) {
    for cut in 0..answer.len() {
        assert_eq!(protocol.answer_bytes(&answer[..cut]), Ok(None), "cut at {cut}");
    }
    let longer = [answer, answer].concat();
    assert_eq!(protocol.answer_bytes(&longer), Ok(Some(answer.len())));
}
