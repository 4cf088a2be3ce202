//! ORDER BY: by an index that has the order, else by a sort.

use super::stream;
use catalog::IndexKind;
use plan::children;
use plan::expr::{Expr, ExprKind};
use plan::query::{Access, JoinKind, Node, Scan, Sort, SortKey};
use plan::same::SameIndex;
use plan::statement::table_of;
use plan::walk::{self, Registers};

/// Sorts a node's rows, unless it can be changed to return them in that order.
pub(crate) fn sort(mut input: Node, keys: Vec<SortKey>, limit: Option<Expr>) -> Node {
    let keys = distinct(keys);
    if keys.is_empty() || provide(&mut input, &keys) {
        return input;
    }
    let live = walk::live(&input);
    Node::Sort(Box::new(Sort { input, keys, limit, live }))
}

/// Removes constants and repeated keys, which do not affect the order.
pub(crate) fn distinct(keys: Vec<SortKey>) -> Vec<SortKey> {
    let mut kept: Vec<SortKey> = Vec::with_capacity(keys.len());
    let mut index = SameIndex::default();
    for key in keys {
        let constant = matches!(key.expr.kind, ExprKind::Constant(_) | ExprKind::Variable(_));
        if !constant && index.find(&key.expr, |place| &kept[place].expr).is_none() {
            index.insert(&key.expr, kept.len());
            kept.push(key);
        }
    }
    kept
}

/// Changes the node to return its rows in the order of the keys, if possible; returns whether it
/// did.
pub(crate) fn provide(node: &mut Node, keys: &[SortKey]) -> bool {
    match node {
        Node::OneRow | Node::Empty => true,
        Node::Filter(inner) => provide(&mut inner.0, keys),
        Node::Distinct(inner) => provide(&mut inner.0, keys),
        Node::Compute(inner) => {
            let made = inner.1.iter().map(|c| c.0).collect();
            keys.iter().all(|k| walk::reads(&k.expr).is_disjoint(&made))
                && provide(&mut inner.0, keys)
        }
        Node::Join(join) if join.kind != JoinKind::Full => {
            let left = walk::fills(&join.left).0;
            let mine = keys.iter().all(|k| walk::reads(&k.expr).is_subset(&left));
            mine && provide(&mut join.left, keys)
        }
        Node::Scan(scan) => provide_scan(scan, keys),
        Node::Aggregate(aggregate) => aggregate.scalar,
        // The input has been sorted for the window, which must stay so.
        Node::Window(window) => stream::gives(window, keys),
        _ => false,
    }
}

/// Returns whether no two rows of a node are equal in all of these registers.
pub(crate) fn is_unique(node: &Node, registers: &Registers) -> bool {
    match node {
        Node::OneRow | Node::Empty => true,
        Node::Scan(scan) => {
            let table = table_of(&scan.table);
            let has = |ordinal: u16| {
                scan.columns.iter().any(|c| c.0 == ordinal && registers.contains(c.1))
            };
            let one = match &scan.access {
                Access::Seek { index, .. } => table.indexes[usize::from(*index)].unique,
                Access::Full | Access::Range { .. } | Access::Points { .. } => false,
            };
            one || table.indexes.iter().any(|i| i.is_key() && i.keys.iter().all(|k| has(k.0)))
        }
        Node::Distinct(inner) => {
            inner.1.iter().all(|e| match e.kind {
                ExprKind::Column(register) => registers.contains(register),
                _ => false,
            }) || is_unique(&inner.0, registers)
        }
        Node::Join(join) => match join.kind {
            JoinKind::Semi | JoinKind::Anti => is_unique(&join.left, registers),
            JoinKind::Inner => {
                is_unique(&join.left, registers) && is_unique(&join.right, registers)
            }
            // Left rows without a match have the same NULLs on the right side.
            JoinKind::Left => is_unique(&join.left, registers) && is_unique(&join.right, registers),
            JoinKind::Full => false,
        },
        Node::Aggregate(aggregate) => {
            let plain = aggregate.sets.len() <= 1;
            plain && aggregate.keys.iter().all(|k| registers.contains(k.1))
        }
        _ => children::passed(node).is_some_and(|input| is_unique(input, registers)),
    }
}

fn provide_scan(scan: &mut Scan, keys: &[SortKey]) -> bool {
    let table = std::sync::Arc::clone(table_of(&scan.table));
    let ordinals: Option<Vec<(u16, bool)>> = keys
        .iter()
        .map(|k| {
            let ExprKind::Column(register) = k.expr.kind else { return None };
            let (ordinal, _) = scan.columns.iter().find(|c| c.1 == register)?;
            Some((*ordinal, k.descending))
        })
        .collect();
    let Some(wanted) = ordinals else { return false };
    // Returns whether index columns after the first `skip` give the order, and if so whether
    // backwards.
    let direction = |index: usize, skip: usize| -> Option<bool> {
        let index = &table.indexes[index];
        if index.kind != IndexKind::Range || index.filter.is_some() {
            return None;
        }
        let rest = index.keys.get(skip..)?;
        if wanted.len() > rest.len() && !index.unique {
            return None;
        }
        let pairs = || rest.iter().zip(&wanted);
        let along =
            |flip: bool| pairs().all(|(have, want)| have.0 == want.0 && (have.1 != want.1) == flip);
        if along(false) {
            return Some(false);
        }
        along(true).then_some(true)
    };
    match &mut scan.access {
        Access::Seek { index, .. } => table.indexes[usize::from(*index)].unique,
        Access::Range { index, prefix, lower, upper, backward } => {
            if let Some(back) = direction(usize::from(*index), prefix.len()) {
                *backward = back;
                return true;
            }
            if prefix.is_empty() && lower.is_none() && upper.is_none() {
                return provide_full(scan, &table, &direction);
            }
            false
        }
        // The seeks are made in key order.
        Access::Points { index, prefix, .. } => {
            direction(usize::from(*index), prefix.len()) == Some(false)
        }
        Access::Full => provide_full(scan, &table, &direction),
    }
}

fn provide_full(
    scan: &mut Scan,
    table: &catalog::TableDef,
    direction: &dyn Fn(usize, usize) -> Option<bool>,
) -> bool {
    let found = (0..table.indexes.len()).find_map(|i| Some((i, direction(i, 0)?)));
    let Some((index, backward)) = found else { return false };
    scan.access = Access::Range {
        index: u16::try_from(index).unwrap_or(u16::MAX),
        prefix: Vec::new(),
        lower: None,
        upper: None,
        backward,
    };
    true
}
