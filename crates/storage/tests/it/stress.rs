//! Many threads on few rows: invariants that hold in any order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::scope;

use storage::{Bounds, Claim, Error, Keys, Order, Read, TableKind, WhenOwned};
use types::row::RowBuffer;

use crate::support::{
    BY_GROUP, BY_HASH, BY_KEY, Bank, all, decode, encode, eventually, get, image, key, scan,
};

const KINDS: [TableKind; 2] = [TableKind::MemoryOptimized, TableKind::Ordinary];
const THREADS: i64 = 4;

/// A small generator, so that a failure's seed is its thread number.
struct Random(u64);

impl Random {
    fn below(&mut self, end: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        i64::try_from(self.0 >> 33).unwrap() % end
    }
}

#[test]
fn concurrent_increments_of_one_row_lose_nothing() {
    for kind in KINDS {
        let bank = Bank::with(kind, [(0, 0, 0)]);
        scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..2_000).for_each(|_| assert!(bank.add(0, 1))));
            }
        });
        assert_eq!(bank.amount(0), Some(THREADS * 2_000));
    }
}

/// Moves money between two accounts in an explicit transaction; returns whether it committed.
fn transfer(bank: &Bank, from: i64, to: i64) -> Result<(), Error> {
    let tx = bank.begin();
    let read = match bank.table.kind() {
        TableKind::MemoryOptimized => Read::SNAPSHOT,
        TableKind::Ordinary => Read::COMMITTED,
    };
    for (account, change) in [(from, -1), (to, 1)] {
        let row = get(&tx, bank, account, read)?.unwrap();
        let row = match tx.claim(row, WhenOwned::Wait)? {
            Claim::Current(row) | Claim::Changed(row) => row,
            Claim::Gone | Claim::Skipped => panic!("accounts stay"),
        };
        let (k, g, amount) = decode(row.image());
        tx.update(row, image(&encode((k, g, amount + change))), Keys::Same)?;
    }
    tx.commit()
}

#[test]
fn transfers_keep_the_sum_and_every_snapshot_sees_it() {
    const ACCOUNTS: i64 = 8;
    for kind in KINDS {
        let bank = Bank::with(kind, (0..ACCOUNTS).map(|n| (n, n, 100)));
        let (done, conflicts) = (AtomicBool::new(false), AtomicU64::new(0));
        scope(|scope| {
            let writers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (bank, conflicts) = (&bank, &conflicts);
                    scope.spawn(move || {
                        let mut random = Random(u64::try_from(thread).unwrap());
                        for _ in 0..500 {
                            let from = random.below(ACCOUNTS);
                            let to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
                            while let Err(error) = transfer(bank, from, to) {
                                assert!(error.dooms(), "{error}");
                                conflicts.fetch_add(1, Ordering::Relaxed);
                                std::thread::yield_now();
                            }
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let tx = bank.begin();
                    for _ in 0..3 {
                        let sum: i64 = all(&tx, &bank, Read::SNAPSHOT).iter().map(|r| r.2).sum();
                        assert_eq!(sum, ACCOUNTS * 100);
                    }
                }
            });
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    bank.store.collect();
                    std::thread::yield_now();
                }
            });
            for writer in writers {
                writer.join().unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let tx = bank.begin();
        assert_eq!(all(&tx, &bank, Read::SNAPSHOT).len(), 8);
        drop(tx);
        assert_eq!(bank.store.active_transactions(), 0);
    }
}

#[test]
fn of_concurrent_inserts_of_one_key_exactly_one_wins() {
    for kind in KINDS {
        let bank = Bank::new(kind);
        let wins = AtomicU64::new(0);
        scope(|scope| {
            for thread in 0..THREADS {
                let (bank, wins) = (&bank, &wins);
                scope.spawn(move || {
                    for n in 0..300 {
                        match bank.insert((n, thread, thread)) {
                            Ok(()) => drop(wins.fetch_add(1, Ordering::Relaxed)),
                            Err(Error::Unique { key: taken, .. }) => assert_eq!(*taken, key(n)),
                            Err(other) => panic!("{other}"),
                        }
                    }
                });
            }
        });
        assert_eq!(wins.load(Ordering::Relaxed), 300);
        assert_eq!(bank.table.row_count(), 300);
        assert_eq!(all(&bank.begin(), &bank, Read::SNAPSHOT).len(), 300);
    }
}

