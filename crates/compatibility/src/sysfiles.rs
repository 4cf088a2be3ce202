//! `sysfiles`: files of a database as declared; nothing is stored in them.

use ::catalog::DatabaseFile;
use metadata::column::{
    Column, INT, SMALLINT, SYSNAME, col, int, nv, opt, rows, shape, small, text, unknown,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i32, DatabaseFile)>] = &[
    opt("fileid", SMALLINT, |r| small(r.0)),
    opt("groupid", SMALLINT, |r| small(i32::from(!r.1.log))),
    col("size", INT, |_| int(0)),
    col("maxsize", INT, |_| int(-1)),
    col("growth", INT, |_| int(0)),
    opt("status", INT, |r| int(status(&r.1))),
    unknown("perf", INT),
    col("name", SYSNAME, |r| text(&r.1.name)),
    col("filename", nv(260), |r| text(&r.1.path)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "", name: "sysfiles", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, (1..).zip(scope.database.files.iter().cloned()))
}

/// Returns `status`, with the bits for a disk file and for a log.
pub(crate) fn status(file: &DatabaseFile) -> i32 {
    0x2 + if file.log { 0x40 } else { 0 }
}
