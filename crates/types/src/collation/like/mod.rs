//! LIKE: patterns with `%`, `_`, `[a-z]`, `[^..]` and ESCAPE, under a collation.

mod folded;
mod long_run;
#[cfg(test)]
mod tests;

use super::Collation;
use super::weights::{Characters, Encoding, Expansion, PLAIN, Rules, to_lower};
use crate::batch::ByteKind;
use crate::pause::{Pause, Watched};
use crate::{Error, Msg, Result, Value};
use folded::Folded;
use long_run::LongRun;

/// A compiled pattern, which matches strings of the encoding it was made from.
#[derive(Clone, Debug)]
pub struct LikePattern {
    collation: Collation,
    tokens: Box<[Token]>,
    /// The runs of many characters behind a `%`; hardly any pattern has one.
    long: Box<[LongRun]>,
    /// The form for many texts, if [`Self::prepared`] made it.
    folded: Option<Box<Folded>>,
    /// What is called now and then while a long text is matched.
    pause: Pause,
}

#[derive(Clone, Debug)]
enum Token {
    /// One character, given by its weight.
    Character(u64),
    /// `_`: any one character.
    AnyOne,
    /// `%`: any number of characters.
    AnyRun,
    /// `[..]`: ranges of weights, both ends included; sorted, and apart.
    OneOf(Box<[(u64, u64)]>),
    /// `[^..]`: one character outside the ranges.
    NoneOf(Box<[(u64, u64)]>),
    /// A token that never matches: an unclosed `[`, or an escape character at the end.
    Never,
}

/// The longest pattern of LIKE and PATINDEX, and the longest string that CHARINDEX finds: SQL Server refuses longer ones.
pub const PATTERN_BYTES_MAX: usize = 8_000;

impl LikePattern {
    /// Compiles a pattern; `None` if pattern or escape is NULL.
    ///
    /// # Errors
    /// 506 if the escape is not one character; 8152 for a pattern of more than [`PATTERN_BYTES_MAX`].
    pub fn new(
        pattern: &Value,
        escape: Option<&Value>,
        collation: Collation,
    ) -> Result<Option<Self>> {
        let Some((encoding, characters)) = characters(pattern, collation) else { return Ok(None) };
        check_pattern(pattern)?;
        let escape = match escape {
            None => None,
            Some(value) if value.is_null() => return Ok(None),
            Some(value) => Some(escape_character(value, collation)?),
        };
        let weigh = |code| weight(code, encoding, collation);
        let pattern: Vec<u32> = characters.collect();
        let tokens = compile(&pattern, escape, &weigh);
        let long = LongRun::all(&tokens);
        Ok(Some(Self { collation, tokens, long, folded: None, pause: Pause(None) }))
    }

    /// Lets a long text pause while it is matched.
    #[must_use]
    pub const fn pausing(mut self, pause: Pause) -> Self {
        self.pause = pause;
        self
    }

    /// Prepares the pattern for many texts. That takes some microseconds; then a text takes a tenth
    /// of the time.
    #[must_use]
    pub fn prepared(mut self) -> Self {
        self.folded = Some(Box::new(Folded::new(&self.tokens, self.collation)));
        self
    }

    /// Returns whether a `varchar` or `nvarchar` text matches; `scratch` is a buffer that the
    /// matcher overwrites.
    pub fn matches_bytes(&self, kind: ByteKind, text: &[u8], scratch: &mut Vec<u8>) -> bool {
        let folded = self.folded.as_ref().and_then(|f| f.matches(kind, text, scratch));
        folded.unwrap_or_else(|| self.matches(&kind.value(text.into())) == Some(true))
    }

    /// Returns whether `value` matches; `None` for NULL and for values that are not strings. Any answer if
    /// [`Self::pausing`]'s pause says that none is wanted.
    pub fn matches(&self, value: &Value) -> Option<bool> {
        let (encoding, characters) = characters(value, self.collation)?;
        let known = Known::new(value, encoding, self.collation);
        let go_on = || self.pause.call();
        let watched = Watched::new(&go_on);
        let weigh = |code| watched.step().then(|| known.weight(code));
        Some(self.matches_from(0, characters, trailing_blanks(value), &weigh))
    }

