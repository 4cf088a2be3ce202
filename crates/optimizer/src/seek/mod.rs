//! Chooses the index by which a table is read, from the conjuncts of its predicate.
//!
//! `column = key` on all columns of a hash index, or on a prefix of a range index, is a seek; a
//! comparison of the next column of a range index bounds it. If the column is converted to the type
//! of the other side (an `int` column and a `bigint` parameter), the key is converted to the
//! column's type instead, NULL if it does not fit, and the comparison is still checked on the row.
//! A bound is rounded (`round.rs`) if both sides are exact numbers or dates.

mod points;
mod round;

use smallvec::SmallVec;
use types::value::ColumnType;
use types::{Mode, Value};

use super::conjunct::{join_conjuncts, split};
use catalog::{IndexDef, IndexFilter, IndexKind, TableDef, Test};
use plan::children;
use plan::expr::{CompareOp, Conversion, Expr, ExprKind};
use plan::query::{Access, Node, Path, Scan, TableSource, Whole};
use plan::statement::{Bound, table_of};
use plan::walk::{self, Registers};
use plan::watch::root_of;

/// A comparison of a column with a value known when the scan is opened ("search argument").
struct Sarg {
    /// Index of its conjunct.
    conjunct: usize,
    /// Ordinal of the column.
    column: u16,
    /// Operator, with the column on the left.
    op: CompareOp,
    /// The other side, converted to the column's type.
    key: Expr,
    /// Whether the key is compared as the column is stored: a seek returns no row too many.
    exact: bool,
    /// Whether the key, as the bound of a range, misses no row.
    bounds: bool,
    /// Whether the seek replaces the whole conjunct, so that nothing is left to check.
    whole: bool,
}

/// The best index for a scan, with its keys.
pub(crate) struct Best {
    pub index: usize,
    /// Search arguments for the equal key columns, in key order.
    equals: Vec<usize>,
    lower: Option<usize>,
    upper: Option<usize>,
    /// Number of equal key columns.
    pub equal: usize,
    /// Whether at most one row can match.
    pub unique: bool,
}

/// Sets the access path of a scan, and the rest of its predicate.
pub(crate) fn choose(mut scan: Scan, conjuncts: Vec<Expr>) -> Scan {
    let mut conjuncts = conjuncts;
    if let Some(predicate) = scan.predicate.take() {
        split(predicate, &mut conjuncts);
    }
    scan.access = Access::Full;
    let sargs = sargs(&scan, &conjuncts);
    let table = std::sync::Arc::clone(table_of(&scan.table));
    let best = best_of(&table, &sargs, scan.hints.path);
    let several = points::find(&scan, &conjuncts, &sargs, best.as_ref());
    let mut consumed = SmallVec::<[usize; 4]>::new();
    match best {
        _ if several.is_some() => {
            if let Some(several) = several {
                scan.access = several.access(&sargs, &mut consumed);
            }
        }
        Some(best) => scan.access = access(&table, &best, &sargs, &mut consumed),
        None if !matches!(scan.table, TableSource::Trigger(..)) => {
            scan.access = all_rows(&table, scan.hints.path);
        }
        None => {}
    }
    if consumed.is_empty() {
        scan.residual = join_conjuncts(conjuncts);
        scan.predicate.clone_from(&scan.residual);
        return scan;
    }
    scan.predicate = join_conjuncts(conjuncts.clone());
    let rest = conjuncts.into_iter().enumerate().filter(|(i, _)| !consumed.contains(i));
    scan.residual = join_conjuncts(rest.map(|(_, c)| c).collect());
    scan
}

