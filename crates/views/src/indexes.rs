//! `sys.indexes`: indexes, and a heap for each table without a clustered index.

use types::Value;

use ::catalog::IndexConstraint;
use metadata::column::{
    BIT, Column, INT, NVMAX, SYSNAME, TINYINT, bit, col, int, nv, opt, rows, shape, text,
};
use metadata::types::{IndexRow, index_rows_with_types};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<IndexRow>] = &[
    col("object_id", INT, |r| int(r.table.id)),
    opt("name", SYSNAME, |r| r.name().map_or(Value::Null, text)),
    col("index_id", INT, |r| int(r.id())),
    col("type", TINYINT, |r| Value::TinyInt(r.kind().0)),
    opt("type_desc", nv(60), |r| text(r.kind().1)),
    opt("is_unique", BIT, |r| bit(r.index().is_some_and(|i| i.unique))),
    opt("data_space_id", INT, |r| int(r.data_space())),
    opt("ignore_dup_key", BIT, |r| bit(r.index().is_some_and(|i| i.ignore_dup_key))),
    opt("is_primary_key", BIT, |r| bit(r.constraint() == Some(IndexConstraint::PrimaryKey))),
    opt("is_unique_constraint", BIT, |r| bit(r.constraint() == Some(IndexConstraint::Unique))),
    col("fill_factor", TINYINT, |r| Value::TinyInt(r.shown().fill_factor)),
    opt("is_padded", BIT, |r| bit(r.shown().is_padded)),
    opt("is_disabled", BIT, |r| bit(r.is_disabled())),
    opt("is_hypothetical", BIT, |_| bit(false)),
    opt("is_ignored_in_optimization", BIT, |_| bit(false)),
    opt("allow_row_locks", BIT, |r| bit(!is_column_index(r) && !r.shown().no_row_locks)),
    opt("allow_page_locks", BIT, |r| bit(!is_column_index(r) && !r.shown().no_page_locks)),
    opt("has_filter", BIT, |r| bit(r.index().is_some_and(|i| i.filter.is_some()))),
    opt("filter_definition", NVMAX, |r| {
        r.index().and_then(|i| i.filter.as_ref()).map_or(Value::Null, |f| text(&f.text))
    }),
    opt("compression_delay", INT, |r| r.compression_delay().map_or(Value::Null, int)),
    opt("suppress_dup_key_messages", BIT, |_| bit(false)),
    opt("auto_created", BIT, |_| bit(false)),
    opt("optimize_for_sequential_key", BIT, |r| bit(r.shown().is_sequential)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "sys", name: "indexes", columns: || shape(COLUMNS), rows: read, arity: 0 };

/// Returns whether it is a columnstore index on disk: SQL Server locks its row groups, and shows that rows and pages
/// are not locked. Management tools rely on it, and refuse to script an index that shows something else.
fn is_column_index(row: &IndexRow) -> bool {
    matches!(row.kind().0, 5 | 6)
}

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, index_rows_with_types(scope.session, scope.database))
}
