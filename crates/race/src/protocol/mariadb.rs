//! MariaDB by its binary protocol: numbered prepared statements. The locking read of a session is a
//! procedure, because MariaDB's UPDATE returns no rows.

use std::cell::Cell;

use super::{Protocol, shown};
use crate::Result;
use crate::book::COOKIE_FIRST;
use crate::keeping::Keeping;
use crate::work::{
    Ask, COUNTERS, ITEM_BYTES, KEY_DIGITS, KEY_END, KEY_START, KEYS, MINUTES, Reply,
    SESSION_LETTER, item, key_text,
};

const USER: &str = "root";
const PLUGIN: &str = "mysql_native_password";
/// Our capability flags: long passwords, rows found, protocol 4.1, transactions, hashed passwords,
/// several results (also of statements), plug-ins.
const ABILITIES: u32 = 1 | 2 | 0x200 | 0x2000 | 0x8000 | 0x2_0000 | 0x4_0000 | 0x8_0000;
const UTF8MB4: u8 = 45;
pub(crate) const HEADER_BYTES: usize = 4;

/// The first byte of each kind of packet.
pub(crate) const OK: u8 = 0;
const END: u8 = 0xfe;
pub(crate) const ERROR: u8 = 0xff;
/// An END packet is shorter than this; a row with the same first byte is longer.
const END_BYTES_MAX: usize = 8;
/// The status bit of an answer that another one follows.
const MORE_RESULTS: u16 = 8;

/// Command bytes of requests.
pub(crate) const QUERY: u8 = 0x03;
pub(crate) const PREPARE: u8 = 0x16;
pub(crate) const EXECUTE: u8 = 0x17;

/// Type bytes of parameters.
pub(crate) const INT: u8 = 0x03;
const BLOB: u8 = 0xfc;
pub(crate) const TEXT: u8 = 0xfd;

/// Texts of the statements, in the order of [`Statement`].
const STATEMENTS: [&str; 5] = [
    "select item from race.item where id = ?",
    "update race.item set item = ? where id = ?",
    "call race.lock_session(?)",
    "update race.session set held = 0, expires = now() + interval minutes minute \
     where id = ? and cookie = ? and held = 1",
    "update race.counter set n = last_insert_id(n + 1) where id = ?",
];

#[derive(Clone, Copy)]
enum Statement {
    Get,
    Set,
    Lock,
    Release,
    Add,
}

/// A connection to MariaDB.
#[derive(Default)]
pub(crate) struct MariaDb {
    /// The numbers that the server gave to the statements.
    statements: Vec<u32>,
    /// Whether answers belong to preparing statements: their bytes cannot be told from other
    /// answers.
    prepares: Cell<bool>,
    keeping: Keeping,
}

impl Protocol for MariaDb {
    fn opening(&self) -> Vec<Vec<u8>> {
        // The server sends its greeting first.
        vec![Vec::new(), packet(1, &login())]
    }

    fn opened(&mut self, step: usize, answer: &[u8]) -> Result<()> {
        const VERSION: u8 = 10;
        let payload = answer.get(HEADER_BYTES..).unwrap_or_default();
        match (step, payload.first()) {
            (0, Some(&VERSION)) | (1, Some(&OK)) => Ok(()),
            (_, Some(&ERROR)) => Err(error_text(payload)),
            _ => Err(format!("it refuses the login: {}", shown(payload))),
        }
    }

    fn preparing(&self) -> Vec<Vec<u8>> {
        self.prepares.set(true);
        STATEMENTS.map(|text| command(PREPARE, text)).to_vec()
    }

    fn prepared(&mut self, answer: &[u8]) -> Result<()> {
        let payload = answer.get(HEADER_BYTES..).unwrap_or_default();
        match payload {
            [OK, id @ ..] if id.len() >= 4 => {
                self.statements.push(u32::from_le_bytes([id[0], id[1], id[2], id[3]]));
                self.prepares.set(self.statements.len() < STATEMENTS.len());
                Ok(())
            }
            [ERROR, ..] => Err(error_text(payload)),
            _ => Err(format!("not prepared: {}", shown(payload))),
        }
    }

