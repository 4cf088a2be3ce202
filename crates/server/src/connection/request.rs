//! The request pump: passes a message to the session, and its results to packets.
//!
//! Every request is answered by one response with a final DONE: for malformed bytes, for an
//! attention, and for a panic, which ends the session and nothing else.

use std::panic::{self, AssertUnwindSafe};

use engine::session::{Reset, Session};
use sos::ledger::{self, Label, SessionBooks};
use sos::memory;
use sos::sync::Arc;
use sos::xe;
use tds::bulk::BulkReader;
use tds::{Cursor, Message, PacketType, ProtocolError, Request, Step, TraceActivity, WireSettings};
use types::{Error, Msg, Value};

use super::end::End;
use super::execute::{Execution, execute};
use super::login::failed;
use super::mars::Root;
use super::output::Output;
use super::scratch::Io;
use super::{Side, Stage};
use crate::sink::{self, Progress, Tokens};

/// A logged-in connection: session and settings.
pub(super) struct Open {
    pub(super) session: Session,
    pub(super) settings: WireSettings,
    /// The bulk load whose rows are arriving.
    bulk: Option<Box<Bulk>>,
    /// The session's accounts of time and waits; lent to the ledger while a request runs.
    pub(super) books: Option<Arc<SessionBooks>>,
    /// The login session, which outlives this one; `None` without MARS.
    _root: Option<Arc<Root>>,
}

/// A bulk load in progress.
struct Bulk {
    reader: BulkReader,
    rows: Vec<Vec<Value>>,
    /// Why further rows are not kept; `None` while they are.
    error: Option<Error>,
}

/// The outcome of a request before its response is complete.
type Outcome = Result<(), ProtocolError>;

impl Open {
    /// Returns the state of a connection that has just logged in.
    pub(super) fn new(session: Session, settings: WireSettings) -> Self {
        let books = Some(Arc::clone(session.books()));
        Self { session, settings, bulk: None, books, _root: None }
    }

    /// Returns the state of a session of a MARS connection.
    pub(super) fn member(session: Session, settings: WireSettings, root: Arc<Root>) -> Self {
        Self { _root: Some(root), ..Self::new(session, settings) }
    }
}

impl sink::Transaction {
    fn of(session: &Session) -> Self {
        if session.state().transaction.count > 0 {
            sink::Transaction::Open
        } else {
            sink::Transaction::None
        }
    }
}

impl Side {
    /// Processes a message of a logged-in client.
    pub(super) fn request(
        &mut self,
        step: Step<'_>,
        next_byte: Option<u8>,
        io: &mut Io,
    ) -> Result<(), End> {
        // A client that sends on without waiting gets its answers in order.
        self.settle_put_off(io)?;
        self.settle_held(io)?;
        match step {
            Step::NeedMore => Ok(()),
            Step::Cancelled(_) => {
                self.forget_bulk();
                self.answer_taken_back(io)
            }
            Step::BulkPart { body, last } => self.bulk_part(body, last, io),
            Step::Message(message) if message.kind == PacketType::Attention => {
                self.forget_bulk();
                self.refused = None;
                self.link.acknowledge();
                if let Stage::Open(open) = &self.stage {
                    open.session.count_attention();
                }
                self.begin(io);
                io.writer.attention_done();
                io.writer.finish();
                self.send(io)
            }
            Step::Message(message) => {
                if next_byte == Some(PacketType::Attention.code()) {
                    self.link.cancel_next();
                }
                self.run(message, io)
            }
        }
    }

    /// Runs a request that arrived whole.
    fn run(&mut self, message: Message<'_>, io: &mut Io) -> Result<(), End> {
        self.contained(io, |execution, progress| {
            if let Some(reset) = reset_of(message.reset) {
                execution.reset(reset, progress);
            }
            let version = execution.settings.version;
            let (request, activity) = Request::decode_traced(message, version)?;
            if let Err(error) = execution.session.check_descriptor(request.transaction()) {
                execution.fail(&error, progress);
                return Ok(());
            }
            if let Some(TraceActivity { guid, sequence }) = activity {
                xe::goes_on_with(xe::Activity { guid, sequence });
            }
            execute(execution, request, progress)
        })
    }

