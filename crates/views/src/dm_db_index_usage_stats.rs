//! `sys.dm_db_index_usage_stats`: one row per index that a statement has used since the server started.
//!
//! As in SQL Server, an index has a row from its first use on, and each operator of a plan counts once
//! for each execution of the plan. An index leads to the whole row, so there are no lookups; the
//! server itself reads tables without plans, so there are no uses by the system.

use std::sync::Arc;

use ::catalog::Database;
use ::session::instance::datetime_of;
use metadata::column::{
    BIGINT, Column, DATETIME, INT, SMALLINT, big, col, int, opt, rows, shape, small, unknown,
};
use metadata::types::{IndexRow, index_rows};
use metadata::{Rows, Scope, SystemView};
use storage::{IndexId, IndexUse, UseTotal};
use types::Value;

/// An index that was used.
struct UsedIndex {
    database: i16,
    index: IndexRow,
    seeks: UseTotal,
    scans: UseTotal,
    updates: UseTotal,
}

impl UsedIndex {
    /// Returns the index with its uses; `None` if there was none.
    fn of(database: i16, index: IndexRow) -> Option<Self> {
        let id = IndexId(index.id().unsigned_abs());
        let uses = index.table.rows.data.uses().get(id)?;
        let [seeks, scans, updates] =
            [IndexUse::Seek, IndexUse::Scan, IndexUse::Update].map(|kind| uses.total(kind));
        let was_used = seeks.count + scans.count + updates.count > 0;
        was_used.then_some(Self { database, index, seeks, scans, updates })
    }
}

/// Returns when the last use began; NULL if there was none.
fn last(total: UseTotal) -> Value {
    if total.count == 0 { Value::Null } else { datetime_of(total.last) }
}

const COLUMNS: &[Column<UsedIndex>] = &[
    col("database_id", SMALLINT, |r| small(r.database)),
    col("object_id", INT, |r| int(r.index.table.id)),
    col("index_id", INT, |r| int(r.index.id())),
    col("user_seeks", BIGINT, |r| big(r.seeks.count)),
    col("user_scans", BIGINT, |r| big(r.scans.count)),
    col("user_lookups", BIGINT, |_| big(0)),
    col("user_updates", BIGINT, |r| big(r.updates.count)),
    opt("last_user_seek", DATETIME, |r| last(r.seeks)),
    opt("last_user_scan", DATETIME, |r| last(r.scans)),
    unknown("last_user_lookup", DATETIME),
    opt("last_user_update", DATETIME, |r| last(r.updates)),
    col("system_seeks", BIGINT, |_| big(0)),
    col("system_scans", BIGINT, |_| big(0)),
    col("system_lookups", BIGINT, |_| big(0)),
    col("system_updates", BIGINT, |_| big(0)),
    unknown("last_system_seek", DATETIME),
    unknown("last_system_scan", DATETIME),
    unknown("last_system_lookup", DATETIME),
    unknown("last_system_update", DATETIME),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_index_usage_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let catalog = &scope.session.catalog;
    let of = |database: &Arc<Database>| {
        let id = database.id;
        index_rows(scope.session, database)
            .into_iter()
            .filter_map(move |row| UsedIndex::of(id, row))
    };
    rows(COLUMNS, catalog.databases.values().flat_map(of))
}
