//! `RequestState`: where the running request is, and what ends with it.

use std::cell::Cell;
use std::sync::Arc;

use types::Error;

use crate::Options;

/// The state of the running request and of the statement that it runs now. Each request sets it to
/// its start, by [`RequestState::begin`].
#[derive(Default)]
pub struct RequestState {
    /// Whether the request is an RPC: its statements count as those of a procedure.
    pub in_rpc: bool,
    /// `@@NESTLEVEL`: depth of nested modules.
    pub nest_level: u32,
    /// TRIGGER_NESTLEVEL(): number of running triggers, each within the other.
    pub trigger_level: u32,
    /// EVENTDATA() in a DDL trigger.
    pub event_data: Option<Arc<str>>,
    /// While an INSERT .. EXEC runs its call, `@@TRANCOUNT` at its start: a nested one is an error, and so
    /// are ROLLBACK and a COMMIT that ends a transaction from outside the call.
    pub inserting_call: Option<u32>,
    /// Options before the running procedure or dynamic SQL first changed one.
    pub saved_options: Option<Box<Options>>,
    /// Number of TRY blocks and atomic blocks around the running statement, in all procedures.
    pub try_depth: u32,
    /// Errors handled by CATCH blocks, innermost last: ERROR_NUMBER() and the related functions.
    pub handled_errors: Vec<Error>,
    /// Line of the running statement in its batch or procedure.
    pub line: u32,
    /// The serial of the program whose statement an event has shown last, and that statement's offset: its byte, and
    /// the unit in UTF-16. The next one is counted from there.
    pub shown_offset: Cell<(u64, (usize, usize))>,
}

impl RequestState {
    /// Begins a request. Triggers leave no state behind, and each statement sets its line.
    pub fn begin(&mut self, in_rpc: bool) {
        self.in_rpc = in_rpc;
        self.nest_level = 0;
        self.try_depth = 0;
        self.handled_errors.clear();
        self.inserting_call = None;
        self.saved_options = None;
    }

    /// Returns whether the running statement belongs to a procedure: it ends with DONEINPROC
    /// instead of DONE.
    pub fn in_procedure(&self) -> bool {
        self.in_rpc || self.nest_level > 0
    }

    /// Saves the options that are in effect, to be restored when the running level ends. Must be
    /// called before one is changed.
    pub fn save_options(&mut self, options: &Options) {
        if self.nest_level > 0 && self.saved_options.is_none() {
            self.saved_options = Some(Box::new(options.clone()));
        }
    }

    /// Returns the state of a helper, which evaluates expressions of the running statement.
    pub(crate) fn of_helper(&self) -> Self {
        Self {
            in_rpc: self.in_rpc,
            nest_level: self.nest_level,
            trigger_level: self.trigger_level,
            try_depth: self.try_depth,
            line: self.line,
            ..Self::default()
        }
    }
}
