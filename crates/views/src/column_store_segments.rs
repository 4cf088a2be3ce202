//! `sys.column_store_segments`: the column segments of compressed row groups.

use types::{DataType, Length, Value};

use super::partitions::partition_id;
use metadata::column::{BIGINT, Column, FLOAT, INT, big, col, int, opt, rows, shape, unknown};
use metadata::segments::{SegmentRow, segment_rows};
use metadata::{Rows, Scope, SystemView};

const DEEP_DATA: DataType = DataType::VarBinary(Length::Limited(18));

const COLUMNS: &[Column<SegmentRow>] = &[
    col("partition_id", BIGINT, |r| big(partition_id(&r.index))),
    col("hobt_id", BIGINT, |r| big(partition_id(&r.index))),
    col("column_id", INT, |r| int(r.column)),
    col("segment_id", INT, |r| int(r.group)),
    col("version", INT, |_| int(1)),
    col("encoding_type", INT, |r| int(r.encoding_type())),
    col("row_count", INT, |r| int(r.rows)),
    col("has_nulls", INT, |r| int(i32::from(r.nulls > 0))),
    // Numbers are stored as their distance from the least one, which is the base.
    col("base_id", BIGINT, least),
    col("magnitude", FLOAT, |r| Value::Float(if r.entries == 0 { 1.0 } else { -1.0 })),
    col("primary_dictionary_id", INT, |r| match r.entries {
        0 => int(-1),
        _ => int(r.group),
    }),
    col("secondary_dictionary_id", INT, |_| int(-1)),
    col("min_data_id", BIGINT, least),
    col("max_data_id", BIGINT, |r| big(r.zone.map_or(-1, |zone| zone.largest))),
    // NULL is a bitmap beside the values, not an encoded value.
    col("null_value", BIGINT, |_| big(-1)),
    col("on_disk_size", BIGINT, |r| big(r.bytes)),
    opt("collation_id", INT, |_| Value::Null),
    unknown("min_deep_data", DEEP_DATA),
    unknown("max_deep_data", DEEP_DATA),
];

fn least(row: &SegmentRow) -> Value {
    big(row.zone.map_or(-1, |zone| zone.least))
}

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "column_store_segments",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, segment_rows(scope)?)
}
