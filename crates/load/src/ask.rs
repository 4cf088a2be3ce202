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
        asker.wait_for(|step| step == Step::LoggedIn)?;
        Ok(asker)
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
        let request = client::batch(text, ClientSettings::default());
        self.link.ask(&request).map_err(|fault| fault.text)?;
        self.wait_for(|step| matches!(step, Step::Answer(_))).map_err(|fault| fault.text)?;
        Answer::decode(self.link.answer(&self.buffer))
    }

    fn wait_for(&mut self, is_it: impl Fn(Step) -> bool) -> Result<(), Fault> {
        let end_ns = clock::deadline_ns(self.patience);
        loop {
            let step = self.link.advance(&mut self.buffer, false)?;
            if is_it(step) {
                return Ok(());
            }
            if clock::monotonic_ns() >= end_ns {
                let text = "the server takes too long".to_owned();
                return Err(Fault { number: None, text });
            }
            self.poller.wait(&mut self.events, Timeout::After(TICK_NS));
        }
    }
}
