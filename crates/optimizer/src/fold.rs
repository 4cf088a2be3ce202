//! Constant folding of dates: an expression over constant dates becomes a constant, unless it
//! depends on session settings or the clock.
//!
//! `d < DATEADD(month, 3, CAST('1994-01-01' AS date))` then bounds an index, is estimated by the
//! statistics of `d`, and cannot fail. An expression that fails is left as written, since it may
//! never be evaluated.

use types::value::ColumnType;
use types::{ConvertOptions, DataType, Family, Mode, Value, convert};

use functions::date::date_added;
use plan::expr::{Conversion, Expr, ExprKind};
use plan::walk::{self, Rewrite};

/// Folds constant dates and times in an expression.
pub(crate) fn fold(expr: &mut Expr) {
    walk::rewrite(expr, &mut |e| {
        let is_made = matches!(e.kind, ExprKind::Convert(_) | ExprKind::Call(..));
        let Some(value) = is_made.then(|| value_of(e)).flatten() else { return Rewrite::Enter };
        e.kind = ExprKind::Constant(value);
        Rewrite::Done
    });
}

/// Returns the value of a date or time that is known already.
fn value_of(expr: &Expr) -> Option<Value> {
    match &expr.kind {
        ExprKind::Constant(value) => (!value.is_null()).then(|| value.clone()),
        ExprKind::Convert(conversion) => converted(conversion, &expr.ty),
        ExprKind::Call(function, arguments) if function.name == "DATEADD" => {
            let known = arguments.iter().map(|argument| match &argument.kind {
                ExprKind::Convert(conversion) => whole(conversion, &argument.ty),
                _ => value_of(argument),
            });
            date_added(&known.collect::<Option<Vec<_>>>()?, &expr.ty.data_type).ok()
        }
        _ => None,
    }
    .filter(|value| !value.is_null())
}

/// Returns the result of converting a constant to a date or time: from another one, or from text in
/// a format that does not depend on SET DATEFORMAT.
fn converted(conversion: &Conversion, to: &ColumnType) -> Option<Value> {
    let Conversion { operand, style: None, mode: mode @ (Mode::Implicit | Mode::Explicit) } =
        conversion
    else {
        return None;
    };
    let value = value_of(operand)?;
    let has_one_meaning = match &value {
        Value::VarChar(text) => {
            is_year_month_day(text)
                && matches!(to.data_type, DataType::Date | DataType::DateTime2(_))
        }
        _ => operand.ty.data_type.family() == Family::DateTime,
    };
    let is_moment = to.data_type.family() == Family::DateTime;
    (has_one_meaning && is_moment)
        .then(|| convert(&value, &operand.ty, to, 0, *mode, &ConvertOptions::default()).ok())?
}

/// Returns the value of an argument of DATEADD: a widened number, or a date or time.
fn whole(conversion: &Conversion, to: &ColumnType) -> Option<Value> {
    match (conversion.operand.as_constant(), &to.data_type) {
        (Some(Value::Int(number)), DataType::BigInt) => Some(Value::BigInt(i64::from(*number))),
        _ => converted(conversion, to),
    }
}

/// Returns whether a text has the form `yyyy-mm-dd`.
fn is_year_month_day(text: &[u8]) -> bool {
    let is_part = |(place, byte): (usize, &u8)| match place {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() == 10 && text.iter().enumerate().all(is_part)
}