    fn setup(&self) -> Vec<Vec<u8>> {
        let last = KEYS - 1;
        let items = format!(
            "insert into race.item select concat('{KEY_START}', lpad(seq, {KEY_DIGITS}, '0'), '{KEY_END}'), '' \
             from seq_0_to_{last}"
        );
        let sessions = format!(
            "insert into race.session select id, now(), now(), {COOKIE_FIRST}, {MINUTES}, 0, \
             repeat('{SESSION_LETTER}', {ITEM_BYTES}) from race.item"
        );
        let counters =
            format!("insert into race.counter select seq, 0 from seq_0_to_{}", COUNTERS - 1);
        let engine = match self.keeping {
            Keeping::Memory => "memory",
            Keeping::Delayed | Keeping::Durable => "innodb",
        };
        let texts = [
            "create database race",
            // The database of the counter tables.
            "use race",
            &format!(
                "create table race.item (id varchar(88) character set ascii collate ascii_bin primary key, \
             item varbinary(500) not null) engine = {engine}"
            ),
            &format!(
                "create table race.session (id varchar(88) character set ascii collate ascii_bin primary key, \
             expires datetime not null, locked_at datetime not null, cookie int not null, minutes int not null, \
             held tinyint not null, item varbinary(500) not null) engine = {engine}"
            ),
            &format!(
                "create table race.counter (id int primary key, n bigint not null) engine = {engine}"
            ),
            &items,
            &sessions,
            &counters,
            "create procedure race.lock_session(k varchar(88) character set ascii) \
             begin \
             update race.session set held = 1, cookie = cookie + 1, locked_at = now(), \
             expires = now() + interval minutes minute where id = k and held = 0; \
             if row_count() > 0 then select item, cookie from race.session where id = k; end if; \
             end",
        ];
        texts.iter().map(|text| command(QUERY, text)).collect()
    }

    fn done(&self, answer: &[u8]) -> Result<()> {
        let payload = answer.get(HEADER_BYTES..).unwrap_or_default();
        if payload.first() == Some(&ERROR) { Err(error_text(payload)) } else { Ok(()) }
    }

    fn put(&self, ask: Ask, out: &mut Vec<u8>) {
        let key = |key| (TEXT, sized(key_text(key).as_bytes()));
        let int = |value: i32| (INT, value.to_le_bytes().to_vec());
        match ask {
            Ask::Get { key: of } => self.execute(out, Statement::Get, &[key(of)]),
            Ask::Set { key: of, version } => {
                let item = (BLOB, sized(item(of, version)));
                self.execute(out, Statement::Set, &[item, key(of)]);
            }
            Ask::Lock { key: of } => self.execute(out, Statement::Lock, &[key(of)]),
            Ask::Release { key: of, cookie } => {
                self.execute(out, Statement::Release, &[key(of), int(cookie)]);
            }
            Ask::Add { counter } => {
                let counter = i32::try_from(counter).unwrap_or(i32::MAX);
                self.execute(out, Statement::Add, &[int(counter)]);
            }
        }
    }

    fn answer_bytes(&self, received: &[u8]) -> Result<Option<usize>> {
        let mut packets = Packets { bytes: received, at: 0 };
        let ended = match self.prepares.get() {
            true => end_of_prepared(&mut packets),
            false => end_of_results(&mut packets),
        };
        Ok(ended.map(|()| packets.at))
    }

    fn read<'a>(&self, ask: Ask, answer: &'a [u8]) -> Result<Reply<'a>> {
        let odd = || format!("{ask:?}: {}", shown(answer));
        let mut packets = Packets { bytes: answer, at: 0 };
        let first = packets.next().ok_or_else(odd)?;
        match first {
            [ERROR, ..] => Err(error_text(first)),
            [OK, rest @ ..] => {
                let mut rest = rest;
                let changed = take_count(&mut rest).ok_or_else(odd)?;
                let last_id = take_count(&mut rest).ok_or_else(odd)?;
                Ok(match ask {
                    Ask::Add { .. } if changed == 1 => {
                        Reply::of_number(i64::try_from(last_id).ok())
                    }
                    // The row count of the procedure's last statement has no meaning here.
                    Ask::Lock { .. } | Ask::Add { .. } => Reply::default(),
                    Ask::Get { .. } | Ask::Set { .. } | Ask::Release { .. } => {
                        Reply::of_changed(changed)
                    }
                })
            }
            [columns, ..] => {
                for _ in 0..=*columns {
                    packets.next().ok_or_else(odd)?;
                }
                let row = packets.next().ok_or_else(odd)?;
                if is_end(row) {
                    return Ok(Reply::default());
                }
                row_of(row).ok_or_else(odd)
            }
            [] => Err(odd()),
        }
    }
}

