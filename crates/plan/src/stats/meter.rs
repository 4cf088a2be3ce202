//! `Meter`: a session's part of the statistics. It turns the edges between statements into counts.
//!
//! ```text
//!   receive ends      statement       statement               send ends
//!      │ decode, bind │ 1             │ 2                     │
//!      ├──────────────┴───────────────┼───────────────────────┤
//!      begin          start(1)        start(2)                end    (time counts for the latest)
//! ```
//!
//! Time goes on between two statements, so a statement ends where the next one begins, and the last
//! one ends with the request: the parts add up to the whole. The first one begins and the last one
//! ends at an edge that the ledger records anyway. Between them an edge costs a reading of the
//! clock. A cheap statement is timed only if it is among its first 64 executions on the worker;
//! after those every 64th is timed and represents the 64. Whatever reads the clock anyway (waits,
//! system calls, spinning) is counted for each execution.

use std::sync::Arc;

use sos::ledger::SessionBooks;

use super::books::Origin;
use super::failure::Failure;
use super::io::Io;
use super::live::Live;
use super::shard::Lease;
use super::spend::{self, Part, Spend};
use super::waits::SeenWaits;
use super::{COMPILE, OVERFLOW, Statistics};
use crate::program::Program;

/// Number of first executions on a worker that are all timed.
const TIMED_FIRST: u64 = 64;
/// After those, one of this many executions of a cheap statement is timed.
const TIMED_EACH: u64 = 64;

/// How much timing adds to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// It touches one row or none: a reading of the clock would show in its duration.
    Cheap,
    /// It may take any time: readings of the clock do not show.
    Any,
}

/// What runs since the last edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// No request is running.
    Nothing,
    /// A request that has begun no statement yet.
    Request,
    /// A statement that is not timed.
    Untimed(u32),
    /// A statement that is timed, and the number of executions that it represents.
    Timed(u32, u64),
    /// A statement that continues after others that it has called.
    Resumed(u32),
    /// A statement that is not timed and has failed.
    Failed(u32, Failure),
}

/// A session's part of the statistics.
pub struct Meter {
    /// The worker's cells, while a request runs.
    lease: Option<Lease>,
    /// State that other sessions see.
    live: Arc<Live>,
    open: Open,
    /// Sums of the worker's account when the open statement began, plus time since then that is not
    /// its own.
    from: Spend,
    /// Number of the edge that was read last.
    seen_edge: u64,
    /// Sums when the current compilation or binding began.
    paused: Spend,
    /// Sums when the request began.
    begun: Spend,
    /// Start of the request, in ticks.
    begun_ticks: u64,
    /// Statistics id of the procedure that the whole request calls.
    whole: u32,
    /// Time of helper threads in the open statement.
    helped: Spend,
    /// Time of helper threads in the whole request.
    helped_whole: Spend,
    /// Largest number of schedulers that the open statement has run on; 0 for one.
    degree: u32,
    /// Logical reads and writes since the session began; when the open statement began, and when the
    /// request did.
    io: Io,
    io_from: Io,
    io_begun: Io,
    /// How the open statement has failed, if it is timed.
    failure: Option<Failure>,
    /// Waits of the session, of which a Query Store takes the open statement's.
    books: Arc<SessionBooks>,
    seen_waits: SeenWaits,
}

/// What ran before a program was entered.
#[derive(Clone, Copy, Debug)]
pub struct Outer {
    program: u64,
    entered: Option<(Spend, Io)>,
}

/// A call of a function that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Called {
    io: Io,
    /// Its start, and the number of calls that it represents, if it is timed.
    timed: Option<(Spend, u64)>,
}

impl Meter {
    /// Returns the meter of a session, whose waits are counted in `books`.
    pub fn new(live: Arc<Live>, books: Arc<SessionBooks>) -> Self {
        Self {
            lease: None,
            live,
            open: Open::Nothing,
            from: Spend::default(),
            seen_edge: 0,
            paused: Spend::default(),
            begun: Spend::default(),
            begun_ticks: 0,
            whole: OVERFLOW,
            helped: Spend::default(),
            helped_whole: Spend::default(),
            degree: 0,
            io: Io::default(),
            io_from: Io::default(),
            io_begun: Io::default(),
            failure: None,
            books,
            seen_waits: SeenWaits::default(),
        }
    }

