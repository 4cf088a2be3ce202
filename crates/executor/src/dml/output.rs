//! OUTPUT rows: collected while a statement runs and delivered when it has succeeded, so that a
//! restarted or failed statement delivers none.

use types::{Result, Value};

use super::insert;
use crate::eval::eval;
use crate::{Cx, fault, trigger};
use plan::statement::{OutputClause, OutputTarget};

/// The collected rows, one list per OUTPUT clause.
#[derive(Default)]
pub(super) struct Collected {
    rows: Vec<Vec<Vec<Value>>>,
    /// Variables before a nested statement ran: the INSERT around it uses those values.
    variables: Vec<Value>,
    /// The OUTPUT of the INSERT around a nested statement.
    outer: Option<Box<Self>>,
}

impl Collected {
    /// Discards everything: the statement starts, perhaps again.
    pub(super) fn reset(&mut self, clauses: &[OutputClause], cx: &Cx<'_>) {
        self.rows.clear();
        self.rows.resize(clauses.len(), Vec::new());
        self.outer = None;
        if clauses.iter().any(|clause| matches!(clause.target, OutputTarget::Insert(_))) {
            self.variables.clone_from(&cx.frame.variables);
        }
    }

    /// Evaluates the clauses over the current row.
    pub(super) fn add(&mut self, clauses: &[OutputClause], cx: &mut Cx<'_>) -> Result<()> {
        clauses.iter().zip(&mut self.rows).try_for_each(|(clause, rows)| push(clause, rows, cx))
    }

    /// As [`Self::add`], for a row changed by this action of MERGE; triggers of other events do not
    /// get it.
    pub(super) fn add_action(
        &mut self,
        clauses: &[OutputClause],
        action: &str,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        for (clause, rows) in clauses.iter().zip(&mut self.rows) {
            match &clause.target {
                OutputTarget::Triggers(firing) if firing.event != action => {}
                OutputTarget::Triggers(_)
                | OutputTarget::Client(_)
                | OutputTarget::Table(_)
                | OutputTarget::Insert(_) => {
                    push(clause, rows, cx)?;
                }
            }
        }
        Ok(())
    }

    /// Stores the rows that go INTO tables. Returns the statement's row count: `count`, or that of
    /// the INSERT around a nested statement.
    pub(super) fn store(
        &mut self,
        clauses: &[OutputClause],
        mut count: u64,
        cx: &mut Cx<'_>,
    ) -> Result<u64> {
        for (clause, rows) in clauses.iter().zip(&mut self.rows) {
            match &clause.target {
                OutputTarget::Table(target) => {
                    insert::insert_all(target, std::mem::take(rows), cx)?;
                }
                OutputTarget::Triggers(firing) => trigger::note(firing, std::mem::take(rows), cx),
                OutputTarget::Insert(outer) => {
                    let after = std::mem::take(&mut cx.frame.variables);
                    cx.frame.variables = std::mem::take(&mut self.variables);
                    let inserted = insert::insert_outer(outer, std::mem::take(rows), cx);
                    cx.frame.variables = after;
                    let (inserted, output) = inserted?;
                    count = inserted;
                    self.outer = Some(Box::new(output));
                }
                OutputTarget::Client(_) => {}
            }
        }
        Ok(count)
    }

    /// Sends the rows of the clauses that output to the client.
    pub(super) fn send(mut self, clauses: &[OutputClause], cx: &mut Cx<'_>) -> Result<()> {
        for (clause, rows) in clauses.iter().zip(self.rows) {
            let shape = match &clause.target {
                OutputTarget::Client(shape) => shape,
                OutputTarget::Insert(outer) => {
                    if let Some(collected) = self.outer.take() {
                        collected.send(&outer.insert.output, cx)?;
                    }
                    continue;
                }
                OutputTarget::Table(_) | OutputTarget::Triggers(_) => continue,
            };
            let sent = cx.sink.columns(shape);
            fault::sent(cx, sent)?;
            for row in rows {
                let sent = cx.sink.row(&row);
                fault::sent(cx, sent)?;
            }
        }
        Ok(())
    }
}

fn push(clause: &OutputClause, rows: &mut Vec<Vec<Value>>, cx: &mut Cx<'_>) -> Result<()> {
    let mut row = Vec::with_capacity(clause.columns.len());
    for column in &clause.columns {
        row.push(eval(&column.expr, cx)?);
    }
    rows.push(row);
    Ok(())
}
