//! Texts that end too early: every prefix of every script, as a connection that breaks or a tool with a
//! wrong idea of a batch would send it. Whatever comes back, it comes back.

use tsql::QuotedIdentifier;

use crate::client::{batch, instance, login};
use crate::script::{blocks, scripts};

/// What may make a prefix run for ever, where the whole does not.
const LOOPS: [&str; 3] = ["WHILE", "GOTO", "WAITFOR"];

/// Prefixes of one query that are bound, at most.
const BOUND_MAX: usize = 16;

/// The texts of the blocks of each script.
fn texts() -> Vec<Vec<String>> {
    let of_script = |path| {
        let script = std::fs::read_to_string(path).unwrap();
        let mut texts = Vec::new();
        for block in blocks(&script) {
            let kinds = ["run", "query", "error", "messages", "count", "answer", "tokens"];
            if kinds.iter().any(|kind| block.head.split(' ').next() == Some(*kind)) {
                let lines = block.lines.iter().take_while(|line| **line != "----");
                texts.push(lines.copied().collect::<Vec<_>>().join("\n"));
            }
        }
        texts
    };
    let texts: Vec<Vec<String>> = scripts().into_iter().map(of_script).collect();
    assert!(texts.iter().map(Vec::len).sum::<usize>() > 500, "the scripts have blocks");
    texts
}

#[test]
fn every_prefix_of_every_script_is_parsed_or_refused() {
    for text in texts().into_iter().flatten() {
        for (at, _) in text.char_indices() {
            // An answer of either kind will do.
            let _ = tsql::parse(&text[..at], QuotedIdentifier::On);
        }
    }
}

/// At word boundaries, since what ends inside a word is another name to the binder. Each script has an
/// instance of its own: what is cached for one makes the views of another long.
#[test]
fn every_prefix_of_every_query_is_bound_or_refused() {
    for script in texts() {
        let instance = instance();
        let mut session = login(&instance);
        for text in script {
            let upper = text.to_uppercase();
            if LOOPS.iter().any(|word| upper.contains(word)) || text.len() > 2_000 {
                continue;
            }
            let ends: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
            for at in ends.iter().step_by(ends.len().div_ceil(BOUND_MAX).max(1)) {
                batch(&mut session, &text[..*at]);
            }
            // The tables that later prefixes name.
            batch(&mut session, &text);
            batch(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
        }
        let answer = batch(&mut session, "SELECT 1");
        assert_eq!(answer.sets, [[["1"]]]);
    }
}

/// The least CPU time that a batch of so many declarations takes, in ns.
fn cpu_ns_of_declarations(count: u32) -> u64 {
    let instance = instance();
    let mut session = login(&instance);
    let times = (0..5).map(|turn| {
        let declarations = (0..count).map(|n| format!("DECLARE @v{turn}_{n} int\n"));
        let text = declarations.chain([format!("SELECT @v{turn}_{}", count - 1)]);
        let text: String = text.collect();
        let before = sos::sys::thread_cpu_ns();
        assert!(batch(&mut session, &text).errors.is_empty());
        sos::sys::thread_cpu_ns().saturating_sub(before)
    });
    times.min().unwrap()
}

#[test]
fn eight_times_as_many_variables_take_about_eight_times_as_long() {
    let (few, many) = (cpu_ns_of_declarations(2_000), cpu_ns_of_declarations(16_000));
    assert!(many < 30 * few, "{many} for {few}");
}
