//! `Activity`: the published record of one thread: which session it works for, what it waits for
//! and what blocks it.
//!
//! The thread itself is the only writer, with plain stores to its own cache lines: two per request
//! and a handful per wait. Readers do not stop it: a version number is odd during a change, and a
//! reader that sees an odd or changed number reads again.

use crate::clock;
use crate::ledger;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};
use crate::sys;
use crate::wait::WaitType;

/// The purpose of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Runs the tasks of the scheduler with this number.
    Worker(u32),
    /// Runs work of the machine itself, such as the monitor or the log writer.
    Background,
}

/// The state of a thread, as `sys.dm_os_tasks` distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Running, as far as the machine decides; the kernel may still have preempted it.
    Running,
    /// Its wait is over, and it is queued for its scheduler.
    Runnable,
    /// In a wait; see [`Activity::waiting`] for its type.
    Waiting,
    /// A worker that has nothing to do.
    Idle,
}

/// What holds the resource that a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// The threads that work for this tag, which is a session id: see [`super::work_for`].
    Work(u32),
    /// The thread with this ledger number.
    Thread(u32),
}

/// A wait in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The type of the wait.
    pub wait_type: WaitType,
    /// Clock ticks when it began.
    pub since: u64,
    /// The address of the resource; 0 if it has none.
    pub address: usize,
    /// What held the resource when the wait began, where that was known.
    pub blocker: Option<Blocker>,
}

/// The published record of one thread.
#[derive(Debug)]
#[repr(align(128))]
pub struct Activity {
    number: u32,
    thread_id: u32,
    name: Box<str>,
    role: Role,
    created: u64,
    handle: usize,
    stack: Option<sys::StackBounds>,
    work: AtomicU64,
    /// Which part of that work it does: 0 for the leader, more for parallel helpers.
    part: AtomicU32,
    /// A reading of the caller's choice, such as the CPU time spent, from when it began that part.
    part_from: AtomicU64,
    tasks: AtomicU64,
    standing: AtomicU32,
    /// Index of the last wait type plus 1; 0 if it has not waited yet.
    wait_type: AtomicU32,
    /// Odd while the fields below are being changed.
    version: AtomicU64,
    since: AtomicU64,
    until: AtomicU64,
    address: AtomicU64,
    blocker: AtomicU64,
    waits: AtomicU64,
}

impl Activity {
    /// Makes the record of the calling thread.
    pub(in crate::sched) fn of_this_thread(name: &str, role: Role) -> Self {
        Self {
            number: ledger::with_current(ledger::Account::number),
            thread_id: sys::thread_id(),
            name: name.into(),
            role,
            created: clock::now_ticks(),
            handle: sys::thread_handle(),
            stack: sys::stack_bounds(),
            work: AtomicU64::new(0),
            part: AtomicU32::new(0),
            part_from: AtomicU64::new(0),
            tasks: AtomicU64::new(0),
            standing: AtomicU32::new(Standing::Running as u32),
            wait_type: AtomicU32::new(0),
            version: AtomicU64::new(0),
            since: AtomicU64::new(0),
            until: AtomicU64::new(0),
            address: AtomicU64::new(0),
            blocker: AtomicU64::new(0),
            waits: AtomicU64::new(0),
        }
    }

    /// The thread's number in the ledger.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The operating system's id of the thread.
    #[must_use]
    pub fn thread_id(&self) -> u32 {
        self.thread_id
    }

    /// The name that the thread was started with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the purpose of the thread.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Clock ticks when the thread started.
    #[must_use]
    pub fn created(&self) -> u64 {
        self.created
    }

    /// The address of the thread's descriptor (`pthread_t`).
    #[must_use]
    pub fn handle(&self) -> usize {
        self.handle
    }

    /// The bounds of its stack; `None` if the system does not report them.
    #[must_use]
    pub fn stack(&self) -> Option<sys::StackBounds> {
        self.stack
    }

    /// The tag (session id) that it works for; `None` if for no session.
    #[must_use]
    pub fn work(&self) -> Option<u32> {
        u32::try_from(self.work.load(Ordering::Relaxed)).ok().filter(|&tag| tag != 0)
    }

    /// Which part of its work it does: 0 for the leader, more for parallel helpers.
    #[must_use]
    pub fn part(&self) -> u32 {
        self.part.load(Ordering::Relaxed)
    }

    /// The reading that [`super::help_for`] was given when its part began.
    #[must_use]
    pub fn part_from(&self) -> u64 {
        self.part_from.load(Ordering::Relaxed)
    }

    /// How many tasks it has run.
    #[must_use]
    pub fn tasks(&self) -> u64 {
        self.tasks.load(Ordering::Relaxed)
    }

