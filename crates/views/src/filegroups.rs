//! `sys.filegroups` and the compatibility view `sysfilegroups`: filegroups as declared.

use types::Value;

use ::catalog::name::Name;
use metadata::column::{
    BIT, Column, GUID, INT, SMALLINT, SYSNAME, ascii, bit, ch, col, int, nv, opt, rows, shape,
    small, text, unknown,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("data_space_id", INT, |r| int(r.id)),
    col("type", ch(2), |r| ascii(if r.memory_optimized { "FX" } else { "FG" })),
    opt("type_desc", nv(60), |r| {
        text(if r.memory_optimized { "MEMORY_OPTIMIZED_DATA_FILEGROUP" } else { "ROWS_FILEGROUP" })
    }),
    opt("is_default", BIT, |r| bit(r.id == 1)),
    opt("is_system", BIT, |_| bit(false)),
    opt("filegroup_guid", GUID, |_| Value::Null),
    opt("log_filegroup_id", INT, |_| Value::Null),
    opt("is_read_only", BIT, |_| bit(false)),
    opt("is_autogrow_all_files", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "filegroups",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

const COMPATIBILITY_COLUMNS: &[Column<Row>] = &[
    opt("groupid", SMALLINT, |r| small(r.id)),
    unknown("allocpolicy", SMALLINT),
    // 0x8: read-only, 0x10: the default.
    opt("status", INT, |r| int(if r.id == 1 { 0x10 } else { 0 })),
    col("groupname", SYSNAME, |r| text(&r.name)),
];

/// The compatibility view `sysfilegroups` of the same rows.
pub(crate) static COMPATIBILITY_VIEW: SystemView = SystemView {
    schema: "",
    name: "sysfilegroups",
    columns: || shape(COMPATIBILITY_COLUMNS),
    rows: |scope| rows(COMPATIBILITY_COLUMNS, items(scope)),
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    id: i32,
    name: String,
    memory_optimized: bool,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let mut found: Vec<Row> = Vec::new();
    for file in scope.database.files.iter().filter(|f| !f.log) {
        if !found.iter().any(|g| Name::same(&g.name, &file.filegroup)) {
            let id = i32::try_from(found.len() + 1).unwrap_or(i32::MAX);
            let name = file.filegroup.clone();
            found.push(Row { id, name, memory_optimized: file.memory_optimized });
        }
    }
    found
}
