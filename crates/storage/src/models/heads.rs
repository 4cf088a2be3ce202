//! Models of a row head that is given to another row (docs/decisions/0430).
//!
//! ```text
//! reader   entry of key 0 ─► head ─────────────── newest version ─ is its key known? ─ show
//! writer   delete 0 ─ collect ─ collect ─ REUSED ─ link [1] ─ enter key 1
//! ```
//! The reader pauses between the entry and the version. What it shows must have the key that it asked
//! for, or there is no such row.

use std::sync::Arc;

use shuttle::thread::spawn;
use types::row::RowBuffer;

use super::{BY_KEY, insert, prove, spec_of, table};
use crate::primitives::{MUTANT, Mutant};
use crate::{
    Decision, Error, IndexKind, Read, RowId, RowImage, RowLock, Store, StoreOptions, Table,
    TableId, TableKind, TableSpec, TransactionOptions,
};

fn delete(table: &Table, key: u8) {
    let mut buffer = RowBuffer::default();
    let delete = |_: RowImage<'_>, _: &mut RowBuffer| Ok::<_, Error>(Decision::Delete);
    let options = TransactionOptions::STATEMENT;
    assert_eq!(table.change_point(BY_KEY, &[key], &options, &mut buffer, delete), Ok(true));
}

fn add(table: &Table, bytes: &[u8]) -> RowId {
    table.insert_point(&TransactionOptions::STATEMENT, RowImage { bytes, blobs: &[] }).unwrap()
}

/// Deletes the row with key 0, and inserts one with key 1 once the head is free, if it gets so.
fn replace(store: &Store, table: &Table) -> RowId {
    delete(table, 0);
    // The first frees the versions, the second the head.
    for _ in 0..2 {
        let _ = table.shared.clock.snapshot();
        store.collect();
    }
    add(table, &[1, 0])
}

/// Readers of the newest row by its key, which hold no snapshot, beside a head that gets another row.
fn newest_of_a_reused_head() {
    let (store, table) = table(IndexKind::Range);
    // Not part of the mistakes: its head is new.
    let mutant = MUTANT.take();
    let first = add(&table, &[0, 0]);
    MUTANT.set(mutant);
    let writer = {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || {
            let second = replace(&store, &table);
            assert_eq!(second, first, "the head is not used again: the model shows nothing");
        })
    };
    for _ in 0..3 {
        let key = table.read_point(BY_KEY, &[0], |image| image.bytes[0]).unwrap();
        assert!(key.is_none_or(|key| key == 0), "the row of another key");
    }
    writer.join().unwrap();
    let look = |key| table.read_point(BY_KEY, &[key], |image| image.bytes[0]).unwrap();
    assert_eq!([look(0), look(1)], [None, Some(1)]);
}

#[test]
fn the_newest_version_of_a_reused_head_is_not_shown_under_the_key_of_the_row_before() {
    prove(newest_of_a_reused_head, Mutant::ReuseUnmarked);
    prove(newest_of_a_reused_head, Mutant::ReuseMarkedLate);
    prove(newest_of_a_reused_head, Mutant::MarkReadFirst);
}

/// A statement that reads above its snapshot (NOLOCK) does not look at the mark: its snapshot keeps a
/// head, to which an entry may have led it, from being used again.
fn dirty_read_of_a_head() {
    let store = Store::new(StoreOptions::default());
    let spec = TableSpec { kind: TableKind::Ordinary, ..spec_of(TableId(1), IndexKind::Range) };
    let table = store.create_table(spec).unwrap();
    insert(&table, &[0, 0]).unwrap();
    let writer = {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || {
            replace(&store, &table);
        })
    };
    for _ in 0..2 {
        let reader = store.begin(TransactionOptions::EXPLICIT);
        let read = Read { lock: RowLock::Dirty, ..Read::COMMITTED };
        let row = reader.get(&table, BY_KEY, &[0], read).unwrap();
        assert!(row.is_none_or(|row| row.image().bytes[0] == 0), "the row of another key");
    }
    writer.join().unwrap();
}

#[test]
fn a_head_stays_with_its_row_while_a_snapshot_may_lead_to_it() {
    prove(dirty_read_of_a_head, Mutant::HeadFreedAtOnce);
}
