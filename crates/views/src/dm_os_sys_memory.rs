//! `sys.dm_os_sys_memory`: memory of the machine.

use sos::sys::MachineMemory;

use metadata::column::{BIGINT, BIT, Column, big, col, nv, rows, shape, unknown};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<MachineMemory>] = &[
    col("total_physical_memory_kb", BIGINT, |r| big(r.total_kb)),
    col("available_physical_memory_kb", BIGINT, |r| big(r.available_kb)),
    // The commit limit of Windows: memory plus page file.
    col("total_page_file_kb", BIGINT, |r| big(r.total_kb + r.swap_total_kb)),
    col("available_page_file_kb", BIGINT, |r| big(r.available_kb + r.swap_free_kb)),
    col("system_cache_kb", BIGINT, |r| big(r.cached_kb)),
    // Linux never swaps kernel memory.
    col("kernel_paged_pool_kb", BIGINT, |_| big(0)),
    col("kernel_nonpaged_pool_kb", BIGINT, |r| big(r.kernel_kb)),
    // Windows notifications.
    unknown("system_high_memory_signal_state", BIT),
    unknown("system_low_memory_signal_state", BIT),
    unknown("system_memory_state_desc", nv(256)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_sys_memory",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, sos::sys::machine_memory())
}
