//! Random histories of a few transactions, one step at a time, against a model of what each must
//! see.
//!
//! The model keeps the committed states of the table, newest last, and gives each transaction the
//! one that was newest when it took its snapshot, with its own changes on top.

use std::collections::BTreeMap;

use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use storage::{
    Bounds, Error, IndexId, Keys, Order, Read, Savepoint, ScanSpec, TableKind, Transaction,
};

use crate::support::{
    BY_GROUP, BY_HASH, BY_KEY, BY_LARGE, Bank, LARGE, Row, decode, encode, get, image, key, scan,
    scan_images,
};

const SESSIONS: usize = 3;
const KEYS: i64 = 6;

type State = BTreeMap<i64, (i64, i64)>;
/// A transaction's own changes; `None` is a deleted row.
type Changes = BTreeMap<i64, Option<(i64, i64)>>;

#[derive(Clone, Debug)]
enum Step {
    Insert(i64, i64),
    Update(i64, i64),
    Move(i64, i64),
    Delete(i64),
    Read(i64),
    Scan,
    Savepoint,
    RollbackTo,
    Commit,
    Rollback,
    Increment(i64),
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..KEYS;
    prop_oneof![
        3 => (key(), 0..100i64).prop_map(|(k, a)| Step::Insert(k, a)),
        3 => (key(), 0..100i64).prop_map(|(k, a)| Step::Update(k, a)),
        2 => (key(), key()).prop_map(|(from, to)| Step::Move(from, to)),
        2 => key().prop_map(Step::Delete),
        2 => key().prop_map(Step::Read),
        2 => Just(Step::Scan),
        1 => Just(Step::Savepoint),
        1 => Just(Step::RollbackTo),
        2 => Just(Step::Commit),
        1 => Just(Step::Rollback),
        2 => key().prop_map(Step::Increment),
        1 => Just(Step::Collect),
    ]
}

/// One session of the model: a transaction, what it saw first, and its own changes.
struct Session {
    tx: Transaction,
    snapshot: State,
    /// How many changes had been committed then.
    began: u64,
    own: Changes,
    savepoint: Option<(Savepoint, Changes)>,
}

struct World {
    bank: Bank,
    committed: State,
    changes: u64,
    /// The number of the last committed change of each key.
    changed: BTreeMap<i64, u64>,
    sessions: [Option<Session>; SESSIONS],
}

impl World {
    fn new() -> Self {
        let bank = Bank::with(TableKind::MemoryOptimized, [(0, 0, 0), (1, 1, 0)]);
        let committed = BTreeMap::from([(0, (0, 0)), (1, (1, 0))]);
        let sessions = std::array::from_fn(|_| None);
        Self { bank, committed, changes: 0, changed: BTreeMap::new(), sessions }
    }

    /// Returns whether a transaction other than `me` has changed the row with this key.
    fn is_busy(&self, me: Option<usize>, key: i64) -> bool {
        self.sessions
            .iter()
            .enumerate()
            .any(|(n, session)| Some(n) != me && session.as_ref().is_some_and(|s| s.touches(key)))
    }

