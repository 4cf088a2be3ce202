//! Calls of functions in PL/pgSQL by prepared statements: parameters in binary, results as text.

use ::tpcc::{Call, Transaction, Value};

use super::speaker::{NULL, Refusal, Row, Speaker, TIME, example, is_text};
use crate::Result;
use crate::keeping::Keeping;
use crate::protocol::postgres::{
    Postgres, count_of, error_text, messages, put_message, put_text, query,
};
use crate::protocol::{Protocol, shown};

/// Object ids of parameter types.
const TEXT: i32 = 25;
const INT4: i32 = 23;
/// The length of NULL, and the format codes of values.
const ABSENT: i32 = -1;
const AS_TEXT: [u8; 4] = [0, 1, 0, 0];
const AS_BINARY: [u8; 4] = [0, 1, 0, 1];

/// A connection to PostgreSQL.
pub(crate) struct PostgresSpeaker(Postgres);

impl PostgresSpeaker {
    pub(crate) fn new(keeping: Keeping) -> Self {
        Self(Postgres { keeping })
    }
}

impl Speaker for PostgresSpeaker {
    fn opening(&self) -> Vec<Vec<u8>> {
        self.0.opening()
    }

    fn opened(&mut self, step: usize, answer: &[u8]) -> Result<()> {
        self.0.opened(step, answer)
    }

    fn preparing(&self) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        for transaction in Transaction::ALL {
            let arguments = example(transaction).arguments;
            let places: Vec<_> = (1..=arguments.len()).map(|place| format!("${place}")).collect();
            let name = transaction.procedure();
            let mut body = Vec::new();
            put_text(&mut body, name);
            put_text(&mut body, &format!("select * from {name}({})", places.join(", ")));
            body.extend_from_slice(&count_of(arguments.len()));
            for argument in &arguments {
                let id = if is_text(&argument.value) { TEXT } else { INT4 };
                body.extend_from_slice(&id.to_be_bytes());
            }
            put_message(&mut out, b'P', &body);
        }
        put_message(&mut out, b'S', &[]);
        vec![out]
    }

    fn prepared(&mut self, answer: &[u8]) -> Result<()> {
        self.0.done(answer)
    }

    fn statement(&self, text: &str) -> Vec<u8> {
        query(text)
    }

    fn put(&self, call: &Call, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        put_text(&mut body, "");
        put_text(&mut body, call.transaction.procedure());
        body.extend_from_slice(&AS_BINARY);
        body.extend_from_slice(&count_of(call.arguments.len()));
        for argument in &call.arguments {
            match &argument.value {
                Value::Number(None) | Value::Text(None, _) => {
                    body.extend_from_slice(&ABSENT.to_be_bytes());
                }
                Value::Number(Some(number)) => put_sized(&mut body, &number.to_be_bytes()),
                Value::Text(Some(text), _) => put_sized(&mut body, text.as_bytes()),
            }
        }
        body.extend_from_slice(&AS_TEXT);
        put_message(out, b'B', &body);
        // The unnamed portal, without a limit on rows.
        put_message(out, b'E', &[0; 5]);
        put_message(out, b'S', &[]);
    }

    fn answer_bytes(&self, received: &[u8]) -> Result<Option<usize>> {
        self.0.answer_bytes(received)
    }

    fn rows(&self, answer: &[u8]) -> Result<Vec<Row>, Refusal> {
        let mut rows = Vec::new();
        for (kind, body) in messages(answer) {
            match kind {
                b'E' => return Err(refusal(body)),
                b'D' => {
                    let odd = || Refusal::unreadable(format!("not a row: {}", shown(body)));
                    rows.push(row(body).ok_or_else(odd)?);
                }
                _ => {}
            }
        }
        Ok(rows)
    }

    /// A deadlock, and a transaction that cannot be put in an order with others.
    fn passing_codes(&self) -> &'static [&'static str] {
        &["40P01", "40001"]
    }
}

fn put_sized(body: &mut Vec<u8>, value: &[u8]) {
    body.extend_from_slice(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes());
    body.extend_from_slice(value);
}

/// Splits "SEVERITY CODE: message".
fn refusal(body: &[u8]) -> Refusal {
    let whole = error_text(body);
    let (head, text) = whole.split_once(": ").unwrap_or(("", &whole));
    let code = head.rsplit(' ').next().unwrap_or_default();
    Refusal { code: code.to_owned(), text: text.to_owned() }
}

fn row(body: &[u8]) -> Option<Row> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let mut row = Row::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = i32::from_be_bytes(*length);
        rest = after;
        if length == ABSENT {
            row.push(NULL.to_owned());
            continue;
        }
        let (value, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        rest = after;
        row.push(cell(std::str::from_utf8(value).ok()?));
    }
    rest.is_empty().then_some(row)
}

/// Rows of a call have no types, but a time is like no other value here.
fn cell(text: &str) -> String {
    const PATTERN: &[u8] = b"0000-00-00 00:00:00";
    let is_like = |(letter, pattern): (u8, &u8)| match pattern {
        b'0' => letter.is_ascii_digit(),
        _ => letter == *pattern,
    };
    let is_time = text.len() >= PATTERN.len() && text.bytes().zip(PATTERN).all(is_like);
    if is_time { TIME.to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_errors_are_read() {
        let mut answer = Vec::new();
        let mut body = count_of(4).to_vec();
        for text in ["7", "2026-11-28 13:28:22.123", "-10.00"] {
            put_sized(&mut body, text.as_bytes());
        }
        body.extend_from_slice(&ABSENT.to_be_bytes());
        put_message(&mut answer, b'D', &body);
        put_message(&mut answer, b'Z', b"I");
        let speaker = PostgresSpeaker::new(Keeping::Memory);
        let row = ["7", TIME, "-10.00", NULL].map(str::to_owned).to_vec();
        assert_eq!(speaker.rows(&answer), Ok(vec![row]));
        let mut answer = Vec::new();
        put_message(&mut answer, b'E', b"SERROR\0VERROR\0C40P01\0Mdeadlock detected\0\0");
        let (code, text) = ("40P01".to_owned(), "deadlock detected".to_owned());
        assert_eq!(speaker.rows(&answer), Err(Refusal { code, text }));
    }
}
