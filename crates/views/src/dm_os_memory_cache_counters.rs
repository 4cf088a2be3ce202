//! `sys.dm_os_memory_cache_counters`: the caches of plans, with what they hold.

use std::sync::Arc;

use ::plan::stats::{Origin, ProgramBooks};
use metadata::column::{ADDRESS, BIGINT, Column, big, col, nv, rows, shape, text};
use metadata::{Rows, Scope, SystemView};
use sos::memory::{ClerkRow, MemoryClerk};

const COLUMNS: &[Column<Cache>] = &[
    col("cache_address", ADDRESS, |r| super::dm_os_memory_clerks::address(&r.clerk)),
    col("name", nv(256), |r| text(r.name)),
    col("type", nv(60), |r| text(r.clerk.clerk.name())),
    col("pages_kb", BIGINT, |r| big(r.clerk.bytes / 1_024)),
    col("pages_in_use_kb", BIGINT, |r| big(r.clerk.bytes / 1_024)),
    col("entries_count", BIGINT, |r| big(r.entries)),
    col("entries_in_use_count", BIGINT, |r| big(r.in_use)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_os_memory_cache_counters",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Cache {
    clerk: ClerkRow,
    name: &'static str,
    entries: usize,
    /// Entries that another one than the cache refers to.
    in_use: usize,
}

fn read(scope: &Scope<'_>) -> Rows {
    let programs = scope.session.instance.statistics.programs();
    let caches = [(MemoryClerk::ObjectPlans, "Object Plans"), (MemoryClerk::SqlPlans, "SQL Plans")];
    let mut found = Vec::new();
    for clerk in sos::memory::clerks() {
        let Some((of, name)) = caches.iter().find(|(of, _)| *of == clerk.clerk) else { continue };
        let is_of = |books: &&Arc<ProgramBooks>| {
            let is_module = matches!(books.origin, Origin::Procedure(_));
            is_module == (*of == MemoryClerk::ObjectPlans)
        };
        let all: Vec<_> = programs.iter().filter(is_of).filter_map(|b| b.program()).collect();
        // The cache's reference and the one that was just taken.
        let in_use = all.iter().filter(|program| Arc::strong_count(program) > 2).count();
        found.push(Cache { clerk, name, entries: all.len(), in_use });
    }
    rows(COLUMNS, found)
}
