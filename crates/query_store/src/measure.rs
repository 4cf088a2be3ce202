//! `Measure`: total, last, minimum, maximum and deviation of a figure over the executions of an
//! interval.

use plan::stats::{Deviation, Extremes};

/// A figure over the executions of an interval, in its unit: microseconds, rows, schedulers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    /// The sum over all executions.
    pub total: f64,
    /// The figure of the last execution.
    pub last: f64,
    /// Minimum and maximum, where they are known.
    pub extremes: Option<(f64, f64)>,
    /// Number, sum and sum of squares of the executions that were measured one by one.
    pub spread: Deviation,
}

impl Measure {
    /// Adds a later part of the interval.
    pub fn absorb(&mut self, later: &Self) {
        self.total += later.total;
        self.last = later.last;
        self.extremes = match (self.extremes, later.extremes) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (one, None) | (None, one) => one,
        };
        self.spread.count += later.spread.count;
        self.spread.sum += later.spread.sum;
        self.spread.squares += later.spread.squares;
    }

    /// Returns the average over a number of executions.
    #[must_use]
    pub fn average(&self, executions: f64) -> f64 {
        if executions > 0.0 { self.total / executions } else { 0.0 }
    }

    /// Returns the minimum. Executions that were not measured one by one are in the average only, so
    /// that is a bound, too.
    #[must_use]
    pub fn least(&self, executions: f64) -> f64 {
        let average = self.average(executions);
        self.extremes.map_or(average, |(least, _)| least.min(average))
    }

    /// Returns the maximum, of which [`Self::least`] says how exact it is.
    #[must_use]
    pub fn most(&self, executions: f64) -> f64 {
        let average = self.average(executions);
        self.extremes.map_or(average, |(_, most)| most.max(average))
    }

    /// Returns the standard deviation.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let Deviation { count, sum, squares } = self.spread;
        if count < 2.0 {
            return 0.0;
        }
        (squares / count - (sum / count) * (sum / count)).max(0.0).sqrt()
    }

    /// Returns the measure in another unit.
    #[must_use]
    pub fn scaled(&self, by: f64) -> Self {
        Self {
            total: self.total * by,
            last: self.last * by,
            extremes: self.extremes.map(|(least, most)| (least * by, most * by)),
            spread: Deviation {
                count: self.spread.count,
                sum: self.spread.sum * by,
                squares: self.spread.squares * by * by,
            },
        }
    }
}

/// Converts extremes to floating point numbers.
#[expect(clippy::cast_precision_loss, reason = "figures of statistics")]
pub(crate) fn floats(extremes: Extremes) -> Option<(f64, f64)> {
    extremes.get().map(|(least, most)| (least as f64, most as f64))
}

/// Returns what was added to a deviation's sums.
pub(crate) fn added(now: Deviation, before: Deviation) -> Deviation {
    Deviation {
        count: (now.count - before.count).max(0.0),
        sum: (now.sum - before.sum).max(0.0),
        squares: (now.squares - before.squares).max(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Measure {
        let sum = values.iter().sum();
        Measure {
            total: sum,
            last: values[values.len() - 1],
            extremes: Some((
                values.iter().copied().fold(f64::MAX, f64::min),
                values.iter().copied().fold(0.0, f64::max),
            )),
            spread: Deviation {
                count: values.iter().map(|_| 1.0).sum(),
                sum,
                squares: values.iter().map(|n| n * n).sum(),
            },
        }
    }

    #[test]
    fn parts_of_an_interval_are_as_the_whole() {
        let mut sum = of(&[2.0, 4.0]);
        sum.absorb(&of(&[4.0, 4.0, 5.0, 5.0, 7.0, 9.0]));
        assert_eq!(sum, of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]));
        assert_eq!((sum.average(8.0), sum.deviation()), (5.0, 2.0));
        assert_eq!((sum.least(8.0), sum.most(8.0)), (2.0, 9.0));
        let in_ms = sum.scaled(0.5);
        assert_eq!((in_ms.deviation(), in_ms.most(8.0)), (1.0, 4.5));
    }

    #[test]
    fn the_average_is_between_the_extremes_also_if_few_executions_were_measured() {
        let mut measure = of(&[3.0]);
        measure.total = 640.0;
        assert_eq!(
            (measure.average(64.0), measure.least(64.0), measure.most(64.0)),
            (10.0, 3.0, 10.0)
        );
        assert_eq!(Measure::default().deviation(), 0.0);
    }
}