    /// Returns the number of characters of `value` before the match, not counting a leading `%`;
    /// `None` if there is no match.
    pub fn find(&self, value: &Value) -> Option<usize> {
        let (encoding, mut text) = characters(value, self.collation)?;
        let known = Known::new(value, encoding, self.collation);
        let go_on = || self.pause.call();
        let watched = Watched::new(&go_on);
        let weigh = |code| watched.step().then(|| known.weight(code));
        let blanks = trailing_blanks(value);
        let [Token::AnyRun, rest @ ..] = &*self.tokens else {
            return self.matches_from(0, text, blanks, &weigh).then_some(0);
        };
        let run = rest.iter().position(|t| matches!(t, Token::AnyRun)).unwrap_or(rest.len());
        let (run, is_last) = (&rest[..run], run == rest.len());
        if rest.is_empty() {
            return Some(0);
        }
        // The next `%` matches anything, so a later start cannot succeed where this one fails.
        let behind = 1 + run.len();
        if let Some(long) = self.long_run(1) {
            let mut search = long.search(&self.tokens, text);
            while search.find_next(&weigh) {
                if !is_last {
                    let is_match = self.matches_from(behind, search.text, blanks, &weigh);
                    return is_match.then_some(search.read - run.len());
                }
                if search.text.bytes_left() <= blanks {
                    return Some(search.read - run.len());
                }
            }
            return None;
        }
        let mut before = 0;
        loop {
            if let Some(after) = match_run(run, text.clone(), &weigh) {
                if !is_last {
                    return self.matches_from(behind, after, blanks, &weigh).then_some(before);
                }
                if after.bytes_left() <= blanks {
                    return Some(before);
                }
            }
            if watched.is_over() {
                return None;
            }
            text.next()?;
            before += 1;
        }
    }

    /// Returns the run of many characters that starts at a token.
    fn long_run(&self, token: usize) -> Option<&LongRun> {
        self.long.iter().find(|run| run.start == token)
    }

    /// Matches the tokens from one on, greedily: goes back to the last `%` only. `weigh` returns `None` if the answer is no
    /// longer wanted. Nothing significant is
    /// left where the text has at most `blanks` more bytes.
    fn matches_from(
        &self,
        token: usize,
        text: Characters<'_>,
        blanks: usize,
        weigh: &impl Fn(u32) -> Option<u64>,
    ) -> bool {
        let (mut at, mut text) = (token, text);
        let mut retry: Option<(usize, Characters<'_>)> = None;
        loop {
            let here = text.clone();
            let step = match self.tokens.get(at) {
                Some(Token::AnyRun) => {
                    at += 1;
                    if at == self.tokens.len() {
                        return true;
                    }
                    let Some(long) = self.long_run(at) else {
                        retry = Some((at, here));
                        continue;
                    };
                    let mut search = long.search(&self.tokens, here);
                    at += long.len();
                    if at == self.tokens.len() {
                        return search.finds_at_end(blanks, weigh);
                    }
                    if !search.find_next(weigh) {
                        return false;
                    }
                    text = search.text;
                    continue;
                }
                Some(token) => text.next().and_then(weigh).map(|w| matches_one(token, w)),
                None if here.bytes_left() <= blanks => return true,
                None => Some(false),
            };
            match step {
                Some(true) => at += 1,
                // The text has ended, and a later start would have even less of it; or no answer is wanted any more.
                None => return false,
                Some(false) => {
                    let Some((token, from)) = &mut retry else { return false };
                    if from.next().is_none() {
                        return false;
                    }
                    at = *token;
                    text = from.clone();
                }
            }
        }
    }
}

/// Checks the length of a string that is looked for.
///
/// # Errors
/// 8152, with SQL Server's state, if it has more than [`PATTERN_BYTES_MAX`].
pub fn check_pattern(pattern: &Value) -> Result<()> {
    let is_long = pattern.string_bytes().is_some_and(|bytes| bytes.len() > PATTERN_BYTES_MAX);
    if is_long { Err(Error::from(Msg::StringTruncated).with_state(10)) } else { Ok(()) }
}

impl Collation {
    /// Returns a number for each character of a string: those of equal characters are equal. Empty
    /// for a value that is no string.
    pub fn character_weights(self, value: &Value) -> Vec<u64> {
        let Some((encoding, characters)) = characters(value, self) else { return Vec::new() };
        let known = Known::new(value, encoding, self);
        characters.map(|code| known.weight(code)).collect()
    }
}

/// The weights of a text's characters. For a long text those of ASCII are computed once.
struct Known {
    ascii: Option<Box<[u64; 128]>>,
    encoding: Encoding,
    collation: Collation,
}

impl Known {
    /// Bytes of a text from which on the table pays.
    const LONG: usize = 4_096;

