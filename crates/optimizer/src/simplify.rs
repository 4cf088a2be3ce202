//! Simplifies predicates: folds constants, finds contradictions, factors out what all branches of
//! an OR share, and adds predicates implied by equalities.
//!
//! Every rewrite preserves, for each row, whether the predicate is true; it may exchange false and
//! unknown, since a filter drops both.

use std::collections::HashMap;

use types::Value;
use types::compare::Truth;

use super::conjunct::{is_volatile, join_conjuncts, split};
use super::fold::fold;
use plan::expr::{CompareOp, Expr, ExprKind, Register};
use plan::walk::{self, Registers};
use types::comparison::compare;

/// Whether any row can satisfy conjuncts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Some row may satisfy them.
    Possible,
    /// No row satisfies them.
    Never,
}

/// Simplifies conjuncts in place.
pub(crate) fn simplify(conjuncts: &mut Vec<Expr>) -> Verdict {
    conjuncts.iter_mut().for_each(fold);
    if conjuncts.iter().any(|c| matches!(c.kind, ExprKind::Or(_))) {
        let all = std::mem::take(conjuncts);
        all.into_iter().for_each(|c| factor(c, conjuncts));
    }
    let mut verdict = Verdict::Possible;
    conjuncts.retain(|c| match known(c) {
        Some(Truth::True) => false,
        Some(Truth::False | Truth::Unknown) => {
            verdict = Verdict::Never;
            true
        }
        None => true,
    });
    if verdict == Verdict::Possible && conjuncts.len() > 1 && contradict(conjuncts) {
        verdict = Verdict::Never;
    }
    verdict
}

/// Returns the value that a conjunct has for every row, if that is known.
fn known(conjunct: &Expr) -> Option<Truth> {
    match &conjunct.kind {
        ExprKind::Constant(Value::Bit(holds)) => Some((*holds).into()),
        ExprKind::Constant(Value::Null) => Some(Truth::Unknown),
        ExprKind::Compare(op, collation, pair) => {
            let (left, right) = (pair.0.as_constant()?, pair.1.as_constant()?);
            Some(compare(*op, left, right, *collation))
        }
        ExprKind::Not(operand) => known(operand).map(|t| !t),
        _ => None,
    }
}

/// Factors out what all branches of an OR share: `(a AND b) OR (a AND c)` is `a AND (b OR c)`.
fn factor(conjunct: Expr, out: &mut Vec<Expr>) {
    let Expr { kind: ExprKind::Or(branches), ty } = conjunct else {
        out.push(conjunct);
        return;
    };
    let mut parts: Vec<Vec<Expr>> = Vec::with_capacity(branches.len());
    for branch in branches {
        let mut part = Vec::new();
        split(branch, &mut part);
        parts.push(part);
    }
    let candidates = parts.first().cloned().unwrap_or_default();
    for shared in candidates {
        let everywhere = parts.iter().all(|p| p.iter().any(|e| walk::same(e, &shared)));
        if !everywhere || is_volatile(&shared) {
            continue;
        }
        parts.iter_mut().for_each(|p| p.retain(|e| !walk::same(e, &shared)));
        out.push(shared);
    }
    if parts.iter().any(Vec::is_empty) {
        // `a OR (a AND b)` is `a`.
        return;
    }
    let branches = parts.into_iter().filter_map(join_conjuncts).collect();
    out.push(Expr { kind: ExprKind::Or(branches), ty });
}

/// A comparison of a column with a constant.
struct Bound<'e> {
    register: Register,
    op: CompareOp,
    value: &'e Value,
    collation: types::Collation,
}

fn bound_of(conjunct: &Expr) -> Option<Bound<'_>> {
    let ExprKind::Compare(op, collation, pair) = &conjunct.kind else { return None };
    match (&pair.0.kind, &pair.1.kind) {
        (ExprKind::Column(register), ExprKind::Constant(value)) => {
            Some(Bound { register: *register, op: *op, value, collation: *collation })
        }
        (ExprKind::Constant(value), ExprKind::Column(register)) => {
            Some(Bound { register: *register, op: op.swapped(), value, collation: *collation })
        }
        _ => None,
    }
}

/// Returns whether two bounds of one column exclude every value.
fn contradict(conjuncts: &[Expr]) -> bool {
    let bounds: Vec<Bound<'_>> = conjuncts.iter().filter_map(bound_of).collect();
    let mut columns: HashMap<(Register, types::Collation), Tightest<'_>> = HashMap::new();
    for bound in bounds.iter().filter(|bound| !bound.value.is_null()) {
        columns.entry((bound.register, bound.collation)).or_default().tighten(bound);
    }
    let is_less =
        |a: &Value, b: &Value, collation| compare(CompareOp::Less, a, b, collation) == Truth::True;
    columns.iter().any(|((_, collation), column)| {
        column.upper.zip(column.lower).is_some_and(|(u, l)| is_less(u, l, *collation))
    }) || bounds.iter().any(|bound| {
        // The value of an equality must satisfy the other bounds, other equalities included.
        let column = columns.get(&(bound.register, bound.collation));
        column.and_then(|column| column.equal).is_some_and(|value| {
            compare(bound.op, value, bound.value, bound.collation) == Truth::False
        })
    })
}

