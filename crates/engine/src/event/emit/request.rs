//! Requests begin and end: rpc_starting and rpc_completed, sql_batch_starting and sql_batch_completed,
//! attention.

use std::fmt::Write;

use sos::xe::{self, Value};
use types::value::ColumnType;
use types::{DataType, Mode, Value as Sql};

use super::{Begun, us};
use crate::event::context::{self, fire};
use crate::event::list::{
    ATTENTION, RPC_COMPLETED, RPC_STARTING, SQL_BATCH_COMPLETED, SQL_BATCH_STARTING,
};
use crate::exec::run::Stop;
use crate::session::{Reset, Rpc, RpcTarget, SessionState};

/// Characters of a value in the text of a call at most.
const VALUE_MAX: usize = 4_000;

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
        fire(session, &SQL_BATCH_STARTING, &[Value::Text(text)]);
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
        let (duration, cpu) = begun.spent_us();
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
            Value::Map(result(session, outcome)),
            Value::Text(text),
        ];
        fire(session, &SQL_BATCH_COMPLETED, &values);
    }
    context::end(batch.context);
}

fn result(session: &SessionState, outcome: &Result<(), Stop>) -> u32 {
    match outcome {
        Err(Stop::Cancelled | Stop::Disconnected) => ABORT,
        Err(_) => ERROR,
        Ok(()) if session.last_error != 0 => ERROR,
        Ok(()) => OK,
    }
}

/// A call that is watched.
pub(crate) struct Call {
    context: bool,
    watched: Option<(Begun, String, String)>,
}

/// Notes that a call begins. Its text is made before the values are taken out of it.
#[inline]
pub(crate) fn rpc_starting(session: &SessionState, rpc: &Rpc<'_>) -> Call {
    let is_watched = xe::enabled(&RPC_STARTING) || xe::enabled(&RPC_COMPLETED);
    let watched = is_watched.then(|| watch(session, rpc));
    let context = context::begin(session, || match &watched {
        Some((_, _, text)) => text.clone(),
        None => statement(session, &name_of(rpc), rpc),
    });
    if let Some((_, name, text)) = &watched
        && xe::enabled(&RPC_STARTING)
    {
        let reset = Value::Map(session.pooled.reset);
        let values = [reset, Value::Text(name), Value::Text(text), Value::Null];
        fire(session, &RPC_STARTING, &values);
    }
    Call { context, watched }
}

#[cold]
fn watch(session: &SessionState, rpc: &Rpc<'_>) -> (Begun, String, String) {
    let name = name_of(rpc);
    let text = statement(session, &name, rpc);
    (Begun::now(), name, text)
}

/// Notes that a call has ended.
#[inline]
pub(crate) fn rpc_completed(session: &SessionState, call: Call, outcome: &Result<(), Stop>) {
    if let Some((begun, name, text)) = &call.watched
        && xe::enabled(&RPC_COMPLETED)
    {
        let (duration, cpu) = begun.spent_us();
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
            Value::Null,
            Value::Null,
        ];
        fire(session, &RPC_COMPLETED, &values);
    }
    context::end(call.context);
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
    let mut text = format!("exec {name}");
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
            text.push_str("0x");
            bytes.iter().take(VALUE_MAX).try_for_each(|byte| write!(text, "{byte:02X}"))
        }
        other => {
            let national = matches!(
                ty.data_type,
                DataType::NChar(_) | DataType::NVarChar(_) | DataType::NText
            );
            text.push_str(if national { "N'" } else { "'" });
            let shown = text_of(other, ty, session);
            for letter in shown.chars().take(VALUE_MAX) {
                if letter == '\'' {
                    text.push('\'');
                }
                text.push(letter);
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
