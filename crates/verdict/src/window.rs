//! `Window`: what happened between the first and the last reading, as a time vector: thread time
//! by part, per second and per request, whose parts add up to the whole.

use std::collections::{BTreeMap, BTreeSet};

use crate::category::Category;
use crate::difference::grown;
use crate::estimate::Estimate;
use crate::recording::{Place, Reading, Recording, Subject};
use crate::row::Row;

/// The parts of the bar: what a thread's time was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Running statements, on a CPU.
    Statements,
    /// Compiling statements, on a CPU.
    Compilation,
    /// Logins and their TLS handshakes.
    Logins,
    /// Collecting events for event sessions.
    Events,
    /// In system calls, on a CPU or not.
    Kernel,
    /// Looping until a lock is free.
    Spinning,
    /// Waiting for rows and other locks.
    Locks,
    /// Waiting for the log.
    Log,
    /// Waiting for a client to read.
    Clients,
    /// Waiting for memory or a grant of it.
    Memory,
    /// Waits that are in no other group.
    OtherWaits,
    /// WAITFOR: a pause that a statement asked for.
    Pauses,
    /// Signalled, but without a scheduler.
    SchedulerQueue,
    /// Ready, but without a CPU of the machine, or stopped by it.
    Machine,
    /// Reading the views: this tool among others.
    Observation,
    /// Time that nothing explains.
    Dark,
}

impl Group {
    /// Every group, in the order of the bar.
    pub const ALL: [Self; 16] = [
        Self::Statements,
        Self::Compilation,
        Self::Logins,
        Self::Events,
        Self::Kernel,
        Self::Spinning,
        Self::Locks,
        Self::Log,
        Self::Clients,
        Self::Memory,
        Self::OtherWaits,
        Self::Pauses,
        Self::SchedulerQueue,
        Self::Machine,
        Self::Observation,
        Self::Dark,
    ];

    /// Returns its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Statements => "statements (CPU)",
            Self::Compilation => "compiling (CPU)",
            Self::Logins => "logins and TLS",
            Self::Events => "event sessions",
            Self::Kernel => "system calls",
            Self::Spinning => "spinning",
            Self::Locks => "waiting for locks",
            Self::Log => "waiting for the log",
            Self::Clients => "waiting for clients",
            Self::Memory => "waiting for memory",
            Self::OtherWaits => "other waits",
            Self::Pauses => "WAITFOR",
            Self::SchedulerQueue => "queue for a scheduler",
            Self::Machine => "queue for the machine",
            Self::Observation => "reading views",
            Self::Dark => "dark",
        }
    }

    /// Returns the group of a leaf; `None` for idle time.
    #[must_use]
    pub fn of(category: Category, name: &str) -> Option<Self> {
        Some(match category {
            Category::User => match name {
                "parse" | "bind" | "plan" => Self::Compilation,
                "login" => Self::Logins,
                "events" => Self::Events,
                _ => Self::Statements,
            },
            Category::Kernel => Self::Kernel,
            Category::Spin => Self::Spinning,
            Category::Observation => Self::Observation,
            Category::Dark | Category::Foreign => Self::Dark,
            // A thread that wakes to see whether there is work delays no request.
            Category::Runnable if is_idle(name) => return None,
            Category::Runnable | Category::UnexpectedBlocking => Self::Machine,
            Category::Signal => Self::SchedulerQueue,
            Category::Wait => Self::of_wait(name),
            Category::Idle => return None,
        })
    }

    fn of_wait(name: &str) -> Self {
        match name {
            "WAITFOR" => Self::Pauses,
            "WRITELOG" | "LOGBUFFER" | "LOGMGR" => Self::Log,
            "ASYNC_NETWORK_IO" => Self::Clients,
            "RESOURCE_SEMAPHORE" | "CMEMTHREAD" | "MEMORY_ALLOCATION_EXT" => Self::Memory,
            "PREEMPTIVE_OS_CRYPTOPS" | "LOGIN_DELAY" => Self::Logins,
            "XE_BUFFERMGR_FREEBUF_EVENT" => Self::Events,
            _ if name.starts_with("LCK_") => Self::Locks,
            _ => Self::OtherWaits,
        }
    }
}

