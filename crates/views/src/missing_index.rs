//! `sys.dm_db_missing_index_details`, `_groups`, `_group_stats` and `_columns`: indexes that the
//! statements of the plan cache would use.
//!
//! They are found in the cached plans when a view is read, with the executions that are counted for
//! each statement anyway: nothing is kept, and compiling and running cost nothing more. So a
//! statement that leaves the cache takes its indexes along. Handles are hashes of what an index is on,
//! so that the views agree about them.

use std::collections::{BTreeMap, HashMap};

use explain::{MissingIndex, missing_indexes};
use plan::stats::{planned, statements};
use session::instance::datetime_of;
use types::Value;

use metadata::column::{
    BIGINT, Column, DATETIME, FLOAT, INT, SMALLINT, SYSNAME, ascii, big, col, int, nv, opt, rows,
    shape, small, text, unknown, vc,
};
use metadata::{RowSet, Rows, Scope, SystemView};

/// The views of this file.
pub(crate) static VIEWS: &[&SystemView] = &[&DETAILS, &GROUPS, &GROUP_STATS, &COLUMNS];

/// The most indexes that are shown, as in SQL Server.
const GROUPS_MAX: usize = 600;

/// A missing index, with the statements that would use it.
struct Group {
    /// `index_handle` and `group_handle`: a group has one index.
    handle: i32,
    index: MissingIndex,
    /// `unique_compiles`: the number of plans.
    plans: u64,
    /// `user_seeks`: executions of these plans.
    seeks: u64,
    /// When the last execution began, in ticks.
    last: u64,
    /// Sums of cost and impact, weighted by executions.
    cost: f64,
    impact: f64,
}

impl Group {
    fn average(&self, sum: f64) -> Value {
        Value::Float(sum / count(self.seeks.max(1)))
    }

    /// Returns the columns of a use, such as `[a], [b]`; NULL if there are none.
    fn columns(&self, ordinals: &[u16]) -> Value {
        let name = |ordinal: &u16| bracketed(&self.index.table.columns[usize::from(*ordinal)].name);
        match ordinals.is_empty() {
            true => Value::Null,
            false => text(&ordinals.iter().map(name).collect::<Vec<_>>().join(", ")),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "an average needs no more digits")]
fn count(n: u64) -> f64 {
    n as f64
}

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Finds the missing indexes, the one that would save most first.
fn groups(scope: &Scope<'_>) -> Vec<Group> {
    let statistics = &scope.session.instance.statistics;
    let mut found: BTreeMap<i32, Group> = BTreeMap::new();
    let mut known = HashMap::new();
    for row in statements(statistics) {
        known.insert((row.books.serial, row.span()), row);
    }
    for books in statistics.programs() {
        let Some(program) = books.program() else { continue };
        for (span, leaf) in planned(&program) {
            let Some(bound) = leaf.plan.get() else { continue };
            let Some(row) = known.get(&(books.serial, (span.start, span.end))) else { continue };
            for index in missing_indexes(&scope.session.catalog, bound) {
                add(&mut found, index, row.totals.executions, row.totals.last_start);
            }
        }
    }
    let mut groups: Vec<Group> = found.into_values().collect();
    groups.sort_by(|a, b| (b.impact * b.cost).total_cmp(&(a.impact * a.cost)));
    groups.truncate(GROUPS_MAX);
    groups
}

fn add(found: &mut BTreeMap<i32, Group>, index: MissingIndex, executions: u64, last: u64) {
    let handle = handle_of(&index);
    let (cost, impact) = (index.cost, index.impact);
    let group = found.entry(handle).or_insert_with(|| Group {
        handle,
        index,
        plans: 0,
        seeks: 0,
        last: 0,
        cost: 0.0,
        impact: 0.0,
    });
    group.plans += 1;
    group.seeks += executions;
    group.last = group.last.max(last);
    group.cost += cost * count(executions);
    group.impact += impact * count(executions);
}

/// Returns the FNV-1a hash of what an index is on, as a positive number.
fn handle_of(index: &MissingIndex) -> i32 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |number: i32| {
        for byte in number.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    add(i32::from(index.table.database_id));
    add(index.table.id);
    for columns in [&index.equality, &index.inequality, &index.included] {
        columns.iter().for_each(|column| add(i32::from(*column)));
        add(-1);
    }
    i32::try_from(hash >> 33).unwrap_or(i32::MAX)
}

const DETAIL_COLUMNS: &[Column<Group>] = &[
    col("index_handle", INT, |r| int(r.handle)),
    col("database_id", SMALLINT, |r| small(r.index.table.database_id)),
    col("object_id", INT, |r| int(r.index.table.id)),
    opt("equality_columns", nv(4000), |r| r.columns(&r.index.equality)),
    opt("inequality_columns", nv(4000), |r| r.columns(&r.index.inequality)),
    opt("included_columns", nv(4000), |r| r.columns(&r.index.included)),
    opt("statement", nv(4000), |r| {
        let MissingIndex { database, table, .. } = &r.index;
        let names = [database, &table.schema, &table.name].map(|name| bracketed(name));
        text(&names.join("."))
    }),
];

static DETAILS: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_missing_index_details",
    columns: || shape(DETAIL_COLUMNS),
    rows: |scope| rows(DETAIL_COLUMNS, groups(scope)),
    arity: 0,
};

