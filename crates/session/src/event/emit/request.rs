//! Start and end of requests: rpc_starting and rpc_completed, sql_batch_starting and
//! sql_batch_completed, attention. A batch that announces a bulk load ends when the rows are
//! loaded.

use sos::xe::{self, Value};

use super::call_text::{self, CallText};
use super::{Begun, io_values, us};
use crate::deferred::Output;
use crate::event::context::{self, fire, fire_of};
use crate::event::list::{
    ATTENTION, RPC_COMPLETED, RPC_STARTING, SQL_BATCH_COMPLETED, SQL_BATCH_STARTING,
};
use crate::stop::Stop;
use crate::{Reset, Rpc, SessionState};
use plan::stats::Io;

/// How a request ended: keys of the map.
const OK: u32 = 0;
const ERROR: u32 = 1;
const ABORT: u32 = 2;

/// A batch between its start and end events.
pub struct Batch {
    context: bool,
    begun: Option<(Begun, Io)>,
}

/// Fires sql_batch_starting, and publishes the context of the batch.
#[inline]
pub fn batch_starting(session: &SessionState, text: &str) -> Batch {
    let context = context::begin(session, || text.to_owned());
    if xe::enabled(&SQL_BATCH_STARTING) {
        fire_of(session, text, &SQL_BATCH_STARTING, &[Value::Text(text)]);
    }
    let begun = || (Begun::now(), session.accounting.meter.io());
    Batch { context, begun: xe::enabled(&SQL_BATCH_COMPLETED).then(begun) }
}

/// Fires sql_batch_completed with the duration and the result.
#[inline]
pub fn batch_completed(
    session: &SessionState,
    batch: Batch,
    text: &str,
    outcome: &Result<(), Stop>,
) {
    if let Some((begun, io)) = batch.begun {
        let (duration, cpu) = begun.spent_us();
        let io = session.accounting.meter.io() - io;
        complete(session, (duration, cpu, io), text, result(session, outcome));
    }
    context::end(batch.context);
}

#[cold]
fn complete(session: &SessionState, spent: (u64, u64, Io), text: &str, result: u32) {
    let none = Value::UInt(0);
    let (duration, cpu, io) = spent;
    let [reads, writes] = io_values(io);
    let values = [
        Value::UInt(cpu),
        Value::UInt(duration),
        none,
        none,
        reads,
        writes,
        none,
        Value::UInt(session.last.row_count),
        Value::Map(result),
        Value::Text(text),
    ];
    fire_of(session, text, &SQL_BATCH_COMPLETED, &values);
}

/// A batch that has announced a bulk load, if an event session collects its end.
pub struct Announced {
    text: String,
    /// Its start, and its CPU time so far.
    began: u64,
    cpu_us: u64,
    /// Its logical reads and writes so far.
    io: Io,
}

/// Notes that a batch has announced a bulk load: it ends with the load.
pub fn batch_suspended(session: &SessionState, batch: Batch, text: &str) -> Option<Announced> {
    context::end(batch.context);
    let (begun, io) = batch.begun?;
    let (cpu_us, io) = (begun.spent_us().1, session.accounting.meter.io() - io);
    Some(Announced { text: text.to_owned(), began: begun.ticks, cpu_us, io })
}

/// A bulk load between its start and end.
pub struct Load {
    context: bool,
    watched: Option<(Announced, Begun, Io)>,
}

/// Notes that the rows of a bulk load arrive.
#[inline]
pub fn batch_resumed(session: &SessionState, announced: Option<Announced>) -> Load {
    let text = || announced.as_ref().map(|announced| announced.text.clone()).unwrap_or_default();
    let context = context::begin(session, text);
    let io = session.accounting.meter.io();
    Load { context, watched: announced.map(|announced| (announced, Begun::now(), io)) }
}

/// Notes that the rows of a bulk load are loaded, which ends its batch.
#[inline]
pub fn bulk_completed(session: &SessionState, load: Load, outcome: &Result<(), Stop>) {
    if let Some((announced, begun, before)) = load.watched {
        let cpu = announced.cpu_us.saturating_add(begun.spent_us().1);
        let mut io = session.accounting.meter.io() - before;
        io += announced.io;
        end_announced(session, &announced, (cpu, io), result(session, outcome));
    }
    context::end(load.context);
}

/// Ends the batch of a bulk load whose client does something else instead.
#[cold]
pub fn batch_given_up(session: &SessionState, announced: Announced) {
    end_announced(session, &announced, (announced.cpu_us, announced.io), ABORT);
}

