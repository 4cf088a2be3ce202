//! Folded stacks: a line for each, functions from the outermost to the innermost with semicolons
//! between them, then the weight. What flame graph tools read.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Frame, Profile};
use crate::Result;

/// Returns a profile as folded stacks.
#[must_use]
pub fn folded(profile: &Profile) -> String {
    let mut text = String::new();
    for (stack, weight) in folds(profile) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{stack} {weight}");
    }
    text
}

/// Returns stacks by their text, with the weights of equal texts added.
pub(super) fn folds(profile: &Profile) -> BTreeMap<String, u64> {
    let mut folds = BTreeMap::new();
    for stack in &profile.stacks {
        let names: Vec<String> = stack.frames.iter().rev().map(|frame| name(frame)).collect();
        *folds.entry(names.join(";")).or_default() += stack.weight;
    }
    folds
}

/// Returns a function's name without semicolons, which the format reserves: array types contain
/// them.
pub(super) fn name(frame: &Frame) -> String {
    frame.name.replace(';', ",").replace(['\n', '\r'], " ")
}

/// Reads folded stacks.
///
/// # Errors
/// The number of the first line that is not one.
pub fn parse_folded(text: &str) -> Result<BTreeMap<String, u64>> {
    let mut folds = BTreeMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parsed = line.trim_end().rsplit_once(' ').and_then(|(stack, weight)| {
            Some((stack.trim().to_owned(), weight.parse::<u64>().ok()?))
        });
        let (stack, weight) =
            parsed.ok_or_else(|| format!("line {} is not a folded stack", number + 1))?;
        *folds.entry(stack).or_default() += weight;
    }
    Ok(folds)
}
