//! Comparison of long strings and their sort keys, with pauses: as `order.rs` has them, a piece or some characters at a
//! time. A loop that ends early, because its statement was cancelled, returns something that the caller discards.

use std::cmp::Ordering;

use super::Collation;
use super::order::{
    Ascii, END, TrimBlanks, compare_ascii, push_ascii_case, push_ascii_weights, push_escaped,
    push_plain_ascii, push_unit, push_word_marks, trim_units, units, word_marks,
};
use super::weights::{Encoding, Rules};
use crate::pause::Watched;
use crate::text::PIECE_BYTES;

impl Collation {
    /// Compares two `varchar` values as [`Self::compare_varchar`] does.
    pub fn compare_varchar_watched(
        self,
        left: &[u8],
        right: &[u8],
        watched: &Watched<'_>,
    ) -> Ordering {
        let trim = |value| trimmed(value, <[u8]>::trim_suffix_blanks, watched);
        let (left, right) = (trim(left), trim(right));
        let place = same_pieces(left, right, watched);
        let (a, b) = (piece_at(left, place), piece_at(right, place));
        if self.is_binary() || a == b {
            return a.cmp(b);
        }
        let rules = Rules::of(self, Encoding::CodePage);
        let is_plain = rules.tailoring.is_none()
            || (rules.is_simple_in_ascii()
                && is_all(left, <[u8]>::is_ascii, watched)
                && is_all(right, <[u8]>::is_ascii, watched));
        let (a, b) = (left.iter().copied().map(u32::from), right.iter().copied().map(u32::from));
        let go_on = |_: &u32| watched.step();
        is_plain
            .then(|| compare_ascii(a.take_while(go_on), b.take_while(go_on), &rules))
            .flatten()
            .unwrap_or_else(|| self.compare_elements(left, right, Encoding::CodePage, watched))
    }

    /// Compares two `nvarchar` values as [`Self::compare_nvarchar`] does.
    pub fn compare_nvarchar_watched(
        self,
        left: &[u8],
        right: &[u8],
        watched: &Watched<'_>,
    ) -> Ordering {
        let trim = |value| trimmed(value, trim_units, watched);
        let (left, right) = (trim(left), trim(right));
        let place = same_pieces(left, right, watched);
        let (a, b) = (piece_at(left, place), piece_at(right, place));
        if a == b {
            return Ordering::Equal;
        }
        if self.is_code_point() {
            return units(a).cmp(units(b));
        }
        if self.is_binary() {
            let heads = units(left).next().cmp(&units(right).next());
            return heads.then_with(|| a.cmp(b));
        }
        let rules = Rules::of(self, Encoding::Utf16);
        let is_ascii = |piece: &[u8]| units(piece).all(|unit| unit < 0x80);
        let is_plain = rules.tailoring.is_none()
            || (rules.is_simple_in_ascii()
                && is_all(left, is_ascii, watched)
                && is_all(right, is_ascii, watched));
        let (a, b) = (units(left).map(u32::from), units(right).map(u32::from));
        let go_on = |_: &u32| watched.step();
        is_plain
            .then(|| compare_ascii(a.take_while(go_on), b.take_while(go_on), &rules))
            .flatten()
            .unwrap_or_else(|| self.compare_elements(left, right, Encoding::Utf16, watched))
    }

    fn compare_elements(
        self,
        left: &[u8],
        right: &[u8],
        encoding: Encoding,
        watched: &Watched<'_>,
    ) -> Ordering {
        self.compare_counted(left, right, encoding, || watched.step())
    }

    /// Appends the sort key of a `varchar` value, as [`Self::sort_key_varchar`] does.
    pub fn sort_key_varchar_watched(self, value: &[u8], out: &mut Vec<u8>, watched: &Watched<'_>) {
        let value = trimmed(value, <[u8]>::trim_suffix_blanks, watched);
        if self.is_binary() {
            push_each(value, out, watched);
            return out.push(END);
        }
        let characters = value.iter().copied().map(u32::from);
        let weigh = |piece: &[u8], rules: &Rules, out: &mut Vec<u8>| {
            push_ascii_weights(piece.as_chunks::<1>().0, rules, out)
        };
        self.push_long_key((value, Encoding::CodePage), characters, weigh, out, watched);
    }

