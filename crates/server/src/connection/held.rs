//! Answers that are held until the log is durable as far as they depend on it.
//!
//! What a request has written or read may be lost by a crash until its epoch is durable. So its
//! answer waits, in the connection, and the scheduler serves others. When its epoch is durable the
//! scheduler's loop sends it from there, for all such connections in one pass. A response that is
//! sent in parts waits on the worker instead, since the rest is still being made.
//!
//! The log may fail before: then the answer is not sent. The client gets error 9001 and the end of
//! the connection, because its transaction may be there after a restart, or not.

use durable::{Database, Standing};
use sos::clock;
use sos::ledger;
use sos::sched::Next;
use sos::wait::WaitType;
use types::Msg;

use super::end::End;
use super::login::failed;
use super::scratch::Io;
use super::{Side, Stage};

/// Bytes of memory that a connection keeps for its next held answer.
const KEPT_BYTES_MAX: usize = 4 * 1024;

/// The answer that a connection holds.
#[derive(Default)]
pub(super) struct Held {
    /// Packets, before TLS. Empty while no answer is held, unless the log has none either.
    bytes: Vec<u8>,
    /// The epoch that the answer depends on; 0 while none is held.
    epoch: u64,
    /// When it was held, in ticks of the machine's clock.
    since_ticks: u64,
}

impl Held {
    /// Returns whether an answer is held.
    pub(super) const fn is_some(&self) -> bool {
        self.epoch != 0
    }
}

impl Side {
    /// Sends the response, or holds it if it depends on what is not durable.
    pub(super) fn send_or_hold(&mut self, io: &mut Io) -> Result<(), End> {
        let Some(database) = self.shared.instance.durable() else { return self.send_at_once(io) };
        let epoch = storage::durability::take();
        if epoch == 0 {
            return self.send_at_once(io);
        }
        if self.link.lane.is_some() {
            // The sessions of a MARS connection share its socket, so an answer cannot be kept apart.
            return match database.wait(epoch) {
                Standing::Durable => self.send_at_once(io),
                Standing::Lost | Standing::Waits => self.refuse_lost(io),
            };
        }
        match database.demand(epoch) {
            Standing::Durable => self.send_at_once(io),
            Standing::Lost => self.refuse_lost(io),
            Standing::Waits => {
                self.held.epoch = epoch;
                self.held.since_ticks = clock::now_ticks();
                io.writer.move_to(&mut self.held.bytes);
                Ok(())
            }
        }
    }

    /// Returns what the scheduler does with a connection at rest.
    pub(super) const fn next(&self) -> Next {
        if self.held.is_some() { Next::Hold(self.held.epoch) } else { Next::Keep }
    }

    /// Sends the held answer at its release, from where it is, if that takes one call and nothing is
    /// to follow. Otherwise the task has to run for it. Does not wait.
    pub(super) fn send_at_release(&mut self) -> Option<()> {
        let durable = self.shared.instance.durable()?;
        if !self.channel.is_plain() || durable.standing(self.held.epoch) != Standing::Durable {
            return None;
        }
        let Stage::Open(open) = &mut self.stage else { return None };
        let now = clock::now_ticks();
        let waited = now.saturating_sub(self.held.since_ticks);
        let sent = ledger::request(open.books.as_deref(), || {
            ledger::book_wait(WaitType::WriteLog, waited);
            ledger::label(ledger::Label::Encode);
            self.link.socket.send(&self.held.bytes)
        });
        // What the task sends later waits from here on.
        self.held.since_ticks = now;
        // Its run finds out what an error means, and waits for a slow client.
        let sent = sent.ok().filter(|sent| *sent > 0)?;
        self.link.traffic.count_write();
        self.held.bytes.drain(..sent);
        if !self.held.bytes.is_empty() {
            return None;
        }
        if self.held.bytes.capacity() > KEPT_BYTES_MAX {
            self.held.bytes = Vec::new();
        }
        self.held.epoch = 0;
        Some(())
    }

    /// Sends the held answer if it is durable by now, or ends the connection if it will never be.
    pub(super) fn send_released(&mut self, io: &mut Io) -> Result<(), End> {
        let Some(database) = self.shared.instance.durable() else { return Ok(()) };
        match database.standing(self.held.epoch) {
            Standing::Waits => Ok(()),
            Standing::Durable => self.send_held(io),
            Standing::Lost => self.refuse_held(io),
        }
    }

    /// Waits, on this worker, for the held answer to be durable, and sends it. For what has to come
    /// after it: the end of the connection, or the next request of a client that did not wait.
    pub(super) fn settle_held(&mut self, io: &mut Io) -> Result<(), End> {
        if !self.held.is_some() {
            return Ok(());
        }
        let Some(database) = self.shared.instance.durable() else { return Ok(()) };
        match database.wait(self.held.epoch) {
            Standing::Durable => self.send_held(io),
            Standing::Lost | Standing::Waits => self.refuse_held(io),
        }
    }

    fn send_held(&mut self, io: &mut Io) -> Result<(), End> {
        let waited = clock::now_ticks().saturating_sub(self.held.since_ticks);
        let mut bytes = std::mem::take(&mut self.held.bytes);
        self.held.epoch = 0;
        let books = match &mut self.stage {
            Stage::Open(open) => open.books.take(),
            Stage::Opening
            | Stage::Prelogin(_)
            | Stage::Login(_)
            | Stage::Delayed(_)
            | Stage::Mars(_) => None,
        };
        let sent = ledger::request(books.as_deref(), || {
            ledger::book_wait(WaitType::WriteLog, waited);
            ledger::label(ledger::Label::Encode);
            self.output(&mut io.sealed).send_plain(&bytes)
        });
        if let Stage::Open(open) = &mut self.stage {
            open.books = books;
        }
        bytes.clear();
        if bytes.capacity() <= KEPT_BYTES_MAX {
            self.held.bytes = bytes;
        }
        sent
    }

    fn refuse_held(&mut self, io: &mut Io) -> Result<(), End> {
        self.held = Held::default();
        self.refuse_lost(io)
    }

    /// Answers that the log has failed, and ends the connection.
    fn refuse_lost(&mut self, io: &mut Io) -> Result<(), End> {
        io.writer.discard();
        self.begin(io);
        let name = self.shared.instance.durable().map_or("", Database::name);
        io.writer.message(&Msg::LogNotAvailable(name).into(), &self.shared.server_name);
        io.writer.done(failed());
        io.writer.finish();
        self.send_at_once(io)?;
        Err(End::Fatal)
    }
}

/// Waits until a part of a response may leave: what it depends on is durable. `Err` if it never
/// will be.
pub(crate) fn wait_for_log(database: Option<&Database>) -> Result<(), End> {
    let Some(database) = database else { return Ok(()) };
    let epoch = storage::durability::take();
    if epoch == 0 {
        return Ok(());
    }
    match database.wait(epoch) {
        Standing::Durable => Ok(()),
        Standing::Lost | Standing::Waits => Err(End::LogFailed),
    }
}
