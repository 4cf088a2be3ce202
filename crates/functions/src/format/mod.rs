//! FORMAT, PARSE and TRY_PARSE: values as text by .NET's format strings and cultures, and back.
//!
//! `culture.rs` holds the formats of each culture; `number.rs` and `picture.rs` write numbers,
//! `moment.rs` writes dates and times, `parse.rs` reads them.

#![expect(clippy::ptr_arg, reason = "binders share a signature, and some add arguments")]

mod culture;
mod moment;
mod number;
mod parse;
mod picture;

use culture::Culture;
use moment::MomentKind;
use types::date::Moment;
use types::value::ColumnType;
use types::{DataType, Error, Family, Language, Length, Msg, Result, Value};

use crate::entry::{convert, lookup, of, text};
use crate::{Call, Function};
use plan::expr::{Expr, ExprKind};
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[
    lookup("FORMAT", (2, 3), bind_format, eval_format),
    // No text can name these: the binder makes them of PARSE(x AS t) and TRY_PARSE(x AS t).
    lookup("PARSE AS", (2, 2), bind_nothing, eval_parse),
    lookup("TRY_PARSE AS", (2, 2), bind_nothing, |cx, c, v| {
        eval_parse(cx, c, v).or_else(|e| if e.number == 9819 { Ok(Value::Null) } else { Err(e) })
    }),
];

fn bind_format(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let ty = arguments[0].ty.data_type;
    let fits = ty.is_numeric() || ty.family() == Family::DateTime;
    if (!fits || ty == DataType::Bit) && !arguments[0].is_null_literal() {
        return Err(Msg::InvalidArgumentType(ty.name(), 1, "format").into());
    }
    convert(arguments, 1, DataType::NVarChar(Length::Limited(4_000)))?;
    convert(arguments, 2, DataType::NVarChar(Length::Limited(4_000)))?;
    Ok(of(DataType::NVarChar(Length::Limited(4_000))))
}

/// Returns the named culture; without a name, that of the session's language.
fn culture_of(name: Option<&str>, language: Language) -> Result<&'static Culture> {
    let name = name.unwrap_or_else(|| language.culture());
    culture::find(name).ok_or_else(|| Error::from(Msg::CultureNotSupported(name)))
}

/// Bytes of the longest format.
const FORMAT_BYTES_MAX: usize = 2 * 4_000;

/// NULL for a format that the value's type does not have, as documented.
fn eval_format(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let language = cx.convert_options().language;
    let culture = culture_of(text(call, values, 2)?.as_deref(), language)?;
    let format = match values[1].string_bytes() {
        // The parameter is an `nvarchar(4000)`.
        Some(bytes) if bytes.len() > FORMAT_BYTES_MAX => {
            types::text::from_utf16(&bytes[..FORMAT_BYTES_MAX])
        }
        _ => text(call, values, 1)?.unwrap_or_default(),
    };
    let formatted = match (number::Digits::of(&values[0]), Moment::from_value(&values[0])) {
        (Some(digits), _) => number::format(&digits, &format, culture),
        (None, Some(at)) => {
            let kind = match values[0] {
                Value::Time(_) => MomentKind::Time,
                Value::DateTimeOffset { .. } => MomentKind::Offset,
                _ => MomentKind::Date,
            };
            moment::format(at, kind, &format, culture)
        }
        (None, None) => None,
    };
    Ok(formatted.map_or(Value::Null, |text| Value::nvarchar(&text)))
}

fn bind_nothing(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Err(Msg::InternalError.into())
}

/// Binds `PARSE(text AS type [USING culture])`.
///
/// # Errors
/// 8116 for an argument that is not text, 529 for a type that text cannot be parsed to.
pub fn bind_parse(
    value: Expr,
    culture: Option<Expr>,
    target: ColumnType,
    name: &str,
) -> Result<Expr> {
    let from = value.ty.data_type;
    if !from.is_string() && !value.is_null_literal() {
        return Err(Msg::InvalidArgumentType(from.name(), 1, "parse").into());
    }
    let to = target.data_type;
    let fits = (to.is_numeric() && to != DataType::Bit) || to.family() == Family::DateTime;
    if !fits {
        return Err(Msg::ExplicitNotAllowed(from.name(), to.name()).into());
    }
    let none = Expr::constant(Value::nvarchar(""), DataType::NVarChar(Length::Limited(1)));
    let mut arguments = vec![value, culture.unwrap_or(none)];
    convert(&mut arguments, 0, DataType::NVarChar(Length::Limited(4_000)))?;
    convert(&mut arguments, 1, DataType::NVarChar(Length::Limited(128)))?;
    let Some(function) = super::find(name) else { return Err(Msg::InternalError.into()) };
    let ty = ColumnType { nullable: true, ..target };
    Ok(Expr::new(ExprKind::Call(function, arguments.into()), ty))
}

fn eval_parse(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let written = text(call, values, 0)?.unwrap_or_default();
    let name = text(call, values, 1)?.unwrap_or_default();
    let language = cx.convert_options().language;
    let culture = culture_of(Some(name.as_str()).filter(|name| !name.is_empty()), language)?;
    parse::parse(&written, call.ty, culture).ok_or_else(|| {
        let of = call.ty.data_type.name();
        Error::from(Msg::ParseFailed(&written, of, &name))
    })
}
