//! `sys.partitions`: the partitions of heaps and indexes, with their numbers of rows. One that is not
//! partitioned has one.

use types::Value;

use metadata::column::{
    BIGINT, BIT, Column, INT, SMALLINT, TINYINT, ascii, big, bit, col, int, nv, opt, rows, shape,
    small, text, vc,
};
use metadata::partitions::{PartitionRow, partition_rows};
use metadata::types::IndexRow;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<PartitionRow>] = &[
    col("partition_id", BIGINT, |r| big(r.id())),
    col("object_id", INT, |r| int(r.index.table.id)),
    col("index_id", INT, |r| int(r.index.id())),
    col("partition_number", INT, |r| int(r.number)),
    col("hobt_id", BIGINT, |r| big(r.id())),
    opt("rows", BIGINT, |r| big(r.rows())),
    col("filestream_filegroup_id", SMALLINT, |_| small(0)),
    col("data_compression", TINYINT, |r| Value::TinyInt(r.compression())),
    opt("data_compression_desc", nv(60), |r| {
        text(["NONE", "ROW", "PAGE"][usize::from(r.compression().min(2))])
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

/// Returns `partition_id` of an index's first partition: the number of the table in storage and the
/// index, combined.
pub(crate) fn partition_id(row: &IndexRow) -> i64 {
    let index = i64::from(row.id());
    i64::from(row.table.rows.data.id().0) << 16 | index
}

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, partition_rows(scope.session, scope.database))
}
