//! ROW and NBCROW: the values of a row ([MS-TDS] 2.2.7.20, 2.2.7.15).
//!
//! NBCROW marks the NULLs in a bitmap and leaves them out. It is used if that makes the row shorter
//! and the client supports it (7.3.B).

use types::Value;

use super::{Columns, ResponseWriter, token};
use crate::sink::Sink;
use crate::wire_type::Place;

/// Most columns for which an NBCROW is considered: the bitmap is built on the stack.
const BITMAP_COLUMNS_MAX: usize = 256;

impl ResponseWriter {
    /// Writes a row: one value per column.
    ///
    /// Panics if a value is not of its column's type: the engine must convert values to the
    /// announced types.
    pub fn row(&mut self, columns: &Columns, values: &[Value]) {
        assert_eq!(columns.wire().len(), values.len(), "a row has a value per column");
        let nulls = values.iter().filter(|value| value.is_null()).count();
        let bitmap_bytes = values.len().div_ceil(8);
        let version = self.settings().version;
        let pays = nulls > bitmap_bytes && values.len() <= BITMAP_COLUMNS_MAX;
        if pays && version.has_null_bitmap_rows() {
            return self.null_bitmap_row(columns, values);
        }
        self.put(&[token::ROW]);
        for (wire, value) in columns.wire().iter().zip(values) {
            wire.encode_value(self, value, Place::Row);
        }
    }

    fn null_bitmap_row(&mut self, columns: &Columns, values: &[Value]) {
        let mut bitmap = [0_u8; BITMAP_COLUMNS_MAX / 8];
        for (index, _) in values.iter().enumerate().filter(|(_, value)| value.is_null()) {
            bitmap[index / 8] |= 1 << (index % 8);
        }
        self.put(&[token::NULL_BITMAP_ROW]);
        self.put(&bitmap[..values.len().div_ceil(8)]);
        for (wire, value) in columns.wire().iter().zip(values) {
            if !value.is_null() {
                wire.encode_value(self, value, Place::Row);
            }
        }
    }
}
