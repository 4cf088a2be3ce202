//! PostgreSQL by version 3 of its protocol: named prepared statements, with parameters and results
//! in binary.

use super::{Protocol, number, shown};
use crate::Result;
use crate::book::COOKIE_FIRST;
use crate::keeping::Keeping;
use crate::work::{
    Ask, COUNTERS, ITEM_BYTES, KEY_DIGITS, KEY_END, KEY_START, KEYS, MINUTES, Reply,
    SESSION_LETTER, item, key_text,
};

/// The superuser that initdb creates.
pub(crate) const USER: &str = "race";
const DATABASE: &str = "postgres";
const VERSION: i32 = 3 << 16;
/// Object ids of parameter types.
const TEXT: i32 = 25;
const BYTEA: i32 = 17;
const INT4: i32 = 23;
/// Length of a message's type and length fields.
const HEADER_BYTES: usize = 5;
/// Upper bound of an answer's length.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Name, text and parameter types of each statement.
const STATEMENTS: [(&str, &str, &[i32]); 5] = [
    ("g", "select item from race_item where id = $1", &[TEXT]),
    ("s", "update race_item set item = $2 where id = $1", &[TEXT, BYTEA]),
    (
        "l",
        "update race_session set held = true, cookie = cookie + 1, locked_at = now(), \
         expires = now() + minutes * interval '1 minute' where id = $1 and not held returning item, cookie",
        &[TEXT],
    ),
    (
        "r",
        "update race_session set held = false, expires = now() + minutes * interval '1 minute' \
         where id = $1 and cookie = $2 and held",
        &[TEXT, INT4],
    ),
    ("a", "update race_counter set n = n + 1 where id = $1 returning n", &[INT4]),
];

/// A connection to PostgreSQL.
pub(crate) struct Postgres {
    /// How its tables are kept.
    pub(crate) keeping: Keeping,
}

impl Protocol for Postgres {
    fn opening(&self) -> Vec<Vec<u8>> {
        vec![startup()]
    }

    fn opened(&mut self, _step: usize, answer: &[u8]) -> Result<()> {
        self.done(answer)
    }

    fn preparing(&self) -> Vec<Vec<u8>> {
        vec![prepare()]
    }

    fn setup(&self) -> Vec<Vec<u8>> {
        let rows = format!(
            "insert into race_item select '{KEY_START}' || lpad(n::text, {KEY_DIGITS}, '0') || '{KEY_END}', '' \
             from generate_series(0, {}) n",
            KEYS - 1
        );
        let sessions = format!(
            "insert into race_session select id, now(), now(), {COOKIE_FIRST}, {MINUTES}, false, \
             convert_to(repeat('{SESSION_LETTER}', {ITEM_BYTES}), 'UTF8') from race_item"
        );
        let counters = format!(
            "insert into race_counter select n, 0 from generate_series(0, {}) n",
            COUNTERS - 1
        );
        let table = match self.keeping {
            Keeping::Memory => "unlogged table",
            Keeping::Delayed | Keeping::Durable => "table",
        };
        // Free room in each page keeps new row versions beside old ones: heap-only tuples.
        let texts = [
            &format!(
                "create {table} race_item (id text primary key, item bytea not null) with (fillfactor = 50)"
            ),
            &format!(
                "create {table} race_session (id text primary key, expires timestamptz not null, \
             locked_at timestamptz not null, cookie int not null, minutes int not null, held bool not null, \
             item bytea not null) with (fillfactor = 50)"
            ),
            &format!(
                "create {table} race_counter (id int primary key, n bigint not null) with (fillfactor = 10)"
            ),
            &rows,
            &sessions,
            &counters,
            "vacuum analyze",
        ];
        texts.iter().map(|text| query(text)).collect()
    }

    fn done(&self, answer: &[u8]) -> Result<()> {
        error_of(answer).map_or(Ok(()), Err)
    }

    fn put(&self, ask: Ask, out: &mut Vec<u8>) {
        match ask {
            Ask::Get { key } => execute(out, "g", &[key_text(key).as_bytes()]),
            Ask::Set { key, version } => {
                execute(out, "s", &[key_text(key).as_bytes(), item(key, version)]);
            }
            Ask::Lock { key } => execute(out, "l", &[key_text(key).as_bytes()]),
            Ask::Release { key, cookie } => {
                execute(out, "r", &[key_text(key).as_bytes(), &cookie.to_be_bytes()]);
            }
            Ask::Add { counter } => {
                let counter = i32::try_from(counter).unwrap_or(i32::MAX);
                execute(out, "a", &[&counter.to_be_bytes()]);
            }
        }
    }

