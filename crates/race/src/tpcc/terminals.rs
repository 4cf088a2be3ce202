//! `Terminals`: connections to one server, each of which calls its next transaction when the last
//! one is answered. The same seed makes the same calls on every server.

use std::net::SocketAddr;

use ::tpcc::{Call, Lines, Scale, Terminal, Transaction};
use hdrhistogram::Histogram;
use load::Idle;
use load::stress::Random;
use sos::clock;
use sos::sys::{Events, Poller};

use super::connection::Connection;
use super::speaker::{NOT_VALID, NULL, Refusal, Row, Speaker};
use super::{TERMINALS_EACH, TpccWork};
use crate::Result;
use crate::client::{new_histogram, wait};

/// Most events that one wait takes from the kernel.
const EVENTS_MAX: usize = 256;
/// How often a call is repeated after a deadlock.
const RETRIES_MAX: u32 = 100;
/// Answers between two checks whether the user wants to stop.
const ANSWERS_BEFORE_LOOK: u64 = 256;
/// The columns of an order's head, and all columns of a line with the head in front.
const HEAD_COLUMNS: usize = 5;
const LINE_COLUMNS: usize = 10;

/// What the answers have acknowledged, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// New-Orders that were committed, and those that were rolled back as they have to be.
    pub(crate) orders: u64,
    pub(crate) rolled_back: u64,
    pub(crate) payments: u64,
    /// The sum of all payments.
    pub(crate) cents: i64,
    /// Orders that were delivered.
    pub(crate) delivered: u64,
    /// Calls of Order-Status and Stock-Level.
    pub(crate) reads: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.orders += other.orders;
        self.rolled_back += other.rolled_back;
        self.payments += other.payments;
        self.cents += other.cents;
        self.delivered += other.delivered;
        self.reads += other.reads;
    }
}

/// The results of a turn.
pub(crate) struct Turn {
    /// From before a call was sent until its answer was read, in nanoseconds, repetitions included.
    pub(crate) latencies: Histogram<u64>,
    /// How long the turn took.
    pub(crate) wall_ns: u64,
    /// Calls that were repeated after a deadlock.
    pub(crate) retries: u64,
    pub(crate) tally: Tally,
}

/// The connections to one server.
pub(crate) struct Terminals {
    lanes: Vec<Lane>,
    poller: Poller,
    events: Events,
    idle: Idle,
}

/// A terminal, with its connection.
struct Lane {
    connection: Connection,
    terminal: Terminal,
    random: Random,
    call: Call,
    message: Vec<u8>,
    left: usize,
    retries_left: u32,
    sent_ticks: u64,
}

/// Makes the speaker of a new connection.
pub(crate) type Maker<'a> = &'a dyn Fn() -> Box<dyn Speaker>;

impl Terminals {
    /// Opens the specification's number of terminals for each warehouse.
    pub(crate) fn open(
        address: SocketAddr,
        make: Maker<'_>,
        scale: Scale,
        idle: Idle,
    ) -> Result<Self> {
        let poller = Poller::new().map_err(|error| format!("epoll: {error}"))?;
        let count = usize::try_from(scale.warehouses).unwrap_or(1) * TERMINALS_EACH;
        let mut lanes = Vec::with_capacity(count);
        for (token, number) in (0_u64..).zip(0..count) {
            let mut connection = Connection::open(address, make())?;
            connection.prepare()?;
            let added = poller.add(&connection.socket, token);
            added.map_err(|error| format!("epoll_ctl: {error}"))?;
            lanes.push(Lane {
                connection,
                terminal: Terminal { scale, number, lines: Lines::Sorted },
                random: Random::new(0),
                call: super::speaker::example(Transaction::NewOrder),
                message: Vec::new(),
                left: 0,
                retries_left: RETRIES_MAX,
                sent_ticks: 0,
            });
        }
        Ok(Self { lanes, poller, events: Events::with_capacity(EVENTS_MAX), idle })
    }

    /// Returns how many terminals there are.
    pub(crate) fn count(&self) -> usize {
        self.lanes.len()
    }

