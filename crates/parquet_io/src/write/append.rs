//! Appends values to a chunk: single ones, or those of a vector.

use types::Value;
use types::batch::{ByteKind, ByteRows, Data, Vector};

use super::chunk::ChunkWriter;
use super::value;
use crate::Result;
use crate::codec::Codec;
use crate::schema::{Meaning, Physical};

impl ChunkWriter {
    /// Appends the value of the next row.
    ///
    /// # Errors
    /// As [`value::encode`], and those of compressing a page.
    pub(super) fn push(&mut self, value: &Value, codec: Codec) -> Result<()> {
        if value.is_null() {
            return self.put_null(codec);
        }
        self.put_with(codec, |shape, out| value::encode(value, shape, out))
    }

    /// Appends rows of a vector. Numbers that are numbers in the file too are appended without a
    /// [`Value`] each, strings without a copy.
    ///
    /// # Errors
    /// As [`Self::push`]; the row in it is an index into `rows`.
    pub(super) fn append(&mut self, vector: &Vector, rows: &[u16], codec: Codec) -> Result<()> {
        use Physical::{Double, Float, Int32, Int64};
        let scale = match self.shape.meaning {
            Meaning::Decimal(_, scale) => Some(scale),
            _ => None,
        };
        match (vector.data(), self.shape.physical) {
            (Data::TinyInt(from), Int32) => {
                self.numbers(vector, rows, codec, |row| i64::from(from[row]))
            }
            (Data::SmallInt(from), Int32) => {
                self.numbers(vector, rows, codec, |row| i64::from(from[row]))
            }
            (Data::Int(from), Int32) => {
                self.numbers(vector, rows, codec, |row| i64::from(from[row]))
            }
            (Data::BigInt(from), Int64) => self.numbers(vector, rows, codec, |row| from[row]),
            (Data::Real(from), Float) => self
                .numbers(vector, rows, codec, |row| i64::from(from[row].to_bits().cast_signed())),
            (Data::Float(from), Double) => {
                self.numbers(vector, rows, codec, |row| from[row].to_bits().cast_signed())
            }
            (Data::Date(from), Int32) => {
                self.numbers(vector, rows, codec, |row| value::days(from[row]))
            }
            (Data::ShortDecimal { digits, scale: own, .. }, Int64) if Some(*own) == scale => {
                self.numbers(vector, rows, codec, |row| digits[row])
            }
            (Data::DateTime(from), Int64) => self.numbers(vector, rows, codec, |row| {
                let (days, ticks) = Data::unpack_datetime(from[row]);
                value::millis(days, ticks)
            }),
            (Data::DateTime2(from), Int64) => self.each(vector, rows, codec, |chunk, row| {
                let (days, ticks) = Data::unpack_datetime2(from[row]);
                let moment = value::moment(i64::from(days), ticks, &chunk.shape)?;
                chunk.put_number(moment, codec)
            }),
            (Data::Bytes(from), Physical::Bytes) => self.texts(vector, from, rows, codec),
            _ => self.each(vector, rows, codec, |chunk, row| chunk.push(&vector.get(row), codec)),
        }
    }

    fn numbers(
        &mut self,
        vector: &Vector,
        rows: &[u16],
        codec: Codec,
        number: impl Fn(usize) -> i64,
    ) -> Result<()> {
        self.each(vector, rows, codec, |chunk, row| chunk.put_number(number(row), codec))
    }

    fn texts(
        &mut self,
        vector: &Vector,
        from: &ByteRows,
        rows: &[u16],
        codec: Codec,
    ) -> Result<()> {
        self.each(vector, rows, codec, |chunk, row| {
            let bytes = from.get(row);
            chunk.put_with(codec, |shape, out| match from.kind {
                ByteKind::VarChar => {
                    value::narrow(bytes, shape, out);
                    Ok(())
                }
                ByteKind::NVarChar => value::utf16(bytes, out),
                ByteKind::VarBinary => {
                    out.extend_from_slice(bytes);
                    Ok(())
                }
            })
        })
    }

    fn each(
        &mut self,
        vector: &Vector,
        rows: &[u16],
        codec: Codec,
        put: impl Fn(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        let has_nulls = vector.has_nulls();
        for (place, row) in (0_u64..).zip(rows) {
            let row = usize::from(*row);
            let done = match has_nulls && vector.is_null(row) {
                true => self.put_null(codec),
                false => put(self, row),
            };
            done.map_err(|mut error| {
                error.place.row = Some(place);
                error
            })?;
        }
        Ok(())
    }
}