const GROUP_COLUMNS: &[Column<Group>] = &[
    col("index_group_handle", INT, |r| int(r.handle)),
    col("index_handle", INT, |r| int(r.handle)),
];

static GROUPS: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_missing_index_groups",
    columns: || shape(GROUP_COLUMNS),
    rows: |scope| rows(GROUP_COLUMNS, groups(scope)),
    arity: 0,
};

const STATS_COLUMNS: &[Column<Group>] = &[
    col("group_handle", INT, |r| int(r.handle)),
    col("unique_compiles", BIGINT, |r| big(r.plans)),
    col("user_seeks", BIGINT, |r| big(r.seeks)),
    col("user_scans", BIGINT, |_| big(0)),
    opt("last_user_seek", DATETIME, |r| datetime_of(r.last)),
    unknown("last_user_scan", DATETIME),
    opt("avg_total_user_cost", FLOAT, |r| r.average(r.cost)),
    opt("avg_user_impact", FLOAT, |r| r.average(r.impact)),
    col("system_seeks", BIGINT, |_| big(0)),
    col("system_scans", BIGINT, |_| big(0)),
    unknown("last_system_seek", DATETIME),
    unknown("last_system_scan", DATETIME),
    unknown("avg_total_system_cost", FLOAT),
    unknown("avg_system_impact", FLOAT),
];

static GROUP_STATS: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_missing_index_group_stats",
    columns: || shape(STATS_COLUMNS),
    rows: |scope| rows(STATS_COLUMNS, groups(scope)),
    arity: 0,
};

/// A column of a missing index.
struct UsedColumn {
    id: i32,
    name: String,
    usage: &'static str,
}

const COLUMN_COLUMNS: &[Column<UsedColumn>] = &[
    col("column_id", INT, |r| int(r.id)),
    col("column_name", SYSNAME, |r| text(&r.name)),
    col("column_usage", vc(20), |r| ascii(r.usage)),
];

static COLUMNS: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_missing_index_columns",
    columns: || shape(COLUMN_COLUMNS),
    rows: columns_of,
    arity: 1,
};

fn columns_of(scope: &Scope<'_>) -> Rows {
    let Some(handle) = scope.arguments.first().and_then(Value::as_whole) else {
        return Ok(RowSet::default());
    };
    let group = groups(scope).into_iter().find(|group| i64::from(group.handle) == handle);
    let mut found = Vec::new();
    for (usage, ordinals) in group.iter().flat_map(|group| group.index.usages()) {
        for ordinal in ordinals {
            let name =
                group.as_ref().map(|g| g.index.table.columns[usize::from(*ordinal)].name.clone());
            let name = name.unwrap_or_default();
            found.push(UsedColumn { id: i32::from(*ordinal) + 1, name, usage });
        }
    }
    rows(COLUMN_COLUMNS, found)
}
