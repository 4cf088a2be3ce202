//! `Ratio`: estimates how all requests divide their time from those that are fully timed.
//!
//! Each timed unit has a total x and parts y_i. The share of part i is estimated as
//! sum(y_i)/sum(x), the classical ratio estimator; its standard error is `sqrt(sum((y - r x)^2) /
//! (n (n - 1))) / mean(x)` (Cochran, Sampling Techniques, 6.4).

use super::Counter;

/// The sums over the timed units of one thread; floats, stored as their bits.
#[derive(Debug)]
pub(super) struct Ratio<const N: usize> {
    units: Counter,
    x: Counter,
    xx: Counter,
    y: [Counter; N],
    yy: [Counter; N],
    xy: [Counter; N],
}

impl<const N: usize> Default for Ratio<N> {
    fn default() -> Self {
        let zeros = || std::array::from_fn(|_| Counter::new());
        Self {
            units: Counter::new(),
            x: Counter::new(),
            xx: Counter::new(),
            y: zeros(),
            yy: zeros(),
            xy: zeros(),
        }
    }
}

fn add_float(cell: &Counter, value: f64) {
    cell.set((f64::from_bits(cell.get()) + value).to_bits());
}

impl<const N: usize> Ratio<N> {
    /// Adds a timed unit. Only the owner may call it.
    pub(super) fn add(&self, parts: [u64; N]) {
        let x: u64 = parts.iter().sum();
        if x == 0 {
            return;
        }
        let x = x as f64;
        self.units.add(1);
        add_float(&self.x, x);
        add_float(&self.xx, x * x);
        for (i, part) in parts.into_iter().enumerate().filter(|&(_, part)| part != 0) {
            let y = part as f64;
            add_float(&self.y[i], y);
            add_float(&self.yy[i], y * y);
            add_float(&self.xy[i], x * y);
        }
    }

    /// Returns the sums so far.
    pub(super) fn sums(&self) -> RatioSums<N> {
        let read = |cells: &[Counter; N]| std::array::from_fn(|i| f64::from_bits(cells[i].get()));
        RatioSums {
            units: self.units.get(),
            x: f64::from_bits(self.x.get()),
            xx: f64::from_bits(self.xx.get()),
            y: read(&self.y),
            yy: read(&self.yy),
            xy: read(&self.xy),
        }
    }

    /// Adds the sums of another thread, which has ended.
    pub(super) fn absorb(&self, other: &Self) {
        let other = other.sums();
        self.units.add(other.units);
        add_float(&self.x, other.x);
        add_float(&self.xx, other.xx);
        for i in 0..N {
            add_float(&self.y[i], other.y[i]);
            add_float(&self.yy[i], other.yy[i]);
            add_float(&self.xy[i], other.xy[i]);
        }
    }
}

/// The sums of one thread or of several.
#[derive(Clone, Copy, Debug)]
pub(super) struct RatioSums<const N: usize> {
    pub(super) units: u64,
    x: f64,
    xx: f64,
    y: [f64; N],
    yy: [f64; N],
    xy: [f64; N],
}

impl<const N: usize> Default for RatioSums<N> {
    fn default() -> Self {
        Self { units: 0, x: 0.0, xx: 0.0, y: [0.0; N], yy: [0.0; N], xy: [0.0; N] }
    }
}

impl<const N: usize> RatioSums<N> {
    /// Adds the sums of another thread.
    pub(super) fn add(&mut self, other: &Self) {
        self.units += other.units;
        self.x += other.x;
        self.xx += other.xx;
        for i in 0..N {
            self.y[i] += other.y[i];
            self.yy[i] += other.yy[i];
            self.xy[i] += other.xy[i];
        }
    }

    /// The difference to an earlier reading.
    fn since(&self, then: &Self) -> Self {
        let less = |now: &[f64; N], then: &[f64; N]| std::array::from_fn(|i| now[i] - then[i]);
        Self {
            units: self.units - then.units,
            x: self.x - then.x,
            xx: self.xx - then.xx,
            y: less(&self.y, &then.y),
            yy: less(&self.yy, &then.yy),
            xy: less(&self.xy, &then.xy),
        }
    }

