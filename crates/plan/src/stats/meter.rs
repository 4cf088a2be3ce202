//! `Meter`: a session's part of the statistics: it turns the edges of statements into bookings.
//!
//! ```text
//!   receive ends      statement       statement               send ends
//!      │ decode, bind │ 1             │ 2                     │
//!      ├──────────────┴───────────────┼───────────────────────┤
//!      begin          start(1)        start(2)                end      time belongs to who began last
//! ```
//!
//! Time goes on between two statements, so a statement ends where the next one begins, and the last one
//! with the request: the parts add up to the whole. The first one begins and the last one ends at an edge
//! that the ledger takes anyway. Between them an edge costs a reading of the clock; a cheap statement has
//! none unless it is among the first 64 on its worker, or each 64th after those, which then stands for the
//! 64. What reads the clock by itself (waits, system calls, spinning) is booked of each execution.

use std::sync::Arc;

use super::books::Origin;
use super::live::Live;
use super::shard::Lease;
use super::spend::{self, Spend};
use super::{COMPILE, OVERFLOW, Statistics};
use crate::program::Program;

/// Executions on a worker of which each is timed.
const TIMED_FIRST: u64 = 64;
/// Of cheap statements one in so many is timed after those.
const TIMED_EACH: u64 = 64;

/// What timing a statement would add to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// It touches a row or none: a reading of the clock is a part of it that shows.
    Cheap,
    /// It may take any time: readings of the clock are lost in it.
    Any,
}

/// What runs since the last edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// No request.
    Nothing,
    /// A request that has begun no statement yet.
    Request,
    /// A statement that is not timed.
    Untimed(u32),
    /// A statement that is timed, and for how many it stands.
    Timed(u32, u64),
    /// A statement that goes on after others that it has called.
    Resumed(u32),
}

/// A session's part of the statistics.
pub struct Meter {
    /// The worker's cells, while a request runs.
    lease: Option<Lease>,
    /// What others see.
    live: Arc<Live>,
    open: Open,
    /// The sums of the worker's account when the open statement began, less what is not its own.
    from: Spend,
    /// Number of the edge that was looked at last.
    seen_edge: u64,
    /// The sums when what is being compiled or bound began to be.
    paused: Spend,
    /// The sums when the request began.
    begun: Spend,
    /// When it began, in ticks.
    begun_ticks: u64,
    /// The procedure that the request as a whole is a call of.
    whole: u32,
    /// What helpers have spent in the open statement.
    helped: Spend,
    /// The same of the whole request.
    helped_whole: Spend,
    /// On how many schedulers the open statement has run at most, if on more than one.
    degree: u32,
}

/// What ran before a program was entered.
#[derive(Clone, Copy, Debug)]
pub struct Outer {
    program: u64,
    entered: Option<Spend>,
}

