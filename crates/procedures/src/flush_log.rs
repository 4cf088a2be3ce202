//! sys.sp_flush_log: makes durable what was committed with delayed durability.

use crate::procedure::SystemProcedure;
use ::executor::Cx;
use interpreter::{Argument, Stop};

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_flush_log", id: 0, run: flush_log }];

fn flush_log(_: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let flushed = cx.session.instance.flush_log();
    flushed.map_err(|error| cx.session.storage_error(&error))?;
    Ok(0)
}
