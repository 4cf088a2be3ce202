//! Redis by RESP2: values and counters by commands, sessions by two Lua scripts stored in the
//! server.

use super::{Protocol, line_bytes, number, shown};
use crate::Result;
use crate::book::COOKIE_FIRST;
use crate::work::{Ask, COUNTERS, ITEM_BYTES, KEYS, MINUTES, Reply, item, key_text, session_item};

/// The locking read: nil if the session is locked, else cookie and item.
const LOCK: &str = "\
local s = redis.call('HMGET', KEYS[1], 'held', 'item')
if s[1] ~= '0' then return false end
local cookie = redis.call('HINCRBY', KEYS[1], 'cookie', 1)
redis.call('HSET', KEYS[1], 'held', '1', 'locked_at', redis.call('TIME')[1])
redis.call('EXPIRE', KEYS[1], ARGV[1])
return {cookie, s[2]}";

/// The release: returns how many sessions were released.
const RELEASE: &str = "\
local s = redis.call('HMGET', KEYS[1], 'held', 'cookie')
if s[1] ~= '1' or s[2] ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'held', '0')
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1";

/// Deepest nesting of values in an answer.
const DEPTH_MAX: usize = 4;

/// A connection to Redis.
#[derive(Default)]
pub(crate) struct Redis {
    /// The names that the server gave to the two scripts.
    scripts: Vec<String>,
}

/// A value of the RESP2 protocol.
#[derive(Debug, PartialEq, Eq)]
enum Resp<'a> {
    Simple(&'a [u8]),
    Error(&'a [u8]),
    Number(i64),
    Bulk(Option<&'a [u8]>),
    Array(Vec<Resp<'a>>),
}

impl Protocol for Redis {
    fn opening(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn opened(&mut self, _step: usize, answer: &[u8]) -> Result<()> {
        Err(format!("an answer without a request: {}", shown(answer)))
    }

    fn preparing(&self) -> Vec<Vec<u8>> {
        let load = |script: &str| command(&[b"SCRIPT", b"LOAD", script.as_bytes()]);
        vec![load(LOCK), load(RELEASE)]
    }

    fn prepared(&mut self, answer: &[u8]) -> Result<()> {
        match whole(answer)? {
            Resp::Bulk(Some(name)) => {
                self.scripts.push(String::from_utf8_lossy(name).into_owned());
                Ok(())
            }
            _ => Err(format!("SCRIPT LOAD: {}", shown(answer))),
        }
    }

    fn setup(&self) -> Vec<Vec<u8>> {
        let cookie = COOKIE_FIRST.to_string();
        let item = session_item();
        let session = |key| {
            let name = session_name(key);
            let fields: [&[u8]; 8] = [
                b"HSET",
                name.as_bytes(),
                b"item",
                &item,
                b"held",
                b"0",
                b"cookie",
                cookie.as_bytes(),
            ];
            command(&fields)
        };
        let counter = |counter| command(&[b"SET", counter_name(counter).as_bytes(), b"0"]);
        (0..KEYS).map(session).chain((0..COUNTERS).map(counter)).collect()
    }

    fn done(&self, answer: &[u8]) -> Result<()> {
        match whole(answer)? {
            Resp::Error(text) => Err(shown(text)),
            _ => Ok(()),
        }
    }

    fn put(&self, ask: Ask, out: &mut Vec<u8>) {
        let seconds = (MINUTES * 60).to_string();
        match ask {
            Ask::Get { key } => put(out, &[b"GET", item_name(key).as_bytes()]),
            Ask::Set { key, version } => {
                put(out, &[b"SET", item_name(key).as_bytes(), item(key, version)]);
            }
            Ask::Lock { key } => {
                let (script, name) = (self.script(0), session_name(key));
                put(out, &[b"EVALSHA", script, b"1", name.as_bytes(), seconds.as_bytes()]);
            }
            Ask::Release { key, cookie } => {
                let (script, name, cookie) =
                    (self.script(1), session_name(key), cookie.to_string());
                let (seconds, cookie) = (seconds.as_bytes(), cookie.as_bytes());
                put(out, &[b"EVALSHA", script, b"1", name.as_bytes(), seconds, cookie]);
            }
            Ask::Add { counter } => put(out, &[b"INCR", counter_name(counter).as_bytes()]),
        }
    }

    fn answer_bytes(&self, received: &[u8]) -> Result<Option<usize>> {
        // The usual length, found without parsing the rest.
        if let Some(rest) = received.strip_prefix(b"$500\r\n") {
            return Ok((rest.len() >= ITEM_BYTES + 2).then_some(6 + ITEM_BYTES + 2));
        }
        Ok(parse(received, DEPTH_MAX)?.map(|(_, used)| used))
    }

    fn read<'a>(&self, ask: Ask, answer: &'a [u8]) -> Result<Reply<'a>> {
        let odd = || format!("{ask:?}: {}", shown(answer));
        match (ask, whole(answer)?) {
            (_, Resp::Error(text)) => Err(shown(text)),
            (Ask::Get { .. }, Resp::Bulk(value)) => Ok(Reply::of_value(value)),
            (Ask::Set { .. }, Resp::Simple(b"OK")) => Ok(Reply::of_changed(1)),
            (Ask::Lock { .. }, Resp::Bulk(None)) => Ok(Reply::default()),
            (Ask::Lock { .. }, Resp::Array(parts)) => match parts[..] {
                [Resp::Number(cookie), Resp::Bulk(value)] => {
                    Ok(Reply { number: Some(cookie), ..Reply::of_value(value) })
                }
                _ => Err(odd()),
            },
            (Ask::Release { .. }, Resp::Number(count)) => {
                Ok(Reply::of_changed(u64::try_from(count).unwrap_or(0)))
            }
            (Ask::Add { .. }, Resp::Number(sum)) => Ok(Reply::of_number(Some(sum))),
            _ => Err(odd()),
        }
    }
}

impl Redis {
    fn script(&self, index: usize) -> &[u8] {
        self.scripts.get(index).map_or(b"", |name| name.as_bytes())
    }
}

fn item_name(key: usize) -> String {
    format!("i:{}", key_text(key))
}

fn session_name(key: usize) -> String {
    format!("s:{}", key_text(key))
}

fn counter_name(counter: usize) -> String {
    format!("c:{counter}")
}

fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, words);
    out
}

