//! Executes a decoded request on the session, reading parameters one by one.

use std::iter;

use engine::session::{
    BeginNext, IsolationLevel, Reset, Rpc, RpcParameter, RpcTarget, Session, TableParameter,
    TransactionRequest,
};
use engine::sink::{ColumnInfo, Done, DoneKind, ResultSink, Sent, Traits};
use sos::sys::Peer;
use tds::bulk::BulkColumn;
use tds::rpc::ParameterValue;
use tds::transaction::{Begin, IsolationLevel as WireIsolation};
use tds::tvp::TableValue;
use tds::{
    EnvChange, Procedure, ProtocolError, Request, ReturnHead, RpcReader, TransactionAction,
    WireSettings, utf16,
};
use types::value::ColumnType;
use types::{Collation, DataType, Error, Msg, Value};

use super::calls::Known;
use super::channel::Channel;
use super::heads::Heads;
use super::link::Link;
use super::output::Output;
use super::scratch::{Io, Names};
use crate::shared::Shared;
use crate::sink::{Progress, TokenSink};

/// Everything that a request needs to run.
pub(super) struct Execution<'a> {
    pub(super) session: &'a mut Session,
    pub(super) settings: WireSettings,
    pub(super) io: &'a mut Io,
    pub(super) link: &'a Link,
    pub(super) channel: &'a mut Channel,
    pub(super) shared: &'a Shared,
    /// The client's address, for the log.
    pub(super) client: Peer,
}

/// Runs a request. The response is complete except for the end of its last packet.
pub(super) fn execute(
    execution: &mut Execution<'_>,
    request: Request<'_>,
    progress: &mut Progress,
) -> Result<(), ProtocolError> {
    match request {
        Request::Batch(batch) => {
            execution.batch(&batch.text, progress);
            Ok(())
        }
        Request::Rpc(reader) => execution.rpc(reader, progress),
        Request::Transaction(request) => {
            execution.transaction(&request.action, progress);
            Ok(())
        }
        // The pump answers attentions itself.
        Request::Attention => Ok(()),
    }
}

/// The parts of an execution, borrowed separately.
struct Parts<'a> {
    session: &'a mut Session,
    sink: TokenSink<'a>,
    text: &'a mut Vec<u8>,
    parameters: &'a mut Vec<RpcParameter>,
}

