//! `sys.dm_db_xtp_table_memory_stats`: memory of the rows and indexes of memory-optimized tables.
//! Other tables are in memory too, but as in SQL Server they are not listed.

use std::sync::Arc;

use storage::TableMemory;

use ::catalog::TableDef;
use ::catalog::security::Securable;
use metadata::column::{BIGINT, Column, INT, big, col, int, opt, rows, shape};
use metadata::objects::tables;
use metadata::{Rows, Scope, SystemView};

struct Row {
    table: Arc<TableDef>,
    memory: TableMemory,
}

fn kb(bytes: u64) -> types::Value {
    big(bytes / 1_024)
}

const COLUMNS: &[Column<Row>] = &[
    opt("object_id", INT, |r| int(r.table.id)),
    col("memory_allocated_for_table_kb", BIGINT, |r| kb(r.memory.allocated_rows_bytes)),
    col("memory_used_by_table_kb", BIGINT, |r| kb(r.memory.used_rows_bytes)),
    col("memory_allocated_for_indexes_kb", BIGINT, |r| kb(r.memory.allocated_indexes_bytes)),
    col("memory_used_by_indexes_kb", BIGINT, |r| kb(r.memory.used_indexes_bytes)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_xtp_table_memory_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let tables = tables(scope.session, scope.database).into_iter();
    let rights = &scope.session.identity.rights;
    let sees_all = rights.views_database_state(scope.database);
    let is_seen = |table: &TableDef| {
        sees_all || rights.has(scope.database, &Securable::table(table), "SELECT")
    };
    let optimized = tables.filter(|table| table.memory_optimized && is_seen(table));
    let row = |table: Arc<TableDef>| Row { memory: table.rows.data.memory(), table };
    rows(COLUMNS, optimized.map(row))
}
