//! `sys.dm_tran_version_store_space_usage`: pages of `tempdb` that hold row versions of a database.
//! Versions are kept beside their rows in memory, never in `tempdb`, so there are none:
//! `sys.dm_db_xtp_memory_consumers` has their memory.

use metadata::column::{BIGINT, Column, INT, big, col, int, rows, shape};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<i16>] = &[
    col("database_id", INT, |id| int(*id)),
    col("reserved_page_count", BIGINT, |_| big(0)),
    col("reserved_space_kb", BIGINT, |_| big(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_tran_version_store_space_usage",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.catalog.databases.values().map(|database| database.id))
}
