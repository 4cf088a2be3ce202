//! LIKE over texts of single-byte characters, for a pattern that meets many of them.
//!
//! Each byte is folded to a class: two bytes have one class exactly if their weights are equal. A pattern
//! is runs of class sets with `%` between them; a run has a fixed length, so the leftmost place of
//! each is as good as any. UTF-16 that is all ASCII is folded likewise.

use super::super::Collation;
use super::super::code_page::CodePage;
use super::super::weights::{Characters, Encoding};
use super::{Token, matches_one, weight};
use crate::batch::ByteKind;

/// A pattern over classes of bytes.
#[derive(Clone, Debug)]
pub(super) struct Folded {
    /// For `varchar`; none for UTF-8, whose characters are of many bytes.
    code_page: Option<Program>,
    /// For the units below 128 of `nvarchar`.
    ascii: Program,
}

impl Folded {
    pub(super) fn new(tokens: &[Token], collation: Collation) -> Self {
        let is_single = collation.code_page() != CodePage::Utf8;
        Self {
            code_page: is_single.then(|| Program::new(tokens, Encoding::CodePage, collation)),
            ascii: Program::new(tokens, Encoding::Utf16, collation),
        }
    }

    /// Matches a text; `None` if it is not one of single-byte characters.
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
                scratch.extend(text.iter().map(|b| program.classes[usize::from(*b)]));
                let len = text.iter().rposition(|b| *b != b' ').map_or(0, |last| last + 1);
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

/// Classes, and the runs between the `%`s.
#[derive(Clone, Debug)]
struct Program {
    classes: Box<[u8; 256]>,
    runs: Vec<Run>,
}

/// Tokens without a `%`.
#[derive(Clone, Debug)]
enum Run {
    /// Each one class.
    Literal(Vec<u8>),
    /// Each a set of classes.
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
        let runs = tokens.split(|token| matches!(token, Token::AnyRun));
        Self { classes, runs: runs.map(|run| Run::new(run, &of_class)).collect() }
    }

    /// Matches a folded text of which what is behind `len` are blanks that need not match.
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

/// Returns the weight of the character that a byte is.
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

    /// Finds the leftmost place at or behind `at`.
    fn find(&self, text: &[u8], at: usize) -> Option<usize> {
        let last = text.len().checked_sub(self.len())?;
        match self {
            Self::Literal(classes) if classes.len() > 1 => {
                let first = classes[0];
                let mut from = at;
                while from <= last {
                    from += text[from..=last].iter().position(|class| *class == first)?;
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
