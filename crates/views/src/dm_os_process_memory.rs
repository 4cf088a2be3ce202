//! `sys.dm_os_process_memory`: memory of the server's process.

use sos::sys::ProcessMemory;

use metadata::column::{
    BIGINT, BIT, Column, INT, big, bit, col, int, opt, or_null, rows, shape, unknown,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Facts>] = &[
    col("physical_memory_in_use_kb", BIGINT, |r| big(r.memory.resident_kb)),
    col("large_page_allocations_kb", BIGINT, |r| big(r.memory.huge_kb)),
    col("locked_page_allocations_kb", BIGINT, |r| big(r.memory.locked_kb)),
    opt("total_virtual_address_space_kb", BIGINT, |r| or_null(r.address_space_kb, big)),
    col("virtual_address_space_reserved_kb", BIGINT, |r| big(r.memory.reserved_kb)),
    col("virtual_address_space_committed_kb", BIGINT, |r| big(r.committed_kb())),
    opt("virtual_address_space_available_kb", BIGINT, |r| {
        or_null(r.address_space_kb, |all| big(all.saturating_sub(r.memory.reserved_kb)))
    }),
    col("page_fault_count", BIGINT, |r| big(r.faults)),
    col("memory_utilization_percentage", INT, |r| {
        int(r.memory.resident_kb * 100 / r.committed_kb().max(1))
    }),
    col("available_commit_limit_kb", BIGINT, |r| big(r.rest_kb)),
    col("process_physical_memory_low", BIT, |r| bit(r.at_limit)),
    unknown("process_virtual_memory_low", BIT),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_process_memory",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, sos::sys::process_memory().map(Facts::of))
}

struct Facts {
    memory: ProcessMemory,
    address_space_kb: Option<u64>,
    faults: u64,
    /// KB left below the memory limit.
    rest_kb: u64,
    /// Whether allocations are refused because of the limit.
    at_limit: bool,
}

impl Facts {
    fn of(memory: ProcessMemory) -> Self {
        let times = sos::sys::cpu_times();
        let rest = sos::memory::limit_bytes().saturating_sub(sos::memory::used_bytes());
        Self {
            memory,
            address_space_kb: sos::sys::address_space_kb(),
            faults: times.minor_faults + times.major_faults,
            rest_kb: rest / 1_024,
            at_limit: sos::memory::check().is_err(),
        }
    }

    /// Returns KB backed by memory or swap. The rest of the address space has not been touched.
    fn committed_kb(&self) -> u64 {
        self.memory.resident_kb + self.memory.swapped_kb
    }
}
