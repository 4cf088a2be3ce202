//! A table of accounts to test with: a row is (key, group, amount), unique by key, grouped by
//! group.

use std::sync::Arc;

use storage::durability::CommitLog;
use storage::{
    Bounds, Error, IndexId, IndexKind, IndexSpec, Isolation, Order, Read, RowImage, RowLock,
    RowRef, ScanSpec, Store, StoreOptions, Table, TableId, TableKind, TableSpec, Transaction,
    TransactionOptions, Uniqueness,
};
use types::row::{RowBuffer, RowLayout};
use types::{ColumnType, DataType};

pub(crate) const BY_KEY: IndexId = IndexId(1);
pub(crate) const BY_GROUP: IndexId = IndexId(2);
/// A hash index over the same key as `BY_KEY`.
pub(crate) const BY_HASH: IndexId = IndexId(3);

/// An index over the same key that leaves out rows with a key below `LARGE`.
pub(crate) const BY_LARGE: IndexId = IndexId(4);
pub(crate) const LARGE: i64 = 3;

pub(crate) type Row = (i64, i64, i64);

pub(crate) struct Bank {
    pub(crate) store: Arc<Store>,
    pub(crate) table: Arc<Table>,
}

fn word(image: RowImage<'_>, n: usize) -> i64 {
    i64::from_be_bytes(image.bytes[n * 8..n * 8 + 8].try_into().unwrap())
}

pub(crate) fn decode(image: RowImage<'_>) -> Row {
    (word(image, 0), word(image, 1), word(image, 2))
}

pub(crate) fn encode(row: Row) -> Vec<u8> {
    [row.0, row.1, row.2].iter().flat_map(|n| n.to_be_bytes()).collect()
}

pub(crate) fn key(n: i64) -> [u8; 8] {
    n.to_be_bytes()
}

pub(crate) fn image(bytes: &[u8]) -> RowImage<'_> {
    RowImage { bytes, blobs: &[] }
}

pub(crate) fn column(n: usize) -> Box<dyn storage::KeyExtractor> {
    Box::new(move |row: RowImage<'_>, key: &mut Vec<u8>| {
        key.extend_from_slice(&row.bytes[n * 8..n * 8 + 8]);
    })
}

pub(crate) fn index(id: IndexId, kind: IndexKind, uniqueness: Uniqueness, n: usize) -> IndexSpec {
    IndexSpec { id, kind, uniqueness, extractor: column(n) }
}

fn large() -> IndexSpec {
    let extractor = Box::new(|row: RowImage<'_>, key: &mut Vec<u8>| {
        if word(row, 0) >= LARGE {
            key.extend_from_slice(&row.bytes[..8]);
        }
    });
    let (kind, uniqueness) = (IndexKind::Range, Uniqueness::Unique);
    IndexSpec { id: BY_LARGE, kind, uniqueness, extractor }
}

impl Bank {
    pub(crate) fn new(kind: TableKind) -> Self {
        Self::made(kind, None)
    }

    /// Makes a durable table, whose store has this log.
    pub(crate) fn durable(kind: TableKind, log: Option<Arc<dyn CommitLog>>) -> Self {
        let layout = RowLayout::new(&[ColumnType::nullable(DataType::BigInt); 3]);
        let bank = Self::made(kind, Some(Arc::new(layout)));
        log.into_iter().for_each(|log| bank.store.set_log(log));
        bank
    }

    fn made(kind: TableKind, durable: Option<Arc<RowLayout>>) -> Self {
        let store = Store::new(StoreOptions::default());
        let indexes = vec![
            index(BY_KEY, IndexKind::Range, Uniqueness::Unique, 0),
            index(BY_GROUP, IndexKind::Range, Uniqueness::NotUnique, 1),
            index(BY_HASH, IndexKind::Hash { bucket_count: 1 << 25 }, Uniqueness::Unique, 0),
            large(),
        ];
        let table = store
            .create_table(TableSpec { id: TableId(1), kind, indexes, columns: None, durable })
            .unwrap();
        Self { store, table }
    }

    pub(crate) fn with(kind: TableKind, rows: impl IntoIterator<Item = Row>) -> Self {
        let bank = Self::new(kind);
        for row in rows {
            bank.insert(row).unwrap();
        }
        bank
    }

