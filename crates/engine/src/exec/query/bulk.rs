//! OPENROWSET(BULK ..) in row mode.

use types::Result;

use super::{Flow, Receive, Rows};
use crate::exec::bulk::rowset::{self, Batches};
use crate::exec::{Cx, fault};
use crate::plan::query::{BulkFormat, BulkScan};

/// Gives the rows of a file.
pub(super) fn run<'p>(
    scan: &'p BulkScan,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    let columns = match &scan.format {
        BulkFormat::Parquet(columns) => columns,
        BulkFormat::Single(data_type) => {
            let value = rowset::single(&scan.path, *data_type)?;
            for (_, register) in &scan.columns {
                cx.registers[register.index()] = value.clone();
            }
            return receive(cx, rows);
        }
    };
    let mut batches = Batches::open(&scan.path, columns, scan.columns.iter().map(|c| c.0))?;
    let mut batch = batches.new_batch();
    while batches.next(&mut batch)? {
        fault::check_cancel(cx)?;
        for row in 0..batch.rows() {
            for ((_, register), column) in scan.columns.iter().zip(&batch.columns) {
                cx.registers[register.index()] = column.get(row);
            }
            if receive(cx, rows)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
    }
    Ok(Flow::More)
}