/// Whether a thread in this state has nothing to do for a request.
fn is_idle(name: &str) -> bool {
    const IDLE: [&str; 9] = [
        "idle",
        "background",
        "SLEEP_TASK",
        "SLEEP_SYSTEMTASK",
        "LISTENER_ACCEPT",
        "LOGMGR_QUEUE",
        "CHECKPOINT_QUEUE",
        "SOS_WORK_DISPATCHER",
        "XE_DISPATCHER_WAIT",
    ];
    IDLE.contains(&name)
}

/// A leaf of the ledger in the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its group in the bar.
    pub group: Group,
    /// The branch that it is on.
    pub category: Category,
    /// A wait type, a lock class or a part of the engine.
    pub name: String,
    /// Thread seconds per second.
    pub active: f64,
    /// How often it was entered per second.
    pub entries: f64,
    /// Microseconds per request; zeros without requests.
    pub per_request: Estimate,
}

/// What a statement did in the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statement {
    /// The text of the statement.
    pub text: String,
    /// The database that it ran in, and the procedure, function or trigger; empty for an ad hoc
    /// text.
    pub database: String,
    /// Number of executions per second.
    pub calls: f64,
    /// CPU seconds per second.
    pub cpu: f64,
    /// CPU microseconds per execution.
    pub cpu_us: f64,
    /// Seconds per second in which it ran or waited.
    pub elapsed: f64,
    /// Rows returned per execution.
    pub rows: f64,
    /// Logical reads per execution.
    pub reads: f64,
    /// Its plan as XML; empty if it was not asked for.
    pub plan: String,
    /// Where its plan is found.
    pub place: Place,
}

/// A session in the way of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocker {
    /// The number of the session.
    pub session: i64,
    /// Number of waiters seen behind it, over all readings.
    pub waiters: u64,
    /// How often it was seen idle with an open transaction, and how often at all.
    pub idle: (u64, u64),
    /// Its program, host and login.
    pub from: String,
    /// What it ran last.
    pub text: String,
    /// The resource that most of its waiters wait for.
    pub resource: String,
}

/// The differences of a recording.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Its length in seconds of the server's clock.
    pub seconds: f64,
    /// Number of sub-windows with a difference.
    pub windows: usize,
    /// Number of schedulers for requests.
    pub schedulers: f64,
    /// Requests per second, without those of the recording.
    pub requests: Estimate,
    /// Thread seconds per second that are not idle: the whole of the bar.
    pub active: f64,
    /// The parts, largest first; their sum is the whole.
    pub parts: Vec<Part>,
    /// Growth of counters per second, and levels at the end, by name.
    pub(crate) counters: BTreeMap<String, (f64, f64)>,
    /// Kilobytes granted to queries, and of the whole server, on average over the readings.
    pub(crate) workspace: (f64, f64),
    /// Statements, by CPU time, largest first.
    pub statements: Vec<Statement>,
    /// Sessions in the way, most waiters first.
    pub blockers: Vec<Blocker>,
    /// Waiters seen, over all readings, and those for an application lock.
    pub(crate) waiters: (u64, u64),
    /// Event sessions: published events per second by session and event, most first.
    pub(crate) events: Vec<(String, f64)>,
    /// The oldest transaction seen in every reading: session, level, milliseconds, program.
    pub(crate) oldest: Option<(i64, i64, f64, String)>,
    /// Readings in which a definition was being changed, and the number of readings.
    pub(crate) changing: (u64, u64),
    /// Sessions waiting for a client, with their programs.
    pub(crate) unread: BTreeSet<String>,
    /// The largest memory clerk and its kilobytes.
    pub(crate) clerk: (String, f64),
    /// How many sessions ran BACKUP, RESTORE and CHECKPOINT, on average over the readings.
    pub(crate) upkeep: [f64; 3],
    /// How many of those waited for the log, on average over the readings.
    pub(crate) upkeep_log: f64,
    /// Requests received per second, and in spans of time before, by name.
    pub(crate) received: (f64, Vec<(String, f64)>),
    /// Tasks that wait for a worker, on average over the readings.
    pub(crate) queued: f64,
    /// Requests seen waiting, on average over the readings: those in WAITFOR, and all.
    pub(crate) pausing: (f64, f64),
    /// CPU seconds per second that this tool's own session used.
    pub own: f64,
    /// Lines of the environment: name, value at the end, growth, warning.
    pub environment: Vec<(String, String, f64, String)>,
    /// Views whose answers took too long, and how many of them did.
    pub(crate) late: Vec<(&'static str, u32)>,
}

