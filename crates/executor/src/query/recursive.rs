//! Recursive CTEs: the rows of the anchor, then, round by round, the rows that the recursive part
//! makes from the previous round, until a round has no rows.

use std::sync::Arc;

use types::{Error, Msg, Result, Value};

use super::{Flow, Receive, Rows, run as run_node};
use crate::Cx;
use crate::eval::eval;
use crate::fault;
use plan::expr::Register;
use plan::query::{Query, Recursive};

pub(super) fn run<'p>(
    recursive: &'p Recursive,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let mut round = Vec::new();
    let mut flow = run_member(recursive, &recursive.anchor, cx, rows, &mut round, receive)?;
    let mut rounds = 0;
    while flow == Flow::More && !round.is_empty() {
        rounds += 1;
        if recursive.rounds_max != 0 && rounds > recursive.rounds_max {
            // The level beyond the limit may run as long as it has no row.
            let exceeded = Error::from(Msg::MaxRecursion(i64::from(recursive.rounds_max)));
            cx.work_tables.push((recursive.id, Arc::new(std::mem::take(&mut round))));
            let run = run_node(&recursive.step.root, cx, rows, &mut |_, _| Err(exceeded.clone()));
            cx.work_tables.retain(|(id, _)| *id != recursive.id);
            return run;
        }
        cx.work_tables.push((recursive.id, Arc::new(std::mem::take(&mut round))));
        let run = run_member(recursive, &recursive.step, cx, rows, &mut round, receive);
        cx.work_tables.retain(|(id, _)| *id != recursive.id);
        flow = run?;
    }
    Ok(flow)
}

fn run_member<'p>(
    recursive: &'p Recursive,
    member: &'p Query,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    round: &mut Vec<Vec<Value>>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let mut charge = cx.session.accounting.grant.charge(0);
    run_node(&member.root, cx, rows, &mut |cx, rows| {
        let mut row = Vec::with_capacity(member.output.len());
        for column in &member.output {
            row.push(eval(&column.expr, cx)?);
        }
        for (register, value) in recursive.registers.iter().zip(&row) {
            cx.registers[register.index()].clone_from(value);
        }
        charge.add_row(row.iter())?;
        fault::row_passed(cx)?;
        round.push(row);
        receive(cx, rows)
    })
}

/// Returns the rows of the previous round.
pub(super) fn run_work_table<'p>(
    id: u32,
    registers: &[Register],
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let table = cx.work_tables.iter().rev().find(|(i, _)| *i == id);
    let Some(table) = table.map(|(_, rows)| Arc::clone(rows)) else { return Ok(Flow::More) };
    for row in table.iter() {
        for (register, value) in registers.iter().zip(row) {
            cx.registers[register.index()].clone_from(value);
        }
        if receive(cx, rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}
