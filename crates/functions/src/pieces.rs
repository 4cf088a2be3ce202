//! Work on long strings, a piece at a time: other requests run between two pieces.

use types::convert::Pause;
use types::text::{self, LetterCase, PIECE_BYTES, TrimSide, Width};
use types::{Bytes, Collation, Result, Value};

use plan::long;

/// What code without schedulers calls in the middle of long work.
pub(crate) const PAUSE: Pause = long::PAUSE;

pub(crate) use plan::long::pause;

/// Returns the width by which a string is cut into pieces: pairs of surrogates stay together.
fn cut(value: &Value, collation: Collation) -> Width {
    match value {
        Value::NVarChar(_) => Width::Pairs,
        _ => Width::of(value, collation),
    }
}

/// Returns the pieces of a string as values of its type.
pub(crate) fn pieces(value: &Value, collation: Collation) -> impl Iterator<Item = Value> + '_ {
    let bytes = value.string_bytes().unwrap_or_default();
    // Those of a function that is cancelled end early: its result is not used.
    let goes_on = |(place, _): &(usize, &[u8])| {
        if *place > 0 {
            pause();
        }
        *place == 0 || !long::is_cancelled()
    };
    cut(value, collation)
        .pieces(bytes)
        .enumerate()
        .take_while(goes_on)
        .map(|(_, piece)| value.with_bytes(Bytes::copy_from(piece)))
}

/// Returns whether a string is worked on in pieces.
fn is_long(value: &Value) -> bool {
    value.string_bytes().is_some_and(|bytes| bytes.len() > PIECE_BYTES)
}

/// Returns the place in bytes of a character, as [`Width::offset`] does; any place before it once the
/// statement is cancelled.
pub(crate) fn offset(width: Width, bytes: &[u8], count: usize) -> usize {
    // Few characters take less time than counting those of a piece.
    let is_short = bytes.len() <= PIECE_BYTES || count <= PIECE_BYTES / 4;
    if is_short || matches!(width, Width::Fixed(_)) {
        return width.offset(bytes, count);
    }
    let (mut place, mut left) = (0, count);
    for piece in width.pieces(bytes) {
        let characters = width.count(piece);
        if characters >= left {
            return place + width.offset(piece, left);
        }
        (place, left) = (place + piece.len(), left - characters);
        if !long::pause_and_look() {
            break;
        }
    }
    place
}

/// Returns the number of characters of a string, as [`Width::count`] does; fewer once the statement is
/// cancelled.
pub(crate) fn count(width: Width, bytes: &[u8]) -> usize {
    if bytes.len() <= PIECE_BYTES || matches!(width, Width::Fixed(_)) {
        return width.count(bytes);
    }
    let pieces = width.pieces(bytes).take_while(|_| long::pause_and_look());
    let counted = pieces.map(|piece| width.count(piece));
    counted.sum()
}

/// Copies a part of a string.
pub(crate) fn copied(bytes: &[u8]) -> Bytes {
    if bytes.len() < long::LONG_BYTES { Bytes::copy_from(bytes) } else { long::join(&[bytes]) }
}

/// Returns a string without the blanks at its ends, as [`text::trim`] does.
pub(crate) fn trim(value: &Value, side: TrimSide) -> Value {
    let Some(bytes) = value.string_bytes().filter(|bytes| bytes.len() > PIECE_BYTES) else {
        return text::trim(value, side);
    };
    let (unit, blank): (usize, &[u8]) = match value {
        Value::VarChar(_) => (1, b" "),
        Value::NVarChar(_) => (2, b" \0"),
        _ => return value.clone(),
    };
    let piece_bytes = PIECE_BYTES / unit * unit;
    let is_text = |unit: &[u8]| unit != blank;
    let mut rest = bytes;
    while side != TrimSide::Right && !rest.is_empty() {
        let piece = &rest[..piece_bytes.min(rest.len())];
        match piece.chunks_exact(unit).position(is_text) {
            Some(place) => {
                rest = &rest[place * unit..];
                break;
            }
            None => rest = &rest[piece.len()..],
        }
        pause();
    }
    while side != TrimSide::Left && !rest.is_empty() {
        let start = rest.len().saturating_sub(piece_bytes);
        match rest[start..].chunks_exact(unit).rposition(is_text) {
            Some(place) => {
                rest = &rest[..start + (place + 1) * unit];
                break;
            }
            None => rest = &rest[..start],
        }
        pause();
    }
    if rest.len() == bytes.len() { value.clone() } else { value.with_bytes(copied(rest)) }
}

