//! Predicates as lists of conjuncts, and properties of expressions that are known without running
//! them.

use types::{Collation, DataType};

use plan::children;
use plan::expr::{Expr, ExprKind, Register};
use plan::function;
use plan::query::{JoinKind, Node, Query};
use plan::statement::table_of;
use plan::walk::{self, Registers};

/// Splits a predicate into its conjuncts.
pub(crate) fn split(predicate: Expr, conjuncts: &mut Vec<Expr>) {
    match predicate.kind {
        ExprKind::And(list) => list.into_vec().into_iter().for_each(|e| split(e, conjuncts)),
        kind => conjuncts.push(Expr { kind, ty: predicate.ty }),
    }
}

/// Combines conjuncts into one predicate; `None` for none.
pub(crate) fn join_conjuncts(mut conjuncts: Vec<Expr>) -> Option<Expr> {
    match conjuncts.len() {
        0 => None,
        1 => conjuncts.pop(),
        _ => {
            let ty = conjuncts[0].ty;
            Some(Expr { kind: ExprKind::And(conjuncts.into()), ty })
        }
    }
}

/// Adds a filter with conjuncts above a node.
pub(crate) fn filter(node: Node, conjuncts: Vec<Expr>) -> Node {
    match join_conjuncts(conjuncts) {
        Some(predicate) => Node::Filter(Box::new((node, predicate))),
        None => node,
    }
}

/// Splits conjuncts into those that read, among the registers in `all`, only `readable`, and the
/// others.
pub(crate) fn part(
    conjuncts: Vec<Expr>,
    readable: &Registers,
    all: &Registers,
) -> (Vec<Expr>, Vec<Expr>) {
    conjuncts.into_iter().partition(|c| walk::reads(c).intersection(all).is_subset(readable))
}

/// Returns whether the number of evaluations of an expression matters: it computes random values,
/// takes values of a sequence or calls a user's function.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    let mut found = false;
    walk::visit(expr, &mut |e| {
        found |= match &e.kind {
            ExprKind::NextValue(_) | ExprKind::CallUser(_) => true,
            ExprKind::Call(function, _) => function::is_volatile(function.name),
            _ => false,
        };
    });
    found
}

/// Returns whether a conjunct over keys is true for all values that grouping considers equal, or
/// for none. Equal texts may differ in case and trailing blanks, floats in the sign of 0, binary
/// values in trailing zeros, dates in their offset. A comparison under the key's own collation and
/// IS NULL do not distinguish such values; functions may.
pub(crate) fn treats_equals_alike(conjunct: &Expr, keys: &Registers) -> bool {
    let mut open = vec![conjunct];
    while let Some(expr) = open.pop() {
        match &expr.kind {
            ExprKind::Column(register) => {
                if keys.contains(*register) && has_unlike_equals(&expr.ty.data_type) {
                    return false;
                }
            }
            ExprKind::Compare(_, collation, pair) => {
                open.extend([&pair.0, &pair.1].into_iter().filter(|e| !compares(e, *collation)));
            }
            ExprKind::InList(collation, operand, list) => {
                let all = std::iter::once(&**operand).chain(list);
                open.extend(all.filter(|e| !compares(e, *collation)));
            }
            ExprKind::IsNull(operand) if matches!(operand.kind, ExprKind::Column(_)) => {}
            _ => walk::operands(expr, &mut |operand| open.push(operand)),
        }
    }
    true
}

/// Returns whether an operand of a comparison is a column that is compared as grouping compares it.
fn compares(operand: &Expr, collation: Collation) -> bool {
    matches!(operand.kind, ExprKind::Column(_))
        && (!operand.ty.data_type.is_string() || operand.ty.collation == collation)
}

/// Returns whether a type has distinct values that are equal.
fn has_unlike_equals(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Float
            | DataType::Real
            | DataType::Binary(_)
            | DataType::VarBinary(_)
            | DataType::DateTimeOffset(_)
            | DataType::SqlVariant
    ) || data_type.is_string()
}

/// Like [`is_volatile`], for a whole query.
pub(crate) fn is_query_volatile(query: &Query) -> bool {
    is_node_volatile(&query.root) || query.output.iter().any(|c| is_volatile(&c.expr))
}

/// Like [`is_volatile`], for an operator and all below it.
pub(crate) fn is_node_volatile(node: &Node) -> bool {
    let mut found = false;
    walk::visit_node(node, &mut |e| {
        found |= match &e.kind {
            ExprKind::NextValue(_) | ExprKind::CallUser(_) => true,
            ExprKind::Call(function, _) => function::is_volatile(function.name),
            _ => false,
        };
    });
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        found |= matches!(node, Node::UserFunction(_));
        children::inputs(node, &mut |input| nodes.push(input));
    }
    found
}

/// Returns the registers that a node's expressions read.
pub(crate) fn node_reads(node: &Node) -> Registers {
    let mut set = Registers::default();
    walk::visit_node(node, &mut |e| {
        if let ExprKind::Column(register) = e.kind {
            set.insert(register);
        }
    });
    set
}

