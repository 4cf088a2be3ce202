//! TEXTPTR and TEXTVALID: pointers to values of `text`, `ntext` and `image`.

use types::value::ColumnType;
use types::{DataType, Length, Msg, Result, Value};

use crate::function::entry::{flag, int, lookup, of};
use crate::function::session::{session_mut, session_of};
use crate::function::{Call, Function};
use ::plan::expr::{Expr, ExprKind};
use ::plan::function::Context;

pub(super) static FUNCTIONS: &[Function] = &[
    lookup("TEXTPTR", (1, 1), bind_pointer, |cx, _, values| {
        Ok(Value::VarBinary(session_mut(cx).held.text_pointers.make(&values[0])))
    }),
    lookup("TEXTVALID", (2, 2), int, valid),
];

fn bind_pointer(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    if !matches!(arguments[0].kind, ExprKind::Column(_)) {
        return Err(Msg::TextPointerColumn.into());
    }
    match arguments[0].ty.data_type {
        DataType::Text | DataType::NText | DataType::Image => {
            Ok(of(DataType::VarBinary(Length::Limited(16))))
        }
        other => Err(Msg::InvalidArgumentType(other.name(), 1, "textptr").into()),
    }
}

fn valid(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let pointer = values[1].string_bytes().unwrap_or_default();
    Ok(flag(session_of(cx).held.text_pointers.find(pointer).is_some()))
}
