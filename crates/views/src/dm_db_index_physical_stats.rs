//! `sys.dm_db_index_physical_stats`: the size of indexes in pages of 8 KB. Fragmentation is 0:
//! indexes in memory have no page order.
//!
//! Memory-optimized tables are not listed, as in SQL Server.

use types::Value;

use metadata::column::{
    BIGINT, Column, FLOAT, INT, SMALLINT, TINYINT, big, col, int, nv, opt, rows, shape, small,
    text, unknown,
};
use metadata::partitions::{PartitionRow, asked_partitions};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("database_id", SMALLINT, |r| small(r.database)),
    col("object_id", INT, |r| int(r.part.index.table.id)),
    col("index_id", INT, |r| int(r.part.index.id())),
    col("partition_number", INT, |r| int(r.part.number)),
    opt("index_type_desc", nv(60), |r| {
        let kind = r.part.index.kind();
        text(&format!("{}{}", kind.1, if kind.0 == 0 { "" } else { " INDEX" }))
    }),
    opt("alloc_unit_type_desc", nv(60), |_| text("IN_ROW_DATA")),
    unknown("index_depth", TINYINT),
    opt("index_level", TINYINT, |_| Value::TinyInt(0)),
    opt("avg_fragmentation_in_percent", FLOAT, |_| Value::Float(0.0)),
    unknown("fragment_count", BIGINT),
    unknown("avg_fragment_size_in_pages", FLOAT),
    opt("page_count", BIGINT, |r| big(r.part.pages().data)),
    unknown("avg_page_space_used_in_percent", FLOAT),
    opt("record_count", BIGINT, |r| if r.counts { big(r.part.rows()) } else { Value::Null }),
    unknown("ghost_record_count", BIGINT),
    unknown("version_ghost_record_count", BIGINT),
    unknown("min_record_size_in_bytes", INT),
    unknown("max_record_size_in_bytes", INT),
    unknown("avg_record_size_in_bytes", FLOAT),
    unknown("forwarded_record_count", BIGINT),
    unknown("compressed_page_count", BIGINT),
    opt("hobt_id", BIGINT, |r| big(r.part.id())),
    unknown("columnstore_delete_buffer_state", TINYINT),
    unknown("columnstore_delete_buffer_state_desc", nv(60)),
    unknown("version_record_count", BIGINT),
    unknown("inrow_version_record_count", BIGINT),
    unknown("inrow_diff_version_record_count", BIGINT),
    unknown("total_inrow_version_payload_size_in_bytes", BIGINT),
    unknown("offrow_regular_version_record_count", BIGINT),
    unknown("offrow_long_term_version_record_count", BIGINT),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_index_physical_stats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 5,
};

struct Row {
    database: i16,
    part: PartitionRow,
    /// Whether the mode counts rows: SAMPLED and DETAILED do, LIMITED does not.
    counts: bool,
}

fn read(scope: &Scope<'_>) -> Rows {
    let mode = scope.arguments.get(4).and_then(|mode| mode.as_text(scope.session.collation()));
    let counts = mode.is_some_and(|mode| {
        mode.eq_ignore_ascii_case("SAMPLED") || mode.eq_ignore_ascii_case("DETAILED")
    });
    let of_disk = asked_partitions(scope)?.into_iter();
    let of_disk = of_disk.filter(|(_, part)| !part.index.table.memory_optimized);
    rows(COLUMNS, of_disk.map(|(database, part)| Row { database, part, counts }))
}
