//! Buffers input rows for sorts, hash tables and window functions.

use types::{Result, Value};

use super::{Current, Rows};
use crate::Cx;
use plan::long::FreedInPieces;
use plan::query::Live;
use session::grant::Charge;

/// Buffered rows: for each, the values of the live registers and the current rows of the scans.
pub(super) struct Buffer<'p> {
    width: usize,
    values: FreedInPieces<Value>,
    row_width: usize,
    rows: Vec<Option<Current<'p>>>,
    count: usize,
    charge: Charge,
}

impl<'p> Buffer<'p> {
    /// Makes an empty buffer for rows with these live registers; its memory is charged to the
    /// query's grant.
    pub(super) fn new(live: &Live, cx: &Cx<'_>) -> Self {
        Self {
            width: live.registers.len(),
            values: FreedInPieces::default(),
            row_width: live.rows.len(),
            rows: Vec::new(),
            count: 0,
            charge: cx.session.accounting.grant.charge(0),
        }
    }

    /// Returns the number of buffered rows.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Adds the current row.
    ///
    /// # Errors
    /// 701 if the query gets no memory for it.
    pub(super) fn push(&mut self, live: &Live, cx: &Cx<'_>, rows: &Rows<'p>) -> Result<()> {
        let values = live.registers.iter().map(|r| &cx.registers[r.index()]);
        self.charge.add_row(values.clone())?;
        self.values.extend(values.cloned());
        self.rows.extend(live.rows.iter().map(|&number| rows.get(number)));
        self.count += 1;
        Ok(())
    }

    /// Charges memory that is kept beside a row, such as its key.
    ///
    /// # Errors
    /// 701 if the query gets no memory for it.
    pub(super) fn keep_beside(&mut self, bytes: usize) -> Result<()> {
        self.charge.add(bytes)
    }

    /// Makes a buffered row the current one.
    pub(super) fn restore(&self, i: usize, live: &Live, cx: &mut Cx<'_>, rows: &mut Rows<'p>) {
        let values = &self.values[i * self.width..][..self.width];
        for (register, value) in live.registers.iter().zip(values) {
            cx.registers[register.index()].clone_from(value);
        }
        let kept = &self.rows[i * self.row_width..][..self.row_width];
        for (number, row) in live.rows.iter().zip(kept) {
            rows.set(*number, *row);
        }
    }

    /// Keeps only the rows at `places`, in that order. `beside` is the memory kept beside them, in
    /// bytes.
    ///
    /// # Errors
    /// 701 if the query gets no memory for them.
    pub(super) fn retain(&mut self, places: &[usize], beside: usize) -> Result<()> {
        let mut values = FreedInPieces(Vec::with_capacity(places.len() * self.width));
        let mut rows = Vec::with_capacity(places.len() * self.row_width);
        for &i in places {
            let kept = &mut self.values[i * self.width..][..self.width];
            values.extend(kept.iter_mut().map(std::mem::take));
            rows.extend_from_slice(&self.rows[i * self.row_width..][..self.row_width]);
        }
        self.values = values;
        self.rows = rows;
        self.count = places.len();
        self.charge.set(beside)?;
        self.charge.add_row(self.values.iter())
    }
}

/// Sets the registers of an outer join's missing side to NULL.
pub(super) fn clear(live: &Live, cx: &mut Cx<'_>, rows: &mut Rows<'_>) {
    for register in &live.registers {
        cx.registers[register.index()] = Value::Null;
    }
    for &number in &live.rows {
        rows.set(number, None);
    }
}

/// Encoded keys of buffered rows, stored consecutively.
#[derive(Default)]
pub struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    /// Adds the key that `write` appends.
    pub(super) fn push<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        write(&mut self.bytes)?;
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// Adds an encoded key.
    pub fn push_bytes(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// Removes all keys; keeps the allocation.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Returns the key of row `i`.
    pub fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    /// Returns the memory of one key of the last one's length, in bytes.
    pub(super) fn last_size(&self) -> usize {
        self.ends.last().map_or(0, |_| self.get(self.len() - 1).len() + size_of::<usize>())
    }

    /// Returns the memory of all keys, in bytes.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>()
    }

    /// Returns the allocated memory, in bytes.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>()
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps only the keys at `places`, in that order.
    pub fn retain(&mut self, places: &[usize]) {
        let mut kept = Self::default();
        for &i in places {
            kept.bytes.extend_from_slice(self.get(i));
            kept.ends.push(kept.bytes.len());
        }
        *self = kept;
    }
}
