//! Fuzz target: every text parses to a tree or an error. Its corpus runs as a plain test of `tsql`.
#![no_main]

use tsql::{QuotedIdentifier, parse, split_batches};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for quotes in [QuotedIdentifier::On, QuotedIdentifier::Off] {
        if let Ok(batch) = parse(&text, quotes) {
            for statement in &batch.statements {
                assert!(statement.line >= 1 && statement.span.start < statement.span.end);
            }
        }
    }
    let _ = split_batches(&text);
});
