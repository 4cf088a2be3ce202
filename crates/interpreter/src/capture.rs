//! `Capture`: a sink that stores the results of statements that run inside another one, and passes
//! their messages on. Counts and return statuses are not sent.

use types::value::ColumnType;
use types::{Error, Value};

use ::plan::sink::{ColumnInfo, Done, EnvChange, ResultShape, ResultSink, Sent};

/// A result that was stored.
#[derive(Debug)]
pub struct CapturedSet {
    /// The types of its columns.
    pub types: Vec<ColumnType>,
    /// For each column, whether it is a NULL without a type.
    pub untyped: Vec<bool>,
    /// Its rows, as the client would get them.
    pub rows: Vec<Vec<Value>>,
}

/// Stores results; see the file's comment.
pub struct Capture<'a> {
    inner: &'a mut dyn ResultSink,
    sets: Vec<CapturedSet>,
}

impl<'a> Capture<'a> {
    /// Makes a sink that passes messages on to `inner`.
    pub fn new(inner: &'a mut dyn ResultSink) -> Self {
        Self { inner, sets: Vec::new() }
    }

    /// Returns the results, in the order in which they came.
    #[must_use]
    pub fn into_sets(self) -> Vec<CapturedSet> {
        self.sets
    }
}

impl ResultSink for Capture<'_> {
    fn columns(&mut self, shape: &ResultShape) -> Sent {
        let types = shape.columns.iter().map(|column| column.column_type).collect();
        let untyped = shape.columns.iter().map(|column| column.traits.untyped).collect();
        self.sets.push(CapturedSet { types, untyped, rows: Vec::new() });
        Ok(())
    }
    fn row(&mut self, values: &[Value]) -> Sent {
        if let Some(last) = self.sets.last_mut() {
            last.rows.push(values.to_vec());
        }
        Ok(())
    }
    fn done(&mut self, _: Done) -> Sent {
        Ok(())
    }
    fn message(&mut self, message: &Error) -> Sent {
        self.inner.message(message)
    }
    fn return_status(&mut self, _: i32) -> Sent {
        Ok(())
    }
    fn return_value(&mut self, _: u16, _: &ColumnInfo, _: &Value) -> Sent {
        Ok(())
    }
    fn env_change(&mut self, change: &EnvChange<'_>) -> Sent {
        self.inner.env_change(change)
    }
    fn log(&mut self, message: &Error) {
        self.inner.log(message);
    }
    fn flush(&mut self) -> Sent {
        self.inner.flush()
    }
    fn sent(&self) -> Option<u64> {
        // Rows that were stored would be stored twice.
        let stored: usize = self.sets.iter().map(|set| 1 + set.rows.len()).sum();
        Some(self.inner.sent()? + stored as u64)
    }
}
