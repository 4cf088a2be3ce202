//! OUTPUT rows: collected while a statement runs and delivered when it has succeeded, so that a
//! statement that is restarted or fails leaves none behind.

use types::{Result, Value};

use super::insert;
use crate::eval::eval;
use crate::{Cx, fault, trigger};
use plan::statement::{OutputClause, OutputTarget};

/// Rows collected, one list per OUTPUT clause.
#[derive(Default)]
pub(super) struct Collected {
    rows: Vec<Vec<Vec<Value>>>,
    /// Variables as they were before a nested statement: the INSERT around it goes by those.
    variables: Vec<Value>,
    /// What the INSERT around a nested statement has output.
    outer: Option<Box<Self>>,
}

impl Collected {
    /// Forgets everything: the statement starts (again).
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

    /// As [`Self::add`], of a row to which MERGE did this: triggers of other events get nothing.
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

    /// Stores the rows that go INTO a table. Returns how many rows the statement counts that has changed
    /// `count`: the INSERT around a nested one counts its own.
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

    /// Sends the rows that go to the client.
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