/// Writes a command: an array of bulk strings.
fn put(out: &mut Vec<u8>, words: &[&[u8]]) {
    out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

fn whole(answer: &[u8]) -> Result<Resp<'_>> {
    let parsed = parse(answer, DEPTH_MAX)?;
    parsed.map(|(value, _)| value).ok_or_else(|| "the answer is incomplete".to_owned())
}

/// Parses the first value and returns its length; `None` if it is not whole.
fn parse(bytes: &[u8], depth: usize) -> Result<Option<(Resp<'_>, usize)>> {
    let Some(end) = line_bytes(bytes) else { return Ok(None) };
    let odd = || format!("not RESP: {}", shown(bytes));
    let line = bytes[..end].strip_suffix(b"\r\n").ok_or_else(odd)?;
    let (kind, text) = line.split_first().ok_or_else(odd)?;
    let count = || number(text).ok_or_else(odd);
    let value = match kind {
        b'+' => Resp::Simple(text),
        b'-' => Resp::Error(text),
        b':' => Resp::Number(count()?),
        b'$' | b'*' if count()? < 0 => Resp::Bulk(None),
        b'$' => {
            let length = usize::try_from(count()?).map_err(|_| odd())?;
            let Some(rest) = bytes.get(end..end + length + 2) else { return Ok(None) };
            let value = rest.strip_suffix(b"\r\n").ok_or_else(odd)?;
            return Ok(Some((Resp::Bulk(Some(value)), end + length + 2)));
        }
        b'*' => {
            let depth = depth.checked_sub(1).ok_or_else(odd)?;
            let (mut values, mut at) = (Vec::new(), end);
            for _ in 0..count()? {
                let Some((value, used)) = parse(&bytes[at..], depth)? else { return Ok(None) };
                values.push(value);
                at += used;
            }
            return Ok(Some((Resp::Array(values), at)));
        }
        _ => return Err(odd()),
    };
    Ok(Some((value, end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::assert_ends;

    fn redis() -> Redis {
        let mut redis = Redis::default();
        redis.prepared(b"$3\r\nabc\r\n").unwrap();
        redis.prepared(b"$3\r\ndef\r\n").unwrap();
        redis
    }

    #[test]
    fn requests_are_arrays_of_bulk_strings() {
        let put = |ask| {
            let mut out = Vec::new();
            redis().put(ask, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            put(Ask::Get { key: 5 }),
            "*2\r\n$3\r\nGET\r\n$34\r\ni:q3hx0zkvw5n1tb40000000050f5d6c2a\r\n"
        );
        assert_eq!(put(Ask::Add { counter: 3 }), "*2\r\n$4\r\nINCR\r\n$3\r\nc:3\r\n");
        assert_eq!(
            put(Ask::Release { key: 0, cookie: 12 }),
            "*6\r\n$7\r\nEVALSHA\r\n$3\r\ndef\r\n$1\r\n1\r\n$34\r\ns:q3hx0zkvw5n1tb40000000000f5d6c2a\r\n\
             $4\r\n1200\r\n$2\r\n12\r\n"
        );
    }

    #[test]
    fn answers_are_read() {
        let redis = redis();
        let value = [b"$500\r\n", item(1, 0), b"\r\n"].concat();
        let locked = [b"*2\r\n:7\r\n", &value[..]].concat();
        for answer in [&value[..], &locked, b"+OK\r\n", b":41\r\n", b"$-1\r\n", b"-ERR no\r\n"] {
            assert_ends(&redis, answer);
        }
        let (get, lock) = (Ask::Get { key: 1 }, Ask::Lock { key: 1 });
        assert_eq!(redis.read(get, &value), Ok(Reply::of_value(Some(item(1, 0)))));
        assert_eq!(redis.read(get, b"$-1\r\n"), Ok(Reply::default()));
        let reply = redis.read(lock, &locked).unwrap();
        assert_eq!((reply.number, reply.value.as_deref()), (Some(7), Some(item(1, 0))));
        assert_eq!(redis.read(lock, b"$-1\r\n"), Ok(Reply::default()));
        assert_eq!(redis.read(Ask::Add { counter: 0 }, b":41\r\n"), Ok(Reply::of_number(Some(41))));
        assert_eq!(redis.read(get, b"-ERR no\r\n"), Err("ERR no".to_owned()));
        assert!(redis.read(get, b":1\r\n").is_err());
        assert!(redis.answer_bytes(b"HTTP/1.1 400\r\n").is_err());
    }
}
