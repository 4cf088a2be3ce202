//! `Tally`: what a stretch of load found, in all, by kind and by second.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::outcome::latencies;

/// Seconds that are kept apart; of a longer run the rest is in the totals only.
const SECONDS_MAX: usize = 100_000;

/// A second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// Nanoseconds from the beginning of the run to the end of this second.
    pub at_ns: u64,
    /// How long it really was.
    pub wall_ns: u64,
    /// Requests answered.
    pub requests: u64,
    /// Errors and faults.
    pub errors: u64,
    /// The median latency in nanoseconds; 0 if nothing was answered.
    pub p50_ns: u64,
    /// The latency that 99 of 100 did not exceed.
    pub p99_ns: u64,
}

impl Second {
    /// Requests per second.
    #[expect(clippy::cast_precision_loss, reason = "a rate is for readers")]
    pub fn rate(&self) -> f64 {
        self.requests as f64 * 1e9 / self.wall_ns.max(1) as f64
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Latencies of answered requests in nanoseconds: from when a request was sent, or in an open loop from
    /// when it should have been sent.
    pub latencies: Histogram<u64>,
    /// In an open loop, from when it really was sent: what a closed loop would have reported.
    pub service: Histogram<u64>,
    /// The same as `latencies`, for each kind of the work.
    pub kinds: Vec<Histogram<u64>>,
    /// From nothing to logged in.
    pub logins: Histogram<u64>,
    /// Errors of the server by number. A request with two errors counts in two places.
    pub errors: BTreeMap<i32, u64>,
    /// An example of each error.
    pub error_texts: BTreeMap<i32, String>,
    /// What went wrong with connections, in words.
    pub faults: BTreeMap<String, u64>,
    /// Requests with errors in their answers.
    pub failed: u64,
    /// Requests cancelled because they took too long.
    pub timeouts: u64,
    /// Requests sent again after an error that says to.
    pub retries: u64,
    /// Requests of an open loop that were due and never sent.
    pub never_sent: u64,
    /// Bytes of requests, and of answers.
    pub bytes: (u64, u64),
    /// How long it took.
    pub wall_ns: u64,
    /// CPU time of the thread that put the load.
    pub own_cpu_ns: u64,
    /// The run by seconds.
    pub seconds: Vec<Second>,
    second: Histogram<u64>,
    second_errors: u64,
}

impl Tally {
    /// Nothing found yet, of so many kinds.
    pub fn new(kinds: usize) -> Self {
        Self {
            latencies: latencies(),
            service: latencies(),
            kinds: vec![latencies(); kinds],
            logins: latencies(),
            errors: BTreeMap::new(),
            error_texts: BTreeMap::new(),
            faults: BTreeMap::new(),
            failed: 0,
            timeouts: 0,
            retries: 0,
            never_sent: 0,
            bytes: (0, 0),
            wall_ns: 0,
            own_cpu_ns: 0,
            seconds: Vec::new(),
            second: latencies(),
            second_errors: 0,
        }
    }

    /// Requests answered, with or without errors in them.
    pub fn requests(&self) -> u64 {
        self.latencies.len()
    }

    /// Requests answered per second.
    #[expect(clippy::cast_precision_loss, reason = "a rate is for readers")]
    pub fn rate(&self) -> f64 {
        self.requests() as f64 * 1e9 / self.wall_ns.max(1) as f64
    }

    /// The share of a CPU that the load took itself.
    #[expect(clippy::cast_precision_loss, reason = "a share is for readers")]
    pub fn own_cpu_share(&self) -> f64 {
        self.own_cpu_ns as f64 / self.wall_ns.max(1) as f64
    }

    /// Whatever went wrong: failed requests, timeouts and faults.
    pub fn troubles(&self) -> u64 {
        self.failed + self.timeouts + self.faults.values().sum::<u64>()
    }

    #[inline]
    pub(super) fn answered(&mut self, kind: usize, latency_ns: u64, service_ns: u64) {
        let latency_ns = latency_ns.max(1);
        self.latencies.saturating_record(latency_ns);
        self.service.saturating_record(service_ns.max(1));
        self.second.saturating_record(latency_ns);
        self.kinds[kind].saturating_record(latency_ns);
    }

    pub(super) fn failed(&mut self, errors: impl Iterator<Item = (i32, String)>) {
        self.failed += 1;
        self.second_errors += 1;
        for (number, text) in errors {
            *self.errors.entry(number).or_default() += 1;
            self.error_texts.entry(number).or_insert(text);
        }
    }

    pub(super) fn fault(&mut self, text: &str) {
        self.second_errors += 1;
        *self.faults.entry(text.to_owned()).or_default() += 1;
    }

    pub(super) fn timed_out(&mut self) {
        self.second_errors += 1;
        self.timeouts += 1;
    }

    /// Ends a second of the run, and says what was in it.
    pub(super) fn end_second(&mut self, at_ns: u64) -> Second {
        let begun_ns = self.seconds.last().map_or(0, |second| second.at_ns);
        let percentile = |share| match self.second.is_empty() {
            true => 0,
            false => self.second.value_at_quantile(share),
        };
        let second = Second {
            at_ns,
            wall_ns: at_ns.saturating_sub(begun_ns),
            requests: self.second.len(),
            errors: std::mem::take(&mut self.second_errors),
            p50_ns: percentile(0.5),
            p99_ns: percentile(0.99),
        };
        self.second.reset();
        if self.seconds.len() < SECONDS_MAX {
            self.seconds.push(second);
        }
        second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_hold_what_came_in_them() {
        let mut tally = Tally::new(2);
        tally.answered(0, 1_000, 1_000);
        tally.answered(1, 3_000_000, 1_000);
        let first = tally.end_second(1_000_000_000);
        tally.fault("gone");
        let second = tally.end_second(2_500_000_000);
        assert_eq!((first.requests, first.errors, first.wall_ns), (2, 0, 1_000_000_000));
        assert_eq!((second.requests, second.errors, second.p99_ns), (0, 1, 0));
        assert_eq!(second.wall_ns, 1_500_000_000);
        assert_eq!((tally.requests(), tally.troubles()), (2, 1));
        assert_eq!((tally.kinds[0].len(), tally.kinds[1].len()), (1, 1));
    }
}
