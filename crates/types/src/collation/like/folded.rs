//! LIKE over texts of single-byte characters, for a pattern that is matched against many texts.
//!
//! Each byte is folded to a class: two bytes have the same class exactly if their weights are
//! equal. A pattern is runs of class sets with `%` between them; a run has a fixed length, so its
//! leftmost match is as good as any. UTF-16 that is all ASCII is folded likewise.

use super::super::Collation;
use super::super::weights::{Characters, Encoding};
use super::{Token, matches_one, weight};
use crate::batch::ByteKind;

/// A pattern over byte classes.
#[derive(Clone, Debug)]
pub(super) struct Folded {
    /// For `varchar`; `None` for UTF-8, whose characters have several bytes.
    code_page: Option<Program>,
    /// For `nvarchar` whose units are all below 128.
    ascii: Program,
}

impl Folded {
    pub(super) fn new(tokens: &[Token], collation: Collation) -> Self {
        let is_single = collation.code_page().is_single_byte();
        Self {
            code_page: is_single.then(|| Program::new(tokens, Encoding::CodePage, collation)),
            ascii: Program::new(tokens, Encoding::Utf16, collation),
        }
    }

    /// Matches a text; `None` if it has characters of more than one byte.
    pub(super) fn matches(
        &self,
        kind: ByteKind,
        text: &[u8],
        scratch: &mut Vec<u8>,
    ) -> Option<bool> {
        scratch.clear();
        match kind {
            ByteKind::VarChar => {
                let program = self.code_page.as_ref()?;
                let len = text.iter().rposition(|b| *b != b' ').map_or(0, |last| last + 1);
                if program.is_plain {
                    return Some(program.matches(text, len));
                }
                scratch.extend(text.iter().map(|b| program.classes[usize::from(*b)]));
                Some(program.matches(scratch, len))
            }
            ByteKind::NVarChar => {
                let units = text.as_chunks::<2>().0;
                if units.iter().fold(0, |all, [low, high]| all | high | low & 0x80) != 0 {
                    return None;
                }
                scratch.extend(units.iter().map(|[b, _]| self.ascii.classes[usize::from(*b)]));
                // In `nvarchar`, trailing blanks count.
                Some(self.ascii.matches(scratch, scratch.len()))
            }
            ByteKind::VarBinary => None,
        }
    }
}

/// The class of each byte, and the runs between the `%`s.
#[derive(Clone, Debug)]
struct Program {
    classes: Box<[u8; 256]>,
    /// Whether each byte is its own class, as in a binary collation.
    is_plain: bool,
    runs: Vec<Run>,
}

/// A part of the pattern without `%`.
#[derive(Clone, Debug)]
enum Run {
    /// Each token is one class.
    Literal(Vec<u8>),
    /// Each token is a set of classes.
    Sets(Vec<[bool; 256]>),
}

impl Program {
    fn new(tokens: &[Token], encoding: Encoding, collation: Collation) -> Self {
        let weights: Vec<u64> =
            (0..=u8::MAX).map(|byte| byte_weight(byte, encoding, collation)).collect();
        let mut classes = Box::new([0; 256]);
        let mut of_class: Vec<u64> = Vec::new();
        for (class, weight) in classes.iter_mut().zip(&weights) {
            let known = of_class.iter().position(|w| w == weight).unwrap_or_else(|| {
                of_class.push(*weight);
                of_class.len() - 1
            });
            *class = u8::try_from(known).expect("256 bytes have at most 256 weights");
        }
        let is_plain = (0..=u8::MAX).eq(classes.iter().copied());
        let runs = tokens.split(|token| matches!(token, Token::AnyRun));
        Self { classes, is_plain, runs: runs.map(|run| Run::new(run, &of_class)).collect() }
    }

    /// Matches a folded text; the blanks behind `len` need not match.
    fn matches(&self, text: &[u8], len: usize) -> bool {
        let Some((first, rest)) = self.runs.split_first() else { return false };
        if !first.matches_at(text, 0) {
            return false;
        }
        let mut at = first.len();
        let Some((last, middle)) = rest.split_last() else { return at >= len };
        for run in middle {
            match run.find(text, at) {
                Some(found) => at = found + run.len(),
                None => return false,
            }
        }
        let ends = len.max(at + last.len())..=text.len();
        ends.into_iter().any(|end| last.matches_at(text, end - last.len()))
    }
}

