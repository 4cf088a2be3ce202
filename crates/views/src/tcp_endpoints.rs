//! `sys.tcp_endpoints`: the endpoint that clients connect to. Its port is 0: the port belongs to
//! the server, not to the endpoint.

use types::Value;

use metadata::column::{
    BIT, Column, INT, SYSNAME, TINYINT, bit, col, int, nv, opt, rows, shape, text, unknown,
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
    col("port", INT, |()| int(0)),
    col("is_dynamic_port", BIT, |()| bit(false)),
    unknown("ip_address", nv(45)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "tcp_endpoints",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, [()])
}
