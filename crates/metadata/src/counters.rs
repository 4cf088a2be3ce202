//! The rows of `sys.dm_os_performance_counters`, object by object. A counter is listed only if it
//! has a truthful value here; one that counts something that never happens here is 0.

use sos::ledger::State;
use sos::memory::{ClerkRow, MemoryClerk};
use sos::wait::{WaitRow, WaitType};

use crate::log::{Figures, figures};
use crate::view::Scope;
use ::session::instance::{SessionCounter, SessionTotals};

/// The id that no database has, for the rows of all.
const NO_DATABASE: i16 = 0;

/// `@@SERVICENAME` of a default instance.
const SERVICE_NAME: &str = "MSSQLSERVER";

/// One row of `sys.dm_os_performance_counters`.
pub struct Reading {
    /// `object_name`, as a default instance has it.
    pub object: String,
    /// `counter_name`, in SQL Server's spelling.
    pub counter: &'static str,
    /// `instance_name`; empty for an object with a single instance.
    pub instance: String,
    /// `cntr_value`, in the unit that `kind` implies.
    pub value: u64,
    /// `cntr_type`: how a reader computes from the value.
    pub kind: Kind,
}

/// The values of `cntr_type`, which are Windows' counter types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The value as it is (PERF_COUNTER_LARGE_RAWCOUNT).
    Raw = 65_792,
    /// Cumulative: the rate is the difference of two readings over the time between them
    /// (PERF_COUNTER_BULK_COUNT).
    PerSecond = 272_696_576,
    /// A fraction of the base, which is the next row (PERF_LARGE_RAW_FRACTION).
    Fraction = 537_003_264,
    /// Cumulative: the average is the difference of two readings over the difference of the base,
    /// which is the next row (PERF_AVERAGE_BULK).
    Average = 1_073_874_176,
    /// The base of the row before (PERF_LARGE_RAW_BASE).
    Base = 1_073_939_712,
}

/// Returns a row for every counter of every object.
pub fn readings(scope: &Scope<'_>) -> Vec<Reading> {
    let facts = Facts::of(scope);
    let mut list = List::default();
    sql_statistics(&facts, &mut list);
    general_statistics(&facts, &mut list);
    databases(scope, &facts, &mut list);
    wait_statistics(&facts, &mut list);
    latches_and_locks(scope, &facts, &mut list);
    memory_manager(scope, &facts, &mut list);
    plan_cache(scope, &facts, &mut list);
    errors(&facts, &mut list);
    workload(scope, &facts, &mut list);
    xtp(&facts, &mut list);
    list.rows
}

/// The state of the server that the rows are computed from, gathered once per query.
struct Facts {
    totals: SessionTotals,
    waits: Vec<WaitRow>,
    waiting: Vec<WaitType>,
    clerks: Vec<ClerkRow>,
    connected: u64,
    running: u64,
    active_transactions: u64,
    failed_logins: u64,
    /// The version of the catalog, which each change of a definition counts up.
    definitions: u64,
}

impl Facts {
    fn of(scope: &Scope<'_>) -> Self {
        let instance = &scope.session.instance;
        let accounts = instance.machine.accounts();
        let waiting = accounts.threads().into_iter().filter_map(|account| match account.state() {
            State::Wait(wait_type) => Some(wait_type),
            _ => None,
        });
        let cards = instance.sessions.cards();
        let open = cards.iter().filter(|card| card.transactions() > 0).count();
        Self {
            totals: instance.sessions.totals(),
            waits: accounts.waits(),
            waiting: waiting.collect(),
            clerks: sos::memory::clerks(),
            connected: count(instance.sessions.count()),
            running: count(cards.iter().filter(|card| card.is_running()).count()),
            // An open transaction that has only read is not registered in the store.
            active_transactions: count(instance.store.active_transactions().max(open)),
            failed_logins: instance.login_failures.count(),
            definitions: scope.session.catalog.version,
        }
    }

    fn of_sessions(&self, counter: SessionCounter) -> u64 {
        self.totals.counters.get(counter)
    }

    /// Number of completed waits of the types that `is` selects, and their total time in ms.
    fn waits(&self, is: impl Fn(WaitType) -> bool) -> (u64, u64) {
        let found = self.waits.iter().filter(|row| is(row.wait_type));
        let (count, ns) = found.fold((0, 0), |(n, ns), row| (n + row.count, ns + row.wait_ns));
        (count, ns / 1_000_000)
    }

    fn waiting(&self, is: impl Fn(WaitType) -> bool) -> u64 {
        count(self.waiting.iter().filter(|wait_type| is(**wait_type)).count())
    }

