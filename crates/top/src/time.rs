//! Where the time goes: readings of the ledger, or of waits where there is no ledger, as active
//! time per second.

use std::collections::{BTreeMap, VecDeque};

pub use verdict::category::Category;

use crate::difference::{Clock, grown};
use crate::rows::Row;

/// How many samples are kept: an hour at one per second.
const SAMPLES_MAX: usize = 3_600;

/// Active seconds per second of each category, in the order of [`Category::ALL`].
pub type Active = [f64; Category::ALL.len()];

/// What happened between two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// Active time of each category.
    Known(Active),
    /// The server was away, or was restarted.
    Gap,
}

/// A leaf of the ledger and its time per second between the last two readings.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The branch that it is on.
    pub category: Category,
    /// A wait type, a lock class or a part of the engine.
    pub name: String,
    /// Active seconds per second.
    pub active: f64,
    /// How often it was entered per second.
    pub entries: f64,
}

/// One reading of time.
#[derive(Clone, Debug, Default)]
struct Reading {
    clock: Clock,
    /// Nanoseconds and entries of each leaf.
    leaves: BTreeMap<(Category, String), (u64, u64)>,
}

/// Samples of the last hour, oldest first.
#[derive(Clone, Debug, Default)]
pub struct History {
    last: Option<Reading>,
    samples: VecDeque<Sample>,
    /// How many samples there were, those that are no longer kept included.
    pushed: usize,
    leaves: Vec<Leaf>,
    /// Our own session's CPU time in milliseconds, and the seconds in which it used them.
    own_ms: u64,
    own_seconds: f64,
}

impl History {
    /// Takes the two results of a question about time.
    pub fn take(&mut self, results: &[Vec<Row>], local_ns: u64) {
        let Some(clock) = results.first().and_then(|rows| rows.first()) else { return };
        let clock = Clock::from_row(clock, local_ns);
        let rows = results.get(1).map_or(&[][..], Vec::as_slice);
        let mut reading = Reading { leaves: leaves(rows, &clock), clock };
        if let Some(before) = &self.last {
            match reading.clock.seconds_since(before.clock()) {
                Some(seconds) => {
                    // A leaf that is missing now must not count from zero when it comes back.
                    for (key, sums) in &before.leaves {
                        reading.leaves.entry(key.clone()).or_insert(*sums);
                    }
                    self.leaves = differences(before, &reading, seconds);
                    let own_before = before.clock.own_cpu_ms;
                    self.own_ms += grown(own_before, reading.clock.own_cpu_ms);
                    self.own_seconds += seconds;
                    let active = sum(&self.leaves);
                    self.push(Sample::Known(active));
                }
                // The same instant twice: the next reading has the time of both.
                None if before.clock.start_ticks_ms == reading.clock.start_ticks_ms => return,
                None => self.push(Sample::Gap),
            }
        }
        self.last = Some(reading);
    }

    /// Notes that the server was away: the next reading starts again.
    pub fn interrupt(&mut self) {
        if self.last.take().is_some() {
            self.push(Sample::Gap);
        }
        self.leaves.clear();
    }

    /// Returns the clocks of the last reading.
    #[must_use]
    pub fn clock(&self) -> Option<&Clock> {
        self.last.as_ref().map(Reading::clock)
    }

    /// Returns the samples, oldest first.
    #[must_use]
    pub fn samples(&self) -> &VecDeque<Sample> {
        &self.samples
    }

    /// Returns the means of each `span` samples, oldest first, `columns` of them at most. The same
    /// samples are always taken together, so that a picture moves only when a span is over.
    #[must_use]
    pub fn spans(&self, span: usize, columns: usize) -> Vec<Option<Active>> {
        let span = span.max(1);
        let mut samples = self.samples.clone();
        let samples = &*samples.make_contiguous();
        let newest = match self.pushed % span {
            0 => span,
            rest => rest,
        };
        let (rest, newest) = samples.split_at(samples.len().saturating_sub(newest));
        let older = rest.rchunks(span).map(mean);
        let newest = (!newest.is_empty()).then(|| mean(newest));
        let mut means: Vec<_> = newest.into_iter().chain(older).take(columns).collect();
        means.reverse();
        means
    }

    /// Returns the leaves of the last sample, largest first.
    #[must_use]
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Returns the CPU time of our own session in milliseconds, and the seconds in which it used
    /// them.
    #[must_use]
    pub fn own(&self) -> (u64, f64) {
        (self.own_ms, self.own_seconds)
    }

    fn push(&mut self, sample: Sample) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.pushed += 1;
        self.samples.push_back(sample);
    }
}

