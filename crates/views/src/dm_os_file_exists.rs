//! `sys.dm_os_file_exists(path)`: whether a path of the server is there, and what it is.

use sos::sys::path_facts;
use types::Value;

use super::dm_sql_referenced_entities::text_of;
use metadata::column::{BIT, Column, bit, col, rows, shape};
use metadata::folder_walk::off_scheduler;
use metadata::{RowSet, Rows, Scope, SystemView};

struct Facts {
    is_file: bool,
    is_folder: bool,
    has_parent: bool,
}

const COLUMNS: &[Column<Facts>] = &[
    col("file_exists", BIT, |r| bit(r.is_file)),
    col("file_is_a_directory", BIT, |r| bit(r.is_folder)),
    col("parent_directory_exists", BIT, |r| bit(r.has_parent)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_file_exists",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 1,
};

fn read(scope: &Scope<'_>) -> Rows {
    let Some(path) = scope.arguments.first().and_then(text_of) else {
        return Ok(RowSet::default());
    };
    let parent = std::path::Path::new(&path).parent().and_then(|parent| parent.to_str());
    let (found, parent) = off_scheduler(|| (path_facts(&path), parent.and_then(path_facts)));
    let facts = Facts {
        is_file: found.as_ref().is_some_and(|found| !found.is_folder),
        is_folder: found.is_some_and(|found| found.is_folder),
        has_parent: parent.is_some_and(|parent| parent.is_folder),
    };
    rows(COLUMNS, [facts])
}

/// Returns a path in an argument.
pub(crate) fn path_of(value: Option<&Value>) -> Option<String> {
    value.and_then(text_of)
}
