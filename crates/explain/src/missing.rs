//! Missing indexes: for each scan of a whole table whose predicate an index would serve, that index, as
//! `MissingIndexes` of a plan and `sys.dm_db_missing_index_details` show it.
//!
//! Only what a plan says is used, so nothing is kept while statements are compiled or run. A scan is
//! left out if an index begins with one of the columns already: then the optimizer did not want it.
//! Joins are not looked at: a condition of two tables is no predicate of either.

use std::sync::Arc;

use ::catalog::{Catalog, TableDef};
use ::optimizer::estimate;
use ::plan::children;
use ::plan::expr::{CompareOp, Expr, ExprKind};
use ::plan::query::{Access, Node, Scan, TableSource};
use ::plan::statement::{Bound, InsertSource};
use ::plan::walk;

/// An index that a statement would use.
#[derive(Clone, Debug)]
pub struct MissingIndex {
    /// Name of the database.
    pub database: String,
    /// The table that it would be on.
    pub table: Arc<TableDef>,
    /// Ordinals of the columns that are compared with `=`, in the order of the table.
    pub equality: Vec<u16>,
    /// Ordinals of the columns that are compared with a range.
    pub inequality: Vec<u16>,
    /// Ordinals of the other columns that the statement reads.
    pub included: Vec<u16>,
    /// How much of the statement's cost the index would save, in percent.
    pub impact: f64,
    /// The cost of the statement's operators.
    pub cost: f64,
}

impl MissingIndex {
    /// Returns the columns with SQL Server's word for their use, without the uses that have none.
    pub fn usages(&self) -> impl Iterator<Item = (&'static str, &[u16])> {
        let all = [
            ("EQUALITY", &self.equality),
            ("INEQUALITY", &self.inequality),
            ("INCLUDE", &self.included),
        ];
        all.into_iter()
            .map(|(usage, columns)| (usage, columns.as_slice()))
            .filter(|u| !u.1.is_empty())
    }
}

/// The least saving that is shown, in percent.
const IMPACT_MIN: f64 = 1.0;

/// Returns the indexes that a bound statement would use, one for each scan.
pub fn missing_indexes(catalog: &Catalog, bound: &Bound) -> Vec<MissingIndex> {
    let Some(root) = root_of(bound) else { return Vec::new() };
    let cost = estimate(root).cost();
    let mut found: Vec<MissingIndex> = Vec::new();
    let mut nodes = vec![root];
    while let Some(node) = nodes.pop() {
        if let Node::Scan(scan) = node
            && let Some(missing) = of_scan(catalog, (node, scan), cost)
        {
            found.push(missing);
        }
        children::inputs(node, &mut |input| nodes.push(input));
    }
    found
}

/// Returns the topmost operator of a statement that reads tables.
fn root_of(bound: &Bound) -> Option<&Node> {
    match bound {
        Bound::Select(select) => Some(&select.query.root),
        Bound::SelectAssign(select) => Some(&select.root),
        Bound::SelectInto(into) => Some(&into.query.root),
        Bound::Insert(insert) => match &insert.source {
            InsertSource::Query(query) => Some(&query.root),
            InsertSource::Default => None,
        },
        Bound::Update(update) => Some(&update.root),
        Bound::Delete(delete) => Some(&delete.root),
        Bound::Instead(instead) => Some(&instead.root),
        Bound::Merge(merge) => Some(&merge.root),
        Bound::Truncate(_) | Bound::Scalar(_) => None,
    }
}

