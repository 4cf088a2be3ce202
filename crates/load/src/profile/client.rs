//! The queries of the profiler, and readers for their rows.

use std::time::Duration;

use types::Value;

use crate::Result;
use crate::ask::Asker;
use crate::link::Target;

/// A connection for the queries.
pub(super) struct Client(Asker);

impl Client {
    /// Connects and logs in.
    pub(super) fn log_in(target: &Target, patience: Duration) -> Result<Self> {
        Asker::connect(target, patience).map(Self)
    }

    /// Runs a query and returns its rows.
    pub(super) fn rows(&mut self, text: &str) -> Result<Vec<Vec<Value>>> {
        let answer = self.0.answer(text)?;
        if let Some(error) = answer.errors().find(|error| error.number == 208) {
            return Err(format!("no samples are kept there: {}", error.message));
        }
        Ok(answer.check()?.rows().into_iter().map(<[Value]>::to_vec).collect())
    }
}

/// Returns a text of a row; empty for NULL.
pub(super) fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::NVarChar(units)) => types::text::from_utf16(units),
        _ => String::new(),
    }
}

/// Returns a number of a row that is not negative; `None` for NULL.
pub(super) fn number(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::BigInt(number) => u64::try_from(*number).ok(),
        Value::Bit(is_set) => Some(u64::from(*is_set)),
        Value::VarBinary(bytes) => Some(u64::from_be_bytes(<[u8; 8]>::try_from(&bytes[..]).ok()?)),
        _ => None,
    }
}