impl MariaDb {
    /// Makes a connection to a server that keeps its tables in this way.
    pub(crate) fn new(keeping: Keeping) -> Self {
        Self { keeping, ..Self::default() }
    }

    fn execute(&self, out: &mut Vec<u8>, statement: Statement, values: &[(u8, Vec<u8>)]) {
        let id = self.statements.get(statement as usize).copied().unwrap_or(0);
        let mut payload = vec![EXECUTE];
        payload.extend_from_slice(&id.to_le_bytes());
        // No cursor, once, no parameter is null, types follow.
        payload.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1]);
        values.iter().for_each(|(kind, _)| payload.extend_from_slice(&[*kind, 0]));
        values.iter().for_each(|(_, value)| payload.extend_from_slice(value));
        out.extend_from_slice(&packet(0, &payload));
    }
}

/// The packets of an answer, in order.
pub(crate) struct Packets<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Packets<'a> {
    /// Returns the next packet's payload, if it is whole.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let header = self.bytes.get(self.at..)?.first_chunk::<HEADER_BYTES>()?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let begin = self.at + HEADER_BYTES;
        let end = begin + usize::try_from(length).ok()?;
        let payload = self.bytes.get(begin..end)?;
        self.at = end;
        Some(payload)
    }
}

pub(crate) fn is_end(payload: &[u8]) -> bool {
    payload.first() == Some(&END) && payload.len() <= END_BYTES_MAX
}

/// Reads to the end of the answer to preparing a statement: parameters and columns, each list with
/// an end packet.
pub(crate) fn end_of_prepared(packets: &mut Packets<'_>) -> Option<()> {
    let first = packets.next()?;
    let [OK, _, _, _, _, columns_low, columns_high, count_low, count_high, ..] = *first else {
        return Some(());
    };
    for count in [[count_low, count_high], [columns_low, columns_high]] {
        let count = u16::from_le_bytes(count);
        for _ in 0..u32::from(count) + u32::from(count > 0) {
            packets.next()?;
        }
    }
    Some(())
}

/// Reads to the end of the last result.
pub(crate) fn end_of_results(packets: &mut Packets<'_>) -> Option<()> {
    loop {
        let first = packets.next()?;
        let status = match first {
            [OK, rest @ ..] => {
                let mut rest = rest;
                take_count(&mut rest)?;
                take_count(&mut rest)?;
                rest.first_chunk().map(|status| u16::from_le_bytes(*status))
            }
            // A greeting begins with its version byte; no result here has as many columns.
            [ERROR | 10, ..] | [] => None,
            [columns, ..] => {
                for _ in 0..=*columns {
                    packets.next()?;
                }
                let last = std::iter::from_fn(|| packets.next())
                    .find(|packet| is_end(packet) || packet.first() == Some(&ERROR))?;
                last.get(3..5)
                    .filter(|_| is_end(last))
                    .map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
            }
        };
        if status.unwrap_or(0) & MORE_RESULTS == 0 {
            return Some(());
        }
    }
}

/// Decodes a binary row: an item, and a cookie if there is a second column.
fn row_of(row: &[u8]) -> Option<Reply<'_>> {
    // A zero, and a bitmap of NULLs, which is empty.
    let [0, 0, rest @ ..] = row else { return None };
    let mut rest = rest;
    let length = usize::try_from(take_count(&mut rest)?).ok()?;
    let (value, rest) = rest.split_at_checked(length)?;
    let number = rest.first_chunk().map(|bytes| i64::from(i32::from_le_bytes(*bytes)));
    Some(Reply { number, ..Reply::of_value(Some(value)) })
}