impl Meter {
    /// Makes the meter of a session.
    pub fn new(live: Arc<Live>) -> Self {
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
        }
    }

    /// What others see of the session.
    pub const fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// Notes that the open statement runs on so many schedulers from now on.
    pub fn begin_parallel(&mut self, schedulers: usize) {
        self.degree = self.degree.max(u32::try_from(schedulers).unwrap_or(u32::MAX));
        self.live.set_degree(self.degree);
    }

    /// Adds what a helper of the open statement has spent: time on a CPU that is none of the time that passes.
    pub fn helped(&mut self, spent: &Spend) {
        self.helped += *spent;
        self.helped_whole += *spent;
        self.live.add_helped(spent.worker());
    }

    /// Returns the number by which the ledger knows the open statement.
    pub fn statement_number(&self) -> u64 {
        super::statement_number(self.live.program(), self.live.statement())
    }

    /// Notes that a request begins, at the edge that the ledger took last.
    pub fn begin(&mut self, statistics: &Statistics) {
        self.lease = Some(statistics.shards.lease());
        (self.begun, self.begun_ticks) = spend::at_edge();
        (self.from, self.seen_edge) = (self.begun, self.begun_ticks);
        self.open = Open::Request;
        self.whole = OVERFLOW;
        self.helped_whole = Spend::default();
        self.live.begin(self.begun.worker(), self.begun_ticks);
    }

    /// Notes that the request has ended, at the edge that the ledger took last.
    pub fn end(&mut self) {
        let (now, ticks) = spend::at_edge();
        self.close(&now);
        self.open = Open::Nothing;
        if let Some(lease) = self.lease.take() {
            if self.whole != OVERFLOW {
                let helped = std::mem::take(&mut self.helped_whole);
                lease.cell(self.whole).book_timed(&(now - self.begun), (1, &helped));
            }
            lease.put_back();
        }
        self.live.end(ticks);
        sos::ledger::set_statement(0);
    }

    /// Tells whether a request runs.
    pub fn is_open(&self) -> bool {
        self.open != Open::Nothing
    }

    /// Notes that a program begins to run; to be followed by [`Meter::leave`].
    pub fn enter(&mut self, program: &Program) -> Outer {
        let outer = Outer { program: self.live.program(), entered: None };
        let Some(books) = &program.books else { return outer };
        self.live.set_program(books.serial);
        let Some(lease) = &self.lease else { return outer };
        lease.cell(books.id()).count(self.begun_ticks);
        let is_first = self.open == Open::Request;
        match books.origin {
            Origin::Procedure(_) if is_first && books.id() != OVERFLOW => self.whole = books.id(),
            Origin::Procedure(_) => return Outer { entered: Some(self.look()), ..outer },
            Origin::Batch | Origin::Prepared(_) | Origin::Template(_) => {}
        }
        outer
    }

    /// Notes that a program has ended.
    pub fn leave(&mut self, program: &Program, outer: Outer) {
        if let Some(entered) = outer.entered {
            let spent = self.look() - entered;
            if let Some(lease) = &self.lease {
                lease.cell(program.statistics_id()).book_timed(&spent, (1, &Spend::default()));
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
        // The usual statement: neither it nor what is open before it asks for the time.
        let is_unseen = matches!(self.open, Open::Untimed(_) | Open::Request);
        if weight == 0 && is_unseen && spend::edge() == self.seen_edge {
            self.open = Open::Untimed(id);
        } else {
            self.change(id, weight);
        }
    }

    /// Lets others see which statement runs: those who look at the session, and at the thread.
    #[inline]
    fn show(&self, id: u32) {
        self.live.set_statement(id);
        sos::ledger::set_statement(super::statement_number(self.live.program(), id));
    }

    /// Ends the open statement and opens one, where that takes more than a note of it.
    fn change(&mut self, id: u32, weight: u64) {
        match (self.open, weight) {
            // It begins with the request.
            (Open::Request, _) => {}
            (Open::Untimed(_), 0) => {
                let (now, edge) = spend::at_edge();
                self.close(&now);
                self.seen_edge = edge;
            }
            (Open::Nothing | Open::Untimed(_) | Open::Timed(..) | Open::Resumed(_), _) => {
                let now = self.look();
                self.close(&now);
            }
        }
        self.open = if weight == 0 { Open::Untimed(id) } else { Open::Timed(id, weight) };
    }

    /// Notes that a statement goes on after others that it has called.
    pub fn resume(&mut self, id: u32) {
        if self.lease.is_some() {
            let now = self.look();
            self.close(&now);
            self.show(id);
            self.open = Open::Resumed(id);
        }
    }

    /// Books what a function runs to the statement that calls it: until the lease comes back, nothing
    /// is told apart.
    pub fn suspend(&mut self) -> Option<Lease> {
        self.lease.take()
    }

    /// Goes on telling statements apart.
    pub fn restore(&mut self, lease: Option<Lease>) {
        self.lease = lease;
    }

    /// Notes how many rows a statement has returned, assigned or changed.
    pub fn rows(&self, id: u32, rows: u64) {
        if let Some(lease) = &self.lease {
            lease.cell(id).book_rows(rows);
        }
    }

    /// Notes that something is compiled or bound: its time is not the statement's.
    pub fn pause(&mut self) {
        if self.lease.is_some() {
            self.paused = self.look();
        }
    }

    /// Notes that it has been compiled or bound.
    pub fn unpause(&mut self) {
        if self.lease.is_none() {
            return;
        }
        let now = self.look();
        let spent = now - self.paused;
        self.from += spent;
        // What is compiled may have had to compile something else, which has just been booked.
        self.paused = now;
        let Some(lease) = &self.lease else { return };
        let cell = lease.cell(COMPILE);
        cell.count(self.begun_ticks);
        cell.book_timed(&spent, (1, &Spend::default()));
    }

    /// Reads the clock.
    fn look(&mut self) -> Spend {
        let (now, edge) = spend::now();
        self.seen_edge = edge;
        now
    }

    /// Books what the open statement has spent up to now, from where on what comes next counts.
    fn close(&mut self, now: &Spend) {
        let spent = *now - std::mem::replace(&mut self.from, *now);
        let Some(lease) = &self.lease else { return };
        let (helped, degree) = if self.degree == 0 {
            (Spend::default(), 1)
        } else {
            self.live.set_degree(0);
            (std::mem::take(&mut self.helped), std::mem::take(&mut self.degree))
        };
        match self.open {
            Open::Nothing | Open::Request => {}
            Open::Timed(id, weight) => {
                let cell = lease.cell(id);
                cell.book_timed(&spent, (weight, &helped));
                cell.book_degree(degree);
            }
            Open::Resumed(id) => lease.cell(id).book_rest(&(spent + helped)),
            Open::Untimed(id) if spent.has_more_than_user() => {
                lease.cell(id).book_untimed(&spent);
            }
            Open::Untimed(_) => {}
        }
    }
}
