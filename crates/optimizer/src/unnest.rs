//! Subqueries of WHERE as joins: EXISTS, IN and ANY become semi-joins; NOT EXISTS, NOT IN and ALL
//! become anti-joins.
//!
//! A conjunct of the subquery that reads outer rows becomes part of the join's ON. NOT IN must
//! respect NULL: a row is dropped if its comparison with any row of the subquery is *not false*, so
//! ON is `x = y OR x IS NULL OR y IS NULL`, unless both are known not to be NULL. If that would
//! cost the join its hash key, and the subquery reads nothing outside, it stays a subquery that
//! runs once.

use super::Optimizer;
use super::conjunct::{
    free, is_nullable, is_query_volatile, is_volatile, join_conjuncts, node_reads, split,
};
use plan::depth::UNNESTED_MAX;
use plan::expr::{CompareOp, Expr, ExprKind, QuantifiedSubquery, Quantifier};
use plan::query::{Join, JoinKind, JoinMethod, Node, Query};
use plan::walk::{self, Registers};

/// The parts of a condition with a subquery.
struct Quest {
    kind: JoinKind,
    query: Query,
    /// The comparison with the subquery's column, if there is one.
    compare: Option<Comparison>,
}

struct Comparison {
    operand: Expr,
    op: CompareOp,
    collation: types::Collation,
    /// Whether unknown counts as a match, as for NOT IN and ALL.
    unknown_matches: bool,
}

impl Optimizer<'_> {
    /// Converts a conjunct over `input` to a join if possible; otherwise returns the conjunct.
    pub(crate) fn unnest(&mut self, input: Node, conjunct: Expr) -> (Node, Option<Expr>) {
        if self.unnested >= UNNESTED_MAX {
            return (input, Some(conjunct));
        }
        let Some(mut quest) = quest_of(&conjunct) else { return (input, Some(conjunct)) };
        let outside = walk::fills(&input).0;
        let root = std::mem::replace(&mut quest.query.root, Node::Empty);
        let root = stripped(root, quest.compare.is_none());
        let mut on = Vec::new();
        let right = lift(root, &outside, &mut on);
        let correlated = !on.is_empty();
        if !node_reads(&right).is_disjoint(&outside) || (quest.compare.is_none() && !correlated) {
            return (input, Some(conjunct));
        }
        if let Some(compare) = quest.compare {
            let Some(column) = quest.query.output.first() else { return (input, Some(conjunct)) };
            if !walk::reads(&column.expr).is_disjoint(&outside) {
                return (input, Some(conjunct));
            }
            match condition(compare, &column.expr, &input, &right, correlated) {
                Some(condition) => on.push(condition),
                None => return (input, Some(conjunct)),
            }
        }
        self.unnested += 1;
        let (left_live, right_live) = (walk::live(&input), walk::live(&right));
        let join = Join {
            kind: quest.kind,
            method: JoinMethod::Loop,
            left: input,
            right,
            on: join_conjuncts(on),
            left_live,
            right_live,
            any_order: false,
        };
        (Node::Join(Box::new(join)), None)
    }
}

/// Returns the parts of a conjunct that may become a join.
fn quest_of(conjunct: &Expr) -> Option<Quest> {
    let (negated, inner) = match &conjunct.kind {
        ExprKind::Not(inner) => (true, &**inner),
        _ => (false, conjunct),
    };
    let kind = |negated: bool| if negated { JoinKind::Anti } else { JoinKind::Semi };
    match &inner.kind {
        ExprKind::Exists(query) if !is_query_volatile(query) => {
            Some(Quest { kind: kind(negated), query: Query::clone(query), compare: None })
        }
        ExprKind::Quantified(quantified) => {
            let QuantifiedSubquery { operand, op, quantifier, collation, query, once } =
                &**quantified;
            let simple = !is_volatile(operand) && !walk::has_subquery(operand);
            if once.is_some() || !simple || is_query_volatile(query) || query.output.len() != 1 {
                return None;
            }
            // `x op ALL q` is true unless some row of q makes `x op y` false or unknown.
            let all = *quantifier == Quantifier::All;
            let compare = Comparison {
                operand: operand.clone(),
                op: if all { op.negated() } else { *op },
                collation: *collation,
                unknown_matches: all != negated,
            };
            let kind = kind(negated != all);
            Some(Quest { kind, query: query.clone(), compare: Some(compare) })
        }
        _ => None,
    }
}