impl Execution<'_> {
    fn parts<'a>(&'a mut self, progress: &'a mut Progress) -> Parts<'a> {
        self.parts_of(progress, &[])
    }

    /// As [`Self::parts`], with how OUTPUT values begin, where that is known.
    fn parts_of<'a>(
        &'a mut self,
        progress: &'a mut Progress,
        returns: &'a [Option<ReturnHead>],
    ) -> Parts<'a> {
        let Io { writer, sealed, text, parameters, names, shapes, .. } = &mut *self.io;
        let output = Output {
            link: self.link,
            channel: self.channel,
            sealed,
            send_timeout: self.shared.limits.send_timeout,
        };
        let (server_name, log) =
            (self.shared.server_name.as_str(), (&self.shared.client_log, self.client));
        let database = self.shared.instance.durable();
        let sink = TokenSink {
            writer,
            output,
            shapes,
            names,
            returns,
            server_name,
            log,
            database,
            progress,
        };
        Parts { session: self.session, sink, text, parameters }
    }

    /// Resets the session and acknowledges that, before the request's own tokens.
    pub(super) fn reset(&mut self, reset: Reset, progress: &mut Progress) {
        let Parts { session, mut sink, .. } = self.parts(progress);
        // If the client is gone, `progress` records it.
        let _ = session.reset(reset, &mut sink);
        self.io.writer.env_change(EnvChange::ResetDone);
    }

    /// Answers with an error.
    pub(super) fn fail(&mut self, error: &Error, progress: &mut Progress) {
        let Parts { mut sink, .. } = self.parts(progress);
        // If it cannot be sent, `progress` records it.
        let _ = sink.message(error);
        let _ = sink.done(failure());
    }

    fn batch(&mut self, utf16: &[u8], progress: &mut Progress) {
        let Parts { session, mut sink, text, .. } = self.parts(progress);
        let text = decoded(utf16, text);
        #[cfg(test)]
        assert_ne!(text, crate::containment::PANIC, "a test asked for it");
        let _ = session.batch(text, &mut sink);
    }

    fn rpc(
        &mut self,
        mut reader: RpcReader<'_>,
        progress: &mut Progress,
    ) -> Result<(), ProtocolError> {
        loop {
            // An event with the data stream shows the call as sent, if a session collects it.
            let before = engine::session::wants_data_stream().then(|| reader.clone());
            let Some(call) = reader.next_call()? else { return Ok(()) };
            let name = match &call.procedure {
                Procedure::Name(name) if before.is_none() => Some(&**name),
                Procedure::Name(_) | Procedure::Id(_) => None,
            };
            let known = name.and_then(|name| self.known(name));
            if let Some(known) = known
                && let Some(sent) = self.call_known(known, &mut reader, progress)?
            {
                if sent.is_err() {
                    return Ok(());
                }
                continue;
            }
            let database = &*self.session.state().identity.database;
            let wanted = name.filter(|name| self.io.calls.wants(name, database));
            let learner = wanted.map(|name| (name, reader.clone()));
            let count = {
                let Io { parameters, names, heads, .. } = &mut *self.io;
                read_parameters(&mut reader, parameters, (names, heads))?
            };
            let more = reader.has_more_calls();
            let stream = before.map(|before| reader.bytes_since(&before)).transpose()?;
            let stream = stream.as_deref();
            let Parts { session, mut sink, text, parameters } = self.parts(progress);
            let target = match &call.procedure {
                Procedure::Name(name) => RpcTarget::Name(decoded(name, text)),
                Procedure::Id(id) => RpcTarget::Id(id.code()),
            };
            let parameters = &mut parameters[..count];
            let sent = session.rpc(Rpc { target, parameters, more, stream }, &mut sink);
            forget_values(parameters);
            if let Some((name, reader)) = learner {
                self.learn(name, reader, count);
            }
            if sent.is_err() {
                return Ok(());
            }
        }
    }

    /// Moves out what is known of a call by this name.
    #[inline]
    fn known(&mut self, name: &[u8]) -> Option<Box<Known>> {
        let database = &self.session.state().identity.database;
        self.io.calls.take(name, database, self.settings.version)
    }

    /// Runs a call of which all is known, if it is the same for this session and its parameters are
    /// those of the known call. `None` if it has to take the general path; then nothing has been read.
    fn call_known(
        &mut self,
        known: Box<Known>,
        reader: &mut RpcReader<'_>,
        progress: &mut Progress,
    ) -> Result<Option<Sent>, ProtocolError> {
        let Some(mut entered) = self.session.enter_known(&known.call) else {
            self.io.calls.keep(known);
            return Ok(None);
        };
        let begun = reader.clone();
        match known.read(reader, &mut entered) {
            Ok(true) => {
                let more = reader.has_more_calls();
                let Parts { session, mut sink, .. } = self.parts_of(progress, &known.returns);
                let sent = session.call_known(&known.call, entered, more, &mut sink);
                self.io.calls.put_back(known);
                Ok(Some(sent))
            }
            other => {
                self.session.leave_known(&known.call, entered);
                self.io.calls.keep(known);
                *reader = begun;
                other.map(|_| None)
            }
        }
    }

    /// Works out the call that has just run, whose parameters begin at `reader`.
    #[cold]
    fn learn(&mut self, name: &[u8], reader: RpcReader<'_>, count: usize) {
        let Io { calls, parameters, text, .. } = &mut *self.io;
        let text = decoded(name, text);
        let of = (&*self.session, self.settings.version);
        calls.learn((name, text), of, reader, &parameters[..count]);
    }

    fn transaction(&mut self, action: &TransactionAction<'_>, progress: &mut Progress) {
        let name_of = |name: &[u8]| utf16::to_string(name);
        match action {
            TransactionAction::Begin(begin) => {
                let name = name_of(&begin.name);
                self.manage(TransactionRequest::Begin(isolation(begin.isolation), &name), progress);
            }
            TransactionAction::Commit { then, .. } => {
                let next = then.as_ref().map(|begin| name_of(&begin.name)).unwrap_or_default();
                let then = begin_next(then.as_ref(), &next);
                self.manage(TransactionRequest::Commit(then), progress);
            }
            TransactionAction::Rollback { name, then } => {
                let next = then.as_ref().map(|begin| name_of(&begin.name)).unwrap_or_default();
                let then = begin_next(then.as_ref(), &next);
                let name = name_of(name);
                self.manage(TransactionRequest::Rollback(&name, then), progress);
            }
            TransactionAction::Save(name) => {
                let name = name_of(name);
                self.manage(TransactionRequest::Save(&name), progress);
            }
            // Leaving a distributed transaction succeeds if the session is in none.
            TransactionAction::Propagate(buffer) if buffer.is_empty() => {
                let Parts { mut sink, .. } = self.parts(progress);
                let _ = sink.done(Done { error: false, ..failure() });
            }
            TransactionAction::Propagate(_)
            | TransactionAction::GetDtcAddress
            | TransactionAction::Promote => {
                self.fail(&Msg::NotSupported("distributed transactions").into(), progress);
            }
        }
    }

    fn manage(&mut self, request: TransactionRequest<'_>, progress: &mut Progress) {
        let Parts { session, mut sink, .. } = self.parts(progress);
        let _ = session.transaction(request, &mut sink);
    }

    /// Loads the rows, or answers with the error of reading them.
    pub(super) fn bulk_load(
        &mut self,
        columns: &[BulkColumn],
        rows: Result<Vec<Vec<Value>>, Error>,
        progress: &mut Progress,
    ) {
        let columns: Vec<ColumnInfo> = columns
            .iter()
            .map(|column| ColumnInfo {
                name: column.name.as_str().into(),
                column_type: column.column_type,
                traits: Traits::default(),
                updatable: true,
            })
            .collect();
        let Parts { session, mut sink, .. } = self.parts(progress);
        let _ = match rows {
            Ok(rows) => session.bulk_load(&columns, &mut rows.into_iter().map(Ok), &mut sink),
            Err(error) => session.bulk_load(&columns, &mut iter::once(Err(error)), &mut sink),
        };
    }
}

