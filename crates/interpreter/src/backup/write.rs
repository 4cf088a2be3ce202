//! BACKUP DATABASE: reads all tables of a database under one snapshot, and writes them to a file.
//!
//! The copy is of the moment of the snapshot: each transaction that had committed before it is in
//! the copy as a whole, and none that committed later. Writers go on.

use std::io;
use std::sync::Arc;

use ::durable::backup::{BackupWriter, folder_and_name};
use sos::sys::{Disk, OsDisk};
use storage::{Bounds, Order, Read, RowImage, ScanSpec, Transaction, TransactionOptions};
use types::batch::Vector;
use types::row::RowBuffer;
use types::{Error, Msg, Result, Value};

use super::{Progress, Wishes, check_alone, facts, not_opened, tell_end};
use ::catalog::{BackupFacts, Database, Object, TableDef};
use ::executor::columnstore::Blocks;
use ::executor::{Cx, fault};

/// Attempts to find a moment at which no definition changes.
const TRIES: u32 = 1_000;
/// Rows between two looks at the cancel flag.
const ROWS_PER_LOOK: u64 = 1_024;

const ALL: ScanSpec<'_> =
    ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read: Read::SNAPSHOT };

/// Runs BACKUP DATABASE to a file.
pub(super) fn run(name: &str, path: &str, wishes: &Wishes, cx: &mut Cx<'_>) -> Result<()> {
    check_alone(cx)?;
    cx.session.refresh_catalog();
    let Some(found) = cx.session.catalog.database(name).cloned() else {
        return Err(Msg::DatabaseNotFound(name).into());
    };
    if found.id == catalog::table::TEMPDB {
        let text = "Backup and restore operations are not allowed on database tempdb.";
        return Err(Error::custom(3147, 16, 3, text));
    }
    cx.session.identity.rights.check_database(&found, "BACKUP DATABASE")?;
    let began = sos::clock::utc_100ns();
    let (folder, file) = folder_and_name(path);
    let disk = OsDisk::open(folder).map_err(|error| not_opened(path, &error))?;
    if !wishes.overwrites {
        let names = disk.list("").map_err(|error| not_opened(path, &error))?;
        if names.iter().any(|name| name == file) {
            return Err(Msg::NotSupported("BACKUP to a file that exists, without INIT").into());
        }
    }
    let (database, transaction) = moment(found.id, name, cx)?;
    let mut facts = facts::of_backup(&database, "D", wishes, cx);
    let writer = BackupWriter::begin(&disk, file, wishes.compresses, &facts);
    let mut writer = writer.map_err(|error| not_opened(path, &error))?;
    let failed = |error: io::Error| {
        Error::custom(3202, 16, 1, format!("Write on \"{path}\" failed: {error}"))
    };
    writer.definitions(&definitions::encode_database(&database)).map_err(failed)?;
    let tables: Vec<&Arc<TableDef>> =
        database.tables().filter(|table| !table.schema_only && table.external.is_none()).collect();
    let rows = tables.iter().map(|table| table.rows.data.row_count()).sum();
    let mut progress = Progress::new(wishes.stats);
    for table in tables {
        let id = table.rows.data.id().0;
        each_row(table, &transaction, cx, &mut |row, cx| {
            writer.row(id, row).map_err(failed)?;
            if writer.rows().is_multiple_of(ROWS_PER_LOOK) {
                fault::check_cancel(cx)?;
                progress.tell(writer.rows(), rows, cx)?;
            }
            Ok(())
        })?;
    }
    let (bytes, end) = writer.finish(counters(&database, cx)).map_err(failed)?;
    transaction.rollback();
    facts.extend(&end);
    facts.set("bytes", bytes);
    facts.set("path", path);
    facts::remember_backup(facts, cx)?;
    progress.tell(1, 1, cx)?;
    let micros = sos::clock::utc_100ns().saturating_sub(began) / 10;
    tell_end("BACKUP DATABASE", bytes, micros, cx)
}

/// Returns a database and a transaction whose snapshot is of a moment at which the database had
/// just these definitions.
fn moment(id: i16, name: &str, cx: &mut Cx<'_>) -> Result<(Arc<Database>, Transaction)> {
    let instance = Arc::clone(&cx.session.instance);
    let look = || {
        let found = instance.catalog.while_unchanged(|all| all.database_by_id(id).cloned());
        found.ok_or_else(|| Error::from(Msg::DatabaseNotFound(name)))
    };
    for _ in 0..TRIES {
        let before = look()?;
        let transaction = instance.store.begin(TransactionOptions::EXPLICIT);
        if let Some(table) = before.tables().next() {
            // The first access takes the snapshot.
            transaction.scan(&table.rows.data, ALL).map_err(|error| fault::raise(cx, error))?;
        }
        if Arc::ptr_eq(&before, &look()?) {
            return Ok((before, transaction));
        }
        fault::check_cancel(cx)?;
    }
    Err(Error::custom(3023, 16, 1, format!("The definitions of '{name}' change all the time.")))
}

/// Returns where the counters of a database are, now that the snapshot is taken: beyond the values
/// in the copy.
fn counters(database: &Database, cx: &Cx<'_>) -> BackupFacts {
    let mut facts = BackupFacts::default();
    facts.set("ended", sos::clock::utc_100ns());
    for object in database.objects.values() {
        match object {
            Object::Table(table) if table.columns.iter().any(|c| c.identity.is_some()) => {
                let key = format!("identity {}", table.rows.data.id().0);
                facts.set(&key, table.rows.identity.peek());
            }
            Object::Sequence(sequence) => {
                let key = format!("sequence {}", sequence.id);
                facts.set(&key, sequence.counter.peek());
                facts.set(&format!("{key} exhausted"), i32::from(sequence.is_exhausted()));
            }
            _ => {}
        }
    }
    for (key, upto) in cx.session.instance.catalog.counter_positions(true) {
        if key == catalog::CounterKey::RowVersion {
            facts.set("rowversion", upto.next);
        }
    }
    facts
}

/// Shows each row of a table that the transaction sees, compressed ones included.
fn each_row(
    table: &TableDef,
    transaction: &Transaction,
    cx: &mut Cx<'_>,
    see: &mut dyn FnMut(RowImage<'_>, &mut Cx<'_>) -> Result<()>,
) -> Result<()> {
    let data = &table.rows.data;
    let mut scan = transaction.scan(data, ALL).map_err(|error| fault::raise(cx, error))?;
    while let Some(row) = scan.next().map_err(|error| fault::raise(cx, error))? {
        see(row.image(), cx)?;
    }
    drop(scan);
    if table.columnstore.is_none() {
        return Ok(());
    }
    let blocks = Blocks::open(transaction, data, Read::SNAPSHOT);
    let mut blocks = blocks.map_err(|error| fault::raise(cx, error))?;
    let mut buffer = RowBuffer::default();
    while let Some(block) = blocks.next_block().map_err(|error| fault::raise(cx, error))? {
        let vector = |column: &catalog::ColumnDef| Vector::with_capacity_for(&column.ty);
        let mut columns: Vec<Vector> = table.columns.iter().map(vector).collect();
        for (ordinal, column) in columns.iter_mut().enumerate() {
            block.read(ordinal, column);
        }
        for row in block.live.iter() {
            let values: Vec<Value> = columns.iter().map(|column| column.get(row)).collect();
            table.layout.encode(&values, &mut buffer);
            see(RowImage::from(&buffer), cx)?;
        }
    }
    Ok(())
}