    /// Returns the state that other sessions see.
    pub const fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// Notes that the open statement runs on this many schedulers from now on.
    pub fn begin_parallel(&mut self, schedulers: usize) {
        self.degree = self.degree.max(u32::try_from(schedulers).unwrap_or(u32::MAX));
        self.live.set_degree(self.degree);
    }

    /// Adds the time of a helper of the open statement: CPU time that is not elapsed time.
    pub fn helped(&mut self, spent: &Spend) {
        self.helped += *spent;
        self.helped_whole += *spent;
        self.live.add_helped(spent.worker());
    }

    /// Returns the number that identifies the open statement in the ledger.
    pub fn statement_number(&self) -> u64 {
        super::statement_number(self.live.program(), self.live.statement())
    }

    /// Notes that a request begins, at the last edge that the ledger recorded.
    pub fn begin(&mut self, statistics: &Statistics) {
        self.lease = Some(statistics.shards.lease());
        (self.begun, self.begun_ticks) = spend::at_edge();
        (self.from, self.seen_edge) = (self.begun, self.begun_ticks);
        self.open = Open::Request;
        self.whole = OVERFLOW;
        self.helped_whole = Spend::default();
        (self.io_from, self.io_begun) = (self.io, self.io);
        self.live.begin(self.begun.worker(), self.begun_ticks);
    }

    /// Notes that the request has ended, at the last edge that the ledger recorded.
    pub fn end(&mut self) {
        let (now, ticks) = spend::at_edge();
        self.close(&now);
        self.open = Open::Nothing;
        if let Some(lease) = self.lease.take() {
            if self.whole != OVERFLOW {
                let helped = std::mem::take(&mut self.helped_whole);
                let cell = lease.current(self.whole);
                cell.book_timed(&(now - self.begun), (1, &helped));
                cell.book_io(self.io - self.io_begun);
            }
            lease.put_back();
        }
        self.live.end(ticks);
        sos::ledger::set_statement(0);
    }

    /// Returns whether a request runs.
    pub fn is_open(&self) -> bool {
        self.open != Open::Nothing
    }

    /// Notes that a program begins to run; [`Meter::leave`] must follow.
    pub fn enter(&mut self, program: &Program) -> Outer {
        let outer = Outer { program: self.live.program(), entered: None };
        let Some(books) = &program.books else { return outer };
        // Without one, a function runs: what it does counts for the statement that calls it.
        let Some(lease) = &self.lease else { return outer };
        self.live.set_program(books.serial);
        lease.cell(books.id()).count(self.begun_ticks);
        let is_first = self.open == Open::Request;
        match books.origin {
            Origin::Procedure(_) if is_first && books.id() != OVERFLOW => self.whole = books.id(),
            Origin::Procedure(_) => {
                return Outer { entered: Some((self.look(), self.io)), ..outer };
            }
            Origin::Batch | Origin::Prepared(_) | Origin::Template(_) => {}
        }
        outer
    }

    /// Notes that a program has ended.
    pub fn leave(&mut self, program: &Program, outer: Outer) {
        if let Some((entered, io)) = outer.entered {
            let spent = self.look() - entered;
            if let Some(lease) = &self.lease {
                let cell = lease.current(program.statistics_id());
                cell.book_timed(&spent, (1, &Spend::default()));
                cell.book_io(self.io - io);
            }
        }
        self.live.set_program(outer.program);
    }

