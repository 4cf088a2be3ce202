//! `sys.database_filestream_options`: a row for each database, none of which has FileTables.

use types::Value;

use metadata::column::{Column, INT, TINYINT, col, int, nv, opt, rows, shape, text, unknown};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<i16>] = &[
    col("database_id", INT, |id| int(*id)),
    unknown("directory_name", nv(255)),
    col("non_transacted_access", TINYINT, |_| Value::TinyInt(0)),
    opt("non_transacted_access_desc", nv(60), |_| text("NONE")),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "database_filestream_options",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.session.catalog.databases.values().map(|database| database.id))
}
