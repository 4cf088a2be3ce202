//! `Usl`: Gunther's Universal Scalability Law, fitted to a sweep.
//!
//! `X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))`: throughput `X` of `N` users, where
//! `sigma` is the serial share of the work and `kappa` the cost of each pair of users (N. Gunther,
//! Guerrilla Capacity Planning, 2007).

/// A coefficient that is negative by less than this is zero.
const ROUNDING: f64 = 1e-9;

/// The coefficients of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// Requests per second of one user.
    pub lambda: f64,
    /// Contention: the share of work that is serial.
    pub sigma: f64,
    /// Coherency: the cost of each pair of users.
    pub kappa: f64,
}

impl Usl {
    /// Fits the law to pairs of users and requests per second, by least squares of relative errors.
    /// `None` with fewer than three different numbers of users.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        // N / X is a polynomial in N, so that the fit is linear: N / X = a + b (N - 1) + c N (N -
        // 1), with a = 1 / lambda, b = sigma a, c = kappa a. Relative errors of X are relative
        // errors of N / X.
        let usable: Vec<(f64, f64)> =
            points.iter().copied().filter(|(n, x)| *n >= 1.0 && *x > 0.0).collect();
        let mut users: Vec<f64> = usable.iter().map(|(n, _)| *n).collect();
        users.sort_by(f64::total_cmp);
        users.dedup();
        if users.len() < 3 {
            return None;
        }
        // A negative coefficient has no meaning: the law is fitted again without it.
        for kept in [[true, true], [true, false], [false, true], [false, false]] {
            let [a, b, c] = solve(&usable, kept)?;
            let (sigma, kappa) = (b / a, c / a);
            if a > 0.0 && sigma >= -ROUNDING && kappa >= -ROUNDING {
                return Some(Self {
                    lambda: 1.0 / a,
                    sigma: sigma.max(0.0),
                    kappa: kappa.max(0.0),
                });
            }
        }
        None
    }

    /// Returns the throughput of `users` users.
    pub fn throughput(&self, users: f64) -> f64 {
        let cost = 1.0 + self.sigma * (users - 1.0) + self.kappa * users * (users - 1.0);
        self.lambda * users / cost
    }

    /// Returns the number of users with the most throughput; `None` if it never falls.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0).then(|| ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0))
    }
}

/// Solves the weighted normal equations; terms that are not kept are 0.
fn solve(points: &[(f64, f64)], kept: [bool; 2]) -> Option<[f64; 3]> {
    let mut matrix = [[0.0; 4]; 3];
    for &(n, x) in points {
        let y = n / x;
        let terms =
            [1.0, if kept[0] { n - 1.0 } else { 0.0 }, if kept[1] { n * (n - 1.0) } else { 0.0 }];
        let weight = 1.0 / (y * y);
        for row in 0..3 {
            for column in 0..3 {
                matrix[row][column] += weight * terms[row] * terms[column];
            }
            matrix[row][3] += weight * terms[row] * y;
        }
    }
    for (index, is_kept) in kept.into_iter().enumerate() {
        if !is_kept {
            matrix[index + 1][index + 1] = 1.0;
        }
    }
    eliminate(matrix)
}

/// Gaussian elimination with pivoting.
fn eliminate(mut matrix: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let pivot = (column..3)
            .max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        matrix.swap(column, pivot);
        if matrix[column][column].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for row in 0..3 {
            if row != column {
                let factor = matrix[row][column] / matrix[column][column];
                let above = matrix[column];
                for (value, above) in matrix[row].iter_mut().zip(above).skip(column) {
                    *value -= factor * above;
                }
            }
        }
    }
    Some([0, 1, 2].map(|row| matrix[row][3] / matrix[row][row]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

    fn assert_close(found: f64, expected: f64, share: f64) {
        assert!((found - expected).abs() <= share * expected.abs().max(1e-9), "{found} {expected}");
    }

    #[test]
    fn a_curve_of_the_law_gives_its_parameters_back() {
        for (lambda, sigma, kappa) in
            [(1_000.0, 0.02, 0.0005), (5e4, 0.3, 0.0), (10.0, 0.0, 0.001), (70.0, 0.0, 0.0)]
        {
            let law = Usl { lambda, sigma, kappa };
            let points = USERS.map(|n| (n, law.throughput(n)));
            let fit = Usl::fit(&points).expect("eight points are enough");
            assert_close(fit.lambda, lambda, 1e-6);
            assert!(
                (fit.sigma - sigma).abs() < 1e-6 && (fit.kappa - kappa).abs() < 1e-8,
                "{fit:?}"
            );
        }
    }

    #[test]
    fn noise_moves_the_fit_a_little() {
        let law = Usl { lambda: 1_000.0, sigma: 0.05, kappa: 0.0002 };
        let noise = [0.99, 1.01, 1.0, 0.985, 1.015, 1.01, 0.99, 1.0];
        let points: Vec<_> =
            USERS.iter().zip(noise).map(|(n, share)| (*n, law.throughput(*n) * share)).collect();
        let fit = Usl::fit(&points).expect("eight points are enough");
        assert_close(fit.lambda, 1_000.0, 0.05);
        for n in USERS {
            assert_close(fit.throughput(n), law.throughput(n), 0.04);
        }
        assert_close(fit.peak().expect("it falls"), law.peak().expect("it falls"), 0.1);
    }

    #[test]
    fn two_numbers_of_users_are_too_few() {
        assert_eq!(Usl::fit(&[(1.0, 10.0), (2.0, 18.0), (2.0, 19.0)]), None);
        assert_eq!(Usl::fit(&[]), None);
    }
}
