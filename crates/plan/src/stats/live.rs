//! `Live`: the running request of a session as other sessions see it, and the session's sums.
//!
//! There is one writer, the session: a few relaxed stores for each request and one for each
//! statement.

use sos::sync::Ordering;
use sos::sync::{AtomicBool, AtomicU32};

use super::cell::Tally;
use super::ids::OVERFLOW;
use super::io::Io;

/// The running or last request of a session, readable by all threads.
#[derive(Debug, Default)]
pub struct Live {
    running: AtomicBool,
    /// Number of the thread that runs the request, or ran the last one.
    worker: AtomicU32,
    /// Id of the statement that runs, or ran last.
    statement: AtomicU32,
    /// Serial number of the books of the program that runs.
    program: Tally,
    /// `@@NESTLEVEL` of that program.
    nest_level: AtomicU32,
    /// Serial number of the books of the program that the last request began with.
    request: Tally,
    started: Tally,
    ended: Tally,
    /// CPU ticks of the worker's account when the request began.
    worker_ticks: Tally,
    requests: Tally,
    /// Number of schedulers that the statement runs on; 0 for one.
    degree: AtomicU32,
    /// Logical reads and writes of all requests, and as they were when the last request began.
    reads: Tally,
    writes: Tally,
    reads_before: Tally,
    writes_before: Tally,
}

impl Live {
    /// Returns the state of a session that logs in.
    pub fn new(now: u64) -> Self {
        let live = Self::default();
        live.started.set(now);
        live.ended.set(now);
        live
    }

    // Relaxed, here and below: statistics with a single writer; readers order nothing by them.
    pub(super) fn begin(&self, worker_ticks: u64, now: u64) {
        self.worker.store(sos::ledger::with_current(|a| a.number()), Ordering::Relaxed);
        self.worker_ticks.set(worker_ticks);
        self.started.set(now);
        self.program.set(0);
        self.request.set(0);
        self.reads_before.set(self.reads.get());
        self.writes_before.set(self.writes.get());
        self.statement.store(OVERFLOW, Ordering::Relaxed);
    }

    pub(super) fn end(&self, now: u64) {
        self.ended.set(now);
    }

    pub(super) fn set_statement(&self, id: u32) {
        self.statement.store(id, Ordering::Relaxed);
    }

    pub(super) fn set_program(&self, serial: u64) {
        self.program.set(serial);
        if self.request.get() == 0 {
            self.request.set(serial);
        }
    }

    /// Notes that a request of a message begins.
    pub fn begin_request(&self) {
        self.requests.add(1);
        self.running.store(true, Ordering::Relaxed);
    }

    /// Notes that the request has ended; its answer may still have to be sent.
    pub fn end_request(&self) {
        self.running.store(false, Ordering::Relaxed);
    }

    /// Returns whether a request runs.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed)
    }

    /// Returns the number of the thread that runs the request.
    pub fn worker(&self) -> u32 {
        self.worker.load(Ordering::Relaxed)
    }

    /// Returns the id of the statement that runs.
    pub fn statement(&self) -> u32 {
        self.statement.load(Ordering::Relaxed)
    }

    /// Returns the serial number of the running program's books; 0 for none.
    pub fn program(&self) -> u64 {
        self.program.get()
    }

    /// Returns the serial number of the books of the program that the last request began with.
    pub fn request_program(&self) -> u64 {
        self.request.get()
    }

    /// Stores the current value of `@@NESTLEVEL`.
    pub fn set_nest_level(&self, level: u32) {
        self.nest_level.store(level, Ordering::Relaxed);
    }

    /// Returns `@@NESTLEVEL` of the program that runs.
    pub fn nest_level(&self) -> u32 {
        self.nest_level.load(Ordering::Relaxed)
    }

    /// Returns when the last request began, in ticks.
    pub fn started(&self) -> u64 {
        self.started.get()
    }

    /// Returns when the last request ended, in ticks.
    pub fn ended(&self) -> u64 {
        self.ended.get()
    }

    /// Returns the CPU ticks of the worker's account when the request began.
    pub fn worker_ticks(&self) -> u64 {
        self.worker_ticks.get()
    }

    pub(super) fn set_degree(&self, schedulers: u32) {
        self.degree.store(schedulers, Ordering::Relaxed);
    }

    /// Returns the number of schedulers that the statement runs on.
    pub fn degree(&self) -> u32 {
        self.degree.load(Ordering::Relaxed).max(1)
    }

    /// Adds the CPU ticks of a helper that has ended to the request.
    pub(super) fn add_helped(&self, ticks: u64) {
        self.worker_ticks.set(self.worker_ticks.get().wrapping_sub(ticks));
    }

    #[inline]
    pub(super) fn add_io(&self, io: Io) {
        self.reads.add(io.reads);
        if io.writes != 0 {
            self.writes.add(io.writes);
        }
    }

    /// Begins at zero, as a connection does that returns to its pool. Called by the session.
    pub fn reset_io(&self) {
        for tally in [&self.reads, &self.writes, &self.reads_before, &self.writes_before] {
            tally.set(0);
        }
    }

    /// Returns the logical reads and writes of all requests since the login, or the last reset.
    pub fn io(&self) -> Io {
        Io { reads: self.reads.get(), writes: self.writes.get() }
    }

    /// Returns the logical reads and writes of the last request. Those of its helpers are added when
    /// they end.
    pub fn request_io(&self) -> Io {
        self.io() - Io { reads: self.reads_before.get(), writes: self.writes_before.get() }
    }

    /// Returns the number of requests.
    pub fn requests(&self) -> u64 {
        self.requests.get()
    }
}
