//! Models of the ring by which a thread's samples reach the collector ([`Ring`]), checked by loom:
//! records are taken out complete, in order and once, and lost ones are counted; and mutants, which
//! must fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_sampler --target-dir
//! target/loom`
#![cfg(loom)]

use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;
use sos::lock::Proven;
use sos::sampler::{Record, Ring, RingOrders};
use sos::stack::StackId;
use sos::sync::Ordering;

const RECORDS: u64 = 3;

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

macro_rules! mutant {
    ($name:ident { show: $show:ident, look: $look:ident, reads_first: $reads_first:literal }) => {
        struct $name;
        impl RingOrders for $name {
            const SHOW: Ordering = Ordering::$show;
            const LOOK: Ordering = Ordering::$look;
            const READS_FIRST: bool = $reads_first;
        }
    };
}

mutant!(WeakShow { show: Relaxed, look: Acquire, reads_first: true });
mutant!(WeakLook { show: Release, look: Relaxed, reads_first: true });
mutant!(EarlyRoom { show: Release, look: Acquire, reads_first: false });

/// A record whose words all have its number.
fn record(number: u64) -> Record {
    let stack = StackId::of_number(u32::try_from(number).expect("there are few"));
    let byte = u8::try_from(number).expect("there are few");
    Record { stack, kind: byte, subject: byte, label: byte, statement: number, weight: number }
}

/// A signal handler writes; the collector takes records out at the same time and once at the end.
fn write_and_collect<const N: usize, O: RingOrders + Send + Sync + 'static>() {
    let ring = Arc::new(Ring::<N, O>::default());
    let writer = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || (1..=RECORDS).for_each(|number| ring.push(record(number))))
    };
    let mut taken: Vec<Record> = Vec::new();
    ring.drain(|record| taken.push(record));
    ring.drain(|record| taken.push(record));
    writer.join().expect("nobody panics");
    ring.drain(|record| taken.push(record));
    assert!(taken.iter().all(|found| *found == record(found.weight)), "each is whole: {taken:?}");
    assert!(taken.is_sorted_by(|before, after| before.weight < after.weight), "{taken:?}");
    assert_eq!(taken.len() as u64 + ring.lost(), RECORDS, "what is not there is counted");
}

#[test]
fn samples_are_taken_whole_in_order_and_once() {
    check(write_and_collect::<1, Proven>);
    check(write_and_collect::<2, Proven>);
}

#[test]
#[should_panic]
fn mutant_head_that_orders_nothing_is_found() {
    check(write_and_collect::<2, WeakShow>);
}

#[test]
#[should_panic]
fn mutant_collector_that_orders_nothing_is_found() {
    check(write_and_collect::<2, WeakLook>);
}

#[test]
#[should_panic]
fn mutant_room_given_back_before_it_was_read_is_found() {
    check(write_and_collect::<1, EarlyRoom>);
}
