//! Functions over sets of characters: TRIM, LTRIM, RTRIM and TRANSLATE.
//!
//! A character is one of the code page, or one UTF-16 unit or a pair of them with `_SC`. Characters that are equal in the
//! collation are treated as the same.

use types::text::{TrimSide, Width};
use types::value::ColumnType;
use types::{Bytes, Collation, DataType, Error, Length, Mode, Msg, Result, Value};

use crate::entry::{pure, whole};
use crate::{Call, Collating, Function, pieces};
use plan::convert::convert_to;
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[
    pure("LTRIM", (1, 2), bind_trim, |_, c, v| trim(c, &v[0], v.get(1), TrimSide::Left))
        .collating(Collating::Compare),
    pure("RTRIM", (1, 2), bind_trim, |_, c, v| trim(c, &v[0], v.get(1), TrimSide::Right))
        .collating(Collating::Compare),
    pure("TRIM", (1, 2), bind_trim_from, eval_trim).collating(Collating::Compare),
    pure("TRANSLATE", (3, 3), bind_translate, eval_translate).collating(Collating::Compare),
];

/// Converts arguments to strings of one encoding.
fn to_text(arguments: &mut [Expr], texts: &[usize]) -> Result<()> {
    let wide = texts.iter().any(|place| {
        let ty = arguments[*place].ty.data_type;
        ty.is_unicode() || ty == DataType::SqlVariant
    });
    for place in texts {
        let own = arguments[*place].ty;
        let length = own.data_type.length().filter(|_| own.data_type.is_string());
        let data_type = match (wide, length) {
            (true, Some(Length::Limited(n))) => DataType::NVarChar(Length::Limited(n.min(4_000))),
            (false, Some(Length::Limited(n))) => DataType::VarChar(Length::Limited(n)),
            (true, None) => DataType::NVarChar(Length::Limited(4_000)),
            (false, None) if !own.data_type.is_large() => DataType::VarChar(Length::Limited(8_000)),
            (true, Some(Length::Max)) => DataType::NVarChar(Length::Max),
            (false, _) => DataType::VarChar(Length::Max),
        };
        let taken =
            std::mem::replace(&mut arguments[*place], Expr::constant(Value::Null, DataType::Int));
        let ty = ColumnType { data_type, nullable: true, ..own };
        arguments[*place] = convert_to(taken, &ty, Mode::Implicit)?;
        arguments[*place].ty.data_type = data_type;
    }
    Ok(())
}

/// Binds `LTRIM(text [, characters])` and RTRIM.
fn bind_trim(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let places: Vec<usize> = (0..arguments.len()).collect();
    to_text(arguments, &places)?;
    Ok(ColumnType { nullable: true, ..arguments[0].ty })
}

/// Binds `TRIM(text)`, or the side as a number, the characters and the text.
fn bind_trim_from(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    if let [_, _, _] = arguments.as_slice() {
        to_text(arguments, &[1, 2])?;
        return Ok(ColumnType { nullable: true, ..arguments[2].ty });
    }
    to_text(arguments, &[0])?;
    Ok(ColumnType { nullable: true, ..arguments[0].ty })
}

fn eval_trim(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let [_, characters, text] = values else {
        return trim(call, &values[0], None, TrimSide::Both);
    };
    let side = match whole(values, 0) {
        Some(1) => TrimSide::Left,
        Some(2) => TrimSide::Right,
        _ => TrimSide::Both,
    };
    trim(call, text, Some(characters), side)
}

/// Splits a string into its characters.
fn split(value: &Value, collation: Collation) -> Vec<&[u8]> {
    let bytes = value.string_bytes().unwrap_or_default();
    Width::of(value, collation).split(bytes).collect()
}

fn trim(
    call: &Call<'_>,
    text: &Value,
    characters: Option<&Value>,
    side: TrimSide,
) -> Result<Value> {
    let Some(characters) = characters else { return Ok(pieces::trim(text, side)) };
    let collation = call.ty.collation;
    // Each character once: there are few, however long the string is.
    let mut cut = Vec::new();
    for piece in pieces::pieces(characters, collation) {
        cut.extend(collation.character_weights(&piece));
        cut.sort_unstable();
        cut.dedup();
    }
    let compared = pieces::weights(text, collation)?;
    let mut pace = sos::sched::Pace::new();
    let mut is_cut = |weight: &&u64| {
        pace.tick();
        cut.binary_search(weight).is_ok()
    };
    let total = compared.len();
    let start = match side {
        TrimSide::Right => 0,
        TrimSide::Left | TrimSide::Both => compared.iter().take_while(&mut is_cut).count(),
    };
    let end = match side {
        TrimSide::Left => total,
        TrimSide::Right | TrimSide::Both => {
            total - compared[start..].iter().rev().take_while(&mut is_cut).count()
        }
    };
    let bytes = text.string_bytes().unwrap_or_default();
    let width = Width::of(text, collation);
    let from = pieces::offset(width, bytes, start);
    let to = from + pieces::offset(width, &bytes[from..], end - start);
    Ok(text.with_bytes(pieces::copied(&bytes[from..to])))
}

fn bind_translate(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    to_text(arguments, &[0, 1, 2])?;
    Ok(ColumnType { nullable: true, ..arguments[0].ty })
}

/// Replaces each character of the second argument by the one at the same position in the third.
fn eval_translate(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let collation = call.ty.collation;
    let (from, to) = (pieces::weights(&values[1], collation)?, split(&values[2], collation));
    if from.len() != to.len() {
        let state = if matches!(values[0], Value::NVarChar(_)) { 3 } else { 1 };
        return Err(Error::from(Msg::TranslateLengths).with_state(state));
    }
    // Of a character that occurs twice, the first occurrence counts.
    let mut forms: Vec<(u64, &[u8])> = from.into_iter().zip(to).collect();
    forms.sort_by_key(|(from, _)| *from);
    forms.dedup_by_key(|(from, _)| *from);
    let mut out = Vec::with_capacity(values[0].string_bytes().map_or(0, <[u8]>::len));
    for piece in pieces::pieces(&values[0], collation) {
        let compared = collation.character_weights(&piece);
        for (own, form) in split(&piece, collation).into_iter().zip(compared) {
            let found = forms.binary_search_by_key(&form, |(from, _)| *from);
            out.extend_from_slice(found.map_or(own, |place| forms[place].1));
        }
    }
    Ok(values[0].with_bytes(Bytes::from(out)))
}