/// Returns LEN of a string, as [`text::len`] does.
pub(crate) fn len(value: &Value, collation: Collation) -> Option<usize> {
    if !is_long(value) {
        return text::len(value, collation);
    }
    match trim(value, TrimSide::Right) {
        Value::NVarChar(units) if collation.is_supplementary_aware() => {
            Some(count(Width::Pairs, &units))
        }
        Value::NVarChar(units) => Some(units.len() / 2),
        Value::VarChar(bytes) => Some(count(Width::of_bytes(collation), &bytes)),
        Value::VarBinary(bytes) => Some(bytes.len()),
        _ => None,
    }
}

/// Folds the case of a string.
pub(crate) fn fold(value: &Value, case: LetterCase, collation: Collation) -> Value {
    if !is_long(value) {
        return text::fold(value, case, collation);
    }
    let mut folded = Vec::with_capacity(value.string_bytes().map_or(0, <[u8]>::len));
    for piece in pieces(value, collation) {
        let piece = text::fold(&piece, case, collation);
        folded.extend_from_slice(piece.string_bytes().unwrap_or_default());
    }
    value.with_bytes(Bytes::from(folded))
}

/// Returns a number for each character of a string, as [`Collation::character_weights`] does.
///
/// # Errors
/// As [`long::ask`].
pub(crate) fn weights(value: &Value, collation: Collation) -> Result<Vec<u64>> {
    if !is_long(value) {
        return Ok(collation.character_weights(value));
    }
    let bytes = value.string_bytes().map_or(0, <[u8]>::len);
    let characters = if matches!(value, Value::NVarChar(_)) { bytes / 2 } else { bytes };
    long::ask(characters.saturating_mul(size_of::<u64>()))?;
    let mut all = Vec::with_capacity(characters);
    for piece in pieces(value, collation) {
        all.extend(collation.character_weights(&piece));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_of_a_long_string_are_cut_as_those_of_a_short_one() {
        let collation = Collation::by_name("Latin1_General_100_CI_AS_SC").unwrap();
        let blanks = " ".repeat(PIECE_BYTES + 5);
        for text in [format!("{blanks}a {blanks}"), blanks.clone(), format!("a{blanks}b")] {
            for value in [Value::nvarchar(&text), Value::varchar(&text, collation)] {
                for side in [TrimSide::Left, TrimSide::Right, TrimSide::Both] {
                    assert!(trim(&value, side) == text::trim(&value, side), "{side:?}");
                }
                assert_eq!(len(&value, collation), text::len(&value, collation));
            }
        }
    }

    #[test]
    fn a_long_string_has_the_case_and_the_weights_of_the_whole() {
        for (name, text) in [
            ("Latin1_General_100_CI_AS_SC", "aé\u{10400}ß"),
            ("Latin1_General_100_CI_AS_SC_UTF8", "aé\u{10400}ß"),
            ("Japanese_CI_AS", "a日本ｱ"),
            ("Turkish_CI_AS", "iıİI"),
        ] {
            let collation = Collation::by_name(name).unwrap();
            let long = text.repeat(PIECE_BYTES / 3);
            for value in [Value::nvarchar(&long), Value::varchar(&long, collation)] {
                assert!(pieces(&value, collation).count() > 1, "{name}");
                for case in [LetterCase::Upper, LetterCase::Lower] {
                    let whole = text::fold(&value, case, collation);
                    assert!(fold(&value, case, collation) == whole, "{name} {case:?}");
                }
                let whole = collation.character_weights(&value);
                assert!(weights(&value, collation).unwrap() == whole, "{name}");
                let (width, bytes) = (Width::of(&value, collation), value.string_bytes().unwrap());
                assert_eq!(count(width, bytes), width.count(bytes), "{name}");
                for place in [0, 1, PIECE_BYTES / 2, PIECE_BYTES + 3, bytes.len() / 2, bytes.len()]
                {
                    let whole = width.offset(bytes, place);
                    assert_eq!(offset(width, bytes, place), whole, "{name} {place}");
                }
            }
        }
    }

    #[test]
    fn counting_ends_early_where_it_is_cancelled() {
        let collation = Collation::by_name("Latin1_General_100_CI_AS_SC").unwrap();
        let value = Value::nvarchar(&"a\u{10400}".repeat(8 * PIECE_BYTES));
        let (width, bytes) = (Width::of(&value, collation), value.string_bytes().unwrap());
        let (all, cancel) = (width.count(bytes), std::sync::Arc::new(sos::park::Cancel::new()));
        let both = || (count(width, bytes), offset(width, bytes, all));
        assert_eq!(long::cancellable(&cancel, both), (all, bytes.len()));
        cancel.set();
        let (counted, place) = long::cancellable(&cancel, both);
        assert!(counted < all / 4 && place < bytes.len() / 4, "{counted} {place}");
    }
}
