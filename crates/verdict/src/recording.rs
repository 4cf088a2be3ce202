//! `Recording`: the answers of a server, at the edges of sub-windows and around the whole.

use std::collections::BTreeMap;

use crate::category::Category;
use crate::difference::Clock;
use crate::question;
use crate::row::Row;

/// What a server is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Clocks, counts of schedulers, and where the time went.
    Time,
    /// Performance counters of the server.
    Counters,
    /// Requests, and sessions that hold a transaction open.
    Requests,
    /// Sessions that wait for locks, and for whom.
    Waiters,
    /// Open transactions and their ages.
    Transactions,
    /// Statements with a cached plan.
    Statements,
    /// Event sessions, and how much they collect.
    Events,
    /// The largest memory clerks.
    Clerks,
    /// What the machine and its container allow.
    Environment,
    /// How much the server answered before.
    History,
}

impl Subject {
    /// Every subject, in the order in which they are asked.
    pub const ALL: [Self; 10] = [
        Self::Time,
        Self::Counters,
        Self::Requests,
        Self::Waiters,
        Self::Transactions,
        Self::Statements,
        Self::Events,
        Self::Clerks,
        Self::Environment,
        Self::History,
    ];

    /// Returns the texts that answer it, best first.
    #[must_use]
    pub fn texts(self) -> &'static [&'static str] {
        match self {
            Self::Time => &[question::TIME_LEDGER, question::TIME_WAITS],
            Self::Counters => &[question::COUNTERS],
            Self::Requests => &[question::REQUESTS, question::REQUESTS_PLAIN],
            Self::Waiters => &[question::WAITERS],
            Self::Transactions => &[question::TRANSACTIONS],
            Self::Statements => &[question::STATEMENTS, question::STATEMENTS_PLAIN],
            Self::Events => &[question::EVENTS],
            Self::Clerks => &[question::CLERKS],
            Self::Environment => &[question::ENVIRONMENT],
            Self::History => &[question::HISTORY],
        }
    }

    /// Returns whether it is asked at the edge of each sub-window, or only at both ends.
    #[must_use]
    pub fn is_of_each_window(self) -> bool {
        match self {
            Self::Time | Self::Counters | Self::Requests | Self::Waiters | Self::Transactions => {
                true
            }
            Self::Statements | Self::Events | Self::Clerks | Self::Environment | Self::History => {
                false
            }
        }
    }

    /// Returns the view that it is read from.
    #[must_use]
    pub const fn view(self) -> &'static str {
        match self {
            Self::Time => "sys.dm_os_time_ledger",
            Self::Counters => "sys.dm_os_performance_counters",
            Self::Requests => "sys.dm_exec_requests",
            Self::Waiters => "sys.dm_os_waiting_tasks",
            Self::Transactions => "sys.dm_tran_active_transactions",
            Self::Statements => "sys.dm_exec_query_stats",
            Self::Events => "sys.dm_xe_session_counts",
            Self::Clerks => "sys.dm_os_memory_clerks",
            Self::Environment => "sys.dm_os_environment",
            Self::History => "sys.fn_time_ledger",
        }
    }

    /// Returns what is missing where only the text of this index works, or none (`None`).
    #[must_use]
    pub fn loss(self, index: Option<usize>) -> Option<&'static str> {
        match (self, index) {
            (_, Some(0)) => None,
            (Self::Time, Some(_)) => {
                Some("the time ledger: time is known from waits and the CPU of the process")
            }
            (Self::Requests, Some(_)) => Some("the texts of requests"),
            (Self::Statements, Some(_)) => Some("the rows of statements"),
            (Self::Time, None) => Some("sys.dm_os_wait_stats"),
            (Self::Counters, _) => Some("sys.dm_os_performance_counters"),
            (Self::Requests, None) => Some("sys.dm_exec_requests"),
            (Self::Waiters, _) => Some("sys.dm_os_waiting_tasks"),
            (Self::Transactions, _) => Some("sys.dm_tran_active_transactions"),
            (Self::Statements, None) => Some("sys.dm_exec_query_stats"),
            (Self::Events, _) => Some("counts of event sessions (sys.dm_xe_session_counts)"),
            (Self::Clerks, _) => Some("sys.dm_os_memory_clerks"),
            (Self::Environment, _) => Some("the machine's limits (sys.dm_os_environment)"),
            (Self::History, _) => Some("the load of the last hour (sys.fn_time_ledger)"),
        }
    }
}

/// Sums of the leaves of the ledger: nanoseconds and entries.
pub(crate) type Leaves = BTreeMap<(Category, String), (u64, u64)>;

