//! Tests of which lock modes go together.

use super::*;
use crate::lock::mode::LockMode::{
    Exclusive, IntentExclusive, IntentShared, Shared, SharedIntentExclusive, Update,
    UpdateIntentExclusive,
};

#[test]
fn compatibility_is_the_documented_matrix() {
    let order = [IntentShared, Shared, Update, IntentExclusive, SharedIntentExclusive, Exclusive];
    let documented = ["yyyyyn", "yyynnn", "yynnnn", "ynnynn", "ynnnnn", "nnnnnn"];
    for (held, row) in order.into_iter().zip(documented) {
        for (asked, answer) in order.into_iter().zip(row.chars()) {
            assert_eq!(asked.is_compatible_with(held), answer == 'y', "{held:?} {asked:?}");
        }
    }
}

#[test]
fn compatibility_has_two_equal_sides_and_a_stronger_mode_allows_less() {
    for a in LockMode::ALL {
        for b in LockMode::ALL {
            assert_eq!(a.is_compatible_with(b), b.is_compatible_with(a));
            for c in LockMode::ALL {
                assert!(!a.with(b).is_compatible_with(c) || a.is_compatible_with(c));
            }
        }
    }
}

#[test]
fn two_modes_make_the_least_that_includes_both() {
    assert_eq!(Shared.with(IntentExclusive), SharedIntentExclusive);
    assert_eq!(Update.with(IntentExclusive), UpdateIntentExclusive);
    assert_eq!(Shared.with(Update), Update);
    assert_eq!(IntentShared.with(IntentExclusive), IntentExclusive);
    assert_eq!(UpdateIntentExclusive.with(Exclusive), Exclusive);
}
