//! UPDATE and DELETE of a view with an INSTEAD OF trigger: collects the rows for the trigger and
//! changes nothing.

use super::output::Collected;
use super::update::limit_of;
use crate::query::{Flow, run_node};
use crate::statement::{in_transaction, prepare};
use crate::{Cx, StatementResult};
use plan::statement::Instead;
use types::Result;

/// Passes the rows to the trigger.
pub(crate) fn run_instead(instead: &Instead, cx: &mut Cx<'_>) -> Result<StatementResult> {
    prepare(cx, instead.registers);
    cx.fires = true;
    let mut collected = Collected::default();
    let rows = in_transaction(cx, &mut |cx| {
        collected.reset(&instead.output, cx);
        let limit = limit_of(instead.top.as_ref(), cx)?;
        let mut count = 0;
        run_node(&instead.root, cx, &mut |cx| {
            if count == limit {
                return Ok(Flow::Enough);
            }
            count += 1;
            collected.add(&instead.output, cx)?;
            Ok(Flow::More)
        })?;
        collected.store(&instead.output, count, cx)
    })?;
    Ok(StatementResult { command: instead.command, rows })
}