/// Finds the leftmost place at or behind `from` where two bytes follow each other, eight places at
/// a time.
fn find_pair(text: &[u8], from: usize, [first, second]: [u8; 2]) -> Option<usize> {
    const SPREAD: u64 = 0x0101_0101_0101_0101;
    let (firsts, seconds) = (u64::from(first) * SPREAD, u64::from(second) * SPREAD);
    let word = |at: usize| text.get(at..)?.first_chunk::<8>().map(|c| u64::from_le_bytes(*c));
    let mut at = from;
    while let (Some(here), Some(next)) = (word(at), word(at + 1)) {
        let hits = zero_bytes(here ^ firsts) & zero_bytes(next ^ seconds);
        if hits != 0 {
            // The lowest byte of the word is the first; the quotient is below 8.
            return usize::try_from(hits.trailing_zeros() / 8).ok().map(|place| at + place);
        }
        at += 8;
    }
    let rest = text.get(at..)?.windows(2);
    rest.into_iter().position(|pair| pair == [first, second]).map(|place| at + place)
}

/// Returns the highest bit of each byte that is zero.
const fn zero_bytes(word: u64) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    !(((word & LOW) + LOW) | word | LOW)
}

/// Returns the weight of the character that a byte encodes.
fn byte_weight(byte: u8, encoding: Encoding, collation: Collation) -> u64 {
    let code = match encoding {
        Encoding::Utf16 => Some(u32::from(byte)),
        Encoding::CodePage => Characters::of(&[byte], encoding, collation).next(),
    };
    weight(code.unwrap_or_default(), encoding, collation)
}

impl Run {
    fn new(tokens: &[Token], of_class: &[u64]) -> Self {
        let literal = tokens.iter().map(|token| match token {
            Token::Character(weight) => {
                of_class.iter().position(|w| w == weight).and_then(|c| u8::try_from(c).ok())
            }
            _ => None,
        });
        if let Some(literal) = literal.collect() {
            return Self::Literal(literal);
        }
        let set = |token: &Token| {
            let mut set = [false; 256];
            let holds = of_class.iter().map(|weight| matches_one(token, *weight));
            set.iter_mut().zip(holds).for_each(|(member, holds)| *member = holds);
            set
        };
        Self::Sets(tokens.iter().map(set).collect())
    }

    fn len(&self) -> usize {
        match self {
            Self::Literal(classes) => classes.len(),
            Self::Sets(sets) => sets.len(),
        }
    }

    fn matches_at(&self, text: &[u8], at: usize) -> bool {
        let Some(part) = text.get(at..at + self.len()) else { return false };
        match self {
            Self::Literal(classes) => part == classes.as_slice(),
            Self::Sets(sets) => sets.iter().zip(part).all(|(set, class)| set[usize::from(*class)]),
        }
    }

    /// Finds the run's leftmost match at or behind `at`.
    fn find(&self, text: &[u8], at: usize) -> Option<usize> {
        let last = text.len().checked_sub(self.len())?;
        match self {
            Self::Literal(classes) if classes.len() > 1 => {
                let start = [classes[0], classes[1]];
                let mut from = at;
                while from <= last {
                    from = find_pair(text, from, start)?;
                    if self.matches_at(text, from) {
                        return Some(from);
                    }
                    from += 1;
                }
                None
            }
            _ => (at..=last).find(|from| self.matches_at(text, *from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::find_pair;

    #[test]
    fn pair_is_found_where_a_search_byte_by_byte_finds_it() {
        // A sample of the 3^19 texts of 19 letters: the digits of numbers in base 3, at a stride.
        for n in (0..3_u64.pow(19)).step_by(7_654_321) {
            let letter = |place: u32| b"ab\xFF"[usize::try_from(n / 3_u64.pow(place) % 3).unwrap()];
            let text: Vec<u8> = (0..19).map(letter).collect();
            for pair in [*b"ab", *b"aa", *b"b\xFF", *b"\xFFa", *b"zz"] {
                for from in 0..=text.len() {
                    let slowly = text[from..].windows(2).position(|w| w == pair).map(|p| from + p);
                    assert_eq!(find_pair(&text, from, pair), slowly, "{text:?} {pair:?} {from}");
                }
            }
        }
        assert_eq!(find_pair(b"", 0, *b"ab"), None);
        assert_eq!(find_pair(b"ab", 7, *b"ab"), None);
    }
}
