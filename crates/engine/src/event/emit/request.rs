//! Requests begin and end: rpc_starting and rpc_completed, sql_batch_starting and sql_batch_completed,
//! attention. A batch that announces a bulk load ends when the rows have been loaded.

use std::fmt::Write;

use sos::xe::{self, Value};
use types::value::ColumnType;
use types::{DataType, Mode, Value as Sql};

use super::{Begun, us};
use crate::event::context::{self, fire, fire_of};
use crate::event::list::{
    ATTENTION, RPC_COMPLETED, RPC_STARTING, SQL_BATCH_COMPLETED, SQL_BATCH_STARTING,
};
use crate::exec::run::Stop;
use crate::session::deferred::Output;
use crate::session::{Reset, Rpc, RpcTarget, SessionState};

/// Characters of a value in the text of a call at most.
const VALUE_MAX: usize = 4_000;

/// Bytes of the text of a usual call.
const CALL_BYTES: usize = 256;

/// How a request ended, by the map's keys.
const OK: u32 = 0;
const ERROR: u32 = 1;
const ABORT: u32 = 2;

/// A batch that is watched.
pub(crate) struct Batch {
    context: bool,
    begun: Option<Begun>,
}

/// Notes that a batch begins.
#[inline]
pub(crate) fn batch_starting(session: &SessionState, text: &str) -> Batch {
    let context = context::begin(session, || text.to_owned());
    if xe::enabled(&SQL_BATCH_STARTING) {
        fire_of(session, text, &SQL_BATCH_STARTING, &[Value::Text(text)]);
    }
    Batch { context, begun: xe::enabled(&SQL_BATCH_COMPLETED).then(Begun::now) }
}

/// Notes that a batch has ended.
#[inline]
pub(crate) fn batch_completed(
    session: &SessionState,
    batch: Batch,
    text: &str,
    outcome: &Result<(), Stop>,
) {
    if let Some(begun) = batch.begun {
        complete(session, begun.spent_us(), text, result(session, outcome));
    }
    context::end(batch.context);
}

#[cold]
fn complete(session: &SessionState, (duration, cpu): (u64, u64), text: &str, result: u32) {
    let none = Value::UInt(0);
    let values = [
        Value::UInt(cpu),
        Value::UInt(duration),
        none,
        none,
        none,
        none,
        none,
        Value::UInt(session.row_count),
        Value::Map(result),
        Value::Text(text),
    ];
    fire_of(session, text, &SQL_BATCH_COMPLETED, &values);
}

/// A batch that has announced a bulk load, where anybody wants to know of its end.
pub(crate) struct Announced {
    text: String,
    /// When it began, and the CPU time that it has taken.
    began: u64,
    cpu_us: u64,
}

/// Notes that a batch has announced a bulk load: its end is that of the load.
pub(crate) fn batch_suspended(batch: Batch, text: &str) -> Option<Announced> {
    context::end(batch.context);
    let begun = batch.begun?;
    Some(Announced { text: text.to_owned(), began: begun.ticks, cpu_us: begun.spent_us().1 })
}

/// A bulk load that is watched.
pub(crate) struct Load {
    context: bool,
    watched: Option<(Announced, Begun)>,
}

/// Notes that the rows of a bulk load come.
#[inline]
pub(crate) fn batch_resumed(session: &SessionState, announced: Option<Announced>) -> Load {
    let text = || announced.as_ref().map(|announced| announced.text.clone()).unwrap_or_default();
    let context = context::begin(session, text);
    Load { context, watched: announced.map(|announced| (announced, Begun::now())) }
}

/// Notes that the rows of a bulk load have been loaded, and with that that the batch has ended.
#[inline]
pub(crate) fn bulk_completed(session: &SessionState, load: Load, outcome: &Result<(), Stop>) {
    if let Some((announced, begun)) = load.watched {
        let cpu = announced.cpu_us.saturating_add(begun.spent_us().1);
        end_announced(session, &announced, cpu, result(session, outcome));
    }
    context::end(load.context);
}