#[test]
fn keys_come_and_go_while_others_look() {
    for kind in KINDS {
        let bank = Bank::new(kind);
        scope(|scope| {
            for thread in 0..THREADS {
                let bank = &bank;
                scope.spawn(move || {
                    let mut random = Random(u64::try_from(thread).unwrap());
                    for _ in 0..1_000 {
                        let n = random.below(10);
                        match random.below(4) {
                            0 => match bank.insert((n, thread, n)) {
                                Ok(()) | Err(Error::Unique { .. }) => {}
                                Err(other) => panic!("{other}"),
                            },
                            1 => drop(bank.remove(n)),
                            2 => move_row(bank, n, random.below(10)),
                            _ => {
                                let rows = all(&bank.begin(), bank, Read::SNAPSHOT);
                                assert!(rows.is_sorted_by(|a, b| a.0 < b.0), "{rows:?}");
                            }
                        }
                    }
                });
            }
        });
        for _ in 0..4 {
            bank.store.collect();
        }
        let rows = all(&bank.begin(), &bank, Read::SNAPSHOT);
        assert_eq!(u64::try_from(rows.len()).unwrap(), bank.table.row_count());
        let entries = bank.table.index_statistics(BY_KEY).unwrap().entries;
        assert_eq!(usize::try_from(entries).unwrap(), rows.len());
    }
}

