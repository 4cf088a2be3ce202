//! Tests of the estimates from timed requests.

use super::*;

#[test]
fn equal_units_have_no_error() {
    let ratio = Ratio::<2>::default();
    (0..100).for_each(|_| ratio.add([30, 70]));
    let sums = ratio.sums();
    assert_eq!(sums.share(0), Some(0.3));
    assert!(sums.share_error(0).expect("there are units") < 1e-9);
}

#[test]
fn error_is_that_of_a_coin() {
    let ratio = Ratio::<2>::default();
    (0..50).for_each(|_| ratio.add([1, 0]));
    (0..50).for_each(|_| ratio.add([0, 1]));
    let error = ratio.sums().share_error(0).expect("there are units");
    // sqrt(p (1 - p) / (n - 1)) with p = 1/2 and n = 100.
    assert!((error - (0.25_f64 / 99.0).sqrt()).abs() < 1e-12, "{error}");
}

#[test]
fn shares_are_those_of_the_interval_if_it_has_enough_units() {
    let (ratio, mut shares, mut leaned) = (Ratio::<2>::default(), Shares::default(), 0.0);
    (0..1000).for_each(|_| ratio.add([30, 70]));
    shares.advance(&ratio.sums());
    assert_eq!(shares.split(1.0, &mut leaned).share(0), Some(0.3));
    (0..ENOUGH).for_each(|_| ratio.add([70, 30]));
    shares.advance(&ratio.sums());
    let near = |share: Option<f64>, wanted: f64| (share.unwrap_or(0.0) - wanted).abs() < 1e-9;
    assert!(near(shares.split(1.0, &mut leaned).share(0), 0.7));
    (0..ENOUGH / 4).for_each(|_| ratio.add([30, 70]));
    shares.advance(&ratio.sums());
    assert!(near(shares.split(1.0, &mut leaned).share(0), 0.6), "three quarters are older");
}

#[test]
fn errors_of_intervals_that_share_their_units_add_up() {
    let (ratio, mut shares, mut leaned) = (Ratio::<2>::default(), Shares::default(), 0.0);
    (0..50).for_each(|_| ratio.add([1, 0]));
    (0..50).for_each(|_| ratio.add([0, 1]));
    let mut variance = 0.0;
    for _ in 0..10 {
        shares.advance(&ratio.sums());
        let grown = shares.split(100.0, &mut leaned).variance(0);
        variance += grown.expect("there are units");
    }
    let error = ratio.sums().share_error(0).expect("there are units");
    assert!((variance.sqrt() - 1000.0 * error).abs() < 1e-6);
}

#[test]
fn nothing_is_claimed_without_units() {
    let sums = Ratio::<2>::default().sums();
    assert_eq!(sums.share(0), None);
    assert_eq!(sums.share_error(0), None);
}
