//! `sysindexes`: indexes and heaps, with their rows and their memory in pages of 8 KB.

use types::{DataType, Value};

use ::catalog::IndexConstraint;
use metadata::column::{
    BIGINT, Column, INT, SMALLINT, SYSNAME, TINYINT, big, bin, col, int, opt, rows, shape, small,
    text, unknown, vb,
};
use metadata::types::{IndexRow, index_rows_with_types};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<IndexRow>] = &[
    col("id", INT, |r| int(r.table.id)),
    opt("status", INT, |r| int(status(r))),
    unknown("first", bin(6)),
    col("indid", SMALLINT, |r| small(r.id())),
    unknown("root", bin(6)),
    unknown("minlen", SMALLINT),
    opt("keycnt", SMALLINT, |r| small(r.index().map_or(0, |i| i.keys.len()))),
    opt("groupid", SMALLINT, |r| small(i32::from(!r.table.memory_optimized))),
    opt("dpages", INT, |r| int(r.pages().data)),
    opt("reserved", INT, |r| int(r.pages_with_others().reserved)),
    opt("used", INT, |r| int(r.pages_with_others().used)),
    opt("rowcnt", BIGINT, |r| big(r.table.rows.data.row_count())),
    unknown("rowmodctr", INT),
    col("reserved3", INT, |_| int(0)),
    col("reserved4", INT, |_| int(0)),
    unknown("xmaxlen", SMALLINT),
    unknown("maxirow", SMALLINT),
    opt("OrigFillFactor", TINYINT, |_| Value::TinyInt(0)),
    opt("StatVersion", TINYINT, |_| Value::TinyInt(0)),
    opt("reserved2", INT, |_| int(0)),
    unknown("FirstIAM", bin(6)),
    opt("impid", SMALLINT, |_| small(0)),
    opt("lockflags", SMALLINT, |_| small(0)),
    opt("pgmodctr", INT, |_| int(0)),
    unknown("keys", vb(816)),
    opt("name", SYSNAME, |r| r.index().map_or(Value::Null, |i| text(&i.name))),
    unknown("statblob", DataType::Image),
    unknown("maxlen", INT),
    opt("rows", INT, |r| int(r.table.rows.data.row_count())),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "", name: "sysindexes", columns: || shape(COLUMNS), rows: read, arity: 0 };

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, index_rows_with_types(scope.session, scope.database))
}

/// Returns `status`, with the bits that scripts test: duplicates ignored, unique, clustered,
/// PRIMARY KEY, UNIQUE.
fn status(row: &IndexRow) -> i32 {
    let Some(index) = row.index() else { return 0 };
    let bits = [
        (index.ignore_dup_key, 1),
        (index.unique, 2),
        (index.clustered, 16),
        (row.constraint() == Some(IndexConstraint::PrimaryKey), 2_048),
        (row.constraint() == Some(IndexConstraint::Unique), 4_096),
    ];
    bits.iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum()
}
