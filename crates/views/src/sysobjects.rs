//! `sysobjects`: the compatibility view of `sys.objects`.

use metadata::column::{
    Column, DATETIME, INT, SMALLINT, SYSNAME, ascii, ch, col, int, opt, rows, shape, small, text,
};
use metadata::objects::{ObjectRow, all_objects};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<ObjectRow>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("id", INT, |r| int(r.id)),
    col("xtype", ch(2), |r| ascii(&format!("{:<2}", r.code))),
    col("uid", SMALLINT, |r| small(r.schema_id)),
    col("info", SMALLINT, |_| small(0)),
    col("status", INT, |_| int(0)),
    col("base_schema_ver", INT, |_| int(0)),
    col("replinfo", INT, |_| int(0)),
    col("parent_obj", INT, |r| int(r.parent_id)),
    col("crdate", DATETIME, |r| r.created.clone()),
    col("ftcatid", SMALLINT, |_| small(0)),
    col("schema_ver", INT, |_| int(0)),
    col("stats_schema_ver", INT, |_| int(0)),
    opt("type", ch(2), |r| ascii(&format!("{:<2}", old_type(r.code)))),
    col("userstat", SMALLINT, |r| small(i32::from(r.code == "U"))),
    col("sysstat", SMALLINT, |r| small(status_of(r.code))),
    col("indexdel", SMALLINT, |_| small(0)),
    col("refdate", DATETIME, |r| r.created.clone()),
    col("version", INT, |_| int(0)),
    col("deltrig", INT, |_| int(0)),
    col("instrig", INT, |_| int(0)),
    col("updtrig", INT, |_| int(0)),
    col("seltrig", INT, |_| int(0)),
    col("category", INT, |r| int(if r.system { 2 } else { 0 })),
    col("cache", SMALLINT, |_| small(0)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "", name: "sysobjects", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, all_objects(scope.session, scope.database))
}

/// Returns `type`, the code from before SQL Server 2005: `K` for all keys.
fn old_type(code: &'static str) -> &'static str {
    match code {
        "PK" | "UQ" => "K",
        other => other,
    }
}

/// Returns `sysstat`, whose low four bits say what an object is, as scripts of the first versions
/// ask.
fn status_of(code: &str) -> i16 {
    match code {
        "S" => 1,
        "V" => 2,
        "U" => 3,
        "P" => 4,
        "D" => 6,
        "R" => 7,
        "TR" => 8,
        _ => 0,
    }
}
