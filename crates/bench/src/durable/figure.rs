//! `Figure`: a measured number beside what was asked for.

use std::fmt::Write;

use load::json::quote;

/// A measured number with its limit.
pub(super) struct Figure {
    what: String,
    asked: String,
    measured: String,
    is_met: bool,
}

impl Figure {
    /// Returns a number that must be at most the limit.
    pub(super) fn at_most(what: &str, limit: f64, unit: &str, measured: f64) -> Self {
        Self::new(what, ("at most", limit, unit), measured, measured <= limit)
    }

    /// Returns a number that must be at least the limit.
    pub(super) fn at_least(what: &str, limit: f64, unit: &str, measured: f64) -> Self {
        Self::new(what, ("at least", limit, unit), measured, measured >= limit)
    }

    /// Adds how the number came about.
    pub(super) fn noting(mut self, note: &str) -> Self {
        let _ = write!(self.measured, " ({note})");
        self
    }

    fn new(what: &str, (side, limit, unit): (&str, f64, &str), measured: f64, met: bool) -> Self {
        let digits = if measured < 10.0 { 2 } else { 1 };
        Self {
            what: what.to_owned(),
            asked: format!("{side} {limit} {unit}"),
            measured: format!("{measured:.digits$} {unit}"),
            is_met: met,
        }
    }

    /// Returns whether the limit is exceeded.
    pub(super) fn is_missed(&self) -> bool {
        !self.is_met
    }

    fn verdict(&self) -> &'static str {
        if self.is_met { "met" } else { "MISSED" }
    }
}

/// Returns figures as a table for a terminal.
pub(super) fn table(figures: &[Figure]) -> String {
    let mut text = String::new();
    for figure in figures {
        let Figure { what, asked, measured, .. } = figure;
        let _ = writeln!(text, "{what:<58}{asked:>28}  {measured}  {}", figure.verdict());
    }
    text
}

/// Returns figures as a table for a page.
pub(super) fn page_table(figures: &[Figure]) -> String {
    let mut page = "| what | asked | measured | |\n|---|---|---|---|\n".to_owned();
    for figure in figures {
        let Figure { what, asked, measured, .. } = figure;
        let _ = writeln!(page, "| {what} | {asked} | {measured} | {} |", figure.verdict());
    }
    page
}

/// Returns figures as a JSON array.
pub(super) fn json(figures: &[Figure]) -> String {
    let each = figures.iter().map(|figure| {
        let met = figure.is_met;
        format!(
            "{{\"what\":{},\"asked\":{},\"measured\":{},\"met\":{met}}}",
            quote(&figure.what),
            quote(&figure.asked),
            quote(&figure.measured)
        )
    });
    format!("[{}]", each.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_a_side() {
        assert!(Figure::at_most("a", 50.0, "ms", 50.1).is_missed());
        assert!(!Figure::at_most("a", 50.0, "ms", 49.0).is_missed());
        assert!(Figure::at_least("a", 20.0, "commits", 19.0).is_missed());
        assert!(!Figure::at_least("a", 20.0, "commits", 21.0).is_missed());
        let shown = page_table(&[Figure::at_most("a", 50.0, "ms", 51.26).noting("why")]);
        assert!(shown.ends_with("| a | at most 50 ms | 51.3 ms (why) | MISSED |\n"), "{shown}");
    }
}