/// The bounds of a column that decide whether all of its bounds exclude every value: each pair would be
/// too many for a chain of thousands.
#[derive(Default)]
struct Tightest<'e> {
    /// The first value that the column must equal.
    equal: Option<&'e Value>,
    /// The least upper bound.
    upper: Option<&'e Value>,
    /// The greatest lower bound.
    lower: Option<&'e Value>,
}

impl<'e> Tightest<'e> {
    fn tighten(&mut self, bound: &Bound<'e>) {
        let is_tighter =
            |value: &Value, op| compare(op, bound.value, value, bound.collation) == Truth::True;
        match bound.op {
            CompareOp::Equal => {
                self.equal.get_or_insert(bound.value);
            }
            CompareOp::Less | CompareOp::LessOrEqual => {
                if self.upper.is_none_or(|upper| is_tighter(upper, CompareOp::Less)) {
                    self.upper = Some(bound.value);
                }
            }
            CompareOp::Greater | CompareOp::GreaterOrEqual => {
                if self.lower.is_none_or(|lower| is_tighter(lower, CompareOp::Greater)) {
                    self.lower = Some(bound.value);
                }
            }
            CompareOp::NotEqual => {}
        }
    }
}

/// Adds predicates implied by equalities of columns: `a = b AND a < 5` implies `b < 5`.
pub(crate) fn add_implied(conjuncts: &mut Vec<Expr>) {
    let mut equal: Vec<(Register, Register, Expr, Expr)> = Vec::new();
    for conjunct in conjuncts.iter() {
        if let ExprKind::Compare(CompareOp::Equal, _, pair) = &conjunct.kind
            && let (ExprKind::Column(a), ExprKind::Column(b)) = (&pair.0.kind, &pair.1.kind)
            && pair.0.ty.data_type == pair.1.ty.data_type
            && pair.0.ty.collation == pair.1.ty.collation
        {
            equal.push((*a, *b, pair.0.clone(), pair.1.clone()));
        }
    }
    if equal.is_empty() {
        return;
    }
    let mut next = 0;
    while next < conjuncts.len() {
        let conjunct = conjuncts[next].clone();
        next += 1;
        let Some(register) = restricted(&conjunct) else { continue };
        for (a, b, left, right) in &equal {
            let other = match register {
                r if r == *a => right,
                r if r == *b => left,
                _ => continue,
            };
            let implied = replaced(&conjunct, register, other);
            if !conjuncts.iter().any(|c| walk::same(c, &implied)) {
                conjuncts.push(implied);
            }
        }
    }
}

/// Returns the bare column that a comparison restricts by a constant or a variable.
pub(crate) fn restricted(conjunct: &Expr) -> Option<Register> {
    let ExprKind::Compare(op, collation, pair) = &conjunct.kind else { return None };
    if *op == CompareOp::NotEqual {
        return None;
    }
    let fixed = |e: &Expr| matches!(e.kind, ExprKind::Constant(_) | ExprKind::Variable(_));
    let column = if fixed(&pair.1) {
        &pair.0
    } else if fixed(&pair.0) {
        &pair.1
    } else {
        return None;
    };
    let ExprKind::Column(register) = column.kind else { return None };
    let text = column.ty.data_type.is_string();
    (!text || column.ty.collation == *collation).then_some(register)
}

/// Returns an expression with one column replaced by another.
pub(crate) fn replaced(expr: &Expr, register: Register, other: &Expr) -> Expr {
    let mut expr = expr.clone();
    walk::rewrite(&mut expr, &mut |e| {
        if matches!(e.kind, ExprKind::Column(r) if r == register) {
            *e = other.clone();
            return walk::Rewrite::Done;
        }
        walk::Rewrite::Enter
    });
    expr
}

/// Returns what an OR over several inputs implies for one of them: the OR of the branches' parts
/// about it, if all have one. `(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)` implies `a.x = 1 OR
/// a.x = 3`.
pub(crate) fn implied_by_or(conjunct: &Expr, own: &Registers, all: &Registers) -> Option<Expr> {
    let ExprKind::Or(branches) = &conjunct.kind else { return None };
    if walk::has_subquery(conjunct) || is_volatile(conjunct) {
        return None;
    }
    let mut parts = Vec::with_capacity(branches.len());
    for branch in branches {
        let mut conjuncts = Vec::new();
        split(branch.clone(), &mut conjuncts);
        conjuncts.retain(|c| {
            let read = walk::reads(c).intersection(all);
            !read.is_empty() && read.is_subset(own)
        });
        parts.push(join_conjuncts(conjuncts)?);
    }
    Some(Expr { kind: ExprKind::Or(parts.into()), ty: conjunct.ty })
}