/// Returns the registers that are filled anywhere inside a node, including its subqueries.
pub(crate) fn made_inside(node: &Node) -> Registers {
    let mut set = Registers::default();
    add_made(node, &mut set);
    set
}

fn add_made(node: &Node, set: &mut Registers) {
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        set.extend(&walk::fills(node).0);
        children::inputs(node, &mut |input| nodes.push(input));
    }
    walk::visit_node(node, &mut |e| match &e.kind {
        ExprKind::Let(register, _) => set.insert(*register),
        ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => {
            set.extend(&walk::fills_all(&query.root));
        }
        ExprKind::Quantified(quantified) => set.extend(&walk::fills_all(&quantified.query.root)),
        _ => {}
    });
}

/// Returns the registers that a query reads but does not fill: those of outer queries.
pub(crate) fn free(query: &Query) -> Registers {
    let mut read = node_reads(&query.root);
    let mut made = made_inside(&query.root);
    for column in &query.output {
        read.extend(&walk::reads(&column.expr));
        walk::visit(&column.expr, &mut |e| match &e.kind {
            ExprKind::Let(register, _) => made.insert(*register),
            ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => {
                made.extend(&made_inside(&query.root));
            }
            ExprKind::Quantified(quantified) => made.extend(&made_inside(&quantified.query.root)),
            _ => {}
        });
    }
    read.difference(&made)
}

/// Returns whether a value can be NULL; columns are looked up among the outputs of the nodes.
pub(crate) fn is_nullable(expr: &Expr, nodes: &[&Node]) -> bool {
    match &expr.kind {
        ExprKind::Constant(value) => value.is_null(),
        ExprKind::Column(register) => !nodes.iter().any(|n| is_never_null(n, *register)),
        ExprKind::Collate(operand) | ExprKind::Negate(operand) | ExprKind::BitNot(operand) => {
            is_nullable(operand, nodes)
        }
        ExprKind::Convert(conversion) => {
            conversion.mode == types::Mode::Try
                || conversion.style.is_some()
                || is_nullable(&conversion.operand, nodes)
        }
        _ => true,
    }
}

/// Returns whether a node never returns NULL in a register: a NOT NULL column, not on the optional
/// side of an outer join.
pub(crate) fn is_never_null(node: &Node, register: Register) -> bool {
    match node {
        Node::Scan(scan) => scan.columns.iter().any(|c| {
            c.1 == register && !table_of(&scan.table).columns[usize::from(c.0)].ty.nullable
        }),
        Node::Distinct(inner) => is_never_null(&inner.0, register),
        Node::Spool(spool) => is_never_null(&spool.input, register),
        Node::Join(join) => match join.kind {
            JoinKind::Inner => {
                is_never_null(&join.left, register) || is_never_null(&join.right, register)
            }
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti => is_never_null(&join.left, register),
            JoinKind::Full => false,
        },
        Node::Aggregate(aggregate) => {
            let plain = !aggregate.scalar && aggregate.sets.len() <= 1;
            let key = aggregate.keys.iter().find(|k| k.1 == register);
            plain
                && key.is_some_and(|(e, _)| match e.kind {
                    ExprKind::Column(input) => is_never_null(&aggregate.input, input),
                    _ => false,
                })
        }
        _ => children::passed(node).is_some_and(|input| is_never_null(input, register)),
    }
}

/// Returns whether a predicate is never true where all of these registers are NULL.
pub(crate) fn rejects_null(predicate: &Expr, registers: &Registers) -> bool {
    match &predicate.kind {
        ExprKind::And(all) => all.iter().any(|e| rejects_null(e, registers)),
        ExprKind::Or(any) => any.iter().all(|e| rejects_null(e, registers)),
        ExprKind::Compare(_, _, pair) => {
            is_strict(&pair.0, registers) || is_strict(&pair.1, registers)
        }
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::IsNull(operand) => is_strict(operand, registers),
            ExprKind::Compare(_, _, pair) => {
                is_strict(&pair.0, registers) || is_strict(&pair.1, registers)
            }
            ExprKind::Like(_, like) => is_strict(&like.text, registers),
            ExprKind::InList(_, operand, _) => is_strict(operand, registers),
            _ => false,
        },
        ExprKind::InList(_, operand, _) => is_strict(operand, registers),
        ExprKind::Like(_, like) => is_strict(&like.text, registers),
        _ => false,
    }
}

/// Returns whether an expression is NULL where all of these registers are.
fn is_strict(expr: &Expr, registers: &Registers) -> bool {
    match &expr.kind {
        ExprKind::Column(register) => registers.contains(*register),
        ExprKind::Collate(operand) | ExprKind::Negate(operand) | ExprKind::BitNot(operand) => {
            is_strict(operand, registers)
        }
        ExprKind::Convert(conversion) => is_strict(&conversion.operand, registers),
        // Text + NULL is text when CONCAT_NULL_YIELDS_NULL is OFF.
        ExprKind::Arithmetic(_, pair) if !expr.ty.data_type.is_string() => {
            is_strict(&pair.0, registers) || is_strict(&pair.1, registers)
        }
        _ => false,
    }
}
