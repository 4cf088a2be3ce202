//! Runs a text and keeps its rows as values: for what the console itself asks.

use engine::session::Session;
use engine::sink::{ColumnInfo, Done, EnvChange, ResultShape, ResultSink, Sent};
use types::{Error, Value};

/// The rows of each result of a text.
pub(crate) type Results = Vec<Vec<Vec<Value>>>;

/// Runs a text; returns the rows of its results.
///
/// # Errors
/// The first error that it reports.
pub(crate) fn run(session: &mut Session, text: &str) -> Result<Results, Error> {
    let mut sink = Rows::default();
    // This sink never disconnects.
    let _ = session.batch(text, &mut sink);
    session.cancel().clear();
    match sink.error {
        Some(error) => Err(error),
        None => Ok(sink.results),
    }
}

#[derive(Default)]
struct Rows {
    results: Results,
    error: Option<Error>,
}

impl ResultSink for Rows {
    fn columns(&mut self, _shape: &ResultShape) -> Sent {
        self.results.push(Vec::new());
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Sent {
        self.results.last_mut().expect("columns come before rows").push(values.to_vec());
        Ok(())
    }

    fn done(&mut self, _done: Done) -> Sent {
        Ok(())
    }

    fn message(&mut self, message: &Error) -> Sent {
        if message.severity > 10 && self.error.is_none() {
            self.error = Some(message.clone());
        }
        Ok(())
    }

    fn return_status(&mut self, _status: i32) -> Sent {
        Ok(())
    }

    fn return_value(&mut self, _ordinal: u16, _column: &ColumnInfo, _value: &Value) -> Sent {
        Ok(())
    }

    fn env_change(&mut self, _change: &EnvChange<'_>) -> Sent {
        Ok(())
    }

    fn flush(&mut self) -> Sent {
        Ok(())
    }
}
