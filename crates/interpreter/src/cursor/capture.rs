//! `Capture`: a sink that stores a statement's rows and messages.

use types::{Error, Value};

use ::plan::sink::{ResultShape, ResultSink};

/// A sink that stores a statement's rows and messages instead of sending them.
#[derive(Default)]
pub struct Capture {
    /// The rows, in order of arrival.
    pub rows: Vec<Vec<Value>>,
    /// Informational messages, for the code that runs the statement to send.
    pub messages: Vec<Error>,
}

impl ResultSink for Capture {
    fn columns(&mut self, _: &ResultShape) -> ::plan::sink::Sent {
        Ok(())
    }
    fn row(&mut self, values: &[Value]) -> ::plan::sink::Sent {
        self.rows.push(values.to_vec());
        Ok(())
    }
    fn done(&mut self, _: ::plan::sink::Done) -> ::plan::sink::Sent {
        Ok(())
    }
    fn message(&mut self, message: &Error) -> ::plan::sink::Sent {
        self.messages.push(message.clone());
        Ok(())
    }
    fn return_status(&mut self, _: i32) -> ::plan::sink::Sent {
        Ok(())
    }
    fn return_value(
        &mut self,
        _: u16,
        _: &::plan::sink::ColumnInfo,
        _: &Value,
    ) -> ::plan::sink::Sent {
        Ok(())
    }
    fn env_change(&mut self, _: &::plan::sink::EnvChange<'_>) -> ::plan::sink::Sent {
        Ok(())
    }
    fn flush(&mut self) -> ::plan::sink::Sent {
        Ok(())
    }
}