    fn run(&mut self, me: usize, step: &Step) {
        if self.sessions[me].is_none() {
            let tx = self.bank.begin();
            // The snapshot is taken at the first access.
            get(&tx, &self.bank, 0, Read::SNAPSHOT).unwrap();
            let (snapshot, own) = (self.committed.clone(), BTreeMap::new());
            let began = self.changes;
            self.sessions[me] = Some(Session { tx, snapshot, began, own, savepoint: None });
        }
        let mut session = self.sessions[me].take().unwrap();
        session.tx.next_statement();
        let outcome = match *step {
            Step::Insert(k, a) => self.insert(me, &mut session, k, a),
            Step::Update(k, a) => self.change(me, &mut session, k, Some((k, a))),
            Step::Move(from, to) => {
                let amount = session.visible().get(&from).map_or(0, |row| row.1);
                self.change(me, &mut session, from, Some((to, amount)))
            }
            Step::Delete(k) => self.change(me, &mut session, k, None),
            Step::Read(k) => {
                let row = get(&session.tx, &self.bank, k, Read::SNAPSHOT).unwrap();
                let row = row.map(|row| decode(row.image()));
                assert_eq!(row, session.visible().get(&k).map(|(g, a)| (k, *g, *a)));
                Ok(())
            }
            Step::Scan => {
                self.check_scans(&session);
                Ok(())
            }
            Step::Savepoint => {
                session.savepoint = Some((session.tx.savepoint(), session.own.clone()));
                Ok(())
            }
            Step::RollbackTo => {
                if let Some((savepoint, own)) = session.savepoint.take() {
                    session.tx.rollback_to(savepoint);
                    session.own = own;
                }
                Ok(())
            }
            Step::Commit => {
                session.tx.commit().unwrap();
                for (key, row) in session.own {
                    self.note_change(key);
                    match row {
                        Some(row) => self.committed.insert(key, row),
                        None => self.committed.remove(&key),
                    };
                }
                return;
            }
            Step::Rollback => return session.tx.rollback(),
            Step::Increment(k) => {
                // An autocommit statement of a fourth session; it would wait for an owner.
                if !self.is_busy(None, k) && !session.touches(k) {
                    assert_eq!(self.bank.add(k, 1), self.committed.contains_key(&k));
                    self.committed.entry(k).and_modify(|row| row.1 += 1);
                    self.note_change(k);
                }
                Ok(())
            }
            Step::Collect => {
                self.bank.store.collect();
                Ok(())
            }
        };
        match outcome {
            Ok(()) => self.sessions[me] = Some(session),
            // Doomed: rolled back, and the session starts again.
            Err(error) => assert!(error.dooms() && session.tx.is_doomed(), "{error}"),
        }
    }

    fn note_change(&mut self, key: i64) {
        self.changes += 1;
        self.changed.insert(key, self.changes);
    }

    fn insert(&self, me: usize, session: &mut Session, k: i64, a: i64) -> Result<(), Error> {
        let mine = session.visible().contains_key(&k);
        let newest = match session.own.get(&k) {
            Some(row) => row.is_some(),
            None => self.committed.contains_key(&k),
        };
        let result = session.tx.insert(&self.bank.table, image(&encode((k, k % 2, a)))).map(|_| ());
        match result {
            Ok(()) => {
                assert!(!newest && !mine && !self.is_busy(Some(me), k), "the key was free");
                session.own.insert(k, Some((k % 2, a)));
                Ok(())
            }
            Err(Error::Unique { .. }) => {
                assert!(newest, "another row has the key");
                Ok(())
            }
            Err(error) => {
                // Or the session still sees a row that others have deleted or moved.
                assert!(self.is_busy(Some(me), k) || mine, "{error}");
                Err(error)
            }
        }
    }

    /// Updates, moves or deletes the row that the session sees under `k`.
    fn change(
        &self,
        me: usize,
        session: &mut Session,
        k: i64,
        to: Option<(i64, i64)>,
    ) -> Result<(), Error> {
        let seen = session.visible().get(&k).copied();
        let row = get(&session.tx, &self.bank, k, Read::SNAPSHOT)?;
        assert_eq!(row.is_some(), seen.is_some());
        let (Some(row), Some((group, _))) = (row, seen) else { return Ok(()) };
        let result = match to {
            None => session.tx.delete(row),
            Some((n, a)) => {
                let bytes = encode((n, group, a));
                session.tx.update(row, image(&bytes), Keys::MayDiffer).map(|_| ())
            }
        };
        match result {
            Ok(()) => {
                session.own.insert(k, None);
                if let Some((n, a)) = to {
                    session.own.insert(n, Some((group, a)));
                }
                Ok(())
            }
            Err(Error::Unique { key: taken, .. }) => {
                assert_eq!(*taken, key(to.unwrap().0));
                Ok(())
            }
            Err(error) => {
                let is_stale = self.changed.get(&k).is_some_and(|n| *n > session.began);
                let visible = session.visible();
                let is_target_taken =
                    to.is_some_and(|(n, _)| self.is_busy(Some(me), n) || visible.contains_key(&n));
                assert!(is_stale || self.is_busy(Some(me), k) || is_target_taken, "{error}");
                Err(error)
            }
        }
    }