/// Returns the part of ON that compares the operand with the subquery's column; `None` if the
/// subquery is better left alone.
fn condition(
    compare: Comparison,
    column: &Expr,
    left: &Node,
    right: &Node,
    correlated: bool,
) -> Option<Expr> {
    let Comparison { operand, op, collation, unknown_matches } = compare;
    let ty = types::value::ColumnType { nullable: true, ..bit() };
    let mut any = Vec::new();
    if unknown_matches {
        for (side, node) in [(&operand, left), (column, right)] {
            if is_nullable(side, &[node]) {
                any.push(Expr { kind: ExprKind::IsNull(Box::new(side.clone())), ty });
            }
        }
        if !any.is_empty() && !correlated {
            return None;
        }
    }
    let pair = Box::new((operand, column.clone()));
    let equal = Expr { kind: ExprKind::Compare(op, collation, pair), ty };
    if any.is_empty() {
        return Some(equal);
    }
    any.insert(0, equal);
    Some(Expr { kind: ExprKind::Or(any.into()), ty })
}

pub(crate) fn bit() -> types::value::ColumnType {
    types::value::ColumnType {
        data_type: types::DataType::Bit,
        collation: types::Collation::default(),
        nullable: true,
    }
}

/// Removes operators from a subquery that do not change the set of its values, or, if only
/// existence matters, whether it has any row.
fn stripped(node: Node, existence: bool) -> Node {
    match node {
        Node::Sort(sort) if sort.limit.is_none() => stripped(sort.input, existence),
        Node::Distinct(inner) => stripped(inner.0, existence),
        Node::Limit(limit)
            if existence
                && !limit.percent
                && limit.offset.is_none()
                && limit.count.as_ref().is_some_and(is_positive) =>
        {
            match limit.input {
                Node::Sort(sort) => stripped(sort.input, existence),
                input => stripped(input, existence),
            }
        }
        Node::Compute(inner) if existence => stripped(inner.0, existence),
        other => other,
    }
}

fn is_positive(count: &Expr) -> bool {
    matches!(count.as_constant(), Some(types::Value::BigInt(n)) if *n > 0)
}

/// Removes conjuncts that read outer registers from a node, from filters and inner joins at its
/// top.
pub(crate) fn lift(node: Node, outside: &Registers, lifted: &mut Vec<Expr>) -> Node {
    match node {
        Node::Filter(inner) => {
            let (input, predicate) = *inner;
            let mut conjuncts = Vec::new();
            split(predicate, &mut conjuncts);
            let (kept, taken): (Vec<_>, Vec<_>) =
                conjuncts.into_iter().partition(|c| walk::reads(c).is_disjoint(outside));
            lifted.extend(taken);
            let input = lift(input, outside, lifted);
            super::conjunct::filter(input, kept)
        }
        Node::Compute(inner) => {
            let (input, computed) = *inner;
            Node::Compute(Box::new((lift(input, outside, lifted), computed)))
        }
        Node::Join(mut join)
            if join.kind == JoinKind::Inner && matches!(join.method, JoinMethod::Loop) =>
        {
            let mut conjuncts = Vec::new();
            if let Some(on) = join.on.take() {
                split(on, &mut conjuncts);
            }
            let (kept, taken): (Vec<_>, Vec<_>) =
                conjuncts.into_iter().partition(|c| walk::reads(c).is_disjoint(outside));
            lifted.extend(taken);
            join.on = join_conjuncts(kept);
            join.left = lift(join.left, outside, lifted);
            join.right = lift(join.right, outside, lifted);
            Node::Join(join)
        }
        other => other,
    }
}

/// Returns whether a query reads no register of outer queries.
pub(crate) fn is_closed(query: &Query) -> bool {
    free(query).is_empty()
}
