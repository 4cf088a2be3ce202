//! Subqueries in expressions. A subquery that reads nothing outside runs once per statement. A
//! correlated aggregate becomes a grouped input of an outer join, if that is cheaper than running
//! it for each row.
//!
//! `(SELECT SUM(x) FROM t WHERE t.k = o.k)` is NULL for a row without a match, and so is the
//! register of the join's optional side. COUNT is 0 there, which must be restored.

use types::value::ColumnType;
use types::{DataType, Value};

use super::Optimizer;
use super::conjunct::{filter, free, is_node_volatile, is_query_volatile, node_reads};
use super::estimate::estimate;
use super::unnest::{bit, is_closed, lift};
use plan::children;
use plan::depth::UNNESTED_MAX;
use plan::expr::{CompareOp, Expr, ExprKind, Register};
use plan::query::{Aggregate, Join, JoinKind, JoinMethod, Node, Query};
use plan::walk::{self, Registers, Rewrite};

/// Maximum nesting at which two alternatives are compared: each level doubles the work of the one
/// below.
const TRIAL_LEVELS_MAX: u32 = 2;

/// Maximum number of comparisons per statement; beyond it, all rows are grouped once, which is
/// never far from the best.
const TRIALS_MAX: u32 = 200;

/// Aggregates that return 0 for no rows; all others return NULL.
const COUNTS: [&str; 2] = ["COUNT", "COUNT_BIG"];
const EMPTY_IS_NULL: [&str; 8] = ["SUM", "AVG", "MIN", "MAX", "STDEV", "STDEVP", "VAR", "VARP"];

impl Optimizer<'_> {
    /// Optimizes the queries inside an expression.
    pub(crate) fn expression(&mut self, expr: &mut Expr) {
        if !self.subqueries {
            return;
        }
        walk::rewrite(expr, &mut |e| {
            let constant = match &mut e.kind {
                ExprKind::Once(..) => return Rewrite::Done,
                ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => {
                    self.subquery(query);
                    self.is_constant(query)
                }
                ExprKind::Quantified(quantified) => {
                    self.expression(&mut quantified.operand);
                    self.subquery(&mut quantified.query);
                    if quantified.once.is_none() && self.is_constant(&quantified.query) {
                        quantified.once = Some(self.next_once());
                    }
                    return Rewrite::Done;
                }
                _ => return Rewrite::Enter,
            };
            if constant {
                let number = self.next_once();
                let hole = ExprKind::Constant(Value::Null);
                let kind = std::mem::replace(&mut e.kind, hole);
                e.kind = ExprKind::Once(number, Box::new(Expr { kind, ty: e.ty }));
            }
            Rewrite::Done
        });
    }

    pub(crate) fn next_once(&mut self) -> u32 {
        *self.once += 1;
        *self.once - 1
    }

    /// Returns whether a query has the same result whenever it runs in the statement.
    fn is_constant(&self, query: &Query) -> bool {
        if !is_closed(query) || is_query_volatile(query) || has_open_work_table(&query.root) {
            return false;
        }
        let mut reads_variable = false;
        walk::visit_query(query, &mut |e| {
            reads_variable |= matches!(e.kind, ExprKind::Variable(_));
        });
        !(self.assigns && reads_variable)
    }

    /// Converts correlated aggregates in expressions over `input` to joins. `others` are further
    /// conjuncts that its rows satisfy.
    pub(crate) fn unnest_scalars(
        &mut self,
        input: Node,
        exprs: &mut [&mut Expr],
        others: &[Expr],
    ) -> Node {
        let mut held = Some(input);
        for expr in exprs {
            walk::rewrite(expr, &mut |e| match &e.kind {
                // Operands that may not be evaluated for every row are left alone.
                ExprKind::Case(..) | ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Let(..) => {
                    Rewrite::Done
                }
                ExprKind::ScalarSubquery(query) => {
                    if let Some(input) = held.take() {
                        let (input, value) = self.unnest_scalar(input, query, others);
                        held = Some(input);
                        if let Some(value) = value {
                            *e = value;
                        }
                    }
                    Rewrite::Done
                }
                _ => Rewrite::Enter,
            });
        }
        held.unwrap_or(Node::Empty)
    }

    fn unnest_scalar(
        &mut self,
        input: Node,
        query: &Query,
        others: &[Expr],
    ) -> (Node, Option<Expr>) {
        if self.unnested >= UNNESTED_MAX {
            return (input, None);
        }
        let outside = walk::fills(&input).0;
        let Some(grouped) = self.group(query, &outside) else { return (input, None) };
        if !self.pays(&input, others, query, &grouped.node) {
            return (input, None);
        }
        self.unnested += 1;
        let (left_live, right_live) = (walk::live(&input), walk::live(&grouped.node));
        let join = Join {
            kind: JoinKind::Left,
            method: JoinMethod::Loop,
            left: input,
            right: grouped.node,
            on: super::conjunct::join_conjuncts(grouped.on),
            left_live,
            right_live,
            any_order: false,
        };
        (Node::Join(Box::new(join)), Some(grouped.value))
    }

    /// Returns the grouped form of an aggregate over rows that equal the outer ones.
    fn group(&mut self, query: &Query, outside: &Registers) -> Option<Grouped> {
        let Node::Aggregate(aggregate) = &query.root else { return None };
        let plain = aggregate.scalar && aggregate.keys.is_empty() && aggregate.sets.len() <= 1;
        let known = |name: &str| COUNTS.contains(&name) || EMPTY_IS_NULL.contains(&name);
        if !plain
            || aggregate.grouping_id.is_some()
            || !aggregate.aggregates.iter().all(|a| known(a.function.name))
            || is_node_volatile(&query.root)
            || free(query).is_disjoint(outside)
        {
            return None;
        }
        let [column] = query.output.as_slice() else { return None };
        let mut lifted = Vec::new();
        let inner = lift(aggregate.input.clone(), outside, &mut lifted);
        let made = walk::fills(&inner).0;
        let mut keys = Vec::with_capacity(lifted.len());
        let mut on = Vec::with_capacity(lifted.len());
        for conjunct in lifted {
            let (own, other) = sides(conjunct, &made)?;
            let register = match own.kind {
                ExprKind::Column(register) => register,
                _ => self.new_register(),
            };
            let key = Expr { kind: ExprKind::Column(register), ty: own.ty };
            let compare =
                ExprKind::Compare(CompareOp::Equal, own.ty.collation, Box::new((other, key)));
            on.push(Expr { kind: compare, ty: bit() });
            keys.push((own, register));
        }
        let set = (0..u16::try_from(keys.len()).ok()?).collect();
        let value = with_zeros(&column.expr, aggregate);
        let grouped = Aggregate {
            input: inner,
            keys,
            sets: vec![set],
            scalar: false,
            aggregates: aggregate.aggregates.clone(),
            grouping_id: None,
        };
        let node = Node::Aggregate(Box::new(grouped));
        let closed = node_reads(&node).is_disjoint(outside);
        let apart = !on.is_empty() && walk::reads(&value).is_disjoint(outside);
        (closed && apart).then_some(Grouped { node, on, value })
    }

    /// Returns whether grouping all rows once is cheaper than running the query for each outer row.
    fn pays(&mut self, input: &Node, others: &[Expr], query: &Query, grouped: &Node) -> bool {
        if self.depth >= TRIAL_LEVELS_MAX || self.trials >= TRIALS_MAX {
            return true;
        }
        self.trials += 1;
        self.depth += 1;
        let unnested = self.unnested;
        let outer = self.top(filter(input.clone(), others.to_vec()));
        let outer = estimate(&outer).rows;
        let mut each = query.clone();
        self.subquery(&mut each);
        let each = estimate(&each.root).cost();
        let once = self.top(grouped.clone());
        let once = estimate(&once);
        self.depth -= 1;
        self.unnested = unnested;
        let joined = super::estimate::hash_cost(outer, once.rows);
        once.cost() + joined < outer * each
    }
}