/// Returns the access to all rows: in the order of a hinted index, or of the clustered index of an
/// ordinary table.
fn all_rows(table: &TableDef, path: Path) -> Access {
    let whole = |index| Access::Range {
        index,
        prefix: Vec::new(),
        lower: None,
        upper: None,
        backward: false,
    };
    if let Path::Index(index) = path {
        let hinted = &table.indexes[usize::from(index)];
        if hinted.kind == IndexKind::Range && hinted.filter.is_none() {
            return whole(index);
        }
    }
    let clustered = table.indexes.iter().position(|i| i.clustered && i.kind == IndexKind::Range);
    match clustered.and_then(|index| u16::try_from(index).ok()) {
        Some(index) if !table.memory_optimized => whole(index),
        _ => Access::Full,
    }
}

/// Returns whether the scans of a statement's tree follow their hints.
pub fn takes_hinted_paths(level: super::Level, bound: &Bound) -> bool {
    let Some(root) = root_of(bound).filter(|_| level == super::Level::Full) else {
        return true;
    };
    let mut nodes = vec![root];
    while let Some(node) = nodes.pop() {
        if matches!(node, Node::Scan(scan) if !takes_hinted_path(scan)) {
            return false;
        }
        children::inputs(node, &mut |input| nodes.push(input));
    }
    true
}

/// Returns whether a scan follows its hint.
pub(crate) fn takes_hinted_path(scan: &Scan) -> bool {
    let (taken, seeks) = match &scan.access {
        Access::Full => (None, false),
        Access::Seek { index, .. } | Access::Points { index, .. } => (Some(*index), true),
        Access::Range { index, prefix, lower, upper, .. } => {
            (Some(*index), !prefix.is_empty() || lower.is_some() || upper.is_some())
        }
    };
    match scan.hints.path {
        Path::Any | Path::Scan => true,
        // A hash index contains all rows of the table.
        Path::Index(index) => {
            let hinted = &table_of(&scan.table).indexes[usize::from(index)];
            taken == Some(index) || hinted.kind == IndexKind::Hash && hinted.filter.is_none()
        }
        Path::Seek(index) => seeks && (index.is_none() || index == taken),
    }
}

/// Finds the best index, leaving the scan unchanged.
pub(crate) fn best(scan: &Scan, conjuncts: &[Expr]) -> Option<Best> {
    let mut all = conjuncts.to_vec();
    if let Some(predicate) = scan.predicate.clone() {
        split(predicate, &mut all);
    }
    best_of(table_of(&scan.table), &sargs(scan, &all), scan.hints.path)
}

fn best_of(table: &TableDef, sargs: &[Sarg], path: Path) -> Option<Best> {
    let is_allowed = |place: usize| match path {
        Path::Any | Path::Seek(None) => true,
        Path::Scan => false,
        Path::Index(index) | Path::Seek(Some(index)) => usize::from(index) == place,
    };
    let candidates = table.indexes.iter().enumerate().filter(|(i, _)| is_allowed(*i));
    let candidates = candidates.filter_map(|(i, index)| candidate(i, index, sargs));
    candidates.max_by_key(|b| {
        let bounds = usize::from(b.lower.is_some()) + usize::from(b.upper.is_some());
        let hash = table.indexes[b.index].kind == IndexKind::Hash;
        (b.unique, b.equal, bounds, hash, std::cmp::Reverse(b.index))
    })
}

/// Returns whether a filtered index contains every row that satisfies the comparisons.
fn implies(sargs: &[Sarg], filter: &IndexFilter) -> bool {
    filter.tests.iter().all(|test| {
        sargs.iter().filter(|sarg| sarg.column == test.column).any(|sarg| match &test.test {
            Test::Null => false,
            // A comparison with NULL is never true.
            Test::NotNull => true,
            Test::Compare(op, constant, _) => {
                sarg.op == *op && sarg.exact && is_constant(&sarg.key, constant)
            }
            Test::In(list, _) => {
                sarg.op == CompareOp::Equal
                    && sarg.exact
                    && list.iter().any(|constant| is_constant(&sarg.key, constant))
            }
        })
    })
}

fn is_constant(key: &Expr, constant: &Value) -> bool {
    matches!(&key.kind, ExprKind::Constant(value) if value == constant)
}

