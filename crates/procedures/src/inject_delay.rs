//! `sys.sp_inject_delay @point, @class, @microseconds, @seconds`: injects a small delay at one point
//! of the server for a bounded time, to see what it does to the throughput. `clearway diagnose
//! --confirm` calls it. 0 microseconds, or no point, end the injection. SQL Server has no such
//! procedure.

use std::time::Duration;

use sos::inject::{self, Kind, Point};
use types::{Error, Msg};

use crate::procedure::{SystemProcedure, text, whole};
use ::executor::Cx;
use interpreter::{Argument, Stop};

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_inject_delay", id: 0, run: inject_delay }];

/// The number of the error for a point that does not exist: as for other wrong arguments.
const WRONG_ARGUMENT: i32 = 15_600;

fn inject_delay(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    if !cx.session.identity.rights.alters_state(&cx.session.catalog) {
        return Err(Msg::ServerPermissionDenied("ALTER SERVER STATE").into());
    }
    if arguments.len() > 4 {
        return Err(Msg::TooManyArguments("sp_inject_delay").into());
    }
    let kind = text(arguments, 0, "@point", cx)?.unwrap_or_default();
    let class = text(arguments, 1, "@class", cx)?.unwrap_or_default();
    let number = |place, name| whole(arguments, place, name).unwrap_or(0).max(0).unsigned_abs();
    let delay = Duration::from_micros(number(2, "@microseconds"));
    let length = Duration::from_secs(number(3, "@seconds"));
    if kind.is_empty() || delay.is_zero() {
        inject::end();
        return Ok(0);
    }
    let known = Kind::ALL.iter().copied().find(|known| known.name() == kind);
    let Some(point) = known.and_then(|kind| Point::new(kind, &class)) else {
        let text = format!(
            "sp_inject_delay: there is no point '{kind}' of class '{class}'. Points are request, \
             locks, log, and spin with the name of a spinlock."
        );
        return Err(Error::custom(WRONG_ARGUMENT, 15, 1, text).into());
    };
    inject::begin(point, delay, length);
    Ok(0)
}