    /// Makes `each` calls on every terminal; ends at the first wrong answer.
    pub(crate) fn run(
        &mut self,
        work: TpccWork,
        each: usize,
        seed: u64,
        is_cut: &dyn Fn() -> bool,
    ) -> Result<Turn> {
        let Self { lanes, poller, events, idle } = self;
        let (latencies, tally) = (new_histogram(), Tally::default());
        let mut turn = Turn { latencies, wall_ns: 0, retries: 0, tally };
        let begin_ns = clock::monotonic_ns();
        for (number, lane) in (0_u64..).zip(lanes.iter_mut()) {
            lane.left = each;
            lane.random = Random::new(seed << 16 | number);
            lane.send_next(work, clock::now_ticks())?;
        }
        let (mut open, mut is_stopped) = (lanes.len(), false);
        while open > 0 {
            wait(poller, events, *idle)?;
            for event in &mut *events {
                let lane = &mut lanes[usize::try_from(event.token).expect("a token is an index")];
                if !lane.connection.receive()? {
                    continue;
                }
                if !lane.take_answer(&mut turn)? {
                    continue;
                }
                let now_ticks = clock::now_ticks();
                let ns = clock::ticks_to_ns(now_ticks.saturating_sub(lane.sent_ticks));
                turn.latencies.saturating_record(ns.max(1));
                let count = turn.latencies.len();
                is_stopped |= count.is_multiple_of(ANSWERS_BEFORE_LOOK) && is_cut();
                if lane.left > 0 && !is_stopped {
                    lane.send_next(work, now_ticks)?;
                } else {
                    open -= 1;
                }
            }
        }
        clock::refine();
        turn.wall_ns = clock::monotonic_ns() - begin_ns;
        Ok(turn)
    }

    /// Calls transactions on the first terminal alone; returns their answers in one form for all
    /// servers.
    pub(crate) fn answers(&mut self, count: usize, seed: u64) -> Result<(Vec<Answered>, Tally)> {
        let lane = self.lanes.first_mut().ok_or("no terminals")?;
        lane.random = Random::new(seed);
        let mut tally = Tally::default();
        let mut answers = Vec::with_capacity(count);
        for number in 0..count {
            // Each transaction often, not only in proportion to the mix.
            let work = TpccWork::Only(Transaction::ALL[number % Transaction::ALL.len()]);
            lane.left = 1;
            lane.send_next(work, clock::now_ticks())?;
            while !lane.connection.receive()? {
                let direction = sos::sys::Direction::Readable;
                crate::client::wait_for(&lane.connection.socket, direction)?;
            }
            let rows = lane.rows().map_err(Refusal::into_text)?;
            check(&lane.call, &rows, &mut tally)?;
            answers.push(Answered { call: lane.call.clone(), rows });
        }
        Ok((answers, tally))
    }
}

/// A call and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) call: Call,
    pub(crate) rows: Vec<Row>,
}

impl Lane {
    #[inline]
    fn send_next(&mut self, work: TpccWork, now_ticks: u64) -> Result<()> {
        let Self { random, terminal, .. } = self;
        let transaction = work.draw(random);
        self.call = terminal.input(transaction, &mut |from, to| random.between(from, to));
        self.left -= 1;
        self.retries_left = RETRIES_MAX;
        self.sent_ticks = now_ticks;
        self.send()
    }

    fn send(&mut self) -> Result<()> {
        self.message.clear();
        self.connection.speaker.put(&self.call, &mut self.message);
        self.connection.send(&self.message)
    }

    /// Checks a whole answer and counts it; returns false if the call is repeated.
    fn take_answer(&mut self, turn: &mut Turn) -> Result<bool> {
        let rows = match self.rows() {
            Ok(rows) => rows,
            Err(refusal)
                if self.retries_left > 0
                    && self.connection.speaker.passing_codes().contains(&&*refusal.code) =>
            {
                self.retries_left -= 1;
                turn.retries += 1;
                self.send()?;
                return Ok(false);
            }
            Err(refusal) => return Err(refusal.into_text()),
        };
        check(&self.call, &rows, &mut turn.tally)?;
        Ok(true)
    }