    pub(crate) fn begin(&self) -> Transaction {
        self.store.begin(TransactionOptions::EXPLICIT)
    }

    pub(crate) fn insert(&self, row: Row) -> Result<(), Error> {
        self.table.insert_point(&TransactionOptions::STATEMENT, image(&encode(row))).map(|_| ())
    }

    pub(crate) fn amount(&self, n: i64) -> Option<i64> {
        self.table.read_point(BY_KEY, &key(n), |image| decode(image).2).unwrap()
    }

    /// Adds to an amount as one autocommit statement.
    pub(crate) fn add(&self, n: i64, amount: i64) -> bool {
        self.add_as(&TransactionOptions::STATEMENT, n, amount).unwrap()
    }

    /// As [`Self::add`], but fails at once if another transaction owns the row.
    pub(crate) fn try_add(&self, n: i64, amount: i64) -> Result<bool, Error> {
        let options =
            TransactionOptions { lock_timeout_ms: Some(0), ..TransactionOptions::STATEMENT };
        self.add_as(&options, n, amount)
    }

    fn add_as(&self, options: &TransactionOptions, n: i64, amount: i64) -> Result<bool, Error> {
        let mut buffer = RowBuffer::default();
        self.table.change_point(BY_HASH, &key(n), options, &mut buffer, |before, buffer| {
            let (k, g, a) = decode(before);
            buffer.bytes.extend(encode((k, g, a + amount)));
            Ok(storage::Decision::Update(storage::Keys::Same))
        })
    }

    pub(crate) fn remove(&self, n: i64) -> bool {
        let mut buffer = RowBuffer::default();
        let options = TransactionOptions::STATEMENT;
        self.table
            .change_point::<Error>(BY_KEY, &key(n), &options, &mut buffer, |_, _| {
                Ok(storage::Decision::Delete)
            })
            .unwrap()
    }
}

pub(crate) const SERIALIZABLE: Read =
    Read { isolation: Isolation::Serializable, lock: RowLock::None };
pub(crate) const REPEATABLE: Read =
    Read { isolation: Isolation::RepeatableRead, lock: RowLock::None };

pub(crate) fn get<'t>(
    tx: &'t Transaction,
    bank: &'t Bank,
    n: i64,
    read: Read,
) -> Result<Option<RowRef<'t>>, Error> {
    tx.get(&bank.table, BY_KEY, &key(n), read)
}

/// Collects until `holds`: other tests share the process's epoch and may hold it up for a while.
pub(crate) fn eventually(store: &Store, holds: impl Fn() -> bool) {
    const PATIENCE_NS: u64 = 30_000_000_000;
    let started = sos::clock::monotonic_ns();
    while !holds() {
        assert!(sos::clock::monotonic_ns() - started < PATIENCE_NS, "it never came to hold");
        store.collect();
        sos::epoch::collect();
        std::thread::yield_now();
    }
}

/// Returns the rows of a range of keys of an index, or in heap order.
pub(crate) fn scan(
    tx: &Transaction,
    bank: &Bank,
    index: Option<IndexId>,
    bounds: Bounds<'_>,
    order: Order,
    read: Read,
) -> Result<Vec<Row>, Error> {
    let mut scan = tx.scan(&bank.table, ScanSpec { index, bounds, order, read })?;
    let mut rows = Vec::new();
    while let Some(row) = scan.next()? {
        rows.push(decode(row.image()));
    }
    Ok(rows)
}

/// Like [`scan`], reading `step` rows at a time.
pub(crate) fn scan_images(
    tx: &Transaction,
    bank: &Bank,
    spec: ScanSpec<'_>,
    step: usize,
) -> Result<Vec<Row>, Error> {
    let mut scan = tx.scan(&bank.table, spec)?;
    let mut rows = Vec::new();
    let mut images = Vec::new();
    loop {
        scan.next_images(&mut images, step)?;
        assert!(images.len() <= step, "no more rows than asked for");
        if images.is_empty() {
            return Ok(rows);
        }
        rows.extend(images.drain(..).map(decode));
        // The position behind the last row given is that of a scan row by row.
        scan = tx.resume(&bank.table, scan.suspend())?;
    }
}

pub(crate) fn all(tx: &Transaction, bank: &Bank, read: Read) -> Vec<Row> {
    scan(tx, bank, Some(BY_KEY), Bounds::ALL, Order::Forward, read).unwrap()
}
