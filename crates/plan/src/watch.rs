//! Row counts that a plan was made for: when a table's count is far from them, another plan may be
//! better.

use std::sync::{Arc, OnceLock};

use crate::children;
use crate::query::{Node, TableSource};
use crate::statement::{Bound, InsertSource};
use crate::uses::Uses;
use catalog::TableRows;

/// Factor by which a table must grow or shrink for its plan to be stale.
const FAR: u64 = 10;
/// Tables with fewer rows count as empty.
const ROWS_MIN: u64 = 100;
/// Upper limit of plans stored for one statement, each for other table sizes.
const PLANS_MAX: usize = 8;

/// Tables of a plan with their row counts at bind time.
pub struct Watch(Box<[(Arc<TableRows>, u64)]>);

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(_, rows)| rows)).finish()
    }
}

impl Watch {
    /// Records the tables of a statement; `None` without joins, since only their order depends on
    /// sizes.
    pub fn of(bound: &Bound) -> Option<Self> {
        let root = root_of(bound)?;
        if let Node::Scan(_) | Node::OneRow = root {
            return None;
        }
        let mut joins = false;
        let mut tables = Vec::new();
        let mut nodes = vec![root];
        while let Some(node) = nodes.pop() {
            joins |= matches!(node, Node::Join(_));
            if let Node::Scan(scan) = node
                && let TableSource::Table(table) = &scan.table
            {
                tables.push((Arc::clone(&table.rows), table.rows.data.row_count()));
            }
            children::inputs(node, &mut |input| nodes.push(input));
        }
        joins.then(|| Self(tables.into()))
    }

    /// Returns whether a table now has far more or fewer rows.
    pub fn is_stale(&self) -> bool {
        self.0.iter().any(|(rows, before)| {
            let (now, before) = (rows.data.row_count().max(ROWS_MIN), (*before).max(ROWS_MIN));
            now / FAR >= before || before / FAR >= now
        })
    }
}

/// Returns the operator tree that produces the rows of a statement.
pub fn root_of(bound: &Bound) -> Option<&Node> {
    Some(match bound {
        Bound::Select(select) => &select.query.root,
        Bound::SelectAssign(select) => &select.root,
        Bound::SelectInto(into) => &into.query.root,
        Bound::Insert(insert) => match &insert.source {
            InsertSource::Query(query) => &query.root,
            InsertSource::Default => return None,
        },
        Bound::Update(update) => &update.root,
        Bound::Delete(delete) => &delete.root,
        Bound::Instead(instead) => &instead.root,
        Bound::Merge(merge) => &merge.root,
        Bound::Truncate(_) | Bound::Scalar(_) => return None,
    })
}

/// A plan made later than the first, when the tables had other sizes.
#[derive(Debug)]
pub struct Later {
    plan: Bound,
    watch: Option<Watch>,
    uses: Uses,
    next: OnceLock<Box<Self>>,
}

impl Later {
    /// Stores a plan with the current row counts.
    pub fn new(plan: Bound) -> Self {
        let (watch, uses) = (Watch::of(&plan), Uses::of(&plan));
        Self { plan, watch, uses, next: OnceLock::new() }
    }
}

/// Finds the plan for the tables' current sizes; otherwise the place to store one, if there is
/// room.
pub fn find(mut place: &OnceLock<Box<Later>>) -> Found<'_> {
    for _ in 0..PLANS_MAX {
        let Some(later) = place.get() else { return Found::Room(place) };
        if !later.watch.as_ref().is_some_and(Watch::is_stale) {
            return Found::Plan(&later.plan);
        }
        place = &later.next;
    }
    Found::Full
}

/// Returns the indexes that a plan stored here uses; `None` for another plan.
pub fn uses<'l>(mut place: &'l OnceLock<Box<Later>>, plan: &Bound) -> Option<&'l Uses> {
    while let Some(later) = place.get() {
        if std::ptr::eq(&raw const later.plan, plan) {
            return Some(&later.uses);
        }
        place = &later.next;
    }
    None
}

/// The result of [`find`].
pub enum Found<'l> {
    /// A plan for the current sizes.
    Plan(&'l Bound),
    /// No such plan; one can be stored here.
    Room(&'l OnceLock<Box<Later>>),
    /// No such plan, and no room.
    Full,
}

impl Found<'_> {
    /// Stores a plan where there is room, and returns the plan stored there.
    pub fn keep(place: &OnceLock<Box<Later>>, plan: Bound) -> &Bound {
        &place.get_or_init(|| Box::new(Later::new(plan))).plan
    }
}
