//! `sys.dm_os_enumerate_filesystem(folder, pattern)`: the files and folders in a folder of the
//! server and in its folders. A pattern is a name in which `*` matches any characters and `?`
//! one.

use types::date::Moment;
use types::{DataType, Value};

use super::dm_os_file_exists::path_of;
use metadata::column::{BIGINT, BIT, Column, INT, big, bit, col, int, nv, opt, rows, shape, text};
use metadata::folder_walk::{Bounds, Found, Search, join, walk};
use metadata::{RowSet, Rows, Scope, SystemView};

/// The view as errors name it.
const VIEW_NAME: &str = "sys.dm_os_enumerate_filesystem";
const DATETIME2: DataType = DataType::DateTime2(7);

const COLUMNS: &[Column<Found>] = &[
    opt("full_filesystem_path", nv(512), |r| text(&join(&r.folder, &r.name))),
    opt("parent_directory", nv(512), |r| text(&r.folder)),
    opt("file_or_directory_name", nv(512), |r| text(&r.name)),
    opt("level", INT, |r| int(r.level)),
    col("is_directory", BIT, |r| bit(r.facts.is_folder)),
    col("is_read_only", BIT, |r| bit(r.facts.is_read_only)),
    // Linux has none of these attributes, except for names that begin with a dot.
    col("is_system", BIT, |_| bit(false)),
    col("is_hidden", BIT, |r| bit(r.name.starts_with('.'))),
    col("has_integrity_stream", BIT, |_| bit(false)),
    col("is_temporary", BIT, |_| bit(false)),
    col("is_sparse", BIT, |_| bit(false)),
    opt("creation_time", DATETIME2, |r| time(r.facts.seconds[0])),
    opt("last_access_time", DATETIME2, |r| time(r.facts.seconds[1])),
    opt("last_write_time", DATETIME2, |r| time(r.facts.seconds[2])),
    opt("size_in_bytes", BIGINT, |r| big(r.facts.bytes)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_enumerate_filesystem",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 2,
};

fn time(seconds: Option<u64>) -> Value {
    let seconds = seconds.and_then(|seconds| i64::try_from(seconds).ok());
    seconds
        .and_then(|seconds| Moment::from_unix(seconds, 0).to_value(&DATETIME2).ok())
        .unwrap_or(Value::Null)
}

fn read(scope: &Scope<'_>) -> Rows {
    let argument = |place: usize| path_of(scope.arguments.get(place));
    let (Some(folder), Some(pattern)) = (argument(0), argument(1)) else {
        return Ok(RowSet::default());
    };
    let search = Search {
        asker: VIEW_NAME,
        folder: &folder,
        pattern: &pattern,
        levels: None,
        bounds: Bounds::default(),
    };
    let cancel = &scope.session.connection.cancel;
    rows(COLUMNS, walk(&search, &|| cancel.is_set())?)
}