/// Notes that the rows of a bulk load will not come: the client does something else.
#[cold]
pub(crate) fn batch_given_up(session: &SessionState, announced: Announced) {
    end_announced(session, &announced, announced.cpu_us, ABORT);
}

fn end_announced(session: &SessionState, announced: &Announced, cpu: u64, result: u32) {
    if xe::enabled(&SQL_BATCH_COMPLETED) {
        let duration = us(sos::clock::now_ticks().saturating_sub(announced.began));
        complete(session, (duration, cpu), &announced.text, result);
    }
}

pub(super) fn result(session: &SessionState, outcome: &Result<(), Stop>) -> u32 {
    match outcome {
        Err(Stop::Cancelled | Stop::Disconnected) => ABORT,
        Err(_) => ERROR,
        Ok(()) if session.last_error != 0 => ERROR,
        Ok(()) => OK,
    }
}

/// A call that is watched.
pub(crate) struct Call<'a> {
    context: bool,
    watched: Option<Watched<'a>>,
}

struct Watched<'a> {
    begun: Begun,
    name: String,
    text: String,
    /// The call as it came.
    stream: Option<&'a [u8]>,
}

impl Call<'_> {
    /// Tells whether what comes back in OUTPUT parameters is to be kept for the call's end.
    pub(crate) fn asks_for_outputs(&self) -> bool {
        self.watched.is_some() && context::wants_output_parameters()
    }
}

/// Notes that a call begins. Its text is made before the values are taken out of it.
#[inline]
pub(crate) fn rpc_starting<'a>(session: &SessionState, rpc: &Rpc<'a>) -> Call<'a> {
    let is_watched = xe::enabled(&RPC_STARTING) || xe::enabled(&RPC_COMPLETED);
    let watched = is_watched.then(|| watch(session, rpc));
    let context = context::begin(session, || match &watched {
        Some(watched) => watched.text.clone(),
        None => statement(session, &name_of(rpc), rpc),
    });
    if let Some(Watched { name, text, stream, .. }) = &watched
        && xe::enabled(&RPC_STARTING)
    {
        let reset = Value::Map(session.pooled.reset);
        let values = [reset, Value::Text(name), Value::Text(text), bytes_of(*stream)];
        fire(session, &RPC_STARTING, &values);
    }
    Call { context, watched }
}

#[cold]
fn watch<'a>(session: &SessionState, rpc: &Rpc<'a>) -> Watched<'a> {
    let name = name_of(rpc);
    let text = statement(session, &name, rpc);
    Watched { begun: Begun::now(), name, text, stream: rpc.stream }
}

fn bytes_of(stream: Option<&[u8]>) -> Value<'_> {
    stream.map_or(Value::Null, Value::Bytes)
}

/// Notes that a call has ended; with what came back in OUTPUT parameters, if that was kept.
#[inline]
pub(crate) fn rpc_completed(
    session: &SessionState,
    call: Call<'_>,
    outputs: Option<&[Output]>,
    outcome: &Result<(), Stop>,
) {
    if let Some(Watched { begun, name, text, stream }) = &call.watched
        && xe::enabled(&RPC_COMPLETED)
    {
        let (duration, cpu) = begun.spent_us();
        let outputs = outputs.map(|outputs| given_back(session, outputs));
        let none = Value::UInt(0);
        let values = [
            Value::UInt(cpu),
            Value::UInt(duration),
            none,
            none,
            none,
            none,
            none,
            Value::Map(result(session, outcome)),
            Value::UInt(session.row_count),
            Value::Map(session.pooled.reset),
            Value::Text(name),
            Value::Text(text),
            bytes_of(*stream),
            outputs.as_deref().map_or(Value::Null, Value::Text),
        ];
        fire(session, &RPC_COMPLETED, &values);
    }
    context::end(call.context);
}

/// What came back in OUTPUT parameters, as a call has its parameters: `@a=1,@b=N'x'`.
fn given_back(session: &SessionState, outputs: &[Output]) -> String {
    let mut text = String::new();
    for (place, output) in outputs.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        if !output.name.is_empty() {
            text.push_str(&output.name);
            text.push('=');
        }
        put(&output.value, &output.ty, session, &mut text);
    }
    text
}

