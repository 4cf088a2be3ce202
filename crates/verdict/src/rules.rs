//! The rules: each looks at a window and says how much of the server's time a cause explains.
//!
//! A rule compares with the *work* of the server: time on a CPU, spinning and waits. Queues for
//! CPUs, pauses that statements ask for, and reading views are not work: a busy machine makes
//! everything wait for CPUs, and must not hide what the server itself does.

use crate::category::Category;
use crate::cause::Cause;
use crate::estimate::time;
use crate::window::{Group, Statement, Window};

/// A cause that a rule found, with what speaks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What may be wrong.
    pub cause: Cause,
    /// Thread seconds per second that it explains.
    pub active: f64,
    /// Its share of the server's work, by which candidates are ranked. A rule that knows its cause
    /// by a count, not by time, adds to it: waits that it causes elsewhere are not in its own time.
    pub score: f64,
    /// What was found, narrowed down as far as the readings allow.
    pub details: Vec<String>,
    /// What it costs, where thread time does not say it.
    pub price: Option<String>,
}

/// A cause must explain this share of the work to be a finding.
pub(crate) const SCORE_MIN: f64 = 0.10;

/// A server that has used this part of its limit may return memory because of it.
const NEAR_LIMIT: f64 = 0.4;
/// Memory that goes and comes more often than this per second, for this share of the work, is a
/// finding by its count. What the trimmer returns does not come back within a look.
const CHURN_MIN: (f64, f64) = (20.0, 0.03);
/// Fewer waiting threads than this, on average, are no queue.
const WAITING_MIN: f64 = 0.05;

/// A server does its requests' own work if at least this number of them per scheduler are on a CPU
/// or ready for one.
const OWN_WORK_MIN: f64 = 0.5;
/// Fewer threads than this on a CPU or in the queue for one, on average, are no load.
const QUEUE_MIN: f64 = 0.5;

/// What rules compare with.
pub(crate) struct Facts<'w> {
    pub(crate) window: &'w Window,
    /// Thread seconds per second of work.
    pub(crate) work: f64,
    /// Those on a CPU.
    pub(crate) cpu: f64,
}

impl<'w> Facts<'w> {
    pub(crate) fn new(window: &'w Window) -> Self {
        let of = |groups: &[Group]| groups.iter().map(|group| window.of(*group)).sum::<f64>();
        let cpu = of(&[
            Group::Statements,
            Group::Compilation,
            Group::Logins,
            Group::Events,
            Group::Kernel,
        ]);
        let waits = of(&[
            Group::Spinning,
            Group::Locks,
            Group::Log,
            Group::Clients,
            Group::Memory,
            Group::OtherWaits,
        ]);
        Self { window, work: cpu + waits, cpu }
    }

    fn share(&self, active: f64) -> f64 {
        if self.work > 0.0 { active / self.work } else { 0.0 }
    }

    fn share_of_cpu(&self, active: f64) -> f64 {
        if self.cpu > 0.0 { active / self.cpu } else { 0.0 }
    }

    fn found(&self, cause: Cause, active: f64, extra: f64, details: Vec<String>) -> Candidate {
        Candidate { cause, active, score: self.share(active) + extra, details, price: None }
    }
}

