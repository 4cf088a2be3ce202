//! `sysaltfiles`: files of all databases as declared; nothing is stored in them.

use super::sysfiles::status;
use ::catalog::DatabaseFile;
use metadata::column::{
    Column, INT, SMALLINT, SYSNAME, col, int, nv, opt, rows, shape, small, text, unknown,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i16, i32, DatabaseFile)>] = &[
    opt("fileid", SMALLINT, |r| small(r.1)),
    opt("groupid", SMALLINT, |r| small(i32::from(!r.2.log))),
    col("size", INT, |_| int(0)),
    col("maxsize", INT, |_| int(-1)),
    col("growth", INT, |_| int(0)),
    opt("status", INT, |r| int(status(&r.2))),
    unknown("perf", INT),
    opt("dbid", SMALLINT, |r| small(r.0)),
    col("name", SYSNAME, |r| text(&r.2.name)),
    col("filename", nv(260), |r| text(&r.2.path)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysaltfiles",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let session = scope.session;
    let databases = session.catalog.databases.values();
    let shown = databases.filter(|d| session.identity.rights.sees_files(&session.catalog, d));
    let files =
        shown.flat_map(|d| (1..).zip(&d.files).map(|(number, file)| (d.id, number, file.clone())));
    rows(COLUMNS, files)
}