/// The key of a reset in the map.
pub(crate) fn reset_key(reset: Reset) -> u32 {
    match reset {
        Reset::All => 1,
        Reset::KeepTransaction => 2,
    }
}

fn name_of(rpc: &Rpc<'_>) -> String {
    match rpc.target {
        RpcTarget::Name(name) => name.to_owned(),
        RpcTarget::Id(id) => match crate::proc::find_by_id(id) {
            Ok(system) => system.name.to_owned(),
            Err(_) => format!("ProcID {id}"),
        },
    }
}

/// The call as a statement: `exec dbo.p @a=1,@b=N'x'`.
fn statement(session: &SessionState, name: &str, rpc: &Rpc<'_>) -> String {
    let mut text = String::with_capacity(CALL_BYTES);
    text.push_str("exec ");
    text.push_str(name);
    for (place, parameter) in rpc.parameters.iter().enumerate() {
        text.push(if place == 0 { ' ' } else { ',' });
        if !parameter.name.is_empty() {
            text.push_str(&parameter.name);
            text.push('=');
        }
        match (&parameter.table, parameter.default) {
            (Some(table), _) => {
                let (schema, of) = &table.type_name;
                let _ = write!(text, "{schema}.{of} ({} rows)", table.rows.len());
            }
            (None, true) => text.push_str("default"),
            (None, false) => put(&parameter.value, &parameter.ty, session, &mut text),
        }
        if parameter.output {
            text.push_str(" output");
        }
    }
    text
}

/// Writes a value as a literal.
fn put(value: &Sql, ty: &ColumnType, session: &SessionState, text: &mut String) {
    // Nothing fails to be written to a text.
    let _ = match value {
        Sql::Null => text.write_str("NULL"),
        Sql::Bit(value) => write!(text, "{}", u8::from(*value)),
        Sql::TinyInt(value) => write!(text, "{value}"),
        Sql::SmallInt(value) => write!(text, "{value}"),
        Sql::Int(value) => write!(text, "{value}"),
        Sql::BigInt(value) => write!(text, "{value}"),
        Sql::Real(value) => write!(text, "{value:e}"),
        Sql::Float(value) => write!(text, "{value:e}"),
        Sql::VarBinary(bytes) => {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            let digit = |four: u8| char::from(DIGITS[usize::from(four)]);
            text.push_str("0x");
            text.extend(bytes.iter().take(VALUE_MAX).flat_map(|b| [digit(b >> 4), digit(b & 15)]));
            Ok(())
        }
        other => {
            let national = matches!(
                ty.data_type,
                DataType::NChar(_) | DataType::NVarChar(_) | DataType::NText
            );
            text.push_str(if national { "N'" } else { "'" });
            let shown = text_of(other, ty, session);
            if shown.len() <= VALUE_MAX && !shown.contains('\'') {
                text.push_str(&shown);
            } else {
                for letter in shown.chars().take(VALUE_MAX) {
                    if letter == '\'' {
                        text.push('\'');
                    }
                    text.push(letter);
                }
            }
            text.write_str("'")
        }
    };
}

/// The text of a value that is no number.
fn text_of(value: &Sql, ty: &ColumnType, session: &SessionState) -> String {
    if let Some(text) = value.as_text(ty.collation) {
        return text;
    }
    let to = crate::exec::run::text_type(ty.collation);
    let options = session.convert_options();
    let converted = types::convert(value, ty, &to, 0, Mode::Explicit, &options);
    converted.ok().and_then(|text| text.as_text(to.collation)).unwrap_or_default()
}

/// Notes that a client has cancelled what it had asked for.
pub(crate) fn attention(session: &SessionState) {
    if xe::enabled(&ATTENTION) {
        let since = sos::clock::now_ticks().saturating_sub(session.meter.live().started());
        fire(session, &ATTENTION, &[Value::UInt(us(since)), Value::UInt(0)]);
    }
}
