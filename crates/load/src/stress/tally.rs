//! `Tally`: the results of a run, in total, by kind and by second.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::outcome::latencies;

/// The share of a CPU per thread above which the tool itself limits the load.
const OWN_CPU_MAX: f64 = 0.9;
/// Most seconds kept separately; the rest of a longer run counts in the totals only.
const SECONDS_MAX: usize = 100_000;

/// The result of one second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// Nanoseconds from the beginning of the run to the end of this second.
    pub at_ns: u64,
    /// The second's real length in nanoseconds.
    pub wall_ns: u64,
    /// Number of requests answered.
    pub requests: u64,
    /// Number of errors and connection faults.
    pub errors: u64,
    /// The median latency in nanoseconds; 0 if nothing was answered.
    pub p50_ns: u64,
    /// The 99th percentile of the latency in nanoseconds.
    pub p99_ns: u64,
}

impl Second {
    /// Returns the requests per second.
    #[expect(clippy::cast_precision_loss, reason = "a rate is for readers")]
    pub fn rate(&self) -> f64 {
        self.requests as f64 * 1e9 / self.wall_ns.max(1) as f64
    }

    /// Returns the same second with these latencies.
    pub(super) fn with(self, latencies: &Histogram<u64>) -> Self {
        let percentile = |share| match latencies.is_empty() {
            true => 0,
            false => latencies.value_at_quantile(share),
        };
        let requests = latencies.len();
        Self { requests, p50_ns: percentile(0.5), p99_ns: percentile(0.99), ..self }
    }
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Latencies of answered requests in nanoseconds: since the request was sent, or in an open
    /// loop since it was due.
    pub latencies: Histogram<u64>,
    /// In an open loop, latencies since the request was sent: what a closed loop would report.
    pub service: Histogram<u64>,
    /// The same as `latencies`, for each kind of request.
    pub kinds: Vec<Histogram<u64>>,
    /// Times from opening a connection to logged in.
    pub logins: Histogram<u64>,
    /// The server's errors by number. A request with two errors counts twice.
    pub errors: BTreeMap<i32, u64>,
    /// An example text of each error.
    pub error_texts: BTreeMap<i32, String>,
    /// Faults of connections, by their text.
    pub faults: BTreeMap<String, u64>,
    /// Number of requests with errors in their answers.
    pub failed: u64,
    /// Number of requests cancelled because of the timeout.
    pub timeouts: u64,
    /// Failed requests of each kind.
    pub kind_failures: Vec<u64>,
    /// Repeated requests, by the number of the error before.
    pub retries: BTreeMap<i32, u64>,
    /// Requests of an open loop that were due but never sent.
    pub never_sent: u64,
    /// Bytes of all requests, and of all answers.
    pub bytes: (u64, u64),
    /// Length of the run in nanoseconds.
    pub wall_ns: u64,
    /// CPU time of the threads that generated the load.
    pub own_cpu_ns: u64,
    /// Number of threads that generated the load.
    pub threads: usize,
    /// The results by second.
    pub seconds: Vec<Second>,
    /// Whether another process's part of the load was limited by its own CPU.
    pub(crate) has_slow_part: bool,
    second: Histogram<u64>,
    second_errors: u64,
}

