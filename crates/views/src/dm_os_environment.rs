//! `sys.dm_os_environment`: what the machine and the container allow the server, with a warning
//! where one slows it down. SQL Server has no such view.

use sos::sys::Fact;

use metadata::column::{Column, col, nv, opt, or_null, rows, shape, text};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Fact>] = &[
    col("name", nv(60), |fact| text(fact.name)),
    col("value", nv(60), |fact| text(&fact.value)),
    opt("warning", nv(400), |fact| or_null(fact.warning.as_deref(), text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_environment",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, sos::sys::environment())
}