/// Takes an integer of 1, 3, 4 or 9 bytes.
pub(crate) fn take_count(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    let length = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        0xfb | 0xff => return None,
        small => {
            *bytes = rest;
            return Some(u64::from(*small));
        }
    };
    let (number, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(number.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// Returns a value with its length in front.
pub(crate) fn sized(value: &[u8]) -> Vec<u8> {
    const SMALL_MAX: usize = 250;
    let mut out = match (u8::try_from(value.len()), u16::try_from(value.len())) {
        (Ok(length), _) if value.len() <= SMALL_MAX => vec![length],
        (_, length) => {
            let [low, high] = length.unwrap_or(u16::MAX).to_le_bytes();
            vec![0xfc, low, high]
        }
    };
    out.extend_from_slice(value);
    out
}

pub(crate) fn command(kind: u8, text: &str) -> Vec<u8> {
    packet(0, &[&[kind], text.as_bytes()].concat())
}

pub(crate) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [low, middle, high, _] = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes();
    let mut out = vec![low, middle, high, sequence];
    out.extend_from_slice(payload);
    out
}

/// Returns the answer to the greeting, without a password.
fn login() -> Vec<u8> {
    const PACKET_BYTES_MAX: u32 = 1 << 24;
    let mut payload = ABILITIES.to_le_bytes().to_vec();
    payload.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
    payload.push(UTF8MB4);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(USER.as_bytes());
    // The end of the name, and an empty password.
    payload.extend_from_slice(&[0, 0]);
    payload.extend_from_slice(PLUGIN.as_bytes());
    payload.push(0);
    payload
}

/// Returns number and text of an error.
pub(crate) fn error_text(payload: &[u8]) -> String {
    const STATE_BYTES: usize = 6;
    let [_, low, high, text @ ..] = payload else { return "an error without a number".to_owned() };
    let text =
        if text.first() == Some(&b'#') { text.get(STATE_BYTES..).unwrap_or(text) } else { text };
    format!("error {}: {}", u16::from_le_bytes([*low, *high]), shown(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::assert_ends;

    /// Returns a connection with prepared statements.
    fn mariadb() -> MariaDb {
        let mut mariadb = MariaDb::default();
        mariadb.preparing();
        for id in 1..=5 {
            // One parameter, one column: two definitions, each with an end packet.
            let end = packet(3, &[END, 0, 0, 2, 0]);
            let answer = [
                packet(1, &[0, id, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]),
                packet(2, b"def"),
                end.clone(),
                packet(4, b"def"),
                end,
            ];
            assert_ends(&mariadb, &answer.concat());
            mariadb.prepared(&answer.concat()).unwrap();
        }
        assert!(!mariadb.prepares.get());
        mariadb
    }

    #[test]
    fn a_request_executes_a_statement() {
        let mut out = Vec::new();
        mariadb().put(Ask::Release { key: 0, cookie: 2 }, &mut out);
        let head = [53, 0, 0, 0, EXECUTE, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, TEXT, 0, INT, 0, 32];
        assert_eq!(out, [&head[..], key_text(0).as_bytes(), &[2, 0, 0, 0]].concat());
        assert_eq!(sized(&[7; 500])[..3], [0xfc, 0xf4, 0x01]);
    }

    #[test]
    fn answers_are_read() {
        let mariadb = mariadb();
        let changed = packet(1, &[0, 1, 0, 2, 0, 0, 0]);
        let sum = packet(1, &[0, 1, 0xfc, 0x29, 0x01, 2, 0, 0, 0]);
        let row = [&[0, 0][..], &sized(item(1, 0)), &[7, 0, 0, 0]].concat();
        let defined =
            [packet(1, &[2]), packet(2, b"def"), packet(3, b"def"), packet(4, &[END, 0, 0, 2, 0])];
        // The procedure's own end follows its rows.
        let rows =
            [packet(5, &row), packet(6, &[END, 0, 0, 10, 0]), packet(7, &[0, 0, 0, 2, 0, 0, 0])];
        let locked = [defined.concat(), rows.concat()].concat();
        let failed = packet(1, b"\xff\x7a\x04#42S02No such table");
        for answer in [&changed, &sum, &locked, &failed] {
            assert_ends(&mariadb, answer);
        }
        let lock = Ask::Lock { key: 1 };
        let reply = mariadb.read(lock, &locked).unwrap();
        assert_eq!((reply.value.as_deref(), reply.number), (Some(item(1, 0)), Some(7)));
        assert_eq!(mariadb.read(lock, &changed), Ok(Reply::default()));
        let set = Ask::Set { key: 1, version: 1 };
        assert_eq!(mariadb.read(set, &changed), Ok(Reply::of_changed(1)));
        assert_eq!(mariadb.read(Ask::Add { counter: 1 }, &sum), Ok(Reply::of_number(Some(297))));
        assert_eq!(mariadb.read(set, &failed), Err("error 1146: No such table".to_owned()));
    }
}
