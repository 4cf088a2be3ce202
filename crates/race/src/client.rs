//! `Client`: many connections to one peer on the calling thread, each of which sends its next
//! request when the previous one is answered.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hdrhistogram::Histogram;
use load::Idle;
use load::link::{Link, Step, Target};
use sos::clock;
use sos::sys::{Direction, Events, Poller, Socket, Timeout, poll_fd};

use crate::Result;
use crate::book::{Book, wrong};
use crate::protocol::Protocol;
use crate::work::{Ask, COUNTERS, KEYS_EACH, Reply, Work};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Size of the receive buffer.
const BUFFER_BYTES: usize = 64 * 1024;
/// Most events that one wait takes from the kernel.
const EVENTS_MAX: usize = 256;
/// How long a spinning client polls before it sleeps after all.
const SPIN_MAX: Duration = Duration::from_millis(10);
/// Answers between two checks whether the user wants to stop.
const ANSWERS_BEFORE_LOOK: u64 = 1_024;

/// The application name in our logins.
const APPLICATION: &str = "clearway race";

/// A peer's address, and which code opens its connections.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// The peer's protocol opens them, in plain text.
    Plain(SocketAddr),
    /// The load generator's link to any TDS server opens them; it can encrypt.
    Tds(Target),
}

/// Makes the protocol state of a new connection.
pub(crate) type Maker = Box<dyn Fn() -> Box<dyn Protocol>>;

/// When a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// After this time, once outstanding answers have arrived.
    Time(Duration),
    /// After this many requests of each connection.
    Count(usize),
}

/// The results of a turn.
pub(crate) struct Turn {
    /// From before a request was sent until its answer was read, in nanoseconds.
    pub(crate) latencies: Histogram<u64>,
    /// How long the turn took.
    pub(crate) wall_ns: u64,
}

/// The connections to one peer.
pub(crate) struct Client {
    lanes: Vec<Lane>,
    poller: Poller,
    events: Events,
    buffer: Vec<u8>,
    idle: Idle,
}

/// One connection, with protocol and book.
struct Lane {
    wire: Wire,
    protocol: Box<dyn Protocol>,
    book: Book,
    ask: Ask,
    request: Vec<u8>,
    received: Vec<u8>,
    sent_ticks: u64,
    count: usize,
}

/// The transport of a connection.
enum Wire {
    Plain(Socket),
    Tds(Box<Link>),
}

