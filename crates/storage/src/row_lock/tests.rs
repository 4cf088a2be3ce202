//! Tests of the book of row locks: against a list of holds, and of what it allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use proptest::prelude::*;

use crate::row_lock::holders::Holders;
use crate::row_lock::queue::{Queue, Queued};
use crate::row_lock::users::Users;
use crate::row_lock::{Asked, Change, Held, HeldThing, Hold, KeyRange, LockBook, Place};
use crate::spec::{Bounds, IndexId, RowId, TableId};
use crate::version::{Pace, TxState};

/// The system's allocator, which notes the largest block that each thread takes.
struct Noting;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: each call is passed on.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.set(LARGEST.get().max(layout.size()));
        // SAFETY: the caller keeps what `alloc` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block is one of `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// Some of them are in the array of `Users`, and some in its trees.
const TRANSACTIONS: usize = 5;
const INDEXES: [IndexId; 2] = [IndexId(1), IndexId(2)];

#[derive(Clone, Debug)]
enum Step {
    /// A transaction asks for a hold.
    Ask(usize, Place, Hold),
    /// It takes one back that it may have.
    Withdraw(usize, Place, Hold),
    /// A transaction ends and releases all that it holds.
    End(usize),
    /// A writer asks what is in the way of a change of a row.
    Write(usize, RowId, Hold),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(&[0_u8, 1, 2, u8::MAX]), 0..3)
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        Just(Bound::Unbounded),
        key().prop_map(Bound::Included),
        key().prop_map(Bound::Excluded),
    ]
}

fn range(index: IndexId, lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>) -> Place {
    let (lower, upper) = (lower.as_ref().map(|key| &**key), upper.as_ref().map(|key| &**key));
    Place::Range(KeyRange::new(index, Bounds { lower, upper }))
}

