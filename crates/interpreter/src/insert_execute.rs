//! INSERT .. EXEC: inserts the result sets of a procedure or of dynamic SQL into a table.

use types::value::ColumnType;
use types::{Error, Msg, Value};

use crate::{Runner, Stop, ended};
use ::binder::dml::{Triggers, bind_captured_rows};
use ::executor::Cx;
use ::plan::program::{InsertExecuteStep, InsertedCall, Step};
use ::plan::sink::{ColumnInfo, Command, Done, EnvChange, ResultShape, ResultSink, Sent};

impl Runner<'_> {
    pub(crate) fn insert_execute(
        &self,
        at: &Step,
        step: &InsertExecuteStep,
        cx: &mut Cx<'_>,
    ) -> Result<(), Stop> {
        if std::mem::replace(&mut cx.session.request.inserting_call, true) {
            return Err(Msg::InsertExecNested.into());
        }
        let mut captured = Captured { inner: &mut *cx.sink, sets: Vec::new() };
        let outcome = {
            let mut inner = Cx::new(cx.host, cx.session, cx.frame, &mut captured);
            match &step.source {
                InsertedCall::Procedure(call) => self.execute(call, &mut inner),
                InsertedCall::Text(parts) => self.execute_string(parts, &mut inner),
            }
        };
        let sets = captured.sets;
        let id = self.program.statement_id(at.place);
        cx.session.accounting.meter.resume(id);
        cx.session.request.inserting_call = false;
        outcome?;
        let mut count = 0;
        for set in sets {
            count += self.insert_set(step, &set, cx)?;
        }
        cx.session.accounting.meter.rows(id, count);
        cx.session.last.row_count = count;
        Ok(ended(cx, Command::INSERT, Some(count))?)
    }

    fn insert_set(
        &self,
        step: &InsertExecuteStep,
        set: &CapturedSet,
        cx: &mut Cx<'_>,
    ) -> Result<u64, Stop> {
        cx.session.refresh_catalog();
        let bound = {
            let context = compile::binding::context_of(cx.session, self.program);
            let mut binder = context.binder();
            let InsertExecuteStep { target, columns, .. } = step;
            let (types, untyped) = (&set.types, &set.untyped);
            bind_captured_rows(&mut binder, target, columns, types, untyped, Triggers::Fire)?
        };
        Ok(::executor::dml::insert_rows(&bound, &set.rows, cx)?.rows)
    }
}

/// A result set, or several with the same columns.
struct CapturedSet {
    types: Vec<ColumnType>,
    /// For each column, whether it is a NULL without a type.
    untyped: Vec<bool>,
    rows: Vec<Vec<Value>>,
}

/// Stores result sets and passes messages on; counts and return statuses are not sent.
struct Captured<'a> {
    inner: &'a mut dyn ResultSink,
    sets: Vec<CapturedSet>,
}

impl ResultSink for Captured<'_> {
    fn columns(&mut self, shape: &ResultShape) -> Sent {
        let types: Vec<ColumnType> = shape.columns.iter().map(|c| c.column_type).collect();
        let untyped: Vec<bool> = shape.columns.iter().map(|c| c.traits.untyped).collect();
        // Consecutive sets with the same columns are inserted by one statement.
        if self.sets.last().is_none_or(|last| last.types != types || last.untyped != untyped) {
            self.sets.push(CapturedSet { types, untyped, rows: Vec::new() });
        }
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
        // Rows that were stored would be inserted twice.
        let stored: usize = self.sets.iter().map(|set| 1 + set.rows.len()).sum();
        Some(self.inner.sent()? + stored as u64)
    }
}