    /// Notes that a statement begins, and that the one before has ended.
    #[inline]
    pub fn start(&mut self, id: u32, is_alone: bool, cost: impl FnOnce() -> Cost) {
        let Some(lease) = &self.lease else { return };
        let before = lease.cell(id).count(self.begun_ticks);
        self.show(id);
        let is_free = is_alone && self.open == Open::Request;
        let weight = if before < TIMED_FIRST || is_free || cost() == Cost::Any {
            1
        } else if before.is_multiple_of(TIMED_EACH) {
            TIMED_EACH
        } else {
            0
        };
        // The usual case: neither this statement nor the open one reads the clock.
        let is_unseen = matches!(self.open, Open::Untimed(_) | Open::Request);
        if weight == 0 && is_unseen && spend::edge() == self.seen_edge {
            if let Open::Untimed(before) = self.open {
                let io = self.io - std::mem::replace(&mut self.io_from, self.io);
                lease.current(before).book_io(io);
            }
            self.open = Open::Untimed(id);
        } else {
            self.change(id, weight);
        }
    }

    /// Publishes the statement that runs: in the session's live state and in the ledger's sampler.
    #[inline]
    fn show(&self, id: u32) {
        self.live.set_statement(id);
        sos::ledger::set_statement(super::statement_number(self.live.program(), id));
    }

    /// Ends the open statement and opens one, where that takes more than setting `open`.
    fn change(&mut self, id: u32, weight: u64) {
        match (self.open, weight) {
            // The statement begins with the request.
            (Open::Request, _) => {}
            (Open::Untimed(_) | Open::Failed(..), 0) => {
                let (now, edge) = spend::at_edge();
                self.close(&now);
                self.seen_edge = edge;
            }
            (
                Open::Nothing
                | Open::Untimed(_)
                | Open::Failed(..)
                | Open::Timed(..)
                | Open::Resumed(_),
                _,
            ) => {
                let now = self.look();
                self.close(&now);
            }
        }
        self.open = if weight == 0 { Open::Untimed(id) } else { Open::Timed(id, weight) };
    }

    /// Notes that a statement continues after others that it has called.
    pub fn resume(&mut self, id: u32) {
        if self.lease.is_some() {
            let now = self.look();
            self.close(&now);
            self.show(id);
            self.open = Open::Resumed(id);
        }
    }

    /// Stops distinguishing statements until the lease is restored: what a function runs is counted
    /// for the statement that calls it.
    pub fn suspend(&mut self) -> Option<Lease> {
        self.lease.take()
    }

    /// Notes that a function is called; [`Meter::returned`] must follow. The first calls on a worker
    /// are timed, and then one in 64, which is counted 64 times.
    pub fn called(&mut self, id: u32) -> Option<Called> {
        let before = self.lease.as_ref()?.cell(id).count(self.begun_ticks);
        let weight = match before {
            0..TIMED_FIRST => Some(1),
            _ if before.is_multiple_of(TIMED_EACH) => Some(TIMED_EACH),
            _ => None,
        };
        Some(Called { io: self.io, timed: weight.map(|weight| (self.look(), weight)) })
    }

    /// Notes that a function has returned.
    pub fn returned(&mut self, id: u32, called: Option<Called>) {
        let Some(Called { io, timed }) = called else { return };
        let spent = timed.map(|(from, weight)| (self.look() - from, weight));
        let Some(lease) = &self.lease else { return };
        let cell = lease.current(id);
        if let Some((spent, weight)) = spent {
            cell.book_timed(&spent, (weight, &Spend::default()));
        }
        cell.book_io(self.io - io);
    }

    /// Ends [`Meter::suspend`]: statements are distinguished again.
    pub fn restore(&mut self, lease: Option<Lease>) {
        self.lease = lease;
    }

    /// Notes how many rows a statement has returned, assigned or changed.
    pub fn rows(&self, id: u32, rows: u64) {
        if let Some(lease) = &self.lease {
            lease.current(id).book_rows(rows);
        }
    }

    /// Counts row versions that storage has returned to the open statement.
    #[inline]
    pub fn read(&mut self, rows: u64) {
        self.add_io(Io::read(rows));
    }

    /// Counts row versions that the open statement has written.
    #[inline]
    pub fn wrote(&mut self, rows: u64) {
        self.add_io(Io::written(rows));
    }

    /// Adds logical reads and writes to the open statement, such as those of a helper.
    #[inline]
    pub fn add_io(&mut self, io: Io) {
        self.io += io;
        self.live.add_io(io);
    }

    /// Returns the logical reads and writes of the session so far.
    pub const fn io(&self) -> Io {
        self.io
    }