fn place() -> impl Strategy<Value = Place> {
    let index = prop::sample::select(&INDEXES);
    prop_oneof![
        4 => (0_u64..6).prop_map(|row| Place::Row(RowId(row))),
        2 => (index.clone(), key()).prop_map(|(index, key)| {
            range(index, &Bound::Included(key.clone()), &Bound::Included(key))
        }),
        2 => (index, bound(), bound()).prop_map(|(index, one, other)| range(index, &one, &other)),
        1 => Just(Place::Table),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let (who, hold) = (0..TRANSACTIONS, prop::sample::select(&Hold::ALL));
    prop_oneof![
        8 => (who.clone(), place(), hold.clone()).prop_map(|(who, at, hold)| Step::Ask(who, at, hold)),
        1 => (who.clone(), place(), hold.clone())
            .prop_map(|(who, at, hold)| Step::Withdraw(who, at, hold)),
        1 => who.clone().prop_map(Step::End),
        3 => (who, 0_u64..6, hold).prop_map(|(who, row, hold)| Step::Write(who, RowId(row), hold)),
    ]
}

/// SQL Server's table of compatible locks, for S, U and X.
const fn go_together(one: Hold, other: Hold) -> bool {
    matches!(
        (one, other),
        (Hold::Shared, Hold::Shared | Hold::Update) | (Hold::Update, Hold::Shared)
    )
}

fn may_meet(one: &Place, other: &Place) -> bool {
    match (one, other) {
        (Place::Table, _) | (_, Place::Table) => true,
        (Place::Row(one), Place::Row(other)) => one == other,
        (Place::Range(one), Place::Range(other)) => {
            one.index == other.index && !super::range::are_apart(one.bounds(), other.bounds())
        }
        (Place::Row(_), Place::Range(_)) | (Place::Range(_), Place::Row(_)) => false,
    }
}

/// What the book is compared with: a list of all holds.
#[derive(Default)]
struct Model {
    holds: Vec<(usize, Place, Hold)>,
}

impl Model {
    fn has(&self, who: usize, place: &Place, hold: Hold) -> bool {
        self.holds.iter().any(|(other, at, mode)| {
            *other == who && *mode >= hold && (at == place || *at == Place::Table)
        })
    }

    fn conflicts(&self, who: usize, place: &Place, hold: Hold) -> bool {
        self.holds.iter().any(|(other, at, mode)| {
            *other != who && !go_together(*mode, hold) && may_meet(at, place)
        })
    }

    fn is_in_the_way(&self, who: usize, row: RowId, minds: Hold) -> bool {
        self.holds.iter().any(|(other, at, mode)| {
            *other != who
                && *mode >= minds
                && matches!(at, Place::Table | Place::Row(_))
                && may_meet(at, &Place::Row(row))
        })
    }
}

fn run(steps: Vec<Step>) {
    let states: Vec<Arc<TxState>> = (0..TRANSACTIONS)
        .map(|who| TxState::new(u32::try_from(who).expect("few") + 1, Pace::Any))
        .collect();
    let (book, mut model) = (LockBook::default(), Model::default());
    let mut inside = [false; TRANSACTIONS];
    let end = |who: usize, model: &mut Model, inside: &mut [bool]| {
        let (gone, kept) = model.holds.drain(..).partition(|(other, ..)| *other == who);
        model.holds = kept;
        let gone: Vec<(usize, Place, Hold)> = gone;
        let places: Vec<Place> = gone.into_iter().map(|(_, place, _)| place).collect();
        let state = Arc::as_ptr(&states[who]);
        if !std::mem::take(&mut inside[who]) || book.end_few(&places, state) {
            return;
        }
        match book.take_all(state) {
            Some(taken) => taken.free(&|| ()),
            None => book.remove_all(&places, state),
        }
        book.leave(state);
    };
    for step in steps {
        match step {
            Step::Ask(who, place, hold) => {
                let mine = Held { state: Arc::as_ptr(&states[who]), hold };
                if !std::mem::replace(&mut inside[who], true) && book.enter(mine.state, || ()) {
                    book.settle();
                }
                let has = model.has(who, &place, hold);
                let conflicts = model.conflicts(who, &place, hold);
                match book.ask(&place, mine, false) {
                    Asked::Had => assert!(has, "{place:?}"),
                    Asked::Behind(_) => assert!(!has && conflicts, "{place:?}"),
                    Asked::Entered => {
                        assert!(!has && !conflicts, "{place:?}");
                        model.holds.push((who, place, hold));
                    }
                }
            }
            Step::Withdraw(who, place, hold) => {
                book.withdraw(&place, Held { state: Arc::as_ptr(&states[who]), hold });
                model.holds.retain(|held| *held != (who, place.clone(), hold));
            }
            Step::End(who) => end(who, &mut model, &mut inside),
            Step::Write(who, row, minds) => {
                let me = Arc::as_ptr(&states[who]);
                let change = Change { row: Some(row), before: None, after: None, minds };
                let found = book.in_the_way(me, (&[], &|| ()), change).is_some();
                assert_eq!(found, model.is_in_the_way(who, row, minds), "{row:?}");
                book.unqueue(me);
            }
        }
        assert_lists(&book, &model);
    }
    (0..TRANSACTIONS).for_each(|who| end(who, &mut model, &mut inside));
    assert_lists(&book, &model);
}

/// Compares what the view lists with the model.
fn assert_lists(book: &LockBook, model: &Model) {
    let mut listed = Vec::new();
    book.show(TableId(1), &mut listed);
    assert_eq!(listed.len(), model.holds.len());
    let rows = listed.iter().filter_map(|row| match row.what {
        HeldThing::Row(id) => Some((row.session, id, row.hold)),
        HeldThing::Table | HeldThing::Range(..) | HeldThing::Place => None,
    });
    let rows: BTreeSet<_> = rows.collect();
    let wanted = model.holds.iter().filter_map(|(who, place, hold)| match place {
        Place::Row(id) => Some((u32::try_from(*who).expect("few") + 1, *id, *hold)),
        Place::Table | Place::Range(_) => None,
    });
    assert_eq!(rows, wanted.collect());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn book_answers_as_a_list_of_holds(steps in prop::collection::vec(step(), 1..60)) {
        run(steps);
    }
}

/// Returns the states of `count` transactions.
fn with_transactions(count: usize) -> Vec<Arc<TxState>> {
    (0..count).map(|n| TxState::new(u32::try_from(n).expect("few") + 1, Pace::Any)).collect()
}

/// Runs `work`, and returns the largest block that it took.
fn largest_block(work: impl FnOnce()) -> usize {
    LARGEST.set(0);
    work();
    LARGEST.get()
}

/// As [`book_grows_and_shrinks_by_small_parts`], for many transactions that hold the same things. An array of
/// ten thousand would be moved for each that enters or leaves.
#[test]
fn many_transactions_share_things_by_small_parts() {
    const COUNT: usize = 10_000;
    let states = with_transactions(COUNT);
    let book = LockBook::default();
    let key = Place::Range(KeyRange::new(INDEXES[0], Bounds::prefix(&[1])));
    let span = range(INDEXES[0], &Bound::Included(vec![1]), &Bound::Excluded(vec![2]));
    // The table is last: who has locked it needs no other lock.
    let places = [Place::Row(RowId(1)), key, span, Place::Table];
    // The first lock of a thread takes memory for its books of time.
    book.unqueue(std::ptr::null());
    let mut largest = 0;
    for state in &states {
        let mine = Held { state: Arc::as_ptr(state), hold: Hold::Shared };
        largest = largest.max(largest_block(|| {
            book.enter(mine.state, || ());
            for place in &places {
                assert!(matches!(book.ask(place, mine, true), Asked::Entered));
            }
        }));
    }
    let change = Change { row: Some(RowId(1)), before: None, after: None, minds: Hold::Shared };
    for state in &states {
        // What was found is dropped without the lock.
        let mut found = None;
        largest = largest.max(largest_block(|| {
            found = book.in_the_way(Arc::as_ptr(state), (&[], &|| ()), change);
        }));
        assert!(found.is_some());
    }
    let mut listed = Vec::new();
    book.show(TableId(1), &mut listed);
    assert_eq!(listed.len(), COUNT * (places.len() + 1));
    for state in &states {
        largest = largest.max(largest_block(|| {
            book.unqueue(Arc::as_ptr(state));
            book.remove_all(&places, Arc::as_ptr(state));
            book.leave(Arc::as_ptr(state));
        }));
    }
    assert!(largest < 2_048, "{largest} bytes at once were taken under the lock");
}

/// Who asks for a lock looks at no more holds than it has to: one that conflicts, and its own.
#[test]
fn one_writer_is_found_among_many_readers() {
    let states = with_transactions(1_000);
    let (mut holders, mut users) = (Holders::default(), Users::default());
    let me = Arc::as_ptr(&states[7]);
    for (n, state) in states.iter().map(Arc::as_ptr).enumerate() {
        users.enter(state);
        let user = users.find(state).expect("it has entered");
        let modes = match n {
            7 => &[Hold::Shared, Hold::Exclusive][..],
            900 => &[Hold::Exclusive],
            _ => &[Hold::Shared],
        };
        for hold in modes {
            users.add(user, *hold);
            holders.push(Held { state, hold: *hold });
        }
    }
    for minds in [Hold::Update, Hold::Exclusive] {
        let looks = Cell::new(0);
        let is_wanted = |_: *const TxState| {
            looks.set(looks.get() + 1);
            true
        };
        let writer = Some(Arc::as_ptr(&states[900]));
        assert_eq!(holders.find_other(me, minds, is_wanted), writer);
        assert_eq!(users.find_other(me, minds, is_wanted), writer);
        assert_eq!(looks.get(), 2);
        assert!(users.others_have(users.find(me), minds));
    }
    let writer = Held { state: Arc::as_ptr(&states[900]), hold: Hold::Exclusive };
    users.remove(writer);
    assert!(holders.remove(writer) && !holders.remove(writer));
    assert_eq!(holders.find_other(me, Hold::Update, |_| true), None);
    assert_eq!(users.find_other(me, Hold::Update, |_| true), None);
    assert!(!users.others_have(users.find(me), Hold::Update));
}

/// The row and the keys that a writer waits for.
type Waits = (Option<RowId>, Vec<(IndexId, Box<[u8]>)>);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// Each place is asked for after each step, and the answer is compared with a look at each writer.
    #[test]
    fn queue_answers_as_a_list_of_writers(
        steps in prop::collection::vec(
            (0..TRANSACTIONS, prop::option::of(0_u64..4), prop::collection::vec(writer_key(), 0..4)),
            1..20,
        ),
        places in prop::collection::vec(place(), 1..20),
    ) {
        let states = with_transactions(TRANSACTIONS);
        let mut queue = Queue::default();
        let mut model: BTreeMap<usize, Waits> = BTreeMap::new();
        for (who, row, keys) in steps {
            let writer = Arc::as_ptr(&states[who]);
            let row = row.map(RowId);
            // One that comes again, for another change, is as often left to leave first.
            if row.is_none_or(|row| row.0 < 2) && model.remove(&who).is_some() {
                queue.remove(writer);
            } else {
                model.insert(who, (row, keys.clone()));
                queue.push(writer, Queued { row, keys });
            }
            for (place, me) in places.iter().zip((0..TRANSACTIONS).cycle()) {
                let is_at = |row: Option<RowId>, keys: &[(IndexId, Box<[u8]>)]| match place {
                    Place::Table => true,
                    Place::Row(id) => row == Some(*id),
                    Place::Range(range) => keys.iter().any(|(index, key)| {
                        *index == range.index && range.bounds().contains(key)
                    }),
                };
                let there = model.iter().filter(|(who, (row, keys))| **who != me && is_at(*row, keys));
                let there: Vec<_> = there.map(|(who, _)| Arc::as_ptr(&states[*who])).collect();
                match queue.find_other(place, Arc::as_ptr(&states[me])) {
                    Some(found) => prop_assert!(there.contains(&found), "{place:?}"),
                    None => prop_assert!(there.is_empty(), "{place:?}"),
                }
            }
            prop_assert_eq!(queue.behind(None).count(), model.len());
        }
    }
}