    fn clerk_kb(&self, clerks: &[MemoryClerk]) -> u64 {
        let of = self.clerks.iter().filter(|row| clerks.contains(&row.clerk));
        of.map(|row| row.bytes).sum::<u64>() / 1_024
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// The rows made so far, with the object and instance that the next rows get.
#[derive(Default)]
struct List {
    rows: Vec<Reading>,
    object: &'static str,
    instance: String,
}

impl List {
    /// Sets the object and instance of the rows that follow.
    fn of(&mut self, object: &'static str, instance: &str) {
        self.object = object;
        self.instance.clear();
        self.instance.push_str(instance);
    }

    fn put(&mut self, counter: &'static str, value: u64, kind: Kind) {
        // SQL Server names the objects of its memory-optimized engine by version.
        let prefix = if self.object.starts_with("XTP") { "SQL Server 2022 " } else { "SQLServer:" };
        let object = format!("{prefix}{}", self.object);
        let instance = self.instance.clone();
        self.rows.push(Reading { object, counter, instance, value, kind });
    }

    fn raw(&mut self, counter: &'static str, value: u64) {
        self.put(counter, value, Kind::Raw);
    }

    fn rate(&mut self, counter: &'static str, value: u64) {
        self.put(counter, value, Kind::PerSecond);
    }
}

fn sql_statistics(facts: &Facts, list: &mut List) {
    list.of("SQL Statistics", "");
    list.rate("Batch Requests/sec", facts.of_sessions(SessionCounter::Requests));
    list.rate("SQL Compilations/sec", facts.of_sessions(SessionCounter::Compilations));
    list.rate("SQL Re-Compilations/sec", facts.of_sessions(SessionCounter::Recompilations));
    // A counter that SQL Server lacks.
    list.rate("Definition Changes/sec", facts.definitions);
    list.rate("SQL Attention rate", facts.of_sessions(SessionCounter::Attentions));
    // Literals are not replaced with parameters, and no plan is forced.
    for counter in [
        "Auto-Param Attempts/sec",
        "Failed Auto-Params/sec",
        "Safe Auto-Params/sec",
        "Unsafe Auto-Params/sec",
        "Forced Parameterizations/sec",
        "Guided plan executions/sec",
        "Misguided plan executions/sec",
    ] {
        list.rate(counter, 0);
    }
}

fn general_statistics(facts: &Facts, list: &mut List) {
    let made = facts.of_sessions(SessionCounter::TempTablesMade);
    let dropped = facts.of_sessions(SessionCounter::TempTablesDropped);
    list.of("General Statistics", "");
    list.raw("User Connections", facts.connected);
    // A connection has exactly one session.
    list.raw("Logical Connections", facts.connected);
    list.rate("Logins/sec", facts.totals.logins);
    list.rate("Failed Logins/sec", facts.failed_logins);
    list.rate("Logouts/sec", facts.totals.logouts);
    list.rate("Connection Reset/sec", facts.totals.resets);
    list.raw("Active Temp Tables", made.saturating_sub(dropped));
    list.rate("Temp Tables Creation Rate", made);
    // A temporary table is dropped at once, not by a background thread.
    list.raw("Temp Tables For Destruction", 0);
    list.raw("Transactions", facts.active_transactions);
    list.raw("Processes blocked", facts.waiting(|wait_type| wait_type.name().starts_with("LCK_")));
    list.of("Transactions", "");
    list.raw("Transactions", facts.active_transactions);
}

fn databases(scope: &Scope<'_>, facts: &Facts, list: &mut List) {
    let mut rows: Vec<(&str, (u64, u64), i16)> = Vec::new();
    for database in scope.session.catalog.databases.values() {
        let counts = facts.totals.counters.transactions(database.id);
        rows.push((&database.name, counts, database.id));
    }
    // The log is that of all databases, so the total is not the sum.
    rows.push(("_Total", facts.totals.counters.all_transactions(), NO_DATABASE));
    let (waits, wait_ms) = facts.waits(|wait_type| wait_type == WaitType::WriteLog);
    for (name, (transactions, writes), id) in rows {
        list.of("Databases", name);
        list.rate("Transactions/sec", transactions);
        list.rate("Write Transactions/sec", writes);
        let log = figures(scope, id);
        let of_log = |read: fn(&Figures) -> u64| log.as_ref().map_or(0, read);
        list.rate("Log Flushes/sec", of_log(|log| log.flushes));
        list.rate("Log Bytes Flushed/sec", of_log(|log| log.flushed_bytes));
        list.rate("Log Flush Waits/sec", log.as_ref().map_or(0, |_| waits));
        list.rate("Log Flush Wait Time", log.as_ref().map_or(0, |_| wait_ms));
        list.raw("Log File(s) Size (KB)", of_log(|log| log.total_bytes / 1_024));
        list.raw("Log File(s) Used Size (KB)", of_log(|log| log.used_bytes / 1_024));
    }
    list.of("Databases", "_Total");
    list.raw("Active Transactions", facts.active_transactions);
    list.raw("XTP Memory Used (KB)", facts.clerk_kb(&[MemoryClerk::Xtp]));
}

/// A predicate that selects the wait types of a group.
type IsOf = fn(WaitType) -> bool;

/// Waits by the groups of the object `Wait Statistics`, with the wait types of each group. A group
/// without types is about pages or workspaces, which no session waits for here.
fn wait_statistics(facts: &Facts, list: &mut List) {
    let groups: [(&'static str, IsOf); 12] = [
        ("Lock waits", is_lock),
        ("Log buffer waits", |w| w == WaitType::LogBuffer),
        ("Log write waits", |w| w == WaitType::WriteLog),
        ("Memory grant queue waits", |w| w == WaitType::ResourceSemaphore),
        ("Network IO waits", |w| w == WaitType::AsyncNetworkIo),
        ("Non-Page latch waits", is_latch),
        ("Page IO latch waits", |_| false),
        ("Page latch waits", |_| false),
        ("Thread-safe memory objects waits", |_| false),
        ("Transaction ownership waits", |_| false),
        ("Wait for the worker", |w| w == WaitType::ThreadPool),
        ("Workspace synchronization waits", |_| false),
    ];
    for (counter, is) in groups {
        let (count, ms) = facts.waits(is);
        let waiting = facts.waiting(is);
        list.of("Wait Statistics", "Average wait time (ms)");
        list.raw(counter, ms.checked_div(count).unwrap_or(0));
        list.of("Wait Statistics", "Cumulative wait time (ms) per second");
        list.rate(counter, ms);
        list.of("Wait Statistics", "Waits in progress");
        list.raw(counter, waiting);
        list.of("Wait Statistics", "Waits started per second");
        list.rate(counter, count + waiting);
    }
}

fn is_lock(wait_type: WaitType) -> bool {
    wait_type.name().starts_with("LCK_M_")
}

fn is_latch(wait_type: WaitType) -> bool {
    wait_type.name().starts_with("LATCH_")
}

fn latches_and_locks(scope: &Scope<'_>, facts: &Facts, list: &mut List) {
    let latches = scope.session.instance.machine.accounts().latches();
    let count: u64 = latches.iter().map(|row| row.count).sum();
    let ms = latches.iter().map(|row| row.wait_ns).sum::<u64>() / 1_000_000;
    list.of("Latches", "");
    list.rate("Latch Waits/sec", count);
    list.rate("Total Latch Wait Time (ms)", ms);
    list.put("Average Latch Wait Time (ms)", ms, Kind::Average);
    list.put("Average Latch Wait Time Base", count, Kind::Base);
    let (count, ms) = facts.waits(is_lock);
    list.of("Locks", "_Total");
    list.rate("Lock Waits/sec", count);
    list.rate("Lock Wait Time (ms)", ms);
    list.put("Average Wait Time (ms)", ms, Kind::Average);
    list.put("Average Wait Time Base", count, Kind::Base);
    list.rate("Number of Deadlocks/sec", facts.of_sessions(SessionCounter::Deadlocks));
}

fn memory_manager(scope: &Scope<'_>, facts: &Facts, list: &mut List) {
    let used_kb = sos::memory::used_bytes() / 1_024;
    list.of("Memory Manager", "");
    list.raw("Total Server Memory (KB)", used_kb);
    list.raw("Target Server Memory (KB)", sos::memory::limit_bytes() / 1_024);
    list.raw("Connection Memory (KB)", facts.clerk_kb(&[MemoryClerk::ConnectionPool]));
    list.raw("Lock Memory (KB)", facts.clerk_kb(&[MemoryClerk::LockManager]));
    list.raw("Optimizer Memory (KB)", facts.clerk_kb(&[MemoryClerk::Optimizer]));
    let plans = [MemoryClerk::ObjectPlans, MemoryClerk::SqlPlans];
    list.raw("SQL Cache Memory (KB)", facts.clerk_kb(&plans));
    list.raw("Log Pool Memory (KB)", facts.clerk_kb(&[MemoryClerk::LogPool]));
    let grants = scope.session.instance.workspace.now();
    list.raw("Granted Workspace Memory (KB)", grants.used / 1_024);
    list.raw("Maximum Workspace Memory (KB)", grants.limit / 1_024);
    list.raw("Memory Grants Outstanding", grants.holding.into());
    list.raw("Memory Grants Pending", grants.waiting.into());
    // A counter that SQL Server lacks, where no query outgrows its grant.
    list.rate("Memory Grants Refused/sec", grants.refused);
    // There is no buffer pool: all memory counts as what SQL Server calls stolen memory.
    list.raw("Database Cache Memory (KB)", 0);
    list.raw("Stolen Server Memory (KB)", used_kb);
    // Counters that SQL Server lacks: how often memory was refused, by error 701 or by a wait.
    list.rate("Out-of-Memory Errors/sec", sos::memory::refusals());
    // A counter that SQL Server lacks; it has the event page_allocated instead.
    list.rate("Page Allocations/sec", sos::memory::page_allocations());
}

fn plan_cache(scope: &Scope<'_>, facts: &Facts, list: &mut List) {
    let lookups = facts.of_sessions(SessionCounter::PlanLookups);
    let misses = facts.of_sessions(SessionCounter::PlanMisses);
    list.of("Plan Cache", "_Total");
    list.put("Cache Hit Ratio", lookups.saturating_sub(misses), Kind::Fraction);
    list.put("Cache Hit Ratio Base", lookups, Kind::Base);
    list.raw("Cache Object Counts", count(scope.session.instance.programs.count()));
}

fn errors(facts: &Facts, list: &mut List) {
    let of = [SessionCounter::InfoErrors, SessionCounter::UserErrors, SessionCounter::FatalErrors];
    let [info, user, fatal] = of.map(|counter| facts.of_sessions(counter));
    for (instance, value) in [
        ("_Total", info + user + fatal),
        ("Info Errors", info),
        ("Kill Connection Errors", fatal),
        ("User Errors", user),
    ] {
        list.of("SQL Errors", instance);
        list.rate("Errors/sec", value);
    }
}

/// The one resource pool and workload group, which all requests belong to.
fn workload(scope: &Scope<'_>, facts: &Facts, list: &mut List) {
    let times = sos::sys::cpu_times();
    let now_ms = sos::clock::monotonic_ns() / 1_000_000;
    let up_ms = now_ms.saturating_sub(scope.session.instance.started_ms);
    let capacity_ms = up_ms * count(sos::sys::allowed_cpus().len());
    let cpu_ms = (times.user_ns + times.kernel_ns) / 1_000_000;
    let requests = facts.totals.requests;
    list.of("Resource Pool Stats", "default");
    list.put("CPU usage %", cpu_ms.min(capacity_ms), Kind::Fraction);
    list.put("CPU usage % base", capacity_ms, Kind::Base);
    list.raw("Used memory (KB)", sos::memory::used_bytes() / 1_024);
    list.raw("Max memory (KB)", sos::memory::limit_bytes() / 1_024);
    list.raw("Target memory (KB)", sos::memory::limit_bytes() / 1_024);
    list.of("Workload Group Stats", "default");
    list.put("CPU usage %", cpu_ms.min(capacity_ms), Kind::Fraction);
    list.put("CPU usage % base", capacity_ms, Kind::Base);
    list.raw("Active requests", facts.running);
    list.raw("Blocked tasks", facts.waiting(is_lock));
    list.rate("Requests completed/sec", requests.saturating_sub(facts.running));
    list.rate("Query optimizations/sec", facts.of_sessions(SessionCounter::Compilations));
    // A request starts at once on one worker, and no plan gets less memory than it asks for.
    list.raw("Queued requests", 0);
    list.raw("Active parallel threads", 0);
    list.rate("Suboptimal plans/sec", 0);
    list.rate("Reduced memory grants/sec", 0);
}

/// The memory-optimized engine (XTP), which runs all transactions here.
fn xtp(facts: &Facts, list: &mut List) {
    let (created, _) = facts.totals.counters.all_transactions();
    list.of("XTP Transactions", SERVICE_NAME);
    list.rate("Transactions created/sec", created);
    list.rate("Transactions aborted/sec", facts.of_sessions(SessionCounter::Aborts));
    list.rate("Transactions aborted by user/sec", facts.of_sessions(SessionCounter::UserAborts));
    let failures = facts.of_sessions(SessionCounter::ValidationFailures);
    list.rate("Transaction validation failure/sec", failures);
    list.rate("Save points created/sec", facts.of_sessions(SessionCounter::Savepoints));
    list.rate("Save point rollbacks/sec", facts.of_sessions(SessionCounter::SavepointRollbacks));
    // A transaction never reads uncommitted rows, so it never depends on another's commit.
    list.rate("Commit dependencies taken/sec", 0);
    list.rate("Cascading aborts/sec", 0);
    // The store has no log.
    list.of("XTP Transaction Log", SERVICE_NAME);
    list.rate("Log bytes written/sec", 0);
    list.rate("Log records written/sec", 0);
}
