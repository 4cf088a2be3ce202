//! Copies rows from one vector to another.

use super::data::{Data, match_fixed};
use super::selection::Selection;
use super::vector::Vector;
use crate::Value;

/// The rows to copy, in order.
trait Rows {
    /// Calls `see` with the number of each row.
    fn each(&self, see: impl FnMut(usize));
    /// Appends these rows of `from` to `to`.
    fn copy<T: Copy>(&self, from: &[T], to: &mut Vec<T>);
}

impl Rows for Selection {
    fn each(&self, see: impl FnMut(usize)) {
        self.for_each(see);
    }

    fn copy<T: Copy>(&self, from: &[T], to: &mut Vec<T>) {
        match self.list() {
            None => to.extend_from_slice(&from[..self.len()]),
            Some(rows) => to.extend(rows.iter().map(|row| from[usize::from(*row)])),
        }
    }
}

impl Rows for [u32] {
    fn each(&self, mut see: impl FnMut(usize)) {
        self.iter().for_each(|row| see(*row as usize));
    }

    fn copy<T: Copy>(&self, from: &[T], to: &mut Vec<T>) {
        to.extend(self.iter().map(|row| from[*row as usize]));
    }
}

impl Vector {
    /// Appends the selected rows of `source`, close together.
    #[inline]
    pub fn append(&mut self, source: &Self, rows: &Selection) {
        self.append_rows(source, rows);
    }

    /// Appends the rows of `source` with these numbers, in this order; a number may repeat.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn take(&mut self, source: &Self, rows: &[u32]) {
        self.append_rows(source, rows);
    }

    /// Makes this a copy of `source`; keeps the memory if the forms are the same.
    pub fn copy_from(&mut self, source: &Self) {
        self.clear();
        match source.constant_value() {
            Some(value) => self.set_constant(value.clone(), source.len()),
            None => self.append(source, &Selection::all(source.len())),
        }
    }

    /// Appends one row of `source`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn push_from(&mut self, source: &Self, row: usize) {
        if source.is_null(row) {
            self.push_null();
            return;
        }
        match (&mut self.data, &source.data) {
            (Data::Bytes(to), Data::Bytes(from)) if to.kind == from.kind => {
                let bytes = from.get(row);
                if to.has_room(bytes.len()) {
                    to.push(bytes);
                    return;
                }
            }
            (Data::Int(to), Data::Int(from)) => return to.push(from[row]),
            (Data::BigInt(to), Data::BigInt(from)) => return to.push(from[row]),
            _ => {}
        }
        self.push(&source.data.value(row));
    }

    fn append_rows<R: Rows + ?Sized>(&mut self, source: &Self, rows: &R) {
        let start = self.len();
        if source.constant_value().is_some() || !self.append_data(&source.data, rows) {
            rows.each(|row| self.push_from(source, row));
            return;
        }
        if source.nulls.is_none() {
            return;
        }
        let mut at = start;
        rows.each(|row| {
            if source.nulls.is_null(row) {
                self.nulls.set(at);
            }
            at += 1;
        });
    }

    /// Copies data of one form. Returns `false` and changes nothing if the forms differ.
    fn append_data<R: Rows + ?Sized>(&mut self, source: &Data, rows: &R) -> bool {
        macro_rules! copy {
            ($to:expr, $from:expr) => {
                rows.copy($from, $to)
            };
        }
        match (&mut self.data, source) {
            (Data::Bit(to), Data::Bit(from)) => copy!(to, from),
            (Data::TinyInt(to), Data::TinyInt(from)) => copy!(to, from),
            (Data::SmallInt(to), Data::SmallInt(from)) => copy!(to, from),
            (Data::Int(to), Data::Int(from)) | (Data::Date(to), Data::Date(from)) => {
                copy!(to, from);
            }
            (Data::BigInt(to), Data::BigInt(from))
            | (Data::Money(to), Data::Money(from))
            | (Data::Time(to), Data::Time(from))
            | (Data::DateTime(to), Data::DateTime(from))
            | (Data::DateTime2(to), Data::DateTime2(from)) => copy!(to, from),
            (Data::Real(to), Data::Real(from)) => copy!(to, from),
            (Data::Float(to), Data::Float(from)) => copy!(to, from),
            (Data::SmallDateTime(to), Data::SmallDateTime(from)) => copy!(to, from),
            (
                Data::ShortDecimal { digits: to, precision: p, scale: s },
                Data::ShortDecimal { digits: from, precision, scale },
            ) if p == precision && s == scale => copy!(to, from),
            (
                Data::Decimal { digits: to, precision: p, scale: s },
                Data::Decimal { digits: from, precision, scale },
            ) if p == precision && s == scale => copy!(to, from),
            (Data::Bytes(to), Data::Bytes(from)) if to.kind == from.kind => {
                let mut bytes = 0;
                rows.each(|row| bytes += from.get(row).len());
                if !to.has_room(bytes) {
                    return false;
                }
                to.reserve(0, bytes);
                rows.each(|row| to.push_row(from, row));
            }
            _ => return false,
        }
        true
    }

    /// Resets to `rows` rows of the plain form's zero, none of them NULL, for a kernel to write
    /// into.
    pub fn reset(&mut self, rows: usize) {
        self.clear();
        match_fixed!(&mut self.data, data => data.resize(rows, Default::default()),
            Data::Bytes(data) => data.push_empty(rows),
            Data::Values(data) => data.resize(rows, Value::Null),
            Data::Constant(..) => unreachable!("a vector is in its plain form once it is cleared"),
        );
    }
}
