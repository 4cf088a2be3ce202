//! Texts that end too early: every prefix of every script, as a connection that breaks or a tool with a
//! wrong idea of a batch would send it. Whatever comes back, it comes back.

use tsql::QuotedIdentifier;

use crate::client::{batch, instance, login};
use crate::script::{blocks, scripts};

/// What may make a prefix run for ever, where the whole does not.
const LOOPS: [&str; 3] = ["WHILE", "GOTO", "WAITFOR"];

/// The texts of all scripts' blocks.
fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    for path in scripts() {
        let script = std::fs::read_to_string(path).unwrap();
        for block in blocks(&script) {
            let kinds = ["run", "query", "error", "messages", "count", "answer", "tokens"];
            if kinds.iter().any(|kind| block.head.split(' ').next() == Some(*kind)) {
                let lines = block.lines.iter().take_while(|line| **line != "----");
                texts.push(lines.copied().collect::<Vec<_>>().join("\n"));
            }
        }
    }
    assert!(texts.len() > 500, "the scripts have blocks");
    texts
}

#[test]
fn every_prefix_of_every_script_is_parsed_or_refused() {
    for text in texts() {
        for (at, _) in text.char_indices() {
            // An answer of either kind will do.
            let _ = tsql::parse(&text[..at], QuotedIdentifier::On);
        }
    }
}

/// At word boundaries, since what ends inside a word is another name to the binder.
#[test]
fn every_prefix_of_every_query_is_bound_or_refused() {
    let instance = instance();
    let mut session = login(&instance);
    for text in texts() {
        let upper = text.to_uppercase();
        if LOOPS.iter().any(|word| upper.contains(word)) || text.len() > 2_000 {
            continue;
        }
        for (at, _) in text.match_indices(' ') {
            batch(&mut session, &text[..at]);
        }
        // The tables that later prefixes name.
        batch(&mut session, &text);
        batch(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
    }
    let answer = batch(&mut session, "SELECT 1");
    assert_eq!(answer.sets, [[["1"]]]);
}