    fn rows(
        &self,
        session: &Session,
        index: Option<IndexId>,
        bounds: Bounds<'_>,
        order: Order,
    ) -> Vec<Row> {
        let read = Read::SNAPSHOT;
        let rows = scan(&session.tx, &self.bank, index, bounds, order, read).unwrap();
        for step in [1, 2, 100] {
            let spec = ScanSpec { index, bounds, order, read };
            let images = scan_images(&session.tx, &self.bank, spec, step).unwrap();
            assert_eq!(images, rows, "{step} rows at a time");
        }
        rows
    }

    fn check_scans(&self, session: &Session) {
        let expected: Vec<Row> =
            session.visible().into_iter().map(|(k, (g, a))| (k, g, a)).collect();
        assert_eq!(self.rows(session, Some(BY_KEY), Bounds::ALL, Order::Forward), expected);
        let mut backward = self.rows(session, Some(BY_KEY), Bounds::ALL, Order::Backward);
        backward.reverse();
        assert_eq!(backward, expected);
        let large: Vec<Row> = expected.iter().filter(|row| row.0 >= LARGE).copied().collect();
        assert_eq!(self.rows(session, Some(BY_LARGE), Bounds::ALL, Order::Forward), large);
        let mut heap = self.rows(session, None, Bounds::ALL, Order::Forward);
        heap.sort_unstable();
        assert_eq!(heap, expected);
        for group in 0..2 {
            let group_key = key(group);
            let mut found =
                self.rows(session, Some(BY_GROUP), Bounds::prefix(&group_key), Order::Forward);
            found.sort_unstable();
            let expected: Vec<Row> = expected.iter().filter(|r| r.1 == group).copied().collect();
            assert_eq!(found, expected);
        }
        for n in 0..KEYS {
            let n_key = key(n);
            let found = self.rows(session, Some(BY_HASH), Bounds::prefix(&n_key), Order::Forward);
            let expected: Vec<Row> = expected.iter().filter(|r| r.0 == n).copied().collect();
            assert_eq!(found, expected);
        }
    }
}

impl Session {
    fn visible(&self) -> State {
        let mut state = self.snapshot.clone();
        for (key, row) in &self.own {
            match row {
                Some(row) => state.insert(*key, *row),
                None => state.remove(key),
            };
        }
        state
    }

    fn touches(&self, key: i64) -> bool {
        self.own.contains_key(&key)
            || self.savepoint.as_ref().is_some_and(|(_, own)| own.contains_key(&key))
    }
}

proptest! {
    #[test]
    fn every_history_agrees_with_the_model(
        steps in proptest::collection::vec((0..SESSIONS, step()), 1..60),
    ) {
        let mut world = World::new();
        for (me, step) in &steps {
            world.run(*me, step);
        }
        world.sessions = std::array::from_fn(|_| None);
        for _ in 0..4 {
            world.bank.store.collect();
        }
        let tx = world.bank.begin();
        let (snapshot, own) = (world.committed.clone(), BTreeMap::new());
        get(&tx, &world.bank, 0, Read::SNAPSHOT).unwrap();
        world.check_scans(&Session { tx, snapshot, began: world.changes, own, savepoint: None });
        let rows = u64::try_from(world.committed.len()).unwrap();
        assert_eq!(world.bank.table.row_count(), rows);
        for index in [BY_KEY, BY_GROUP, BY_HASH] {
            assert_eq!(world.bank.table.index_statistics(index).unwrap().entries, rows);
        }
        let large = world.committed.range(LARGE..).count();
        let entries = world.bank.table.index_statistics(BY_LARGE).unwrap().entries;
        assert_eq!(entries, u64::try_from(large).unwrap());
    }
}