    /// Appends the sort key of an `nvarchar` value, as [`Self::sort_key_nvarchar`] does.
    pub fn sort_key_nvarchar_watched(self, value: &[u8], out: &mut Vec<u8>, watched: &Watched<'_>) {
        let value = trimmed(value, trim_units, watched);
        if self.is_code_point() {
            for piece in value.chunks(PIECE_BYTES).take_while(|_| watched.piece()) {
                if !push_plain_ascii(piece, out) {
                    units(piece).for_each(|unit| push_unit(unit, out));
                }
            }
            return out.push(END);
        }
        if self.is_binary() {
            let (head, tail) = value.split_at(value.len().min(2));
            head.iter().rev().for_each(|byte| push_escaped(*byte, out));
            push_each(tail, out, watched);
            return out.push(END);
        }
        let weigh = |piece: &[u8], rules: &Rules, out: &mut Vec<u8>| {
            push_ascii_weights(piece.as_chunks::<2>().0, rules, out)
        };
        let characters = units(value).map(u32::from);
        self.push_long_key((value, Encoding::Utf16), characters, weigh, out, watched);
    }

    fn push_long_key(
        self,
        (value, encoding): (&[u8], Encoding),
        characters: impl Iterator<Item = u32> + Clone,
        weigh: impl Fn(&[u8], &Rules, &mut Vec<u8>) -> Option<Ascii>,
        out: &mut Vec<u8>,
        watched: &Watched<'_>,
    ) {
        let rules = Rules::of(self, encoding);
        let start = out.len();
        let mut found = Ascii { has_upper_case: false, has_word_marks: false };
        for piece in value.chunks(PIECE_BYTES).take_while(|_| watched.piece()) {
            let Some(own) = rules.is_simple_in_ascii().then(|| weigh(piece, &rules, out)).flatten()
            else {
                out.truncate(start);
                return self.push_counted_key(value, encoding, out, || watched.step());
            };
            found.has_upper_case |= own.has_upper_case;
            found.has_word_marks |= own.has_word_marks;
        }
        let characters = characters.take_while(|_| watched.step());
        let mut levels = 0;
        if found.has_upper_case && rules.case {
            push_ascii_case(characters.clone().filter(|c| !rules.is_word_mark(*c)), out);
            levels = 2;
        }
        if found.has_word_marks {
            push_word_marks(word_marks(characters, &rules), levels, out);
        }
        out.push(END);
    }
}

/// Appends bytes of a binary key.
fn push_each(value: &[u8], out: &mut Vec<u8>, watched: &Watched<'_>) {
    for piece in value.chunks(PIECE_BYTES).take_while(|_| watched.piece()) {
        piece.iter().for_each(|byte| push_escaped(*byte, out));
    }
}

/// Cuts blanks off the end of a string, a piece at a time; `trim` does so for a piece.
fn trimmed<'v>(value: &'v [u8], trim: impl Fn(&[u8]) -> &[u8], watched: &Watched<'_>) -> &'v [u8] {
    let mut rest = value;
    loop {
        // An even number from the start, so that no unit of two bytes is split.
        let start = rest.len().saturating_sub(1) / PIECE_BYTES * PIECE_BYTES;
        let kept = trim(&rest[start..]).len();
        rest = &rest[..start + kept];
        if kept > 0 || start == 0 || !watched.piece() {
            return rest;
        }
    }
}

/// Returns the bytes of the equal pieces with which two strings begin.
fn same_pieces(left: &[u8], right: &[u8], watched: &Watched<'_>) -> usize {
    let pairs = left.chunks_exact(PIECE_BYTES).zip(right.chunks_exact(PIECE_BYTES));
    pairs.take_while(|(a, b)| a == b && watched.piece()).count() * PIECE_BYTES
}