impl Reading {
    const fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// Reads the leaves. Without a ledger, the CPU time of the process is shown as user and kernel.
fn leaves(rows: &[Row], clock: &Clock) -> BTreeMap<(Category, String), (u64, u64)> {
    let key = |row: &Row| (Category::from_name(row.text(0)), row.text(1).to_owned());
    let mut leaves: BTreeMap<_, _> =
        rows.iter().map(|row| (key(row), (row.count(2), row.count(3)))).collect();
    let has_cpu = leaves.keys().any(|(category, _)| *category == Category::User);
    if !has_cpu {
        for (category, ms) in [(Category::User, clock.user_ms), (Category::Kernel, clock.kernel_ms)]
        {
            leaves.insert((category, "process".to_owned()), (ms.saturating_mul(1_000_000), 0));
        }
    }
    leaves
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn differences(before: &Reading, after: &Reading, seconds: f64) -> Vec<Leaf> {
    let of = |((category, name), (ns, entries)): (&(Category, String), &(u64, u64))| {
        let (ns_before, entries_before) =
            before.leaves.get(&(*category, name.clone())).copied().unwrap_or_default();
        Leaf {
            category: *category,
            name: name.clone(),
            active: grown(ns_before, *ns) as f64 / 1e9 / seconds,
            entries: grown(entries_before, *entries) as f64 / seconds,
        }
    };
    let mut leaves: Vec<Leaf> = after.leaves.iter().map(of).collect();
    leaves.retain(|leaf| leaf.active > 0.0 || leaf.entries > 0.0);
    leaves.sort_by(|a, b| b.active.total_cmp(&a.active).then_with(|| a.name.cmp(&b.name)));
    leaves
}

fn sum(leaves: &[Leaf]) -> Active {
    let mut active = Active::default();
    for leaf in leaves {
        active[leaf.category as usize] += leaf.active;
    }
    active
}

/// Returns the mean of some samples, or `None` if there is a gap among them or none at all.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a count of samples is small")]
pub fn mean(samples: &[Sample]) -> Option<Active> {
    let mut total = Active::default();
    for sample in samples {
        let Sample::Known(active) = sample else { return None };
        total.iter_mut().zip(active).for_each(|(sum, part)| *sum += part);
    }
    let count = samples.len() as f64;
    (!samples.is_empty()).then(|| total.map(|sum| sum / count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(start: i64, ms: i64, wait_ns: u64) -> Vec<Vec<Row>> {
        let clock = format!("{ms}\t{start}\t10:00:00\t5\t2\t{ms}\t0\t{}", ms / 100);
        let wait = format!("wait\tLCK_M_X\t{wait_ns}\t3");
        vec![vec![Row::from_record(&clock)], vec![Row::from_record(&wait)]]
    }

    fn waits(history: &History) -> Vec<Option<f64>> {
        let of = |sample: &Sample| match sample {
            Sample::Known(active) => Some(active[Category::Wait as usize]),
            Sample::Gap => None,
        };
        history.samples().iter().map(of).collect()
    }

    #[test]
    fn order_of_all_is_the_order_of_the_discriminants() {
        for (index, category) in Category::ALL.into_iter().enumerate() {
            assert_eq!(category as usize, index);
            assert_eq!(Category::from_name(category.name()), category);
        }
        assert_eq!(Category::from_name("of a later version"), Category::Foreign);
    }

    #[test]
    fn difference_is_per_second_of_the_server() {
        let mut history = History::default();
        history.take(&reading(0, 1_000, 1_000_000_000), 0);
        assert!(history.samples().is_empty(), "one reading is no difference");
        history.take(&reading(0, 3_000, 5_000_000_000), 1);
        assert_eq!(waits(&history), [Some(2.0)]);
        assert_eq!(history.own(), (20, 2.0));
    }

    #[test]
    fn cpu_of_the_process_replaces_a_missing_ledger() {
        let mut history = History::default();
        history.take(&reading(0, 1_000, 0), 0);
        history.take(&reading(0, 2_000, 0), 0);
        let leaf = &history.leaves()[0];
        assert_eq!(
            (leaf.category, leaf.name.as_str(), leaf.active),
            (Category::User, "process", 1.0)
        );
    }

    #[test]
    fn restart_is_a_gap_and_not_a_difference() {
        let mut history = History::default();
        history.take(&reading(0, 1_000, 9_000_000_000), 0);
        history.take(&reading(500, 2_000, 1_000), 0);
        history.take(&reading(500, 3_000, 1_000_001_000), 0);
        assert_eq!(waits(&history), [None, Some(1.0)]);
    }

    #[test]
    fn reset_counter_has_grown_from_zero() {
        let mut history = History::default();
        history.take(&reading(0, 1_000, 9_000_000_000), 0);
        history.take(&reading(0, 2_000, 500_000_000), 0);
        assert_eq!(waits(&history), [Some(0.5)]);
    }

    #[test]
    fn leaf_that_was_missing_once_goes_on_where_it_was() {
        let mut history = History::default();
        history.take(&reading(0, 1_000, 9_000_000_000), 0);
        let without = vec![reading(0, 2_000, 0).swap_remove(0), Vec::new()];
        history.take(&without, 0);
        history.take(&reading(0, 3_000, 10_000_000_000), 0);
        assert_eq!(waits(&history), [Some(0.0), Some(1.0)]);
    }

    #[test]
    fn lost_connection_is_one_gap() {
        let mut history = History::default();
        history.take(&reading(0, 1_000, 0), 0);
        history.interrupt();
        history.interrupt();
        history.take(&reading(0, 9_000, 0), 0);
        assert_eq!(waits(&history), [None]);
        assert!(mean(&[Sample::Gap]).is_none());
    }

    #[test]
    fn spans_hold_the_same_samples_as_time_passes() {
        let mut history = History::default();
        let waits = |history: &History| -> Vec<f64> {
            let wait =
                |active: &Option<Active>| active.map_or(-1.0, |a| a[Category::Wait as usize]);
            history.spans(2, 3).iter().map(wait).collect()
        };
        assert!(waits(&history).is_empty());
        let mut ns = 0;
        for second in 0..=5_u64 {
            ns += second * 1_000_000_000;
            history.take(&reading(0, 1_000 + 1_000 * second as i64, ns), 0);
        }
        assert_eq!(waits(&history), [1.5, 3.5, 5.0]);
        history.interrupt();
        assert_eq!(waits(&history), [1.5, 3.5, -1.0], "a span with a gap is unknown");
    }

    #[test]
    fn history_has_a_limit() {
        let mut history = History::default();
        for second in 0..=i64::try_from(SAMPLES_MAX).unwrap_or(0) + 10 {
            history.take(&reading(0, 1_000 * (second + 1), 0), 0);
        }
        assert_eq!(history.samples().len(), SAMPLES_MAX);
    }
}
