//! Times of requests and transactions as views show them: readings of the cycle counter as `datetime`.
//!
//! A time is converted by its distance from now, which rounding and the clock's error change from one
//! look to the next. Scripts compare the start of a request in two looks to know whether it is the
//! same one, so a time that was shown is shown in the same way again.

use std::collections::HashMap;

use sos::clock;
use sos::lock::{SpinClass, SpinLock};
use sos::sync::OnceLock;
use types::date::Moment;
use types::{DataType, Value};

/// Times that are kept in one generation. What is not asked for in a generation is forgotten.
const TIMES_MAX: usize = if cfg!(test) { 4 } else { 8_192 };

/// Times that were shown, by their ticks: those asked for lately, and those before.
#[derive(Default)]
struct Shown {
    young: HashMap<u64, Moment>,
    old: HashMap<u64, Moment>,
}

impl Shown {
    /// Returns a time as it was shown before, or as `convert` says.
    fn get(&mut self, ticks: u64, convert: impl FnOnce() -> Moment) -> Moment {
        if let Some(known) = self.young.get(&ticks) {
            return *known;
        }
        let moment = self.old.get(&ticks).copied().unwrap_or_else(convert);
        if self.young.len() >= TIMES_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(ticks, moment);
        moment
    }
}

/// Converts a reading of the cycle counter to a `datetime`: the same one each time.
pub fn datetime_of(ticks: u64) -> Value {
    static SHOWN: OnceLock<SpinLock<Shown>> = OnceLock::new();
    let shown = SHOWN.get_or_init(|| SpinLock::new(SpinClass::SessionManager, Shown::default()));
    let moment = shown.lock().get(ticks, || moment_of(ticks));
    moment.to_value(&DataType::DateTime).unwrap_or(Value::Null)
}

fn moment_of(ticks: u64) -> Moment {
    let ago = clock::ticks_to_ns(clock::now_ticks().saturating_sub(ticks)) / 100;
    let now: Moment = catalog::clock::clock();
    now.plus_ticks(-i64::try_from(ago).unwrap_or(0)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(number: i64) -> Moment {
        Moment::from_unix(number, 0)
    }

    #[test]
    fn a_time_that_is_asked_for_again_and_again_stays_the_same() {
        let mut shown = Shown::default();
        for other in 100..200 {
            assert_eq!(shown.get(1, || moment(other)), moment(100), "after {other}");
            shown.get(u64::try_from(other).expect("positive"), || moment(other));
        }
        assert!(shown.young.len() <= TIMES_MAX && shown.old.len() <= TIMES_MAX);
        assert_eq!(shown.get(100, || moment(7)), moment(7), "nothing has asked for it for long");
    }
}
