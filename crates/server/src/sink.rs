//! `TokenSink`: encodes a request's results as tokens, and sends them when enough have been
//! collected.

use std::rc::Rc;

use durable::Database;
use engine::sink::{
    BrowseColumn, ColumnInfo, CutOff, Disconnected, Done, DoneKind, EnvChange, ResultShape,
    ResultSink, Sent,
};
use sos::ledger::{self, Label};
use sos::sys::Peer;
use tds::{Columns, DoneStatus, ResponseWriter, ReturnHead, Returned};
use types::{Error, Value};

use crate::connection::{End, Names, Output, Shapes};
use crate::log::{ClientLog, error_line};

/// Bytes of closed packets that are sent before the response ends.
const FLUSH_BYTES: usize = 32 * 1024;
/// Most bytes of closed packets that a session of a MARS connection keeps, when its client does not
/// read and what it runs cannot let others run.
const MARS_BYTES_MAX: usize = 8 * FLUSH_BYTES;
/// From this severity on, an error ends the connection.
pub(crate) const SEVERITY_FATAL: u8 = 20;
/// The severity of errors that say what the server lacks.
const SEVERITY_SHORTAGE: u8 = 17;

/// Receives the results of one request and writes its response.
pub(crate) struct TokenSink<'a> {
    /// Encodes tokens into packets.
    pub(crate) writer: &'a mut ResponseWriter,
    /// Sends packets to the client.
    pub(crate) output: Output<'a>,
    /// Cache of encoded COLMETADATA.
    pub(crate) shapes: &'a mut Shapes,
    /// Names of the call's parameters, as the client sent them.
    pub(crate) names: &'a Names,
    /// How the OUTPUT values of a known call begin, by the place of the argument.
    pub(crate) returns: &'a [Option<ReturnHead>],
    /// The server's name, part of every message.
    pub(crate) server_name: &'a str,
    /// The server's log, and the client's address for its lines.
    pub(crate) log: (&'a ClientLog, Peer),
    /// What makes the instance durable, if it is.
    pub(crate) database: Option<&'a Database>,
    /// The state of the response.
    pub(crate) progress: &'a mut Progress,
}

/// The state of a response that is being written.
#[derive(Default)]
pub(crate) struct Progress {
    /// The columns of the current result set.
    columns: Option<Rc<Columns>>,
    /// Whether a transaction is open.
    pub(crate) transaction: Transaction,
    /// Why nothing can be sent any more; `None` while sending works.
    pub(crate) end: Option<End>,
    /// Whether an error has ended the session; its response is still sent.
    pub(crate) session: SessionLife,
    /// Whether a token is partly written, for a panic in the middle of it.
    pub(crate) tokens: Tokens,
}

/// Whether a transaction is open, a bit of every DONE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Transaction {
    /// No transaction is open.
    #[default]
    None,
    /// A transaction is open.
    Open,
}

/// Whether the session continues after the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SessionLife {
    /// The session continues, as usual.
    #[default]
    Goes,
    /// An error of severity 20 or more has ended it.
    Ended,
}

/// Whether the tokens written so far are complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tokens {
    /// Every token is complete.
    #[default]
    Whole,
    /// A token is being written.
    Broken,
}

impl Progress {
    /// Returns the progress of a response that has not begun.
    pub(crate) fn new(transaction: Transaction) -> Self {
        Self { transaction, ..Self::default() }
    }
}

impl TokenSink<'_> {
    /// Writes a token whose encoding takes time, accounted under its own label. Costs two stores
    /// besides the encoding of a row.
    fn encode(&mut self, token: impl FnOnce(&mut ResponseWriter)) -> Sent {
        self.write(|writer| {
            let _label = ledger::labelled(Label::Encode);
            token(writer);
        })
    }

    /// Writes a token of a few bytes, recording that it is in progress.
    fn write(&mut self, token: impl FnOnce(&mut ResponseWriter)) -> Sent {
        if self.progress.end.is_some() {
            return Err(Disconnected);
        }
        self.progress.tokens = Tokens::Broken;
        token(self.writer);
        self.progress.tokens = Tokens::Whole;
        if self.writer.sendable_bytes() < FLUSH_BYTES {
            return Ok(());
        }
        if self.output.is_mars() {
            return self.send_some();
        }
        self.send()
    }

    /// Sends what the client of a MARS session is ready for. The rest waits in the buffer for
    /// [`ResultSink::drain`], up to a limit.
    #[cold]
    fn send_some(&mut self) -> Sent {
        if self.writer.sendable_bytes() >= MARS_BYTES_MAX {
            return self.send();
        }
        self.output.send_some(self.writer, self.database).map_err(|end| {
            self.progress.end = Some(end);
            Disconnected
        })
    }

    #[cold]
    fn send(&mut self) -> Sent {
        self.output.send_part(self.writer, self.database).map_err(|end| {
            self.progress.end = Some(end);
            Disconnected
        })
    }

    fn status(&self, done: &Done) -> DoneStatus {
        let mut status = DoneStatus::FINAL;
        if done.more {
            status = status.with(DoneStatus::MORE);
        }
        if done.error {
            status = status.with(DoneStatus::ERROR);
            if self.progress.session == SessionLife::Ended {
                status = status.with(DoneStatus::SERVER_ERROR);
            }
        }
        if self.progress.transaction == Transaction::Open {
            status = status.with(DoneStatus::IN_TRANSACTION);
        }
        status
    }
}