fn of_scan(catalog: &Catalog, (node, scan): (&Node, &Scan), cost: f64) -> Option<MissingIndex> {
    let TableSource::Table(table) = &scan.table else { return None };
    // Temporary tables have negative ids.
    if table.id < 0 || table.external.is_some() || !reads_all(scan) {
        return None;
    }
    let (mut equality, mut inequality) = (Vec::new(), Vec::new());
    for part in conjuncts(scan.predicate.as_ref()?) {
        match wanted(part, scan) {
            Some((column, true)) => equality.push(column),
            Some((column, false)) => inequality.push(column),
            None => {}
        }
    }
    for columns in [&mut equality, &mut inequality] {
        columns.sort_unstable();
        columns.dedup();
    }
    inequality.retain(|column| !equality.contains(column));
    let leads = |column: u16| {
        let begins =
            |index: &::catalog::IndexDef| index.keys.first().is_some_and(|k| k.0 == column);
        table.indexes.iter().any(begins)
    };
    let is_served = match equality.is_empty() {
        true => inequality.iter().any(|column| leads(*column)),
        false => equality.iter().any(|column| leads(*column)),
    };
    if is_served || equality.is_empty() && inequality.is_empty() {
        return None;
    }
    let is_key = |column: &u16| equality.contains(column) || inequality.contains(column);
    let mut included: Vec<u16> = scan.columns.iter().map(|(column, _)| *column).collect();
    included.retain(|column| !is_key(column));
    included.sort_unstable();
    included.dedup();
    let impact = saved(node, scan, cost);
    let database = catalog.database_by_id(table.database_id)?.name.clone();
    (impact >= IMPACT_MIN).then(|| MissingIndex {
        database,
        table: Arc::clone(table),
        equality,
        inequality,
        included,
        impact,
        cost,
    })
}

/// Returns whether a scan reads all rows of its table.
fn reads_all(scan: &Scan) -> bool {
    match &scan.access {
        Access::Full => true,
        Access::Range { prefix, lower, upper, .. } => {
            prefix.is_empty() && lower.is_none() && upper.is_none()
        }
        Access::Seek { .. } | Access::Points { .. } => false,
    }
}

/// Returns the percentage of a statement's cost that a seek would save: of the scan, the part of the
/// rows that the predicate rejects.
fn saved(node: &Node, scan: &Scan, cost: f64) -> f64 {
    let whole = Node::Scan(Box::new(Scan { predicate: None, residual: None, ..scan.clone() }));
    let (all, kept) = (estimate(&whole), estimate(node));
    if cost <= 0.0 || all.rows <= 0.0 {
        return 0.0;
    }
    let rejected = 1.0 - (kept.rows / all.rows).clamp(0.0, 1.0);
    (100.0 * rejected * kept.cost() / cost).clamp(0.0, 100.0)
}

/// Returns the operands of a conjunction, or the expression itself.
fn conjuncts(predicate: &Expr) -> &[Expr] {
    match &predicate.kind {
        ExprKind::And(parts) => parts,
        _ => std::slice::from_ref(predicate),
    }
}

/// Returns the column of the scan that a condition looks for, and whether it is an equality; `None` if
/// an index would not help.
fn wanted(condition: &Expr, scan: &Scan) -> Option<(u16, bool)> {
    let column = |expr: &Expr| match &expr.kind {
        ExprKind::Column(register) => {
            scan.columns.iter().find(|(_, other)| other == register).map(|(column, _)| *column)
        }
        _ => None,
    };
    // The value may be of anything but this table.
    let is_value = |expr: &Expr| {
        let reads = walk::reads(expr);
        scan.columns.iter().all(|(_, register)| !reads.contains(*register))
    };
    match &condition.kind {
        ExprKind::Compare(op, _, sides) => {
            let (left, right) = &**sides;
            let found = match (column(left), column(right)) {
                (Some(column), _) if is_value(right) => column,
                (_, Some(column)) if is_value(left) => column,
                _ => return None,
            };
            match op {
                CompareOp::Equal => Some((found, true)),
                CompareOp::NotEqual => None,
                CompareOp::Less
                | CompareOp::LessOrEqual
                | CompareOp::Greater
                | CompareOp::GreaterOrEqual => Some((found, false)),
            }
        }
        ExprKind::IsNull(operand) => Some((column(operand)?, true)),
        ExprKind::InList(_, operand, list) => {
            list.iter().all(is_value).then(|| column(operand)).flatten().map(|found| (found, true))
        }
        _ => None,
    }
}
