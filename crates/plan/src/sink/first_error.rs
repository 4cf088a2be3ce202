//! `FirstError`: a receiver for results that have no client.

use types::{Error, Value};

use super::{ColumnInfo, Done, EnvChange, ResultShape, ResultSink, Sent};

/// A sink that discards all but the first error (severity 11 and more).
#[derive(Debug, Default)]
pub struct FirstError(Option<Error>);

impl FirstError {
    /// Returns the first error that was received.
    #[must_use]
    pub fn into_error(self) -> Option<Error> {
        self.0
    }
}

impl ResultSink for FirstError {
    fn columns(&mut self, _: &ResultShape) -> Sent {
        Ok(())
    }
    fn row(&mut self, _: &[Value]) -> Sent {
        Ok(())
    }
    fn done(&mut self, _: Done) -> Sent {
        Ok(())
    }
    fn message(&mut self, message: &Error) -> Sent {
        if message.severity > 10 && self.0.is_none() {
            self.0 = Some(message.clone());
        }
        Ok(())
    }
    fn return_status(&mut self, _: i32) -> Sent {
        Ok(())
    }
    fn return_value(&mut self, _: u16, _: &ColumnInfo, _: &Value) -> Sent {
        Ok(())
    }
    fn env_change(&mut self, _: &EnvChange<'_>) -> Sent {
        Ok(())
    }
    fn flush(&mut self) -> Sent {
        Ok(())
    }
}
