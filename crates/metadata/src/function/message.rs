//! FORMATMESSAGE: returns the text that RAISERROR would send.

use types::value::ColumnType;
use types::{Collation, DataType, Length, Msg, Result, Value};

use crate::format::{format_message, user_message};
use crate::function::entry::of;
use crate::function::session::session_of;
use crate::function::{Call, Collating, Evaluate, Function};
use ::plan::expr::Expr;
use ::plan::function::Context;

pub(super) static FUNCTIONS: &[Function] = &[Function {
    name: "FORMATMESSAGE",
    arity: (1, 21),
    bind: bind_message,
    eval: Evaluate::Full(message),
    deterministic: false,
    collation: Collating::Apart,
}];

fn bind_message(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let of_format = arguments[0].ty.data_type;
    if !of_format.is_string() && !of_format.is_integer() {
        return Err(Msg::InvalidArgumentType(of_format.name(), 1, "formatmessage").into());
    }
    Ok(of(DataType::NVarChar(Length::Limited(4_000))))
}

fn message(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (format, arguments) = values.split_first().ok_or(Msg::InternalError)?;
    let collation = call.arguments.first().map_or_else(Collation::default, |a| a.ty.collation);
    // A number names a message that sp_addmessage added; NULL if there is none.
    let number = match format {
        Value::TinyInt(n) => Some(i32::from(*n)),
        Value::SmallInt(n) => Some(i32::from(*n)),
        Value::Int(n) => Some(*n),
        _ => None,
    };
    let found = match number {
        Some(number) => user_message(number, session_of(cx)).map(|message| message.text),
        None => plan::long::text(format, collation)?,
    };
    let Some(format) = found else { return Ok(Value::Null) };
    format_message(&format, arguments, session_of(cx)).map(|text| Value::nvarchar(&text))
}
