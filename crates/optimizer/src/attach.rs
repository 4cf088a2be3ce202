//! Joins two inputs by predicates; the method is chosen by cost unless a hint gives it.

use super::Hints;
use super::conjunct::{filter, join_conjuncts, node_reads, part, split};
use super::estimate::{self, estimate};
use super::seek;
use super::simplify;
use plan::children;
use plan::expr::{CompareOp, Expr, ExprKind, Register};
use plan::query::{Access, Join, JoinKind, JoinMethod, Node, Scan};
use plan::statement::table_of;
use plan::walk::{self, Registers};

/// The two inputs of a join, each already optimized.
pub(crate) struct Sides {
    pub left: Node,
    pub right: Node,
}

/// The method of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Opens the right side for each left row, with the predicates pushed into it.
    Loop,
    /// Reads the right side once.
    Hash,
}

/// Joins two inputs by the cheaper method.
pub(crate) fn attach(
    kind: JoinKind,
    sides: Sides,
    conjuncts: Vec<Expr>,
    outer: &Registers,
    all: &Registers,
    hints: Hints,
) -> Node {
    let method = choose(kind, &sides, &conjuncts, all, hints);
    join(kind, sides, conjuncts, outer, all, method)
}

/// Chooses the method of a join.
fn choose(
    kind: JoinKind,
    sides: &Sides,
    conjuncts: &[Expr],
    all: &Registers,
    hints: Hints,
) -> Method {
    let (left_fills, right_fills) = (walk::fills(&sides.left).0, walk::fills(&sides.right).0);
    if kind == JoinKind::Full {
        return Method::Hash;
    }
    if !node_reads(&sides.right).is_disjoint(&left_fills) {
        return Method::Loop;
    }
    if wants_seek(&sides.right) && found_by_seek(&sides.right, conjuncts).is_some() {
        return Method::Loop;
    }
    let has_key = conjuncts.iter().any(|c| is_equi(c, &left_fills, &right_fills, all));
    if let Some(method) = hints.method {
        return if method == Method::Hash && !has_key { Method::Loop } else { method };
    }
    let (left, right) = (estimate(&sides.left), estimate(&sides.right));
    let by_loop = match found_by_seek(&sides.right, conjuncts) {
        Some(each) => left.rows * each,
        // Estimates may be far off: a hash table never costs much more than the best method.
        None if has_key => return Method::Hash,
        // A semi-join's right side stops at its first match.
        None if matches!(kind, JoinKind::Semi | JoinKind::Anti) => left.rows * right.cost() * 0.5,
        None => left.rows * right.cost(),
    };
    let by_hash = if has_key {
        estimate::hash_cost(left.rows, right.rows) + right.cost()
    } else {
        estimate::product_cost(left.rows, right.rows) + right.cost()
    };
    if by_loop <= by_hash { Method::Loop } else { Method::Hash }
}

/// Returns whether a hint requests a seek that the input's own predicates do not allow.
fn wants_seek(node: &Node) -> bool {
    match node {
        Node::Scan(scan) => !seek::takes_hinted_path(scan),
        Node::Filter(inner) => wants_seek(&inner.0),
        Node::Compute(inner) => wants_seek(&inner.0),
        _ => false,
    }
}

/// Returns the cost of finding the matches of one left row through an index of the right side.
pub(crate) fn found_by_seek(node: &Node, conjuncts: &[Expr]) -> Option<f64> {
    match node {
        Node::Scan(scan) => {
            let best = seek::best(scan, conjuncts)?;
            (best.equal > 0).then(|| estimate::seek_cost(scan, &best))
        }
        Node::Filter(inner) => found_by_seek(&inner.0, conjuncts),
        Node::Compute(inner) => found_by_seek(&inner.0, conjuncts),
        _ => None,
    }
}

/// Joins two inputs by a method.
pub(crate) fn join(
    kind: JoinKind,
    sides: Sides,
    conjuncts: Vec<Expr>,
    outer: &Registers,
    all: &Registers,
    method: Method,
) -> Node {
    let Sides { left, right } = sides;
    let (left_live, right_live) = (walk::live(&left), walk::live(&right));
    // `unordered.rs` sets it once the tree is complete.
    let any_order = false;
    if method == Method::Loop {
        let mut right = push_more(right, conjuncts);
        if let Node::Scan(scan) = &mut right {
            drop_carried(scan, &left);
        }
        let (method, on) = (JoinMethod::Loop, None);
        let join = Join { kind, method, left, right, on, left_live, right_live, any_order };
        return Node::Join(Box::new(join));
    }
    let (left_fills, mut own) = (walk::fills(&left).0, walk::fills(&right).0);
    let mut keys = Vec::new();
    let mut rest = Vec::new();
    for conjunct in conjuncts {
        match equi(conjunct, &left_fills, &own, all) {
            Ok(pair) => keys.push(pair),
            Err(conjunct) => rest.push(conjunct),
        }
    }
    own.extend(outer);
    let own = own.difference(&left_fills);
    // A FULL join also returns the right rows without a match.
    let (below, on) =
        if kind == JoinKind::Full { (Vec::new(), rest) } else { part(rest, &own, all) };
    let right = push_more(right, below);
    let (method, on) = (JoinMethod::Hash(keys), join_conjuncts(on));
    let join = Join { kind, method, left, right, on, left_live, right_live, any_order };
    Node::Join(Box::new(join))
}

