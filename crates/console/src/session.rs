//! `Session`: one connection, used by one thread that waits for each answer and can cancel it.

use std::time::Duration;

use load::link::{Link, Step, Target};
use sos::clock;
use sos::sys::{Events, Poller, Stop, StopSignals, Timeout};
use tds::TdsVersion;
use tds::client::{self, ClientSettings, EnvChanged, Token, TokenStream};

const BUFFER_BYTES: usize = 64 * 1024;
/// Events of the socket and of the signals.
const EVENTS_MAX: usize = 4;
/// How long a server may take to acknowledge a cancel.
const CANCEL_MAX: Duration = Duration::from_secs(10);
/// Interval between two checks of the time limits.
const TICK_NS: u64 = 50_000_000;

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The answer arrived whole.
    Whole,
    /// Ctrl-C cancelled the batch.
    Interrupted,
    /// The time limit cancelled the batch.
    TimedOut,
    /// The batch was cancelled because the process is to end.
    Terminated,
}

/// A connection that has logged in.
pub(crate) struct Session {
    link: Link,
    poller: Poller,
    events: Events,
    buffer: Vec<u8>,
    received: Vec<u8>,
    stream: TokenStream,
    settings: ClientSettings,
}

impl Session {
    /// Connects and logs in.
    ///
    /// # Errors
    /// One line that says why it failed.
    pub(crate) fn connect(
        target: &Target,
        timeout: Option<Duration>,
        signals: &StopSignals,
    ) -> Result<Self, String> {
        let link = Link::open_as(target, "clearway sql").map_err(|fault| fault.text)?;
        let poller = Poller::new().map_err(|error| format!("epoll: {error}"))?;
        for added in [poller.add_both_ways(link.socket(), 0), poller.add(signals, 1)] {
            added.map_err(|error| format!("epoll_ctl: {error}"))?;
        }
        let version = match target.encrypt {
            load::link::Encrypt::Strict => TdsVersion::V8_0,
            load::link::Encrypt::Off | load::link::Encrypt::On => TdsVersion::V7_4,
        };
        let mut session = Self {
            link,
            poller,
            events: Events::with_capacity(EVENTS_MAX),
            buffer: vec![0; BUFFER_BYTES],
            received: Vec::new(),
            stream: TokenStream::new(version),
            settings: ClientSettings { version, ..ClientSettings::default() },
        };
        let end_ns = deadline(timeout);
        loop {
            // Until the login is over, bytes are read until none is left: another step may be among
            // them.
            match session.link.advance(&mut session.buffer, false).map_err(|fault| fault.text)? {
                Step::LoggedIn => return Ok(session),
                Step::Answer(_) | Step::Waiting => {}
            }
            if clock::monotonic_ns() >= end_ns {
                return Err("the login took too long".to_owned());
            }
            if let Some(Stop::Interrupt | Stop::Terminate | Stop::HangUp) =
                signals.take().unwrap_or(None)
            {
                return Err("cancelled".to_owned());
            }
            session.poller.wait(&mut session.events, Timeout::After(TICK_NS));
        }
    }

    /// Sends a batch and passes each token of its answer to `each`, which may refuse further
    /// tokens.
    ///
    /// # Errors
    /// If the connection is lost, or the answer is not TDS; then the session cannot be used any
    /// more.
    pub(crate) fn run(
        &mut self,
        text: &str,
        timeout: Option<Duration>,
        signals: &StopSignals,
        each: &mut dyn FnMut(Token) -> Result<(), String>,
    ) -> Result<End, String> {
        let request = client::batch(text, self.settings);
        self.link.ask(&request).map_err(|fault| fault.text)?;
        self.stream.reset();
        let mut end_ns = deadline(timeout);
        let mut ending = None;
        let mut unwanted = None;
        loop {
            let step = self.link.advance_once(&mut self.buffer).map_err(|fault| fault.text)?;
            self.received.clear();
            self.link.take_received(&mut self.received);
            if ending.is_none() && !self.received.is_empty() {
                unwanted = self.take(each)?.err();
                if unwanted.is_some() {
                    ending = Some(End::Whole);
                    end_ns = self.cancel()?;
                }
            }
            if let Step::Answer(_) = step {
                return unwanted.map_or(Ok(ending.unwrap_or(End::Whole)), Err);
            }
            let has_more = !self.received.is_empty();
            let asked = signals.take().unwrap_or(None);
            let is_late = clock::monotonic_ns() >= end_ns;
            match (ending, asked, is_late) {
                (None, Some(Stop::Interrupt), _) => ending = Some(End::Interrupted),
                (None, Some(Stop::Terminate | Stop::HangUp), _) => ending = Some(End::Terminated),
                (None, None, true) => ending = Some(End::TimedOut),
                (Some(_), _, true) | (Some(_), Some(_), _) => {
                    return Err("the server does not acknowledge the cancel".to_owned());
                }
                (_, None, false) => {
                    if !has_more {
                        self.poller.wait(&mut self.events, Timeout::After(TICK_NS));
                    }
                    continue;
                }
            }
            end_ns = self.cancel()?;
        }
    }

    fn cancel(&mut self) -> Result<u64, String> {
        self.link.cancel().map_err(|fault| fault.text)?;
        Ok(deadline(Some(CANCEL_MAX)))
    }

    /// Passes on the tokens that have arrived; the inner error is the receiver's.
    fn take(
        &mut self,
        each: &mut dyn FnMut(Token) -> Result<(), String>,
    ) -> Result<Result<(), String>, String> {
        let wrong = |error: tds::ProtocolError| format!("wrong answer: {error}");
        self.stream.feed(&self.received).map_err(wrong)?;
        while let Some(token) = self.stream.next_token().map_err(wrong)? {
            match &token {
                Token::EnvChange(EnvChanged::BeginTransaction(id)) => {
                    self.settings.transaction = *id
                }
                Token::EnvChange(EnvChanged::EndTransaction(_)) => self.settings.transaction = 0,
                _ => {}
            }
            if let Err(why) = each(token) {
                return Ok(Err(why));
            }
        }
        Ok(Ok(()))
    }
}

fn deadline(timeout: Option<Duration>) -> u64 {
    timeout.map_or(u64::MAX, clock::deadline_ns)
}
