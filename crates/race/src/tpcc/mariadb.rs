//! Calls of MariaDB's procedures by prepared statements, parameters and results in binary; other
//! statements and their results as text.

use std::cell::Cell;

use ::tpcc::{Call, Transaction, Value};

use super::speaker::{NULL, Refusal, Row, Speaker, TIME, example, index};
use crate::Result;
use crate::keeping::Keeping;
use crate::protocol::mariadb::{
    ERROR, EXECUTE, HEADER_BYTES, INT, MariaDb, OK, PREPARE, Packets, QUERY, TEXT, command,
    end_of_prepared, end_of_results, error_text, is_end, packet, sized, take_count,
};
use crate::protocol::{Protocol, shown};

/// The status bit of a result that another one follows.
const MORE_RESULTS: u16 = 8;
/// A NULL in a row as text.
const ABSENT: u8 = 0xfb;

/// The request that the next answer belongs to: answers cannot be told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sent {
    #[default]
    Statement,
    Prepare,
    Call,
}

/// A connection to MariaDB.
pub(crate) struct MariaDbSpeaker {
    base: MariaDb,
    /// The numbers that the server gave to the prepared calls.
    statements: Vec<u32>,
    sent: Cell<Sent>,
}

impl MariaDbSpeaker {
    pub(crate) fn new(keeping: Keeping) -> Self {
        Self { base: MariaDb::new(keeping), statements: Vec::new(), sent: Cell::default() }
    }
}

impl Speaker for MariaDbSpeaker {
    fn opening(&self) -> Vec<Vec<u8>> {
        self.base.opening()
    }

    fn opened(&mut self, step: usize, answer: &[u8]) -> Result<()> {
        self.base.opened(step, answer)
    }

    fn entering(&self) -> &'static [&'static str] {
        &["use race"]
    }

    fn preparing(&self) -> Vec<Vec<u8>> {
        self.sent.set(Sent::Prepare);
        let text = |transaction| {
            let places = vec!["?"; example(transaction).arguments.len()].join(", ");
            command(PREPARE, &format!("call {}({places})", transaction.procedure()))
        };
        Transaction::ALL.map(text).to_vec()
    }

    fn prepared(&mut self, answer: &[u8]) -> Result<()> {
        match answer.get(HEADER_BYTES..).unwrap_or_default() {
            [OK, a, b, c, d, ..] => {
                self.statements.push(u32::from_le_bytes([*a, *b, *c, *d]));
                Ok(())
            }
            payload @ [ERROR, ..] => Err(error_text(payload)),
            payload => Err(format!("not prepared: {}", shown(payload))),
        }
    }

    fn statement(&self, text: &str) -> Vec<u8> {
        self.sent.set(Sent::Statement);
        command(QUERY, text)
    }

    fn put(&self, call: &Call, out: &mut Vec<u8>) {
        self.sent.set(Sent::Call);
        let id = self.statements.get(index(call.transaction)).copied().unwrap_or(0);
        let mut payload = vec![EXECUTE];
        payload.extend_from_slice(&id.to_le_bytes());
        // No cursor, once.
        payload.extend_from_slice(&[0, 1, 0, 0, 0]);
        let mut nulls = vec![0_u8; call.arguments.len().div_ceil(8)];
        let (mut kinds, mut values) = (Vec::new(), Vec::new());
        for (place, argument) in call.arguments.iter().enumerate() {
            let (kind, value) = match &argument.value {
                Value::Number(number) => (INT, number.map(|number| number.to_le_bytes().to_vec())),
                Value::Text(text, _) => (TEXT, text.as_ref().map(|text| sized(text.as_bytes()))),
            };
            kinds.extend_from_slice(&[kind, 0]);
            match value {
                Some(value) => values.extend_from_slice(&value),
                None => nulls[place / 8] |= 1 << (place % 8),
            }
        }
        payload.extend_from_slice(&nulls);
        // Types follow.
        payload.push(1);
        payload.extend_from_slice(&kinds);
        payload.extend_from_slice(&values);
        out.extend_from_slice(&packet(0, &payload));
    }

    fn answer_bytes(&self, received: &[u8]) -> Result<Option<usize>> {
        let mut packets = Packets { bytes: received, at: 0 };
        let ended = match self.sent.get() {
            Sent::Prepare => end_of_prepared(&mut packets),
            Sent::Statement | Sent::Call => end_of_results(&mut packets),
        };
        Ok(ended.map(|()| packets.at))
    }

    fn rows(&self, answer: &[u8]) -> Result<Vec<Row>, Refusal> {
        let mut packets = Packets { bytes: answer, at: 0 };
        let mut rows = Vec::new();
        let is_binary = self.sent.get() == Sent::Call;
        loop {
            let odd = || Refusal::unreadable(format!("not results: {}", shown(answer)));
            let status = result(&mut packets, is_binary, &mut rows).ok_or_else(odd)??;
            if status & MORE_RESULTS == 0 {
                return Ok(rows);
            }
        }
    }

    /// A deadlock, and a wait for a lock that took too long.
    fn passing_codes(&self) -> &'static [&'static str] {
        &["1213", "1205"]
    }
}

