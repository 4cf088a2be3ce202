//! `sys.external_file_formats`: format and compression of external tables' files.

use std::sync::Arc;

use types::Value;

use ::catalog::ExternalFileFormat;
use metadata::column::{BIT, Column, INT, SYSNAME, col, int, nv, opt, rows, shape, text, unknown};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Arc<ExternalFileFormat>>] = &[
    col("file_format_id", INT, |r| int(r.id)),
    col("name", SYSNAME, |r| text(&r.name)),
    col("format_type", nv(100), |_| text("PARQUET")),
    unknown("field_terminator", nv(10)),
    unknown("string_delimiter", nv(10)),
    unknown("date_format", nv(50)),
    unknown("use_type_default", BIT),
    unknown("serde_method", nv(255)),
    unknown("row_terminator", nv(10)),
    unknown("encoding", nv(10)),
    opt("data_compression", nv(255), |r| r.data_compression.as_deref().map_or(Value::Null, text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "external_file_formats",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, scope.database.file_formats.values().cloned())
}
