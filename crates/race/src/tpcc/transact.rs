//! Calls of T-SQL procedures by RPC, and answers in TDS.

use ::tpcc::Call;
use load::Answer;
use load::stress::tpcc_call;
use types::convert::Mode;
use types::{Collation, ColumnType, ConvertOptions, DataType, Length, Value, convert};

use super::speaker::{NULL, Refusal, Row, Speaker, TIME};
use crate::Result;
use crate::peer::own_login;
use crate::protocol::Protocol;
use crate::protocol::tds::{Tds, batch};

/// A connection to Clearway.
pub(crate) struct Transact(Tds);

impl Transact {
    pub(crate) fn new() -> Self {
        Self(Tds::new(own_login()))
    }
}

impl Speaker for Transact {
    fn opening(&self) -> Vec<Vec<u8>> {
        self.0.opening()
    }

    fn opened(&mut self, step: usize, answer: &[u8]) -> Result<()> {
        self.0.opened(step, answer)
    }

    fn entering(&self) -> &'static [&'static str] {
        &["use race"]
    }

    fn prepared(&mut self, answer: &[u8]) -> Result<()> {
        self.0.done(answer)
    }

    fn statement(&self, text: &str) -> Vec<u8> {
        batch(text)
    }

    fn put(&self, call: &Call, out: &mut Vec<u8>) {
        out.extend_from_slice(&tpcc_call(call.transaction.procedure(), &call.arguments));
    }

    fn answer_bytes(&self, received: &[u8]) -> Result<Option<usize>> {
        self.0.answer_bytes(received)
    }

    fn rows(&self, answer: &[u8]) -> Result<Vec<Row>, Refusal> {
        let answer = Answer::decode(answer).map_err(Refusal::unreadable)?;
        if let Some(error) = answer.errors().next() {
            let (code, text) = (error.number.to_string(), error.message.to_string());
            return Err(Refusal { code, text });
        }
        let answer = answer.check().map_err(Refusal::unreadable)?;
        let rows = answer.rows();
        let row = |values: &&[Value]| values.iter().map(cell).collect::<Result<Row>>();
        rows.iter().map(row).collect::<Result<_>>().map_err(Refusal::unreadable)
    }

    /// A deadlock, and a row that was changed since a snapshot began.
    fn passing_codes(&self) -> &'static [&'static str] {
        &["1205", "3960", "41302"]
    }
}

fn cell(value: &Value) -> Result<String> {
    match value {
        Value::Null => return Ok(NULL.to_owned()),
        Value::DateTime { .. } => return Ok(TIME.to_owned()),
        _ => {}
    }
    let from = ColumnType::nullable(value.data_type());
    let to = ColumnType::nullable(DataType::VarChar(Length::Max));
    let text = convert(value, &from, &to, 0, Mode::Explicit, &ConvertOptions::default());
    let text = text.map_err(|error| format!("{value:?}: {}", error.message))?;
    text.as_text(Collation::default()).ok_or_else(|| format!("{value:?} has no text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Decimal;

    #[test]
    fn cells_are_text_as_other_servers_write_it() {
        let decimal = |digits, scale| Value::Decimal(Decimal::new(digits, 12, scale));
        let cells = [
            (Value::Int(-7), "-7"),
            (decimal(-1000, 2), "-10.00"),
            (decimal(1225, 4), "0.1225"),
            (Value::varchar("BC", Collation::default()), "BC"),
            (Value::Null, NULL),
        ];
        for (value, text) in cells {
            assert_eq!(cell(&value).as_deref(), Ok(text));
        }
    }
}