    fn new(value: &Value, encoding: Encoding, collation: Collation) -> Self {
        let is_long = value.string_bytes().is_some_and(|bytes| bytes.len() >= Self::LONG);
        let ascii = is_long.then(|| {
            let weigh = |code| weight(u32::try_from(code).unwrap_or(0), encoding, collation);
            Box::new(std::array::from_fn(weigh))
        });
        Self { ascii, encoding, collation }
    }

    #[inline]
    fn weight(&self, code: u32) -> u64 {
        match self.ascii.as_ref().and_then(|table| table.get(code as usize)) {
            Some(weight) => *weight,
            None => weight(code, self.encoding, self.collation),
        }
    }
}

/// Sorts ranges, and joins those that overlap. A range that ends before it starts holds nothing.
fn apart(mut ranges: Vec<(u64, u64)>) -> Box<[(u64, u64)]> {
    ranges.retain(|(low, high)| low <= high);
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let overlaps = next.0 <= last.1;
        if overlaps {
            last.1 = last.1.max(next.1);
        }
        overlaps
    });
    ranges.into_boxed_slice()
}

/// Matches tokens without `%`; returns the text behind them.
fn match_run<'t>(
    run: &[Token],
    mut text: Characters<'t>,
    weigh: &impl Fn(u32) -> Option<u64>,
) -> Option<Characters<'t>> {
    run.iter()
        .all(|token| text.next().and_then(weigh).is_some_and(|w| matches_one(token, w)))
        .then_some(text)
}

/// Returns the bytes of the blanks at the end of a text: in `varchar`, those behind the end of the
/// pattern do not count.
fn trailing_blanks(value: &Value) -> usize {
    match value {
        Value::VarChar(bytes) => bytes.iter().rev().take_while(|byte| **byte == b' ').count(),
        _ => 0,
    }
}

/// Returns the characters of a string value as LIKE counts them.
fn characters(value: &Value, collation: Collation) -> Option<(Encoding, Characters<'_>)> {
    match value {
        Value::VarChar(bytes) => {
            Some((Encoding::CodePage, Characters::of(bytes, Encoding::CodePage, collation)))
        }
        Value::NVarChar(units) if collation.is_supplementary_aware() => {
            Some((Encoding::Utf16, Characters::of(units, Encoding::Utf16, collation)))
        }
        Value::NVarChar(units) => {
            Some((Encoding::Utf16, Characters::Units(units.as_slice().chunks_exact(2))))
        }
        _ => None,
    }
}

fn escape_character(value: &Value, collation: Collation) -> Result<u32> {
    let mut found = characters(value, collation).map(|(_, c)| c).into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(single), None) => Ok(single),
        _ => {
            let text = value.as_text(collation).unwrap_or_default();
            Err(Msg::InvalidEscape(&text, "LIKE").into())
        }
    }
}

