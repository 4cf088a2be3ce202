//! The hash table of a hash join: key numbers, chains of rows, and the rows stored by column.

use crate::long_keys::with_keys;
use std::sync::Arc;

use types::Result;
use types::batch::{Batch, Selection, Vector};

use crate::interner::Unknown;
use crate::kernel::Kernel;
use crate::keys::{KeyRows, Keys};
use crate::restrict::{KeyFilter, Restriction, is_restrictable};
use crate::store::Store;
use crate::table::{KeyTable, NONE};
use executor::Cx;
use executor::grant::Charge;
use plan::expr::{Expr, ExprKind};

/// The stored rows of one side. Immutable after it is built.
pub(super) struct Built {
    pub(super) numbers: KeyTable,
    /// For each key, the last row with it.
    pub(super) heads: Vec<u32>,
    /// For each row, the previous row with the same key.
    pub(super) next: Vec<u32>,
    pub(super) is_unique: bool,
    /// Whether the only row of each key has the key's number.
    rows_are_numbers: bool,
    /// The rows, followed by a row of NULLs.
    pub(super) store: Store,
    /// Its share of the query's memory grant, as long as it exists.
    pub(super) charge: Option<Charge>,
}

impl Built {
    pub(super) fn new(store: Store) -> Self {
        Self {
            numbers: KeyTable::new(0),
            heads: Vec::new(),
            next: Vec::new(),
            is_unique: true,
            rows_are_numbers: true,
            store,
            charge: None,
        }
    }

    /// Adds the rows of a batch with the given key numbers. Rows at the positions `without` have no
    /// key; they are stored only if `keeps_all`.
    pub(super) fn add(
        &mut self,
        batch: &Batch,
        numbers: &[u32],
        without: &[usize],
        keeps_all: bool,
    ) {
        self.heads.resize(self.numbers.len(), NONE);
        if without.is_empty() {
            numbers.iter().for_each(|number| self.chain(*number));
            self.store.push(batch, &batch.selection);
            return;
        }
        // A key with a NULL may have a number, but it has no row to be found.
        self.rows_are_numbers = false;
        let mut without = without.iter().copied().peekable();
        let mut kept = Selection::default();
        kept.clear();
        for (place, (row, number)) in batch.selection.iter().zip(numbers).enumerate() {
            let is_whole = without.next_if_eq(&place).is_none();
            if !is_whole && !keeps_all {
                continue;
            }
            kept.push(row);
            if is_whole {
                self.chain(*number);
            } else {
                self.next.push(NONE);
            }
        }
        self.store.push(batch, &kept);
    }

    /// Adds the next row to the chain of its key.
    #[inline]
    fn chain(&mut self, number: u32) {
        let this = u32::try_from(self.next.len()).expect("a join keeps fewer than 2^32 rows");
        let last = std::mem::replace(&mut self.heads[number as usize], this);
        self.is_unique &= last == NONE;
        self.rows_are_numbers &= number == this;
        self.next.push(last);
    }

    /// Finds the last row with each key; `NONE` if there is none.
    pub(super) fn find(&self, keys: &KeyRows, found: &mut Vec<u32>) {
        found.clear();
        self.numbers.find_all(&keys.words, keys.rows, found);
        keys.without.iter().for_each(|place| found[*place] = NONE);
        if self.rows_are_numbers {
            return;
        }
        for number in found {
            // NONE is greater than all key numbers.
            *number = self.heads.get(*number as usize).copied().unwrap_or(NONE);
        }
    }

    pub(super) fn finish(&mut self) {
        if self.store.columns.is_empty() {
            self.store.columns = self.store.layout.iter().map(|_| Vector::empty()).collect();
        }
        self.store.columns.iter_mut().for_each(Vector::push_null);
    }

    /// Returns the restrictions of the other side's columns that follow from the stored keys.
    pub(super) fn restrictions<'e>(
        &self,
        keys: &Keys,
        others: impl Iterator<Item = &'e Expr>,
    ) -> Vec<Restriction> {
        let mut found = Vec::new();
        for (column, other) in others.enumerate() {
            let ExprKind::Column(register) = other.kind else { continue };
            if !is_restrictable(&other.ty.data_type) {
                continue;
            }
            let words = self.numbers.words().iter().skip(keys.place(column));
            let words = words.step_by(keys.width()).copied();
            if let Some(keys) = KeyFilter::new(words) {
                found.push(Restriction { register, keys: Arc::new(keys) });
            }
        }
        found
    }

    /// Returns empty vectors of the same form as the stored columns.
    pub(super) fn forms(&self) -> impl Iterator<Item = Vector> {
        self.store.columns.iter().map(|column| Vector::of_type(column.data_type()))
    }

    pub(super) fn memory(&self) -> usize {
        let links = self.heads.len() + self.next.len();
        self.numbers.memory() + self.store.memory() + links * size_of::<u32>()
    }

    /// Returns the number of the row of NULLs.
    pub(super) fn null_row(&self) -> u32 {
        u32::try_from(self.store.len).unwrap_or(NONE)
    }
}

/// Encodes the keys of a batch's rows.
pub(super) fn encode(
    keys: &mut Keys,
    kernels: &mut [Kernel<'_>],
    batch: &Batch,
    unknown: Unknown,
    key_rows: &mut KeyRows,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let mut vectors = Vec::with_capacity(kernels.len());
    for kernel in kernels {
        vectors.push(kernel.evaluate(batch, &batch.selection, cx)?);
    }
    with_keys(&vectors, &batch.selection, cx, || {
        keys.encode(&vectors, &batch.selection, unknown, key_rows);
    })
}