/// Reads one result: appends its rows, and returns its status bits; `None` if it is malformed.
fn result(
    packets: &mut Packets<'_>,
    is_binary: bool,
    rows: &mut Vec<Row>,
) -> Option<Result<u16, Refusal>> {
    let status = |bytes: &[u8]| bytes.first_chunk().map(|it| Ok(u16::from_le_bytes(*it)));
    match packets.next()? {
        [OK, rest @ ..] => {
            let mut rest = rest;
            take_count(&mut rest)?;
            take_count(&mut rest)?;
            status(rest)
        }
        payload @ [ERROR, ..] => Some(Err(refusal(payload))),
        [columns, ..] => {
            let kinds = (0..*columns).map(|_| kind_of(packets.next()?)).collect::<Option<Vec<_>>>();
            let kinds = kinds?;
            // The end of the columns.
            packets.next()?;
            loop {
                match packets.next()? {
                    end if is_end(end) => return status(end.get(3..)?),
                    payload @ [ERROR, ..] => return Some(Err(refusal(payload))),
                    row if is_binary => rows.push(binary_row(row, &kinds)?),
                    row => rows.push(text_row(row, &kinds)?),
                }
            }
        }
        [] => None,
    }
}

/// Splits "error CODE: message".
fn refusal(payload: &[u8]) -> Refusal {
    let whole = error_text(payload);
    let (code, text) = whole.split_once(": ").unwrap_or(("", &whole));
    Refusal { code: code.trim_start_matches("error ").to_owned(), text: text.to_owned() }
}

/// Returns the type byte of a column definition: six texts and the length of the rest in front.
fn kind_of(mut definition: &[u8]) -> Option<u8> {
    const CHARSET_AND_LENGTH_BYTES: usize = 7;
    for _ in 0..6 {
        take_text(&mut definition)?;
    }
    definition.get(CHARSET_AND_LENGTH_BYTES).copied()
}

fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_count(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(text)
}

/// The types of values that a row can have here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// An integer of this number of bytes.
    Integer(usize),
    /// A date with a time, whose length is in front.
    Time,
    /// A text with its length in front: decimals too.
    Text,
}

fn form_of(kind: u8) -> Option<Form> {
    Some(match kind {
        1 => Form::Integer(1),
        2 => Form::Integer(2),
        3 | 9 => Form::Integer(4),
        8 => Form::Integer(8),
        7 | 12 => Form::Time,
        0 | 246 | 249..=254 => Form::Text,
        _ => return None,
    })
}

fn text_row(mut row: &[u8], kinds: &[u8]) -> Option<Row> {
    let mut cells = Row::new();
    for kind in kinds {
        if row.first() == Some(&ABSENT) {
            cells.push(NULL.to_owned());
            row = &row[1..];
            continue;
        }
        let text = String::from_utf8(take_text(&mut row)?.to_vec()).ok()?;
        cells.push(if form_of(*kind)? == Form::Time { TIME.to_owned() } else { text });
    }
    Some(cells)
}

