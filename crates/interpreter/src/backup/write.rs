//! BACKUP DATABASE: reads all tables of a database under one snapshot, and writes them to a file.
//!
//! The copy is of the moment of the snapshot: each transaction that had committed before it is in
//! the copy as a whole, and none that committed later. Writers go on.

use std::io;
use std::sync::Arc;

use ::durable::backup::{BackupWriter, Ranges, folder_and_name};
use metadata::backup::new_guid;
use storage::{Bounds, Order, Read, RowId, RowImage, ScanSpec, Transaction, TransactionOptions};
use types::{Error, Msg, Result};

use super::{
    Progress, Wishes, facts, hold, log_lost, not_opened, open_folder, tell_end, to_back_up,
};
use ::catalog::{BackupFacts, Database, Object, TableDef};
use ::executor::{Cx, fault};

/// Attempts to find a moment at which no definition changes.
const TRIES: u32 = 1_000;
/// Rows between two looks at the cancel flag.
const ROWS_PER_LOOK: u64 = 1_024;

const ALL: ScanSpec<'_> =
    ScanSpec { index: None, bounds: Bounds::ALL, order: Order::Forward, read: Read::SNAPSHOT };

/// Runs BACKUP DATABASE to a file.
pub(super) fn run(name: &str, path: &str, wishes: &Wishes, cx: &mut Cx<'_>) -> Result<()> {
    let found = to_back_up(name, "BACKUP DATABASE", cx)?;
    let began = sos::clock::utc_100ns();
    let disk = open_folder(path, wishes, cx)?;
    let instance = Arc::clone(&cx.session.instance);
    let durable = instance.durable();
    let held = durable.map(|durable| hold(durable, found.id, false)).transpose()?;
    let known = facts::state_of(&found, cx)?;
    if wishes.differential {
        check_base(name, &known, durable)?;
    }
    let cancel = Arc::clone(&cx.session.connection.cancel);
    // Before the snapshot: what it does not see is in a range that has changed since.
    let mark = match durable.filter(|_| !wishes.differential && !wishes.copy_only) {
        Some(durable) => durable.mark_ranges(Some(&cancel)),
        None => None,
    };
    fault::check_cancel(cx)?;
    // What is behind the copy is in the log from here on.
    let start = durable.map(::durable::Database::log_start);
    let (database, transaction) = moment(found.id, name, cx)?;
    let kind = if wishes.differential { "I" } else { "D" };
    let mut facts = facts::of_backup(&database, kind, wishes, cx);
    facts.set("valid_until", sos::clock::utc_100ns());
    let mark = durable.zip(mark).map(|(durable, mark)| (durable.life(), mark));
    let chain = Chain::of(&database, &known, (start, mark), wishes);
    chain.describe(&mut facts, &known);
    if let Some(durable) = durable {
        // A crash must not take back what is in the copy: its place in the log would be used again.
        let last = durable.wait_for_visible().ok_or_else(|| log_lost(name))?;
        facts.set("last_lsn", last + 1);
    }
    let writer = BackupWriter::begin(&disk, folder_and_name(path).1, wishes.compresses, &facts);
    let mut writer = writer.map_err(|error| not_opened(path, &error))?;
    let changed = wishes.differential.then(|| changed_ranges(&database, &known, durable));
    let copying = Copying { database: &database, changed, path };
    let end = copying.copy(&transaction, &mut writer, wishes, cx)?;
    let (bytes, end) = writer.finish(end).map_err(|error| failed(path, &error))?;
    transaction.rollback();
    facts.extend(&end);
    facts::add_file(&mut facts, bytes, path);
    let plain = facts.number("plain_bytes");
    facts::remember_backup(found.id, facts, |database, known| chain.begin(database, known), cx)?;
    drop(held);
    Progress::new(wishes.stats).tell(1, 1, cx)?;
    let micros = sos::clock::utc_100ns().saturating_sub(began) / 10;
    tell_end("BACKUP DATABASE", plain, micros, cx)
}

/// Checks that a differential backup has a base.
fn check_base(
    name: &str,
    known: &BackupFacts,
    durable: Option<&::durable::Database>,
) -> Result<()> {
    if durable.is_none() {
        return Err(Msg::NotSupported("BACKUP .. WITH DIFFERENTIAL without --data").into());
    }
    if known.get("base").is_empty() {
        let text = format!(
            "Cannot perform a differential backup for database \"{name}\", because a current database backup does not exist. Perform a full database backup by reissuing BACKUP DATABASE, omitting the WITH DIFFERENTIAL option."
        );
        return Err(Error::custom(3035, 16, 1, text));
    }
    Ok(())
}

/// Returns the ranges of rows that have changed since the base. Called behind the snapshot, so that
/// each change that it sees is in one of them. After a restart it is not known which have changed,
/// and all are taken.
fn changed_ranges(
    database: &Database,
    known: &BackupFacts,
    durable: Option<&::durable::Database>,
) -> Ranges {
    let is_of_life = durable.is_some_and(|it| it.life().to_string() == known.get("base_life"));
    let mark = known.get("base_mark").parse().ok().filter(|_| is_of_life);
    let mut ranges = Ranges::default();
    for table in tables_of(database) {
        let data = &table.rows.data;
        for part in 0..data.part_count() {
            for range in data.changed_ranges(part, mark.unwrap_or(0)) {
                ranges.add((data.id().0, part), range.first, range.len);
            }
        }
    }
    ranges
}

/// What is copied, and to where.
struct Copying<'a> {
    database: &'a Database,
    /// The ranges that a differential backup has.
    changed: Option<Ranges>,
    path: &'a str,
}

