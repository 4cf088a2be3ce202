//! Threads, tasks and waits as `sys.dm_os_workers`, `sys.dm_os_waiting_tasks` and related views
//! show them.
//!
//! A task is a request that a thread works on, or one of the server's background threads. A wait
//! has one row for each session that blocks it.

use std::sync::Arc;

use sos::clock;
use sos::sched::{Activity, Blocker, Role, Standing, Waiting};
use sos::wait::WaitType;
use storage::lock::{LockMode, LockRow, LockStatus};
use types::Value;

use super::column::binary;
use crate::locked_row::key_suffix;
use crate::view::Scope;
use ::session::awaited::{Mode, Resource, Waits};
use ::session::instance::SessionCard;
use ::session::{session_id, session_number};

/// A thread, with the session that it works for.
pub struct TaskRow {
    /// The thread's current state, as its scheduler publishes it.
    pub activity: Arc<Activity>,
    /// The session that it runs for; `None` for a system task.
    pub card: Option<Arc<SessionCard>>,
    /// Address of its scheduler, if it has one.
    pub scheduler: Option<usize>,
}

impl TaskRow {
    /// `scheduler_id` of the thread's scheduler.
    pub fn scheduler_id(&self) -> Option<u32> {
        match self.activity.role() {
            Role::Worker(scheduler) => Some(scheduler),
            Role::Background => None,
        }
    }

    /// `session_id`; NULL for a system task.
    pub fn session_id(&self) -> Option<i16> {
        self.card.as_ref().map(|card| card.id)
    }

    fn is_of(&self, session: i16) -> bool {
        self.session_id() == Some(session)
    }

    /// `task_address`: the task that the thread runs. A background thread is its own task.
    pub fn task_address(&self) -> Option<usize> {
        match (&self.card, self.activity.role()) {
            (Some(_), _) if self.activity.part() > 0 => Some(self.worker_address()),
            (Some(card), _) => Some(task_address(card)),
            (None, Role::Background) => Some(self.worker_address()),
            (None, Role::Worker(_)) => None,
        }
    }

    /// `exec_context_id`: the thread's number in a parallel statement; 0 for the first.
    pub fn exec_context_id(&self) -> u32 {
        if self.card.is_some() { self.activity.part() } else { 0 }
    }

    /// `parent_task_address`: the task that a helper thread works for.
    pub fn parent_task_address(&self) -> Option<usize> {
        self.card.as_ref().filter(|_| self.activity.part() > 0).map(task_address)
    }

    /// `worker_address`: unique per worker.
    pub fn worker_address(&self) -> usize {
        Arc::as_ptr(&self.activity).addr()
    }

    /// `state`: `RUNNING`, `RUNNABLE` or `SUSPENDED`.
    pub fn state(&self) -> &'static str {
        match self.activity.standing() {
            Standing::Running => "RUNNING",
            Standing::Runnable => "RUNNABLE",
            Standing::Waiting | Standing::Idle => "SUSPENDED",
        }
    }

    /// `is_preemptive`: whether it runs outside the control of a scheduler.
    pub fn is_preemptive(&self) -> bool {
        let calls_out = |waiting: Waiting| waiting.wait_type.is_preemptive();
        self.scheduler_id().is_none() || self.activity.waiting().is_some_and(calls_out)
    }
}

/// Returns the address that identifies the task of a session's request: that of its card.
pub fn task_address(card: &Arc<SessionCard>) -> usize {
    Arc::as_ptr(card).addr()
}

/// Makes a `varbinary(8)` value, big-endian.
pub fn address(address: usize) -> Value {
    binary(&(address as u64).to_be_bytes())
}

/// Makes a `varbinary(8)` value; NULL for `None`.
pub fn address_or_null(at: Option<usize>) -> Value {
    at.map_or(Value::Null, address)
}

/// Converts clock ticks to `ms_ticks`: milliseconds since the machine started.
pub fn ms_ticks(ticks: u64) -> u64 {
    let ago_ns = clock::ticks_to_ns(clock::now_ticks().saturating_sub(ticks));
    clock::monotonic_ns().saturating_sub(ago_ns) / 1_000_000
}

/// Returns the server's threads, workers first.
pub fn thread_rows(scope: &Scope<'_>) -> Vec<TaskRow> {
    let instance = &scope.session.instance;
    let cards = instance.sessions.cards();
    let row = |activity: Arc<Activity>| {
        let id = activity.work().and_then(session_id);
        // They are in the order of their ids.
        let place = id.and_then(|id| cards.binary_search_by_key(&id, |card| card.id).ok());
        let card = place.map(|place| Arc::clone(&cards[place]));
        let scheduler = match activity.role() {
            Role::Worker(id) => instance.machine.scheduler_address(id),
            Role::Background => None,
        };
        TaskRow { activity, card, scheduler }
    };
    let mut rows: Vec<TaskRow> = instance.machine.activities().into_iter().map(row).collect();
    rows.sort_by_key(|row| (row.scheduler_id().is_none(), row.activity.number()));
    rows
}

