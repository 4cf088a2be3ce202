//! `sys.dm_db_task_space_usage`: pages of tempdb per request; all 0. Temporary tables are in
//! memory, and their memory is not counted in pages.

use metadata::column::{
    ADDRESS, BIGINT, BIT, Column, INT, SMALLINT, big, bit, col, int, opt, rows, shape, small,
    unknown,
};
use metadata::requests::request_rows;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<i16>] = &[
    unknown("task_address", ADDRESS),
    col("is_remote_task", BIT, |_| bit(false)),
    opt("session_id", SMALLINT, |r| small(*r)),
    opt("request_id", INT, |_| int(0)),
    opt("exec_context_id", INT, |_| int(0)),
    col("database_id", SMALLINT, |_| small(2)),
    unknown("user_objects_alloc_page_count", BIGINT),
    unknown("user_objects_dealloc_page_count", BIGINT),
    col("internal_objects_alloc_page_count", BIGINT, |_| big(0)),
    col("internal_objects_dealloc_page_count", BIGINT, |_| big(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_task_space_usage",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, request_rows(scope).into_iter().map(|row| row.session.card.id))
}
