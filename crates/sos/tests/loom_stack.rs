//! Models of the table in which each call stack is kept once ([`StackTable`]), checked by loom: threads
//! that keep the same stack, or others that want the same slot, while one looks; and mutants, which must
//! fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_stack --target-dir target/loom`
#![cfg(loom)]

use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;
use sos::lock::Proven;
use sos::stack::{StackId, StackTable, TableOrders};
use sos::sync::Ordering;

/// Slots are few, so that stacks meet in them.
type Table<O> = StackTable<2, 4, O>;

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

macro_rules! mutant {
    ($name:ident { publish: $publish:ident, look: $look:ident, at_once: $at_once:literal }) => {
        struct $name;
        impl TableOrders for $name {
            const PUBLISH: Ordering = Ordering::$publish;
            const LOOK: Ordering = Ordering::$look;
            const CLAIMS_AT_ONCE: bool = $at_once;
        }
    };
}

mutant!(WeakPublish { publish: Relaxed, look: Acquire, at_once: true });
mutant!(WeakLook { publish: Release, look: Relaxed, at_once: true });
mutant!(LateClaim { publish: Release, look: Acquire, at_once: false });

/// What is kept under an id: nothing yet, or all of it.
fn look<O: TableOrders>(table: &Table<O>, id: StackId, stack: &[usize]) -> bool {
    let mut found = [0; 4];
    let count = table.frames(id, &mut found);
    assert!(count == 0 || found[..count] == *stack, "all of it or nothing: {found:?}");
    count > 0
}

/// Two threads keep a stack each, and one looks at once at what the other may be writing.
fn keep_at_once<O: TableOrders + Send + Sync + 'static>(one: [usize; 2], other: [usize; 2]) {
    let table = Arc::new(Table::<O>::new());
    let writer = {
        let table = Arc::clone(&table);
        thread::spawn(move || table.keep(&one))
    };
    let mine = table.keep(&other);
    look(&table, mine, &other);
    let theirs = writer.join().expect("nobody panics");
    assert_eq!(mine == theirs, one == other, "a stack has one id, and no other has it");
    assert_eq!(table.fill_now().stacks, if one == other { 1 } else { 2 }, "each is kept once");
    assert!(look(&table, theirs, &one) && look(&table, mine, &other), "both are there for good");
    assert_eq!(table.keep(&one), theirs, "it is found again");
}

#[test]
fn same_stack_kept_at_once_has_one_id() {
    check(|| keep_at_once::<Proven>([11, 12], [11, 12]));
}

#[test]
fn stacks_that_meet_in_a_slot_keep_their_addresses() {
    check(|| keep_at_once::<Proven>([11, 12], [21, 22]));
    check(|| keep_at_once::<Proven>([11, 12], [31, 32]));
}

#[test]
#[should_panic]
fn mutant_place_that_orders_nothing_is_found() {
    check(|| keep_at_once::<WeakPublish>([11, 12], [11, 12]));
}

#[test]
#[should_panic]
fn mutant_look_that_orders_nothing_is_found() {
    check(|| keep_at_once::<WeakLook>([11, 12], [11, 12]));
}

#[test]
#[should_panic]
fn mutant_claim_in_two_steps_is_found() {
    check(|| keep_at_once::<LateClaim>([11, 12], [11, 12]));
}

/// More stacks than there are addresses for: one of them is refused, and nothing of it is seen.
#[test]
fn stack_without_room_is_refused_and_counted() {
    check(|| {
        let table = Arc::new(StackTable::<4, 2>::new());
        let writer = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.keep(&[11, 12]))
        };
        let mine = table.keep(&[21, 22]);
        let theirs = writer.join().expect("nobody panics");
        let fill = table.fill_now();
        assert_eq!((fill.stacks, fill.refused, fill.addresses), (1, 1, 2));
        assert!((mine == StackId::TABLE_FULL) != (theirs == StackId::TABLE_FULL));
    });
}
