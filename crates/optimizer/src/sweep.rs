//! Optimizes subqueries outside a statement's operator tree: in SET lists, VALUES, OUTPUT, WHEN
//! clauses, TOP.

use types::Result;

use super::{Optimizer, SMALL, Statement, expression};
use plan::expr::Expr;
use plan::statement::{
    Assignment, Bound, Insert, InsertValue, MergeAction, OutputClause, OutputTarget, SetRow,
};

/// Optimizes the expressions that the passes over a statement's trees have not reached.
///
/// # Errors
/// 8631 for an expression that is too deep.
pub fn leftovers(statement: &mut Statement<'_>, bound: &mut Bound) -> Result<()> {
    let is_seen = !statement.subqueries && statement.size <= SMALL;
    if is_seen || Optimizer::of(statement).is_none() {
        return Ok(());
    }
    let mut outcome = Ok(());
    let mut each = |e: &mut Expr| {
        if outcome.is_ok() {
            outcome = expression(statement, e);
        }
    };
    match bound {
        Bound::SelectAssign(select) => {
            select.assignments.iter_mut().for_each(|(_, e)| each(e));
        }
        Bound::Insert(insert) => of_insert(insert, &mut each),
        Bound::Update(update) => {
            of_set(&mut update.set, &mut each);
            of_output(&mut update.output, &mut each);
            update.top.iter_mut().for_each(each);
        }
        Bound::Delete(delete) => {
            of_output(&mut delete.output, &mut each);
            delete.top.iter_mut().for_each(each);
        }
        Bound::Instead(instead) => {
            of_output(&mut instead.output, &mut each);
            instead.top.iter_mut().for_each(each);
        }
        Bound::Merge(merge) => {
            for clause in &mut merge.clauses {
                clause.condition.iter_mut().for_each(&mut each);
                match &mut clause.action {
                    MergeAction::Update(set) => of_set(set, &mut each),
                    MergeAction::Insert(insert) => of_values(&mut insert.columns, &mut each),
                    MergeAction::Delete => {}
                }
            }
            of_output(&mut merge.output, &mut each);
            merge.top.iter_mut().for_each(each);
        }
        Bound::Select(_) | Bound::SelectInto(_) | Bound::Truncate(_) | Bound::Scalar(_) => {}
    }
    set_registers(bound, *statement.registers);
    outcome
}

/// Updates the statement's number of registers, since the optimizer allocates some too.
fn set_registers(bound: &mut Bound, registers: u32) {
    match bound {
        Bound::Select(select) => select.registers = registers,
        Bound::SelectAssign(select) => select.registers = registers,
        Bound::SelectInto(into) => into.registers = registers,
        Bound::Insert(insert) => insert.registers = registers,
        Bound::Update(update) => update.registers = registers,
        Bound::Delete(delete) => delete.registers = registers,
        Bound::Instead(instead) => instead.registers = registers,
        Bound::Merge(merge) => merge.registers = registers,
        Bound::Scalar(scalar) => scalar.registers = registers,
        Bound::Truncate(_) => {}
    }
}

fn of_insert(insert: &mut Insert, each: &mut dyn FnMut(&mut Expr)) {
    of_values(&mut insert.columns, each);
    of_output(&mut insert.output, each);
    insert.top.iter_mut().for_each(each);
}

fn of_values(values: &mut [InsertValue], each: &mut dyn FnMut(&mut Expr)) {
    for value in values {
        match value {
            InsertValue::Source(e) | InsertValue::Default(Some(e)) => each(e),
            InsertValue::Default(None)
            | InsertValue::Identity
            | InsertValue::RowVersion
            | InsertValue::Period(_)
            | InsertValue::Computed => {}
        }
    }
}

fn of_set(set: &mut SetRow, each: &mut dyn FnMut(&mut Expr)) {
    for assignment in &mut set.assignments {
        match assignment {
            Assignment::Column(_, e) | Assignment::Variable(_, e) => each(e),
            Assignment::VariableAndColumn(_, _, e, f) => {
                each(e);
                each(f);
            }
            Assignment::Write(_, parts) => {
                each(&mut parts.0);
                each(&mut parts.1);
                each(&mut parts.2);
            }
        }
    }
}

fn of_output(clauses: &mut [OutputClause], each: &mut dyn FnMut(&mut Expr)) {
    for clause in clauses {
        clause.columns.iter_mut().for_each(|c| each(&mut c.expr));
        match &mut clause.target {
            OutputTarget::Table(insert) => of_insert(insert, each),
            OutputTarget::Insert(outer) => of_insert(&mut outer.insert, each),
            OutputTarget::Client(_) | OutputTarget::Triggers(_) => {}
        }
    }
}
