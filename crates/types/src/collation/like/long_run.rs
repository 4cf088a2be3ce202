//! A long run of characters behind a `%`, found in time linear in the text (Knuth, Morris, Pratt 1977).
//!
//! Going back to the last `%` compares a run once for each character of the text: a text of a million
//! characters and a run of 4,000 would take four thousand million comparisons. A short run is found
//! that way, because it needs no table.

use super::super::weights::Characters;
use super::Token;

/// The number of characters from which on a run is searched by its table.
const LONG: usize = if cfg!(test) { 2 } else { 32 };

/// A run of characters between a `%` and the next one or the end of the pattern.
#[derive(Clone, Debug)]
pub(super) struct LongRun {
    /// The run's first token in the pattern.
    pub(super) start: usize,
    /// For each length of a match: the longest proper prefix of the run that is also its suffix.
    borders: Box<[u32]>,
}

impl LongRun {
    /// Returns the long runs of a pattern that have only characters.
    pub(super) fn all(tokens: &[Token]) -> Box<[Self]> {
        let mut start = 0;
        let mut all = Vec::new();
        for run in tokens.split(|token| matches!(token, Token::AnyRun)) {
            let is_plain = || run.iter().all(|token| matches!(token, Token::Character(_)));
            if start > 0 && run.len() >= LONG && is_plain() {
                all.push(Self { start, borders: borders(run) });
            }
            start += run.len() + 1;
        }
        all.into_boxed_slice()
    }

    pub(super) fn len(&self) -> usize {
        self.borders.len()
    }

    /// Starts a search for the run, which is part of `tokens`.
    pub(super) fn search<'r, 't>(
        &'r self,
        tokens: &'r [Token],
        text: Characters<'t>,
    ) -> Search<'r, 't> {
        let run = &tokens[self.start..self.start + self.len()];
        Search { run, borders: &self.borders, matched: 0, read: 0, text }
    }
}

fn is_character(token: &Token, weight: u64) -> bool {
    matches!(token, Token::Character(wanted) if *wanted == weight)
}

fn weight_of(token: &Token) -> u64 {
    match token {
        Token::Character(weight) => *weight,
        _ => unreachable!("a long run has only characters"),
    }
}

fn borders(run: &[Token]) -> Box<[u32]> {
    let mut borders = vec![0_u32; run.len()];
    let mut matched = 0;
    for at in 1..run.len() {
        let weight = weight_of(&run[at]);
        matched = next_length(run, &borders, matched, weight);
        borders[at] = u32::try_from(matched).expect("a pattern is shorter than 2 GB");
    }
    borders.into_boxed_slice()
}

/// Returns the length of the match that one more character leaves of a match of `matched`.
fn next_length(run: &[Token], borders: &[u32], mut matched: usize, weight: u64) -> usize {
    while matched > 0 && !is_character(&run[matched], weight) {
        matched = borders[matched - 1] as usize;
    }
    matched + usize::from(is_character(&run[matched], weight))
}

/// A search of a run in a text.
pub(super) struct Search<'r, 't> {
    run: &'r [Token],
    borders: &'r [u32],
    matched: usize,
    /// Number of characters read.
    pub(super) read: usize,
    /// The text behind those.
    pub(super) text: Characters<'t>,
}

impl Search<'_, '_> {
    /// Reads to the end of the next match, which may overlap the last one; `false` without one, or if no answer is wanted.
    pub(super) fn find_next(&mut self, weigh: &impl Fn(u32) -> Option<u64>) -> bool {
        if self.matched == self.run.len() {
            self.matched = self.borders[self.matched - 1] as usize;
        }
        for code in self.text.by_ref() {
            self.read += 1;
            let Some(weight) = weigh(code) else { return false };
            self.matched = next_length(self.run, self.borders, self.matched, weight);
            if self.matched == self.run.len() {
                return true;
            }
        }
        false
    }

    /// Returns whether a match ends where at most `blanks` bytes are left.
    pub(super) fn finds_at_end(
        &mut self,
        blanks: usize,
        weigh: &impl Fn(u32) -> Option<u64>,
    ) -> bool {
        while self.find_next(weigh) {
            if self.text.bytes_left() <= blanks {
                return true;
            }
        }
        false
    }
}
