//! Buffers that statements reuse.

use std::any::Any;

use types::Value;
use types::row::RowBuffer;

/// Buffers that are used while a statement runs.
#[derive(Debug, Default)]
pub struct Scratch {
    /// An index key being built.
    pub key: Vec<u8>,
    /// A row being built.
    pub row: RowBuffer,
    /// Output values of the current row.
    pub output: Vec<Value>,
    /// Arguments of an aggregate.
    pub arguments: Vec<Value>,
    /// Values of the variables before a statement that may be restarted.
    pub variables: Vec<Value>,
    /// Cache of what the methods of `xml` parsed in this request.
    pub xml: Option<Box<dyn Any + Send>>,
    /// Rows since the last check for cancellation.
    pub rows_passed: u32,
}
