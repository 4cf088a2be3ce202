//! Work on long strings, a piece at a time: other requests run between two pieces.

use types::convert::Pause;
use types::text::{self, LetterCase, PIECE_BYTES, Width};
use types::{Bytes, Collation, Result, Value};

use plan::long;

/// What code without schedulers calls in the middle of long work.
pub(crate) const PAUSE: Pause = Pause(Some(sos::sched::yield_if_quantum_due));

/// Yields if the quantum is over. For work of a piece, which takes longer than some rows do.
pub(crate) fn pause() {
    sos::sched::check_quantum_soon();
    sos::sched::yield_if_quantum_due();
}

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
    cut(value, collation).pieces(bytes).enumerate().map(|(place, piece)| {
        if place > 0 {
            pause();
        }
        value.with_bytes(Bytes::copy_from(piece))
    })
}

/// Returns whether a string is worked on in pieces.
fn is_long(value: &Value) -> bool {
    value.string_bytes().is_some_and(|bytes| bytes.len() > PIECE_BYTES)
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
            }
        }
    }
}
