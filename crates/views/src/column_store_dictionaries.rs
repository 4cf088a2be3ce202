//! `sys.column_store_dictionaries`: the dictionaries of column segments. Each segment has its own.

use super::partitions::partition_id;
use metadata::column::{BIGINT, Column, INT, big, col, int, rows, shape};
use metadata::segments::{SegmentRow, segment_rows};
use metadata::{Rows, Scope, SystemView};
use storage::columnstore::Encoding;

const COLUMNS: &[Column<SegmentRow>] = &[
    col("partition_id", BIGINT, |r| big(partition_id(&r.index))),
    col("hobt_id", BIGINT, |r| big(partition_id(&r.index))),
    col("column_id", INT, |r| int(r.column)),
    col("dictionary_id", INT, |r| int(r.group)),
    col("version", INT, |_| int(1)),
    col("type", INT, |r| int(kind(r))),
    col("last_id", INT, |r| int(r.entries.saturating_sub(1))),
    col("entry_count", BIGINT, |r| big(r.entries)),
    // The dictionary is stored in its segment, which counts its size.
    col("on_disk_size", BIGINT, |_| big(0)),
];

/// Returns `type`: 1 for numbers, 3 for strings.
fn kind(row: &SegmentRow) -> i32 {
    match row.encoding {
        Encoding::StringDictionary | Encoding::Strings => 3,
        Encoding::Constant
        | Encoding::RunLength
        | Encoding::NumberDictionary
        | Encoding::Packed => 1,
    }
}

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "column_store_dictionaries",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let all = segment_rows(scope)?.into_iter();
    rows(COLUMNS, all.filter(|row| row.entries > 0))
}
