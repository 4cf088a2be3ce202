//! `sys.foreign_key_columns`: the columns of foreign keys.

use metadata::column::{Column, INT, col, int, rows, shape};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("constraint_object_id", INT, |r| int(r.constraint)),
    col("constraint_column_id", INT, |r| int(r.id)),
    col("parent_object_id", INT, |r| int(r.table)),
    col("parent_column_id", INT, |r| int(r.column)),
    col("referenced_object_id", INT, |r| int(r.referenced)),
    col("referenced_column_id", INT, |r| int(r.referenced_column)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "foreign_key_columns",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    constraint: i32,
    id: i32,
    table: i32,
    column: i32,
    referenced: i32,
    referenced_column: i32,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let mut found = Vec::new();
    for table in scope.database.tables() {
        for foreign in &table.foreign_keys {
            let pairs = foreign.columns.iter().zip(&foreign.referenced_columns);
            for (id, (column, referenced_column)) in (1..).zip(pairs) {
                found.push(Row {
                    constraint: foreign.id,
                    id,
                    table: table.id,
                    column: i32::from(*column) + 1,
                    referenced: foreign.referenced,
                    referenced_column: i32::from(*referenced_column) + 1,
                });
            }
        }
    }
    found
}
