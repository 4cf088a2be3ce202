//! `sys.index_columns`: key and included columns of indexes.

use types::Value;

use ::catalog::{PartitionedOn, TableDef};
use metadata::column::{BIT, Column, INT, TINYINT, bit, col, int, opt, rows, shape};
use metadata::objects::tables_and_types;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("object_id", INT, |r| int(r.table)),
    col("index_id", INT, |r| int(r.index)),
    col("index_column_id", INT, |r| int(r.id)),
    col("column_id", INT, |r| int(r.column)),
    col("key_ordinal", TINYINT, |r| Value::TinyInt(r.key_ordinal)),
    col("partition_ordinal", TINYINT, |r| Value::TinyInt(u8::from(r.places))),
    opt("is_descending_key", BIT, |r| bit(r.descending)),
    opt("is_included_column", BIT, |r| bit(r.included)),
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
    included: bool,
    /// Whether it is the partition column.
    places: bool,
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let mut found = Vec::new();
    for table in tables_and_types(scope.session, scope.database) {
        if let Some(index) = &table.column_index {
            let columns: Vec<u16> = index.columns.clone();
            found.extend(of_columns(&table, index.id, &columns, index.on.as_ref()));
        }
        if let Some(index) = &table.columnstore {
            // A clustered columnstore index has all columns, in the table's order.
            let columns: Vec<u16> = (0..).take(table.columns.len()).collect();
            found.extend(of_columns(&table, 1, &columns, index.on.as_ref()));
        }
        if let Some(on) = &table.on {
            // Of a heap, only the partition column is listed.
            found.push(of_partition(&table, (0, 1), on.column));
        }
        for index in &table.indexes {
            let places = index.on.as_ref().map(|on| on.column);
            let keys = (1_u8..).zip(&index.keys).map(|(n, (column, desc))| (n, *column, *desc));
            let included = index.included.iter().map(|column| (0, *column, false));
            let mut id = 0;
            for (key_ordinal, column, descending) in keys.chain(included) {
                id += 1;
                found.push(Row {
                    table: table.id,
                    index: index.id,
                    id,
                    column: i32::from(column) + 1,
                    key_ordinal,
                    descending,
                    included: key_ordinal == 0,
                    places: places == Some(column),
                });
            }
            let added = index.added_column();
            found.extend(added.map(|column| of_partition(&table, (index.id, id + 1), column)));
        }
    }
    found
}

/// Returns the row of a partition column that is no column of the index.
fn of_partition(table: &TableDef, (index, id): (i32, i32), column: u16) -> Row {
    Row {
        table: table.id,
        index,
        id,
        column: i32::from(column) + 1,
        key_ordinal: 0,
        descending: false,
        included: false,
        places: true,
    }
}

/// Returns the rows of a columnstore index.
fn of_columns(
    table: &TableDef,
    index: i32,
    columns: &[u16],
    on: Option<&PartitionedOn>,
) -> Vec<Row> {
    let places = on.map(|on| on.column);
    let row = |(id, column): (i32, &u16)| Row {
        table: table.id,
        index,
        id,
        column: i32::from(*column) + 1,
        key_ordinal: 0,
        descending: false,
        included: true,
        places: places == Some(*column),
    };
    let mut rows: Vec<Row> = (1..).zip(columns).map(row).collect();
    if let Some(column) = places.filter(|column| !columns.contains(column)) {
        let id = i32::try_from(rows.len() + 1).unwrap_or(i32::MAX);
        rows.push(of_partition(table, (index, id), column));
    }
    rows
}
