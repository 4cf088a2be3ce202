//! Scans of Parquet files: the reader fills the vectors of a batch.

use sos::ledger::{self, Label};
use types::{DataType, Result};

use super::{Flow, Operator, Receive, Rows};
use crate::exec::bulk::rowset::{self, Batches};
use crate::exec::{Cx, fault};
use crate::plan::expr::Register;
use crate::plan::query::BulkScan;
use crate::plan::walk::Registers;

/// A scan of a Parquet file.
pub(super) struct FileScan<'p> {
    scan: &'p BulkScan,
    columns: &'p [(parquet_io::Column, usize, DataType)],
    /// By column of the batches, its ordinal in the format.
    ordinals: Vec<u16>,
    layout: Vec<Register>,
}

impl<'p> FileScan<'p> {
    /// Makes one; `None` for a file that is no Parquet file.
    pub(super) fn new(scan: &'p BulkScan, needed: &Registers) -> Option<Self> {
        let columns = rowset::parquet_columns(scan)?;
        let read = scan.columns.iter().copied().filter(|c| needed.contains(c.1));
        let (ordinals, layout) = read.unzip();
        Some(Self { scan, columns, ordinals, layout })
    }
}

impl<'p> Operator<'p> for FileScan<'p> {
    fn layout(&self) -> &[Register] {
        &self.layout
    }

    fn run(
        &mut self,
        cx: &mut Cx<'_>,
        rows: &mut Rows<'p>,
        receive: Receive<'_, 'p>,
    ) -> Result<Flow> {
        let label = ledger::labelled(Label::Scan);
        let ordinals = self.ordinals.iter().copied();
        let mut batches = Batches::open(&self.scan.path, self.columns, ordinals)?;
        let mut batch = batches.new_batch();
        drop(label);
        loop {
            let read = {
                let _label = ledger::labelled(Label::Scan);
                batches.next(&mut batch)?
            };
            if !read {
                return Ok(Flow::More);
            }
            fault::check_cancel(cx)?;
            if receive(cx, rows, &mut batch)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
    }
}
