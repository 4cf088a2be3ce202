//! Decodes one column of many encoded rows into a vector, without making [`Value`]s.

use super::fixed::take;
use super::{Column, FixedKind, RowLayout, VariableKind};
use crate::batch::{ByteKind, Data, Nulls, Selection, Vector};
use crate::{Bytes, Value};

/// Many encoded rows, by number: the bytes and the blobs of each.
pub trait Images {
    /// Returns the number of rows.
    fn count(&self) -> usize;
    /// Returns the bytes of a row.
    fn bytes(&self, row: usize) -> &[u8];
    /// Returns the blobs of a row.
    fn blobs(&self, row: usize) -> &[Bytes];
}

impl RowLayout {
    /// Reads a column of the selected rows over `vector`, which then has a row for each image: a
    /// row that is not selected has an arbitrary value.
    ///
    /// # Panics
    /// If the rows were not encoded with this layout.
    pub fn decode_column<I: Images>(
        &self,
        ordinal: usize,
        images: &I,
        selection: &Selection,
        vector: &mut Vector,
    ) {
        vector.clear();
        let done = match self.columns[ordinal] {
            Column::Fixed(kind, at) => {
                let (data, nulls) = vector.parts_mut();
                let done = decode_fixed(kind, at, images, selection, data);
                if done && self.types[ordinal].nullable {
                    note_nulls(ordinal, images, selection, nulls);
                }
                done
            }
            Column::Variable(kind, index) => {
                self.decode_bytes((ordinal, kind, index), images, selection, vector)
            }
        };
        if !done {
            self.decode_values(ordinal, images, selection, vector);
        }
    }

    /// Reads a string or binary column. Returns `false` if the column is another type, or the
    /// vector has another form.
    fn decode_bytes<I: Images>(
        &self,
        (ordinal, kind, index): (usize, VariableKind, usize),
        images: &I,
        selection: &Selection,
        vector: &mut Vector,
    ) -> bool {
        let kind = match kind {
            VariableKind::VarChar => ByteKind::VarChar,
            VariableKind::NVarChar => ByteKind::NVarChar,
            VariableKind::VarBinary => ByteKind::VarBinary,
            VariableKind::Variant => return false,
        };
        let (data, nulls) = vector.parts_mut();
        let Data::Bytes(rows) = data else { return false };
        if rows.kind != kind {
            return false;
        }
        rows.reserve(images.count(), 0);
        selection.for_each(|row| {
            if rows.len() < row {
                rows.push_empty(row - rows.len());
            }
            let bytes = images.bytes(row);
            // A NULL takes no bytes.
            match self.inline_range(bytes, index) {
                Some((start, end)) => rows.push_part(bytes, start, end),
                None => rows.push(self.view(bytes, images.blobs(row)).slot(index).as_slice()),
            }
        });
        rows.push_empty(images.count() - rows.len());
        if self.types[ordinal].nullable {
            note_nulls(ordinal, images, selection, nulls);
        }
        true
    }

    /// Returns the range of a variable value in a row's bytes; `None` if it is out of line, or the
    /// row has 32-bit ends.
    #[inline]
    fn inline_range(&self, bytes: &[u8], index: usize) -> Option<(usize, usize)> {
        if self.wide_ends {
            return None;
        }
        let at = self.ends_start + index * 2;
        let end = usize::from(u16::from_le_bytes(take(bytes, at)));
        let start = match index {
            0 => 0,
            _ => usize::from(u16::from_le_bytes(take(bytes, at - 2)) & 0x7FFF),
        };
        (end >> 15 == 0).then(|| (self.variable_start + start, self.variable_start + end))
    }

    /// Reads a column of any type.
    fn decode_values<I: Images>(
        &self,
        ordinal: usize,
        images: &I,
        selection: &Selection,
        vector: &mut Vector,
    ) {
        selection.for_each(|row| {
            while vector.len() < row {
                vector.push_hole();
            }
            let value: Value = self.view(images.bytes(row), images.blobs(row)).get(ordinal);
            vector.push(&value);
        });
        while vector.len() < images.count() {
            vector.push_hole();
        }
    }
}

