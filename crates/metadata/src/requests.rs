//! Running requests as `sys.dm_exec_requests` shows them: the session's card, the thread that runs
//! the request, and the statement that it executes.

use std::sync::Arc;

use sos::clock;
use sos::sched::{Activity, Role, Standing};
use types::Value;

use crate::sessions::{SessionRow, blocked, blocking_session, session_rows_where};
use crate::view::Scope;
use ::plan::stats::{ProgramBooks, Spend, StatementRow, statement_of};
use ::session::awaited::Waits;
use ::session::instance::SessionCard;
use ::session::session_number;

/// A running request: a row of `sys.dm_exec_requests`.
pub struct RequestRow {
    /// The session that sent the request.
    pub session: SessionRow,
    /// State of the thread that runs it; `None` where no scheduler runs it.
    pub activity: Option<Arc<Activity>>,
    /// Counters of the program (batch or module) that it executes.
    pub books: Option<Arc<ProgramBooks>>,
    /// The statement that it executes.
    pub statement: Option<StatementRow>,
    /// CPU time of the request so far, in ns.
    pub cpu_ns: Option<u64>,
    /// Number of helper threads of a parallel statement.
    pub helpers: usize,
    /// `blocking_session_id`: the session that its wait is for, if known.
    pub blocking: Option<i16>,
    /// `transaction_id`: the number of the session's open transaction; 0 without one.
    pub transaction: u64,
    /// `wait_resource`: the lock or row that it waits for.
    pub resource: Option<String>,
}

/// A wait in progress.
pub struct Wait {
    /// `wait_type`: SQL Server's name of the wait type.
    pub name: &'static str,
    /// `wait_time`: duration so far, in ms.
    pub ms: u64,
}

impl RequestRow {
    /// Returns `status`: `running`, `runnable` or `suspended`.
    pub fn status(&self) -> &'static str {
        match self.activity.as_ref().map(|activity| activity.standing()) {
            // A thread outside the schedulers is taken to be running: nothing else is known.
            None | Some(Standing::Running | Standing::Idle) => "running",
            Some(Standing::Runnable) => "runnable",
            Some(Standing::Waiting) => "suspended",
        }
    }

    /// Returns the wait in progress; `None` if the request does not wait.
    pub fn wait(&self) -> Option<Wait> {
        let waiting = self.activity.as_ref()?.waiting()?;
        let ticks = clock::now_ticks().saturating_sub(waiting.since);
        Some(Wait { name: waiting.wait_type.name(), ms: clock::ticks_to_ns(ticks) / 1_000_000 })
    }

    /// Returns `last_wait_type`: the type of the current wait, or of the thread's last one.
    pub fn last_wait(&self) -> Option<&'static str> {
        Some(self.activity.as_ref()?.last_wait()?.name())
    }

    /// Returns `blocking_session_id`: 0 if the request does not wait, NULL if the blocker is
    /// unknown.
    pub fn blocking(&self) -> Value {
        match (self.blocking, self.wait()) {
            (Some(session), _) => Value::SmallInt(session),
            (None, None) => Value::SmallInt(0),
            (None, Some(_)) => Value::Null,
        }
    }

    /// Returns `scheduler_id`, the scheduler that runs the request.
    pub fn scheduler(&self) -> Option<u32> {
        match self.activity.as_ref()?.role() {
            Role::Worker(scheduler) => Some(scheduler),
            Role::Background => None,
        }
    }

    /// Returns `command`: the first word of the statement.
    pub fn command(&self) -> Option<String> {
        let statement = self.statement.as_ref()?;
        let first = statement.text().split(|c: char| !c.is_ascii_alphabetic()).next()?;
        Some(first.to_ascii_uppercase())
    }
}

/// Returns the requests that run now, ordered by session.
pub fn request_rows(scope: &Scope<'_>) -> Vec<RequestRow> {
    let instance = &scope.session.instance;
    let activities = instance.machine.activities();
    let threads = instance.machine.accounts().threads();
    let owners = instance.store.locks().owners();
    let waits = Waits::new(instance, &scope.session.catalog);
    let row = |session: SessionRow| {
        let live = &session.card.live;
        let worker = live.worker();
        let activity = activities.iter().find(|a| a.number() == worker).map(Arc::clone);
        let account = threads.iter().find(|account| account.number() == worker);
        let spent = account.map(|account| Spend::from(account.spent_so_far()).worker());
        let tag = session_number(session.card.id);
        let helpers: Vec<&Arc<Activity>> =
            activities.iter().filter(|a| a.work() == Some(tag) && a.part() > 0).collect();
        let helped = |helper: &&Arc<Activity>| {
            let account = threads.iter().find(|account| account.number() == helper.number());
            let spent = account.map_or(0, |a| Spend::from(a.spent_so_far()).worker());
            spent.saturating_sub(helper.part_from())
        };
        let helped_ticks: u64 = helpers.iter().map(helped).sum();
        let helpers = helpers.len();
        // Time of helpers that have ended is part of the worker's earlier total, so the difference
        // wraps.
        let own = |ticks: u64| ticks.wrapping_sub(live.worker_ticks());
        let shown = |ticks: u64| if ticks.cast_signed() < 0 { 0 } else { ticks };
        let cpu_ns = spent.map(|ticks| clock::ticks_to_ns(shown(own(ticks)) + helped_ticks));
        let books = instance.statistics.by_serial(live.program());
        let statement = statement_of(&instance.statistics, live.statement());
        let (by, resource) =
            blocked(scope, &waits, session.card.id).map(|b| (b.by, b.resource)).unzip();
        let blocking = by.flatten().or_else(|| blocking_session(activity.as_deref(), &activities));
        let owner = owners.iter().find(|owner| owner.session() == tag);
        let transaction = owner.and_then(|owner| owner.transaction()).map_or(0, |open| open.number);
        RequestRow {
            activity,
            books,
            statement,
            cpu_ns,
            helpers,
            blocking,
            transaction,
            resource,
            session,
        }
    };
    session_rows_where(scope, SessionCard::is_running).into_iter().map(row).collect()
}
