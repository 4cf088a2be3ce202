//! `sys.database_query_store_internal_state`: nothing waits to be recorded, since a view collects
//! before it is read.

use metadata::column::{BIGINT, Column, big, col, rows, shape};
use metadata::{Rows, Scope};

use super::SystemView;

const COLUMNS: &[Column<()>] = &[
    col("pending_message_count", BIGINT, |()| big(0)),
    col("messaging_memory_used_mb", BIGINT, |()| big(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_query_store_internal_state",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, [()])
}