/// Why there is no window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Fewer than two readings.
    TooShort,
    /// The server was restarted between two readings.
    Restarted,
    /// No time passed by any clock.
    NoTime,
}

impl Window {
    /// Takes the differences.
    ///
    /// # Errors
    /// Why the readings have none.
    pub fn new(recording: &Recording) -> Result<Self, Broken> {
        let (Some(first), Some(last)) = (recording.first(), recording.last()) else {
            return Err(Broken::TooShort);
        };
        if recording.readings.len() < 2 {
            return Err(Broken::TooShort);
        }
        if first.clock.start_ticks_ms != last.clock.start_ticks_ms {
            return Err(Broken::Restarted);
        }
        let spans: Vec<Span<'_>> = spans(recording)?;
        let seconds: f64 = spans.iter().map(|span| span.seconds).sum();
        let mut window = Self {
            seconds,
            windows: spans.len(),
            schedulers: float(last.clock.schedulers),
            requests: Estimate::ratio(
                &spans.iter().map(|span| (span.requests, span.seconds)).collect::<Vec<_>>(),
            ),
            ..Self::default()
        };
        window.parts = parts(&spans, seconds);
        window.active = window.parts.iter().map(|part| part.active).sum();
        window.counters = counters(recording);
        window.workspace = (
            average(recording, "Granted Workspace Memory (KB)"),
            average(recording, "Total Server Memory (KB)"),
        );
        window.statements = statements(recording, seconds);
        for statement in &mut window.statements {
            let plan = recording.plans.iter().find(|(place, _)| *place == statement.place);
            statement.plan = plan.map_or(String::new(), |(_, plan)| plan.clone());
        }
        window.own = float(last.clock.own_cpu_ms.saturating_sub(first.clock.own_cpu_ms)) / 1e3;
        window.own /= seconds.max(1e-9);
        window.received = (window.kernel_entries("recv"), history(first));
        window.queued = average(recording, "Worker Waits");
        window.events = events(recording, seconds);
        window.environment = environment(recording);
        window.late = recording.late.iter().map(|(what, times)| (what.view(), *times)).collect();
        window.oldest = oldest(recording);
        let clerk = last.of(Subject::Clerks).first();
        window.clerk =
            clerk.map(|row| (row.text(0).to_owned(), float(row.count(1)))).unwrap_or_default();
        window.look_at_requests(recording);
        Ok(window)
    }

    /// Returns the thread seconds per second of a group.
    #[must_use]
    pub fn of(&self, group: Group) -> f64 {
        self.sum(|part| part.group == group)
    }

    /// Returns the thread seconds per second of the parts that `is` selects.
    pub(crate) fn sum(&self, is: impl Fn(&Part) -> bool) -> f64 {
        self.parts.iter().filter(|part| is(part)).map(|part| part.active).sum()
    }

    /// Returns the seconds per second of leaves of a name in any category.
    pub(crate) fn named(&self, name: &str) -> f64 {
        self.sum(|part| part.name == name)
    }

