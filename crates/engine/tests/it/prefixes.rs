//! Truncated texts: every prefix of every script, as a broken connection or a tool that splits
//! batches wrongly would send it. Any answer is accepted, but there must be one.

use tsql::QuotedIdentifier;

use crate::client::{batch, instance, is_whole, login};
use crate::dice::Dice;
use crate::script::{blocks, scripts};

/// Words with which a prefix may run forever although the whole text does not.
const LOOPS: [&str; 3] = ["WHILE", "GOTO", "WAITFOR"];

/// Maximum number of prefixes of one query that are bound: all of them with `make whole`.
fn bound_max() -> usize {
    if is_whole() { usize::MAX } else { 6 }
}

/// Returns the texts of the blocks of each script.
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
    let mut dice = Dice(0x5EED);
    for text in texts().into_iter().flatten() {
        for (at, _) in text.char_indices() {
            if !is_whole() && dice.roll(4) > 0 {
                continue;
            }
            // Rows and errors are both accepted.
            let _ = tsql::parse(&text[..at], QuotedIdentifier::On);
        }
    }
}

/// Cuts at word boundaries, since a text cut inside a word only has another name in it. Each script
/// has a separate instance: programs cached for one would slow down the views of another.
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
            for at in ends.iter().step_by(ends.len().div_ceil(bound_max()).max(1)) {
                batch(&mut session, &text[..*at]);
            }
            // Tables that later prefixes use.
            batch(&mut session, &text);
            batch(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
        }
        let answer = batch(&mut session, "SELECT 1");
        assert_eq!(answer.sets, [[["1"]]]);
    }
}

/// Returns the minimum CPU time of a batch with this many declarations, in ns.
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
