//! Texts of megabytes: a parse pauses in the middle of tokens and of statements, and ends once its result is not wanted.

use std::cell::Cell;

use tsql::{QuotedIdentifier, Tokens, parse, parse_watched};
use types::pause::Watched;

/// Texts of which each part takes long: lists, statements, and single tokens.
fn texts() -> Vec<String> {
    let long = |part: &str| part.repeat((1 << 20) / part.len());
    vec![
        format!("SELECT 1 WHERE 1 IN (1{})", long(", 1")),
        format!("SELECT {}'a'", long("'a' + ")),
        long("SET @i = 1;"),
        format!("SELECT '{}' AS a", long("it''s ")),
        format!("SELECT N'{}' AS a", long("ab\\\\c")),
        format!("SELECT 1 --{}", long("a")),
        format!("SELECT 1 /*{}*/", long("a")),
        format!("SELECT 1{}", long(" ")),
        format!("SELECT 0x{}", long("A1")),
        format!("SELECT {} FROM t", long("a")),
        format!("SELECT [{}] FROM t", long("a")),
        long("aB1,"),
        long("("),
    ]
}

#[test]
fn a_long_text_pauses_and_has_the_same_meaning() {
    for text in texts() {
        let pauses = Cell::new(0);
        let go_on = || {
            pauses.set(pauses.get() + 1);
            true
        };
        let watched = parse_watched(&text, QuotedIdentifier::On, &Watched::new(&go_on));
        assert!(pauses.get() >= 8, "{}: {}", &text[..20], pauses.get());
        let (watched, plain) =
            (format!("{watched:?}"), format!("{:?}", parse(&text, QuotedIdentifier::On)));
        assert!(watched == plain, "{}", &text[..20]);
    }
}

#[test]
fn a_parse_ends_soon_after_it_is_no_longer_wanted() {
    for text in texts() {
        for most in [1, 5] {
            let asked = Cell::new(0);
            let go_on = || {
                asked.set(asked.get() + 1);
                asked.get() < most
            };
            let watched = Watched::new(&go_on);
            let tokens = Tokens::watched(&text, &watched);
            // What it returns means nothing.
            let _ = tokens.parse(&text, QuotedIdentifier::On, &watched);
            assert!(watched.is_over(), "{}", &text[..20]);
            assert_eq!(asked.get(), most, "{}", &text[..20]);
        }
    }
}
