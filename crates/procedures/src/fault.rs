//! `sp_clearway_fault @fault, @milliseconds`: wastes time in a way that the time ledger must
//! detect.
//!
//! For tests: only builds with debug assertions have it.

use std::time::Duration;

use types::Msg;

use crate::procedure::{SystemProcedure, text, whole};
use ::executor::Cx;
use interpreter::{Argument, Stop};

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_clearway_fault", id: 0, run: fault }];

/// Longest fault in milliseconds, so that a typing error does not stop a server.
const MILLISECONDS_MAX: i64 = 10_000;

fn fault(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let fault = text(arguments, 0, "@fault", cx)?.unwrap_or_default();
    let milliseconds = whole(arguments, 1, "@milliseconds").unwrap_or(0);
    let milliseconds = milliseconds.clamp(0, MILLISECONDS_MAX).unsigned_abs();
    let duration = Duration::from_millis(milliseconds);
    match fault.as_str() {
        "sleep" => sos::faults::sleep(duration),
        "call_kernel" => sos::faults::call_kernel(duration),
        "hold" => sos::faults::hold(duration),
        "contend" => sos::faults::contend(),
        "compute" => sos::faults::compute(duration),
        other => return Err(Msg::NotSupported(&format!("fault '{other}'")).into()),
    }
    Ok(0)
}
