//! `Vector`: one column of a batch.

use super::bytes::ByteRows;
use super::data::Data;
use super::nulls::Nulls;
use super::selection::Selection;
use crate::value::ColumnType;
use crate::{DataType, Value};

/// A column: values of one type, and which of them are NULL. It may grow larger than a batch, as
/// the build side of a join does.
#[derive(Clone, Debug)]
pub struct Vector {
    /// The type that the vector was made for; [`Self::clear`] returns to its plain form.
    home: DataType,
    pub(super) data: Data,
    pub(super) nulls: Nulls,
}

impl Vector {
    /// Makes an empty vector in the plain form of a type.
    #[inline]
    pub fn with_capacity_for(of: &ColumnType) -> Self {
        Self::of_type(&of.data_type)
    }

    /// As [`Self::with_capacity_for`], for a bare type.
    #[inline]
    pub fn of_type(of: &DataType) -> Self {
        Self { home: *of, data: Data::of_type(of), nulls: Nulls::default() }
    }

    /// Makes a vector without rows or memory, as a placeholder.
    #[inline]
    pub fn empty() -> Self {
        Self::of_type(&DataType::Int)
    }

    /// Makes a vector that has one value in each of `rows` rows.
    #[inline]
    pub fn constant(value: Value, of: &ColumnType, rows: usize) -> Self {
        Self { home: of.data_type, data: Data::Constant(value, rows), nulls: Nulls::default() }
    }

    /// Sets every row to one value; there are `rows` rows.
    #[inline]
    pub fn set_constant(&mut self, value: Value, rows: usize) {
        self.nulls.clear();
        self.data = Data::Constant(value, rows);
    }

    /// Returns the number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Returns whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the type that the vector was made for.
    #[inline]
    pub const fn data_type(&self) -> &DataType {
        &self.home
    }

    /// Returns the values; those of NULL rows are arbitrary.
    #[inline]
    pub const fn data(&self) -> &Data {
        &self.data
    }

    /// Returns values and NULLs for writing. The caller must leave one value per row, an arbitrary
    /// one for a NULL row.
    #[inline]
    pub const fn parts_mut(&mut self) -> (&mut Data, &mut Nulls) {
        (&mut self.data, &mut self.nulls)
    }

    /// Returns the NULL rows, except those of a constant NULL: see [`Self::constant_value`].
    #[inline]
    pub const fn nulls(&self) -> &Nulls {
        &self.nulls
    }

    /// Returns the value of every row if the vector is a constant.
    #[inline]
    pub const fn constant_value(&self) -> Option<&Value> {
        match &self.data {
            Data::Constant(value, _) => Some(value),
            _ => None,
        }
    }

    /// Returns the rows of a string or binary vector; `None` for other forms.
    pub const fn byte_rows(&self) -> Option<&ByteRows> {
        match &self.data {
            Data::Bytes(rows) => Some(rows),
            _ => None,
        }
    }

    /// As [`Self::byte_rows`], for writing.
    pub const fn byte_rows_mut(&mut self) -> Option<&mut ByteRows> {
        match &mut self.data {
            Data::Bytes(rows) => Some(rows),
            _ => None,
        }
    }

    /// Returns whether a row is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.is_null(row) || matches!(self.data, Data::Constant(Value::Null, _))
    }

    /// Returns whether some row may be NULL.
    #[inline]
    pub fn has_nulls(&self) -> bool {
        !self.nulls.is_none() || matches!(self.data, Data::Constant(Value::Null, _))
    }

    /// Returns the value of a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Value {
        if self.nulls.is_null(row) { Value::Null } else { self.data.value(row) }
    }

    /// Appends a value. One that the plain form cannot hold turns the vector into one of `Value`s.
    pub fn push(&mut self, value: &Value) {
        if value.is_null() {
            self.push_null();
            return;
        }
        if !self.data.try_push(value) {
            self.demote();
            self.data.try_push(value);
        }
    }

    /// Appends a NULL row.
    pub fn push_null(&mut self) {
        if matches!(self.data, Data::Constant(..)) {
            self.demote();
        }
        self.nulls.set(self.data.len());
        self.data.push_zero();
    }

    /// Appends the form's zero, for a row that is never read.
    pub fn push_hole(&mut self) {
        if matches!(self.data, Data::Constant(..)) {
            self.demote();
        }
        self.data.push_zero();
    }

    /// Returns the bytes of memory that the rows take, without those that long values point to. The
    /// cost does not depend on the number of rows.
    #[inline]
    pub fn memory(&self) -> usize {
        self.data.memory() + size_of_val(self.nulls.words())
    }

    /// Returns the bytes that long values point to, in the rows from `first` on.
    #[inline]
    pub fn memory_outside(&self, first: usize) -> usize {
        self.data.memory_outside(first)
    }

    /// Drops all rows; keeps the memory. A vector that became one of `Value`s or a constant returns
    /// to the plain form of its type.
    pub fn clear(&mut self) {
        self.nulls.clear();
        let is_home = match &self.data {
            Data::Values(_) => matches!(Data::of_type(&self.home), Data::Values(_)),
            Data::Constant(..) => false,
            _ => true,
        };
        if is_home { self.data.clear() } else { self.data = Data::of_type(&self.home) }
    }

    /// Returns the selected rows as a vector, close together.
    #[must_use]
    #[inline]
    pub fn gather(&self, rows: &Selection) -> Self {
        let mut result = Self::of_type(&self.home);
        result.append(self, rows);
        result
    }

    /// Turns the values into `Value`s, one by one.
    pub(super) fn demote(&mut self) {
        let values = (0..self.len()).map(|row| self.get(row)).collect();
        if let Data::Constant(Value::Null, rows) = &self.data {
            (0..*rows).for_each(|row| self.nulls.set(row));
        }
        self.data = Data::Values(values);
    }
}
