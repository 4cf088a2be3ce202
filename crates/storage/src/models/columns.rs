//! A model of a nonclustered columnstore index under shuttle: a reader sees the same row with and
//! without the index, while a group is built and the row changes.

use std::sync::Arc;

use encoding::GroupBuilder;
use shuttle::thread::spawn;
use types::row::RowBuffer;
use types::value::ColumnType;
use types::{DataType, Value};

use crate::models::prove;
use crate::primitives::Mutant;
use crate::row_group::{ColumnIndexId, Trim};
use crate::{
    Bounds, Decision, Error, IndexId, IndexKind, IndexSpec, Keys, Order, Read, RowImage, ScanSpec,
    Store, StoreOptions, Table, TableId, TableKind, TableSpec, Transaction, TransactionOptions,
    Uniqueness,
};

const BY_KEY: IndexId = IndexId(1);
const INDEX: ColumnIndexId = ColumnIndexId(1);
const ALL: ScanSpec<'static> =
    ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read: Read::COMMITTED };

/// Makes a table with one row: a key and a number.
fn one_row() -> (Arc<Store>, Arc<Table>) {
    let store = Store::new(StoreOptions::default());
    let extractor = Box::new(|row: RowImage<'_>, key: &mut Vec<u8>| key.push(row.bytes[0]));
    let (kind, uniqueness) = (IndexKind::Range, Uniqueness::Unique);
    let indexes = vec![IndexSpec { id: BY_KEY, kind, uniqueness, extractor }];
    let (id, kind) = (TableId(1), TableKind::Ordinary);
    let table =
        store.create_table(TableSpec { id, kind, indexes, columns: None, durable: None }).unwrap();
    let row = RowImage { bytes: &[0, 0], blobs: &[] };
    table.insert_point(&TransactionOptions::STATEMENT, row).unwrap();
    table.add_column_index(INDEX);
    (store, table)
}

fn increment(table: &Table) {
    let mut buffer = RowBuffer::default();
    let options = TransactionOptions::STATEMENT;
    let change = |before: RowImage<'_>, buffer: &mut RowBuffer| {
        buffer.bytes.extend([0, before.bytes[1] + 1]);
        Ok::<_, Error>(Decision::Update(Keys::Same))
    };
    assert_eq!(table.change_point(BY_KEY, &[0], &options, &mut buffer, change), Ok(true));
}

fn compress(store: &Arc<Store>, table: &Table) {
    let transaction = store.begin(TransactionOptions::STATEMENT);
    let Some(loose) = transaction.loose_rows(table, INDEX, 1).unwrap() else { return };
    let mut builder = GroupBuilder::new(&[ColumnType::nullable(DataType::BigInt)]);
    for image in loose.images() {
        builder.push(&[Value::BigInt(image.map_or(-1, |image| image.bytes[1].into()))]);
    }
    let segments = builder.finish().unwrap();
    table.add_column_group(&loose, segments, Trim::Rebuild).unwrap();
}

/// Reads the number, from the index if that has it.
fn by_columns(transaction: &Transaction, table: &Table) -> u8 {
    let mut scan = transaction.scan(table, ALL).unwrap();
    let view = transaction.column_view(table, INDEX, ALL.read.isolation);
    let mut seen = Vec::new();
    if let Some(view) = view {
        scan.pass_over(view);
        for (place, group) in view.groups().enumerate() {
            let mut numbers = types::batch::Vector::of_type(&DataType::BigInt);
            group.segment(0).block(0, &mut numbers);
            if view.changed_rows(place).is_empty() {
                let Value::BigInt(number) = numbers.get(0) else { panic!("a number") };
                seen.push(u8::try_from(number).unwrap());
            }
        }
    }
    while let Some(row) = scan.next().unwrap() {
        seen.push(row.image().bytes[1]);
    }
    assert_eq!(seen.len(), 1, "the row is there once: {seen:?}");
    seen[0]
}

fn by_row(transaction: &Transaction, table: &Table) -> u8 {
    let row = transaction.get(table, BY_KEY, &[0], Read::COMMITTED).unwrap();
    row.expect("the row is there").image().bytes[1]
}

/// One thread builds a group, one changes the row twice, and one reads.
fn change_while_compressing() {
    let (store, table) = one_row();
    let compressor = {
        let (store, table) = (Arc::clone(&store), Arc::clone(&table));
        spawn(move || compress(&store, &table))
    };
    let writer = {
        let table = Arc::clone(&table);
        spawn(move || {
            increment(&table);
            increment(&table);
        })
    };
    for _ in 0..2 {
        let transaction = store.begin(TransactionOptions::STATEMENT);
        assert_eq!(by_columns(&transaction, &table), by_row(&transaction, &table));
    }
    compressor.join().unwrap();
    writer.join().unwrap();
    let transaction = store.begin(TransactionOptions::STATEMENT);
    assert_eq!(by_columns(&transaction, &table), 2);
}

#[test]
fn writer_tells_the_columns_of_a_row_that_changes() {
    prove(change_while_compressing, Mutant::ColumnsNotTold);
}

#[test]
fn group_counts_when_all_writers_have_met_it() {
    prove(change_while_compressing, Mutant::ColumnsWithoutWait);
}