    /// An answer ends with ReadyForQuery.
    fn answer_bytes(&self, received: &[u8]) -> Result<Option<usize>> {
        let mut at = 0;
        while let Some(header) = received.get(at..at + HEADER_BYTES) {
            let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            if !(4..=MESSAGE_BYTES_MAX).contains(&length) {
                return Err(format!("not PostgreSQL's: {}", shown(received)));
            }
            let is_last = header[0] == b'Z';
            at += 1 + length;
            if is_last {
                return Ok((at <= received.len()).then_some(at));
            }
        }
        // It reports a failed login with an error and nothing behind it.
        match error_of(received) {
            Some(error) if error.starts_with("FATAL") => Err(error),
            _ => Ok(None),
        }
    }

    fn read<'a>(&self, ask: Ask, answer: &'a [u8]) -> Result<Reply<'a>> {
        let mut reply = Reply::default();
        for (kind, body) in messages(answer) {
            match kind {
                b'E' => return Err(error_text(body)),
                b'D' => {
                    let columns =
                        columns(body).ok_or_else(|| format!("{ask:?}: {}", shown(answer)))?;
                    match ask {
                        Ask::Add { .. } => reply.number = columns.first().and_then(|n| integer(n)),
                        _ => {
                            reply.value = columns.first().map(|item| (*item).into());
                            reply.number = columns.get(1).and_then(|n| integer(n));
                        }
                    }
                }
                b'C' => {
                    let tag = body.strip_suffix(b"\0").unwrap_or(body);
                    let count = tag.rsplit(|byte| *byte == b' ').next().and_then(number);
                    let changed = count.and_then(|count| u64::try_from(count).ok());
                    reply.changed = changed.filter(|_| tag.starts_with(b"UPDATE"));
                }
                _ => {}
            }
        }
        Ok(reply)
    }
}

/// Returns the messages of an answer: type and body.
pub(crate) fn messages(answer: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = answer;
    std::iter::from_fn(move || {
        let header = rest.first_chunk::<HEADER_BYTES>()?;
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
        let end = 1 + usize::try_from(length).ok()?;
        let body = rest.get(HEADER_BYTES..end)?;
        rest = &rest[end..];
        Some((header[0], body))
    })
}

/// Returns the first error in an answer.
fn error_of(answer: &[u8]) -> Option<String> {
    messages(answer).find(|(kind, _)| *kind == b'E').map(|(_, body)| error_text(body))
}

/// Returns severity, SQLSTATE and message of an error.
pub(crate) fn error_text(body: &[u8]) -> String {
    let field = |wanted: u8| {
        let mut fields = body.split(|byte| *byte == 0);
        let found = fields.find(|field| field.first() == Some(&wanted));
        found.map_or_else(String::new, |field| String::from_utf8_lossy(&field[1..]).into_owned())
    };
    format!("{} {}: {}", field(b'V'), field(b'C'), field(b'M'))
}

/// Returns the columns of a row, none of which is null.
fn columns(body: &[u8]) -> Option<Vec<&[u8]>> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let mut columns = Vec::with_capacity(2);
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (column, after) =
            after.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        columns.push(column);
        rest = after;
    }
    rest.is_empty().then_some(columns)
}

/// Returns an integer of 4 or 8 bytes.
fn integer(bytes: &[u8]) -> Option<i64> {
    match bytes.len() {
        4 => Some(i32::from_be_bytes(*bytes.first_chunk()?).into()),
        8 => Some(i64::from_be_bytes(*bytes.first_chunk()?)),
        _ => None,
    }
}

/// Returns a StartupMessage for our user.
fn startup() -> Vec<u8> {
    let mut body = VERSION.to_be_bytes().to_vec();
    for text in ["user", USER, "database", DATABASE] {
        put_text(&mut body, text);
    }
    body.push(0);
    let mut out = length_of(body.len()).to_vec();
    out.extend_from_slice(&body);
    out
}

