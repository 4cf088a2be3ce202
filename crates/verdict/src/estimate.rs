//! `Estimate`: a mean with a 95 % confidence interval, from sub-windows of one recording.

/// Quantiles of Student's distribution for two-sided 95 %, by degrees of freedom from 1 to 30.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// A mean and its confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The mean over all sub-windows.
    pub mean: f64,
    /// Lower end of the 95 % confidence interval.
    pub low: f64,
    /// Upper end of the 95 % confidence interval.
    pub high: f64,
}

impl Estimate {
    /// Estimates the ratio of two sums from pairs of sub-windows: `above` per `below`. With one
    /// pair the interval is open: from 0 to infinity. Zero if `below` is zero throughout.
    #[must_use]
    pub fn ratio(pairs: &[(f64, f64)]) -> Self {
        let above: f64 = pairs.iter().map(|pair| pair.0).sum();
        let below: f64 = pairs.iter().map(|pair| pair.1).sum();
        if below <= 0.0 {
            return Self::default();
        }
        let mean = above / below;
        let count = as_float(pairs.len());
        if pairs.len() < 2 {
            return Self { mean, low: 0.0, high: f64::INFINITY };
        }
        let square = |pair: &(f64, f64)| (pair.0 - mean * pair.1).powi(2);
        let squares: f64 = pairs.iter().map(square).sum();
        let error = (squares / (count * (count - 1.0))).sqrt() / (below / count);
        let half = student(pairs.len() - 1) * error;
        Self { mean, low: (mean - half).max(0.0), high: mean + half }
    }

    /// Returns whether the two intervals have a point in common.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Returns half of the interval's length.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// Returns a time for people: microseconds, or a larger unit where they are many.
#[must_use]
pub fn time(us: f64) -> String {
    match us {
        _ if us < 10_000.0 => format!("{us:.0} us"),
        _ if us < 100_000.0 => format!("{:.1} ms", us / 1e3),
        _ if us < 10_000_000.0 => format!("{:.0} ms", us / 1e3),
        _ => format!("{:.1} s", us / 1e6),
    }
}

fn student(degrees: usize) -> f64 {
    let last = STUDENT.len();
    STUDENT.get(degrees.clamp(1, last) - 1).copied().unwrap_or(1.96)
}

/// Converts a count of sub-windows.
#[expect(clippy::cast_precision_loss, reason = "counts of rows and windows are small")]
fn as_float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_that_people_read() {
        let read = [999.6, 9_999.4, 37_045.0, 370_450.0, 12_345_678.0].map(time);
        assert_eq!(read, ["1000 us", "9999 us", "37.0 ms", "370 ms", "12.3 s"]);
    }

    #[test]
    fn equal_windows_have_no_width() {
        let found = Estimate::ratio(&[(10.0, 2.0), (20.0, 4.0), (5.0, 1.0)]);
        assert_eq!(found, Estimate { mean: 5.0, low: 5.0, high: 5.0 });
    }

    #[test]
    fn width_is_that_of_students_distribution() {
        // Mean 2, standard error 1: the quantile for two degrees of freedom is 4.303.
        let found =
            Estimate::ratio(&[(2.0, 1.0), (2.0 - 3_f64.sqrt(), 1.0), (2.0 + 3_f64.sqrt(), 1.0)]);
        assert!((found.mean - 2.0).abs() < 1e-9);
        assert!((found.high - 2.0 - 4.303).abs() < 1e-9, "{found:?}");
        assert!(found.low.abs() < 1e-9, "a time is not negative");
    }

    #[test]
    fn one_window_knows_nothing_of_its_error() {
        let found = Estimate::ratio(&[(3.0, 1.0)]);
        assert_eq!((found.mean, found.low, found.high), (3.0, 0.0, f64::INFINITY));
        assert_eq!(Estimate::ratio(&[(3.0, 0.0)]), Estimate::default());
        assert!(found.overlaps(&Estimate { mean: 9.0, low: 8.0, high: 10.0 }));
    }
}
