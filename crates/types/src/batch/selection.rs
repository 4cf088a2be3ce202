//! `Selection`: the live rows of a batch.

use super::BATCH_ROWS;

/// Live rows of a batch in ascending order: all of them, or a list of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Whether the rows are `0..len`; then `rows` is not used.
    is_all: bool,
    len: usize,
    rows: Vec<u16>,
}

impl Selection {
    /// Makes a selection of the first `rows` rows.
    #[inline]
    pub fn all(rows: usize) -> Self {
        Self { is_all: true, len: rows, rows: Vec::new() }
    }

    /// Selects the first `rows` rows; keeps the memory.
    #[inline]
    pub fn set_all(&mut self, rows: usize) {
        self.is_all = true;
        self.len = rows;
    }

    /// Selects no row; [`Self::push`] adds them. Keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.is_all = false;
        self.len = 0;
        self.rows.clear();
    }

    /// Adds a row behind the last one.
    ///
    /// # Panics
    /// In debug builds, if it is not behind the last one or all rows are selected.
    #[inline]
    pub fn push(&mut self, row: usize) {
        debug_assert!(!self.is_all && self.rows.last().is_none_or(|last| usize::from(*last) < row));
        self.rows.push(number(row));
        self.len += 1;
    }

    /// Selects what `source` selects; keeps the memory.
    pub fn copy_from(&mut self, source: &Self) {
        self.is_all = source.is_all;
        self.len = source.len;
        self.rows.clear();
        if !source.is_all {
            self.rows.extend_from_slice(&source.rows);
        }
    }

    /// Returns the number of live rows.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no row is live.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the numbers of the live rows; `None` if they are `0..len`.
    #[inline]
    pub fn list(&self) -> Option<&[u16]> {
        (!self.is_all).then_some(&self.rows)
    }

    /// Returns the live rows.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        let (dense, list) =
            if self.is_all { (0..self.len, &[][..]) } else { (0..0, self.rows.as_slice()) };
        dense.chain(list.iter().map(|row| usize::from(*row)))
    }

    /// Calls `see` for each live row; the compiler can vectorise the loop over `0..len`.
    #[inline]
    pub fn for_each(&self, mut see: impl FnMut(usize)) {
        match self.list() {
            None => (0..self.len).for_each(see),
            Some(rows) => rows.iter().for_each(|row| see(usize::from(*row))),
        }
    }

    /// Calls `see` for each live row until it fails.
    ///
    /// # Errors
    /// Those of `see`.
    #[inline]
    pub fn try_for_each<E>(&self, mut see: impl FnMut(usize) -> Result<(), E>) -> Result<(), E> {
        match self.list() {
            None => (0..self.len).try_for_each(see),
            Some(rows) => rows.iter().try_for_each(|row| see(usize::from(*row))),
        }
    }

    /// Selects the rows of `source` for which `keep` is true. The loop has no branch on `keep`, so
    /// its cost does not depend on the data.
    #[inline]
    pub fn filter(&mut self, source: &Self, mut keep: impl FnMut(usize) -> bool) {
        self.is_all = false;
        self.rows.resize(source.len, 0);
        let mut len = 0;
        let rows = self.rows.as_mut_slice();
        match source.list() {
            None => {
                for row in 0..source.len {
                    rows[len] = number(row);
                    len += usize::from(keep(row));
                }
            }
            Some(list) => {
                for row in list {
                    rows[len] = *row;
                    len += usize::from(keep(usize::from(*row)));
                }
            }
        }
        self.rows.truncate(len);
        self.len = len;
    }

    /// Drops the rows that `other` selects too.
    pub fn remove(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.is_all {
            self.rows.clear();
            self.rows.extend((0..self.len).map(number));
            self.is_all = false;
        }
        let mut gone = other.iter().peekable();
        self.rows.retain(|row| {
            let row = usize::from(*row);
            while gone.next_if(|g| *g < row).is_some() {}
            gone.peek() != Some(&row)
        });
        self.len = self.rows.len();
    }

    /// Adds the rows that `other` selects, of which none is selected here.
    pub fn merge(&mut self, other: &Self) {
        if self.is_empty() {
            self.copy_from(other);
            return;
        }
        if other.is_empty() {
            return;
        }
        debug_assert!(!self.is_all, "two disjoint selections are none of them all rows");
        self.rows.extend(other.iter().map(number));
        // The sort merges the two ascending runs.
        self.rows.sort();
        self.len = self.rows.len();
    }
}

/// Narrows a row number.
#[expect(clippy::cast_possible_truncation, reason = "a batch has no more rows than u16 counts")]
#[inline]
fn number(row: usize) -> u16 {
    debug_assert!(row < BATCH_ROWS * 64, "row {row} is in a batch");
    row as u16
}
