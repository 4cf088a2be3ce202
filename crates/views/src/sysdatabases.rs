//! `sysdatabases`: the compatibility view of `sys.databases`.

use std::sync::Arc;

use types::Value;

use ::catalog::Database;
use metadata::column::{
    Column, DATETIME, INT, SMALLINT, SYSNAME, TINYINT, binary, col, int, nv, opt, rows, shape,
    small, text, vb,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Arc<Database>>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("dbid", SMALLINT, |r| small(r.id)),
    col("sid", vb(85), |_| binary(&[1])),
    col("mode", SMALLINT, |_| small(0)),
    col("status", INT, |_| int(0)),
    col("status2", INT, |_| int(0)),
    col("crdate", DATETIME, |r| r.created.clone()),
    col("reserved", DATETIME, |_| Value::DateTime { days: 0, ticks: 0 }),
    col("category", INT, |_| int(0)),
    col("cmptlevel", TINYINT, |r| Value::TinyInt(r.options.compatibility_level)),
    opt("filename", nv(260), |r| r.files.first().map_or(Value::Null, |f| text(&f.path))),
    opt("version", SMALLINT, |_| Value::Null),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysdatabases",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.catalog.databases.values().map(Arc::clone))
}