/// What a server said at one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The server's clocks at that moment.
    pub clock: Clock,
    /// Requests that were made for this reading: they are not a load.
    pub own_requests: u64,
    /// The sums of each leaf.
    pub(crate) leaves: Leaves,
    /// The answers, by subject: the rows of the last result of each.
    pub(crate) rows: BTreeMap<Subject, Vec<Row>>,
}

impl Reading {
    /// Whether the server said when this was and where its time went: without that, a reading has
    /// no difference to others.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        !self.leaves.is_empty()
    }

    /// Takes the answer of a subject. `local_ns` is the client's monotonic clock.
    pub fn take(&mut self, subject: Subject, results: &[Vec<Row>], local_ns: u64) {
        if subject == Subject::Time {
            let Some(clock) = results.first().and_then(|rows| rows.first()) else { return };
            self.clock = Clock::from_row(clock, local_ns);
            let rows = results.get(1).map_or(&[][..], Vec::as_slice);
            self.leaves = leaves(rows, &self.clock);
            return;
        }
        self.rows.insert(subject, results.last().cloned().unwrap_or_default());
    }

    pub(crate) fn of(&self, subject: Subject) -> &[Row] {
        self.rows.get(&subject).map_or(&[], Vec::as_slice)
    }

    /// Whether the server answered this question: it may refuse one, or take too long.
    pub(crate) fn has(&self, subject: Subject) -> bool {
        self.rows.contains_key(&subject)
    }

    /// Returns the largest counter of this name; 0 if there is none.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        let rows = self.of(Subject::Counters).iter().filter(|row| row.text(0) == name);
        rows.map(|row| row.count(1)).max().unwrap_or(0)
    }
}

/// Reads the leaves. Without a ledger, the CPU time of the process is taken as user and kernel.
fn leaves(rows: &[Row], clock: &Clock) -> Leaves {
    let key = |row: &Row| (Category::from_name(row.text(0)), row.text(1).to_owned());
    let mut leaves: Leaves =
        rows.iter().map(|row| (key(row), (row.count(2), row.count(3)))).collect();
    let has_cpu = leaves.keys().any(|(category, _)| *category == Category::User);
    if !has_cpu {
        for (category, ms) in [(Category::User, clock.user_ms), (Category::Kernel, clock.kernel_ms)]
        {
            leaves.insert((category, "process".to_owned()), (ms.saturating_mul(1_000_000), 0));
        }
    }
    leaves
}

/// Who the server is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// The name or address under which it was asked.
    pub name: String,
    /// The line of `@@VERSION` that names the product.
    pub version: String,
    /// Whether it is Clearway: then the ledger closes, and an intervention is possible.
    pub is_clearway: bool,
}

/// All readings of a server.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Who the server is.
    pub server: Server,
    /// The readings, oldest first.
    pub readings: Vec<Reading>,
    /// What the server could not answer.
    pub missing: Vec<String>,
    /// Questions whose answers took too long, and how many of them did.
    pub late: Vec<(Subject, u32)>,
    /// Whether the server stopped answering before the end of the look.
    pub has_gone_silent: bool,
    /// Plans as XML, by the statements' places: see [`crate::window::dearest`].
    pub plans: Vec<(Place, String)>,
}

/// Where a statement is: plan handle, start and end.
pub type Place = (String, i64, i64);

impl Recording {
    /// Takes the answer to the question about a statement's plan.
    pub fn take_plan(&mut self, place: Place, results: &[Vec<Row>]) {
        let plan = results.first().and_then(|rows| rows.first()).map(|row| row.text(0).to_owned());
        self.plans.extend(plan.filter(|plan| !plan.is_empty()).map(|plan| (place, plan)));
    }

    pub(crate) fn first(&self) -> Option<&Reading> {
        self.readings.first()
    }

    pub(crate) fn last(&self) -> Option<&Reading> {
        self.readings.last()
    }

    /// Returns the first and the last reading with an answer to a question, if they are two.
    pub(crate) fn ends(&self, subject: Subject) -> Option<(&Reading, &Reading)> {
        let mut with = self.readings.iter().filter(|reading| reading.has(subject));
        Some((with.next()?, with.next_back()?))
    }
}

/// Returns whether a version is that of Clearway (true) or of SQL Server; `None` for any other make.
#[must_use]
pub fn make_of(version: &str) -> Option<bool> {
    match version.contains("Clearway") {
        true => Some(true),
        false => version.contains("Microsoft SQL").then_some(false),
    }
}
