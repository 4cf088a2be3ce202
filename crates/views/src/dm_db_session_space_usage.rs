//! `sys.dm_db_session_space_usage`: pages of tempdb per session; all 0. Temporary tables are in
//! memory, and their memory is not counted in pages.

use metadata::column::{BIGINT, Column, SMALLINT, big, col, rows, shape, small, unknown};
use metadata::sessions::session_rows;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<i16>] = &[
    col("session_id", SMALLINT, |r| small(*r)),
    col("database_id", SMALLINT, |_| small(2)),
    unknown("user_objects_alloc_page_count", BIGINT),
    unknown("user_objects_dealloc_page_count", BIGINT),
    col("internal_objects_alloc_page_count", BIGINT, |_| big(0)),
    col("internal_objects_dealloc_page_count", BIGINT, |_| big(0)),
    unknown("user_objects_deferred_dealloc_page_count", BIGINT),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_session_space_usage",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, session_rows(scope).into_iter().map(|row| row.card.id))
}