fn end_announced(session: &SessionState, announced: &Announced, (cpu, io): (u64, Io), result: u32) {
    if xe::enabled(&SQL_BATCH_COMPLETED) {
        let duration = us(sos::clock::now_ticks().saturating_sub(announced.began));
        complete(session, (duration, cpu, io), &announced.text, result);
    }
}

pub(crate) fn result(session: &SessionState, outcome: &Result<(), Stop>) -> u32 {
    match outcome {
        Err(Stop::Cancelled | Stop::Disconnected) => ABORT,
        Err(_) => ERROR,
        Ok(()) if session.last.error != 0 => ERROR,
        Ok(()) => OK,
    }
}

/// An RPC between its start and end events.
pub struct Call<'a> {
    context: bool,
    watched: Option<Watched<'a>>,
}

struct Watched<'a> {
    begun: Begun,
    io: Io,
    text: CallText,
    /// The call as received.
    stream: Option<&'a [u8]>,
}

impl Call<'_> {
    /// Returns whether OUTPUT parameters must be kept for the end event.
    pub fn asks_for_outputs(&self) -> bool {
        self.watched.is_some() && context::wants_output_parameters()
    }
}

/// Returns whether an event session collects calls or asks what a request is: then their names and
/// parameters are needed as sent.
#[inline]
pub fn watches_calls() -> bool {
    xe::enabled(&RPC_STARTING) || xe::enabled(&RPC_COMPLETED) || context::is_asked_anywhere()
}

/// Fires rpc_starting. Its text is built before the values are moved out of the call.
#[inline]
pub fn rpc_starting<'a>(session: &SessionState, rpc: &Rpc<'a>) -> Call<'a> {
    let is_watched = xe::enabled(&RPC_STARTING) || xe::enabled(&RPC_COMPLETED);
    let watched = is_watched.then(|| watch(session, rpc));
    let context = context::begin(session, || match &watched {
        Some(watched) => watched.text.to_text(),
        None => CallText::of(session, rpc).to_text(),
    });
    if let Some(Watched { text, stream, .. }) = &watched
        && xe::enabled(&RPC_STARTING)
    {
        let reset = Value::Map(session.connection.pooled.reset);
        let values = [reset, Value::Text(text.name()), text.statement(), bytes_of(*stream)];
        fire(session, &RPC_STARTING, &values);
    }
    Call { context, watched }
}

#[cold]
fn watch<'a>(session: &SessionState, rpc: &Rpc<'a>) -> Watched<'a> {
    // The last edge is the end of receiving, or of the previous call, which was measured too.
    let begun = Begun::at_edge();
    let io = session.accounting.meter.io();
    Watched { begun, io, text: CallText::of(session, rpc), stream: rpc.stream }
}

fn bytes_of(stream: Option<&[u8]>) -> Value<'_> {
    stream.map_or(Value::Null, Value::Bytes)
}

/// Fires rpc_completed, with the OUTPUT parameters if they were kept.
#[inline]
pub fn rpc_completed(
    session: &SessionState,
    call: Call<'_>,
    outputs: Option<&[Output]>,
    outcome: &Result<(), Stop>,
) {
    if let Some(Watched { begun, io, text, stream }) = &call.watched
        && xe::enabled(&RPC_COMPLETED)
    {
        let (duration, cpu) = begun.spent_us();
        let outputs = outputs.map(|outputs| call_text::given_back(session, outputs));
        let none = Value::UInt(0);
        let [reads, writes] = io_values(session.accounting.meter.io() - *io);
        let values = [
            Value::UInt(cpu),
            Value::UInt(duration),
            none,
            none,
            reads,
            writes,
            none,
            Value::Map(result(session, outcome)),
            Value::UInt(session.last.row_count),
            Value::Map(session.connection.pooled.reset),
            Value::Text(text.name()),
            text.statement(),
            bytes_of(*stream),
            outputs.as_deref().map_or(Value::Null, Value::Text),
        ];
        fire(session, &RPC_COMPLETED, &values);
    }
    context::end(call.context);
}

/// Returns the key of a reset in the map of resets.
pub fn reset_key(reset: Reset) -> u32 {
    match reset {
        Reset::All => 1,
        Reset::KeepTransaction => 2,
    }
}

/// Fires attention: the client has cancelled its request.
pub fn attention(session: &SessionState) {
    if xe::enabled(&ATTENTION) {
        let since =
            sos::clock::now_ticks().saturating_sub(session.accounting.meter.live().started());
        fire(session, &ATTENTION, &[Value::UInt(us(since)), Value::UInt(0)]);
    }
}
