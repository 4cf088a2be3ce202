//! `sys.dm_os_host_info`: name, distribution and version of the operating system.

use metadata::column::{Column, INT, col, int, nv, opt, or_null, rows, shape, text, unknown};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Host>] = &[
    col("host_platform", nv(256), |_| text("Linux")),
    opt("host_distribution", nv(256), |r| or_null(r.distribution.as_deref(), text)),
    opt("host_release", nv(256), |r| or_null(r.release.as_deref(), text)),
    // Linux has neither; SQL Server on Linux returns an empty string and NULL for them.
    col("host_service_pack_level", nv(256), |_| text("")),
    unknown("host_sku", INT),
    col("os_language_version", INT, |_| int(0)),
    opt("host_architecture", nv(256), |_| or_null(architecture(), text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_host_info",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    let (distribution, release) = sos::sys::distribution().unzip();
    rows(COLUMNS, [Host { distribution, release: release.flatten() }])
}

struct Host {
    distribution: Option<String>,
    release: Option<String>,
}

/// Returns `host_architecture` in SQL Server's spelling.
fn architecture() -> Option<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Some("X64"),
        "aarch64" => Some("ARM64"),
        _ => None,
    }
}
