//! Sorts of many rows: other requests run in between, and a sort ends once its statement is cancelled.
//!
//! The standard library's sorts have no way out but a panic in the comparison: a comparison that
//! answers something else instead of the order makes them panic themselves. So a cancelled
//! comparison unwinds the sort, without a message, and [`interruptible`] catches that. The items are all there
//! then, in any order.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::long;
use crate::stop::cancelled;
use sos::park::Cancel;
use sos::sched::BytePace;
use types::Result;

/// Bytes that a comparison counts as beyond those that it compares: what it looks at is anywhere in memory.
const COMPARISON_BYTES: usize = 64;

/// Unwinds a sort that is not wanted any more.
struct Unwanted;

/// Paces a sort: each comparison passes it.
pub struct Comparisons<'c> {
    pace: BytePace,
    is_cancelled: &'c dyn Fn() -> bool,
}

impl Comparisons<'_> {
    /// Counts a comparison of at most this many bytes. Every so often other requests run. Does not return
    /// once the statement is cancelled: the sort is unwound.
    #[inline]
    pub fn compared(&mut self, bytes: usize) {
        if self.pace.passed(COMPARISON_BYTES.saturating_add(bytes)) {
            self.look();
        }
    }

    #[cold]
    fn look(&self) {
        if (self.is_cancelled)() {
            resume_unwind(Box::new(Unwanted));
        }
    }
}

/// Runs a sort whose comparisons pass what it gets.
///
/// # Errors
/// An error that stops the statement, once `cancel` is set.
pub fn interruptible(cancel: &Cancel, sort: impl FnOnce(&mut Comparisons<'_>)) -> Result<()> {
    unless_cancelled(&|| cancel.is_set(), sort)
}

/// As [`interruptible`], in a function that `long::cancellable` runs.
///
/// # Errors
/// As there.
pub fn interruptible_long(sort: impl FnOnce(&mut Comparisons<'_>)) -> Result<()> {
    unless_cancelled(&long::is_cancelled, sort)
}

fn unless_cancelled(
    is_cancelled: &dyn Fn() -> bool,
    sort: impl FnOnce(&mut Comparisons<'_>),
) -> Result<()> {
    let mut comparisons = Comparisons { pace: BytePace::new(), is_cancelled };
    match catch_unwind(AssertUnwindSafe(|| sort(&mut comparisons))) {
        Ok(()) => Ok(()),
        Err(payload) if payload.is::<Unwanted>() => Err(cancelled()),
        Err(payload) => resume_unwind(payload),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use super::*;

    const ITEMS: u64 = 100_000;

    /// Sorts numbers, and cancels after some comparisons; returns how many there were, and the numbers.
    fn sort(cancel_after: u64) -> (Result<()>, u64, Vec<u64>) {
        let cancel = Arc::new(Cancel::new());
        let mut items: Vec<u64> =
            (0..ITEMS).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let count = Cell::new(0);
        let result = interruptible(&cancel, |comparisons| {
            items.sort_by(|a, b| {
                count.set(count.get() + 1);
                if count.get() == cancel_after {
                    cancel.set();
                }
                comparisons.compared(8);
                a.cmp(b)
            });
        });
        (result, count.get(), items)
    }

    #[test]
    fn a_cancelled_sort_ends_soon_and_loses_nothing() {
        let (result, all, sorted) = sort(u64::MAX);
        assert!(result.is_ok() && sorted.is_sorted());
        let (result, count, mut items) = sort(all / 2);
        assert_eq!(result.unwrap_err().number, crate::stop::INTERNAL);
        assert!(count - all / 2 < 2_000, "{count} of {all}");
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items == sorted);
    }

    #[test]
    fn another_panic_of_a_comparison_goes_on() {
        let panics = || interruptible(&Cancel::new(), |_| resume_unwind(Box::new("another")));
        let payload = catch_unwind(panics).unwrap_err();
        assert!(payload.is::<&str>());
    }

    #[test]
    fn a_function_that_is_cancelled_ends_its_sort() {
        let cancel = Arc::new(Cancel::new());
        let sort = || {
            let mut items: Vec<u64> = (0..ITEMS).rev().map(|n| n ^ 0x55).collect();
            interruptible_long(|comparisons| {
                items.sort_by(|a, b| {
                    comparisons.compared(8);
                    a.cmp(b)
                });
            })
        };
        assert!(long::cancellable(&cancel, sort).is_ok());
        cancel.set();
        assert!(long::cancellable(&cancel, sort).is_err());
        assert!(sort().is_ok(), "behind the function nothing is cancelled");
    }
}
