//! `sys.servers`: this server only; linked servers do not exist here.

use types::Value;

use metadata::column::{
    BIT, Column, DATETIME, INT, SYSNAME, bit, col, int, nv, opt, rows, shape, text, unknown,
};
use metadata::{Rows, Scope, SystemView};

/// The columns, read from the server's name and start time.
const COLUMNS: &[Column<(String, Value)>] = &[
    col("server_id", INT, |_| int(0)),
    col("name", SYSNAME, |r| text(&r.0)),
    col("product", SYSNAME, |_| text("SQL Server")),
    col("provider", SYSNAME, |_| text("SQLNCLI")),
    opt("data_source", nv(4000), |r| text(&r.0)),
    unknown("location", nv(4000)),
    unknown("provider_string", nv(4000)),
    unknown("catalog", SYSNAME),
    opt("connect_timeout", INT, |_| int(0)),
    opt("query_timeout", INT, |_| int(0)),
    col("is_linked", BIT, |_| bit(false)),
    col("is_remote_login_enabled", BIT, |_| bit(true)),
    col("is_rpc_out_enabled", BIT, |_| bit(true)),
    col("is_data_access_enabled", BIT, |_| bit(false)),
    col("is_collation_compatible", BIT, |_| bit(false)),
    col("uses_remote_collation", BIT, |_| bit(true)),
    unknown("collation_name", SYSNAME),
    col("lazy_schema_validation", BIT, |_| bit(false)),
    col("is_system", BIT, |_| bit(false)),
    col("is_publisher", BIT, |_| bit(false)),
    opt("is_subscriber", BIT, |_| bit(false)),
    opt("is_distributor", BIT, |_| bit(false)),
    opt("is_nonsql_subscriber", BIT, |_| bit(false)),
    opt("is_remote_proc_transaction_promotion_enabled", BIT, |_| bit(false)),
    col("modify_date", DATETIME, |r| r.1.clone()),
    opt("is_rda_server", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "sys", name: "servers", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    let instance = &scope.session.instance;
    rows(COLUMNS, [(instance.config.server_name.clone(), instance.started.clone())])
}