/// Removes, from the predicate checked on the rows of a seek, conjuncts over the left side's
/// columns that the left rows satisfy already: `a = b AND a = 1` has implied `b = 1`.
fn drop_carried(scan: &mut Scan, left: &Node) {
    let (index, keys) = match &scan.access {
        Access::Seek { index, key } => (*index, key),
        Access::Range { index, prefix, .. } => (*index, prefix),
        Access::Points { index, prefix, .. } => (*index, prefix),
        Access::Full => return,
    };
    let table = table_of(&scan.table);
    let columns = table.indexes[usize::from(index)].keys.iter();
    let mut pairs: Vec<(Register, Expr)> = Vec::new();
    for ((ordinal, _), key) in columns.zip(keys) {
        let ty = &table.columns[usize::from(*ordinal)].ty;
        let same = ty.data_type == key.ty.data_type && ty.collation == key.ty.collation;
        let filled = scan.columns.iter().find(|c| c.0 == *ordinal);
        if let (ExprKind::Column(_), true, Some((_, register))) = (&key.kind, same, filled) {
            pairs.push((*register, key.clone()));
        }
    }
    let Some(residual) = scan.residual.take_if(|_| !pairs.is_empty()) else { return };
    let mut checks = Vec::new();
    split(residual, &mut checks);
    checks.retain(|check| {
        let Some(register) = simplify::restricted(check) else { return true };
        let carried = pairs.iter().find(|(own, _)| *own == register);
        !carried
            .is_some_and(|(_, key)| is_met(left, &simplify::replaced(check, register, key), key))
    });
    scan.residual = join_conjuncts(checks);
}

/// Returns whether the scan that fills a column checks this conjunct: then it is true, or the
/// column is NULL because of an outer join.
fn is_met(node: &Node, conjunct: &Expr, key: &Expr) -> bool {
    let ExprKind::Column(register) = key.kind else { return false };
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        if let Node::Scan(scan) = node
            && scan.columns.iter().any(|c| c.1 == register)
        {
            return scan.predicate.as_ref().is_some_and(|predicate| match &predicate.kind {
                ExprKind::And(list) => list.iter().any(|e| walk::same(e, conjunct)),
                _ => walk::same(predicate, conjunct),
            });
        }
        children::inputs(node, &mut |input| nodes.push(input));
    }
    false
}

/// Adds conjuncts to an input that is already optimized.
pub(crate) fn push_more(node: Node, conjuncts: Vec<Expr>) -> Node {
    if conjuncts.is_empty() {
        return node;
    }
    match node {
        Node::Scan(scan) => Node::Scan(Box::new(seek::choose(*scan, conjuncts))),
        Node::Filter(inner) => {
            let (input, predicate) = *inner;
            let mut merged = Vec::new();
            super::conjunct::split(predicate, &mut merged);
            filter(push_more(input, conjuncts), merged)
        }
        Node::Compute(inner) => {
            let (input, computed) = *inner;
            let made: Registers = computed.iter().map(|c| c.0).collect();
            let (below, above): (Vec<_>, Vec<_>) =
                conjuncts.into_iter().partition(|c| walk::reads(c).is_disjoint(&made));
            let input = push_more(input, below);
            filter(Node::Compute(Box::new((input, computed))), above)
        }
        other => filter(other, conjuncts),
    }
}

/// Returns whether a conjunct is an equality between the two sides.
pub(crate) fn is_equi(
    conjunct: &Expr,
    left: &Registers,
    right: &Registers,
    all: &Registers,
) -> bool {
    let ExprKind::Compare(CompareOp::Equal, _, pair) = &conjunct.kind else { return false };
    let of = |e: &Expr| walk::reads(e).intersection(all);
    let (a, b) = (of(&pair.0), of(&pair.1));
    if a.is_empty() || b.is_empty() || walk::has_subquery(conjunct) {
        return false;
    }
    (a.is_subset(left) && b.is_subset(right)) || (b.is_subset(left) && a.is_subset(right))
}

/// Splits `left = right` if one side reads only the left input and the other only the right one.
fn equi(
    conjunct: Expr,
    left: &Registers,
    right: &Registers,
    all: &Registers,
) -> Result<(Expr, Expr), Expr> {
    if !is_equi(&conjunct, left, right, all) {
        return Err(conjunct);
    }
    let ExprKind::Compare(_, collation, pair) = conjunct.kind else { return Err(conjunct) };
    let (mut a, mut b) = *pair;
    a.ty.collation = collation;
    b.ty.collation = collation;
    let first_is_left = walk::reads(&a).intersection(all).is_subset(left);
    Ok(if first_is_left { (a, b) } else { (b, a) })
}