/// Returns a number that is equal for characters which the collation treats as equal, and that has
/// the collation's order.
fn weight(code: u32, encoding: Encoding, collation: Collation) -> u64 {
    if collation.is_binary() {
        return u64::from(code);
    }
    let rules = Rules::of(collation, encoding);
    let expansion = Expansion::of(code, &rules);
    let (letter, marks) = match expansion.elements() {
        [letter, marks @ ..] if marks.iter().all(|m| m.primary == 0) => (*letter, marks),
        // A character that compares as two letters equals no other single one but its other case.
        _ if rules.case => return 0xF1 << 56 | u64::from(code),
        _ => return 0xF1 << 56 | u64::from(to_lower(code)),
    };
    let mut weight = u64::from(letter.primary) << 32;
    if rules.accents {
        let [a, b] = [0, 1].map(|i| marks.get(i).map_or(0, |m| m.secondary - PLAIN));
        weight |= u64::from(a) << 24 | u64::from(b) << 16;
        // A letter has another second weight than most only where it is a variant of another.
        let plain = if letter.primary == 0 { 0 } else { PLAIN };
        weight |= u64::from(letter.secondary - plain) << 8;
    }
    weight | u64::from(letter.tertiary)
}

fn compile(pattern: &[u32], escape: Option<u32>, weigh: &impl Fn(u32) -> u64) -> Box<[Token]> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        let token = match char::from_u32(*first) {
            _ if Some(*first) == escape => match rest.split_first() {
                Some((literal, tail)) => {
                    rest = tail;
                    Token::Character(weigh(*literal))
                }
                None => Token::Never,
            },
            Some('%') => Token::AnyRun,
            Some('_') => Token::AnyOne,
            Some('[') => compile_set(&mut rest, escape, weigh),
            _ => Token::Character(weigh(*first)),
        };
        let repeats = matches!((&token, tokens.last()), (Token::AnyRun, Some(Token::AnyRun)));
        if !repeats {
            tokens.push(token);
        }
    }
    tokens.into_boxed_slice()
}

/// Compiles a set, starting behind its `[`, up to its `]`.
fn compile_set(rest: &mut &[u32], escape: Option<u32>, weigh: &impl Fn(u32) -> u64) -> Token {
    const CARET: u32 = '^' as u32;
    const HYPHEN: u32 = '-' as u32;
    const CLOSE: u32 = ']' as u32;
    let negated = rest.first() == Some(&CARET);
    if negated {
        *rest = &rest[1..];
    }
    let mut take = |allow_close: bool| -> Option<Option<u32>> {
        let (first, tail) = rest.split_first()?;
        *rest = tail;
        if Some(*first) == escape {
            let (literal, tail) = rest.split_first()?;
            *rest = tail;
            return Some(Some(*literal));
        }
        Some(if *first == CLOSE && allow_close { None } else { Some(*first) })
    };
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut pending: Option<u32> = None;
    loop {
        let Some(item) = take(true) else { return Token::Never };
        match (item, pending) {
            (None, _) => break,
            (Some(HYPHEN), Some(low)) => {
                let Some(high) = take(true) else { return Token::Never };
                let Some(high) = high else {
                    // `[a-]`: the hyphen is a member of the set.
                    ranges.push((weigh(HYPHEN), weigh(HYPHEN)));
                    break;
                };
                ranges.pop();
                ranges.push((weigh(low), weigh(high)));
                pending = None;
            }
            (Some(c), _) => {
                ranges.push((weigh(c), weigh(c)));
                pending = Some(c);
            }
        }
    }
    let ranges = apart(ranges);
    if negated { Token::NoneOf(ranges) } else { Token::OneOf(ranges) }
}

fn matches_one(token: &Token, weight: u64) -> bool {
    // The ranges are sorted and apart.
    let within = |ranges: &[(u64, u64)]| {
        let before = ranges.partition_point(|(_, high)| *high < weight);
        ranges.get(before).is_some_and(|(low, _)| *low <= weight)
    };
    match token {
        Token::Character(wanted) => *wanted == weight,
        Token::AnyOne => true,
        Token::AnyRun | Token::Never => false,
        Token::OneOf(ranges) => within(ranges),
        Token::NoneOf(ranges) => !within(ranges),
    }
}