    /// Returns how often a second a system call was made.
    pub(crate) fn kernel_entries(&self, name: &str) -> f64 {
        let of = |part: &&Part| part.category == Category::Kernel && part.name == name;
        self.parts.iter().filter(of).map(|part| part.entries).sum()
    }

    /// Returns the growth per second of a counter.
    pub(crate) fn rate(&self, name: &str) -> f64 {
        self.counters.get(name).map_or(0.0, |counter| counter.0)
    }

    /// Returns how often a second the log was flushed.
    #[must_use]
    pub fn flushes(&self) -> f64 {
        self.rate("Log Flushes/sec")
    }

    /// Returns the value of a counter at the end.
    pub(crate) fn level(&self, name: &str) -> f64 {
        self.counters.get(name).map_or(0.0, |counter| counter.1)
    }

    /// Returns the growth per request of a counter.
    pub(crate) fn per_request(&self, name: &str) -> f64 {
        if self.requests.mean > 0.0 { self.rate(name) / self.requests.mean } else { 0.0 }
    }

    /// Returns microseconds per request of a time in seconds per second.
    #[must_use]
    pub fn us_per_request(&self, active: f64) -> f64 {
        if self.requests.mean > 0.0 { active * 1e6 / self.requests.mean } else { 0.0 }
    }

    /// Returns the share of a time in all time that is not idle.
    #[must_use]
    pub fn share(&self, active: f64) -> f64 {
        if self.active > 0.0 { active / self.active } else { 0.0 }
    }

    /// Returns each group with its percentage in tenths; they sum to 1,000 exactly.
    #[must_use]
    pub fn bar(&self) -> Vec<(Group, u32)> {
        let shares: Vec<(Group, f64)> = Group::ALL
            .into_iter()
            .map(|group| (group, self.share(self.of(group)) * 1_000.0))
            .filter(|(_, share)| *share > 0.0)
            .collect();
        let mut bar: Vec<(Group, u32, f64)> = shares
            .into_iter()
            .map(|(group, share)| (group, tenths(share), share - share.floor()))
            .collect();
        let mut rest = 1_000_u32.saturating_sub(bar.iter().map(|part| part.1).sum());
        let mut order: Vec<usize> = (0..bar.len()).collect();
        order.sort_by(|a, b| bar[*b].2.total_cmp(&bar[*a].2));
        for place in order {
            if rest > 0 {
                bar[place].1 += 1;
                rest -= 1;
            }
        }
        let seen = bar.into_iter().filter(|(_, share, _)| *share > 0);
        seen.map(|(group, share, _)| (group, share)).collect()
    }

