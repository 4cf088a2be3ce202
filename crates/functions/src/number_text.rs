//! STR: a number as text of a fixed width; STRING_ESCAPE: text with JSON's escapes.

use types::value::ColumnType;
use types::{DataType, Length, Msg, Result, Value};

use crate::entry::{convert, of, pure, text, whole};
use crate::{Call, Function, pieces};
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[
    pure("STR", (1, 3), bind_str, eval_str),
    pure("STRING_ESCAPE", (2, 2), bind_escape, eval_escape),
];

/// Default width of STR.
const WIDTH_DEFAULT: i64 = 10;
/// Longest result of STR, in characters.
const WIDTH_MAX: i64 = 8_000;
/// Maximum number of decimals of STR.
const DECIMALS_MAX: i64 = 16;

fn bind_str(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    convert(arguments, 0, DataType::Float)?;
    convert(arguments, 1, DataType::Int)?;
    convert(arguments, 2, DataType::Int)?;
    let width = match arguments.get(1).map(Expr::as_constant) {
        None => WIDTH_DEFAULT,
        Some(Some(Value::Int(n))) => i64::from(*n),
        Some(_) => WIDTH_MAX,
    };
    let width = u16::try_from(width.clamp(1, WIDTH_MAX)).unwrap_or(8_000);
    Ok(of(DataType::VarChar(Length::Limited(width))))
}

/// Right-aligns the number. Decimals that do not fit are rounded off; if the integer part does not
/// fit, the result is all asterisks.
fn eval_str(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Value::Float(number) = values[0] else { return Ok(Value::Null) };
    let given = |place, default| if values.len() > place { whole(values, place) } else { default };
    let width = given(1, Some(WIDTH_DEFAULT)).unwrap_or(-1);
    let decimals = given(2, Some(0)).unwrap_or(-1);
    let (Ok(width), Ok(decimals)) =
        (usize::try_from(width.min(WIDTH_MAX + 1)), usize::try_from(decimals.min(DECIMALS_MAX)))
    else {
        return Ok(Value::Null);
    };
    if width > 8_000 || !number.is_finite() {
        return Ok(Value::Null);
    }
    let mut field = "*".repeat(width);
    for decimals in (0..=decimals).rev() {
        let digits = format!("{:.decimals$}", rounded(number, decimals));
        if digits.len() <= width {
            field = format!("{digits:>width$}");
            break;
        }
    }
    Ok(Value::varchar(&field, call.ty.collation))
}

/// Rounds half away from zero by the number's shortest decimal digits, not by its binary value.
fn rounded(number: f64, decimals: usize) -> f64 {
    let text = format!("{number}");
    let Some((_, fraction)) = text.split_once('.') else { return number };
    let half = fraction.len() > decimals && fraction[decimals..].trim_end_matches('0') == "5";
    if !half {
        return number;
    }
    let nudged = format!("{}9", &text[..text.len()]);
    nudged.parse().unwrap_or(number)
}

fn bind_escape(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    for place in 0..2 {
        convert(arguments, place, DataType::NVarChar(Length::Max))?;
    }
    Ok(ColumnType { collation: arguments[0].ty.collation, ..of(DataType::NVarChar(Length::Max)) })
}

fn eval_escape(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let kind = text(call, values, 1)?.unwrap_or_default();
    if !kind.eq_ignore_ascii_case("json") {
        return Err(Msg::InvalidParameter(2, "string_escape").into());
    }
    let collation = call.arguments[0].ty.collation;
    let (mut all, mut out) = (Vec::new(), String::new());
    for piece in pieces::pieces(&values[0], collation) {
        out.clear();
        super::json::escape(&piece.as_text(collation).unwrap_or_default(), &mut out);
        plan::long::append(&mut all, &types::text::to_utf16(&out))?;
    }
    Ok(Value::NVarChar(all.into()))
}
