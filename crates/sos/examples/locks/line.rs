//! Measures the cost of a cache line that two CPUs write in turns: the input of a model of serial
//! resources.

use sos::sync::{Arc, AtomicU64, CachePadded, Ordering};

use crate::Plan;
use crate::gate::{self, Done, Work, repeat};
use crate::row::Row;

const FORMS: [&str; 3] = ["own line", "shared line", "shared line, exclusive lock"];

#[derive(Default)]
struct Lines {
    own: [CachePadded<AtomicU64>; 2],
    shared: CachePadded<AtomicU64>,
    lock: CachePadded<sos::lock::RawSpin>,
}

impl Work for Lines {
    fn forms(&self) -> usize {
        FORMS.len()
    }

    fn run(&self, form: usize, thread: usize, until: u64) -> Done {
        let add = |word: &AtomicU64| word.fetch_add(1, Ordering::Relaxed);
        match FORMS[form] {
            "own line" => repeat(until, || add(&self.own[thread])),
            "shared line" => repeat(until, || add(&self.shared)),
            _ => repeat(until, || {
                let booking = self.lock.take(sos::lock::SpinClass::CmedHashSet);
                self.lock.free();
                u64::from(booking.is_some())
            }),
        }
    }
}

/// Measures the line and prints the result.
pub(crate) fn run(plan: Plan) {
    let plan = Plan { window: plan.window.max(gate::shortest()), ..plan };
    let lines = Arc::new(Lines::default());
    let times = gate::measure(&lines, plan);
    for (form, [one, two]) in FORMS.into_iter().zip(times) {
        for (threads, values) in [(1, one), (2, two)] {
            let unit = "ns per operation and thread";
            Row { bench: "line", form, threads, writes: None, unit, values }.print();
        }
    }
}
