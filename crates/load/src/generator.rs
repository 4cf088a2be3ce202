//! `Generator`: many connections on one thread, each of which sends its next request when the
//! previous one is answered (a closed loop).

use std::time::Duration;

use sos::clock;
use sos::sys::{self, Direction, Endpoint, EventFd, Events, Poller, Timeout};
use tds::client::{self, Token};
use tds::prelogin::Encryption;
use tds::{DoneStatus, Login7, Prelogin, TdsVersion};

use crate::connection::{Connection, PATIENCE_NS, Progress};
use crate::{Answer, Outcome, Result, Script};

/// Size of the receive buffer.
const BUFFER_BYTES: usize = 64 * 1024;
/// Most events that one wait takes from the kernel.
const EVENTS_MAX: usize = 256;
/// How long a spinning generator polls before it sleeps after all.
const SPIN_MAX: Duration = Duration::from_millis(10);
/// The packet size asked for, the one of .NET's client.
const PACKET_BYTES: u32 = 8_000;

/// Login name, password and database.
#[derive(Clone, Debug)]
pub struct Login {
    /// Name of the login.
    pub user: String,
    /// The login's password, in clear.
    pub password: String,
    /// The database; empty for the default.
    pub database: String,
}

/// What the generator does while no answer has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// Sleeps, which costs little. A server on the same machine then pays for each wake-up, the
    /// more the slower it answers.
    #[default]
    Sleep,
    /// Polls, on a CPU that nothing else uses. The server then pays for its own work only, as it
    /// does with clients on other machines; the generator's CPU time means nothing.
    Spin,
}

/// The connections of one thread.
pub struct Generator {
    idle: Idle,
    poller: Poller,
    events: Events,
    connections: Vec<Connection>,
    buffer: Vec<u8>,
}

impl Generator {
    /// Opens `count` connections without sending anything.
    pub fn open(server: impl Into<Endpoint>, count: usize) -> Result<Self> {
        let server = server.into();
        let poller = Poller::new().map_err(|error| format!("epoll: {error}"))?;
        let mut connections = Vec::with_capacity(count);
        for token in 0_u64.. {
            if connections.len() == count {
                break;
            }
            let connection = Connection::open(&server)?;
            let added = poller.add(&connection.socket, token);
            added.map_err(|error| format!("epoll_ctl: {error}"))?;
            connections.push(connection);
        }
        let events = Events::with_capacity(EVENTS_MAX);
        let buffer = vec![0; BUFFER_BYTES];
        Ok(Self { idle: Idle::default(), poller, events, connections, buffer })
    }

    /// Sets what to do while no answer has arrived.
    #[must_use]
    pub fn idling(mut self, idle: Idle) -> Self {
        self.idle = idle;
        self
    }

    /// Opens connections and logs them in, in plain text.
    pub fn log_in(server: impl Into<Endpoint>, count: usize, login: &Login) -> Result<Self> {
        let mut generator = Self::open(server, count)?;
        let options =
            Prelogin { encryption: Some(Encryption::NotSupported), ..Prelogin::default() };
        let prelogin = client::prelogin(&options);
        generator.round(|_| &prelogin, |_, _| Ok(()))?;
        let login = client::login(&Login7 {
            version_code: TdsVersion::V7_4.code(),
            packet_size: PACKET_BYTES,
            user: login.user.clone(),
            password: login.password.clone(),
            database: login.database.clone(),
            application: "clearway load".to_owned(),
            ..Login7::default()
        });
        generator.round(
            |_| &login,
            |_, packets| {
                let answer = Answer::decode(packets)?.check()?;
                let is_in = |token: &Token| matches!(token, Token::LoginAck { .. });
                match answer.tokens.iter().any(is_in) {
                    true => Ok(()),
                    false => Err("the login was not acknowledged".to_owned()),
                }
            },
        )?;
        Ok(generator)
    }