/// Keys of indexes: of three bytes, among them the largest one.
fn writer_key() -> impl Strategy<Value = (IndexId, Box<[u8]>)> {
    let byte = prop::sample::select(&[0_u8, 1, 2, u8::MAX]);
    (prop::sample::select(&INDEXES), prop::collection::vec(byte, 3))
        .prop_map(|(index, key)| (index, Box::from(key)))
}

/// The longest time that others spin is that of the largest piece of work under the lock. It is
/// bounded by the largest block that is allocated there: a table that doubles takes one for all of a
/// hundred thousand holds, and moves them.
#[test]
fn book_grows_and_shrinks_by_small_parts() {
    const HOLDS: u64 = 100_000;
    let state = TxState::new(1, Pace::Any);
    let mine = Held { state: Arc::as_ptr(&state), hold: Hold::Shared };
    let book = LockBook::default();
    assert!(book.enter(mine.state, || ()));
    book.settle();
    let key = |n: u64| n.to_be_bytes();
    let places = |n: u64| {
        let (lower, upper) = (key(2 * n), key(2 * n + 1));
        let span = Bounds { lower: Bound::Included(&lower), upper: Bound::Excluded(&upper) };
        [
            // Out of order, so that what is split is in the middle too.
            Place::Row(RowId(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
            Place::Range(KeyRange::new(INDEXES[0], Bounds::prefix(&key(n)))),
            Place::Range(KeyRange::new(INDEXES[1], span)),
        ]
    };
    let mut largest = 0;
    for n in 0..HOLDS {
        for place in places(n) {
            LARGEST.set(0);
            assert!(matches!(book.ask(&place, mine, false), Asked::Entered));
            largest = largest.max(LARGEST.get());
        }
    }
    for n in 0..HOLDS {
        let places = places(n);
        LARGEST.set(0);
        book.remove_all(&places, mine.state);
        largest = largest.max(LARGEST.get());
    }
    book.leave(mine.state);
    assert!(largest < 2_048, "{largest} bytes at once were taken under the lock");
    let book = book.book.lock();
    let book = book.as_ref().expect("it was opened");
    assert!(book.rows.is_empty() && book.ranges.is_empty() && book.users.is_empty());
}
