//! Events of columnstore indexes: compression of row groups.

use sos::xe::FieldType::{Int32, UInt32, UInt64};
use sos::xe::{Channel, Event};

use super::{event, field};

/// Rows were compressed while being inserted.
pub static COLUMN_STORE_INDEX_BUILD_PROCESS_SEGMENT: Event = event(
    "column_store_index_build_process_segment",
    "Occurs when a row group is compressed as its rows come",
    &[
        field("database_id", UInt32, "The table's database"),
        field("object_id", Int32, "The table"),
        field("rows", UInt64, "Rows that were compressed"),
        field("duration", UInt64, "Microseconds"),
    ],
)
.found_under(Channel::Analytic, "index");

/// The tuple mover begins to compress a closed delta store.
pub static COLUMNSTORE_TUPLE_MOVER_BEGIN_COMPRESS: Event = event(
    "columnstore_tuple_mover_begin_compress",
    "Occurs when the tuple mover starts compressing a delta store",
    &[
        field("database_id", UInt32, "The table's database"),
        field("object_id", Int32, "The table"),
        field("rows", UInt64, "Rows to compress"),
    ],
)
.found_under(Channel::Operational, "index");

/// The tuple mover has compressed a delta store into a row group.
pub static COLUMNSTORE_TUPLE_MOVER_END_COMPRESS: Event = event(
    "columnstore_tuple_mover_end_compress",
    "Occurs when the tuple mover is done compressing a delta store",
    &[
        field("database_id", UInt32, "The table's database"),
        field("object_id", Int32, "The table"),
        field("rows", UInt64, "Rows that lie in the row group now"),
        field("rows_stayed", UInt64, "Rows that were changed during compression, and stayed"),
        field("size_in_bytes", UInt64, "Bytes of the row group's segments"),
        field("duration", UInt64, "Microseconds"),
        field("cpu_time", UInt64, "Microseconds of CPU time"),
    ],
)
.found_under(Channel::Operational, "index");
