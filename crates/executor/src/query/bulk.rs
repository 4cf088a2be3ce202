//! Scans files in row mode: OPENROWSET(BULK ..) and external tables.

use types::{Msg, Result};

use super::{Flow, Receive, Rows};
use crate::bulk::rowset::{self, Batches};
use crate::bulk::scan as text;
use crate::{Cx, fault};
use plan::query::{BulkFormat, BulkScan};

/// Reads the rows of the files and passes them on.
pub(super) fn run<'p>(
    scan: &'p BulkScan,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    receive: Receive<'_, 'p>,
) -> Result<Flow> {
    if let BulkFormat::Single(data_type) = &scan.format {
        let value = rowset::single(&scan.name, *data_type)?;
        for (_, register) in &scan.columns {
            cx.registers[register.index()] = value.clone();
        }
        return receive(cx, rows);
    }
    if let BulkFormat::Text(format) = &scan.format {
        return text::run(scan, format, cx, &mut |cx| receive(cx, rows));
    }
    let batches = Batches::of(scan, scan.columns.iter().map(|c| c.0), None);
    let mut batches = batches.ok_or(Msg::InternalError)?;
    let mut batch = batches.new_batch();
    while batches.next(&mut batch, cx)? {
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