    /// Takes a part of a bulk load; runs the load with the last part.
    fn bulk_part(&mut self, body: Cursor<'_>, last: bool, io: &mut Io) -> Result<(), End> {
        let Stage::Open(open) = &mut self.stage else { return Ok(()) };
        let version = open.settings.version;
        let bulk = open.bulk.get_or_insert_with(|| Box::new(Bulk::new(version)));
        bulk.take(body, last);
        if !last {
            return Ok(());
        }
        let Some(bulk) = open.bulk.take() else { return Ok(()) };
        self.contained(io, |execution, progress| {
            let Bulk { mut reader, rows, error } = *bulk;
            let columns = if error.is_none() { reader.columns()? } else { None };
            let rows = error.map_or(Ok(rows), Err);
            execution.bulk_load(columns.unwrap_or_default(), rows, progress);
            Ok(())
        })
    }

    fn forget_bulk(&mut self) {
        if let Stage::Open(open) = &mut self.stage {
            open.bulk = None;
        }
    }

    /// Answers a message that its sender cancelled, or that was too long for the memory.
    fn answer_taken_back(&mut self, io: &mut Io) -> Result<(), End> {
        self.begin(io);
        if let Some(error) = self.refused.take() {
            io.writer.message(&error, &self.shared.server_name);
        }
        io.writer.done(failed());
        io.writer.finish();
        self.send(io)
    }

    pub(super) fn begin(&self, io: &mut Io) {
        if let Stage::Open(open) = &self.stage {
            io.writer.begin(open.settings);
        }
    }

