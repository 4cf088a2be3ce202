//! Buffers that statements and requests reuse.

use std::any::Any;

use types::Value;
use types::row::RowBuffer;

use crate::argument::Argument;

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

/// Buffers of a session that requests reuse.
#[derive(Default)]
pub struct SessionScratch {
    /// Values of the parameters when an atomic block began.
    pub parameters: Vec<Value>,
    /// Variables of the procedure that ran last, all NULL.
    pub variables: Vec<Value>,
    /// Arguments of a call, empty between calls.
    pub arguments: Vec<Argument>,
    /// Index of the parameter that each argument is passed to.
    pub places: Vec<usize>,
    /// Registers of the outermost context.
    pub registers: Vec<Value>,
    /// Statement buffers of the outermost context.
    pub statement: Scratch,
}

/// Maximum number of variables that are kept from one call to the next.
const VARIABLES_KEPT_MAX: usize = 64;

impl SessionScratch {
    /// Keeps the variables of a call for the next one. They are set to NULL now, so that no value
    /// keeps memory alive in an idle connection.
    pub fn keep_variables(&mut self, mut variables: Vec<Value>) {
        variables.truncate(VARIABLES_KEPT_MAX);
        variables.iter_mut().for_each(Value::clear);
        self.variables = variables;
    }
}
