//! `Capture`: a sink that stores a statement's rows and messages.

use types::{Error, Value};

use ::plan::long::Growing;
use ::plan::sink::{Disconnected, ResultShape, ResultSink};

/// A sink that stores a statement's rows and messages instead of sending them.
#[derive(Default)]
pub struct Capture {
    /// The rows, in order of arrival.
    pub rows: Vec<Vec<Value>>,
    /// Informational messages, for the code that runs the statement to send.
    pub messages: Vec<Error>,
    memory: Growing,
    /// Why the statement was stopped: there is no memory for its rows.
    refused: Option<Error>,
}

impl Capture {
    /// Returns the error for which the statement was stopped.
    pub fn take_refused(&mut self) -> Option<Error> {
        self.refused.take()
    }

    /// Asks for the memory of a row.
    fn ask(&mut self, values: &[Value]) -> types::Result<()> {
        let texts = values.iter().filter_map(Value::string_bytes).map(<[u8]>::len);
        self.memory.take(ROW_BYTES + size_of_val(values) + texts.sum::<usize>())
    }
}

/// Bytes of a row besides its values: two lists, and what an allocation takes.
const ROW_BYTES: usize = 96;

impl ResultSink for Capture {
    fn columns(&mut self, _: &ResultShape) -> ::plan::sink::Sent {
        Ok(())
    }
    fn row(&mut self, values: &[Value]) -> ::plan::sink::Sent {
        if let Err(error) = self.ask(values) {
            self.refused = Some(error);
            return Err(Disconnected);
        }
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
