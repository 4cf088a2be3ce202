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
    Literal(Literal),
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
        let mut commonness = [0; 256];
        for (byte, class) in (0..=u8::MAX).zip(classes.iter()) {
            let most = &mut commonness[usize::from(*class)];
            *most = commonness_of(byte).max(*most);
        }
        let runs = tokens.split(|token| matches!(token, Token::AnyRun));
        let runs = runs.map(|run| Run::new(run, &of_class, &commonness)).collect();
        Self { classes, is_plain, runs }
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

/// A run of classes without sets.
#[derive(Clone, Debug)]
struct Literal {
    classes: Vec<u8>,
    /// Places of the two classes that are likely to be the rarest in texts, the first of them first.
    rare: [usize; 2],
}

impl Literal {
    fn new(classes: Vec<u8>, commonness: &[u8; 256]) -> Self {
        let rank = |place: &usize| commonness[usize::from(classes[*place])];
        let rarest = (0..classes.len()).min_by_key(rank).unwrap_or(0);
        let second = (0..classes.len()).filter(|place| *place != rarest).min_by_key(rank);
        let second = second.unwrap_or(rarest);
        Self { rare: [rarest.min(second), rarest.max(second)], classes }
    }

    #[inline]
    fn is_at(&self, text: &[u8], at: usize) -> bool {
        let Some(part) = text.get(at..at + self.classes.len()) else { return false };
        // Far from a call of a library, since most literals are short.
        part.iter().zip(&self.classes).all(|(class, wanted)| class == wanted)
    }

    /// Finds the leftmost place at or behind `from`: looks for both rare classes at eight places at
    /// a time, and compares the rest where both are found.
    fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        let last = text.len().checked_sub(self.classes.len())?;
        if self.classes.is_empty() {
            return (from <= last).then_some(from);
        }
        let [first, second] = self.rare;
        let spread = |place: usize| u64::from(self.classes[place]) * 0x0101_0101_0101_0101;
        let (firsts, seconds) = (spread(first), spread(second));
        let hits = |at: usize| {
            let (here, there) = (word_at(text, at + first)?, word_at(text, at + second)?);
            Some(zero_bytes(here ^ firsts) & zero_bytes(there ^ seconds))
        };
        let is_match = |place: &usize| *place <= last && self.is_at(text, *place);
        let mut at = from;
        while at <= last {
            let Some(hits) = hits(at) else { break };
            if let Some(found) = places(hits, at).find(is_match) {
                return Some(found);
            }
            at += WORD;
        }
        // The last word of the text holds the second class of all places that are left.
        let start = text.len().checked_sub(WORD + second).filter(|start| *start < at);
        match start.and_then(|start| Some((start, hits(start)?))) {
            Some((start, hits)) => {
                places(hits, start).find(|place| *place >= at && is_match(place))
            }
            None => (at..=last).find(is_match),
        }
    }
}

/// Bytes of a word: the places that are looked at together.
const WORD: usize = size_of::<u64>();

#[inline]
fn word_at(text: &[u8], at: usize) -> Option<u64> {
    text.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Returns the places behind `at` of the bytes of a word whose highest bits are set.
#[inline]
fn places(mut hits: u64, at: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (hits != 0).then(|| hits.trailing_zeros() as usize)?;
        hits &= hits - 1;
        // The lowest byte of the word is the first.
        Some(at + bit / 8)
    })
}

/// Returns how common a byte is in texts, roughly: the rarest byte of a literal is the best to search
/// for. Letters are in the order of their frequency in English, in which both cases count alike.
fn commonness_of(byte: u8) -> u8 {
    const BY_FREQUENCY: &[u8] = b" etaoinsrhldcumfpgwybvkxjqz";
    let place = BY_FREQUENCY.iter().position(|b| *b == byte.to_ascii_lowercase());
    match place {
        Some(place) => u8::try_from(BY_FREQUENCY.len() - place).unwrap_or(0) * 4,
        // Marks and digits are about as common as the letters in the middle.
        None if byte.is_ascii() => 40,
        None => 0,
    }
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
    fn new(tokens: &[Token], of_class: &[u64], commonness: &[u8; 256]) -> Self {
        let literal = tokens.iter().map(|token| match token {
            Token::Character(weight) => {
                of_class.iter().position(|w| w == weight).and_then(|c| u8::try_from(c).ok())
            }
            _ => None,
        });
        if let Some(literal) = literal.collect() {
            return Self::Literal(Literal::new(literal, commonness));
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
            Self::Literal(literal) => literal.classes.len(),
            Self::Sets(sets) => sets.len(),
        }
    }

    fn matches_at(&self, text: &[u8], at: usize) -> bool {
        match self {
            Self::Literal(literal) => literal.is_at(text, at),
            Self::Sets(sets) => {
                let Some(part) = text.get(at..at + sets.len()) else { return false };
                sets.iter().zip(part).all(|(set, class)| set[usize::from(*class)])
            }
        }
    }

    /// Finds the run's leftmost match at or behind `at`.
    fn find(&self, text: &[u8], at: usize) -> Option<usize> {
        match self {
            Self::Literal(literal) => literal.find(text, at),
            Self::Sets(sets) => {
                let last = text.len().checked_sub(sets.len())?;
                (at..=last).find(|from| self.matches_at(text, *from))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Literal, commonness_of};

    #[test]
    fn literal_is_found_where_a_search_place_by_place_finds_it() {
        let commonness: [u8; 256] =
            std::array::from_fn(|byte| u8::try_from(byte).map_or(0, commonness_of));
        let literals: [&[u8]; 9] =
            [b"", b"a", b"\xFF", b"ab", b"aa", b"\xFFab", b"abbaab", b"abababababab", b"zz"];
        // A sample of the 3^29 texts of 29 letters: the digits of numbers in base 3, at a stride.
        for n in (0..3_u64.pow(29)).step_by(1_234_567_654_321) {
            let letter = |place: u32| b"ab\xFF"[usize::try_from(n / 3_u64.pow(place) % 3).unwrap()];
            let whole: Vec<u8> = (0..29).map(letter).collect();
            for len in [0, 1, 7, 8, 9, 15, 16, 20, 29] {
                let text = &whole[..len];
                for classes in literals {
                    let literal = Literal::new(classes.to_vec(), &commonness);
                    for from in 0..=len + 1 {
                        let slowly = (from..=len).find(|at| text[*at..].starts_with(classes));
                        assert_eq!(literal.find(text, from), slowly, "{text:?} {classes:?} {from}");
                    }
                }
            }
        }
    }

    #[test]
    fn rarest_letters_of_a_literal_are_searched_for() {
        let commonness: [u8; 256] =
            std::array::from_fn(|byte| u8::try_from(byte).map_or(0, commonness_of));
        let rare = |classes: &[u8]| Literal::new(classes.to_vec(), &commonness).rare;
        assert_eq!(rare(b"requests"), [2, 3]);
        assert_eq!(rare(b"special"), [1, 3]);
        assert_eq!(rare(b"a"), [0, 0]);
    }
}