fn binary_row(row: &[u8], kinds: &[u8]) -> Option<Row> {
    // The first two bits of the bitmap of NULLs are not used.
    const FIRST_BIT: usize = 2;
    let (nulls, mut rest) = row.get(1..)?.split_at_checked((kinds.len() + 7 + FIRST_BIT) / 8)?;
    let mut cells = Row::new();
    for (place, kind) in kinds.iter().enumerate() {
        let bit = place + FIRST_BIT;
        if nulls[bit / 8] & 1 << (bit % 8) != 0 {
            cells.push(NULL.to_owned());
            continue;
        }
        cells.push(match form_of(*kind)? {
            Form::Integer(bytes) => {
                let (number, after) = rest.split_at_checked(bytes)?;
                rest = after;
                integer(number)?.to_string()
            }
            Form::Time => {
                take_text(&mut rest)?;
                TIME.to_owned()
            }
            Form::Text => String::from_utf8(take_text(&mut rest)?.to_vec()).ok()?,
        });
    }
    Some(cells)
}

/// Returns a signed integer of 1 to 8 bytes.
fn integer(bytes: &[u8]) -> Option<i64> {
    Some(match bytes.len() {
        1 => i8::from_le_bytes(*bytes.first_chunk()?).into(),
        2 => i16::from_le_bytes(*bytes.first_chunk()?).into(),
        4 => i32::from_le_bytes(*bytes.first_chunk()?).into(),
        _ => i64::from_le_bytes(*bytes.first_chunk()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the definition of a column of this type.
    fn column(kind: u8) -> Vec<u8> {
        let texts = ["def", "", "", "", "c", ""].map(|text| sized(text.as_bytes())).concat();
        [&texts[..], &[12, 8, 0, 20, 0, 0, 0, kind, 0, 0, 0, 0, 0]].concat()
    }

    #[test]
    fn results_of_calls_are_read() {
        let speaker = MariaDbSpeaker::new(Keeping::Memory);
        speaker.sent.set(Sent::Call);
        let row = [&[0, 0b10000][..], &(-7_i32).to_le_bytes(), &sized(b"-10.00")].concat();
        let answer = [
            packet(1, &[3]),
            packet(2, &column(3)),
            packet(3, &column(246)),
            packet(4, &column(12)),
            packet(5, &[0xfe, 0, 0, 2, 0]),
            packet(6, &row),
            packet(7, &[0xfe, 0, 0, 10, 0]),
            packet(8, &[OK, 0, 0, 2, 0, 0, 0]),
        ]
        .concat();
        assert_eq!(speaker.answer_bytes(&answer), Ok(Some(answer.len())));
        let row = ["-7", "-10.00", NULL].map(str::to_owned).to_vec();
        assert_eq!(speaker.rows(&answer), Ok(vec![row]));
        let refused = packet(1, b"\xff\xbd\x04#40001Deadlock found");
        let (code, text) = ("1213".to_owned(), "Deadlock found".to_owned());
        assert_eq!(speaker.rows(&refused), Err(Refusal { code, text }));
    }

    #[test]
    fn results_as_text_are_read() {
        let speaker = MariaDbSpeaker::new(Keeping::Memory);
        let row = [&sized(b"7")[..], &[ABSENT], &sized(b"2026-11-28 13:28:22")].concat();
        let answer = [
            packet(1, &[3]),
            packet(2, &column(8)),
            packet(3, &column(246)),
            packet(4, &column(12)),
            packet(5, &[0xfe, 0, 0, 2, 0]),
            packet(6, &row),
            packet(7, &[0xfe, 0, 0, 2, 0]),
        ]
        .concat();
        let row = ["7", NULL, TIME].map(str::to_owned).to_vec();
        assert_eq!(speaker.rows(&answer), Ok(vec![row]));
    }
}