fn candidate(place: usize, index: &IndexDef, sargs: &[Sarg]) -> Option<Best> {
    if index.filter.as_ref().is_some_and(|filter| !implies(sargs, filter)) {
        return None;
    }
    let mut equals = Vec::new();
    for &(column, _) in &index.keys {
        // An exact comparison is preferred: nothing is left to check on the row.
        let of = |exact| {
            let fits =
                |s: &Sarg| s.column == column && s.op == CompareOp::Equal && s.exact == exact;
            sargs.iter().position(fits)
        };
        match of(true).or_else(|| of(false)) {
            Some(sarg) => equals.push(sarg),
            None => break,
        }
    }
    let equal = equals.len();
    let whole = equal == index.keys.len();
    if index.kind == IndexKind::Hash && !whole {
        return None;
    }
    let (mut lower, mut upper) = (None, None);
    if !whole {
        let (column, descending) = index.keys[equal];
        for (i, sarg) in sargs.iter().enumerate().filter(|(_, s)| s.column == column && s.bounds) {
            let low = match sarg.op {
                CompareOp::Greater | CompareOp::GreaterOrEqual => true,
                CompareOp::Less | CompareOp::LessOrEqual => false,
                CompareOp::Equal | CompareOp::NotEqual => continue,
            };
            // A descending column is stored inverted, so its bounds are swapped.
            if low == descending { upper = upper.or(Some(i)) } else { lower = lower.or(Some(i)) }
        }
    }
    if equal == 0 && lower.is_none() && upper.is_none() {
        return None;
    }
    Some(Best { index: place, equals, lower, upper, equal, unique: whole && index.unique })
}

fn access(
    table: &TableDef,
    best: &Best,
    sargs: &[Sarg],
    consumed: &mut SmallVec<[usize; 4]>,
) -> Access {
    let mut take = |place: usize| {
        let sarg = &sargs[place];
        if sarg.exact && sarg.whole {
            consumed.push(sarg.conjunct);
        }
        sarg.key.clone()
    };
    let index = u16::try_from(best.index).unwrap_or(u16::MAX);
    let key: Vec<Expr> = best.equals.iter().map(|&s| take(s)).collect();
    if best.equal == table.indexes[best.index].keys.len() {
        return Access::Seek { index, key };
    }
    let inclusive =
        |s: usize| matches!(sargs[s].op, CompareOp::GreaterOrEqual | CompareOp::LessOrEqual);
    let lower = best.lower.map(|s| (take(s), inclusive(s)));
    let upper = best.upper.map(|s| (take(s), inclusive(s)));
    Access::Range { index, prefix: key, lower, upper, backward: false }
}

/// Returns the comparisons of the scan's columns with values known when it is opened.
fn sargs(scan: &Scan, conjuncts: &[Expr]) -> Vec<Sarg> {
    let own: Registers = scan.columns.iter().map(|c| c.1).collect();
    let table = table_of(&scan.table);
    let mut found = Vec::new();
    for (i, conjunct) in conjuncts.iter().enumerate() {
        if let ExprKind::InList(collation, operand, list) = &conjunct.kind {
            list_sargs((i, operand, list), *collation, scan, &own, &mut found);
        }
        let ExprKind::Compare(op, collation, pair) = &conjunct.kind else { continue };
        let sides = [(&pair.0, &pair.1, *op), (&pair.1, &pair.0, op.swapped())];
        for (column, key, op) in sides {
            let Some((ordinal, exact)) = column_of(scan, column) else { continue };
            if !walk::reads(key).is_disjoint(&own) || op == CompareOp::NotEqual {
                continue;
            }
            let ty = &table.columns[usize::from(ordinal)].ty;
            if ty.data_type.is_string() && ty.collation != *collation {
                continue;
            }
            let (op, key) = match op {
                _ if exact => (op, key.clone()),
                CompareOp::Equal => (op, tried(key, ty)),
                _ => {
                    let is_lower = matches!(op, CompareOp::Greater | CompareOp::GreaterOrEqual);
                    let end = if is_lower { round::End::Lower } else { round::End::Upper };
                    let Some(key) = round::bound(end, ty, &column.ty, key) else { continue };
                    (op.or_equal(), key)
                }
            };
            let bounds = exact || op != CompareOp::Equal;
            found.push(Sarg { conjunct: i, column: ordinal, op, key, exact, bounds, whole: true });
        }
    }
    found
}

