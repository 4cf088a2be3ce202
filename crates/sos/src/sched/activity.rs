//! `Activity`: what a thread of a machine tells others: whom it works for, what it waits for and
//! behind whom.
//!
//! One writer, the thread itself, with plain stores to lines of its own; a request costs two of them
//! and a wait a handful. Readers look without stopping it: a version number that is odd during a
//! change tells them to look again.

use std::cell::Cell;
use std::ptr;

use crate::clock;
use crate::ledger;
use crate::sync::{Arc, AtomicU32, AtomicU64, Ordering, fence};
use crate::sys;
use crate::wait::WaitType;

/// What a thread is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It runs the tasks of this scheduler.
    Worker(u32),
    /// Work of the machine's own.
    Background,
}

/// Where a thread stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It runs, as far as the machine decides.
    Running,
    /// Its wait is over, and it waits for its scheduler.
    Runnable,
    /// It waits for something.
    Waiting,
    /// It is a worker that has nothing to do.
    Idle,
}

/// Who is in the way of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// Whoever works for this tag: see [`work_for`].
    Work(u32),
    /// The thread of this ledger number.
    Thread(u32),
}

/// A wait in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What for.
    pub wait_type: WaitType,
    /// Ticks at its start.
    pub since: u64,
    /// The address that it waits on; 0 if there is none.
    pub address: usize,
    /// Who was in the way when it began, where that was known.
    pub blocker: Option<Blocker>,
}

/// What one thread does.
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
    /// Which part of that work it does: 0 for the one that leads.
    part: AtomicU32,
    /// Reading of the caller's choice when it began that part.
    part_from: AtomicU64,
    tasks: AtomicU64,
    standing: AtomicU32,
    /// Index of the last wait type plus 1; 0 if it has not waited yet.
    wait_type: AtomicU32,
    /// Odd while what follows is being changed.
    version: AtomicU64,
    since: AtomicU64,
    until: AtomicU64,
    address: AtomicU64,
    blocker: AtomicU64,
    waits: AtomicU64,
}

impl Activity {
    /// Describes the calling thread.
    pub(super) fn of_this_thread(name: &str, role: Role) -> Self {
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

    /// The thread's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is there for.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Ticks at its start.
    #[must_use]
    pub fn created(&self) -> u64 {
        self.created
    }

    /// The address of its descriptor.
    #[must_use]
    pub fn handle(&self) -> usize {
        self.handle
    }

    /// Its stack.
    #[must_use]
    pub fn stack(&self) -> Option<sys::StackBounds> {
        self.stack
    }

    /// Whom it works for; `None` if for nobody in particular.
    #[must_use]
    pub fn work(&self) -> Option<u32> {
        u32::try_from(self.work.load(Ordering::Relaxed)).ok().filter(|&tag| tag != 0)
    }

    /// Which part of its work it does: 0 for the one that leads, more for helpers.
    #[must_use]
    pub fn part(&self) -> u32 {
        self.part.load(Ordering::Relaxed)
    }

    /// What [`help_for`] noted when its part began.
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

    /// Where it stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match self.standing.load(Ordering::Relaxed) {
            0 => Standing::Running,
            1 => Standing::Runnable,
            2 => Standing::Waiting,
            _ => Standing::Idle,
        }
    }

    /// What it waited for last, or waits for now.
    #[must_use]
    pub fn last_wait(&self) -> Option<WaitType> {
        let index = self.wait_type.load(Ordering::Relaxed).checked_sub(1)?;
        WaitType::ALL.get(usize::try_from(index).ok()?).copied()
    }

    /// Ticks at the start of its last wait, and at the end of the last one that has ended.
    #[must_use]
    pub fn last_wait_ticks(&self) -> (u64, u64) {
        (self.since.load(Ordering::Relaxed), self.until.load(Ordering::Relaxed))
    }

    /// Its wait in progress.
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

    fn begin_wait(&self, wait_type: WaitType, now: u64, note: Note) {
        self.change(|| {
            let index = u32::try_from(wait_type.index()).unwrap_or(0);
            self.wait_type.store(index + 1, Ordering::Relaxed);
            self.since.store(now, Ordering::Relaxed);
            self.address.store(note.address as u64, Ordering::Relaxed);
            self.blocker.store(encode(note.blocker), Ordering::Relaxed);
            self.standing.store(Standing::Waiting as u32, Ordering::Relaxed);
        });
    }

    /// Ends what `begin_wait` and `set_idle` began. Relaxed: a reader that misses it sees the wait as
    /// it was.
    pub(super) fn stand(&self, standing: Standing) {
        self.standing.store(standing as u32, Ordering::Relaxed);
    }

    fn end_wait(&self, now: u64) {
        let waits = self.waits.load(Ordering::Relaxed);
        self.waits.store(waits + 1, Ordering::Relaxed);
        self.until.store(now, Ordering::Relaxed);
        self.stand(Standing::Running);
    }

    /// Counts a task that begins. The worker only.
    #[inline]
    pub(super) fn count_task(&self) {
        let tasks = self.tasks.load(Ordering::Relaxed);
        self.tasks.store(tasks + 1, Ordering::Relaxed);
    }

    /// Notes that the worker has nothing to do, which counts as a wait of its own kind.
    pub(super) fn set_idle(&self) {
        let index = u32::try_from(WaitType::WorkDispatcher.index()).unwrap_or(0);
        self.wait_type.store(index + 1, Ordering::Relaxed);
        self.standing.store(Standing::Idle as u32, Ordering::Relaxed);
    }
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