fn note_nulls<I: Images>(ordinal: usize, images: &I, selection: &Selection, nulls: &mut Nulls) {
    let (byte, mask) = (ordinal / 8, 1 << (ordinal % 8));
    selection.for_each(|row| {
        if images.bytes(row)[byte] & mask != 0 {
            nulls.set(row);
        }
    });
}

/// Reads a column of fixed size, zero for NULL. Returns `false` if the vector has another form.
fn decode_fixed<I: Images>(
    kind: FixedKind,
    at: usize,
    images: &I,
    selection: &Selection,
    data: &mut Data,
) -> bool {
    macro_rules! read {
        ($rows:expr, |$b:ident| $value:expr) => {
            fill($rows, images, selection, |$b| $value)
        };
    }
    match (kind, data) {
        (FixedKind::Bit, Data::Bit(rows)) => read!(rows, |b| b[at] != 0),
        (FixedKind::TinyInt, Data::TinyInt(rows)) => read!(rows, |b| b[at]),
        (FixedKind::SmallInt, Data::SmallInt(rows)) => {
            read!(rows, |b| i16::from_le_bytes(take(b, at)));
        }
        (FixedKind::Int, Data::Int(rows)) | (FixedKind::Date, Data::Date(rows)) => {
            read!(rows, |b| i32::from_le_bytes(take(b, at)));
        }
        (FixedKind::BigInt, Data::BigInt(rows))
        | (FixedKind::Money, Data::Money(rows))
        | (FixedKind::Time, Data::Time(rows)) => {
            read!(rows, |b| i64::from_le_bytes(take(b, at)));
        }
        (FixedKind::ShortDecimal(p, s), Data::ShortDecimal { digits, precision, scale })
            if p == *precision && s == *scale =>
        {
            read!(digits, |b| i64::from_le_bytes(take(b, at)));
        }
        (FixedKind::Decimal(p, s), Data::Decimal { digits, precision, scale })
            if p == *precision && s == *scale =>
        {
            read!(digits, |b| i128::from_le_bytes(take(b, at)));
        }
        (FixedKind::Real, Data::Real(rows)) => {
            read!(rows, |b| f32::from_le_bytes(take(b, at)));
        }
        (FixedKind::Float, Data::Float(rows)) => {
            read!(rows, |b| f64::from_le_bytes(take(b, at)));
        }
        (FixedKind::DateTime, Data::DateTime(rows)) => read!(rows, |b| {
            let days = i32::from_le_bytes(take(b, at));
            Data::pack_datetime(days, u32::from_le_bytes(take(b, at + 4)))
        }),
        (FixedKind::SmallDateTime, Data::SmallDateTime(rows)) => read!(rows, |b| {
            let days = u32::from(u16::from_le_bytes(take(b, at)));
            days << 16 | u32::from(u16::from_le_bytes(take(b, at + 2)))
        }),
        (FixedKind::DateTime2, Data::DateTime2(rows)) => read!(rows, |b| {
            let days = i32::from_le_bytes(take(b, at));
            Data::pack_datetime2(days, i64::from_le_bytes(take(b, at + 4)))
        }),
        _ => return false,
    }
    true
}

fn fill<T: Copy + Default, I: Images>(
    rows: &mut Vec<T>,
    images: &I,
    selection: &Selection,
    read: impl Fn(&[u8]) -> T,
) {
    match selection.list() {
        None => rows.extend((0..selection.len()).map(|row| read(images.bytes(row)))),
        Some(list) => {
            rows.resize(images.count(), T::default());
            for row in list {
                rows[usize::from(*row)] = read(images.bytes(usize::from(*row)));
            }
        }
    }
    rows.resize(images.count(), T::default());
}
