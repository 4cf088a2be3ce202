//! Times of requests and transactions as views show them: readings of the cycle counter as `datetime`.
//!
//! A time is converted by its distance from now, which rounding and the clock's error change from one
//! look to the next. Scripts compare the start of a request in two looks to know whether it is the
//! same one, so a time that was shown is shown in the same way again.
//!
//! Scripts also compare two times, such as a plan's creation and its last execution. All times are
//! therefore converted from one anchor, a reading of both clocks, so that a later reading of the
//! counter never shows an earlier time. The anchor is replaced when the clocks have moved apart.

use std::collections::HashMap;

use sos::clock;
use sos::lock::{SpinClass, SpinLock};
use sos::sync::OnceLock;
use types::Value;

/// Times that are kept in one generation. What is not asked for in a generation is forgotten.
const TIMES_MAX: usize = if cfg!(test) { 4 } else { 8_192 };
/// How far UTC may be from where the anchor and the counter put it, in units of 100 ns: less than a
/// `datetime` shows.
const APART_MAX_100NS: u64 = 10_000;
/// How often both clocks are read for an anchor. A thread that loses its CPU between two readings
/// spoils one of them.
const READINGS: usize = 5;

/// Times that were shown, by their ticks: those asked for lately, and those before. In units of
/// 100 ns since 0001-01-01.
#[derive(Default)]
struct Shown {
    young: HashMap<u64, u64>,
    old: HashMap<u64, u64>,
    anchor: Option<Anchor>,
}

impl Shown {
    /// Returns a time as it was shown before, or by the anchor, which `read` may replace.
    fn get(&mut self, ticks: u64, read: impl FnOnce() -> Anchor) -> u64 {
        if let Some(known) = self.young.get(&ticks) {
            return *known;
        }
        let time = match self.old.get(&ticks) {
            Some(known) => *known,
            None => self.anchor_after(read()).time_of(ticks),
        };
        if self.young.len() >= TIMES_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(ticks, time);
        time
    }

    /// Returns the anchor, which is `read` if UTC was set or has drifted from the counter.
    fn anchor_after(&mut self, read: Anchor) -> Anchor {
        let agrees = |anchor: &Anchor| {
            anchor.time_of(read.ticks).abs_diff(read.utc_100ns) <= APART_MAX_100NS
        };
        let anchor = self.anchor.filter(agrees).unwrap_or(read);
        self.anchor = Some(anchor);
        anchor
    }
}

/// Both clocks at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Anchor {
    ticks: u64,
    utc_100ns: u64,
}

impl Anchor {
    /// Reads both clocks: the closest of some tries.
    fn read() -> Self {
        let one = || {
            let before = clock::now_ticks();
            let utc_100ns = clock::utc_100ns();
            let width = clock::now_ticks().saturating_sub(before);
            (width, Self { ticks: before + width / 2, utc_100ns })
        };
        let tries = (1..READINGS).map(|_| one());
        tries.fold(one(), |best, next| if next.0 < best.0 { next } else { best }).1
    }

    /// Converts a reading of the counter, before or after the anchor.
    fn time_of(self, ticks: u64) -> u64 {
        let distance_100ns = clock::ticks_to_ns(ticks.abs_diff(self.ticks)) / 100;
        if ticks < self.ticks {
            self.utc_100ns.saturating_sub(distance_100ns)
        } else {
            self.utc_100ns.saturating_add(distance_100ns)
        }
    }
}

/// Converts a reading of the cycle counter to a `datetime`: the same one each time.
pub fn datetime_of(ticks: u64) -> Value {
    static SHOWN: OnceLock<SpinLock<Shown>> = OnceLock::new();
    let shown = SHOWN.get_or_init(|| SpinLock::new(SpinClass::SessionManager, Shown::default()));
    let time = shown.lock().get(ticks, Anchor::read);
    crate::event::datetime_of(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_100NS: u64 = 10_000_000;

    /// A reading of the clocks `seconds` after the counter's start, with UTC set forward by `set_100ns`.
    fn read(seconds: u64, set_100ns: u64) -> Anchor {
        let ticks = clock::ns_to_ticks(seconds * 1_000_000_000);
        Anchor { ticks, utc_100ns: 1_000 * SECOND_100NS + seconds * SECOND_100NS + set_100ns }
    }

    #[test]
    fn a_time_that_is_asked_for_again_and_again_stays_the_same() {
        let mut shown = Shown::default();
        let first = shown.get(1, || read(100, 0));
        for other in 100..200 {
            let again = shown.get(1, || unreachable!("it is known"));
            assert_eq!(again, first, "after {other}");
            // UTC is set by an hour each time.
            shown.get(other, || read(other, other * 3_600 * SECOND_100NS));
        }
        assert!(shown.young.len() <= TIMES_MAX && shown.old.len() <= TIMES_MAX);
        let late = || read(100, 9 * SECOND_100NS);
        assert_ne!(shown.get(100, late), first, "nothing has asked for it for long");
    }

    #[test]
    fn a_later_reading_never_shows_an_earlier_time() {
        let mut shown = Shown::default();
        let times = [5, 6, 7, 8].map(|ticks| {
            // A thread lost its CPU for up to half a millisecond between the two readings.
            shown.get(ticks, || read(100, (8 - ticks) * 1_500))
        });
        assert!(times.is_sorted(), "{times:?}");
    }

    #[test]
    fn a_clock_that_was_set_replaces_the_anchor() {
        let mut shown = Shown::default();
        let before = shown.get(read(99, 0).ticks, || read(100, 0));
        let after = shown.get(read(101, 0).ticks, || read(102, 3_600 * SECOND_100NS));
        assert!((after - before).abs_diff(3_602 * SECOND_100NS) < 100, "{before} {after}");
    }
}