    /// Runs `work` and completes its response, even after a panic. The ledger and the session's
    /// statistics count everything from the end of the receive to the end of the send as one
    /// request.
    fn contained(
        &mut self,
        io: &mut Io,
        work: impl FnOnce(&mut Execution<'_>, &mut Progress) -> Outcome,
    ) -> Result<(), End> {
        let Stage::Open(open) = &mut self.stage else { return Ok(()) };
        // Moved out and back instead of cloned: a reference count would be a write for each
        // request.
        let books = open.books.take();
        let answered = ledger::request(books.as_deref(), || {
            self.session().map(Session::begin_message);
            let answered = self.answer(io, work);
            self.session().map(Session::end_message);
            answered
        });
        if let Stage::Open(open) = &mut self.stage {
            open.books = books;
        }
        answered
    }

    fn session(&mut self) -> Option<&mut Session> {
        match &mut self.stage {
            Stage::Open(open) => Some(&mut open.session),
            Stage::Opening
            | Stage::Prelogin(_)
            | Stage::Login(_)
            | Stage::Delayed(_)
            | Stage::Mars(_) => None,
        }
    }

    fn answer(
        &mut self,
        io: &mut Io,
        work: impl FnOnce(&mut Execution<'_>, &mut Progress) -> Outcome,
    ) -> Result<(), End> {
        ledger::label(Label::Decode);
        self.begin(io);
        let Stage::Open(open) = &mut self.stage else { return Ok(()) };
        let mut progress = Progress::new(sink::Transaction::of(&open.session));
        let mut execution = Execution {
            session: &mut open.session,
            settings: open.settings,
            io,
            link: &self.link,
            channel: &mut self.channel,
            shared: &self.shared,
            client: self.client,
        };
        // Everything that a panic leaves incomplete is dropped below: session, response,
        // connection.
        let outcome =
            panic::catch_unwind(AssertUnwindSafe(|| in_turn(&mut execution, &mut progress, work)));
        match outcome {
            Ok(outcome) => self.complete(outcome, progress, io),
            Err(_) => {
                self.complete_after_panic(&progress, io);
                Err(End::Panicked)
            }
        }
    }

    /// Completes a response and sends it.
    fn complete(&mut self, outcome: Outcome, progress: Progress, io: &mut Io) -> Result<(), End> {
        ledger::label(Label::Encode);
        if let Some(end) = progress.end {
            return Err(end);
        }
        if let Err(error) = outcome {
            let shown = error.to_error();
            if shown.severity >= sink::SEVERITY_FATAL {
                return Err(End::Protocol(error));
            }
            io.writer.message(&shown, &self.shared.server_name);
            io.writer.done(failed());
        }
        io.writer.finish();
        self.send(io)?;
        match progress.session {
            // A kill or a stop that came too late for this request.
            sink::SessionLife::Goes => self.end_between_requests(),
            sink::SessionLife::Ended => Err(End::Fatal),
        }
    }

    /// Sends the client the error of a request that panicked, if the response can still hold it.
    fn complete_after_panic(&mut self, progress: &Progress, io: &mut Io) {
        if progress.end.is_some() {
            return;
        }
        if progress.tokens == Tokens::Broken {
            io.writer.discard();
            self.begin(io);
        }
        io.writer.message(&Msg::InternalError.into(), &self.shared.server_name);
        io.writer.done(failed());
        io.writer.finish();
        self.send_now(io);
    }

    /// Sends the response, waiting for a slow client; or holds it: see `held.rs`.
    pub(super) fn send(&mut self, io: &mut Io) -> Result<(), End> {
        self.send_or_hold(io)
    }

    /// Sends the response whatever it depends on, waiting for a slow client.
    pub(super) fn send_at_once(&mut self, io: &mut Io) -> Result<(), End> {
        self.settle_put_off(io)?;
        if self.put_off(io) {
            return Ok(());
        }
        let Io { writer, sealed, .. } = io;
        let mut output = Output {
            link: &self.link,
            channel: &mut self.channel,
            sealed,
            send_timeout: self.shared.limits.send_timeout,
        };
        output.send(writer)
    }

    /// Sends the final response of a connection that ends; a failure does not matter.
    pub(super) fn send_now(&mut self, io: &mut Io) {
        let _ = self.send(io);
    }

    /// Drops the session now, so that a panic in its drop is contained too.
    pub(super) fn drop_session(&mut self) {
        let stage = std::mem::replace(&mut self.stage, Stage::Opening);
        // A panic in the drop has been reported on stderr; nothing is left of the session.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| drop(stage)));
    }
}

impl Bulk {
    const fn new(version: tds::TdsVersion) -> Self {
        Self { reader: BulkReader::new(version), rows: Vec::new(), error: None }
    }

    /// Decodes the rows that are complete with this part. After an error the rest is skipped: the
    /// message goes on to its end, and the answer is the error.
    fn take(&mut self, body: Cursor<'_>, last: bool) {
        if self.error.is_some() {
            return;
        }
        if let Err(error) = self.decode(body, last) {
            self.rows = Vec::new();
            self.error = Some(error);
        }
    }

    fn decode(&mut self, body: Cursor<'_>, last: bool) -> types::Result<()> {
        let reader = &mut self.reader;
        let mut row = Vec::new();
        reader.push(body, last).map_err(|error| reader.explain(error))?;
        while reader.next_row(&mut row).map_err(|error| reader.explain(error))? {
            if memory::check().is_err() {
                return Err(Msg::OutOfMemory.into());
            }
            self.rows.push(std::mem::take(&mut row));
        }
        if last && !reader.is_complete() {
            return Err(Msg::BulkPrematureEnd.into());
        }
        Ok(())
    }
}

/// Runs `work` when the session has its turn, which only a session of a MARS connection waits for.
fn in_turn(
    execution: &mut Execution<'_>,
    progress: &mut Progress,
    work: impl FnOnce(&mut Execution<'_>, &mut Progress) -> Outcome,
) -> Outcome {
    if !execution.session.begin_turn() {
        // Cancelled before it began: the attention is answered next.
        execution.io.writer.done(failed());
        return Ok(());
    }
    progress.transaction = sink::Transaction::of(execution.session);
    let outcome = work(execution, progress);
    execution.session.end_turn();
    outcome
}

const fn reset_of(reset: tds::Reset) -> Option<Reset> {
    match reset {
        tds::Reset::No => None,
        tds::Reset::Session => Some(Reset::All),
        tds::Reset::KeepTransaction => Some(Reset::KeepTransaction),
    }
}
