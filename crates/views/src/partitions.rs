//! `sys.partitions`: one partition per heap and index, with its number of rows.

use types::Value;

use metadata::column::{
    BIGINT, BIT, Column, INT, SMALLINT, TINYINT, ascii, big, bit, col, int, nv, opt, rows, shape,
    small, text, vc,
};
use metadata::types::{IndexRow, index_rows};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<IndexRow>] = &[
    col("partition_id", BIGINT, |r| big(partition_id(r))),
    col("object_id", INT, |r| int(r.table.id)),
    col("index_id", INT, |r| int(r.id())),
    col("partition_number", INT, |_| int(1)),
    col("hobt_id", BIGINT, |r| big(partition_id(r))),
    opt("rows", BIGINT, |r| big(r.table.rows.data.row_count())),
    col("filestream_filegroup_id", SMALLINT, |_| small(0)),
    col("data_compression", TINYINT, |r| Value::TinyInt(r.shown().compression)),
    opt("data_compression_desc", nv(60), |r| {
        text(["NONE", "ROW", "PAGE"][usize::from(r.shown().compression.min(2))])
    }),
    opt("xml_compression", BIT, |_| bit(false)),
    opt("xml_compression_desc", vc(3), |_| ascii("OFF")),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "partitions",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// Returns `partition_id`: the number of the table in storage and the index, combined.
pub(crate) fn partition_id(row: &IndexRow) -> i64 {
    let index = i64::from(row.id());
    i64::from(row.table.rows.data.id().0) << 16 | index
}

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, index_rows(scope.session, scope.database))
}
