//! `sys.dm_db_file_space_usage`: pages in the files of a database; all 0, for no file is written.

use metadata::column::{BIGINT, Column, SMALLINT, big, col, rows, shape, small};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<(i16, i32)>] = &[
    col("database_id", SMALLINT, |r| small(r.0)),
    col("file_id", SMALLINT, |r| small(r.1)),
    col("filegroup_id", SMALLINT, |_| small(1)),
    col("total_page_count", BIGINT, |_| big(0)),
    col("allocated_extent_page_count", BIGINT, |_| big(0)),
    col("unallocated_extent_page_count", BIGINT, |_| big(0)),
    col("version_store_reserved_page_count", BIGINT, |_| big(0)),
    col("user_object_reserved_page_count", BIGINT, |_| big(0)),
    col("internal_object_reserved_page_count", BIGINT, |_| big(0)),
    col("mixed_extent_page_count", BIGINT, |_| big(0)),
    col("modified_extent_page_count", BIGINT, |_| big(0)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_db_file_space_usage",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let files = (1..).zip(&scope.database.files);
    let data = files.filter(|(_, file)| !file.log && !file.memory_optimized);
    rows(COLUMNS, data.map(|(id, _)| (scope.database.id, id)))
}
