//! `Asker`: a connection that sends one query at a time and waits for the answer, for questions
//! beside a load.

use std::time::Duration;

use sos::clock;
use sos::sys::{Events, Poller, Timeout};
use tds::client::{self, ClientSettings};

use crate::link::{Fault, Link, Step, Target};
use crate::{Answer, Result};

const BUFFER_BYTES: usize = 64 * 1024;
const TICK_NS: u64 = 50_000_000;
/// How long a server may take to acknowledge that a request is cancelled.
const CANCEL: Duration = Duration::from_secs(2);

/// How a question with a time limit ended.
#[derive(Debug)]
pub enum Reply {
    /// The answer, which may contain errors.
    Whole(Answer),
    /// It took too long and was cancelled; the connection can be used.
    Cancelled,
    /// It took too long, and the server did not acknowledge the cancel: the connection cannot be
    /// used any more.
    Stuck,
}

/// A connection that has logged in.
pub struct Asker {
    link: Link,
    poller: Poller,
    events: Events,
    buffer: Vec<u8>,
    patience: Duration,
}

impl Asker {
    /// Connects and logs in; an answer may take as long as `patience`.
    ///
    /// # Errors
    /// Why connecting or logging in failed.
    pub fn connect(target: &Target, patience: Duration) -> Result<Self> {
        Self::connect_as(target, "clearway stress", patience).map_err(|fault| fault.text)
    }

    /// As [`Self::connect`], under another application name.
    ///
    /// # Errors
    /// As [`Self::connect`]; the fault has the server's error number if it refused the login.
    pub fn connect_as(
        target: &Target,
        application: &str,
        patience: Duration,
    ) -> Result<Self, Fault> {
        let link = Link::open_as(target, application)?;
        let failed = |what: &str, error| Fault { number: None, text: format!("{what}: {error}") };
        let poller = Poller::new().map_err(|error| failed("epoll", error))?;
        let added = poller.add_both_ways(link.socket(), 0);
        added.map_err(|error| failed("epoll_ctl", error))?;
        let (events, buffer) = (Events::with_capacity(1), vec![0; BUFFER_BYTES]);
        let mut asker = Self { link, poller, events, buffer, patience };
        match asker.wait_for(patience, |step| step == Step::LoggedIn)? {
            true => Ok(asker),
            false => Err(too_slow()),
        }
    }

    /// Sends a batch and returns its answer, which contains no errors.
    ///
    /// # Errors
    /// The first error of the answer, or a failure of the connection.
    pub fn ask(&mut self, text: &str) -> Result<Answer> {
        self.answer(text)?.check()
    }

    /// Sends a batch and returns its answer, which may contain errors.
    ///
    /// # Errors
    /// A failure of the connection.
    pub fn answer(&mut self, text: &str) -> Result<Answer> {
        match self.send(text, self.patience)? {
            true => Answer::decode(self.link.answer(&self.buffer)),
            false => Err(too_slow().text),
        }
    }

    /// Sends a batch, and cancels it if its answer takes longer than `limit`.
    ///
    /// # Errors
    /// A failure of the connection.
    pub fn answer_within(&mut self, text: &str, limit: Duration) -> Result<Reply> {
        if self.send(text, limit)? {
            return Answer::decode(self.link.answer(&self.buffer)).map(Reply::Whole);
        }
        self.link.cancel().map_err(|fault| fault.text)?;
        let has_ended = self.wait_for(CANCEL, |step| matches!(step, Step::Answer(_)));
        match has_ended.map_err(|fault| fault.text)? {
            true => Ok(Reply::Cancelled),
            false => Ok(Reply::Stuck),
        }
    }

    /// Sends a batch; returns whether it was answered in time.
    fn send(&mut self, text: &str, limit: Duration) -> Result<bool> {
        let request = client::batch(text, ClientSettings::default());
        self.link.ask(&request).map_err(|fault| fault.text)?;
        let answered = self.wait_for(limit, |step| matches!(step, Step::Answer(_)));
        answered.map_err(|fault| fault.text)
    }

    /// Waits for a step; returns whether it came in time.
    fn wait_for(&mut self, limit: Duration, is_it: impl Fn(Step) -> bool) -> Result<bool, Fault> {
        let end_ns = clock::deadline_ns(limit);
        loop {
            let step = self.link.advance(&mut self.buffer, false)?;
            if is_it(step) {
                return Ok(true);
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= end_ns {
                return Ok(false);
            }
            self.poller.wait(&mut self.events, Timeout::After(TICK_NS.min(end_ns - now_ns)));
        }
    }
}

fn too_slow() -> Fault {
    Fault { number: None, text: "the server takes too long".to_owned() }
}
