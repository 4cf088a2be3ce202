//! `sysforeignkeys`: the columns of FOREIGN KEY constraints.

use metadata::column::{Column, INT, SMALLINT, col, int, rows, shape, small};
use metadata::objects::tables;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("constid", INT, |r| int(r.constraint)),
    col("fkeyid", INT, |r| int(r.table)),
    col("rkeyid", INT, |r| int(r.referenced)),
    col("fkey", SMALLINT, |r| small(r.column)),
    col("rkey", SMALLINT, |r| small(r.referenced_column)),
    col("keyno", SMALLINT, |r| small(r.place)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysforeignkeys",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Row {
    constraint: i32,
    table: i32,
    referenced: i32,
    column: i32,
    referenced_column: i32,
    place: i32,
}

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for table in tables(scope.session, scope.database) {
        for foreign in &table.foreign_keys {
            let pairs = foreign.columns.iter().zip(&foreign.referenced_columns);
            for (place, (column, referenced_column)) in (1..).zip(pairs) {
                found.push(Row {
                    constraint: foreign.id,
                    table: table.id,
                    referenced: foreign.referenced,
                    column: i32::from(*column) + 1,
                    referenced_column: i32::from(*referenced_column) + 1,
                    place,
                });
            }
        }
    }
    rows(COLUMNS, found)
}
