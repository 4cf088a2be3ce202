//! Threads, tasks and waits as `sys.dm_os_workers`, `sys.dm_os_waiting_tasks` and their kin show them.
//!
//! A task is a request that a thread works on, or a thread of the machine's own. A wait has a row for
//! each session that is in its way.

use std::sync::Arc;

use sos::clock;
use sos::sched::{Activity, Blocker, Role, Standing, Waiting};
use sos::wait::WaitType;
use storage::lock::{LockMode, LockRow, LockStatus};
use types::Value;

use super::column::binary;
use crate::view::Scope;
use ::session::instance::SessionCard;
use ::session::session_id;

/// A thread, and the session that it works for.
pub struct TaskRow {
    /// What the task does now, as its scheduler publishes it.
    pub activity: Arc<Activity>,
    /// The session that it runs for; none for a task of the system.
    pub card: Option<Arc<SessionCard>>,
    /// Where its scheduler is in memory.
    pub scheduler: Option<usize>,
}

impl TaskRow {
    /// The scheduler that it belongs to.
    pub fn scheduler_id(&self) -> Option<u32> {
        match self.activity.role() {
            Role::Worker(scheduler) => Some(scheduler),
            Role::Background => None,
        }
    }

    /// `session_id`; none for a task of the system.
    pub fn session_id(&self) -> Option<i16> {
        self.card.as_ref().map(|card| card.id)
    }

    fn is_of(&self, session: i16) -> bool {
        self.session_id() == Some(session)
    }

    /// The address of the task that the thread runs; a thread of the machine's own is its own task.
    pub fn task_address(&self) -> Option<usize> {
        match (&self.card, self.activity.role()) {
            (Some(_), _) if self.activity.part() > 0 => Some(self.worker_address()),
            (Some(card), _) => Some(task_address(card)),
            (None, Role::Background) => Some(self.worker_address()),
            (None, Role::Worker(_)) => None,
        }
    }

    /// Its place among the threads of the request: 0 is the one that leads.
    pub fn exec_context_id(&self) -> u32 {
        if self.card.is_some() { self.activity.part() } else { 0 }
    }

    /// The address of the task that it helps.
    pub fn parent_task_address(&self) -> Option<usize> {
        self.card.as_ref().filter(|_| self.activity.part() > 0).map(task_address)
    }

    /// `worker_address`: a number that is the worker's alone.
    pub fn worker_address(&self) -> usize {
        Arc::as_ptr(&self.activity).addr()
    }

    /// The word for where the thread stands.
    pub fn state(&self) -> &'static str {
        match self.activity.standing() {
            Standing::Running => "RUNNING",
            Standing::Runnable => "RUNNABLE",
            Standing::Waiting | Standing::Idle => "SUSPENDED",
        }
    }

    /// Whether it runs where no scheduler decides.
    pub fn is_preemptive(&self) -> bool {
        let calls_out = |waiting: Waiting| waiting.wait_type.is_preemptive();
        self.scheduler_id().is_none() || self.activity.waiting().is_some_and(calls_out)
    }
}

/// The address that stands for the task of a session's request.
pub fn task_address(card: &Arc<SessionCard>) -> usize {
    Arc::as_ptr(card).addr()
}

/// Makes an address.
pub fn address(address: usize) -> Value {
    binary(&(address as u64).to_be_bytes())
}

/// Makes an address; NULL if there is none.
pub fn address_or_null(at: Option<usize>) -> Value {
    at.map_or(Value::Null, address)
}

/// The reading of `ms_ticks` at a time given in ticks.
pub fn ms_ticks(ticks: u64) -> u64 {
    let ago_ns = clock::ticks_to_ns(clock::now_ticks().saturating_sub(ticks));
    clock::monotonic_ns().saturating_sub(ago_ns) / 1_000_000
}

/// Returns the threads of the machine, workers first.
pub fn thread_rows(scope: &Scope<'_>) -> Vec<TaskRow> {
    let instance = &scope.session.instance;
    let cards = instance.sessions.cards();
    let schedulers = instance.machine.schedulers();
    let row = |activity: Arc<Activity>| {
        let id = activity.work().and_then(session_id);
        let card = cards.iter().find(|card| Some(card.id) == id).cloned();
        let scheduler = match activity.role() {
            Role::Worker(id) => schedulers.iter().find(|s| s.id == id).map(|s| s.address),
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

/// A wait and one who is in its way.
pub struct WaitingRow {
    /// `waiting_task_address`
    pub task_address: Option<usize>,
    /// `session_id`; none for a task of the system.
    pub session_id: Option<i16>,
    /// `exec_context_id`: 0 for the first thread of a statement.
    pub exec_context_id: u32,
    /// `wait_type`
    pub wait_type: &'static str,
    /// `wait_duration_ms`
    pub ms: u64,
    /// The address that it waits on.
    pub resource: Option<usize>,
    /// `resource_description`
    pub description: Option<String>,
    /// `blocking_session_id`
    pub blocking_session: Option<i16>,
    /// `blocking_task_address`
    pub blocking_task: Option<usize>,
}

/// Returns the waits in progress.
pub fn waiting_rows(scope: &Scope<'_>) -> Vec<WaitingRow> {
    let tasks = task_rows(scope);
    let locks = scope.session.instance.store.locks().rows();
    let mut rows = Vec::new();
    for task in &tasks {
        if let Some(waiting) = task.activity.waiting() {
            rows.extend(rows_of(task, waiting, &tasks, &locks));
        }
    }
    let schedulers = scope.session.instance.machine.schedulers();
    rows.extend(schedulers.iter().flat_map(|scheduler| &scheduler.queued_since).map(queued_row));
    rows
}

/// A task that no worker has taken up yet: nobody knows whose it is until it is read.
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
    task: &TaskRow,
    waiting: Waiting,
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
    let description = lock.map(describe).or_else(|| describe_row(&waiting));
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

/// The session in the way, as far as was known when the wait began.
fn blocker(waiting: &Waiting, tasks: &[TaskRow]) -> Option<i16> {
    match waiting.blocker? {
        Blocker::Work(number) => session_id(number),
        Blocker::Thread(number) => {
            tasks.iter().find(|task| task.activity.number() == number)?.session_id()
        }
    }
}

/// Describes a lock as `resource_description` of a wait does.
fn describe(lock: &LockRow) -> String {
    let mode = lock.key.mode_name(lock.mode);
    if lock.key.table().is_some() {
        return format!("objectlock lockPartition=0 id=lock{:x} mode={mode}", lock.address);
    }
    format!(
        "applicationlock hash={:08x} databasePrincipalId={} dbid={} id=lock{:x} mode={}",
        ::session::event::emit::lock::hash(&lock.key),
        lock.key.principal,
        lock.key.database,
        lock.address,
        mode
    )
}

/// Describes a row: what is waited for is the transaction that has it.
fn describe_row(waiting: &Waiting) -> Option<String> {
    let Some(Blocker::Work(number)) = waiting.blocker else { return None };
    let session = session_id(number)?;
    let mode = LockMode::Exclusive.short_name();
    Some(format!("xactlock session={session} id=lock{:x} mode={mode}", waiting.address))
}
