//! `sys.dm_server_services`: the server's own process.

use types::{DataType, Value};

use metadata::column::{Column, INT, col, int, nv, opt, or_null, rows, shape, text, unknown};
use metadata::{Rows, Scope, SystemView};
use types::date::Moment;

const COLUMNS: &[Column<Row>] = &[
    col("servicename", nv(256), |_| text("SQL Server (MSSQLSERVER)")),
    unknown("startup_type", INT),
    unknown("startup_type_desc", nv(256)),
    opt("status", INT, |_| int(4)),
    opt("status_desc", nv(256), |_| text("Running")),
    opt("process_id", INT, |_| int(std::process::id())),
    opt("last_startup_time", DataType::DateTimeOffset(7), |r| r.started.clone()),
    unknown("service_account", nv(256)),
    opt("filename", nv(256), |r| or_null(r.file.as_deref(), text)),
    opt("is_clustered", nv(1), |_| text("N")),
    unknown("cluster_nodename", nv(256)),
    opt("instant_file_initialization_enabled", nv(1), |_| text("N")),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_server_services",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Row {
    started: Value,
    file: Option<String>,
}

fn read(scope: &Scope<'_>) -> Rows {
    let started = Moment::from_value(&scope.session.instance.started);
    let started = started.and_then(|at| at.to_value(&DataType::DateTimeOffset(7)).ok());
    let file = std::env::current_exe().ok().map(|path| path.display().to_string());
    rows(COLUMNS, [Row { started: started.unwrap_or(Value::Null), file }])
}