    /// Returns when the request began, in ticks.
    pub const fn begun_ticks(&self) -> u64 {
        self.begun_ticks
    }

    /// Notes that the open statement has failed.
    #[cold]
    pub fn failed(&mut self, failure: Failure) {
        let Some(lease) = &self.lease else { return };
        let id = match self.open {
            // An error passes through all blocks around its statement: it counts once.
            Open::Timed(..) | Open::Resumed(_) if self.failure.is_some() => return,
            Open::Timed(id, _) | Open::Resumed(id) => {
                self.failure = Some(failure);
                id
            }
            Open::Untimed(id) => {
                self.open = Open::Failed(id, failure);
                id
            }
            Open::Nothing | Open::Request | Open::Failed(..) => return,
        };
        lease.current(id).count_failure(failure, self.begun_ticks);
    }

    /// Notes that something is compiled or bound: its time is not the statement's.
    pub fn pause(&mut self) {
        if self.lease.is_some() {
            self.paused = self.look();
        }
    }

    /// Notes that it has been compiled or bound; returns the time that it took.
    pub fn unpause(&mut self) -> Spend {
        if self.lease.is_none() {
            return Spend::default();
        }
        let now = self.look();
        let spent = now - self.paused;
        self.from += spent;
        // A nested compilation has just been counted.
        self.paused = now;
        if let Some(lease) = &self.lease {
            let cell = lease.current(COMPILE);
            cell.count(self.begun_ticks);
            cell.book_timed(&spent, (1, &Spend::default()));
        }
        spent
    }

    /// Reads the clock, and remembers the edge.
    fn look(&mut self) -> Spend {
        let (now, edge) = spend::now();
        self.seen_edge = edge;
        now
    }

    /// Counts the open statement's time up to `now`, where the next one begins, and its reads and
    /// writes.
    fn close(&mut self, now: &Spend) {
        let spent = *now - std::mem::replace(&mut self.from, *now);
        if spent.part(Part::ResourceWait) != 0 {
            self.close_waits(&spent);
        }
        let Some(lease) = &self.lease else { return };
        let io = self.io - std::mem::replace(&mut self.io_from, self.io);
        let (helped, degree) = if self.degree == 0 {
            (Spend::default(), 1)
        } else {
            self.live.set_degree(0);
            (std::mem::take(&mut self.helped), std::mem::take(&mut self.degree))
        };
        match self.open {
            Open::Nothing | Open::Request => {}
            Open::Timed(id, weight) => {
                let cell = lease.current(id);
                cell.book_degree(degree);
                match self.failure.take() {
                    None => {
                        cell.book_timed(&spent, (weight, &helped));
                        cell.book_io(io);
                    }
                    Some(failure) => {
                        cell.book_failed(failure, &spent, (weight, &helped));
                        cell.book_failed_io(failure, io);
                    }
                }
            }
            Open::Resumed(id) => {
                let cell = lease.current(id);
                cell.book_rest(&(spent + helped));
                cell.book_rest_io(io);
                if let Some(failure) = self.failure.take() {
                    cell.end_failure(failure);
                }
            }
            Open::Untimed(id) => {
                if spent.has_more_than_user() {
                    lease.current(id).book_untimed(&spent);
                }
                lease.current(id).book_io(io);
            }
            Open::Failed(id, failure) => {
                if spent.has_more_than_user() {
                    lease.current(id).book_untimed(&spent);
                }
                lease.current(id).book_failed_io(failure, io);
            }
        }
    }

    /// Counts the waits of the open statement, which ends, by category.
    #[cold]
    fn close_waits(&mut self, spent: &Spend) {
        if self.lease.as_ref().is_none_or(|lease| lease.epoch() == 0) {
            return;
        }
        let waits = self.seen_waits.since(&self.books, spent);
        let id = match self.open {
            Open::Nothing | Open::Request => return,
            Open::Timed(id, _) | Open::Resumed(id) | Open::Untimed(id) | Open::Failed(id, _) => id,
        };
        if let (Some(lease), Some(waits)) = (&self.lease, waits) {
            lease.current(id).book_waits(&waits);
        }
    }
}
