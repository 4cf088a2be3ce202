//! `Outcome`: latencies, errors and costs of a run of load.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::answer::Answer;

/// The longest latency that is recorded exactly: an hour. A longer one counts as an hour.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;
/// Significant digits of a latency, from a microsecond up.
const DIGITS: u8 = 3;

/// Latencies, errors and costs of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Latencies in nanoseconds, from before a request was sent until its answer was read.
    pub latencies: Histogram<u64>,
    /// Errors of the server by their number.
    pub errors: BTreeMap<i32, u64>,
    /// Answers without an error that differ from the expected one.
    pub wrong_answers: u64,
    /// Text of the first error or wrong answer.
    pub first_trouble: Option<String>,
    /// How long the run took.
    pub wall_ns: u64,
    /// CPU time of the generator itself.
    pub own_cpu_ns: u64,
}

impl Default for Outcome {
    fn default() -> Self {
        Self {
            latencies: latencies(),
            errors: BTreeMap::new(),
            wrong_answers: 0,
            first_trouble: None,
            wall_ns: 0,
            own_cpu_ns: 0,
        }
    }
}

impl Outcome {
    /// Returns the number of answers, right or wrong.
    pub fn requests(&self) -> u64 {
        self.latencies.len()
    }

    /// Returns the answers per second.
    #[expect(clippy::cast_precision_loss, reason = "a rate is for readers")]
    pub fn requests_per_second(&self) -> f64 {
        self.requests() as f64 * 1e9 / self.wall_ns.max(1) as f64
    }

    /// Returns the latency in nanoseconds that `percent` per cent of the requests did not exceed.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        self.latencies.value_at_quantile(percent / 100.0)
    }

    /// Returns the number of answers that were errors or wrong.
    pub fn troubles(&self) -> u64 {
        self.errors.values().sum::<u64>() + self.wrong_answers
    }

    /// Adds the outcome of another run.
    pub fn add(&mut self, other: &Self) {
        self.latencies += &other.latencies;
        for (number, count) in &other.errors {
            *self.errors.entry(*number).or_default() += count;
        }
        self.wrong_answers += other.wrong_answers;
        self.first_trouble = self.first_trouble.take().or_else(|| other.first_trouble.clone());
        self.wall_ns += other.wall_ns;
        self.own_cpu_ns += other.own_cpu_ns;
    }

    pub(crate) fn record(&mut self, latency_ns: u64) {
        self.latencies.saturating_record(latency_ns.max(1));
    }

    /// Finds what is wrong with an answer, and counts it.
    #[cold]
    pub(crate) fn count_trouble(&mut self, packets: &[u8]) {
        let answer = Answer::decode(packets);
        let mut is_error = false;
        if let Ok(answer) = &answer {
            for error in answer.errors() {
                is_error = true;
                *self.errors.entry(error.number).or_default() += 1;
            }
        }
        self.wrong_answers += u64::from(!is_error);
        self.first_trouble.get_or_insert_with(|| match answer.and_then(Answer::check) {
            Ok(answer) => format!("{} bytes: {:?}", packets.len(), answer.tokens),
            Err(what) => what,
        });
    }
}

/// Returns an empty histogram of latencies in nanoseconds.
pub(crate) fn latencies() -> Histogram<u64> {
    // Counting from a nanosecond makes the third digit of a microsecond exact as well.
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS).expect("the bounds are in order")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_exact_from_a_microsecond_to_an_hour() {
        for latency_ns in [1_001, 123_456, 7_654_321_000, LATENCY_NS_MAX] {
            let mut outcome = Outcome::default();
            outcome.record(latency_ns);
            let found = outcome.percentile_ns(50.0);
            assert!(found.abs_diff(latency_ns) * 1_000 <= latency_ns, "{latency_ns}: {found}");
        }
    }

    #[test]
    fn percentiles_are_of_all_runs_added() {
        let mut sum = Outcome::default();
        for part in 0..10 {
            let mut outcome = Outcome { wall_ns: 1_000_000_000, ..Outcome::default() };
            (1..=100).for_each(|step| outcome.record((part * 100 + step) * 1_000));
            sum.add(&outcome);
        }
        assert_eq!(sum.requests(), 1_000);
        assert!((sum.requests_per_second() - 100.0).abs() < 1e-9);
        for (percent, micros) in [(50.0, 500_u64), (99.0, 990), (99.9, 999)] {
            let found = sum.percentile_ns(percent);
            assert!(found.abs_diff(micros * 1_000) <= 2_000, "p{percent}: {found}");
        }
    }
}
