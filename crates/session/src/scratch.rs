//! Buffers that statements and requests reuse.

use std::any::Any;
use std::ops::{Deref, DerefMut};

use types::Value;
use types::row::RowBuffer;

use crate::argument::Argument;

/// The buffers that a statement uses, behind one pointer: contexts are made and dropped several times
/// in a request, and pass them on. They are allocated at their first use.
#[derive(Debug, Default)]
pub struct Scratch(Option<Box<Buffers>>);

/// Buffers that are used while a statement runs.
#[derive(Debug)]
pub struct Buffers {
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

impl Scratch {
    /// Drops what is kept for one request only.
    pub fn end_request(&mut self) {
        if let Some(buffers) = &mut self.0 {
            buffers.xml = None;
        }
    }
}

impl Buffers {
    const EMPTY: &Self = &Self::new();

    const fn new() -> Self {
        Self {
            key: Vec::new(),
            row: RowBuffer { bytes: Vec::new(), blobs: Vec::new() },
            output: Vec::new(),
            arguments: Vec::new(),
            variables: Vec::new(),
            xml: None,
            rows_passed: 0,
        }
    }
}

impl Deref for Scratch {
    type Target = Buffers;

    #[inline]
    fn deref(&self) -> &Buffers {
        self.0.as_deref().unwrap_or(Buffers::EMPTY)
    }
}

impl DerefMut for Scratch {
    #[inline]
    fn deref_mut(&mut self) -> &mut Buffers {
        self.0.get_or_insert_with(|| Box::new(Buffers::new()))
    }
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