impl Copying<'_> {
    /// Writes definitions and rows; returns what the end of the backup says.
    fn copy(
        &self,
        transaction: &Transaction,
        writer: &mut BackupWriter<'_>,
        wishes: &Wishes,
        cx: &mut Cx<'_>,
    ) -> Result<BackupFacts> {
        let Self { database, changed, path } = self;
        let definitions = definitions::encode_database(database);
        writer.definitions(&definitions).map_err(|error| failed(path, &error))?;
        if let Some(changed) = changed {
            writer.ranges(changed).map_err(|error| failed(path, &error))?;
        }
        let tables = tables_of(database);
        let rows: u64 = tables.iter().map(|table| table.rows.data.row_count()).sum();
        let mut progress = Progress::new(wishes.stats);
        for table in tables {
            let id = table.rows.data.id().0;
            each_row(table, transaction, cx, &mut |(part, row_id), row, cx| {
                if changed.as_ref().is_some_and(|changed| !changed.has((id, part), row_id)) {
                    return Ok(());
                }
                writer.row((id, part), row_id, row).map_err(|error| failed(path, &error))?;
                if writer.rows().is_multiple_of(ROWS_PER_LOOK) {
                    fault::check_cancel(cx)?;
                    // The last step is that of the end.
                    progress.tell(writer.rows().min(rows.saturating_sub(1)), rows, cx)?;
                }
                Ok(())
            })?;
        }
        Ok(counters(database, cx))
    }
}

/// Returns the tables whose rows are in a backup.
fn tables_of(database: &Database) -> Vec<&Arc<TableDef>> {
    database.tables().filter(|table| !table.schema_only && table.external.is_none()).collect()
}

pub(super) fn failed(path: &str, error: &io::Error) -> Error {
    Error::custom(3202, 16, 1, format!("Write on \"{path}\" failed: {error}"))
}

/// Where the log begins that is behind a copy: segment and epoch.
type LogStart = (u64, u64);

/// The start of the server, and the number from which on ranges of rows have changed.
type Mark = (u64, u64);

/// Is shown a row: its part and its id, and what it has.
type See<'a> = dyn FnMut((u8, RowId), RowImage<'_>, &mut Cx<'_>) -> Result<()> + 'a;

/// What a data backup is for the backups behind it.
struct Chain {
    /// Set if this backup is the base of differential ones: it is no copy.
    base: Option<String>,
    /// `None` in memory only.
    start: Option<LogStart>,
    /// The name of the chain of log backups; `None` if there is none.
    fork: Option<String>,
    /// Whether this backup begins the chain.
    begins: bool,
    tables: String,
    /// Set if this backup is a base.
    mark: Option<Mark>,
    is_differential: bool,
}

impl Chain {
    fn of(
        database: &Database,
        known: &BackupFacts,
        (start, mark): (Option<LogStart>, Option<Mark>),
        wishes: &Wishes,
    ) -> Self {
        let has_chain = !known.get("log_lsn").is_empty();
        let may_begin = start.is_some() && database.options.recovery != "SIMPLE";
        let begins = !has_chain && may_begin && !wishes.copy_only;
        let fork = match (has_chain, begins) {
            (true, _) => Some(known.get("fork").to_owned()),
            (false, true) => Some(new_guid()),
            (false, false) => None,
        };
        let is_differential = wishes.differential;
        let base = (!wishes.copy_only && !is_differential).then(new_guid);
        let ids = tables_of(database).into_iter().map(|table| table.rows.data.id().0.to_string());
        let tables = ids.collect::<Vec<_>>().join(" ");
        Self { base, start, fork, begins, tables, mark, is_differential }
    }

    fn describe(&self, facts: &mut BackupFacts, known: &BackupFacts) {
        if let Some(base) = &self.base {
            facts.set("uuid", base);
        }
        if self.is_differential {
            facts.set("base", known.get("base"));
            facts.set("base_lsn", known.get("base_lsn"));
        }
        facts.set("family", known.get("family"));
        facts.set("guid", known.get("guid"));
        facts.set("fork", self.fork.as_deref().unwrap_or_default());
        if let Some((_, first)) = self.start {
            facts.set("first_lsn", first);
            facts.set("checkpoint_lsn", first);
            facts.set("database_backup_lsn", known.number("base_lsn"));
        }
    }

    /// Notes in what the database knows that the backup is there.
    fn begin(self, database: &Database, known: &mut BackupFacts) {
        let Self { base, start, fork, begins, tables, mark, is_differential: _ } = self;
        let Some((segment, first)) = start else { return };
        if let Some(base) = base {
            known.set("base", base);
            known.set("base_lsn", first);
            let (life, mark) = mark.unwrap_or_default();
            known.set("base_life", life);
            known.set("base_mark", mark);
        }
        // The model may have changed since.
        if begins && database.options.recovery != "SIMPLE" {
            known.set("fork", fork.unwrap_or_default());
            known.set("log_lsn", first);
            known.set("log_segment", segment);
            known.set("begins", 1);
            known.set("tables", tables);
        }
    }
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
pub(super) fn counters(database: &Database, cx: &Cx<'_>) -> BackupFacts {
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

/// Shows each row of a table that the transaction sees, by its part and its id. The internal tables
/// of a columnstore are parts, too: rows in row groups stay compressed.
fn each_row(
    table: &TableDef,
    transaction: &Transaction,
    cx: &mut Cx<'_>,
    see: &mut See<'_>,
) -> Result<()> {
    let data = &table.rows.data;
    for part in 0..data.part_count() {
        let Some(rows) = data.part_at(part) else { break };
        let mut scan = transaction.scan(rows, ALL).map_err(|error| fault::raise(cx, error))?;
        while let Some(row) = scan.next().map_err(|error| fault::raise(cx, error))? {
            see((part, row.id()), row.image(), cx)?;
        }
    }
    Ok(())
}
