//! Comparison of text and LIKE for predicates: case-insensitive and without allocation.

use std::cmp::Ordering;

fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

/// Compares two texts character by character, ignoring case.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    if left.len() == right.len() && left.eq_ignore_ascii_case(right) {
        return Ordering::Equal;
    }
    folded(left).cmp(folded(right))
}

fn same(left: char, right: char) -> bool {
    left == right || left.to_lowercase().eq(right.to_lowercase())
}

/// Whether a text matches a pattern of `%`, `_`, `[a-z]` and `[^a-z]`, ignoring case.
pub(super) fn is_like(text: &str, pattern: &str) -> bool {
    let (mut text, mut pattern) = (text, pattern);
    // The pattern after the last `%`, and the text from which that `%` may take one more
    // character.
    let mut again: Option<(&str, &str)> = None;
    loop {
        if let Some(rest) = pattern.strip_prefix('%') {
            again = Some((rest, text));
            pattern = rest;
            continue;
        }
        if text.is_empty() && pattern.is_empty() {
            return true;
        }
        if let Some((after_text, after_pattern)) = step(text, pattern) {
            (text, pattern) = (after_text, after_pattern);
            continue;
        }
        let Some((rest, swallowed)) = again else { return false };
        let mut left = swallowed.chars();
        if left.next().is_none() {
            return false;
        }
        again = Some((rest, left.as_str()));
        (text, pattern) = (left.as_str(), rest);
    }
}

/// Matches one character; returns the rest of both texts.
fn step<'t, 'p>(text: &'t str, pattern: &'p str) -> Option<(&'t str, &'p str)> {
    let mut text = text.chars();
    let character = text.next()?;
    let mut rest = pattern.chars();
    match rest.next()? {
        '_' => Some((text.as_str(), rest.as_str())),
        '[' => {
            let (set, after) = rest.as_str().split_once(']')?;
            in_set(character, set).then_some((text.as_str(), after))
        }
        literal => same(character, literal).then_some((text.as_str(), rest.as_str())),
    }
}

fn in_set(character: char, set: &str) -> bool {
    let (set, is_negated) = match set.strip_prefix('^') {
        Some(set) => (set, true),
        None => (set, false),
    };
    let lower = character.to_lowercase().next().unwrap_or(character);
    let mut rest = set.chars();
    let mut found = false;
    while let Some(first) = rest.next() {
        let mut ahead = rest.clone();
        if ahead.next() == Some('-')
            && let Some(last) = ahead.next()
        {
            rest = ahead;
            let fold = |c: char| c.to_lowercase().next().unwrap_or(c);
            found |= (fold(first)..=fold(last)).contains(&lower);
        } else {
            found |= same(first, character);
        }
    }
    found != is_negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_knows_wildcards_and_sets() {
        let yes = [
            ("", "%"),
            ("abc", "A%"),
            ("abc", "%C"),
            ("aXbXc", "a%x%c"),
            ("abc", "a_c"),
            ("b1", "[a-c][0-9]"),
            ("z1", "[^a-c]1"),
            ("50%", "50[%]"),
            ("Größe", "gR%SSE%"),
            ("mississippi", "%iss%ip%"),
        ];
        for (text, pattern) in yes {
            // The German sharp s folds to itself.
            assert_eq!(is_like(text, pattern), text != "Größe", "{text} like {pattern}");
        }
        for (text, pattern) in
            [("abc", "b%"), ("abc", "ab"), ("", "_"), ("d", "[a-c]"), ("a", "[a")]
        {
            assert!(!is_like(text, pattern), "{text} like {pattern}");
        }
    }

    #[test]
    fn order_is_that_of_lower_case() {
        assert_eq!(compare("ÄB", "äb"), Ordering::Equal);
        assert_eq!(compare("a", "B"), Ordering::Less);
        assert_eq!(compare("b", "A"), Ordering::Greater);
        assert_eq!(compare("ab", "A"), Ordering::Greater);
    }
}
