//! `Uses`: the indexes that a plan uses, for `sys.dm_db_index_usage_stats`.
//!
//! As in SQL Server, each operator of a plan that seeks in an index, scans it or changes it is one use
//! for each execution of the plan, no matter how often the operator is opened. So an execution
//! counts from this list, and no operator counts anything.

use std::sync::Arc;

use storage::{IndexId, IndexUse, IndexUses};

use crate::children;
use crate::expr::{Expr, ExprKind};
use crate::query::{Access, Node, Scan, TableSource};
use crate::statement::{Bound, Insert, InsertSource, MergeAction, NewRow, OutputTarget, SetRow};
use crate::walk;
use catalog::TableDef;

/// The indexes that a plan uses, with how it uses each. Tables of one session, table variables and
/// the rows of triggers are not counted.
#[derive(Debug, Default)]
pub struct Uses(Vec<(Arc<IndexUses>, IndexUse)>);

impl Uses {
    /// Finds the indexes that a plan uses.
    pub fn of(bound: &Bound) -> Self {
        let mut uses = Self::default();
        match bound {
            Bound::Select(select) => {
                uses.read(&select.query.root);
                select.query.output.iter().for_each(|column| uses.subqueries(&column.expr));
            }
            Bound::SelectAssign(select) => {
                uses.read(&select.root);
                select.assignments.iter().for_each(|(_, expr)| uses.subqueries(expr));
            }
            Bound::SelectInto(into) => {
                uses.read(&into.query.root);
                into.query.output.iter().for_each(|column| uses.subqueries(&column.expr));
            }
            Bound::Insert(insert) => uses.insert(insert),
            Bound::Update(update) => {
                uses.read(&update.root);
                uses.update(&update.target, &update.set);
            }
            Bound::Delete(delete) => {
                uses.read(&delete.root);
                uses.write(&delete.target, &|_| true);
            }
            Bound::Instead(instead) => uses.read(&instead.root),
            Bound::Merge(merge) => {
                uses.read(&merge.root);
                for clause in &merge.clauses {
                    match &clause.action {
                        MergeAction::Update(set) => uses.update(&merge.target, set),
                        MergeAction::Insert(insert) => {
                            uses.write(&merge.target, &|_| true);
                            uses.foreign(&insert.row);
                        }
                        MergeAction::Delete => uses.write(&merge.target, &|_| true),
                    }
                }
            }
            Bound::Truncate(_) => {}
            Bound::Scalar(scalar) => uses.subqueries(&scalar.expr),
        }
        bound.output().iter().for_each(|clause| match &clause.target {
            OutputTarget::Table(insert) => uses.insert(insert),
            OutputTarget::Insert(outer) => uses.insert(&outer.insert),
            OutputTarget::Client(_) | OutputTarget::Triggers(_) => {}
        });
        uses
    }

    /// Finds the indexes that an INSERT of rows from elsewhere uses.
    pub fn of_insert(insert: &Insert) -> Self {
        let mut uses = Self::default();
        uses.insert(insert);
        uses
    }

    /// Counts an execution that began at `now`, in ticks.
    #[inline]
    pub fn count(&self, now: u64) {
        for (index, kind) in &self.0 {
            index.count(*kind, now);
        }
    }

    fn add(&mut self, table: &TableDef, index: i32, kind: IndexUse) {
        if table.id > 0 {
            let index = IndexId(index.unsigned_abs());
            self.0.push((table.rows.data.uses().of(index), kind));
        }
    }

    /// Adds the scans of a tree of operators, and those of the subqueries in it.
    fn read(&mut self, root: &Node) {
        let mut nodes = vec![root];
        while let Some(node) = nodes.pop() {
            if let Node::Scan(scan) = node {
                self.scan(scan);
            }
            children::expressions(node, &mut |expr| self.subqueries(expr));
            children::inputs(node, &mut |input| nodes.push(input));
        }
    }

    /// Adds the scans of an expression's subqueries, nested ones too, which `visit` enters.
    fn subqueries(&mut self, expr: &Expr) {
        walk::visit(expr, &mut |expr| match &expr.kind {
            ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => self.scans(&query.root),
            ExprKind::Quantified(quantified) => self.scans(&quantified.query.root),
            _ => {}
        });
    }

    fn scans(&mut self, root: &Node) {
        let mut nodes = vec![root];
        while let Some(node) = nodes.pop() {
            if let Node::Scan(scan) = node {
                self.scan(scan);
            }
            children::inputs(node, &mut |input| nodes.push(input));
        }
    }

    fn scan(&mut self, scan: &Scan) {
        let TableSource::Table(table) = &scan.table else { return };
        let (index, kind) = match &scan.access {
            Access::Full => (read_whole(scan, table), IndexUse::Scan),
            Access::Seek { index, .. } | Access::Points { index, .. } => {
                (table.indexes[usize::from(*index)].id, IndexUse::Seek)
            }
            Access::Range { index, prefix, lower, upper, .. } => {
                let is_whole = prefix.is_empty() && lower.is_none() && upper.is_none();
                let kind = if is_whole { IndexUse::Scan } else { IndexUse::Seek };
                (table.indexes[usize::from(*index)].id, kind)
            }
        };
        self.add(table, index, kind);
    }

    fn insert(&mut self, insert: &Insert) {
        if let InsertSource::Query(query) = &insert.source {
            self.read(&query.root);
        }
        self.write(&insert.target, &|_| true);
        self.foreign(&insert.row);
    }

    fn update(&mut self, target: &TableSource, set: &SetRow) {
        self.write(target, &|column| set.changed.contains(&column));
        self.foreign(&set.row);
    }

    /// Adds the indexes of a table that a change of some columns concerns: the heap or the clustered
    /// index, and others that have one of the columns.
    fn write(&mut self, target: &TableSource, changes: &dyn Fn(u16) -> bool) {
        let TableSource::Table(table) = target else { return };
        self.add(table, base_of(table), IndexUse::Update);
        for index in table.indexes.iter().filter(|index| !index.clustered) {
            let keys = index.keys.iter().map(|(column, _)| *column);
            let tested = index.filter.iter().flat_map(|filter| &filter.tests);
            let mut columns =
                keys.chain(index.included.iter().copied()).chain(tested.map(|test| test.column));
            if columns.any(changes) {
                self.add(table, index.id, IndexUse::Update);
            }
        }
        if let Some(index) = &table.column_index
            && index.columns.iter().any(|column| changes(*column))
        {
            self.add(table, index.id, IndexUse::Update);
        }
    }

    /// Adds the look-ups of the rows that a new row refers to.
    fn foreign(&mut self, row: &NewRow) {
        for lookup in &row.foreign {
            let index = lookup.table.indexes[usize::from(lookup.index)].id;
            self.add(&lookup.table, index, IndexUse::Seek);
        }
    }
}

/// Returns the id of the index that a scan of all rows reads, as plans show it: the nonclustered
/// columnstore index that has all columns, else the heap or the clustered index.
fn read_whole(scan: &Scan, table: &TableDef) -> i32 {
    let is_whole = scan.hints.sample.is_none();
    let columns = table.column_index.as_ref().filter(|_| is_whole);
    let covering = columns.filter(|index| index.covers(scan.columns.iter().map(|c| c.0)));
    covering.map_or_else(|| base_of(table), |index| index.id)
}

/// Returns the id of the clustered index, or 0 for a heap.
fn base_of(table: &TableDef) -> i32 {
    let clustered = table.indexes.iter().find(|index| index.clustered).map(|index| index.id);
    clustered.unwrap_or_else(|| i32::from(table.columnstore.is_some()))
}
