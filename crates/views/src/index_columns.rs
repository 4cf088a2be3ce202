//! `sys.index_columns`: key and included columns of indexes.

use types::Value;

use metadata::column::{BIT, Column, INT, TINYINT, bit, col, int, opt, rows, shape};
use metadata::objects::tables;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("object_id", INT, |r| int(r.table)),
    col("index_id", INT, |r| int(r.index)),
    col("index_column_id", INT, |r| int(r.id)),
    col("column_id", INT, |r| int(r.column)),
    col("key_ordinal", TINYINT, |r| Value::TinyInt(r.key_ordinal)),
    col("partition_ordinal", TINYINT, |_| Value::TinyInt(0)),
    opt("is_descending_key", BIT, |r| bit(r.descending)),
    opt("is_included_column", BIT, |r| bit(r.key_ordinal == 0)),
    opt("column_store_order_ordinal", TINYINT, |_| Value::TinyInt(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "index_columns",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    table: i32,
    index: i32,
    id: i32,
    column: i32,
    key_ordinal: u8,
    descending: bool,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let mut found = Vec::new();
    for table in tables(scope.session, scope.database) {
        if let Some(index) = &table.column_index {
            let columns = (1..).zip(&index.columns);
            found.extend(columns.map(|(id, column)| Row {
                table: table.id,
                index: index.id,
                id,
                column: i32::from(*column) + 1,
                key_ordinal: 0,
                descending: false,
            }));
        }
        if table.columnstore.is_some() {
            // A clustered columnstore index has all columns, in the table's order.
            let columns = (1..).zip(1..).take(table.columns.len());
            found.extend(columns.map(|(id, column)| Row {
                table: table.id,
                index: 1,
                id,
                column,
                key_ordinal: 0,
                descending: false,
            }));
        }
        for index in &table.indexes {
            let keys = (1_u8..).zip(&index.keys).map(|(n, (column, desc))| (n, *column, *desc));
            let included = index.included.iter().map(|column| (0, *column, false));
            for (id, (key_ordinal, column, descending)) in (1..).zip(keys.chain(included)) {
                let column = i32::from(column) + 1;
                found.push(Row {
                    table: table.id,
                    index: index.id,
                    id,
                    column,
                    key_ordinal,
                    descending,
                });
            }
        }
    }
    found
}
