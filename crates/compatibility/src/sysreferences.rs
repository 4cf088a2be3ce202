//! `sysreferences`: FOREIGN KEY constraints, with a view column for each key column.

use std::sync::Arc;

use types::Value;

use ::catalog::{ForeignKeyDef, TableDef};
use metadata::column::{
    Column, INT, SMALLINT, col, int, opt, or_null, rows, shape, small, unknown, vb,
};
use metadata::objects::{referenced_key, tables};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("constid", INT, |r| int(r.foreign.id)),
    col("fkeyid", INT, |r| int(r.table.id)),
    col("rkeyid", INT, |r| int(r.foreign.referenced)),
    opt("rkeyindid", SMALLINT, |r| or_null(r.key, small)),
    opt("keycnt", SMALLINT, |r| small(r.foreign.columns.len())),
    unknown("forkeys", vb(32)),
    unknown("refkeys", vb(32)),
    opt("fkeydbid", SMALLINT, |r| small(r.table.database_id)),
    opt("rkeydbid", SMALLINT, |r| small(r.table.database_id)),
    col("fkey1", SMALLINT, |r| r.column(1)),
    col("fkey2", SMALLINT, |r| r.column(2)),
    col("fkey3", SMALLINT, |r| r.column(3)),
    col("fkey4", SMALLINT, |r| r.column(4)),
    col("fkey5", SMALLINT, |r| r.column(5)),
    col("fkey6", SMALLINT, |r| r.column(6)),
    col("fkey7", SMALLINT, |r| r.column(7)),
    col("fkey8", SMALLINT, |r| r.column(8)),
    col("fkey9", SMALLINT, |r| r.column(9)),
    col("fkey10", SMALLINT, |r| r.column(10)),
    col("fkey11", SMALLINT, |r| r.column(11)),
    col("fkey12", SMALLINT, |r| r.column(12)),
    col("fkey13", SMALLINT, |r| r.column(13)),
    col("fkey14", SMALLINT, |r| r.column(14)),
    col("fkey15", SMALLINT, |r| r.column(15)),
    col("fkey16", SMALLINT, |r| r.column(16)),
    col("rkey1", SMALLINT, |r| r.referenced_column(1)),
    col("rkey2", SMALLINT, |r| r.referenced_column(2)),
    col("rkey3", SMALLINT, |r| r.referenced_column(3)),
    col("rkey4", SMALLINT, |r| r.referenced_column(4)),
    col("rkey5", SMALLINT, |r| r.referenced_column(5)),
    col("rkey6", SMALLINT, |r| r.referenced_column(6)),
    col("rkey7", SMALLINT, |r| r.referenced_column(7)),
    col("rkey8", SMALLINT, |r| r.referenced_column(8)),
    col("rkey9", SMALLINT, |r| r.referenced_column(9)),
    col("rkey10", SMALLINT, |r| r.referenced_column(10)),
    col("rkey11", SMALLINT, |r| r.referenced_column(11)),
    col("rkey12", SMALLINT, |r| r.referenced_column(12)),
    col("rkey13", SMALLINT, |r| r.referenced_column(13)),
    col("rkey14", SMALLINT, |r| r.referenced_column(14)),
    col("rkey15", SMALLINT, |r| r.referenced_column(15)),
    col("rkey16", SMALLINT, |r| r.referenced_column(16)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "sysreferences",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Row {
    table: Arc<TableDef>,
    foreign: ForeignKeyDef,
    /// `rkeyindid`: `index_id` of the referenced key.
    key: Option<i32>,
}

impl Row {
    fn column(&self, place: usize) -> Value {
        number(&self.foreign.columns, place)
    }

    fn referenced_column(&self, place: usize) -> Value {
        number(&self.foreign.referenced_columns, place)
    }
}

/// Returns the `column_id` of a key's nth column; 0 after the last.
fn number(ordinals: &[u16], place: usize) -> Value {
    small(ordinals.get(place - 1).map_or(0, |ordinal| i32::from(*ordinal) + 1))
}

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for table in tables(scope.session, scope.database) {
        for foreign in &table.foreign_keys {
            let referenced = scope.database.table_by_id(foreign.referenced);
            let key = referenced.and_then(|t| referenced_key(t, foreign)).map(|index| index.id);
            found.push(Row { table: Arc::clone(&table), foreign: foreign.clone(), key });
        }
    }
    rows(COLUMNS, found)
}
