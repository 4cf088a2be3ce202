//! `sys.column_store_row_groups`: the row groups of columnstore indexes.

use types::Value;

use super::partitions::partition_id;
use metadata::column::{BIGINT, Column, INT, TINYINT, big, col, int, nv, opt, rows, shape, text};
use metadata::row_groups::{GroupRow, GroupState, group_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<GroupRow>] = &[
    col("object_id", INT, |r| int(r.index.table.id)),
    col("index_id", INT, |r| int(r.index.id())),
    col("partition_number", INT, |_| int(1)),
    col("row_group_id", INT, |r| int(r.id)),
    opt("delta_store_hobt_id", BIGINT, |r| match r.state {
        GroupState::Open | GroupState::Closed => big(partition_id(&r.index)),
        GroupState::Compressed => Value::Null,
    }),
    col("state", TINYINT, |r| Value::TinyInt(r.state as u8)),
    col("state_description", nv(60), |r| text(r.state.name())),
    col("total_rows", BIGINT, |r| big(r.rows)),
    opt("deleted_rows", BIGINT, |r| big(r.deleted)),
    col("size_in_bytes", BIGINT, |r| big(r.bytes)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "column_store_row_groups",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, group_rows(scope)?)
}