impl Tally {
    /// Makes an empty tally for this many kinds of requests.
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
            kind_failures: vec![0; kinds],
            retries: BTreeMap::new(),
            never_sent: 0,
            bytes: (0, 0),
            wall_ns: 0,
            own_cpu_ns: 0,
            threads: 1,
            seconds: Vec::new(),
            has_slow_part: false,
            second: latencies(),
            second_errors: 0,
        }
    }

    /// Returns the requests answered, with or without errors.
    pub fn requests(&self) -> u64 {
        self.latencies.len()
    }

    /// Returns the requests answered per second.
    #[expect(clippy::cast_precision_loss, reason = "a rate is for readers")]
    pub fn rate(&self) -> f64 {
        self.requests() as f64 * 1e9 / self.wall_ns.max(1) as f64
    }

    /// Returns the CPU that the load's threads used together, in units of one CPU.
    #[expect(clippy::cast_precision_loss, reason = "a share is for readers")]
    pub fn own_cpu_share(&self) -> f64 {
        self.own_cpu_ns as f64 / self.wall_ns.max(1) as f64
    }

    /// Returns whether the tool itself limited the load.
    #[expect(clippy::cast_precision_loss, reason = "threads are few")]
    pub fn is_bottleneck(&self) -> bool {
        self.has_slow_part || self.own_cpu_share() > OWN_CPU_MAX * self.threads as f64
    }

    /// Adds the results of another thread or process in the same run, except its seconds.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.has_slow_part = self.is_bottleneck() || other.is_bottleneck();
        let pairs = [
            (&mut self.latencies, &other.latencies),
            (&mut self.service, &other.service),
            (&mut self.logins, &other.logins),
        ];
        for (own, more) in pairs.into_iter().chain(self.kinds.iter_mut().zip(&other.kinds)) {
            // Both histograms have the same bounds, so adding cannot fail.
            let _ = own.add(more);
        }
        let counts = [(&mut self.errors, &other.errors), (&mut self.retries, &other.retries)];
        for (own, more) in counts {
            for (number, count) in more {
                *own.entry(*number).or_default() += count;
            }
        }
        for (own, more) in self.kind_failures.iter_mut().zip(&other.kind_failures) {
            *own += more;
        }
        for (number, text) in &other.error_texts {
            self.error_texts.entry(*number).or_insert_with(|| text.clone());
        }
        for (what, count) in &other.faults {
            *self.faults.entry(what.clone()).or_default() += count;
        }
        self.failed += other.failed;
        self.timeouts += other.timeouts;
        self.never_sent += other.never_sent;
        self.bytes.0 += other.bytes.0;
        self.bytes.1 += other.bytes.1;
        self.wall_ns = self.wall_ns.max(other.wall_ns);
        self.own_cpu_ns += other.own_cpu_ns;
        self.threads += other.threads;
    }

    /// Returns the number of repeated requests, for all errors.
    pub fn retries_of_all(&self) -> u64 {
        self.retries.values().sum()
    }

    /// Returns the number of failed requests, timeouts and faults.
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

    /// Counts a failed request of a kind.
    pub(super) fn failed_of(&mut self, kind: usize, errors: impl Iterator<Item = (i32, String)>) {
        self.kind_failures[kind] += 1;
        self.failed(errors);
    }

    pub(super) fn failed(&mut self, errors: impl Iterator<Item = (i32, String)>) {
        self.failed += 1;
        self.second_errors += 1;
        for (number, text) in errors {
            *self.errors.entry(number).or_default() += 1;
            self.error_texts.entry(number).or_insert(text);
        }
    }

    pub(crate) fn fault(&mut self, text: &str) {
        self.second_errors += 1;
        *self.faults.entry(text.to_owned()).or_default() += 1;
    }

    pub(super) fn timed_out(&mut self) {
        self.second_errors += 1;
        self.timeouts += 1;
    }

    /// Ends a second of the run; returns its result.
    pub(super) fn end_second(&mut self, at_ns: u64) -> (Second, Histogram<u64>) {
        let begun_ns = self.seconds.last().map_or(0, |second| second.at_ns);
        let latencies = std::mem::replace(&mut self.second, latencies());
        let second = Second {
            at_ns,
            wall_ns: at_ns.saturating_sub(begun_ns),
            errors: std::mem::take(&mut self.second_errors),
            ..Second::default()
        };
        let second = second.with(&latencies);
        if self.seconds.len() < SECONDS_MAX {
            self.seconds.push(second);
        }
        (second, latencies)
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
        let (first, _) = tally.end_second(1_000_000_000);
        tally.fault("gone");
        let (second, _) = tally.end_second(2_500_000_000);
        assert_eq!((first.requests, first.errors, first.wall_ns), (2, 0, 1_000_000_000));
        assert_eq!((second.requests, second.errors, second.p99_ns), (0, 1, 0));
        assert_eq!(second.wall_ns, 1_500_000_000);
        assert_eq!((tally.requests(), tally.troubles()), (2, 1));
        assert_eq!((tally.kinds[0].len(), tally.kinds[1].len()), (1, 1));
    }

    #[test]
    fn one_slow_part_makes_the_tool_the_bottleneck() {
        let part = |own_cpu_ns| Tally { wall_ns: 1_000, own_cpu_ns, ..Tally::new(1) };
        let mut whole = part(300);
        whole.absorb(&part(400));
        assert!(!whole.is_bottleneck() && whole.threads == 2);
        whole.absorb(&part(950));
        assert!(whole.is_bottleneck(), "one of three threads could do no more");
        assert_eq!((whole.threads, whole.own_cpu_ns), (3, 1_650));
    }
}