    /// Looks at the sampled requests: who was in the way, who waited for a client, what changed
    /// definitions.
    fn look_at_requests(&mut self, recording: &Recording) {
        let mut blockers: BTreeMap<i64, Blocker> = BTreeMap::new();
        for reading in &recording.readings {
            let requests = reading.of(Subject::Requests);
            self.changing.1 += 1;
            self.changing.0 += u64::from(requests.iter().any(is_changing));
            for (seen, verb) in self.upkeep.iter_mut().zip(["BACKUP", "RESTORE", "CHECKPOINT"]) {
                let is_it = |row: &&Row| row.text(20).to_ascii_uppercase().starts_with(verb);
                *seen += requests.iter().filter(is_it).map(|_| 1.0).sum::<f64>();
                let waits = |row: &&Row| Group::of_wait(row.text(4)) == Group::Log;
                let of_log = requests.iter().filter(is_it).filter(waits);
                self.upkeep_log += of_log.map(|_| 1.0).sum::<f64>();
            }
            for row in requests.iter().filter(|row| !row.text(4).is_empty()) {
                self.pausing.0 += f64::from(u8::from(Group::of_wait(row.text(4)) == Group::Pauses));
                self.pausing.1 += 1.0;
            }
            for row in requests.iter().filter(|row| row.text(4) == "ASYNC_NETWORK_IO") {
                self.unread.insert(from_of(row));
            }
            let mut resources: BTreeMap<i64, &str> = BTreeMap::new();
            for waiter in reading.of(Subject::Waiters) {
                self.waiters.0 += 1;
                self.waiters.1 += u64::from(waiter.text(4).contains("APPLICATION"));
                self.waiters.1 += u64::from(waiter.text(4).starts_with("applicationlock"));
                let Some(session) = waiter.integer(3).filter(|session| *session > 0) else {
                    continue;
                };
                let head = head_of(session, reading.of(Subject::Waiters));
                blockers.entry(head).or_default().waiters += 1;
                resources.insert(head, waiter.text(4));
            }
            for (session, resource) in resources {
                let blocker = blockers.entry(session).or_default();
                blocker.session = session;
                blocker.resource = resource.to_owned();
                blocker.idle.1 += 1;
                let row = requests.iter().find(|row| row.integer(0) == Some(session));
                let Some(row) = row else { continue };
                // No request, and a transaction: it does nothing and holds its locks.
                if row.integer(1).is_none() && row.count(14) > 0 {
                    blocker.idle.0 += 1;
                }
                blocker.from = from_of(row);
                blocker.text = row.text(19).to_owned();
            }
        }
        let readings = float(self.changing.1.max(1));
        self.upkeep = self.upkeep.map(|seen| seen / readings);
        self.upkeep_log /= readings;
        self.pausing = (self.pausing.0 / readings, self.pausing.1 / readings);
        self.blockers = blockers.into_values().collect();
        self.blockers.sort_by_key(|blocker| std::cmp::Reverse(blocker.waiters));
    }
}

/// The differences between two neighbouring readings.
struct Span<'r> {
    before: &'r Reading,
    after: &'r Reading,
    seconds: f64,
    requests: f64,
}

fn spans(recording: &Recording) -> Result<Vec<Span<'_>>, Broken> {
    const REQUESTS: &str = "Batch Requests/sec";
    let mut spans = Vec::new();
    // The counter of the last reading that has one, and our own requests since.
    let mut counted = None;
    let mut own = 0;
    for pair in recording.readings.windows(2) {
        let [before, after] = pair else { continue };
        if before.clock.start_ticks_ms != after.clock.start_ticks_ms {
            return Err(Broken::Restarted);
        }
        if before.has(Subject::Counters) {
            counted = Some(before.counter(REQUESTS));
            own = 0;
        }
        own += before.own_requests;
        let Some(seconds) = after.clock.seconds_since(&before.clock) else { continue };
        // Where the counters are missing, the next span that has them has the requests of both.
        let requests = match counted.filter(|_| after.has(Subject::Counters)) {
            Some(counted) => grown(counted, after.counter(REQUESTS)).saturating_sub(own),
            None => 0,
        };
        let requests = float(requests);
        spans.push(Span { before, after, seconds, requests });
    }
    if spans.is_empty() { Err(Broken::NoTime) } else { Ok(spans) }
}

fn parts(spans: &[Span<'_>], seconds: f64) -> Vec<Part> {
    let keys: BTreeSet<_> = spans.iter().flat_map(|span| span.after.leaves.keys()).collect();
    let mut parts = Vec::new();
    for (category, name) in keys {
        let Some(group) = Group::of(*category, name) else { continue };
        let key = (*category, name.clone());
        let growth = |span: &Span<'_>| {
            let after = span.after.leaves.get(&key).copied();
            let before = span.before.leaves.get(&key).copied().unwrap_or_default();
            after.map_or((0, 0), |after| (grown(before.0, after.0), grown(before.1, after.1)))
        };
        let grew: Vec<(u64, u64)> = spans.iter().map(growth).collect();
        let ns: u64 = grew.iter().map(|grew| grew.0).sum();
        if ns == 0 {
            continue;
        }
        let entries: u64 = grew.iter().map(|grew| grew.1).sum();
        let pairs: Vec<(f64, f64)> = grew
            .iter()
            .zip(spans)
            .map(|(grew, span)| (float(grew.0) / 1e3, span.requests))
            .collect();
        parts.push(Part {
            group,
            category: *category,
            name: name.clone(),
            active: float(ns) / 1e9 / seconds,
            entries: float(entries) / seconds,
            per_request: Estimate::ratio(&pairs),
        });
    }
    parts.sort_by(|a, b| b.active.total_cmp(&a.active));
    parts
}

