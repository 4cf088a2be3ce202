//! `sys.endpoints`: the endpoint that clients connect to, and that of the dedicated admin connection.

use types::Value;

use metadata::column::{
    BIT, Column, INT, SYSNAME, TINYINT, bit, col, int, nv, opt, rows, shape, text,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<bool>] = &[
    col("name", SYSNAME, |is_admin| text(name(*is_admin))),
    col("endpoint_id", INT, |is_admin| int(if *is_admin { 1 } else { 4 })),
    opt("principal_id", INT, |_| int(1)),
    col("protocol", TINYINT, |_| Value::TinyInt(2)),
    opt("protocol_desc", nv(60), |_| text("TCP")),
    col("type", TINYINT, |_| Value::TinyInt(2)),
    opt("type_desc", nv(60), |_| text("TSQL")),
    opt("state", TINYINT, |_| Value::TinyInt(0)),
    opt("state_desc", nv(60), |_| text("STARTED")),
    col("is_admin_endpoint", BIT, |is_admin| bit(*is_admin)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "endpoints",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

/// Returns the name of an endpoint.
pub(crate) const fn name(is_admin: bool) -> &'static str {
    if is_admin { "Dedicated Admin Connection" } else { "TSQL Default TCP" }
}

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, [true, false])
}
