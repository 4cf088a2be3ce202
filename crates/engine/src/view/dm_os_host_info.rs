//! `sys.dm_os_host_info`: the operating system.

use super::column::{Column, INT, col, int, nv, rows, shape, text, unknown};
use super::{Rows, Scope, SystemView};

const COLUMNS: &[Column<()>] = &[
    col("host_platform", nv(256), |_| text("Linux")),
    unknown("host_distribution", nv(256)),
    unknown("host_release", nv(256)),
    unknown("host_service_pack_level", nv(256)),
    unknown("host_sku", INT),
    col("os_language_version", INT, |_| int(0)),
    unknown("host_architecture", nv(256)),
];

/// The view.
pub(super) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_host_info",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, [()])
}
