//! `sys.endpoints`: the one endpoint that clients connect to.

use types::Value;

use metadata::column::{
    BIT, Column, INT, SYSNAME, TINYINT, bit, col, int, nv, opt, rows, shape, text,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<()>] = &[
    col("name", SYSNAME, |()| text("TSQL Default TCP")),
    col("endpoint_id", INT, |()| int(4)),
    opt("principal_id", INT, |()| int(1)),
    col("protocol", TINYINT, |()| Value::TinyInt(2)),
    opt("protocol_desc", nv(60), |()| text("TCP")),
    col("type", TINYINT, |()| Value::TinyInt(2)),
    opt("type_desc", nv(60), |()| text("TSQL")),
    opt("state", TINYINT, |()| Value::TinyInt(0)),
    opt("state_desc", nv(60), |()| text("STARTED")),
    col("is_admin_endpoint", BIT, |()| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "endpoints",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, [()])
}
