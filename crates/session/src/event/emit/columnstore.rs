//! Row groups are compressed: column_store_index_build_process_segment as their rows come, and
//! columnstore_tuple_mover_begin_compress and _end_compress when they lie in the delta store.

use sos::xe::{self, Value};

use storage::columnstore::Moved;

use super::Begun;
use crate::SessionState;
use crate::event::context::fire;
use crate::event::list::{
    COLUMN_STORE_INDEX_BUILD_PROCESS_SEGMENT, COLUMNSTORE_TUPLE_MOVER_BEGIN_COMPRESS,
    COLUMNSTORE_TUPLE_MOVER_END_COMPRESS,
};
use catalog::TableDef;

/// A row group that is watched.
pub struct Compressing(Option<Begun>);

/// Notes that a row group begins to be compressed.
#[inline]
pub fn begin() -> Compressing {
    Compressing(xe::enabled(&COLUMN_STORE_INDEX_BUILD_PROCESS_SEGMENT).then(Begun::now))
}

/// Notes that a row group has been compressed.
#[inline]
pub fn end(session: &SessionState, begun: &Compressing, table: &TableDef, rows: usize) {
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

/// Notes that the tuple mover begins to compress so many rows.
pub fn moving_begins(table: &TableDef, rows: usize) -> Compressing {
    if xe::enabled(&COLUMNSTORE_TUPLE_MOVER_BEGIN_COMPRESS) {
        let [database, object] = names(table);
        let values = [database, object, Value::UInt(rows as u64)];
        xe::fire(&COLUMNSTORE_TUPLE_MOVER_BEGIN_COMPRESS, &values);
    }
    Compressing(xe::enabled(&COLUMNSTORE_TUPLE_MOVER_END_COMPRESS).then(Begun::now))
}

/// Notes what it has done; `bytes` are those of the segments.
pub fn moving_ends(begun: &Compressing, table: &TableDef, moved: &Moved, bytes: usize) {
    if let Some(begun) = begun.0 {
        let (elapsed_us, worker_us) = begun.spent_us();
        let [database, object] = names(table);
        let values = [
            database,
            object,
            Value::UInt(moved.rows as u64),
            Value::UInt(moved.stayed as u64),
            Value::UInt(bytes as u64),
            Value::UInt(elapsed_us),
            Value::UInt(worker_us),
        ];
        xe::fire(&COLUMNSTORE_TUPLE_MOVER_END_COMPRESS, &values);
    }
}

fn names(table: &TableDef) -> [Value<'static>; 2] {
    let database = u64::from(table.database_id.cast_unsigned());
    [Value::UInt(database), Value::Int(i64::from(table.id))]
}
