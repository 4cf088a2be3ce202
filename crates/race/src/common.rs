//! What the reports of all races have in common: who raced on which machine, and what is wrong.

use std::fmt::Write;

use load::json::{join, quote};

use crate::keeping::Verdict;
use crate::run::Entrant;

/// Where and how a race was run.
pub(crate) struct Setting<'r> {
    /// Facts about the machine.
    pub(crate) facts: &'r [(&'static str, String)],
    /// The peers that raced.
    pub(crate) entrants: &'r [Entrant],
    /// Description of the turns.
    pub(crate) plan: &'r str,
}

impl Setting<'_> {
    /// Returns it as the opening of a text for a terminal.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.facts {
            let _ = writeln!(text, "{name:<14} {value}");
        }
        let _ = writeln!(text, "{:<14} {}", "run", self.plan);
        for entrant in self.entrants {
            let _ = writeln!(text, "\n{}: {}", entrant.name, entrant.version);
            let _ = writeln!(text, "  {}\n  {}", entrant.command, entrant.settings);
        }
        text.push('\n');
        text
    }

    /// Returns it as the table at the end of a section of a page.
    pub(crate) fn table(&self) -> String {
        let mut text = "\n| | |\n|---|---|\n".to_owned();
        for (name, value) in self.facts {
            let _ = writeln!(text, "| {name} | {value} |");
        }
        let _ = writeln!(text, "| run | {} |", self.plan);
        for entrant in self.entrants {
            let Entrant { name, version, command, settings } = entrant;
            let _ = writeln!(text, "| {name} | {version}; `{command}`; {settings} |");
        }
        text
    }

    /// Returns the facts as the members of a JSON object.
    pub(crate) fn facts_json(&self) -> String {
        join(self.facts.iter().map(|(name, value)| format!("{}:{}", quote(name), quote(value))))
    }

    /// Returns the peers as the elements of a JSON array.
    pub(crate) fn entrants_json(&self) -> String {
        join(self.entrants.iter().map(|entrant| {
            format!(
                "{{\"name\":{},\"version\":{},\"command\":{},\"settings\":{}}}",
                quote(&entrant.name),
                quote(&entrant.version),
                quote(&entrant.command),
                quote(&entrant.settings)
            )
        }))
    }
}

/// Returns failures as the elements of a JSON array.
pub(crate) fn failures_json(failures: &[(String, String)]) -> String {
    join(
        failures
            .iter()
            .map(|(name, why)| format!("{{\"name\":{},\"why\":{}}}", quote(name), quote(why))),
    )
}

/// Writes verdicts for a terminal.
pub(crate) fn put_verdicts(text: &mut String, verdicts: &[Verdict]) {
    for it in verdicts {
        let _ = writeln!(text, "\n{}: {} ({}): {}", it.what, it.measured, it.asked, it.verdict);
    }
}

/// Returns verdicts as a table of a page; nothing if there are none.
pub(crate) fn verdicts_table(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    if !verdicts.is_empty() {
        text.push_str("\n| what | asked | measured | |\n|---|---|---|---|\n");
    }
    for it in verdicts {
        let _ = writeln!(text, "| {} | {} | {} | {} |", it.what, it.asked, it.measured, it.verdict);
    }
    text
}

/// Writes the first two lines of a table of results.
pub(crate) fn put_heads(text: &mut String, heads: &[&str]) {
    let _ = writeln!(text, "| {} | |", heads.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(heads.len() + 1));
}

/// Writes a line of a table for a terminal: its first cells, the others with their widths, a note.
pub(crate) fn put_line(
    text: &mut String,
    first: &str,
    cells: &[String],
    widths: &[usize],
    note: &str,
) {
    let mut line = first.to_owned();
    for (cell, width) in cells.iter().zip(widths) {
        let _ = write!(line, "{cell:>width$}");
    }
    let _ = writeln!(text, "{}", format!("{line}  {note}").trim_end());
}
