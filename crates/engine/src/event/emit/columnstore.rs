//! Row groups are compressed as their rows come: column_store_index_build_process_segment.

use sos::xe::{self, Value};

use super::Begun;
use crate::catalog::TableDef;
use crate::event::context::fire;
use crate::event::list::COLUMN_STORE_INDEX_BUILD_PROCESS_SEGMENT;
use crate::session::SessionState;

/// A row group that is watched.
pub(crate) struct Compressing(Option<Begun>);

/// Notes that a row group begins to be compressed.
#[inline]
pub(crate) fn begin() -> Compressing {
    Compressing(xe::enabled(&COLUMN_STORE_INDEX_BUILD_PROCESS_SEGMENT).then(Begun::now))
}

/// Notes that a row group has been compressed.
#[inline]
pub(crate) fn end(session: &SessionState, begun: &Compressing, table: &TableDef, rows: usize) {
    if let Some(begun) = begun.0 {
        let values = [
            Value::UInt(u64::from(table.database_id.cast_unsigned())),
            Value::Int(i64::from(table.id)),
            Value::UInt(rows as u64),
            Value::UInt(begun.spent_us().0),
        ];
        fire(session, &COLUMN_STORE_INDEX_BUILD_PROCESS_SEGMENT, &values);
    }
}
