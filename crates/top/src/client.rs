//! `Client`: the connection. It never blocks: questions wait in a queue, and what came of them is
//! taken as events, so that the screen answers keys however slow the server is.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::Duration;

use load::link::{Encrypt, Fault, Link, Step, Target};
use sos::clock;
use sos::sys::{Events, Poller, Timeout};
use tds::TdsVersion;
use tds::client::{self, ClientSettings, Token, TokenStream};

use crate::question::Topic;
use crate::rows::{self, Row};

const BUFFER_BYTES: usize = 64 * 1024;
/// The highest severity of a message that is no error.
const SEVERITY_MESSAGE_MAX: u8 = 10;
/// Events of the socket, of the terminal and of signals.
const EVENTS_MAX: usize = 8;
/// Interval between two attempts to connect again.
const RETRY: Duration = Duration::from_secs(1);

/// What the server was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Setting options of the session.
    Setup,
    /// Whether this text of a topic works.
    Probe(Topic, usize),
    /// The rows of a topic.
    Read(Topic),
    /// A plan as XML.
    Plan,
    /// The end of a session.
    Kill(i64),
}

/// An error of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The number of the error.
    pub(crate) number: i32,
    /// The error's message in words.
    pub(crate) text: String,
}

/// What came of a question or of the connection.
#[derive(Debug)]
pub(crate) enum Event {
    /// The server accepted the login.
    Connected,
    /// A question was answered.
    Answer(Ask, Result<Vec<Vec<Row>>, Refusal>),
    /// The connection failed; another attempt follows.
    Lost(String),
    /// The server refused the login.
    Refused(String),
}

/// The connection and its questions.
pub(crate) struct Client {
    target: Target,
    patience: Duration,
    version: TdsVersion,
    poller: Poller,
    events: Events,
    buffer: Vec<u8>,
    link: Option<Link>,
    is_ready: bool,
    queue: VecDeque<(Ask, String)>,
    asked: Option<Ask>,
    /// When the login or the answer must have come.
    deadline_ns: u64,
    /// When to connect again.
    retry_ns: u64,
}

impl Client {
    pub(crate) fn new(target: Target, patience: Duration) -> Result<Self, String> {
        let version = match target.encrypt {
            Encrypt::Strict => TdsVersion::V8_0,
            Encrypt::Off | Encrypt::On => TdsVersion::V7_4,
        };
        Ok(Self {
            target,
            patience,
            version,
            poller: Poller::new().map_err(|error| format!("epoll: {error}"))?,
            events: Events::with_capacity(EVENTS_MAX),
            buffer: vec![0; BUFFER_BYTES],
            link: None,
            is_ready: false,
            queue: VecDeque::new(),
            asked: None,
            deadline_ns: 0,
            retry_ns: 0,
        })
    }

    /// Also wakes [`Self::wait`] when this descriptor has data.
    pub(crate) fn watch(&self, descriptor: impl AsFd) -> Result<(), String> {
        self.poller.add(descriptor, 1).map_err(|error| format!("epoll_ctl: {error}"))
    }

    /// Waits until something has arrived, for so long at most.
    pub(crate) fn wait(&mut self, ns: u64) {
        self.poller.wait(&mut self.events, Timeout::After(ns));
    }

    /// Puts a question at the end of the queue.
    pub(crate) fn ask(&mut self, ask: Ask, text: impl Into<String>) {
        self.queue.push_back((ask, text.into()));
    }

    /// Puts a question before all others.
    pub(crate) fn ask_first(&mut self, ask: Ask, text: impl Into<String>) {
        self.queue.push_front((ask, text.into()));
    }

    /// Returns whether it is connected and every question is answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_ready && self.asked.is_none() && self.queue.is_empty()
    }

    /// Does what can be done without waiting; `None` if nothing has happened.
    pub(crate) fn advance(&mut self) -> Option<Event> {
        let now_ns = clock::monotonic_ns();
        match self.step(now_ns) {
            Ok(event) => event,
            Err(fault) => Some(self.lose(fault, now_ns)),
        }
    }

    fn step(&mut self, now_ns: u64) -> Result<Option<Event>, Fault> {
        let Some(link) = &mut self.link else {
            if now_ns >= self.retry_ns {
                self.connect(now_ns)?;
            }
            return Ok(None);
        };
        let step = link.advance(&mut self.buffer, false)?;
        let event = match step {
            Step::LoggedIn => {
                self.is_ready = true;
                Some(Event::Connected)
            }
            Step::Answer(_) => Some(self.take()?),
            Step::Waiting => None,
        };
        if event.is_none() && (self.asked.is_some() || !self.is_ready) && now_ns >= self.deadline_ns
        {
            return Err(fault(format!("no answer within {} s", self.patience.as_secs())));
        }
        if event.is_none() && self.is_ready && self.asked.is_none() {
            self.send_next(now_ns)?;
        }
        Ok(event)
    }

    fn connect(&mut self, now_ns: u64) -> Result<(), Fault> {
        self.deadline_ns = now_ns + nanoseconds(self.patience);
        let link = Link::open_as(&self.target, "clearway top")?;
        let added = self.poller.add_both_ways(link.socket(), 0);
        added.map_err(|error| fault(format!("epoll_ctl: {error}")))?;
        self.link = Some(link);
        Ok(())
    }

    fn send_next(&mut self, now_ns: u64) -> Result<(), Fault> {
        let (Some(link), Some((ask, text))) = (&mut self.link, self.queue.pop_front()) else {
            return Ok(());
        };
        self.asked = Some(ask);
        self.deadline_ns = now_ns + nanoseconds(self.patience);
        let settings = ClientSettings { version: self.version, ..ClientSettings::default() };
        link.ask(&client::batch(&text, settings))
    }

    fn take(&mut self) -> Result<Event, Fault> {
        let mut received = Vec::new();
        if let Some(link) = &mut self.link {
            link.take_received(&mut received);
        }
        let wrong = |error: tds::ProtocolError| fault(format!("wrong answer: {error}"));
        let mut stream = TokenStream::new(self.version);
        stream.feed(&received).map_err(wrong)?;
        let mut tokens = Vec::new();
        while let Some(token) = stream.next_token().map_err(wrong)? {
            tokens.push(token);
        }
        let error = tokens.iter().find_map(|token| match token {
            Token::Message(error) if error.severity > SEVERITY_MESSAGE_MAX => {
                Some(Refusal { number: error.number, text: error.message.to_string() })
            }
            _ => None,
        });
        let ask = self.asked.take().ok_or_else(|| fault("an answer without a question".into()))?;
        Ok(Event::Answer(ask, error.map_or_else(|| Ok(rows::results(&tokens)), Err)))
    }

    fn lose(&mut self, fault: Fault, now_ns: u64) -> Event {
        self.link = None;
        self.is_ready = false;
        self.asked = None;
        self.queue.clear();
        self.retry_ns = now_ns + nanoseconds(RETRY);
        match fault.number {
            Some(_) => Event::Refused(fault.text),
            None => Event::Lost(fault.text),
        }
    }
}

fn fault(text: String) -> Fault {
    Fault { number: None, text }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 2)
}