/// A correlated aggregate as a separate join input.
struct Grouped {
    node: Node,
    /// Condition of the join with the outer rows.
    on: Vec<Expr>,
    /// Expression that replaces the subquery.
    value: Expr,
}

/// Splits `own = other` if one side reads only registers in `made` and the other none of them.
fn sides(conjunct: Expr, made: &Registers) -> Option<(Expr, Expr)> {
    let ExprKind::Compare(CompareOp::Equal, collation, pair) = conjunct.kind else { return None };
    let (left, right) = *pair;
    if walk::has_subquery(&left) || walk::has_subquery(&right) {
        return None;
    }
    let owns = |e: &Expr| {
        let read = walk::reads(e);
        !read.is_empty() && read.is_subset(made)
    };
    let foreign = |e: &Expr| walk::reads(e).is_disjoint(made);
    let (mut own, other) = if owns(&left) && foreign(&right) {
        (left, right)
    } else if owns(&right) && foreign(&left) {
        (right, left)
    } else {
        return None;
    };
    own.ty.collation = collation;
    Some((own, other))
}

/// Restores the 0 that COUNT returns for no rows.
fn with_zeros(expr: &Expr, aggregate: &Aggregate) -> Expr {
    let counts: Vec<Register> = aggregate
        .aggregates
        .iter()
        .filter(|a| COUNTS.contains(&a.function.name))
        .map(|a| a.register)
        .collect();
    let mut expr = expr.clone();
    walk::rewrite(&mut expr, &mut |e| {
        let ExprKind::Column(register) = e.kind else { return Rewrite::Enter };
        if !counts.contains(&register) {
            e.ty.nullable = true;
            return Rewrite::Done;
        }
        let ty = ColumnType { nullable: true, ..e.ty };
        let column = Expr { kind: e.kind.clone(), ty };
        let zero = match ty.data_type {
            DataType::BigInt => Value::BigInt(0),
            _ => Value::Int(0),
        };
        let missing = Expr { kind: ExprKind::IsNull(Box::new(column.clone())), ty: bit() };
        let zero = Expr { kind: ExprKind::Constant(zero), ty: e.ty };
        e.kind = ExprKind::Case(Box::new([(missing, zero)]), Some(Box::new(column)));
        Rewrite::Done
    });
    expr
}

/// Returns whether a node reads the work table of an outer recursion, whose rows change with each
/// round.
fn has_open_work_table(node: &Node) -> bool {
    let mut ids = Vec::new();
    let mut read = Vec::new();
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        match node {
            Node::Recursive(recursive) => ids.push(recursive.id),
            Node::WorkTable(id, _) => read.push(*id),
            _ => {}
        }
        children::inputs(node, &mut |input| nodes.push(input));
    }
    read.iter().any(|id| !ids.contains(id))
}
