//! `sys.hash_indexes`: hash indexes and their bucket counts.

use types::Value;

use ::catalog::IndexConstraint;
use metadata::column::{
    BIT, Column, INT, NVMAX, SYSNAME, TINYINT, bit, col, int, nv, opt, rows, shape, text,
};
use metadata::types::{IndexRow, index_rows_with_types};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<IndexRow>] = &[
    col("object_id", INT, |r| int(r.table.id)),
    opt("name", SYSNAME, |r| r.index().map_or(Value::Null, |i| text(&i.name))),
    col("index_id", INT, |r| int(r.index().map_or(0, |i| i.id))),
    col("type", TINYINT, |r| Value::TinyInt(r.kind().0)),
    opt("type_desc", nv(60), |r| text(r.kind().1)),
    opt("is_unique", BIT, |r| bit(r.index().is_some_and(|i| i.unique))),
    opt("data_space_id", INT, |r| int(r.data_space())),
    opt("ignore_dup_key", BIT, |r| bit(r.index().is_some_and(|i| i.ignore_dup_key))),
    opt("is_primary_key", BIT, |r| bit(r.constraint() == Some(IndexConstraint::PrimaryKey))),
    opt("is_unique_constraint", BIT, |r| bit(r.constraint() == Some(IndexConstraint::Unique))),
    col("fill_factor", TINYINT, |_| Value::TinyInt(0)),
    opt("is_padded", BIT, |_| bit(false)),
    opt("is_disabled", BIT, |_| bit(false)),
    opt("is_hypothetical", BIT, |_| bit(false)),
    opt("is_ignored_in_optimization", BIT, |_| bit(false)),
    opt("allow_row_locks", BIT, |_| bit(true)),
    opt("allow_page_locks", BIT, |_| bit(true)),
    opt("has_filter", BIT, |_| bit(false)),
    opt("filter_definition", NVMAX, |_| Value::Null),
    // A power of two, as in SQL Server.
    opt("bucket_count", INT, |r| {
        let declared = r.index().and_then(|i| i.bucket_count);
        declared.map_or(Value::Null, |count| int(count.next_power_of_two()))
    }),
    opt("compression_delay", INT, |_| Value::Null),
    opt("suppress_dup_key_messages", BIT, |_| bit(false)),
    opt("auto_created", BIT, |_| bit(false)),
    opt("optimize_for_sequential_key", BIT, |_| bit(false)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "hash_indexes",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(
        COLUMNS,
        index_rows_with_types(scope.session, scope.database)
            .into_iter()
            .filter(|r| r.kind().0 == 7),
    )
}
