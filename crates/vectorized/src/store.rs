//! `Store`: rows stored by column, for operators that need many rows before they return one.

use types::Result;
use types::batch::{BATCH_ROWS, Batch, Selection, Vector};

use super::{Flow, Receive, Rows};
use executor::{Cx, fault};
use plan::expr::Register;
use plan::walk::Registers;

/// The columns of all stored rows.
pub(super) struct Store {
    /// The registers of the columns.
    pub(super) layout: Vec<Register>,
    /// Positions of the columns in the input batches.
    places: Vec<usize>,
    /// The columns; empty until the first batch decides their form.
    pub(super) columns: Vec<Vector>,
    pub(super) len: usize,
    /// Bytes of long values in the rows, which are outside the vectors.
    outside: usize,
}

impl Store {
    /// Makes an empty store for the needed columns of batches with this layout.
    pub(super) fn new(layout: &[Register], needed: &Registers) -> Self {
        let kept = layout.iter().enumerate().filter(|(_, register)| needed.contains(**register));
        let (places, layout): (Vec<usize>, Vec<Register>) = kept.map(|(p, r)| (p, *r)).unzip();
        Self { layout, places, columns: Vec::new(), len: 0, outside: 0 }
    }

    /// Returns the positions of the columns in the input batches.
    pub(super) fn places(&self) -> &[usize] {
        &self.places
    }

    /// Returns the memory of the rows, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.outside + self.columns.iter().map(Vector::memory).sum::<usize>()
    }

    /// Stores the selected rows of a batch.
    pub(super) fn push(&mut self, batch: &Batch, selection: &Selection) {
        if self.columns.is_empty() {
            let form = |place: &usize| Vector::of_type(batch.columns[*place].data_type());
            self.columns = self.places.iter().map(form).collect();
        }
        for (column, place) in self.columns.iter_mut().zip(&self.places) {
            column.append(&batch.columns[*place], selection);
            self.outside += column.memory_outside(self.len);
        }
        self.len += selection.len();
    }

    /// Keeps only the rows with these numbers, in that order.
    pub(super) fn retain(&mut self, rows: &[u32]) {
        for column in &mut self.columns {
            let mut kept = Vector::of_type(column.data_type());
            kept.take(column, rows);
            *column = kept;
        }
        self.outside = self.columns.iter().map(|column| column.memory_outside(0)).sum();
        self.len = rows.len();
    }

    /// Passes on the rows with these numbers, in that order.
    pub(super) fn give<'p>(
        &self,
        order: &[u32],
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let empty = self.columns.iter().map(|c| Vector::of_type(c.data_type())).collect();
        let mut batch = Batch::new(empty);
        for part in order.chunks(BATCH_ROWS) {
            fault::batch_passed(cx)?;
            batch.clear();
            for (to, from) in batch.columns.iter_mut().zip(&self.columns) {
                to.take(from, part);
            }
            batch.set_rows(part.len());
            if receive(cx, rows, &mut batch)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}