fn counters(recording: &Recording) -> BTreeMap<String, (f64, f64)> {
    let Some((first, last)) = recording.ends(Subject::Counters) else { return BTreeMap::new() };
    // The readings at the ends may lack them.
    let Some(seconds) = last.clock.seconds_since(&first.clock) else { return BTreeMap::new() };
    let names: BTreeSet<&str> = last.of(Subject::Counters).iter().map(|row| row.text(0)).collect();
    let of = |name: &str| {
        let (before, after) = (first.counter(name), last.counter(name));
        (name.to_owned(), (float(grown(before, after)) / seconds, float(after)))
    };
    names.into_iter().map(of).collect()
}

/// Returns the mean of a level over the readings that have it.
fn average(recording: &Recording, name: &str) -> f64 {
    let with = recording.readings.iter().filter(|reading| reading.has(Subject::Counters));
    let (sum, count) = with.fold((0.0, 0_u64), |(sum, count), reading| {
        (sum + float(reading.counter(name)), count + 1)
    });
    sum / float(count.max(1))
}

fn statements(recording: &Recording, seconds: f64) -> Vec<Statement> {
    let Some((first, last)) = recording.ends(Subject::Statements) else { return Vec::new() };
    let key = |row: &Row| (0..4).map(|column| row.text(column).to_owned()).collect::<Vec<_>>();
    let before: BTreeMap<_, _> =
        first.of(Subject::Statements).iter().map(|row| (key(row), row)).collect();
    let none = Row::default();
    let of = |row: &Row| {
        let before = before.get(&key(row)).copied().unwrap_or(&none);
        let grew = |column| float(grown(before.count(column), row.count(column)));
        let (calls, cpu) = (grew(4), grew(5));
        let each = |sum: f64| if calls > 0.0 { sum / calls } else { sum };
        Statement {
            text: row.text(10).to_owned(),
            database: row.text(9).to_owned(),
            calls: calls / seconds,
            cpu: cpu / 1e6 / seconds,
            cpu_us: each(cpu),
            elapsed: grew(6) / 1e6 / seconds,
            reads: each(grew(7)),
            rows: each(grew(8)),
            plan: String::new(),
            place: (
                row.text(0).to_owned(),
                row.integer(1).unwrap_or(0),
                row.integer(2).unwrap_or(-1),
            ),
        }
    };
    let is_own = |row: &&Row| {
        !["sys.dm_", "sys.fn_time_ledger"].iter().any(|view| row.text(10).contains(view))
    };
    let mut statements: Vec<Statement> =
        last.of(Subject::Statements).iter().filter(is_own).map(of).collect();
    statements.retain(|statement| statement.cpu > 0.0 || statement.elapsed > 0.0);
    statements.sort_by(|a, b| b.cpu.total_cmp(&a.cpu));
    statements
}

/// Returns where the statements are that used most CPU time, for questions about their plans.
#[must_use]
pub fn dearest(recording: &Recording) -> Vec<Place> {
    const COUNT: usize = 3;
    let statements = statements(recording, 1.0).into_iter();
    statements.take(COUNT).map(|statement| statement.place).collect()
}

