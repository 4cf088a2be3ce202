//! Models of work items ([`WorkItem`]), checked by loom: what an item refers to is never used after
//! its sender has found that no helper runs; and mutants, which must fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_work_item --target-dir
//! target/loom`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;
use sos::sched::work_item::{ProvenOrders, Running, WorkItem, WorkItemOrders};
use sos::sync::Ordering;

/// The items of a sender, and the memory that they refer to.
struct Sender {
    items: [WorkItem; 2],
    running: Running,
    /// Written by the helper that runs an item, and by the sender when all have ended.
    work: [UnsafeCell<u32>; 2],
}

/// Helpers run items while the sender revokes them and then writes to the memory that they refer
/// to.
fn model<O: WorkItemOrders + 'static>(helpers: usize) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let sender = Arc::new(Sender {
            items: [WorkItem::default(), WorkItem::default()],
            running: Running::default(),
            work: [UnsafeCell::new(0), UnsafeCell::new(0)],
        });
        let threads: Vec<_> = (0..helpers)
            .map(|number| {
                let sender = Arc::clone(&sender);
                thread::spawn(move || {
                    sender.items[number].run::<O>(&sender.running, || {
                        // SAFETY: the model is to show this: loom finds accesses that overlap.
                        sender.work[number].with_mut(|work| unsafe { *work += 1 });
                    });
                })
            })
            .collect();
        sender.items.iter().for_each(WorkItem::revoke::<O>);
        while !sender.running.is_over() {
            thread::yield_now();
        }
        for work in &sender.work {
            // SAFETY: as above.
            work.with_mut(|work| unsafe { *work = u32::MAX });
        }
        threads.into_iter().for_each(|thread| thread.join().expect("a helper ends"));
    });
}

struct CountsLate;
struct WeakRevoke;
struct WeakDone;

macro_rules! mutant {
    ($name:ident { $first:literal, $revoke:ident, $done:ident }) => {
        impl WorkItemOrders for $name {
            const COUNTS_FIRST: bool = $first;
            const REVOKE_FAILED: Ordering = Ordering::$revoke;
            const DONE: Ordering = Ordering::$done;
        }
    };
}

mutant!(CountsLate { false, Acquire, Release });
mutant!(WeakRevoke { true, Relaxed, Release });
mutant!(WeakDone { true, Acquire, Relaxed });

#[test]
fn no_helper_runs_once_a_sender_finds_it_over() {
    model::<ProvenOrders>(1);
    model::<ProvenOrders>(2);
}

#[test]
#[should_panic]
fn mutant_item_that_is_counted_after_it_is_taken_fails() {
    model::<CountsLate>(1);
}

#[test]
#[should_panic]
fn mutant_item_with_a_relaxed_failure_to_revoke_fails() {
    model::<WeakRevoke>(1);
}

#[test]
#[should_panic]
fn mutant_item_whose_end_is_relaxed_fails() {
    model::<WeakDone>(1);
}
