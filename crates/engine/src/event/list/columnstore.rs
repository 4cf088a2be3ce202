//! Columnstores: row groups that are compressed as their rows come.

use sos::xe::FieldType::{Int32, UInt32, UInt64};
use sos::xe::{Channel, Event};

use super::{event, field};

/// Rows have been compressed as they came.
pub(crate) static COLUMN_STORE_INDEX_BUILD_PROCESS_SEGMENT: Event = event(
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