impl Client {
    /// Creates the tables on a separate connection, then opens `connections` connections and checks
    /// that each is served.
    pub(crate) fn open(way: &Way, make: &Maker, connections: usize, idle: Idle) -> Result<Self> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut first = Lane::open(way, make(), 0, &mut buffer)?;
        for request in first.protocol.setup() {
            let answer = first.exchange(&request, &mut buffer)?;
            first.protocol.done(&answer)?;
        }
        drop(first);
        let poller = Poller::new().map_err(|error| format!("epoll: {error}"))?;
        let mut lanes = Vec::with_capacity(connections);
        for (token, number) in (0_u64..).zip(0..connections) {
            let mut lane = Lane::open(way, make(), number, &mut buffer)?;
            lane.prepare(&mut buffer)?;
            let added = poller.add(lane.wire.socket(), token);
            added.map_err(|error| format!("epoll_ctl: {error}"))?;
            lanes.push(lane);
        }
        let events = Events::with_capacity(EVENTS_MAX);
        Ok(Self { lanes, poller, events, buffer, idle })
    }

    /// Gives every key its first value.
    pub(crate) fn fill(&mut self) -> Result<()> {
        self.run(Work::Set, Until::Count(KEYS_EACH), &|| false).map(drop)
    }

    /// Checks on one session that a lock excludes others, and that only its cookie releases it.
    pub(crate) fn prove_lock(&mut self) -> Result<()> {
        let Self { lanes, buffer, .. } = self;
        let [first, .., second] = &mut lanes[..] else {
            return Err("fewer than two connections".to_owned());
        };
        let mut expect = |lane: &mut Lane, ask: Ask, is_right: &dyn Fn(&Reply<'_>) -> bool| {
            let answer = lane.ask_once(ask, buffer)?;
            let reply = lane.protocol.read(ask, &answer)?;
            if is_right(&reply) { Ok(()) } else { Err(wrong(ask, &reply)) }
        };
        let lock = first.book.next(Work::Session);
        let Ask::Lock { key } = lock else {
            return Err("the session is locked already".to_owned());
        };
        let answer = first.ask_once(lock, &mut vec![0; BUFFER_BYTES])?;
        first.book.check(lock, &first.protocol.read(lock, &answer)?)?;
        let release = first.book.next(Work::Session);
        let Ask::Release { cookie, .. } = release else {
            return Err("the session was not locked".to_owned());
        };
        expect(second, Ask::Lock { key }, &|reply| reply.value.is_none())?;
        let stranger = Ask::Release { key, cookie: cookie + 1 };
        expect(second, stranger, &|reply| reply.changed == Some(0))?;
        expect(first, release, &|reply| reply.changed == Some(1))?;
        expect(second, release, &|reply| reply.changed == Some(0))?;
        first.book.check(release, &Reply::of_changed(1))
    }

    /// Checks that every key has the value last written, and every counter the sum of all
    /// increments.
    pub(crate) fn prove(&mut self) -> Result<()> {
        self.run(Work::Get, Until::Count(KEYS_EACH), &|| false)?;
        let mut added = [0; COUNTERS];
        for lane in &self.lanes {
            added.iter_mut().zip(lane.book.added()).for_each(|(sum, count)| *sum += count);
        }
        let Some(lane) = self.lanes.first_mut() else { return Ok(()) };
        for (counter, added) in added.into_iter().enumerate() {
            let ask = Ask::Add { counter };
            let answer = lane.ask_once(ask, &mut self.buffer)?;
            let reply = lane.protocol.read(ask, &answer)?;
            if reply.number != Some(added + 1) {
                return Err(format!(
                    "{added} increments were acknowledged, but: {}",
                    wrong(ask, &reply)
                ));
            }
            lane.book.check(ask, &reply)?;
        }
        Ok(())
    }

    /// Removes what was created.
    pub(crate) fn tear_down(&mut self) -> Result<()> {
        let Some(lane) = self.lanes.first_mut() else { return Ok(()) };
        for request in lane.protocol.teardown() {
            let answer = lane.exchange(&request, &mut self.buffer)?;
            lane.protocol.done(&answer)?;
        }
        Ok(())
    }

    /// Keeps every connection busy with one kind of work. Ends at the first wrong answer.
    pub(crate) fn run(
        &mut self,
        work: Work,
        until: Until,
        is_cut: &dyn Fn() -> bool,
    ) -> Result<Turn> {
        let Self { lanes, poller, events, buffer, idle } = self;
        let mut latencies = new_histogram();
        let begin_ns = clock::monotonic_ns();
        let (mut end_ticks, count_max) = match until {
            Until::Time(time) => (clock::now_ticks() + clock::duration_to_ticks(time), usize::MAX),
            Until::Count(count) => (u64::MAX, count),
        };
        for lane in lanes.iter_mut() {
            lane.count = 0;
            lane.send_next(work, clock::now_ticks(), buffer)?;
        }
        let mut open = lanes.len();
        while open > 0 {
            wait(poller, events, *idle)?;
            for event in &mut *events {
                let lane = &mut lanes[usize::try_from(event.token).expect("a token is an index")];
                if !lane.receive(buffer)? {
                    continue;
                }
                // One clock reading ends this request and begins the next.
                let now_ticks = clock::now_ticks();
                let ns = clock::ticks_to_ns(now_ticks.saturating_sub(lane.sent_ticks));
                latencies.saturating_record(ns.max(1));
                lane.check()?;
                if latencies.len().is_multiple_of(ANSWERS_BEFORE_LOOK) && is_cut() {
                    end_ticks = 0;
                }
                if now_ticks < end_ticks && lane.count < count_max {
                    lane.send_next(work, now_ticks, buffer)?;
                } else {
                    open -= 1;
                }
            }
        }
        clock::refine();
        Ok(Turn { latencies, wall_ns: clock::monotonic_ns() - begin_ns })
    }
}

impl Lane {
    /// Connects and runs the protocol's opening.
    fn open(
        way: &Way,
        protocol: Box<dyn Protocol>,
        number: usize,
        buffer: &mut [u8],
    ) -> Result<Self> {
        let wire = match way {
            Way::Plain(address) => Wire::Plain(
                Socket::connect(*address).map_err(|error| format!("{address}: {error}"))?,
            ),
            Way::Tds(target) => Wire::Tds(Box::new(log_in(target, buffer)?)),
        };
        let mut lane = Self {
            wire,
            protocol,
            book: Book::new(number),
            ask: Ask::Add { counter: 0 },
            request: Vec::new(),
            received: Vec::new(),
            sent_ticks: 0,
            count: 0,
        };
        // A link has logged in already.
        let opening = match lane.wire {
            Wire::Plain(_) => lane.protocol.opening(),
            Wire::Tds(_) => Vec::new(),
        };
        for (step, request) in opening.into_iter().enumerate() {
            let answer = lane.exchange(&request, buffer)?;
            lane.protocol.opened(step, &answer)?;
        }
        Ok(lane)
    }

    fn prepare(&mut self, buffer: &mut [u8]) -> Result<()> {
        for request in self.protocol.preparing() {
            let answer = self.exchange(&request, buffer)?;
            self.protocol.prepared(&answer)?;
        }
        Ok(())
    }

    /// Sends a request outside of turns, and returns the answer.
    fn ask_once(&mut self, ask: Ask, buffer: &mut [u8]) -> Result<Vec<u8>> {
        let mut request = Vec::new();
        self.protocol.put(ask, &mut request);
        self.exchange(&request, buffer)
    }

