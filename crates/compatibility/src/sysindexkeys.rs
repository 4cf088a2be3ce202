//! `sysindexkeys`: key columns of indexes.

use metadata::column::{Column, INT, SMALLINT, col, int, rows, shape, small};
use metadata::types::index_rows_with_types;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("id", INT, |r| int(r.table)),
    col("indid", SMALLINT, |r| small(r.index)),
    col("colid", SMALLINT, |r| small(r.column)),
    col("keyno", SMALLINT, |r| small(r.place)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysindexkeys",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Row {
    table: i32,
    index: i32,
    column: i32,
    place: i32,
}

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for row in index_rows_with_types(scope.session, scope.database) {
        let Some(index) = row.index() else { continue };
        for (place, (ordinal, _)) in (1..).zip(&index.keys) {
            let column = i32::from(*ordinal) + 1;
            found.push(Row { table: row.table.id, index: index.id, column, place });
        }
    }
    rows(COLUMNS, found)
}
