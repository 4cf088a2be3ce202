//! Compression of row groups: column_store_index_build_process_segment when rows are inserted, and
//! columnstore_tuple_mover_begin_compress and _end_compress for closed delta stores.

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

/// A row group whose compression is measured.
pub struct Compressing(Option<Begun>);

/// Notes that compression of a row group begins.
#[inline]
pub fn begin() -> Compressing {
    Compressing(xe::enabled(&COLUMN_STORE_INDEX_BUILD_PROCESS_SEGMENT).then(Begun::now))
}

/// Fires column_store_index_build_process_segment for a compressed row group.
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

/// Fires columnstore_tuple_mover_begin_compress for this many rows.
pub fn moving_begins(table: &TableDef, rows: usize) -> Compressing {
    if xe::enabled(&COLUMNSTORE_TUPLE_MOVER_BEGIN_COMPRESS) {
        let [database, object] = names(table);
        let values = [database, object, Value::UInt(rows as u64)];
        xe::fire(&COLUMNSTORE_TUPLE_MOVER_BEGIN_COMPRESS, &values);
    }
    Compressing(xe::enabled(&COLUMNSTORE_TUPLE_MOVER_END_COMPRESS).then(Begun::now))
}

/// Fires columnstore_tuple_mover_end_compress; `bytes` is the size of the segments.
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