/// Returns the final DONE of a request that failed before it reached the session.
const fn failure() -> Done {
    Done {
        kind: DoneKind::Done,
        command: engine::sink::Command::NONE,
        rows: None,
        error: true,
        more: false,
    }
}

/// Decodes UTF-16LE into a reused buffer.
fn decoded<'a>(utf16: &[u8], buffer: &'a mut Vec<u8>) -> &'a str {
    buffer.clear();
    utf16::append_utf8(utf16, buffer);
    std::str::from_utf8(buffer).expect("it has just been encoded")
}

/// Reads a call's parameters into reused slots; returns how many there are.
fn read_parameters(
    reader: &mut RpcReader<'_>,
    slots: &mut Vec<RpcParameter>,
    (names, heads): (&mut Names, &mut Heads),
) -> Result<usize, ProtocolError> {
    names.clear();
    let mut count = 0;
    loop {
        if let Some(known) = heads.get(count)
            && let Some(slot) = slots.get_mut(count)
            && let Some(value) = reader.next_value(&known.head)?
        {
            names.push(known.head.name(), known.head.numeric());
            known.fill(slot, value);
            count += 1;
            continue;
        }
        let head = heads.wants(count).then(|| reader.next_head()).flatten();
        let Some(parameter) = reader.next_parameter()? else { return Ok(count) };
        heads.miss(count);
        if count == slots.len() {
            slots.push(empty_slot());
        }
        let slot = &mut slots[count];
        names.push(&parameter.name, parameter.numeric);
        fill(slot, parameter);
        if let Some(head) = head {
            heads.learn(count, head, &slot.name);
        }
        count += 1;
    }
}

/// Moves a parameter into its slot.
fn fill(slot: &mut RpcParameter, parameter: tds::RpcParameter<'_>) {
    // A repeated call has the same names, which are in the slots already.
    if !utf16::is_ascii_text(&parameter.name, &slot.name) {
        slot.name.clear();
        slot.name.extend(
            char::decode_utf16(utf16::units(&parameter.name))
                .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)),
        );
    }
    slot.ty = parameter.column_type;
    slot.output = parameter.is_output;
    slot.default = false;
    slot.table = None;
    match parameter.value {
        ParameterValue::Value(value) => slot.value = value,
        ParameterValue::Default => slot.default = true,
        ParameterValue::Table(table) => slot.table = Some(Box::new(table_parameter(*table))),
    }
}

/// Drops values, which may be large; the slots keep the memory of names.
fn forget_values(parameters: &mut [RpcParameter]) {
    for parameter in parameters {
        parameter.value = Value::Null;
        parameter.table = None;
    }
}

fn empty_slot() -> RpcParameter {
    let ty =
        ColumnType { data_type: DataType::Int, collation: Collation::default(), nullable: true };
    let name = String::new();
    RpcParameter { name, ty, value: Value::Null, output: false, default: false, table: None }
}

fn table_parameter(table: TableValue) -> TableParameter {
    let rows = table.rows().map(<[Value]>::to_vec).collect();
    let of = |column: &tds::tvp::TableColumn| (!column.is_default).then_some(column.column_type);
    let columns = table.columns.iter().map(of).collect();
    TableParameter { type_name: (table.schema, table.name), columns, rows }
}

fn begin_next<'a>(begin: Option<&Begin<'_>>, name: &'a str) -> Option<BeginNext<'a>> {
    begin.map(|begin| BeginNext { isolation: isolation(begin.isolation), name })
}

const fn isolation(level: WireIsolation) -> Option<IsolationLevel> {
    match level {
        WireIsolation::Unchanged => None,
        WireIsolation::ReadUncommitted => Some(IsolationLevel::ReadUncommitted),
        WireIsolation::ReadCommitted => Some(IsolationLevel::ReadCommitted),
        WireIsolation::RepeatableRead => Some(IsolationLevel::RepeatableRead),
        WireIsolation::Serializable => Some(IsolationLevel::Serializable),
        WireIsolation::Snapshot => Some(IsolationLevel::Snapshot),
    }
}
