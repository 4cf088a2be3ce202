//! `sys.time_zone_info`: the time zones that AT TIME ZONE accepts.

use metadata::column::{BIT, Column, SYSNAME, bit, col, nv, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(&'static str, i16, bool)>] = &[
    col("name", SYSNAME, |r| text(r.0)),
    col("current_utc_offset", nv(6), |r| {
        let sign = if r.1 < 0 { '-' } else { '+' };
        let minutes = r.1.unsigned_abs();
        text(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60))
    }),
    col("is_currently_dst", BIT, |r| bit(r.2)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "time_zone_info",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, functions::zones_now())
}
