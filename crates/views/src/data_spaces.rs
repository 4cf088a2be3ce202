//! `sys.data_spaces`: filegroups and partition schemes.

use ::catalog::partition::filegroups;
use metadata::column::{
    BIT, Column, INT, SYSNAME, ascii, bit, ch, col, int, nv, opt, rows, shape, text,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("name", SYSNAME, |r| text(&r.name)),
    col("data_space_id", INT, |r| int(r.id)),
    col("type", ch(2), |r| ascii(r.kind.0)),
    opt("type_desc", nv(60), |r| text(r.kind.1)),
    opt("is_default", BIT, |r| bit(r.id == 1)),
    opt("is_system", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "data_spaces",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    id: i32,
    name: String,
    /// The values of `type` and `type_desc`.
    kind: (&'static str, &'static str),
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let groups = (1..).zip(filegroups(&scope.database.files)).map(|(id, group)| Row {
        id,
        name: group.filegroup.clone(),
        kind: match group.memory_optimized {
            true => ("FX", "MEMORY_OPTIMIZED_DATA_FILEGROUP"),
            false => ("FG", "ROWS_FILEGROUP"),
        },
    });
    let schemes = scope.database.partition_schemes.values().map(|scheme| Row {
        id: scheme.id,
        name: scheme.name.clone(),
        kind: ("PS", "PARTITION_SCHEME"),
    });
    groups.chain(schemes).collect()
}
