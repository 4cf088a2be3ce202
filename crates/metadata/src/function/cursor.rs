//! CURSOR_STATUS: whether a cursor exists, is open, and has rows.

use types::value::ColumnType;
use types::{DataType, Length, Result, Value};

use crate::function::entry::{convert, lookup, of, text};
use crate::function::session::{frame_of, session_of};
use crate::function::{Call, Function};
use ::plan::expr::Expr;
use ::plan::function::Context;
use ::session::cursor::Cursor;

pub(super) static FUNCTIONS: &[Function] = &[lookup("CURSOR_STATUS", (2, 2), bind, status)];

const NAME: DataType = DataType::NVarChar(Length::Limited(128));
/// The result for a cursor that does not exist.
const MISSING: i16 = -3;
/// The result for a cursor variable without a cursor.
const UNASSIGNED: i16 = -2;

fn bind(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    convert(arguments, 0, NAME)?;
    convert(arguments, 1, NAME)?;
    Ok(of(DataType::SmallInt))
}

fn status(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let kind = text(call, values, 0)?.unwrap_or_default().to_ascii_lowercase();
    let name = text(call, values, 1)?.unwrap_or_default();
    let named = |cursor: &&Cursor| cursor.is_named(&name);
    let frame = frame_of(cx);
    let held = &session_of(cx).held.cursors;
    let (found, missing) = match kind.as_str() {
        "local" => (frame.cursors.iter().find(named), MISSING),
        "variable" => {
            (frame.cursors.iter().find(named).or_else(|| frame.referred(&name, held)), UNASSIGNED)
        }
        "global" => (held.global.iter().chain(&held.api).find(named), MISSING),
        _ => return Ok(Value::Null),
    };
    Ok(Value::SmallInt(found.map_or(missing, Cursor::status)))
}
