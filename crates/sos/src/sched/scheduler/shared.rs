//! What all schedulers and workers of a machine share: limits, the phase of shutdown, the roster,
//! and the bell that wakes the monitor. It does not know the machine that owns it.

use std::io;
use std::sync::OnceLock;
use std::thread::JoinHandle;

use super::RoundEnd;
use super::round_end::PUT_OFF_MAX;
use crate::clock;
use crate::ledger::Accounts;
use crate::lock::{SpinClass, SpinLock};
use crate::park::{self, Cancel, WakeWord};
use crate::sched::activity::Roster;
use crate::sync::{Arc, AtomicBool, AtomicU32, AtomicU64, AtomicUsize, CachePadded, Ordering};
use crate::sys::EventFd;

/// How far the machine is on its way to a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) enum Phase {
    Running,
    /// No new connections; idle ones are closed; requests finish.
    Draining,
    /// Requests are asked to stop.
    Stopping,
}

/// What schedulers and workers share.
pub(in crate::sched) struct Shared {
    pub(in crate::sched) accounts: Arc<Accounts>,
    /// Workers of all schedulers now.
    pub(super) workers: AtomicUsize,
    pub(in crate::sched) workers_max: usize,
    pub(super) quantum_ticks: u64,
    /// How long work is put off, at most.
    pub(super) put_off_ticks_max: u64,
    phase: AtomicU32,
    handles: SpinLock<Vec<JoinHandle<()>>>,
    pub(in crate::sched) roster: Roster,
    pub(in crate::sched) monitor: MonitorBell,
    /// Answers that are held for this number, or a lower one, may leave.
    pub(super) released: CachePadded<AtomicU64>,
    /// What is called at the end of busy rounds in which it was asked for.
    pub(super) round_end: OnceLock<RoundEnd>,
    /// Set when the machine begins to stop; background threads sleep on it.
    pub(in crate::sched) stopping: Cancel,
    /// Wakes the listener when the machine begins to stop.
    pub(in crate::sched) stop_accepting: EventFd,
}

impl Shared {
    /// Makes what the schedulers of one machine share, before any of them runs.
    pub(in crate::sched) fn new(
        accounts: Arc<Accounts>,
        workers_max: usize,
        quantum_ticks: u64,
    ) -> io::Result<Self> {
        Ok(Self {
            accounts,
            workers: AtomicUsize::new(0),
            workers_max,
            quantum_ticks,
            put_off_ticks_max: clock::duration_to_ticks(PUT_OFF_MAX),
            phase: AtomicU32::new(Phase::Running as u32),
            handles: SpinLock::new(SpinClass::SosThreadList, Vec::new()),
            roster: Roster::new(),
            monitor: MonitorBell::default(),
            released: CachePadded::new(AtomicU64::new(0)),
            round_end: OnceLock::new(),
            stopping: Cancel::new(),
            stop_accepting: EventFd::new()?,
        })
    }

    pub(in crate::sched) fn set_round_end(&self, call: RoundEnd) {
        assert!(self.round_end.set(call).is_ok(), "a machine has one function for its rounds");
    }

    #[inline]
    pub(in crate::sched) fn phase(&self) -> Phase {
        // Relaxed: the thread that changes it sends mail afterwards, which synchronizes.
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Running,
            1 => Phase::Draining,
            _ => Phase::Stopping,
        }
    }

    /// Sets the phase. The caller then nudges all schedulers, so that they read it.
    pub(in crate::sched) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u32, Ordering::Relaxed);
    }

    /// Keeps the handle of a started thread until [`Self::take_handles`]; drops those that have
    /// ended.
    pub(in crate::sched) fn keep_handle(&self, handle: JoinHandle<()>) {
        let mut handles = self.handles.lock();
        handles.retain(|handle| !handle.is_finished());
        handles.push(handle);
    }

    /// Takes the handles of all threads started so far, to join them.
    pub(in crate::sched) fn take_handles(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *self.handles.lock())
    }

    /// The key on which a stop parks until the schedulers have ended.
    pub(in crate::sched) fn key(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Wakes the stop that waits for schedulers, after a scheduler's last connection has gone.
    pub(super) fn announce_end(&self) {
        park::unpark_all(self.key());
    }
}

/// Wakes and stops the monitor thread.
#[derive(Debug, Default)]
pub(in crate::sched) struct MonitorBell {
    word: WakeWord,
    stopped: AtomicBool,
}

impl MonitorBell {
    /// Makes the monitor look at the schedulers now.
    pub(in crate::sched) fn wake(&self) {
        self.word.set(1);
    }

    /// Ends the monitor thread.
    pub(in crate::sched) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether [`Self::stop`] was called. Acquire: pairs with the Release there.
    pub(in crate::sched) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Sleeps until the deadline (monotonic ns) or a wake.
    pub(in crate::sched) fn sleep_until(&self, deadline_ns: u64) {
        self.word.wait(Some(deadline_ns));
        // A wake between the two lines is not lost: the monitor looks at everything after this.
        self.word.reset();
    }
}