fn move_row(bank: &Bank, from: i64, to: i64) {
    let mut buffer = RowBuffer::default();
    let options = storage::TransactionOptions::STATEMENT;
    let moved =
        bank.table.change_point(BY_KEY, &key(from), &options, &mut buffer, |before, buffer| {
            let (_, g, a) = decode(before);
            buffer.bytes.extend(encode((to, g, a)));
            Ok(storage::Decision::Update(Keys::MayDiffer))
        });
    match moved {
        Ok(_) | Err(Error::Unique { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn waiters_get_the_row_when_the_owner_ends() {
    let bank = Bank::with(TableKind::Ordinary, [(0, 0, 0)]);
    let tx = bank.begin();
    let row = get(&tx, &bank, 0, Read::COMMITTED).unwrap().unwrap();
    tx.update(row, image(&encode((0, 0, 5))), Keys::Same).unwrap();
    scope(|scope| {
        let waiter = scope.spawn(|| {
            let tx = bank.begin();
            let row = get(&tx, &bank, 0, Read::COMMITTED).unwrap().unwrap();
            let (Claim::Changed(row) | Claim::Current(row)) =
                tx.claim(row, WhenOwned::Wait).unwrap()
            else {
                panic!("the row stays")
            };
            assert_eq!(decode(row.image()).2, 5);
            tx.update(row, image(&encode((0, 0, 6))), Keys::Same).unwrap();
            tx.commit().unwrap();
        });
        tx.commit().unwrap();
        waiter.join().unwrap();
    });
    assert_eq!(bank.amount(0), Some(6));
    let tx = bank.begin();
    let row = get(&tx, &bank, 0, Read::COMMITTED).unwrap().unwrap();
    tx.update(row, image(&encode((0, 0, 7))), Keys::Same).unwrap();
    scope(|scope| {
        let increment = scope.spawn(|| assert!(bank.add(0, 10)));
        tx.rollback();
        increment.join().unwrap();
    });
    assert_eq!(bank.amount(0), Some(16));
}

#[test]
fn circle_of_waiters_has_a_victim() {
    for round in 0..20 {
        let bank = Bank::with(TableKind::Ordinary, [(0, 0, 0), (1, 0, 0)]);
        let barrier = std::sync::Barrier::new(2);
        let lock_both = |first: i64, second: i64| {
            let tx = bank.begin();
            let row = get(&tx, &bank, first, Read::COMMITTED).unwrap().unwrap();
            assert!(matches!(tx.claim(row, WhenOwned::Wait).unwrap(), Claim::Current(_)));
            barrier.wait();
            let row = get(&tx, &bank, second, Read::COMMITTED).unwrap().unwrap();
            let outcome = tx.claim(row, WhenOwned::Wait).map(|_| ());
            let is_doomed = tx.is_doomed();
            assert_eq!(outcome == Err(Error::Deadlock), is_doomed);
            is_doomed
        };
        let victims = scope(|scope| {
            let other = scope.spawn(|| lock_both(1, 0));
            u32::from(lock_both(0, 1)) + u32::from(other.join().unwrap())
        });
        assert!(victims >= 1, "round {round}");
    }
}

#[test]
fn lock_timeout_ends_the_wait() {
    let bank = Bank::with(TableKind::Ordinary, [(0, 0, 0)]);
    let tx = bank.begin();
    let row = get(&tx, &bank, 0, Read::COMMITTED).unwrap().unwrap();
    assert!(matches!(tx.claim(row, WhenOwned::Wait).unwrap(), Claim::Current(_)));
    let mut other = bank.begin();
    other.set_lock_timeout(Some(5));
    let row = get(&other, &bank, 0, Read::COMMITTED).unwrap().unwrap();
    assert_eq!(other.claim(row, WhenOwned::Wait).unwrap_err(), Error::LockTimeout);
    assert!(!other.is_doomed());
}

/// Changes the group of a row, in a transaction that is rolled back if `is_kept` is false.
fn regroup(bank: &Bank, n: i64, group: i64, is_kept: bool) {
    let tx = bank.begin();
    let read = Read::COMMITTED;
    let Ok(Some(row)) = get(&tx, bank, n, read) else { return };
    let row = match tx.claim(row, WhenOwned::Wait) {
        Ok(Claim::Current(row) | Claim::Changed(row)) => row,
        Ok(Claim::Gone | Claim::Skipped) => return,
        Err(error) => return assert!(error.dooms(), "{error}"),
    };
    let (key, _, amount) = decode(row.image());
    tx.update(row, image(&encode((key, group, amount))), Keys::MayDiffer).unwrap();
    if is_kept {
        tx.commit().unwrap();
    }
}

fn change_group(bank: &Bank, n: i64, group: i64) {
    let mut buffer = RowBuffer::default();
    let options = storage::TransactionOptions::STATEMENT;
    let changed =
        bank.table.change_point(BY_HASH, &key(n), &options, &mut buffer, |before, buffer| {
            let (k, _, a) = decode(before);
            buffer.bytes.extend(encode((k, group, a)));
            Ok::<_, Error>(storage::Decision::Update(Keys::MayDiffer))
        });
    changed.unwrap();
}

/// Adds rows with rising groups from two threads in turn, until the index has trees for both.
fn spread(bank: &Bank, next: &std::sync::atomic::AtomicI64) {
    const TURNS_MAX: i64 = 20_000;
    const FIRST_KEY: i64 = 1_000_000;
    let trees = || bank.table.index_statistics(BY_GROUP).unwrap().trees;
    let turn = std::sync::Barrier::new(2);
    scope(|scope| {
        for me in 0..2 {
            let turn = &turn;
            scope.spawn(move || {
                for round in 0..TURNS_MAX {
                    let is_spread = trees() > 2;
                    turn.wait();
                    if is_spread {
                        break;
                    }
                    if round % 2 == me {
                        let group = next.fetch_add(1, Ordering::Relaxed);
                        bank.insert((FIRST_KEY + round, group, 0)).unwrap();
                    }
                    turn.wait();
                }
            });
        }
    });
    assert!(trees() > 2, "it is spread");
}

/// Each thread has its own rows and now and then changes one of another. The groups rise, or come
/// back to one from before.
#[test]
fn index_on_rising_keys_is_spread_and_read_as_one() {
    const ROWS: i64 = 40;
    for kind in KINDS {
        let bank = Bank::new(kind);
        let next = std::sync::atomic::AtomicI64::new(0);
        spread(&bank, &next);
        let has_ended = AtomicBool::new(false);
        scope(|scope| {
            let writers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (bank, next) = (&bank, &next);
                    scope.spawn(move || {
                        let mut random = Random(u64::try_from(thread).unwrap());
                        for _ in 0..1_500 {
                            let owner =
                                if random.below(4) == 0 { random.below(THREADS) } else { thread };
                            let n = owner * ROWS + random.below(ROWS);
                            let rising = next.fetch_add(1, Ordering::Relaxed);
                            let group = if random.below(8) == 0 { rising / 2 } else { rising };
                            match random.below(8) {
                                0 => drop(bank.insert((n, group, 0))),
                                1 => drop(bank.remove(n)),
                                2 | 3 => regroup(bank, n, group, random.below(3) > 0),
                                _ => change_group(bank, n, group),
                            }
                            std::thread::yield_now();
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !has_ended.load(Ordering::Relaxed) {
                    let tx = bank.begin();
                    let mut rows = all(&tx, &bank, Read::SNAPSHOT);
                    rows.sort_by_key(|row| (row.1, row.0));
                    for order in [Order::Forward, Order::Backward] {
                        let by_group = Some(BY_GROUP);
                        let mut found =
                            scan(&tx, &bank, by_group, Bounds::ALL, order, Read::SNAPSHOT).unwrap();
                        let is_sorted = match order {
                            Order::Forward => found.is_sorted_by_key(|row| row.1),
                            Order::Backward => found.iter().rev().is_sorted_by_key(|row| row.1),
                        };
                        assert!(is_sorted, "in the order of the groups");
                        found.sort_by_key(|row| (row.1, row.0));
                        assert_eq!(found, rows, "each row of the snapshot, once");
                    }
                }
            });
            for writer in writers {
                writer.join().unwrap();
            }
            has_ended.store(true, Ordering::Relaxed);
        });
        let rows = bank.table.row_count();
        eventually(&bank.store, || bank.table.index_statistics(BY_GROUP).unwrap().entries == rows);
        assert_eq!(bank.table.index_statistics(BY_KEY).unwrap().trees, 1, "unique keys are not");
    }
}