    /// The sums of `units` units with the same shares and errors.
    fn scaled_to(&self, units: u64) -> Self {
        let factor = units as f64 / (self.units as f64).max(1.0);
        let scale = |parts: &[f64; N]| parts.map(|part| part * factor);
        Self {
            units,
            x: self.x * factor,
            xx: self.xx * factor,
            y: scale(&self.y),
            yy: scale(&self.yy),
            xy: scale(&self.xy),
        }
    }

    /// The share of a part; `None` without a timed unit.
    pub(super) fn share(&self, i: usize) -> Option<f64> {
        (self.x > 0.0).then(|| self.y[i] / self.x)
    }

    /// The standard error of a share; `None` with fewer than two timed units.
    pub(super) fn share_error(&self, i: usize) -> Option<f64> {
        let share = self.share(i)?;
        if self.units < 2 {
            return None;
        }
        let n = self.units as f64;
        let squares = self.yy[i] - 2.0 * share * self.xy[i] + share * share * self.xx;
        let mean = self.x / n;
        Some((squares.max(0.0) / (n * (n - 1.0))).sqrt() / mean)
    }
}

/// The number of timed units that is enough for the shares of an interval; with fewer, the latest
/// units of earlier intervals count too.
const ENOUGH: u64 = 64;

/// The shares of the latest interval.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares<const N: usize> {
    /// The sums at the last interval's end.
    seen: RatioSums<N>,
    /// The latest units, which determine the shares.
    latest: RatioSums<N>,
    /// The fraction of them that is from earlier intervals.
    kept: f64,
    /// The total time of the interval's timed units.
    timed: f64,
}

impl<const N: usize> Shares<N> {
    /// Begins the next interval. A late call sees an interval without units.
    pub(super) fn advance(&mut self, now: &RatioSums<N>) {
        (self.kept, self.timed) = (1.0, 0.0);
        if now.units <= self.seen.units {
            return;
        }
        let new = now.since(&self.seen);
        self.seen = *now;
        self.timed = new.x;
        let wanted = ENOUGH.saturating_sub(new.units);
        let old = self.latest;
        self.latest = old.scaled_to(wanted.min(old.units));
        self.kept = self.latest.units as f64 / (old.units as f64).max(1.0);
        self.latest.add(&new);
    }

    /// Whether there has been a timed unit since the start.
    pub(super) fn are_known(&self) -> bool {
        self.latest.x > 0.0
    }

    /// The fraction of an interval's `ticks` that was not timed.
    pub(super) fn untimed_part(&self, ticks: u64) -> f64 {
        (1.0 - self.timed / (ticks as f64).max(1.0)).clamp(0.0, 1.0)
    }

    /// Splits `ticks` of an interval that were not timed. `leaned` are ticks of earlier intervals
    /// that were split by the same units and so have the same errors.
    pub(super) fn split(&self, ticks: f64, leaned: &mut f64) -> Split<'_, N> {
        let before = *leaned * self.kept;
        *leaned = before + ticks;
        Split { latest: &self.latest, squared: ticks * (ticks + 2.0 * before) }
    }
}

/// How an interval's time is split.
#[derive(Debug)]
pub(super) struct Split<'a, const N: usize> {
    latest: &'a RatioSums<N>,
    squared: f64,
}

impl<const N: usize> Split<'_, N> {
    /// The share of a part; `None` if there has never been a timed unit.
    pub(super) fn share(&self, i: usize) -> Option<f64> {
        self.latest.share(i)
    }

    /// The growth of the variance of a part's sum; `None` with fewer than two timed units.
    pub(super) fn variance(&self, i: usize) -> Option<f64> {
        self.latest.share_error(i).map(|error| error * error * self.squared)
    }
}

#[cfg(test)]
mod tests;
