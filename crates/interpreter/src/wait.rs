//! WAITFOR DELAY and WAITFOR TIME. What the batch has answered so far stays buffered, as on SQL Server:
//! only RAISERROR .. WITH NOWAIT sends it.

use std::time::Duration;

use sos::park::{self, Wake};
use sos::wait::WaitType;
use types::date::{Moment, TICKS_PER_DAY};
use types::value::ColumnType;
use types::{DataType, Mode, Msg, Value};

use crate::{Runner, Stop, ended};
use ::executor::Cx;
use ::plan::program::Leaf;
use ::plan::sink::Command;

impl Runner<'_> {
    pub(crate) fn wait_for(&self, until: bool, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let value = self.value(leaf, cx)?;
        let ticks = time_of_day(&value, cx)?;
        let delay = if until { (ticks - cx.now().ticks).rem_euclid(TICKS_PER_DAY) } else { ticks };
        let delay = Duration::from_nanos(u64::try_from(delay).unwrap_or(0).saturating_mul(100));
        let cancel = std::sync::Arc::clone(&cx.session.connection.cancel);
        match park::sleep(delay, WaitType::WaitFor, Some(&cancel)) {
            Wake::Cancelled => Err(Stop::Cancelled),
            Wake::Signalled | Wake::TimedOut => Ok(ended(cx, Command::NONE, None)?),
        }
    }
}

/// Converts a time string or a `datetime` to ticks of 100 ns since midnight.
fn time_of_day(value: &Value, cx: &Cx<'_>) -> Result<i64, Stop> {
    let text = metadata::format::text_of(value, cx.session)?.unwrap_or_default();
    if let Some(moment) = Moment::from_value(value) {
        return Ok(moment.ticks);
    }
    let of =
        |data_type| ColumnType { data_type, collation: cx.session.collation(), nullable: true };
    let from = of(match value {
        Value::NVarChar(_) => DataType::NVarChar(types::Length::Max),
        _ => DataType::VarChar(types::Length::Max),
    });
    let to = of(DataType::Time(7));
    match types::convert(value, &from, &to, 0, Mode::Try, &cx.convert_options()) {
        Ok(Value::Time(ticks)) => Ok(ticks),
        _ => Err(Msg::WaitForSyntax(&text).into()),
    }
}
