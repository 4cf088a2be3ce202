//! Models of extended events, checked by loom: partitions that threads claim and the dispatcher
//! drains ([`TryCell`]), and subscriptions that a stopping session withdraws from threads that fire
//! ([`Board`]); and mutants, which must fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_events --target-dir target/loom`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;
use sos::epoch::{Board, EpochOrders};
use sos::lock::{Proven, SpinOrders, TryCell};
use sos::sync::Ordering;

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// A mutant whose claim of a partition orders nothing.
struct WeakTake;
/// A mutant whose release of a partition orders nothing.
struct WeakFree;

impl SpinOrders for WeakTake {
    const TAKE: Ordering = Ordering::Relaxed;
    const FREE: Ordering = Ordering::Release;
}

impl SpinOrders for WeakFree {
    const TAKE: Ordering = Ordering::Acquire;
    const FREE: Ordering = Ordering::Relaxed;
}

/// A partition: the buffer that is being filled.
type Partition<O> = TryCell<Vec<u32>, O>;

/// Fires once, into a free partition; false if none is free.
fn fire<O: SpinOrders>(partitions: &[Partition<O>; 2], own: usize, record: u32) -> bool {
    let mut at = (0..2).map(|step| (own + step) % 2);
    at.any(|at| partitions[at].try_with(|filling| filling.push(record)).is_some())
}

/// Two threads fire while the dispatcher exchanges the buffers: each record that was not counted as
/// dropped is found exactly once.
fn claim_and_drain<O: SpinOrders + 'static>() {
    let make = || Partition::<O>::new(Vec::with_capacity(4));
    let partitions = Arc::new([make(), make()]);
    let emitter = |own: usize, record: u32| {
        let partitions = Arc::clone(&partitions);
        thread::spawn(move || fire(&partitions, own, record))
    };
    let emitters = [(emitter(0, 1), 1), (emitter(0, 2), 2)];
    let mut found = Vec::new();
    for partition in partitions.iter() {
        let mut spare = Vec::with_capacity(4);
        // The dispatcher does not wait in the model: it finds what it could not drain at the end.
        partition.try_with(|filling| std::mem::swap(filling, &mut spare));
        found.append(&mut spare);
    }
    let mut published: Vec<u32> = Vec::new();
    for (emitter, record) in emitters {
        if emitter.join().expect("an emitter never panics") {
            published.push(record);
        }
    }
    for partition in partitions.iter() {
        partition.with(thread::yield_now, |filling| found.append(filling));
    }
    found.sort_unstable();
    assert_eq!(found, published, "every published record is found once");
}

#[test]
fn claimed_partitions_lose_nothing() {
    check(claim_and_drain::<Proven>);
}

#[test]
#[should_panic]
fn mutant_claim_that_orders_nothing_is_found() {
    check(claim_and_drain::<WeakTake>);
}

#[test]
#[should_panic]
fn mutant_release_that_orders_nothing_is_found() {
    check(claim_and_drain::<WeakFree>);
}

macro_rules! epoch_mutant {
    ($name:ident { store: $store:ident, fence: $fence:literal, delay: $delay:literal }) => {
        struct $name;
        impl EpochOrders for $name {
            const SLOT_STORE: Ordering = Ordering::$store;
            const SLOT_LOAD: Ordering = Ordering::Acquire;
            const EPOCH_LOAD: Ordering = Ordering::Acquire;
            const ONLINE_FENCE: bool = $fence;
            const DELAY: u64 = $delay;
        }
    };
}

epoch_mutant!(NoWait { store: Release, fence: true, delay: 0 });
epoch_mutant!(NoFence { store: Release, fence: false, delay: 3 });
epoch_mutant!(WeakLeave { store: Relaxed, fence: true, delay: 3 });

/// A session as the threads that fire use it.
struct Session {
    cell: UnsafeCell<u32>,
}

// SAFETY: loom checks that accesses to the cell do not overlap.
unsafe impl Sync for Session {}

/// A thread fires twice while another one stops the session: no thread uses the session after it
/// was withdrawn.
fn stop_against_fire<O: EpochOrders + Send + Sync + 'static>() {
    let board = Arc::new(Board::<Session, O>::new(Session { cell: UnsafeCell::new(1) }));
    let emitter = {
        let board = Arc::clone(&board);
        let slot = board.join();
        thread::spawn(move || {
            // SAFETY: a shared read inside a section.
            let read = |session: &Session| session.cell.with(|cell| unsafe { *cell });
            let seen = board.look(&slot, read) + board.look(&slot, read);
            assert!((2..=4).contains(&seen), "nothing but the two sessions");
        })
    };
    let slot = board.join();
    let next = Session { cell: UnsafeCell::new(2) };
    let stopped = board.replace(&slot, next, thread::yield_now);
    // SAFETY: `replace` promises that no thread reads it any more; loom fails the model otherwise.
    stopped.cell.with_mut(|cell| unsafe { *cell = 99 });
    emitter.join().expect("an emitter never panics");
}

#[test]
fn stopped_session_is_used_by_nobody() {
    check(stop_against_fire::<Proven>);
}

#[test]
#[should_panic]
fn mutant_stop_that_does_not_wait_is_found() {
    check(stop_against_fire::<NoWait>);
}

#[test]
#[should_panic]
fn mutant_section_without_its_fence_is_found() {
    check(stop_against_fire::<NoFence>);
}

#[test]
#[should_panic]
fn mutant_section_whose_end_orders_nothing_is_found() {
    check(stop_against_fire::<WeakLeave>);
}
