//! memcached by its text protocol. It takes no part in sessions: none of its requests can both read
//! and lock.

use super::{Protocol, line_bytes, number, shown};
use crate::Result;
use crate::work::{Ask, COUNTERS, Reply, item, key_text};

/// A connection to memcached.
pub(crate) struct Memcached;

impl Protocol for Memcached {
    fn opening(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn opened(&mut self, _step: usize, answer: &[u8]) -> Result<()> {
        Err(format!("an answer without a request: {}", shown(answer)))
    }

    fn setup(&self) -> Vec<Vec<u8>> {
        (0..COUNTERS)
            .map(|counter| format!("set c:{counter} 0 0 1\r\n0\r\n").into_bytes())
            .collect()
    }

    fn done(&self, answer: &[u8]) -> Result<()> {
        if answer == b"STORED\r\n" { Ok(()) } else { Err(shown(answer)) }
    }

    fn put(&self, ask: Ask, out: &mut Vec<u8>) {
        match ask {
            Ask::Get { key } => {
                out.extend_from_slice(format!("get {}\r\n", key_text(key)).as_bytes())
            }
            Ask::Set { key, version } => {
                let item = item(key, version);
                let head = format!("set {} 0 0 {}\r\n", key_text(key), item.len());
                out.extend_from_slice(head.as_bytes());
                out.extend_from_slice(item);
                out.extend_from_slice(b"\r\n");
            }
            Ask::Add { counter } => {
                out.extend_from_slice(format!("incr c:{counter} 1\r\n").as_bytes());
            }
            Ask::Lock { .. } | Ask::Release { .. } => {
                unreachable!("memcached takes no part in sessions: see Kind::races")
            }
        }
    }

    fn answer_bytes(&self, received: &[u8]) -> Result<Option<usize>> {
        let Some(line) = line_bytes(received) else { return Ok(None) };
        if !received.starts_with(b"VALUE ") {
            return Ok(Some(line));
        }
        // VALUE <key> <flags> <bytes>
        let count = received[..line].rsplit(|byte| *byte == b' ').next().and_then(number);
        let count = count.and_then(|count| usize::try_from(count).ok());
        let count = count.ok_or_else(|| format!("not memcached's: {}", shown(received)))?;
        let bytes = line + count + END.len();
        Ok((received.len() >= bytes).then_some(bytes))
    }

    fn read<'a>(&self, ask: Ask, answer: &'a [u8]) -> Result<Reply<'a>> {
        let odd = || format!("{ask:?}: {}", shown(answer));
        match ask {
            Ask::Get { .. } if answer == b"END\r\n" => Ok(Reply::default()),
            Ask::Get { .. } if answer.starts_with(b"VALUE ") => {
                let line = line_bytes(answer).ok_or_else(odd)?;
                let value = answer[line..].strip_suffix(END).ok_or_else(odd)?;
                Ok(Reply::of_value(Some(value)))
            }
            Ask::Set { .. } if answer == b"STORED\r\n" => Ok(Reply::of_changed(1)),
            Ask::Add { .. } => {
                number(answer).map(|sum| Reply::of_number(Some(sum))).ok_or_else(odd)
            }
            Ask::Get { .. } | Ask::Set { .. } | Ask::Lock { .. } | Ask::Release { .. } => {
                Err(odd())
            }
        }
    }
}

/// The bytes behind a value.
const END: &[u8] = b"\r\nEND\r\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::assert_ends;

    #[test]
    fn requests_are_lines_and_values_are_counted() {
        let mut out = Vec::new();
        Memcached.put(Ask::Set { key: 5, version: 1 }, &mut out);
        let head = b"set q3hx0zkvw5n1tb40000000050f5d6c2a 0 0 500\r\n";
        assert_eq!(out, [head, item(5, 1), b"\r\n"].concat());
        out.clear();
        Memcached.put(Ask::Add { counter: 7 }, &mut out);
        assert_eq!(out, b"incr c:7 1\r\n");
    }

    #[test]
    fn answers_are_read() {
        // This value contains line ends.
        let value = (0..200).map(|key| item(key, 0)).find(|item| item.contains(&b'\n')).unwrap();
        let hit = [b"VALUE k 0 500\r\n", value, END].concat();
        for answer in [&hit[..], b"END\r\n", b"STORED\r\n", b"41\r\n", b"SERVER_ERROR full\r\n"] {
            assert_ends(&Memcached, answer);
        }
        let get = Ask::Get { key: 1 };
        assert_eq!(Memcached.read(get, &hit), Ok(Reply::of_value(Some(value))));
        assert_eq!(Memcached.read(get, b"END\r\n"), Ok(Reply::default()));
        let add = Ask::Add { counter: 1 };
        assert_eq!(Memcached.read(add, b"41\r\n"), Ok(Reply::of_number(Some(41))));
        assert!(Memcached.read(add, b"NOT_FOUND\r\n").is_err());
        assert!(Memcached.read(get, b"SERVER_ERROR full\r\n").is_err());
        assert!(Memcached.answer_bytes(b"VALUE k 0 many\r\n").is_err());
    }
}