    /// Sends bytes, if there are any, and waits for the answer.
    fn exchange(&mut self, request: &[u8], buffer: &mut [u8]) -> Result<Vec<u8>> {
        self.received.clear();
        self.wire.send(request, buffer)?;
        while !self.receive(buffer)? {
            wait_for(self.wire.socket(), Direction::Readable)?;
        }
        Ok(std::mem::take(&mut self.received))
    }

    #[inline]
    fn send_next(&mut self, work: Work, now_ticks: u64, buffer: &mut [u8]) -> Result<()> {
        self.ask = self.book.next(work);
        self.request.clear();
        self.protocol.put(self.ask, &mut self.request);
        self.received.clear();
        self.sent_ticks = now_ticks;
        self.count += 1;
        self.wire.send(&self.request, buffer)
    }

    /// Reads; returns whether the answer is whole.
    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> Result<bool> {
        let socket = match &mut self.wire {
            Wire::Plain(socket) => socket,
            Wire::Tds(link) => {
                let step = link.advance(buffer, false).map_err(|fault| fault.text)?;
                let is_whole = matches!(step, Step::Answer(_));
                if is_whole {
                    link.take_received(&mut self.received);
                }
                return Ok(is_whole);
            }
        };
        loop {
            let count = match socket.recv(buffer) {
                Ok(0) => return Err("the server has closed a connection".to_owned()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(format!("recv: {error}")),
            };
            self.received.extend_from_slice(&buffer[..count]);
            match self.protocol.answer_bytes(&self.received)? {
                Some(bytes) if bytes == self.received.len() => return Ok(true),
                Some(_) => return Err("more than one answer".to_owned()),
                // Another event announces the rest.
                None if count < buffer.len() => return Ok(false),
                None => {}
            }
        }
    }

    #[inline]
    fn check(&mut self) -> Result<()> {
        let reply = self.protocol.read(self.ask, &self.received)?;
        self.book.check(self.ask, &reply)
    }
}

/// Returns an empty histogram: three digits, from a nanosecond to an hour.
pub(crate) fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("the bounds are in order")
}

impl Wire {
    fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tds(link) => link.socket(),
        }
    }

    /// Sends a whole request.
    #[inline]
    fn send(&mut self, request: &[u8], buffer: &mut [u8]) -> Result<()> {
        let link = match self {
            Self::Plain(socket) => return send(socket, request),
            Self::Tds(link) => link,
        };
        link.ask(request).map_err(|fault| fault.text)?;
        while link.has_unsent() {
            wait_for(link.socket(), Direction::Writable)?;
            // No answer can arrive before the request is whole; this sends the rest.
            link.advance_once(buffer).map_err(|fault| fault.text)?;
        }
        Ok(())
    }
}

/// Connects to a TDS server and logs in.
fn log_in(target: &Target, buffer: &mut [u8]) -> Result<Link> {
    let mut link = Link::open_as(target, APPLICATION).map_err(|fault| fault.text)?;
    let end_ns = clock::deadline_ns(PATIENCE);
    wait_for(link.socket(), Direction::Writable)?;
    while link.advance(buffer, false).map_err(|fault| fault.text)? != Step::LoggedIn {
        if clock::monotonic_ns() > end_ns {
            return Err("the login took too long".to_owned());
        }
        wait_for(link.socket(), Direction::Readable)?;
    }
    Ok(link)
}

/// Sends a whole request.
#[inline]
pub(crate) fn send(socket: &Socket, mut rest: &[u8]) -> Result<()> {
    while !rest.is_empty() {
        match socket.send(rest) {
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait_for(socket, Direction::Writable)?;
            }
            Err(error) => return Err(format!("send: {error}")),
        }
    }
    Ok(())
}

pub(crate) fn wait_for(socket: &Socket, direction: Direction) -> Result<()> {
    let ready = poll_fd(socket, direction, Some(clock::deadline_ns(PATIENCE)));
    match ready.map_err(|error| format!("poll: {error}"))? {
        true => Ok(()),
        false => Err("the server does not answer".to_owned()),
    }
}

/// Waits for events; fails after a long time without any.
pub(crate) fn wait(poller: &Poller, events: &mut Events, idle: Idle) -> Result<()> {
    if idle == Idle::Spin {
        let end_ticks = clock::now_ticks() + clock::duration_to_ticks(SPIN_MAX);
        while clock::now_ticks() < end_ticks {
            poller.wait(events, Timeout::None);
            if events.has_next() {
                return Ok(());
            }
        }
    }
    let patience_ns = u64::try_from(PATIENCE.as_nanos()).unwrap_or(u64::MAX);
    poller.wait(events, Timeout::After(patience_ns));
    if events.has_next() { Ok(()) } else { Err("the server does not answer".to_owned()) }
}
