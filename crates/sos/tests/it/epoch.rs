//! Tests of memory reclamation: what a pin protects, and that everything is freed in the end.

use sos::epoch::{self, Snapshot};
use sos::sync::{Arc, AtomicBool, AtomicUsize, Ordering};
use sos::thread;

/// A value that counts how many of its kind are alive.
struct Counted(Arc<AtomicUsize>, u64, u64);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>, value: u64) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(alive), value, !value)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1 = 0;
        self.2 = 0;
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn readers_never_see_a_freed_value_and_all_but_the_last_are_freed() {
    let alive = Arc::new(AtomicUsize::new(0));
    let snapshot = Arc::new(Snapshot::new(Counted::new(&alive, 0)));
    let done = Arc::new(AtomicBool::new(false));
    let accounts = Arc::default();
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (snapshot, done) = (Arc::clone(&snapshot), Arc::clone(&done));
            let read = move || {
                while !done.load(Ordering::Relaxed) {
                    let pin = epoch::pin();
                    let value = snapshot.load(&pin);
                    assert_eq!(value.1, !value.2, "a freed value");
                }
            };
            thread::spawn(&accounts, "reader", read).expect("spawns")
        })
        .collect();
    for value in 1..20_000 {
        snapshot.replace(Counted::new(&alive, value));
    }
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().expect("reads");
    }
    // Other tests of this process take part in the same domain: their pins are short, unless the
    // thread gets no CPU.
    let until = sos::clock::monotonic_ns() + 10_000_000_000;
    while alive.load(Ordering::Relaxed) != 1 && sos::clock::monotonic_ns() < until {
        epoch::collect();
    }
    assert_eq!(alive.load(Ordering::Relaxed), 1);
}

#[test]
fn pin_holds_back_what_was_read_under_it() {
    let alive = Arc::new(AtomicUsize::new(0));
    let snapshot = Snapshot::new(Counted::new(&alive, 1));
    let pin = epoch::pin();
    let old = snapshot.load(&pin);
    snapshot.replace(Counted::new(&alive, 2));
    std::thread::scope(|scope| {
        scope.spawn(|| (0..1000).for_each(|_| epoch::collect()));
    });
    assert_eq!((old.1, alive.load(Ordering::Relaxed)), (1, 2));
}

#[test]
fn what_a_thread_leaves_behind_is_freed_by_others() {
    let alive = Arc::new(AtomicUsize::new(0));
    let snapshot = Arc::new(Snapshot::new(Counted::new(&alive, 0)));
    let writer = Arc::clone(&snapshot);
    let count = Arc::clone(&alive);
    let replace = move || (1..4).for_each(|value| writer.replace(Counted::new(&count, value)));
    thread::spawn(&Arc::default(), "writer", replace).expect("spawns").join().expect("writes");
    for _ in 0..1_000_000 {
        epoch::collect();
        if alive.load(Ordering::Relaxed) == 1 {
            return;
        }
    }
    panic!("{} values are left", alive.load(Ordering::Relaxed));
}