    /// Returns the rows of the answer in one form for all servers: an order that is rolled back is
    /// one cell, and the head of an order follows its lines.
    fn rows(&self) -> Result<Vec<Row>, Refusal> {
        let rolled_back = || vec![vec![NOT_VALID.to_owned()]];
        let mut rows = match self.connection.rows() {
            Err(refusal) if refusal.text == NOT_VALID => return Ok(rolled_back()),
            rows => rows?,
        };
        let is_first = |rows: &[Row], text: &str| {
            rows.first().and_then(|row| row.first()).is_some_and(|cell| cell == text)
        };
        if is_first(&rows, NOT_VALID) {
            return Ok(rolled_back());
        }
        if self.call.transaction == Transaction::OrderStatus {
            let head = rows.first().filter(|row| row.len() == LINE_COLUMNS).cloned();
            if let Some(mut head) = head {
                rows.iter_mut().for_each(|row| drop(row.drain(..HEAD_COLUMNS)));
                head.truncate(HEAD_COLUMNS);
                rows.push(head);
            }
            // The lines of an order have no order.
            let lines = rows.len().saturating_sub(1);
            rows[..lines].sort_unstable();
        }
        Ok(rows)
    }
}

/// Checks that an answer is one to such a call, and counts it.
fn check(call: &Call, rows: &[Row], tally: &mut Tally) -> Result<()> {
    let wrong = || format!("wrong answer to {}: {rows:?}", call.transaction.name());
    let number = |row: &Row, column: usize| row.get(column).and_then(|it| it.parse::<u64>().ok());
    match (call.transaction, rows) {
        (Transaction::NewOrder, [row]) if call.rolls_back && row[..] == [NOT_VALID] => {
            tally.rolled_back += 1;
        }
        (Transaction::NewOrder, [row])
            if !call.rolls_back && row.len() == 8 && number(row, 0).is_some() =>
        {
            tally.orders += 1;
        }
        (Transaction::Payment, [row]) if row.len() == 3 && number(row, 0).is_some() => {
            tally.payments += 1;
            tally.cents += call.cents;
        }
        (Transaction::OrderStatus, [lines @ .., head])
            if head.len() == HEAD_COLUMNS
                && (5..=15).contains(&lines.len())
                && !head[..3].iter().any(|cell| cell == NULL) =>
        {
            tally.reads += 1;
        }
        (Transaction::Delivery, [row]) => {
            let delivered = number(row, 0).filter(|count| *count <= 10).ok_or_else(wrong)?;
            tally.delivered += delivered;
        }
        (Transaction::StockLevel, [row]) if row.len() == 1 && number(row, 0).is_some() => {
            tally.reads += 1;
        }
        _ => return Err(wrong()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::speaker::example;

    #[test]
    fn answers_that_do_not_fit_their_calls_are_wrong() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Row>();
        let order = row(&["3001", "(time)", "BARBARBAR", "GC", "0.1", "0.1", "0.1", "7.00"]);
        let mut tally = Tally::default();
        let call = Call { rolls_back: false, ..example(Transaction::NewOrder) };
        assert_eq!(check(&call, std::slice::from_ref(&order), &mut tally), Ok(()));
        assert!(check(&call, &[row(&[NOT_VALID])], &mut tally).is_err());
        let undone = Call { rolls_back: true, ..call };
        assert!(check(&undone, &[order], &mut tally).is_err(), "it must be rolled back");
        assert_eq!(check(&undone, &[row(&[NOT_VALID])], &mut tally), Ok(()));
        let payment = Call { cents: 250, ..example(Transaction::Payment) };
        assert!(check(&payment, &[row(&[NULL, NULL, NULL])], &mut tally).is_err(), "no customer");
        assert_eq!(check(&payment, &[row(&["7", "-12.50", "GC"])], &mut tally), Ok(()));
        let delivery = example(Transaction::Delivery);
        assert!(check(&delivery, &[row(&["11"])], &mut tally).is_err(), "ten districts");
        assert_eq!(check(&delivery, &[row(&["9"])], &mut tally), Ok(()));
        let status = example(Transaction::OrderStatus);
        assert!(check(&status, &[order_head()], &mut tally).is_err(), "an order has lines");
        let expected = Tally {
            orders: 1,
            rolled_back: 1,
            payments: 1,
            cents: 250,
            delivered: 9,
            ..Tally::default()
        };
        assert_eq!(tally, expected);
    }

    fn order_head() -> Row {
        ["7", "-10.00", "3001", "(time)", "3"].map(str::to_owned).to_vec()
    }
}