/// What the next wait of the thread is about.
#[derive(Clone, Copy, Default)]
struct Note {
    address: usize,
    blocker: Option<Blocker>,
}

thread_local! {
    static CURRENT: Cell<*const Activity> = const { Cell::new(ptr::null()) };
    static NOTE: Cell<Note> = const { Cell::new(Note { address: 0, blocker: None }) };
}

#[inline]
fn with_current(run: impl FnOnce(&Activity)) {
    // SAFETY: `Installed` set it to an activity that it keeps, and clears it before it goes.
    if let Some(activity) = unsafe { CURRENT.get().as_ref() } {
        run(activity);
    }
}

/// Makes an activity the calling thread's own until dropped.
pub(super) struct Installed(
    #[expect(dead_code, reason = "kept for the pointer to it")] Arc<Activity>,
);

impl Installed {
    pub(super) fn new(activity: &Arc<Activity>) -> Self {
        CURRENT.set(Arc::as_ptr(activity));
        Self(Arc::clone(activity))
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        CURRENT.set(ptr::null());
    }
}

/// Says whom the calling thread works for from now on: a number of the caller's choice, such as a
/// session's id; 0 for nobody. One store to a line of the thread's own.
#[inline]
pub fn work_for(tag: u32) {
    with_current(|activity| activity.work.store(u64::from(tag), Ordering::Relaxed));
}

/// Says that the calling thread does a part of somebody's work from now on, 1 or more; `from` is a reading of
/// the caller's choice. Until dropped.
#[must_use]
pub fn help_for(tag: u32, part: u32, from: u64) -> Helping {
    with_current(|activity| {
        // Relaxed: for who looks from outside, and may be one change behind.
        activity.part_from.store(from, Ordering::Relaxed);
        activity.part.store(part, Ordering::Relaxed);
        activity.work.store(u64::from(tag), Ordering::Relaxed);
    });
    Helping(())
}

/// A part of somebody's work; it ends when this is dropped.
#[derive(Debug)]
pub struct Helping(());

impl Drop for Helping {
    fn drop(&mut self) {
        with_current(|activity| {
            activity.work.store(0, Ordering::Relaxed);
            activity.part.store(0, Ordering::Relaxed);
        });
    }
}

/// Whom the calling thread works for, as it has said by [`work_for`]; 0 for nobody. Takes no lock.
#[must_use]
pub fn working_for() -> u32 {
    let mut tag = 0;
    with_current(|activity| tag = activity.work().unwrap_or(0));
    tag
}

/// Says who will be in the way of the waits that the calling thread begins, until dropped.
pub fn blame(blocker: Blocker) -> Blame {
    let before = NOTE.get();
    NOTE.set(Note { blocker: Some(blocker), ..before });
    Blame(before)
}

/// Says at which address the calling thread will wait, until dropped.
pub(crate) fn wait_at(address: usize) -> Blame {
    let before = NOTE.get();
    NOTE.set(Note { address, ..before });
    Blame(before)
}

/// A remark about the next waits of a thread; taken back when dropped.
#[must_use]
pub struct Blame(Note);

impl Drop for Blame {
    fn drop(&mut self) {
        NOTE.set(self.0);
    }
}

/// The address at which the calling thread's next wait will be; 0 if nobody has said.
pub(super) fn noted_address() -> usize {
    NOTE.get().address
}

pub(super) fn begin_wait(wait_type: WaitType, now: u64) {
    with_current(|activity| activity.begin_wait(wait_type, now, NOTE.get()));
}

pub(super) fn signalled() {
    with_current(|activity| activity.stand(Standing::Runnable));
}

pub(super) fn end_wait(now: u64) {
    with_current(|activity| activity.end_wait(now));
}