/// A rule: `None` if its cause is not there.
type Rule = fn(&Facts<'_>) -> Option<Candidate>;

/// Every rule. Their order does not matter.
const RULES: &[Rule] = &[
    locks,
    spinning,
    allocations,
    compilation,
    scans,
    grants,
    memory_limit,
    logins,
    clients,
    events,
    log,
    snapshots,
    quota,
    indexes,
    backup,
    restore,
    checkpoints,
    spike,
    elsewhere,
    workers,
    late_answers,
];

/// Returns all candidates, the highest score first.
pub(crate) fn candidates(facts: &Facts<'_>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = RULES.iter().filter_map(|rule| rule(facts)).collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    // Two rules may find one cause: the one that explains more counts.
    let mut seen = Vec::new();
    found.retain(|candidate| {
        let is_new = !seen.contains(&candidate.cause);
        seen.push(candidate.cause);
        is_new
    });
    found
}

/// Which lock cause it is: an idle blocker before all others, then deadlocks, then the kind of lock.
fn locks(facts: &Facts<'_>) -> Option<Candidate> {
    let window = facts.window;
    let active = window.of(Group::Locks);
    let deadlocks = window.rate("Number of Deadlocks/sec");
    let are_many = deadlocks > 0.2
        && (window.per_request("Number of Deadlocks/sec") > 0.02 || window.requests.mean < 1.0);
    let is_seen = facts.share(active) >= SCORE_MIN && active >= WAITING_MIN;
    if !is_seen && !are_many {
        return None;
    }
    let mut details = vec![format!("{:.1} sessions wait for locks on average", active)];
    if let Some(blocker) = window.blockers.first() {
        let last = shortened(&blocker.text);
        details.push(format!("in the way: {}, last statement: {last}", blocker.from));
        // Behind the form that SQL Server has, Clearway names the row.
        match blocker.resource.split_once(" of ") {
            Some((_, row)) => details.push(format!("the row: {}", shortened(row))),
            None if blocker.resource.is_empty() => {}
            None => details.push(format!("resource: {}", shortened(&blocker.resource))),
        }
    }
    let (waiters, of_applications) = window.waiters;
    let schema = window.sum(|part| part.category == Category::Wait && is_schema_lock(&part.name));
    let idle = window.blockers.first().filter(|b| b.idle.0 * 2 > b.idle.1 && b.idle.1 > 1);
    if let Some(blocker) = idle {
        details.push(format!(
            "{} of {} times it was seen, it had no request",
            blocker.idle.0, blocker.idle.1
        ));
        return Some(facts.found(Cause::IdleBlocker, active, 0.2, details));
    }
    if are_many {
        details.push(format!("{deadlocks:.1} deadlocks per second"));
        return Some(facts.found(Cause::Deadlocks, active, 0.2, details));
    }
    let cause = if of_applications * 2 > waiters {
        Cause::ApplicationLock
    } else if schema * 2.0 > active {
        Cause::SchemaLock
    } else {
        Cause::HotRow
    };
    Some(facts.found(cause, active, 0.0, details))
}

fn is_schema_lock(name: &str) -> bool {
    name.starts_with("LCK_M_SCH_")
}

fn spinning(facts: &Facts<'_>) -> Option<Candidate> {
    let active = facts.window.of(Group::Spinning);
    let largest = facts.window.parts.iter().find(|part| part.group == Group::Spinning)?;
    // Time ready behind a lock's holder that lost its CPU is spent in the state of spinning.
    let behind =
        facts.window.sum(|part| part.category == Category::Runnable && part.name == largest.name);
    let cause = match largest.name.as_str() {
        "CMED_HASH_SET" | "LOCK_RW_CMED_HASH_SET" => Cause::MetadataSpin,
        "SOS_LARGEPAGE_ALLOCATOR" => Cause::AllocatorSpin,
        _ => Cause::OtherSpin,
    };
    let details = vec![format!(
        "{} takes {} per request, {:.0} collisions per second",
        largest.name,
        time(facts.window.us_per_request(largest.active)),
        largest.entries
    )];
    let active = if cause == Cause::OtherSpin { active } else { active + behind };
    Some(facts.found(cause, active, 0.0, details))
}

/// Memory that is taken and given back all the time, by the page or by the segment.
fn allocations(facts: &Facts<'_>) -> Option<Candidate> {
    let window = facts.window;
    let kernel: f64 = ["page_populate", "decommit", "RESERVED_MEMORY_FREE_EXT"]
        .iter()
        .map(|name| window.named(name))
        .sum();
    let pages = window.rate("Page Allocations/sec");
    let returns = window.parts.iter().filter(|part| part.name == "decommit");
    let returns: f64 = returns.map(|part| part.entries).sum();
    let details = vec![format!(
        "{pages:.0} pages are taken per second, {} per request go to the system's memory calls",
        time(window.us_per_request(kernel))
    )];
    // Memory that is taken and not returned is growth: new rows need it.
    const RETURNS_MIN: f64 = 1.0;
    // A segment is returned in few large pieces, a page at a time in thousands.
    let is_by_row = pages > 2_000.0 && (returns > 1_000.0 || returns == 0.0);
    if !is_by_row && returns < RETURNS_MIN {
        return None;
    }
    // Near its limit, a server returns memory for one use to have it for another.
    let used = window.level("Total Server Memory (KB)");
    let limit = window.level("Target Server Memory (KB)");
    let cause = match is_by_row {
        true => Cause::PagePerRow,
        false if is_queries_memory(window) => Cause::MemoryGrants,
        false if used > NEAR_LIMIT * limit && limit > 0.0 => Cause::MemoryLimit,
        false => Cause::Decommit,
    };
    // Memory that comes back as often as it goes is no trimming of what is not needed.
    let again = returns.min(window.kernel_entries("page_populate"));
    let is_churn = cause == Cause::Decommit && again > CHURN_MIN.0;
    let extra = if is_churn && facts.share(kernel) >= CHURN_MIN.1 { SCORE_MIN } else { 0.0 };
    Some(facts.found(cause, kernel, extra, details))
}

/// Compilation, and why: temporary tables, definitions that change, or texts that differ.
fn compilation(facts: &Facts<'_>) -> Option<Candidate> {
    let window = facts.window;
    let active = window.of(Group::Compilation);
    let compilations = window.per_request("SQL Compilations/sec");
    let again = window.per_request("SQL Re-Compilations/sec");
    let tables = window.per_request("Temp Tables Creation Rate");
    let changes = window.rate("Definition Changes/sec");
    let details = vec![format!(
        "per request: {compilations:.2} compilations, {again:.2} again, {tables:.2} temporary \
         tables; {changes:.1} definitions change per second; {} per request",
        time(window.us_per_request(active))
    )];
    // A definition that changes makes others wait and compile: its own statement is their cost.
    let changing = ratio(window.changing.0, window.changing.1);
    if tables > 0.05 {
        let own = window.statements.iter().filter(|s| s.text.contains('#'));
        let own: f64 = own.map(|statement| statement.cpu).sum();
        let active = active.max(own.min(facts.cpu));
        return Some(facts.found(Cause::TemporaryTables, active, tables.min(1.0) * 0.2, details));
    }
    if changes > 1.0 && (changing > 0.3 || changes > 20.0) {
        let busy = changing.min(1.0).max(active);
        return Some(facts.found(Cause::Definitions, busy.min(facts.work), 0.05, details));
    }
    if compilations < 0.05 {
        return None;
    }
    Some(facts.found(Cause::PlanCache, active, compilations.min(1.0) * 0.2, details))
}

/// A statement that uses much of the CPU to look at rows, and returns few.
fn scans(facts: &Facts<'_>) -> Option<Candidate> {
    let dearest = facts.window.statements.iter().find(|s| returns_little(s))?;
    // Without a ledger, as on SQL Server, all CPU time is that of the process.
    let looking = facts.window.sum(|part| {
        part.category == Category::User
            && matches!(part.name.as_str(), "scan" | "join" | "execute" | "index" | "process")
    });
    let scan = facts.window.sum(|part| part.category == Category::User && part.name == "scan");
    // The plan says how it looks; where there is none, the labels and the reads do.
    let has = |name: &str| dearest.plan.contains(&format!("PhysicalOp=\"{name}\""));
    let reads_all = ["Table Scan", "Index Scan", "Clustered Index Scan", "Columnstore Index Scan"];
    let is_scan = match dearest.plan.is_empty() {
        true => scan * 4.0 > looking || dearest.reads > 1_000.0,
        false => reads_all.into_iter().any(has),
    };
    if !is_scan {
        return None;
    }
    // A hash join without keys compares all with all, too.
    let compares_all =
        has("Nested Loops") || dearest.plan.contains("<HashKeysProbe></HashKeysProbe>");
    let cause = if compares_all { Cause::BadJoin } else { Cause::MissingIndex };
    let mut details = vec![format!(
        "{} of CPU per execution, {:.1} rows returned or changed, {:.1} executions per second{}",
        time(dearest.cpu_us),
        dearest.rows,
        dearest.calls,
        place_of(dearest)
    )];
    details.push(format!("statement: {}", shortened(&dearest.text)));
    details.extend(scanned(&dearest.plan).map(|table| format!("its plan reads all of {table}")));
    // What the statement does to rows that it has found, and in the kernel, is no search.
    Some(facts.found(cause, dearest.cpu.min(looking), 0.0, details))
}

/// Where a statement's text is, as far as it is known: an ad hoc text has no database.
fn place_of(statement: &Statement) -> String {
    match statement.database.as_str() {
        "" => String::new(),
        database => format!(", in database {database}"),
    }
}

/// Returns the first table that a plan reads as a whole.
fn scanned(plan: &str) -> Option<String> {
    let from = plan.find("Scan\"")?;
    let object = plan[from..].split("<Object ").nth(1)?.split('>').next()?;
    let of = |name: &str| object.split(&format!("{name}=\"")).nth(1)?.split('"').next();
    Some(format!("{}.{}", of("Schema")?, of("Table")?))
}

/// More than a seek takes, for at most a few rows. Where a plan says what is read, the time need not.
fn returns_little(statement: &Statement) -> bool {
    let verb = statement.text.trim_start().get(..6).unwrap_or("").to_ascii_lowercase();
    let seek_us = if statement.plan.is_empty() { 1_000.0 } else { 100.0 };
    statement.cpu_us > seek_us
        && statement.rows < 100.0
        && matches!(verb.as_str(), "select" | "insert" | "update" | "delete" | "merge " | "with c")
}

/// Whether most of the server's memory is that in which queries sort and hash: then it is they that
/// fail each other's statements, also where the server's limit is met before their share is full.
fn is_queries_memory(window: &Window) -> bool {
    let (granted, used) = window.workspace;
    granted > 0.5 * used && used > 0.0
}

/// Waits for memory of any kind.
fn waits_for_memory(window: &Window) -> f64 {
    window.named("MEMORY_ALLOCATION_EXT") + window.named("CMEMTHREAD")
}

fn grants(facts: &Facts<'_>) -> Option<Candidate> {
    let window = facts.window;
    let pending = window.level("Memory Grants Pending");
    let mut active = window.named("RESOURCE_SEMAPHORE");
    let mut refused = window.rate("Memory Grants Refused/sec");
    if is_queries_memory(window) {
        active += waits_for_memory(window);
        refused = refused.max(window.rate("Out-of-Memory Errors/sec"));
    }
    let (granted, used) = window.workspace;
    let details = vec![format!(
        "queries hold {:.0} of the {:.0} MB in use; {active:.1} statements wait for memory on \
         average, {pending:.0} for a grant at the end; {refused:.1} requests for memory per second \
         fail because others have it",
        granted / 1_024.0,
        used / 1_024.0
    )];
    let failed = if refused > 0.0 { 0.3 } else { 0.0 };
    Some(facts.found(Cause::MemoryGrants, active, failed, details))
}

fn memory_limit(facts: &Facts<'_>) -> Option<Candidate> {
    let window = facts.window;
    let (used, limit) =
        (window.level("Total Server Memory (KB)"), window.level("Target Server Memory (KB)"));
    let failures = window.rate("Out-of-Memory Errors/sec");
    let waiting = waits_for_memory(window);
    // SQL Server fills its memory in normal work: being full alone means nothing.
    if limit <= 0.0 || failures <= 0.0 && facts.share(waiting) < SCORE_MIN {
        return None;
    }
    if is_queries_memory(window) {
        return None;
    }
    let details = vec![
        format!("{:.0} of {:.0} MB are used", used / 1_024.0, limit / 1_024.0),
        format!("{failures:.1} requests for memory fail per second"),
        format!("largest clerk: {}, {:.0} MB", window.clerk.0, window.clerk.1 / 1_024.0),
    ];
    let failed = if failures > 0.0 { 0.3 } else { 0.0 };
    Some(facts.found(Cause::MemoryLimit, waiting, failed, details))
}

fn logins(facts: &Facts<'_>) -> Option<Candidate> {
    let window = facts.window;
    let logins = window.rate("Logins/sec");
    let share = window.per_request("Logins/sec");
    if logins < 2.0 || share < 0.02 {
        return None;
    }
    let active = window.of(Group::Logins);
    let details = vec![format!(
        "{logins:.0} logins per second, {share:.2} per request; {} per login",
        time(active * 1e6 / logins)
    )];
    Some(facts.found(Cause::Logins, active, share.min(1.0) * 0.3, details))
}

fn clients(facts: &Facts<'_>) -> Option<Candidate> {
    let active = facts.window.of(Group::Clients);
    let names: Vec<&str> = facts.window.unread.iter().take(3).map(String::as_str).collect();
    let details = vec![
        format!("{active:.1} requests wait for their client to read, on average"),
        format!("seen waiting: {}", names.join("; ")),
    ];
    Some(facts.found(Cause::SlowReader, active, 0.0, details))
}

fn events(facts: &Facts<'_>) -> Option<Candidate> {
    let window = facts.window;
    let active = window.of(Group::Events);
    let (name, rate) = window.events.first()?;
    let published: f64 = window.events.iter().map(|event| event.1).sum();
    let details = vec![format!(
        "{published:.0} events per second are kept, most by {name} ({rate:.0}); {} per request",
        time(window.us_per_request(active))
    )];
    Some(facts.found(Cause::EventSession, active, 0.0, details))
}

fn log(facts: &Facts<'_>) -> Option<Candidate> {
    // A good device takes a millisecond or two. Where CPUs are short, the log's thread waits for one
    // as well.
    const SLOW_MS: f64 = 2.5;
    const SLOW_ON_BUSY_CPUS_MS: f64 = 10.0;
    let window = facts.window;
    // A backup makes what it has copied durable: its waits for the log are its own.
    let active = (window.of(Group::Log) - window.upkeep_log).max(0.0);
    let (waits, ms) = (window.rate("Log waits"), window.rate("Log wait ms"));
    let each_ms = if waits > 0.0 { ms / waits } else { 0.0 };
    let flushes = window.rate("Log Flushes/sec");
    let details = vec![format!(
        "a commit waits {each_ms:.2} ms for the log; {flushes:.0} flushes per second"
    )];
    let found = facts.found(Cause::LogDevice, active, 0.0, details);
    // An answer that is held until it is durable has no thread in that time: only its client waits.
    let held = (ms / 1e3 - window.named("WRITELOG") - window.upkeep_log).max(0.0);
    let is_short = window.of(Group::SchedulerQueue) + waiting_for_cpus(window) > facts.cpu;
    let slow_ms = if is_short { SLOW_ON_BUSY_CPUS_MS } else { SLOW_MS };
    if each_ms < slow_ms || held < WAITING_MIN {
        return Some(found);
    }
    let score = (active + held) / (facts.work + held).max(f64::EPSILON);
    let price = format!("a commit waits {each_ms:.0} ms, {:.1} sessions at once", active + held);
    Some(Candidate { score: score.max(found.score), price: Some(price), ..found })
}

/// A transaction that was open all the time, while rows are read with effort.
fn snapshots(facts: &Facts<'_>) -> Option<Candidate> {
    const SNAPSHOT: i64 = 5;
    let window = facts.window;
    let (session, level, ms, program) = window.oldest.clone()?;
    let walking = window.sum(|part| part.category == Category::User && part.name == "versions");
    if level != SNAPSHOT || facts.share_of_cpu(walking) < 0.02 {
        return None;
    }
    let details = vec![format!(
        "session {session} ({program}) has had a snapshot for {:.0} s; {} per request go to \
         old row versions",
        ms / 1e3,
        time(window.us_per_request(walking))
    )];
    // Walks are long only where a snapshot is old: the two together are more than a share of time.
    let extra = if ms > 2_000.0 { SCORE_MIN } else { 0.0 };
    Some(facts.found(Cause::OldSnapshot, walking, extra, details))
}

fn quota(facts: &Facts<'_>) -> Option<Candidate> {
    let line = |name: &str| facts.window.environment.iter().find(|line| line.0 == name);
    let periods = line("cpu_throttled_periods")?.2;
    let throttled_us = line("cpu_throttled_us")?.2;
    if periods <= 0.0 {
        return None;
    }
    let active = throttled_us / 1e6 / facts.window.seconds;
    let quota = line("cpu_quota").map_or("unknown", |line| line.1.as_str());
    let details = vec![format!(
        "the quota is {quota} CPUs; {periods:.0} periods were cut short, {:.1} s in all",
        throttled_us / 1e6
    )];
    Some(facts.found(Cause::CpuQuota, active, 0.2, details))
}

/// Keys that are added to indexes beside the first of their tables.
fn indexes(facts: &Facts<'_>) -> Option<Candidate> {
    let window = facts.window;
    let active =
        window.sum(|part| part.category == Category::User && part.name == "index maintenance");
    let is_write = |statement: &&Statement| {
        let verb = statement.text.trim_start().get(..6).unwrap_or("").to_ascii_lowercase();
        matches!(verb.as_str(), "insert" | "update" | "delete" | "merge ")
    };
    let mut details = vec![format!(
        "{} per request go to second and further indexes",
        time(window.us_per_request(active))
    )];
    if let Some(write) = window.statements.iter().find(is_write) {
        details.push(format!("the dearest write: {}", shortened(&write.text)));
    }
    Some(facts.found(Cause::IndexMaintenance, active, 0.0, details))
}

fn backup(facts: &Facts<'_>) -> Option<Candidate> {
    upkeep(facts, Cause::Backup, facts.window.upkeep[0])
}

fn restore(facts: &Facts<'_>) -> Option<Candidate> {
    upkeep(facts, Cause::Restore, facts.window.upkeep[1])
}

/// Requests that were seen in the readings: the average of their number is their thread time,
/// which has the time without a CPU, too.
fn upkeep(facts: &Facts<'_>, cause: Cause, seen: f64) -> Option<Candidate> {
    let window = facts.window;
    if seen <= 0.0 {
        return None;
    }
    let all = facts.work + waiting_for_cpus(window) + window.of(Group::SchedulerQueue);
    let details = vec![format!("{seen:.1} sessions ran it, on average over the readings")];
    Some(Candidate {
        cause,
        active: seen.min(all),
        score: (seen / all.max(1e-9)).min(1.0),
        details,
        price: None,
    })
}

/// Backups and restores wait for checkpoints, too: only who asked for one counts here.
fn checkpoints(facts: &Facts<'_>) -> Option<Candidate> {
    upkeep(facts, Cause::Checkpoints, facts.window.upkeep[2])
}

/// Several times the requests of before, on a server that is busy with them. Requests are counted by
/// what was received: several answers may leave in one call.
fn spike(facts: &Facts<'_>) -> Option<Candidate> {
    const TIMES: f64 = 3.0;
    let window = facts.window;
    let (now, before) = &window.received;
    // A server that was idle before has no usual load.
    let (span, rate) = before
        .iter()
        .filter(|(_, rate)| *rate >= 1.0 && *now >= TIMES * rate)
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    if !has_full_cpus(facts) && !does_own_work(facts) {
        return None;
    }
    let details = vec![format!("{now:.0} requests received per second; {rate:.0} in {span}")];
    let active = facts.work * (1.0 - rate / now);
    Some(facts.found(Cause::WorkloadSpike, active, 0.0, details))
}

/// Whether the CPUs are the limit: queues for them are longer than the time on them, or most of
/// them is used.
pub(crate) fn has_full_cpus(facts: &Facts<'_>) -> bool {
    let window = facts.window;
    let queue = window.of(Group::SchedulerQueue) + waiting_for_cpus(window);
    let is_queue = queue > facts.cpu && queue + facts.cpu >= QUEUE_MIN;
    is_queue || facts.cpu / window.schedulers.max(1.0) > 0.8
}

/// Requests at once that are on a CPU or ready for one: the others wait for their clients.
pub(crate) fn at_work(facts: &Facts<'_>) -> f64 {
    facts.cpu + waiting_for_cpus(facts.window)
}

/// Whether the requests' own work is the limit.
pub(crate) fn does_own_work(facts: &Facts<'_>) -> bool {
    at_work(facts) >= OWN_WORK_MIN * facts.window.schedulers.max(1.0)
}

/// Tasks that wait for a worker: the limit of workers is reached, and all of them wait.
pub(crate) fn workers(facts: &Facts<'_>) -> Option<Candidate> {
    let window = facts.window;
    let queued = window.queued;
    if queued < WAITING_MIN {
        return None;
    }
    let (pausing, waiting) = window.pausing;
    let details = vec![
        format!("{queued:.1} tasks wait for a worker, on average"),
        format!("{pausing:.0} of {waiting:.0} requests that wait are in WAITFOR"),
    ];
    // Where they wait for something else, that is what is wrong, and the queue comes of it.
    let score = if pausing * 2.0 > waiting { 1.0 } else { SCORE_MIN };
    let price = Some(format!("{queued:.1} tasks wait for a worker all the time"));
    Some(Candidate { cause: Cause::WorkerThreads, active: queued, score, details, price })
}

/// Ready without a CPU of the machine: only threads that had something to do.
fn elsewhere(facts: &Facts<'_>) -> Option<Candidate> {
    let window = facts.window;
    let active = waiting_for_cpus(window);
    // Twice the time on a CPU is beyond what the server's own threads do to each other.
    let score = active / (active + facts.work + window.of(Group::SchedulerQueue)).max(f64::EPSILON);
    let details = vec![format!(
        "threads with work were ready for {:.2} s per second, and ran for {:.2}",
        active, facts.cpu
    )];
    Some(Candidate { cause: Cause::CpuElsewhere, active, score, details, price: None })
}

/// Questions of this tool that took too long: what they wait behind may be what is wrong.
pub(crate) fn late_answers(facts: &Facts<'_>) -> Option<Candidate> {
    let late = &facts.window.late;
    let details: Vec<String> =
        late.iter().map(|(view, times)| format!("{view}: {times} late answers")).collect();
    let price = Some(details.join("; "));
    let found = Candidate { cause: Cause::LateAnswers, active: 0.0, score: 1.0, details, price };
    (!late.is_empty()).then_some(found)
}

/// Seconds per second in which threads with work had no CPU of the machine. A thread that was woken
/// from a poll had work if a request had come: as many of them as there were receives.
pub(crate) fn waiting_for_cpus(window: &Window) -> f64 {
    let (received, polled) = (window.kernel_entries("recv"), window.kernel_entries("poll"));
    let with_request = if polled > 0.0 { (received / polled).min(1.0) } else { 0.0 };
    let of = |is_poll: bool| {
        window.sum(|part| part.category == Category::Runnable && (part.name == "poll") == is_poll)
    };
    of(false) + of(true) * with_request
}

fn ratio(part: u64, whole: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of readings are small")]
    let ratio = part as f64 / whole.max(1) as f64;
    ratio
}

/// A text on one line, cut where it is long.
pub(crate) fn shortened(text: &str) -> String {
    const LETTERS_MAX: usize = 120;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LETTERS_MAX) {
        Some((at, _)) => format!("{}..", &line[..at]),
        None => line,
    }
}