/// Converts a key to the type of a column; NULL if it does not fit.
fn tried(key: &Expr, ty: &ColumnType) -> Expr {
    let conversion = Conversion { operand: key.clone(), style: None, mode: Mode::Try };
    Expr { kind: ExprKind::Convert(Box::new(conversion)), ty: *ty }
}

/// `column IN (key)` is a comparison with the key. IN with a longer list becomes a range from its
/// minimum to its maximum, but only for a hint that requests a seek; otherwise a scan is better.
fn list_sargs(
    (conjunct, operand, list): (usize, &Expr, &[Expr]),
    collation: types::Collation,
    scan: &Scan,
    own: &Registers,
    found: &mut Vec<Sarg>,
) {
    let Some((column, true)) = column_of(scan, operand) else { return };
    let ty = &table_of(&scan.table).columns[usize::from(column)].ty;
    let is_other = ty.data_type.is_string() && ty.collation != collation;
    if is_other || list.iter().any(|key| !walk::reads(key).is_disjoint(own)) {
        return;
    }
    if let [key] = list {
        let op = CompareOp::Equal;
        let (exact, bounds, whole) = (true, true, true);
        found.push(Sarg { conjunct, column, op, key: key.clone(), exact, bounds, whole });
        return;
    }
    let ends = [("LEAST", CompareOp::GreaterOrEqual), ("GREATEST", CompareOp::LessOrEqual)];
    for (name, op) in ends.into_iter().filter(|_| matches!(scan.hints.path, Path::Seek(_))) {
        let Some(function) = functions::find(name) else { return };
        let ty = ColumnType { nullable: true, ..*ty };
        let key = Expr { kind: ExprKind::Call(function, list.into()), ty };
        let (exact, bounds, whole) = (true, true, false);
        found.push(Sarg { conjunct, column, op, key, exact, bounds, whole });
    }
}

/// Returns the column of an expression, and whether it is compared without a conversion.
fn column_of(scan: &Scan, expr: &Expr) -> Option<(u16, bool)> {
    match &expr.kind {
        ExprKind::Column(register) => {
            let (ordinal, _) = scan.columns.iter().find(|c| c.1 == *register)?;
            Some((*ordinal, true))
        }
        ExprKind::Convert(conversion)
            if conversion.mode == Mode::Implicit && conversion.style.is_none() =>
        {
            let (ordinal, exact) = column_of(scan, &conversion.operand)?;
            exact.then_some((ordinal, false))
        }
        _ => None,
    }
}

/// Returns the collation in which an index distinguishes values of a type.
pub(crate) fn key_collation(ty: &ColumnType) -> types::Collation {
    if ty.data_type.is_string() { ty.collation } else { types::Collation::default() }
}

/// Returns the scan of a statement that reads one row by a whole unique key and evaluates no
/// subquery on the way.
pub fn is_point(node: &Node) -> Option<&Scan> {
    let Node::Scan(scan) = node else { return None };
    let TableSource::Table(table) = &scan.table else { return None };
    let Access::Seek { index, key } = &scan.access else { return None };
    let unique = table.indexes[usize::from(*index)].unique;
    let plain = scan.residual.iter().chain(key).all(|e| !walk::has_subquery(e));
    let hints = scan.hints;
    let reads_only = !hints.exclusive && !hints.read_past && !hints.serializable;
    let reads_only = reads_only && hints.whole == Whole::No && hints.sample.is_none();
    (unique && plain && reads_only).then_some(scan)
}
