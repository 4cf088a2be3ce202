//! Scans Parquet files: the reader fills the vectors of a batch.

use sos::ledger::{self, Label};
use types::{Msg, Result};

use super::{Flow, Operator, Receive, Rows};
use executor::bulk::rowset::Batches;
use executor::{Cx, fault};
use plan::expr::Register;
use plan::query::{BulkFormat, BulkScan};
use plan::walk::Registers;

/// A scan of the row groups of Parquet files.
pub(super) struct FileScan<'p> {
    scan: &'p BulkScan,
    /// For each column of the batches, its ordinal in the format.
    ordinals: Vec<u16>,
    layout: Vec<Register>,
}

impl<'p> FileScan<'p> {
    /// Makes a scan; `None` if the files are not Parquet files.
    pub(super) fn new(scan: &'p BulkScan, needed: &Registers) -> Option<Self> {
        if !matches!(scan.format, BulkFormat::Parquet(_)) {
            return None;
        }
        let read = scan.columns.iter().copied().filter(|c| needed.contains(c.1));
        let (ordinals, layout) = read.unzip();
        Some(Self { scan, ordinals, layout })
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
        let share = cx.parallel.share_of(self.scan);
        let batches = Batches::of(self.scan, self.ordinals.iter().copied(), share);
        let mut batches = batches.ok_or(Msg::InternalError)?;
        let mut batch = batches.new_batch();
        loop {
            let read = {
                let _label = ledger::labelled(Label::Scan);
                batches.next(&mut batch, cx)?
            };
            if !read {
                return Ok(Flow::More);
            }
            fault::batch_passed(cx)?;
            if receive(cx, rows, &mut batch)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
    }
}