/// Returns a Parse message for every statement. Parse fails for missing tables, so it follows the
/// setup.
fn prepare() -> Vec<u8> {
    let mut out = Vec::new();
    for (name, text, types) in STATEMENTS {
        let mut body = Vec::new();
        put_text(&mut body, name);
        put_text(&mut body, text);
        body.extend_from_slice(&count_of(types.len()));
        types.iter().for_each(|id| body.extend_from_slice(&id.to_be_bytes()));
        put_message(&mut out, b'P', &body);
    }
    put_message(&mut out, b'S', &[]);
    out
}

/// Returns a simple query message.
pub(crate) fn query(text: &str) -> Vec<u8> {
    let (mut body, mut out) = (Vec::new(), Vec::new());
    put_text(&mut body, text);
    put_message(&mut out, b'Q', &body);
    out
}

/// Writes Bind, Execute and Sync for a statement.
fn execute(out: &mut Vec<u8>, statement: &str, values: &[&[u8]]) {
    const BINARY: [u8; 4] = [0, 1, 0, 1];
    let begin = out.len();
    out.extend_from_slice(b"B\0\0\0\0");
    put_text(out, "");
    put_text(out, statement);
    out.extend_from_slice(&BINARY);
    out.extend_from_slice(&count_of(values.len()));
    for value in values {
        let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(value);
    }
    out.extend_from_slice(&BINARY);
    let length = length_of(out.len() - begin - HEADER_BYTES);
    out[begin + 1..begin + HEADER_BYTES].copy_from_slice(&length);
    // The unnamed portal, without a limit on rows.
    put_message(out, b'E', &[0; 5]);
    put_message(out, b'S', &[]);
}

pub(crate) fn put_message(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&length_of(body.len()));
    out.extend_from_slice(body);
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// Returns a message's length field, which counts itself.
fn length_of(body_bytes: usize) -> [u8; 4] {
    u32::try_from(body_bytes + 4).unwrap_or(u32::MAX).to_be_bytes()
}

pub(crate) fn count_of(count: usize) -> [u8; 2] {
    u16::try_from(count).unwrap_or(u16::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::assert_ends;

    const POSTGRES: Postgres = Postgres { keeping: Keeping::Memory };

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_message(&mut out, kind, body);
        out
    }

    #[test]
    fn a_request_is_bind_execute_and_sync() {
        let mut out = Vec::new();
        POSTGRES.put(Ask::Add { counter: 7 }, &mut out);
        let bind = b"B\0\0\0\x19\0a\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x07\0\x01\0\x01";
        assert_eq!(out, [&bind[..], b"E\0\0\0\x09\0\0\0\0\0", b"S\0\0\0\x04"].concat());
        assert_eq!(startup()[..8], [0, 0, 0, 37, 0, 3, 0, 0]);
    }

    #[test]
    fn answers_are_read() {
        let row = [&b"\0\x02\0\0\x01\xf4"[..], item(1, 0), b"\0\0\0\x04\0\0\0\x07"].concat();
        let ready = message(b'Z', b"I");
        let bound = message(b'2', b"");
        let locked =
            [&bound[..], &message(b'D', &row), &message(b'C', b"UPDATE 1\0"), &ready].concat();
        let none = [&bound[..], &message(b'C', b"UPDATE 0\0"), &ready].concat();
        let sum = [&message(b'D', b"\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x29"), &ready[..]].concat();
        let failed =
            [&message(b'E', b"SERROR\0VERROR\0C42P01\0Mno such table\0\0"), &ready[..]].concat();
        for answer in [&locked, &none, &sum, &failed] {
            assert_ends(&POSTGRES, answer);
        }
        let lock = Ask::Lock { key: 1 };
        let reply = POSTGRES.read(lock, &locked).unwrap();
        assert_eq!((reply.value.as_deref(), reply.number), (Some(item(1, 0)), Some(7)));
        assert_eq!(POSTGRES.read(lock, &none), Ok(Reply::of_changed(0)));
        let reply = POSTGRES.read(Ask::Add { counter: 0 }, &sum).unwrap();
        assert_eq!(reply.number, Some(41));
        assert_eq!(POSTGRES.read(lock, &failed), Err("ERROR 42P01: no such table".to_owned()));
        assert!(POSTGRES.answer_bytes(b"HTTP/1.1 400").is_err());
    }

    #[test]
    fn a_refusal_without_an_end_is_an_error() {
        let refusal = message(b'E', b"SFATAL\0VFATAL\0C57P03\0Mstarting up\0\0");
        let found = POSTGRES.answer_bytes(&refusal);
        assert_eq!(found, Err("FATAL 57P03: starting up".to_owned()));
    }
}
