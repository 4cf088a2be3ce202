//! A row of the results, as one line of JSON.

use std::io::Write;

/// The result of one lock over all rounds.
pub(crate) struct Row {
    pub(crate) bench: &'static str,
    pub(crate) form: &'static str,
    pub(crate) threads: usize,
    /// Writes in a hundred operations; `None` if there are only reads.
    pub(crate) writes: Option<u32>,
    pub(crate) unit: &'static str,
    pub(crate) values: Vec<f64>,
}

pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.get(sorted.len().saturating_sub(1) / 2), sorted.get(sorted.len() / 2)) {
        (Some(lower), Some(upper)) => f64::midpoint(*lower, *upper),
        _ => f64::NAN,
    }
}

impl Row {
    /// Prints the row; a closed stdout is no reason to fail.
    pub(crate) fn print(&self) {
        let Self { bench, form, threads, unit, values, .. } = self;
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let writes = self.writes.map_or_else(|| "null".to_owned(), |writes| writes.to_string());
        let numbers = match values.is_empty() {
            true => "\"median\":null,\"min\":null,\"max\":null".to_owned(),
            false => {
                let median = median(values);
                format!("\"median\":{median:.3},\"min\":{min:.3},\"max\":{max:.3}")
            }
        };
        let _ = writeln!(
            std::io::stdout().lock(),
            "{{\"bench\":\"{bench}\",\"form\":\"{form}\",\"threads\":{threads},\
             \"writes_percent\":{writes},\"unit\":\"{unit}\",{numbers},\"windows\":{}}}",
            values.len()
        );
    }
}
