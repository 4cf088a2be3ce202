//! `sys.dm_os_error_log`: the latest lines of the server's log. SQL Server has no view of it;
//! `sp_readerrorlog` and `xp_readerrorlog` read it.

use sos::error_log::{LogLine, lines};

use ::session::instance::datetime_of;
use metadata::column::{Column, DATETIME, INT, NVMAX, col, int, nv, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(usize, LogLine)>] = &[
    col("line", INT, |r| int(r.0)),
    col("log_date", DATETIME, |r| datetime_of(r.1.ticks)),
    // Which of its parts wrote a line, the server does not know.
    col("process_info", nv(50), |_| text("Server")),
    col("text", NVMAX, |r| text(&r.1.text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_error_log",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, (1..).zip(lines()))
}