/// Returns the threads that run a task.
pub fn task_rows(scope: &Scope<'_>) -> Vec<TaskRow> {
    thread_rows(scope).into_iter().filter(|row| row.task_address().is_some()).collect()
}

/// A wait in progress and one session that blocks it: a row of `sys.dm_os_waiting_tasks`.
pub struct WaitingRow {
    /// `waiting_task_address`; NULL for a task that has no worker yet.
    pub task_address: Option<usize>,
    /// `session_id`; NULL for a system task.
    pub session_id: Option<i16>,
    /// `exec_context_id`: 0 for the first thread of a statement.
    pub exec_context_id: u32,
    /// `wait_type`: SQL Server's name of the wait type.
    pub wait_type: &'static str,
    /// `wait_duration_ms`: milliseconds since the wait began.
    pub ms: u64,
    /// `resource_address`: the address that the thread waits on; NULL if none.
    pub resource: Option<usize>,
    /// `resource_description`: the lock or row; NULL for other waits.
    pub description: Option<String>,
    /// `blocking_session_id`; NULL if the blocker is unknown.
    pub blocking_session: Option<i16>,
    /// `blocking_task_address`; NULL if the blocking session runs no task.
    pub blocking_task: Option<usize>,
}

/// Returns the waits in progress, one row for each blocking session.
pub fn waiting_rows(scope: &Scope<'_>) -> Vec<WaitingRow> {
    let tasks = task_rows(scope);
    let locks = scope.session.instance.store.locks().rows();
    let waits = Waits::new(&scope.session.instance, &scope.session.catalog);
    let mut rows = Vec::new();
    for task in &tasks {
        if let Some(waiting) = task.activity.waiting() {
            rows.extend(rows_of((scope, &waits), (task, waiting), &tasks, &locks));
        }
    }
    rows.extend(scope.session.instance.machine.queued_since().iter().map(queued_row));
    rows
}

/// Makes the row of a queued task. Its session is unknown until a worker reads its request.
fn queued_row(since: &u64) -> WaitingRow {
    let ticks = clock::now_ticks().saturating_sub(*since);
    WaitingRow {
        task_address: None,
        session_id: None,
        exec_context_id: 0,
        wait_type: WaitType::ThreadPool.name(),
        ms: clock::ticks_to_ns(ticks) / 1_000_000,
        resource: None,
        description: None,
        blocking_session: None,
        blocking_task: None,
    }
}

fn rows_of(
    (scope, waits): (&Scope<'_>, &Waits<'_>),
    (task, waiting): (&TaskRow, Waiting),
    tasks: &[TaskRow],
    locks: &[LockRow],
) -> Vec<WaitingRow> {
    let ticks = clock::now_ticks().saturating_sub(waiting.since);
    let lock = locks
        .iter()
        .find(|lock| lock.status != LockStatus::Granted && lock.address == waiting.address);
    let blockers: Vec<Option<i16>> = match lock {
        Some(lock) => lock.blockers.iter().map(|number| session_id(*number)).collect(),
        None => vec![blocker(&waiting, tasks)],
    };
    // Helpers of a parallel statement and latches have no entry among the session's waits.
    let is_lock = lock.is_some() || matches!(waiting.blocker, Some(Blocker::Work(_)));
    let description = is_lock.then(|| describe(scope, waits, task, waiting.address)).flatten();
    let row = |blocking_session: Option<i16>| {
        let leads = |t: &&TaskRow| t.exec_context_id() == 0;
        let other =
            blocking_session.and_then(|id| tasks.iter().filter(leads).find(|task| task.is_of(id)));
        WaitingRow {
            task_address: task.task_address(),
            session_id: task.session_id(),
            exec_context_id: task.exec_context_id(),
            wait_type: waiting.wait_type.name(),
            ms: clock::ticks_to_ns(ticks) / 1_000_000,
            resource: (waiting.address != 0).then_some(waiting.address),
            description: description.clone(),
            blocking_session,
            blocking_task: other.and_then(TaskRow::task_address),
        }
    };
    blockers.into_iter().map(row).collect()
}

/// Returns the blocking session, as far as it was known when the wait began.
fn blocker(waiting: &Waiting, tasks: &[TaskRow]) -> Option<i16> {
    match waiting.blocker? {
        Blocker::Work(number) => session_id(number),
        Blocker::Thread(number) => {
            tasks.iter().find(|task| task.activity.number() == number)?.session_id()
        }
    }
}

/// Describes the lock or row that a task waits for, as `resource_description` shows it.
fn describe(
    scope: &Scope<'_>,
    waits: &Waits<'_>,
    task: &TaskRow,
    address: usize,
) -> Option<String> {
    let awaited = waits.awaited(session_number(task.session_id()?))?;
    let held = match awaited.mode {
        // A writer owns the row by its newest version, which is no lock that could have a mode.
        Mode::Row(_) => LockMode::Exclusive.short_name(),
        Mode::Application(_) | Mode::Schema(_) => awaited.mode.name(),
    };
    let mut description = awaited.resource.description(address, held);
    if let Resource::Row(row) = &awaited.resource {
        description.push_str(&key_suffix(scope, row));
    }
    Some(description)
}
