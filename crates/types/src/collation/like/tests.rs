//! LIKE against a matcher that tries everything, and the work for long runs.

use std::cell::Cell;

use proptest::prelude::*;

use super::*;

/// Returns whether a pattern of letters, `_` and `%` matches a text, by trying every length of each `%`.
fn matches_slowly(pattern: &[char], text: &[char]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return text.is_empty() };
    match first {
        '%' => (0..=text.len()).any(|skip| matches_slowly(rest, &text[skip..])),
        '_' => !text.is_empty() && matches_slowly(rest, &text[1..]),
        one => text.first() == Some(one) && matches_slowly(rest, &text[1..]),
    }
}

/// As [`matches_slowly`]; in `varchar` also with fewer blanks at the end of the text.
fn matches_with_blanks(pattern: &[char], text: &[char], is_wide: bool) -> bool {
    let blanks = text.iter().rev().take_while(|c| **c == ' ').count();
    let fewer = if is_wide { 0 } else { blanks };
    (0..=fewer).any(|cut| matches_slowly(pattern, &text[..text.len() - cut]))
}

fn find_slowly(pattern: &[char], text: &[char], is_wide: bool) -> Option<usize> {
    match pattern {
        ['%', rest @ ..] if rest.iter().all(|c| *c == '%') => Some(0),
        ['%', rest @ ..] => {
            let rest = &rest[rest.iter().take_while(|c| **c == '%').count()..];
            (0..=text.len()).find(|at| matches_with_blanks(rest, &text[*at..], is_wide))
        }
        _ => matches_with_blanks(pattern, text, is_wide).then_some(0),
    }
}

proptest! {
    #[test]
    fn matches_and_finds_as_by_trying_everything(
        text in "[ab ]{0,14}", pattern in "[ab]{0,2}[ab %_]{0,4}%[ab]{0,5}[ab %]{0,4}", is_wide in any::<bool>(),
    ) {
        let collation = Collation::default();
        let make = |t: &str| if is_wide { Value::nvarchar(t) } else { Value::varchar(t, collation) };
        let like = LikePattern::new(&make(&pattern), None, collation).unwrap().unwrap();
        let [pattern, letters] = [&pattern, &text].map(|t| t.chars().collect::<Vec<char>>());
        let wanted = matches_with_blanks(&pattern, &letters, is_wide);
        prop_assert_eq!(like.matches(&make(&text)), Some(wanted));
        prop_assert_eq!(like.find(&make(&text)), find_slowly(&pattern, &letters, is_wide));
    }

    #[test]
    fn sets_of_many_ranges_hold_what_the_ranges_hold(
        ranges in prop::collection::vec((0_u64..30, 0_u64..30), 0..12), wanted in 0_u64..32,
    ) {
        let holds = ranges.iter().any(|(low, high)| (*low..=*high).contains(&wanted));
        let sorted = apart(ranges);
        prop_assert!(sorted.windows(2).all(|pair| pair[0].1 < pair[1].0), "{:?}", sorted);
        prop_assert_eq!(matches_one(&Token::OneOf(sorted), wanted), holds);
    }
}

/// Returns how many characters are weighed to match `text` letters.
fn weighed(pattern: &str, text: &str) -> usize {
    let collation = Collation::default();
    let like = LikePattern::new(&Value::nvarchar(pattern), None, collation).unwrap().unwrap();
    let text = Value::nvarchar(text);
    let (encoding, letters) = characters(&text, collation).unwrap();
    let count = Cell::new(0);
    let weigh = |code| {
        count.set(count.get() + 1);
        Some(weight(code, encoding, collation))
    };
    assert!(!like.matches_from(0, letters, 0, &weigh), "the text has no b");
    count.get()
}

#[test]
fn long_runs_are_found_in_one_pass() {
    let text = "a".repeat(20_000);
    for pattern in ["%{}b%", "%{}b", "%a%{}b%", "%{}%{}b%"] {
        let count = weighed(&pattern.replace("{}", &"a".repeat(500)), &text);
        assert!(count <= 2 * text.len(), "{pattern}: {count}");
    }
}
