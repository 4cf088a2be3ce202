//! Measures lookups in a table of 4,096 objects, as a metadata cache does them, under every kind of
//! lock.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use sos::epoch::{self, Snapshot};
use sos::lock::{RwMode, RwSpin, SpinClass};
use sos::sync::{Arc, AtomicU64, Ordering};

use crate::Plan;
use crate::gate::{self, Done, Work, repeat};
use crate::row::Row;

const OBJECTS: u64 = 4_096;

/// A multiplicative hash, which costs almost nothing, so that the lock is what is measured.
#[derive(Default)]
struct Fibonacci(u64);

impl Hasher for Fibonacci {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_right(26);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Table = HashMap<u64, u64, BuildHasherDefault<Fibonacci>>;

fn table() -> Table {
    (0..OBJECTS).map(|id| (id, id * 3)).collect()
}

const FORMS: [&str; 8] = [
    "no lock",
    "snapshot",
    "RwSpin distributed",
    "RwSpin one word",
    "RwSpin exclusive",
    "RwLatch",
    "std RwLock",
    "parking_lot RwLock",
];

#[expect(clippy::disallowed_types, reason = "std's lock is what ours are compared with")]
struct Tables {
    bare: Table,
    snapshot: Snapshot<Table>,
    distributed: RwSpin<Table>,
    one_word: RwSpin<Table>,
    exclusive: RwSpin<Table>,
    latch: sos::lock::RwLatch<Table>,
    std: std::sync::RwLock<Table>,
    parking_lot: parking_lot::RwLock<Table>,
    wrong: AtomicU64,
}

impl Tables {
    #[expect(clippy::disallowed_types, reason = "as above")]
    fn new() -> Self {
        let spin = |mode| RwSpin::new(SpinClass::LockRwCmedHashSet, mode, table());
        Self {
            bare: table(),
            snapshot: Snapshot::new(table()),
            distributed: spin(RwMode::Distributed),
            one_word: spin(RwMode::OneWord),
            exclusive: spin(RwMode::Exclusive),
            latch: sos::lock::RwLatch::new(sos::lock::LatchClass::Catalog, table()),
            std: std::sync::RwLock::new(table()),
            parking_lot: parking_lot::RwLock::new(table()),
            wrong: AtomicU64::new(0),
        }
    }
}

/// Looks up objects in a random order, and checks the values found.
#[inline(always)]
fn look_up(until: u64, wrong: &AtomicU64, get: impl Fn(u64) -> u64) -> Done {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut expected = 0_u64;
    let done = repeat(until, || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let id = state % OBJECTS;
        expected = expected.wrapping_add(id * 3);
        get(id)
    });
    if done.sum != expected {
        wrong.fetch_add(1, Ordering::Relaxed);
    }
    done
}

fn value(table: &Table, id: u64) -> u64 {
    table.get(&id).copied().unwrap_or(u64::MAX)
}

impl Work for Tables {
    fn forms(&self) -> usize {
        FORMS.len()
    }

    fn run(&self, form: usize, _thread: usize, until: u64) -> Done {
        let wrong = &self.wrong;
        match FORMS[form] {
            "no lock" => look_up(until, wrong, |id| value(&self.bare, id)),
            "snapshot" => {
                // As inside a worker's request, where the pin of each lookup is only an increment.
                let _request = epoch::pin();
                look_up(until, wrong, |id| value(self.snapshot.load(&epoch::pin()), id))
            }
            "RwSpin distributed" => look_up(until, wrong, |id| value(&self.distributed.read(), id)),
            "RwSpin one word" => look_up(until, wrong, |id| value(&self.one_word.read(), id)),
            "RwSpin exclusive" => look_up(until, wrong, |id| value(&self.exclusive.read(), id)),
            "RwLatch" => look_up(until, wrong, |id| value(&self.latch.read(), id)),
            "std RwLock" => look_up(until, wrong, |id| {
                value(&self.std.read().unwrap_or_else(std::sync::PoisonError::into_inner), id)
            }),
            _ => look_up(until, wrong, |id| value(&self.parking_lot.read(), id)),
        }
    }
}

/// Measures all kinds and prints the results.
pub(crate) fn run(plan: Plan) {
    let plan = Plan { window: plan.window.max(gate::shortest()), ..plan };
    let tables = Arc::new(Tables::new());
    let times = gate::measure(&tables, plan);
    assert_eq!(tables.wrong.load(Ordering::Relaxed), 0, "a lookup found the wrong object");
    for (form, [one, two]) in FORMS.into_iter().zip(times) {
        for (threads, values) in [(1, one), (2, two)] {
            let row = Row {
                bench: "lookup",
                form,
                threads,
                writes: None,
                unit: "ns per lookup and thread",
                values,
            };
            row.print();
        }
    }
}
