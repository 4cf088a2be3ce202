//! `sys.servers` and the compatibility view `sysservers`: this server only; linked servers do not exist here.

use types::Value;

use metadata::column::{
    BIT, Column, DATETIME, INT, SMALLINT, SYSNAME, bit, ch, col, int, nv, opt, rows, shape, small,
    text, unknown,
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

const COMPATIBILITY_COLUMNS: &[Column<(String, Value)>] = &[
    opt("srvid", SMALLINT, |_| small(0)),
    unknown("srvstatus", SMALLINT),
    col("srvname", SYSNAME, |r| text(&r.0)),
    col("srvproduct", SYSNAME, |_| text("SQL Server")),
    col("providername", SYSNAME, |_| text("SQLOLEDB")),
    opt("datasource", nv(4000), |r| text(&r.0)),
    unknown("location", nv(4000)),
    unknown("providerstring", nv(4000)),
    col("schemadate", DATETIME, |r| r.1.clone()),
    opt("topologyx", INT, |_| int(0)),
    opt("topologyy", INT, |_| int(0)),
    unknown("catalog", SYSNAME),
    unknown("srvcollation", SYSNAME),
    opt("connecttimeout", INT, |_| int(0)),
    opt("querytimeout", INT, |_| int(0)),
    unknown("srvnetname", ch(30)),
    opt("isremote", BIT, |_| bit(true)),
    opt("rpc", BIT, |_| bit(true)),
    opt("pub", BIT, |_| bit(false)),
    opt("sub", BIT, |_| bit(false)),
    opt("dist", BIT, |_| bit(false)),
    opt("dpub", BIT, |_| bit(false)),
    opt("rpcout", BIT, |_| bit(true)),
    opt("dataaccess", BIT, |_| bit(false)),
    opt("collationcompatible", BIT, |_| bit(false)),
    opt("system", BIT, |_| bit(false)),
    opt("useremotecollation", BIT, |_| bit(true)),
    opt("lazyschemavalidation", BIT, |_| bit(false)),
    unknown("collation", SYSNAME),
    opt("nonsqlsub", BIT, |_| bit(false)),
];

/// The compatibility view `sysservers` of the same row.
pub(crate) static COMPATIBILITY_VIEW: SystemView = SystemView {
    schema: "",
    name: "sysservers",
    columns: || shape(COMPATIBILITY_COLUMNS),
    rows: |scope| rows(COMPATIBILITY_COLUMNS, own(scope)),
    arity: 0,
};

/// Returns this server's name and start time.
fn own(scope: &Scope<'_>) -> [(String, Value); 1] {
    let instance = &scope.session.instance;
    [(instance.config.server_name.clone(), instance.started.clone())]
}

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, own(scope))
}
