//! Tables and indexes are created and dropped while other sessions read and write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;

use storage::{
    Bounds, Error, IndexId, IndexKind, Order, Read, Store, StoreOptions, TableId, TableKind,
    TableSpec, TransactionOptions, Uniqueness,
};
use types::Bytes;

use crate::support::{BY_KEY, Bank, column, decode, encode, eventually, image, index, key, scan};

const NEW: IndexId = IndexId(9);

#[test]
fn index_built_under_writers_has_every_row_once() {
    for kind in [IndexKind::Range, IndexKind::Hash { bucket_count: 0 }] {
        let bank = Bank::with(TableKind::Ordinary, (0..200).map(|n| (n, n, n)));
        let done = AtomicBool::new(false);
        scope(|scope| {
            for thread in 0..3 {
                let (bank, done) = (&bank, &done);
                scope.spawn(move || {
                    let mut n = 0;
                    while !done.load(Ordering::Relaxed) {
                        n = (n + 7 + thread) % 200;
                        match n % 3 {
                            0 => drop(bank.remove(n)),
                            1 => drop(bank.insert((n, n, n))),
                            // Changes the amount, which is the key of the new index.
                            _ => drop(bank.add(n, 1_000)),
                        }
                    }
                });
            }
            bank.table.add_index(index(NEW, kind, Uniqueness::NotUnique, 2)).unwrap();
            for _ in 0..3 {
                check_new_index(&bank);
            }
            done.store(true, Ordering::Relaxed);
        });
        check_new_index(&bank);
        assert!(bank.table.drop_index(NEW));
        assert!(!bank.table.drop_index(NEW));
    }
}

fn check_new_index(bank: &Bank) {
    let tx = bank.begin();
    let rows = scan(&tx, bank, Some(BY_KEY), Bounds::ALL, Order::Forward, Read::SNAPSHOT).unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let amount = key(row.2);
        let bounds = Bounds::prefix(&amount);
        let found = scan(&tx, bank, Some(NEW), bounds, Order::Forward, Read::SNAPSHOT).unwrap();
        assert_eq!(found.iter().filter(|other| **other == row).count(), 1, "{row:?} in {found:?}");
    }
}

#[test]
fn unique_index_over_duplicates_is_refused() {
    let bank = Bank::with(TableKind::Ordinary, [(1, 5, 0), (2, 5, 0)]);
    let spec = || index(NEW, IndexKind::Range, Uniqueness::Unique, 1);
    let error = bank.table.add_index(spec()).unwrap_err();
    assert!(matches!(error, Error::Unique { index, .. } if index == NEW));
    assert!(bank.table.index_statistics(NEW).is_none());
    assert!(bank.remove(2));
    bank.table.add_index(spec()).unwrap();
    assert!(matches!(bank.insert((3, 5, 0)), Err(Error::Unique { index, .. }) if index == NEW));
}

#[test]
fn dropped_table_gives_back_its_blobs() {
    let store = Store::new(StoreOptions::default());
    let indexes = vec![storage::IndexSpec {
        id: BY_KEY,
        kind: IndexKind::Hash { bucket_count: 16 },
        uniqueness: Uniqueness::Unique,
        extractor: column(0),
    }];
    let spec = TableSpec {
        id: TableId(7),
        kind: TableKind::MemoryOptimized,
        indexes,
        columns: None,
        durable: None,
    };
    let table = store.create_table(spec).unwrap();
    let shared: Arc<[u8]> = vec![1; 100_000].into();
    let blobs = [Bytes::from_shared(Arc::clone(&shared))];
    for n in 0..10 {
        let bytes = encode((n, n, n));
        let row = storage::RowImage { bytes: &bytes, blobs: &blobs };
        table.insert_point(&TransactionOptions::STATEMENT, row).unwrap();
    }
    assert_eq!(Arc::strong_count(&shared), 12);
    let tx = store.begin(TransactionOptions::EXPLICIT);
    let row = tx.get(&table, BY_KEY, &key(3), Read::SNAPSHOT).unwrap().unwrap();
    assert_eq!(decode(row.image()), (3, 3, 3));
    store.drop_table(TableId(7));
    store.collect();
    assert_eq!(row.image().blobs[0].len(), 100_000);
    drop(tx);
    drop(table);
    eventually(&store, || Arc::strong_count(&shared) == 2);
}

#[test]
fn updates_share_the_blobs_they_do_not_change_and_free_those_they_do() {
    let bank = Bank::new(TableKind::MemoryOptimized);
    let shared: Arc<[u8]> = vec![1; 50_000].into();
    let blobs = [Bytes::from_shared(Arc::clone(&shared))];
    let bytes = encode((1, 1, 1));
    let row = storage::RowImage { bytes: &bytes, blobs: &blobs };
    bank.table.insert_point(&TransactionOptions::STATEMENT, row).unwrap();
    drop(blobs);
    let mut tx = bank.begin();
    let row = tx.get(&bank.table, BY_KEY, &key(1), Read::SNAPSHOT).unwrap().unwrap();
    let bytes = encode((1, 1, 2));
    let changed = storage::RowImage { bytes: &bytes, blobs: row.image().blobs };
    let row = tx.update(row, changed, storage::Keys::Same).unwrap();
    assert!(std::ptr::eq(row.image().blobs[0].as_slice(), &raw const *shared));
    tx.next_statement();
    let row = tx.get(&bank.table, BY_KEY, &key(1), Read::SNAPSHOT).unwrap().unwrap();
    tx.update(row, image(&bytes), storage::Keys::Same).unwrap();
    tx.commit().unwrap();
    eventually(&bank.store, || Arc::strong_count(&shared) == 1);
}