/// Returns the piece at a place. A piece that is shorter than others ends its string, so the first two that differ
/// compare as their strings do.
fn piece_at(value: &[u8], place: usize) -> &[u8] {
    &value[place..value.len().min(place + PIECE_BYTES)]
}

/// Returns whether all pieces of a string are of a kind.
fn is_all(value: &[u8], is: impl Fn(&[u8]) -> bool, watched: &Watched<'_>) -> bool {
    value.chunks(PIECE_BYTES).all(|piece| watched.piece() && is(piece))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{Value, compare, key};

    /// Strings that differ late, in each level, and at the ends of pieces.
    fn strings() -> Vec<String> {
        let base = "aB1,\u{c4}\u{df}".repeat(PIECE_BYTES / 5);
        let ascii = "ab-c'd ".repeat(PIECE_BYTES / 6);
        let blanks = " ".repeat(2 * PIECE_BYTES + 2);
        let mut all = Vec::new();
        for text in [base.as_str(), &ascii, &"\u{1}\u{0}z".repeat(PIECE_BYTES / 2)] {
            all.push(text.to_owned());
            all.push(format!("{text}{blanks}"));
            all.push(format!("{text}x"));
            all.push(format!("{text}X"));
            all.push(format!("{text}\u{300}"));
            all.push(text.to_uppercase());
            all.push(text.replacen('b', "bb", 1));
        }
        all.push(blanks);
        all.push(String::new());
        all
    }

    #[test]
    fn long_strings_compare_and_have_keys_as_short_ones_do() {
        for name in [
            "SQL_Latin1_General_CP1_CI_AS",
            "Latin1_General_100_CS_AS_SC",
            "Latin1_General_100_CI_AI_SC_UTF8",
            "Latin1_General_BIN",
            "Latin1_General_BIN2",
            "German_PhoneBook_CS_AS",
            "Japanese_CI_AS",
        ] {
            let collation = Collation::by_name(name).unwrap();
            let strings = strings();
            let values = strings
                .iter()
                .flat_map(|text| [Value::varchar(text, collation), Value::nvarchar(text)]);
            let values: Vec<_> = values.collect();
            let calls = Cell::new(0);
            let go_on = || {
                calls.set(calls.get() + 1);
                true
            };
            let watched = Watched::new(&go_on);
            let part = key::KeyPart { collation, direction: key::Direction::Descending };
            for (place, a) in values.iter().enumerate() {
                let (mut short, mut long) = (vec![7], vec![7]);
                key::encode_value(a, part, &mut short);
                key::encode_value_watched(a, part, &mut long, &watched);
                assert!(short == long, "{name}: key of {place}");
                // The next ones of the same type: most differ from it late only.
                for (other, b) in values.iter().enumerate().skip(place).step_by(2).take(5) {
                    let order = compare::order(a, b, collation);
                    let own = compare::order_watched(a, b, collation, &watched);
                    assert_eq!(own, order, "{name}: {place} and {other}");
                }
            }
            assert!(calls.get() > 100, "{name}: {} pauses", calls.get());
        }
    }

    #[test]
    fn a_comparison_that_is_not_wanted_ends() {
        let collation = Collation::default();
        let text = "\u{c4}b".repeat(PIECE_BYTES * 4);
        let (a, b) = (Value::nvarchar(&text), Value::nvarchar(&format!("{text}x")));
        let calls = Cell::new(0);
        let go_on = || {
            calls.set(calls.get() + 1);
            calls.get() < 20
        };
        let watched = Watched::new(&go_on);
        let _ = compare::order_watched(&a, &b, collation, &watched);
        assert!(watched.is_over());
        key::encode_value_watched(
            &a,
            key::KeyPart { collation, direction: key::Direction::Ascending },
            &mut Vec::new(),
            &watched,
        );
        assert_eq!(calls.get(), 20, "no pause after the one that ends it");
    }
}
