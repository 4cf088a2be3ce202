//! INSERT .. EXEC: inserts the result sets of a procedure or of dynamic SQL into a table.

use types::Msg;

use crate::capture::{Capture, CapturedSet};
use crate::{Runner, Stop, ended};
use ::binder::dml::{Triggers, bind_captured_rows};
use ::executor::Cx;
use ::plan::program::{InsertExecuteStep, InsertedCall, Step};
use ::plan::sink::Command;

impl Runner<'_> {
    pub(crate) fn insert_execute(
        &self,
        at: &Step,
        step: &InsertExecuteStep,
        cx: &mut Cx<'_>,
    ) -> Result<(), Stop> {
        if cx.session.request.inserting_call.is_some() {
            return Err(Msg::InsertExecNested.into());
        }
        cx.session.request.inserting_call = Some(cx.session.transaction.count);
        let mut captured = Capture::new(&mut *cx.sink);
        let outcome = {
            let mut inner = Cx::new(cx.host, cx.session, cx.frame, &mut captured);
            match &step.source {
                InsertedCall::Procedure(call) => self.execute(call, &mut inner),
                InsertedCall::Text(parts) => self.execute_string(parts, &mut inner),
            }
        };
        let sets = captured.into_sets();
        let id = self.program.statement_id(at.place);
        cx.session.accounting.meter.resume(id);
        cx.session.request.inserting_call = None;
        outcome?;
        let mut count = 0;
        for set in joined(sets) {
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

/// Joins consecutive sets with the same columns: they are inserted by one statement.
fn joined(sets: Vec<CapturedSet>) -> Vec<CapturedSet> {
    let mut joined: Vec<CapturedSet> = Vec::new();
    for mut set in sets {
        match joined.last_mut() {
            Some(last) if last.types == set.types && last.untyped == set.untyped => {
                last.rows.append(&mut set.rows);
            }
            _ => joined.push(set),
        }
    }
    joined
}