    /// Sends one request on every connection, all at once, and passes each whole answer to `check`.
    pub fn round<'r>(
        &mut self,
        request: impl Fn(usize) -> &'r [u8],
        mut check: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        for (index, connection) in self.connections.iter_mut().enumerate() {
            connection.send(request(index))?;
        }
        let mut open = self.connections.len();
        while open > 0 {
            wait(&self.poller, &mut self.events, self.idle)?;
            for event in &mut self.events {
                let index = index_of(event.token);
                let connection = &mut self.connections[index];
                if let Some(packets) = connection.collect(&mut self.buffer)? {
                    check(index, packets)?;
                    // A late event of this socket must not count the answer twice.
                    connection.forget();
                    open -= 1;
                }
            }
        }
        Ok(())
    }

    /// Sends a request on the first connection and waits for the packets of its answer.
    pub fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        let connection = self.connections.first_mut().ok_or("there is no connection")?;
        connection.ask(request, &mut self.buffer)
    }

    /// Sends a request on the first connection and waits for the packets of its answer. After
    /// `limit` it is cancelled; then the result is `None`, once the server has acknowledged.
    pub fn ask_within(&mut self, request: &[u8], limit: Duration) -> Result<Option<Vec<u8>>> {
        let connection = self.connections.first_mut().ok_or("there is no connection")?;
        let answer = connection.ask_until(request, &mut self.buffer, clock::deadline_ns(limit))?;
        if answer.is_none() {
            connection.cancel(&mut self.buffer)?;
        }
        Ok(answer)
    }

    /// Keeps every connection busy for `duration`, then waits for the outstanding answers. Fails if
    /// the server closes a connection or stops answering; its errors are counted.
    pub fn run(&mut self, script: &Script, duration: Duration) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let own_cpu_before = own_cpu_ns();
        let begin_ns = clock::monotonic_ns();
        let end_ticks = clock::now_ticks() + clock::duration_to_ticks(duration);
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let request = script.request(index, connection.turn());
            connection.send_timed(request, clock::now_ticks())?;
        }
        let mut open = self.connections.len();
        while open > 0 {
            wait(&self.poller, &mut self.events, self.idle)?;
            for event in &mut self.events {
                let index = index_of(event.token);
                let connection = &mut self.connections[index];
                let sent_ticks = connection.sent_ticks();
                let progress = connection.skim(&mut self.buffer)?;
                let Progress::Done(end, packets) = progress else { continue };
                // One clock reading ends this request and begins the next.
                let now_ticks = clock::now_ticks();
                outcome.record(clock::ticks_to_ns(now_ticks.saturating_sub(sent_ticks)));
                let is_odd = script.answer_bytes().is_some_and(|bytes| bytes != end.bytes);
                if is_odd || end.status.has(DoneStatus::ERROR) {
                    outcome.count_trouble(packets);
                }
                if now_ticks < end_ticks {
                    let request = script.request(index, connection.turn());
                    connection.send_timed(request, now_ticks)?;
                } else {
                    open -= 1;
                }
            }
        }
        outcome.wall_ns = clock::monotonic_ns() - begin_ns;
        outcome.own_cpu_ns = own_cpu_ns().saturating_sub(own_cpu_before);
        clock::refine();
        Ok(outcome)
    }
}

/// Waits for events; fails after a long time without any.
fn wait(poller: &Poller, events: &mut Events, idle: Idle) -> Result<()> {
    if idle == Idle::Spin {
        let end_ticks = clock::now_ticks() + clock::duration_to_ticks(SPIN_MAX);
        while clock::now_ticks() < end_ticks {
            poller.wait(events, Timeout::None);
            if events.has_next() {
                return Ok(());
            }
        }
    }
    poller.wait(events, Timeout::After(PATIENCE_NS));
    // A signal ends a wait as well, but this process handles none.
    if events.has_next() { Ok(()) } else { Err("the server does not answer".to_owned()) }
}

fn index_of(token: u64) -> usize {
    usize::try_from(token).expect("a token is an index")
}

/// Returns the CPU time of the calling thread.
fn own_cpu_ns() -> u64 {
    sys::run_times(sys::thread_id()).map_or(0, |times| times.on_cpu_ns)
}

/// Waits on a thread that has nothing else to do.
pub fn pause(duration: Duration) {
    let Ok(never) = EventFd::new() else { return };
    // Nothing signals this descriptor, so only the deadline ends the wait.
    let _ = sys::poll_fd(&never, Direction::Readable, Some(clock::deadline_ns(duration)));
}
