//! `sys.dm_os_enumerate_fixed_drives`: the file system that the server's data folder is on, or its
//! working folder where it keeps data in memory only.

use sos::sys::free_bytes;

use metadata::column::{BIGINT, Column, INT, big, col, int, nv, opt, or_null, rows, shape, text};
use metadata::folder_walk::off_scheduler;
use metadata::{Rows, Scope, SystemView};

struct Drive {
    path: String,
    free: Option<u64>,
}

const COLUMNS: &[Column<Drive>] = &[
    opt("fixed_drive_path", nv(256), |r| text(&r.path)),
    // 3: DRIVE_FIXED.
    col("drive_type", INT, |_| int(3)),
    opt("drive_type_desc", nv(256), |_| text("DRIVE_FIXED")),
    opt("free_space_in_bytes", BIGINT, |r| or_null(r.free, big)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_enumerate_fixed_drives",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    let free = off_scheduler(|| free_bytes("."));
    rows(COLUMNS, [Drive { path: "/".to_owned(), free }])
}