/// Returns the rates of requests in spans before the first reading, as far as they are known.
fn history(first: &Reading) -> Vec<(String, f64)> {
    // A server that is younger than a span has only a part of it.
    const SPAN_MS_MIN: f64 = 15_000.0;
    let span = |row: &Row| {
        let ms = row.number(1).filter(|ms| *ms >= SPAN_MS_MIN)?;
        Some((row.text(0).to_owned(), row.number(2)? * 1e3 / ms))
    };
    first.of(Subject::History).iter().filter_map(span).collect()
}

fn events(recording: &Recording, seconds: f64) -> Vec<(String, f64)> {
    let Some((first, last)) = recording.ends(Subject::Events) else { return Vec::new() };
    let key = |row: &Row| format!("{}.{}", row.text(0), row.text(1));
    let before: BTreeMap<String, u64> =
        first.of(Subject::Events).iter().map(|row| (key(row), row.count(2))).collect();
    let of = |row: &Row| {
        let key = key(row);
        let earlier = before.get(&key).copied().unwrap_or(0);
        (key, float(grown(earlier, row.count(2))) / seconds)
    };
    let mut events: Vec<(String, f64)> = last.of(Subject::Events).iter().map(of).collect();
    events.retain(|(_, rate)| *rate > 0.0);
    events.sort_by(|a, b| b.1.total_cmp(&a.1));
    events
}

fn environment(recording: &Recording) -> Vec<(String, String, f64, String)> {
    let mut with = recording.readings.iter().filter(|reading| reading.has(Subject::Environment));
    let Some(first) = with.next() else { return Vec::new() };
    let last = with.next_back().unwrap_or(first);
    let of = |row: &Row| {
        let before = first.of(Subject::Environment).iter().find(|old| old.text(0) == row.text(0));
        let growth =
            before.and_then(|before| Some(row.number(1)? - before.number(1)?)).unwrap_or(0.0);
        (row.text(0).to_owned(), row.text(1).to_owned(), growth, row.text(2).to_owned())
    };
    last.of(Subject::Environment).iter().map(of).collect()
}

/// Returns the oldest transaction that was open in every reading that has an answer about them.
fn oldest(recording: &Recording) -> Option<(i64, i64, f64, String)> {
    let readings: Vec<&Reading> =
        recording.readings.iter().filter(|reading| reading.has(Subject::Transactions)).collect();
    let is_in = |reading: &Reading, session: i64| {
        reading.of(Subject::Transactions).iter().any(|row| row.integer(0) == Some(session))
    };
    let mut rows = readings.last()?.of(Subject::Transactions).iter().filter_map(|row| {
        let session = row.integer(0)?;
        let stayed = readings.iter().all(|reading| is_in(reading, session));
        let level = row.integer(1).unwrap_or(0);
        stayed.then(|| (session, level, row.number(2).unwrap_or(0.0), row.text(3).to_owned()))
    });
    rows.next()
}

/// Follows a chain of waiters to the session that does not wait itself.
fn head_of(mut session: i64, waiters: &[Row]) -> i64 {
    for _ in 0..waiters.len() {
        let next = waiters.iter().find(|row| row.integer(0) == Some(session));
        match next.and_then(|row| row.integer(3)).filter(|next| *next > 0) {
            Some(next) => session = next,
            None => return session,
        }
    }
    session
}

fn is_changing(row: &Row) -> bool {
    let command = row.text(20).to_ascii_uppercase();
    let is_temporary = row.text(19).contains('#');
    !is_temporary && ["CREATE", "ALTER", "DROP"].iter().any(|verb| command.starts_with(verb))
}

/// Says where a session of a request comes from.
fn from_of(row: &Row) -> String {
    let parts = [row.text(13), row.text(12), row.text(11)];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("session {} ({})", row.text(0), parts.join(", "))
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn float(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share in tenths of a percent, from 0 to 1,000"
)]
fn tenths(share: f64) -> u32 {
    share.clamp(0.0, 1_000.0).floor() as u32
}
