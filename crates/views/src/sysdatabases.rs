//! `sysdatabases`: the compatibility view of `sys.databases`.

use std::sync::Arc;

use types::Value;

use ::catalog::Database;
use metadata::column::{
    Column, DATETIME, INT, SMALLINT, SYSNAME, TINYINT, binary, col, int, nv, opt, rows, shape,
    small, text, vb,
};
use metadata::database_state::DatabaseState;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("name", SYSNAME, |r| text(&r.database.name)),
    col("dbid", SMALLINT, |r| small(r.database.id)),
    col("sid", vb(85), |_| binary(&[1])),
    col("mode", SMALLINT, |_| small(0)),
    col("status", INT, |r| int(r.state.status_bit())),
    col("status2", INT, |_| int(0)),
    col("crdate", DATETIME, |r| r.database.created.clone()),
    col("reserved", DATETIME, |_| Value::DateTime { days: 0, ticks: 0 }),
    col("category", INT, |_| int(0)),
    col("cmptlevel", TINYINT, |r| Value::TinyInt(r.database.options.compatibility_level)),
    opt("filename", nv(260), |r| r.database.files.first().map_or(Value::Null, |f| text(&f.path))),
    opt("version", SMALLINT, |_| Value::Null),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysdatabases",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Row {
    database: Arc<Database>,
    state: DatabaseState,
}

fn read(scope: &Scope<'_>) -> Rows {
    let row = |database: &Arc<Database>| {
        let state = DatabaseState::of(scope.session, database);
        Row { database: Arc::clone(database), state }
    };
    rows(COLUMNS, scope.session.catalog.databases.values().map(row))
}
