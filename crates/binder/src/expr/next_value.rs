//! NEXT VALUE FOR, with and without OVER (ORDER BY ..).
//!
//! All uses of one sequence in the expressions of a row have the same value: [`share`] computes it
//! in an operator below them. A single use stays in its expression.

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{Collation, Msg, Result};

use super::call::bind_order;
use super::user::find;
use crate::{Binder, Clause};
use catalog::{Object, SequenceDef};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Node, Sort};
use plan::walk;

/// Binds `NEXT VALUE FOR sequence [OVER (ORDER BY ..)]`, which needs UPDATE on the sequence.
pub(crate) fn bind(
    binder: &mut Binder<'_>,
    name: &ast::ObjectName,
    over: Option<&ast::Over>,
) -> Result<Expr> {
    let in_specs = binder.levels().filter(|level| level.is_spec).count();
    if in_specs > 1 {
        return Err(Msg::NextValueNested.into());
    }
    if binder.level.is_spec && binder.level.clause != Clause::Output {
        return Err(Msg::NextValueClause.into());
    }
    let sequence = match find(binder, name) {
        Some(Object::Sequence(sequence)) => Arc::clone(sequence),
        // A synonym of a sequence is not one either.
        Some(_) => return Err(Msg::NotASequence(&name.to_string()).into()),
        None => return Err(Msg::InvalidObject(&name.to_string()).into()),
    };
    let place = name.database.as_deref().unwrap_or(binder.database);
    crate::require::require_sequence(binder, place, &sequence)?;
    binder.takes_values = true;
    let ty = ColumnType {
        data_type: sequence.data_type,
        collation: Collation::default(),
        nullable: false,
    };
    let value = Expr::new(ExprKind::NextValue(Arc::<SequenceDef>::clone(&sequence)), ty);
    let Some(over) = over else { return Ok(value) };
    if !over.partition_by.is_empty() {
        return Err(Msg::NextValuePartition.into());
    }
    if over.order_by.is_empty() {
        return Err(Msg::NextValueEmptyOver.into());
    }
    if in_specs == 0 {
        return Err(Msg::NextValueOverPlace.into());
    }
    let order = bind_order(binder, &over.order_by)?;
    let register = binder.new_register();
    binder.level.next_values.push((register, value, order));
    Ok(Expr::new(ExprKind::Column(register), ty))
}

/// Extracts sequence values that several expressions of one row share; returns each with the
/// register that replaces it.
pub fn share(binder: &mut Binder<'_>, exprs: &mut [&mut Expr]) -> Vec<(Register, Expr)> {
    let mut found: Vec<(Expr, usize)> = Vec::new();
    for expr in &*exprs {
        walk::visit(expr, &mut |e| match found.iter_mut().find(|(other, _)| is_same(other, e)) {
            Some((_, count)) => *count += 1,
            None if matches!(e.kind, ExprKind::NextValue(_)) => found.push((e.clone(), 1)),
            None => {}
        });
    }
    let repeated = found.into_iter().filter(|(_, count)| *count > 1);
    let shared: Vec<_> = repeated.map(|(value, _)| (binder.new_register(), value)).collect();
    for expr in exprs.iter_mut().filter(|_| !shared.is_empty()) {
        walk::rewrite(expr, &mut |e| match shared.iter().find(|(_, value)| is_same(value, e)) {
            Some((register, _)) => {
                e.kind = ExprKind::Column(*register);
                walk::Rewrite::Done
            }
            None => walk::Rewrite::Enter,
        });
    }
    shared
}

/// Adds an operator that computes the shared values above `root`.
pub fn compute(root: &mut Node, shared: Vec<(Register, Expr)>) {
    if !shared.is_empty() {
        let input = std::mem::replace(root, Node::Empty);
        *root = Node::Compute(Box::new((input, shared)));
    }
}

fn is_same(one: &Expr, other: &Expr) -> bool {
    let (ExprKind::NextValue(one), ExprKind::NextValue(other)) = (&one.kind, &other.kind) else {
        return false;
    };
    Arc::ptr_eq(one, other)
}

/// Adds the operators that assign a level's ordered values above its others.
pub fn apply(binder: &mut Binder<'_>, mut root: Node) -> Node {
    for (register, value, keys) in std::mem::take(&mut binder.level.next_values) {
        let live = walk::live(&root);
        let sort = Sort { input: root, keys, limit: None, live };
        root = Node::Compute(Box::new((Node::Sort(Box::new(sort)), vec![(register, value)])));
    }
    root
}
