//! Buffers that statements use again.

use std::any::Any;

use types::Value;
use types::row::RowBuffer;

/// Buffers that live as long as their statement.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Index key under construction.
    pub key: Vec<u8>,
    /// Row under construction.
    pub row: RowBuffer,
    /// Output values of a row.
    pub output: Vec<Value>,
    /// Arguments of an aggregate.
    pub arguments: Vec<Value>,
    /// Variables as they were before a statement that may be restarted.
    pub variables: Vec<Value>,
    /// What the methods of `xml` parsed, for the length of a request.
    pub xml: Option<Box<dyn Any + Send>>,
    /// Counts rows, for the look at cancellation.
    pub rows_passed: u32,
}
