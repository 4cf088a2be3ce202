//! `sys.dm_db_index_usage_stats`: one row per index. Uses are not counted, so all counts are NULL.
//!
//! A count of 0 would make scripts that look for unused indexes drop them; a comparison with NULL
//! does not.

use std::sync::Arc;

use ::catalog::Database;
use metadata::column::{
    BIGINT, Column, DATETIME, INT, SMALLINT, col, int, rows, shape, small, unknown,
};
use metadata::types::{IndexRow, index_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i16, IndexRow)>] = &[
    col("database_id", SMALLINT, |r| small(r.0)),
    col("object_id", INT, |r| int(r.1.table.id)),
    col("index_id", INT, |r| int(r.1.id())),
    unknown("user_seeks", BIGINT),
    unknown("user_scans", BIGINT),
    unknown("user_lookups", BIGINT),
    unknown("user_updates", BIGINT),
    unknown("last_user_seek", DATETIME),
    unknown("last_user_scan", DATETIME),
    unknown("last_user_lookup", DATETIME),
    unknown("last_user_update", DATETIME),
    unknown("system_seeks", BIGINT),
    unknown("system_scans", BIGINT),
    unknown("system_lookups", BIGINT),
    unknown("system_updates", BIGINT),
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
        index_rows(scope.session, database).into_iter().map(move |row| (id, row))
    };
    rows(COLUMNS, catalog.databases.values().flat_map(of))
}
