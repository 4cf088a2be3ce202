//! Models of the tree in which each call stack is stored once ([`StackTable`]), checked by loom:
//! threads that store the same stack, or stacks that need the same slot, while one reads; and a
//! mutant, which must fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sos --release --test loom_stack --target-dir target/loom`
#![cfg(loom)]

use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;
use sos::lock::Proven;
use sos::stack::{StackId, StackTable, TableSteps};

/// A table with few nodes, so that stacks compete for slots.
type Table<S> = StackTable<4, S>;

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

struct LateClaim;
impl TableSteps for LateClaim {
    const CLAIMS_AT_ONCE: bool = false;
}

/// Checks that an id has the whole stack, whichever thread stored it.
fn look<S: TableSteps>(table: &Table<S>, id: StackId, stack: &[usize]) {
    let mut found = [0; 4];
    let count = table.frames(id, &mut found);
    assert_eq!(&found[..count], stack, "all of it");
}

/// Two threads store a stack each, and read at once what the other may have stored.
fn keep_at_once<S: TableSteps + Send + Sync + 'static>(
    one: [usize; 2],
    other: [usize; 2],
    nodes: u64,
) {
    let table = Arc::new(Table::<S>::new());
    let writer = {
        let table = Arc::clone(&table);
        thread::spawn(move || {
            let id = table.keep(&one);
            look(&table, id, &one);
            id
        })
    };
    let mine = table.keep(&other);
    look(&table, mine, &other);
    let theirs = writer.join().expect("nobody panics");
    assert_eq!(mine == theirs, one == other, "a stack has one id, and no other has it");
    assert_eq!(table.fill_now().nodes, nodes, "each is kept once");
    look(&table, theirs, &one);
    look(&table, mine, &other);
    assert_eq!(table.keep(&one), theirs, "it is found again");
}

#[test]
fn same_stack_kept_at_once_has_one_id() {
    check(|| keep_at_once::<Proven>([44, 48], [44, 48], 2));
}

#[test]
fn stacks_of_one_caller_share_it() {
    check(|| keep_at_once::<Proven>([44, 48], [52, 48], 3));
}

/// Stacks without common callers, in a table with just enough room.
fn meet_in_slots<S: TableSteps + Send + Sync + 'static>() {
    for other in [52, 84, 124] {
        check(move || keep_at_once::<S>([44, 48], [other, other + 4], 4));
    }
}

#[test]
fn stacks_that_meet_in_a_slot_keep_their_addresses() {
    meet_in_slots::<Proven>();
}

#[test]
#[should_panic]
fn mutant_claim_in_two_steps_is_found() {
    meet_in_slots::<LateClaim>();
}

/// More stacks than there are nodes for: one of them is stored only from its caller on.
#[test]
fn stack_without_room_is_refused_and_counted() {
    check(|| {
        let table = Arc::new(StackTable::<2>::new());
        let writer = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.keep(&[44, 48]))
        };
        let mine = table.keep(&[84, 48]);
        let theirs = writer.join().expect("nobody panics");
        let fill = table.fill_now();
        assert_eq!((fill.nodes, fill.refused), (2, 1));
        let kept = [mine, theirs].map(|id| {
            let mut found = [0; 3];
            let length = table.frames(id, &mut found);
            found[..length].to_vec()
        });
        assert!(kept == [vec![84, 48], vec![48]] || kept == [vec![48], vec![44, 48]], "{kept:?}");
    });
}
