//! `sys.dm_db_column_store_row_group_physical_stats`: the row groups of columnstore indexes, with
//! size and trim reason.

use storage::columnstore::Trim;
use types::{DataType, Value};

use super::partitions::partition_id;
use metadata::column::{
    BIGINT, BIT, Column, INT, TINYINT, big, bit, col, int, nv, opt, rows, shape, text, unknown,
};
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
    opt("state_desc", nv(60), |r| text(r.state.name())),
    opt("total_rows", BIGINT, |r| big(r.rows)),
    opt("deleted_rows", BIGINT, |r| big(r.deleted)),
    opt("size_in_bytes", BIGINT, |r| big(r.bytes)),
    opt("trim_reason", TINYINT, |r| trim(r).map_or(Value::Null, |t| Value::TinyInt(t.0))),
    opt("trim_reason_desc", nv(60), |r| trim(r).map_or(Value::Null, |t| text(t.1))),
    opt("transition_to_compressed_state", TINYINT, |r| {
        transition(r).map_or(Value::Null, |t| Value::TinyInt(t.0))
    }),
    opt("transition_to_compressed_state_desc", nv(60), |r| {
        transition(r).map_or(Value::Null, |t| text(t.1))
    }),
    // Rows are not reordered for compression.
    opt("has_vertipaq_optimization", BIT, |_| bit(false)),
    opt("generation", BIGINT, |r| big(r.id)),
    unknown("created_time", DataType::DateTime2(7)),
    unknown("closed_time", DataType::DateTime2(7)),
];

/// Returns `trim_reason` and `trim_reason_desc`.
fn trim(row: &GroupRow) -> Option<(u8, &'static str)> {
    Some(match row.trim? {
        Trim::None | Trim::Moved | Trim::Reorganize => (1, "NO_TRIM"),
        Trim::BulkLoad => (2, "BULKLOAD"),
        Trim::Rebuild => (6, "RESIDUAL_ROW_GROUP"),
        Trim::Memory => (5, "MEMORY_LIMITATION"),
    })
}

/// Returns `transition_to_compressed_state` and its name: what compressed the rows. `None` where
/// that is not recorded.
fn transition(row: &GroupRow) -> Option<(u8, &'static str)> {
    match row.trim? {
        Trim::None | Trim::Memory => None,
        Trim::BulkLoad => Some((6, "BULKLOAD")),
        Trim::Rebuild => Some((2, "INDEX_BUILD")),
        Trim::Moved => Some((3, "TUPLE_MOVER")),
        Trim::Reorganize => Some((4, "REORG_NORMAL")),
    }
}

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_column_store_row_group_physical_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, group_rows(scope)?)
}