impl ResultSink for TokenSink<'_> {
    fn columns(&mut self, shape: &ResultShape) -> Sent {
        let columns = self.shapes.get(shape, self.writer.settings().version);
        self.progress.columns = Some(Rc::clone(&columns));
        self.encode(|writer| writer.columns(&columns))
    }

    fn browse(&mut self, tables: &[Vec<String>], columns: &[BrowseColumn]) -> Sent {
        let columns: Vec<tds::ColumnSource<'_>> = columns
            .iter()
            .map(|column| tds::ColumnSource {
                table: column.table,
                name: column.name.as_deref(),
                is_key: column.is_key,
                is_hidden: column.is_hidden,
            })
            .collect();
        self.encode(|writer| writer.browse(tables, &columns))
    }

    fn row(&mut self, values: &[Value]) -> Sent {
        let columns = self.progress.columns.take().expect("columns come before rows");
        let sent = self.encode(|writer| writer.row(&columns, values));
        self.progress.columns = Some(columns);
        sent
    }

    fn done(&mut self, done: Done) -> Sent {
        let kind = match done.kind {
            DoneKind::Done => tds::DoneKind::Done,
            DoneKind::InProcedure => tds::DoneKind::InProc,
            DoneKind::Procedure => tds::DoneKind::Proc,
        };
        let status = self.status(&done);
        let command = done.command.code();
        self.write(|writer| {
            writer.done(tds::Done { kind, status, command, row_count: done.rows });
        })
    }

    fn message(&mut self, message: &Error) -> Sent {
        let name = self.server_name;
        if message.severity >= SEVERITY_FATAL {
            self.progress.session = SessionLife::Ended;
        }
        if message.severity == SEVERITY_SHORTAGE {
            self.log.0.shortage(&self.log.1, message);
        }
        self.encode(|writer| writer.message(message, name))
    }

    fn return_status(&mut self, status: i32) -> Sent {
        self.write(|writer| writer.return_status(status))
    }

    fn return_value(&mut self, ordinal: u16, column: &ColumnInfo, value: &Value) -> Sent {
        let (names, place) = (self.names, usize::from(ordinal));
        if let Some(Some(head)) = self.returns.get(place) {
            return self.write(|writer| writer.return_value_of(head, value));
        }
        let numeric = names.is_numeric(place) || column.traits.numeric;
        let (name, column_type) = (names.get(place), column.column_type);
        let returned = Returned { ordinal, name, column_type, numeric };
        self.write(|writer| writer.return_value(&returned, value))
    }

    fn env_change(&mut self, change: &EnvChange<'_>) -> Sent {
        let change = match *change {
            EnvChange::Database { new, old } => tds::EnvChange::Database(new, old),
            EnvChange::Language { new, old } => tds::EnvChange::Language(new, old),
            EnvChange::BeginTransaction(descriptor) => {
                self.progress.transaction = Transaction::Open;
                tds::EnvChange::BeginTransaction(descriptor)
            }
            EnvChange::CommitTransaction(descriptor) => {
                self.progress.transaction = Transaction::None;
                tds::EnvChange::CommitTransaction(descriptor)
            }
            EnvChange::RollbackTransaction(descriptor) => {
                self.progress.transaction = Transaction::None;
                tds::EnvChange::RollbackTransaction(descriptor)
            }
        };
        self.write(|writer| writer.env_change(change))
    }

    fn log(&mut self, message: &Error) {
        self.log.0.line(&self.log.1, &error_line(message));
    }

    fn cut_off(&self) -> Option<CutOff> {
        match self.progress.session {
            SessionLife::Goes => self.output.cut_off(),
            SessionLife::Ended => None,
        }
    }

    fn is_full(&self) -> bool {
        self.output.is_mars() && self.writer.sendable_bytes() >= FLUSH_BYTES
    }

    fn drain(&mut self) -> Sent {
        self.send()
    }

    fn flush(&mut self) -> Sent {
        if self.progress.end.is_some() {
            return Err(Disconnected);
        }
        self.writer.flush();
        self.send()
    }
}