    /// How many waits it has had.
    #[must_use]
    pub fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// Returns the state of the thread.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match self.standing.load(Ordering::Relaxed) {
            0 => Standing::Running,
            1 => Standing::Runnable,
            2 => Standing::Waiting,
            _ => Standing::Idle,
        }
    }

    /// The type of its present or last wait; `None` before the first one.
    #[must_use]
    pub fn last_wait(&self) -> Option<WaitType> {
        let index = self.wait_type.load(Ordering::Relaxed).checked_sub(1)?;
        WaitType::ALL.get(usize::try_from(index).ok()?).copied()
    }

    /// Clock ticks at the start of its last wait, and at the end of the last completed one.
    #[must_use]
    pub fn last_wait_ticks(&self) -> (u64, u64) {
        (self.since.load(Ordering::Relaxed), self.until.load(Ordering::Relaxed))
    }

    /// Its wait in progress, read consistently; `None` if it does not wait.
    #[must_use]
    pub fn waiting(&self) -> Option<Waiting> {
        loop {
            // Acquire: pairs with the Release that ends a change.
            let version = self.version.load(Ordering::Acquire);
            let seen = self.look();
            // Acquire: what was read above is not from after a change that the load below misses.
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version {
                return seen;
            }
            crate::sync::spin_hint();
        }
    }

    fn look(&self) -> Option<Waiting> {
        if self.standing() != Standing::Waiting {
            return None;
        }
        let address = self.address.load(Ordering::Relaxed);
        Some(Waiting {
            wait_type: self.last_wait()?,
            since: self.since.load(Ordering::Relaxed),
            address: usize::try_from(address).unwrap_or(0),
            blocker: decode(self.blocker.load(Ordering::Relaxed)),
        })
    }

    fn change(&self, change: impl FnOnce()) {
        // Relaxed: this thread is the only writer.
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        // Release: the stores of the change come after the odd version, for a reader's fence.
        fence(Ordering::Release);
        change();
        self.version.store(version + 2, Ordering::Release);
    }

    pub(super) fn begin_wait(&self, wait_type: WaitType, now: u64, about: WaitAbout) {
        self.change(|| {
            let index = u32::try_from(wait_type.index()).unwrap_or(0);
            self.wait_type.store(index + 1, Ordering::Relaxed);
            self.since.store(now, Ordering::Relaxed);
            self.address.store(about.address as u64, Ordering::Relaxed);
            self.blocker.store(encode(about.blocker), Ordering::Relaxed);
            self.standing.store(Standing::Waiting as u32, Ordering::Relaxed);
        });
    }

    /// Sets the state, at the end of what `begin_wait` and `set_idle` began. Relaxed: a reader that
    /// misses the store sees the wait as it was.
    pub(in crate::sched) fn stand(&self, standing: Standing) {
        self.standing.store(standing as u32, Ordering::Relaxed);
    }

    pub(super) fn end_wait(&self, now: u64) {
        let waits = self.waits.load(Ordering::Relaxed);
        self.waits.store(waits + 1, Ordering::Relaxed);
        self.until.store(now, Ordering::Relaxed);
        self.stand(Standing::Running);
    }

    /// Counts a task that begins. Only the worker itself may call it.
    #[inline]
    pub(in crate::sched) fn count_task(&self) {
        let tasks = self.tasks.load(Ordering::Relaxed);
        self.tasks.store(tasks + 1, Ordering::Relaxed);
    }

    /// Sets the tag that the thread works for; 0 for none.
    #[inline]
    pub(super) fn set_work(&self, tag: u32) {
        self.work.store(u64::from(tag), Ordering::Relaxed);
    }

    /// Sets which part of its work the thread does. Relaxed: a reader may be one change behind.
    pub(super) fn set_part(&self, part: u32, from: u64) {
        self.part_from.store(from, Ordering::Relaxed);
        self.part.store(part, Ordering::Relaxed);
    }

    pub(super) fn end_part(&self) {
        self.part.store(0, Ordering::Relaxed);
    }

    /// Publishes that the worker has nothing to do, with the wait type `SOS_WORK_DISPATCHER`.
    pub(in crate::sched) fn set_idle(&self) {
        let index = u32::try_from(WaitType::WorkDispatcher.index()).unwrap_or(0);
        self.wait_type.store(index + 1, Ordering::Relaxed);
        self.standing.store(Standing::Idle as u32, Ordering::Relaxed);
    }
}

/// What the waits that a thread begins are about.
#[derive(Clone, Copy, Default)]
pub(super) struct WaitAbout {
    pub(super) address: usize,
    pub(super) blocker: Option<Blocker>,
}

const THREAD_BIT: u64 = 1 << 32;

fn encode(blocker: Option<Blocker>) -> u64 {
    match blocker {
        None => 0,
        Some(Blocker::Work(tag)) => u64::from(tag),
        Some(Blocker::Thread(number)) => u64::from(number) | THREAD_BIT,
    }
}

fn decode(word: u64) -> Option<Blocker> {
    let number = u32::try_from(word & !THREAD_BIT).ok().filter(|&number| number != 0)?;
    Some(if word & THREAD_BIT == 0 { Blocker::Work(number) } else { Blocker::Thread(number) })
}
