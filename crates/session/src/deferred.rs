//! `Deferred`: the sink of a request. It delays each `done` until it is known whether it is the
//! last.

use types::value::ColumnType;
use types::{Error, Value};

use crate::instance::{SessionCounter, SessionCounters};
use plan::sink::{
    BrowseColumn, ColumnInfo, Command, CutOff, Done, DoneKind, EnvChange, ResultShape, ResultSink,
    Sent,
};

/// The final value of an OUTPUT parameter.
pub struct Output {
    /// Name of the parameter; empty if it has none.
    pub name: String,
    /// Type of the parameter.
    pub ty: ColumnType,
    /// Value after the call.
    pub value: Value,
}

/// Holds the last `done` back until it is known whether more follows, and counts messages.
pub struct Deferred<'a> {
    inner: &'a mut dyn ResultSink,
    pending: Option<Done>,
    /// OUTPUT parameters returned so far, if they are to be kept.
    outputs: Option<Vec<Output>>,
    /// Result sets, DONEs and messages so far.
    sent: u64,
    /// Number of messages of severity up to 10, from 11 to 19, and from 20.
    messages: [u64; 3],
}

impl<'a> Deferred<'a> {
    /// Begins a request with results to a sink.
    pub fn new(inner: &'a mut dyn ResultSink) -> Self {
        Self { inner, pending: None, outputs: None, sent: 0, messages: [0; 3] }
    }

    /// Keeps the OUTPUT parameters that are returned from now on.
    pub fn keep_outputs(&mut self) {
        self.outputs = Some(Vec::new());
    }

    /// Returns the OUTPUT parameters; `None` if they were not kept.
    pub fn outputs(&self) -> Option<&[Output]> {
        self.outputs.as_deref()
    }

    /// Adds the number of messages sent to the counters, and sets it to zero.
    pub fn count_messages(&mut self, counters: &SessionCounters) {
        let kinds =
            [SessionCounter::InfoErrors, SessionCounter::UserErrors, SessionCounter::FatalErrors];
        for (kind, count) in kinds.into_iter().zip(std::mem::take(&mut self.messages)) {
            if count > 0 {
                counters.add(kind, count);
            }
        }
    }

    /// Sends the held `done`, marked that more follows.
    fn pass_pending(&mut self) -> Sent {
        match self.pending.take() {
            Some(done) => self.inner.done(Done { more: true, ..done }),
            None => Ok(()),
        }
    }

    /// Ends the request: sends the held `done`, or an empty one if that one can't end a request.
    pub fn finish(mut self, kind: DoneKind) -> Sent {
        let empty = Done { kind, command: Command::NONE, rows: None, error: false, more: false };
        if self.pending.is_some_and(|last| last.kind == DoneKind::InProcedure) {
            self.pass_pending()?;
        }
        let last = self.pending.take().unwrap_or(empty);
        self.inner.done(Done { more: false, ..last })
    }

    /// Ends an RPC: the held `done` already says whether more follows.
    pub fn pass(&mut self) -> Sent {
        match self.pending.take() {
            Some(done) => self.inner.done(done),
            None => Ok(()),
        }
    }

    /// Sends the `done` of a failed statement or procedure.
    pub fn error_done(&mut self, kind: DoneKind) -> Sent {
        self.done(Done { kind, command: Command::NONE, rows: None, error: true, more: true })
    }
}

impl ResultSink for Deferred<'_> {
    fn columns(&mut self, shape: &ResultShape) -> Sent {
        self.sent += 1;
        self.pass_pending()?;
        self.inner.columns(shape)
    }
    fn browse(&mut self, tables: &[Vec<String>], columns: &[BrowseColumn]) -> Sent {
        self.inner.browse(tables, columns)
    }
    fn row(&mut self, values: &[Value]) -> Sent {
        self.inner.row(values)
    }
    fn done(&mut self, done: Done) -> Sent {
        self.sent += 1;
        self.pass_pending()?;
        self.pending = Some(done);
        Ok(())
    }
    fn message(&mut self, message: &Error) -> Sent {
        let kind = match message.severity {
            0..=10 => 0,
            11..=19 => 1,
            _ => 2,
        };
        self.messages[kind] += 1;
        self.sent += 1;
        self.pass_pending()?;
        self.inner.message(message)
    }
    fn return_status(&mut self, status: i32) -> Sent {
        self.pass_pending()?;
        self.inner.return_status(status)
    }
    fn return_value(&mut self, ordinal: u16, column: &ColumnInfo, value: &Value) -> Sent {
        self.pass_pending()?;
        if let Some(outputs) = &mut self.outputs {
            let (name, ty, value) = (column.name.to_string(), column.column_type, value.clone());
            outputs.push(Output { name, ty, value });
        }
        self.inner.return_value(ordinal, column, value)
    }
    fn env_change(&mut self, change: &EnvChange<'_>) -> Sent {
        self.pass_pending()?;
        self.inner.env_change(change)
    }
    fn log(&mut self, message: &Error) {
        self.inner.log(message);
    }
    fn flush(&mut self) -> Sent {
        self.pass_pending()?;
        self.inner.flush()
    }
    fn is_full(&self) -> bool {
        self.inner.is_full()
    }
    fn drain(&mut self) -> Sent {
        self.inner.drain()
    }
    fn sent(&self) -> Option<u64> {
        Some(self.sent)
    }
    fn cut_off(&self) -> Option<CutOff> {
        self.inner.cut_off()
    }
}
