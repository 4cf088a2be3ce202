//! Makes a database from backups: a full one, perhaps a differential one, and the log behind them.
//!
//! ```text
//! definitions of the last data backup ─► those of the log on top ─► tables, aside
//! rows of the full backup ─► rows of the differential one ─► changes of the log ─► indexes
//!   ─► a checkpoint, so that rows are durable ─► the database appears, in one change
//! ```
//!
//! Rows come back at their row ids, which the log names. They are not written to the log: a checkpoint
//! has them before the definition that refers to them is logged.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ::durable::backup::{BackupReader, LogRoller, Piece, Ranges, rows_of};
use definitions::{Entries, NewTable, TableMaker};
use storage::recovery::{Restore, Source};
use storage::{RowImage, TableId};
use types::row::RowLayout;
use types::{Collation, Error, Msg, Result};

use super::restore::{open, outcome};
use super::{Progress, Wishes, unreadable};
use ::catalog::name::Name;
use ::catalog::{
    BackupFacts, CatalogCell, Class, CounterKey, Database, Object, PropertyClass, Restoring,
    RowShape, TableRows, Upto, create_rows,
};
use ::executor::{Cx, fault};

/// The files that a database is made from.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    /// The path of the full backup.
    pub(super) full: String,
    /// The path of the differential backup.
    pub(super) differential: Option<String>,
    /// Backups of the log, in their order.
    pub(super) logs: Vec<String>,
    /// Leave out what was committed later, in units of 100 ns since 0001-01-01 UTC.
    pub(super) until_100ns: Option<u64>,
}

impl Sources {
    /// Returns the files of a restore, the second of which may be a differential backup.
    pub(super) fn of(restoring: &Restoring, has_differential: bool) -> Self {
        let mut files = restoring.files.iter().cloned();
        let full = files.next().unwrap_or_default();
        let differential = if has_differential { files.next() } else { None };
        Self { full, differential, logs: files.collect(), until_100ns: restoring.until_100ns }
    }
}

/// A table whose rows are being put back.
struct Made {
    rows: Arc<TableRows>,
    layout: Arc<RowLayout>,
}

/// Makes tables with new storage, and keeps them by the storage ids of the backup.
struct Maker<'a> {
    store: &'a Arc<storage::Store>,
    cell: &'a CatalogCell,
    made: BTreeMap<u32, Made>,
}

impl TableMaker for Maker<'_> {
    fn make(&mut self, table: &NewTable<'_>) -> Result<Arc<TableRows>> {
        let RowShape { columns, indexes, layout, memory_optimized, has_columns, durable, restored } =
            table.shape;
        let shape = RowShape {
            columns,
            indexes,
            layout,
            memory_optimized,
            has_columns,
            durable,
            restored: None,
        };
        let rows = create_rows(self.store, self.cell, &shape)?;
        match restored {
            Some(before) if !table.is_shape => {
                let made = Made { rows: Arc::clone(&rows), layout: Arc::clone(layout) };
                self.made.insert(before.0, made);
            }
            _ => self.store.drop_table(rows.data.id()),
        }
        Ok(rows)
    }
}

/// Makes the database and publishes it.
pub(super) fn make(
    name: &str,
    sources: &Sources,
    before: Option<&Arc<Database>>,
    wishes: &Wishes,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let instance = Arc::clone(&cx.session.instance);
    let base = sources.differential.as_ref().unwrap_or(&sources.full);
    let mut roller = LogRoller::new(definitions_of(base)?, sources.until_100ns);
    if is_behind(base, &sources.logs)? {
        for path in &sources.logs {
            roll(path, &mut roller, cx)?;
        }
    }
    let mut rolled = roller.finish();
    let mut maker =
        Maker { store: &instance.store, cell: &instance.catalog, made: BTreeMap::new() };
    let names = &::session::event::registry::NAMES;
    let read = definitions::decode_database(&rolled.entries, &instance.catalog, &mut maker, names);
    for made in maker.made.values() {
        cx.session.note_made(made.rows.data.id());
    }
    let mut database = read.map_err(|error| damaged(base, &error))?;
    fill(&maker.made, sources, &mut rolled, wishes, cx)?;
    let positions = Positions::new(sources, &rolled.entries)?;
    set_counters(&mut database, &maker, &positions);
    set_owner(&mut database, before, cx);
    renumber_modules(&mut database, name, &instance.catalog);
    name.clone_into(&mut database.name);
    if database.tables().any(|table| table.period.is_some()) {
        instance.note_periods();
    }
    make_durable(cx)?;
    publish(name, database, before, cx)
}

/// Returns whether the log goes beyond a data backup. One that ends while that was written has older
/// values of rows than the data backup.
fn is_behind(data: &str, logs: &[String]) -> Result<bool> {
    let Some(last) = logs.last() else { return Ok(false) };
    Ok(outcome(last)?.number("last_lsn") >= outcome(data)?.number("last_lsn"))
}

/// Makes a database that waits for the next file of its restore.
pub(super) fn wait_for_more(
    name: &str,
    full: &BackupFacts,
    restoring: Restoring,
    before: Option<&Arc<Database>>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let created = metadata::backup::time(full, "created");
    let collation = Collation::by_name(full.get("collation")).unwrap_or_default();
    let mut database = Database::new(0, name, collation, created);
    full.get("recovery").clone_into(&mut database.options.recovery);
    database.options.restoring = Some(restoring);
    set_owner(&mut database, before, cx);
    publish(name, database, before, cx)
}

/// Puts the database into the catalog.
pub(super) fn publish(
    name: &str,
    mut database: Database,
    before: Option<&Arc<Database>>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let replaced = before.map(|before| before.id);
    if let Some(before) = before {
        // Its log does not go on into the database that replaces it.
        cx.session.instance.catalog.change_aside(|catalog| {
            Arc::make_mut(&mut catalog.backups).end_log_chain(before);
            Ok(())
        })?;
    }
    let gone = cx.session.change_catalog(|catalog| {
        let found = catalog.database(name).map(|found| found.id);
        if found != replaced {
            return Err(Msg::DatabaseExists(name).into());
        }
        let id = found.unwrap_or_else(|| catalog.next_database_id());
        place(&mut database, id);
        let gone = catalog.databases.remove(&Name::new(name));
        catalog.databases.insert(Name::new(name), Arc::new(database));
        Ok(gone)
    })?;
    for table in gone.iter().flat_map(|database| database.tables()) {
        cx.session.note_gone(&table.rows.data);
    }
    Ok(())
}

/// Makes the rows durable, which are not in the log.
fn make_durable(cx: &mut Cx<'_>) -> Result<()> {
    let cancel = Arc::clone(&cx.session.connection.cancel);
    let written = cx.session.instance.checkpoint(&cancel);
    fault::check_cancel(cx)?;
    written.map_err(|why| {
        Error::custom(5901, 16, 1, format!("The restored rows cannot be made durable: {why}."))
    })
}

fn damaged(path: &str, why: &dyn std::fmt::Display) -> Error {
    Error::custom(3183, 16, 1, format!("The backup '{path}' is damaged: {why}"))
}

fn definitions_of(path: &str) -> Result<Entries> {
    let mut reader = open(path)?;
    let mut entries = Entries::new();
    while let Some(piece) = reader.next_piece().map_err(|error| unreadable(path, &error))? {
        let Piece::Definitions(read) = piece else { break };
        entries.extend(read.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
    Ok(entries)
}

/// Returns the ranges that the rows of a differential backup replace.
fn ranges_of(path: &str) -> Result<Ranges> {
    let mut reader = open(path)?;
    loop {
        match reader.next_piece().map_err(|error| unreadable(path, &error))? {
            Some(Piece::Ranges(ranges)) => return Ok(ranges),
            Some(Piece::Definitions(_)) => {}
            Some(Piece::Rows(..) | Piece::Log { .. }) | None => return Ok(Ranges::default()),
        }
    }
}

/// Reads a backup of the log.
fn roll(path: &str, roller: &mut LogRoller, cx: &mut Cx<'_>) -> Result<()> {
    let mut reader = open(path)?;
    while let Some(piece) = reader.next_piece().map_err(|error| unreadable(path, &error))? {
        if let Piece::Log { payload, ends_group } = piece {
            roller.take(payload, ends_group).map_err(|why| damaged(path, &why))?;
        }
        fault::check_cancel(cx)?;
    }
    Ok(())
}

/// Puts all rows into the tables.
fn fill(
    made: &BTreeMap<u32, Made>,
    sources: &Sources,
    rolled: &mut ::durable::backup::Rolled,
    wishes: &Wishes,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let opened: HashMap<u32, Restore<'_>> =
        made.iter().map(|(id, made)| (*id, made.rows.data.restore())).collect();
    let mut progress = Progress::new(wishes.stats);
    // The ranges that the differential backup has replace those of the full one.
    let replaced = match &sources.differential {
        Some(path) => ranges_of(path)?,
        None => Ranges::default(),
    };
    put_rows(&sources.full, &opened, &replaced, &mut progress, cx)?;
    if let Some(path) = &sources.differential {
        put_rows(path, &opened, &Ranges::default(), &mut progress, cx)?;
    }
    for (id, made) in made {
        let Some(restore) = opened.get(id) else { continue };
        let applied = rolled.apply(TableId(*id), restore, &made.layout);
        applied.map_err(|why| damaged("log", &why))?;
        fault::check_cancel(cx)?;
    }
    for restore in opened.into_values() {
        restore.finish_in_use().map_err(|error| fault::raise(cx, error))?;
        fault::check_cancel(cx)?;
    }
    progress.tell(1, 1, cx)
}

/// Puts the rows of a file into tables, but for those in ranges that another file replaces. Rows of
/// tables that are not there any more are left out.
fn put_rows(
    path: &str,
    opened: &HashMap<u32, Restore<'_>>,
    replaced: &Ranges,
    progress: &mut Progress,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let mut reader: BackupReader = open(path)?;
    let bytes = reader.bytes();
    loop {
        let position = reader.position();
        let piece = reader.next_piece().map_err(|error| unreadable(path, &error))?;
        let Some(piece) = piece else { return Ok(()) };
        let Piece::Rows((table, part), rows) = piece else { continue };
        let Some(restore) = opened.get(&table) else { continue };
        let mut is_placed = true;
        let read = rows_of(rows, |id, row| {
            if !replaced.has((table, part), id) {
                let put = restore.put(part, id, RowImage::from(row), Source::Log)?;
                is_placed &= put;
            }
            Ok(())
        });
        if read.map_err(|error| fault::raise(cx, error))?.is_none() || !is_placed {
            return Err(damaged(path, &format!("a row at offset {position}.")));
        }
        fault::check_cancel(cx)?;
        progress.tell(position, bytes, cx)?;
    }
}

/// Gives the database the owner of the one that it replaces, or the session's login.
fn set_owner(database: &mut Database, before: Option<&Arc<Database>>, cx: &Cx<'_>) {
    let owner = match before.and_then(|before| before.principals.get(&Name::new("dbo"))) {
        Some(dbo) => dbo.login.clone(),
        None => Some(cx.session.identity.login.clone()),
    };
    if let Some(dbo) = database.principals.get_mut(&Name::new("dbo")) {
        Arc::make_mut(dbo).login = owner;
    }
}

/// Where counters go on.
struct Positions {
    /// What the last backup says, if its end is the end of the restore.
    last: BackupFacts,
    /// What the log says: behind the values that were reserved.
    logged: HashMap<CounterKey, Upto>,
    /// What the data backup says.
    data: BackupFacts,
    row_version: i64,
}

impl Positions {
    fn new(sources: &Sources, entries: &Entries) -> Result<Self> {
        let mut data = outcome(&sources.full)?;
        if let Some(path) = &sources.differential {
            data.extend(&outcome(path)?);
        }
        let mut row_version = data.number("rowversion");
        let mut last = BackupFacts::default();
        for path in &sources.logs {
            last = outcome(path)?;
            row_version = row_version.max(last.number("rowversion"));
        }
        if sources.until_100ns.is_some() {
            last = BackupFacts::default();
        }
        let logged = definitions::counters_of(entries).map_err(|error| damaged("log", &error))?;
        Ok(Self { last, logged: logged.into_iter().collect(), data, row_version })
    }

    fn identity(&self, table: u32) -> Option<i64> {
        let key = format!("identity {table}");
        let of = |facts: &BackupFacts| facts.0.contains_key(&key).then(|| facts.number(&key));
        let logged = || self.logged.get(&CounterKey::Identity(TableId(table)));
        of(&self.last).or_else(|| logged().map(|upto| upto.next)).or_else(|| of(&self.data))
    }

    fn sequence(&self, id: i32, number: i32) -> Option<Upto> {
        let key = format!("sequence {id}");
        let of = |facts: &BackupFacts| {
            let exhausted = facts.number(&format!("{key} exhausted")) != 0;
            facts.0.contains_key(&key).then(|| Upto { next: facts.number(&key), exhausted })
        };
        let logged = || self.logged.get(&CounterKey::Sequence(number)).copied();
        of(&self.last).or_else(logged).or_else(|| of(&self.data))
    }
}

/// Makes counters go on where they were, and writes that to the log.
fn set_counters(database: &mut Database, maker: &Maker<'_>, positions: &Positions) {
    for (before, made) in &maker.made {
        if let Some(next) = positions.identity(*before) {
            made.rows.identity.set(next);
            made.rows.identity.settle();
        }
    }
    for object in database.objects.values_mut() {
        let Object::Sequence(sequence) = object else { continue };
        let sequence = Arc::make_mut(sequence);
        let known = positions.sequence(sequence.id, sequence.counter.number());
        let upto = known.unwrap_or_else(|| Upto::at(sequence.counter.peek()));
        // A new counter: its key is unique in the instance.
        sequence.counter = maker.cell.new_sequence_counter(upto.next, true);
        sequence.counter.restore(upto);
        sequence.counter.settle();
    }
    // Later values are beyond those in the rows, also after a crash: taking one logs the position.
    let version = Upto::at(positions.row_version);
    maker.cell.restore_counters([(CounterKey::RowVersion, version)]);
    let _ = maker.cell.next_row_version();
    for table in database.tables() {
        if let Some(index) = &table.column_index {
            table.rows.data.add_column_index(index.storage_id);
        }
    }
}

/// Gives procedures, views, functions and triggers new ids where another database has these: the
/// cache of programs finds modules by their ids alone.
fn renumber_modules(database: &mut Database, name: &str, cell: &CatalogCell) {
    let all = cell.load();
    let others = || all.databases.values().filter(|other| !Name::same(&other.name, name));
    let is_taken = |id: i32| {
        others().any(|other| {
            other.object_by_id(id).is_some()
                || other.triggers.values().any(|trigger| trigger.id == id)
        })
    };
    let mut ids: BTreeMap<i32, i32> = BTreeMap::new();
    let mut renumber = |id: &mut i32| {
        if is_taken(*id) {
            let new = cell.next_object_id();
            ids.insert(std::mem::replace(id, new), new);
        }
    };
    for object in database.objects.values_mut() {
        match object {
            Object::Procedure(procedure) => renumber(&mut Arc::make_mut(procedure).id),
            Object::View(module) | Object::Function(module) | Object::Trigger(module) => {
                renumber(&mut Arc::make_mut(module).id);
            }
            Object::Table(_) | Object::Synonym(_) | Object::Sequence(_) => {}
        }
    }
    database.triggers.values_mut().for_each(|it| renumber(&mut Arc::make_mut(it).id));
    let new = |id: i32| ids.get(&id).copied().unwrap_or(id);
    for object in database.objects.values_mut() {
        if let Object::Trigger(module) = object {
            let module = Arc::make_mut(module);
            module.parent_id = new(module.parent_id);
        }
    }
    for permission in &mut database.permissions {
        if permission.class == Class::Object {
            permission.object_id = new(permission.object_id);
        }
    }
    let owners = std::mem::take(&mut database.owners);
    database.owners = owners.into_iter().map(|(id, owner)| (new(id), owner)).collect();
    let properties = std::mem::take(&mut database.properties);
    let moved = properties.into_iter().map(|((mut of, name), property)| {
        if matches!(of.class, PropertyClass::ObjectOrColumn | PropertyClass::Parameter) {
            of.major_id = new(of.major_id);
        }
        ((of, name), property)
    });
    database.properties = moved.collect();
}

/// Gives a database its id, which its objects have as well.
fn place(database: &mut Database, id: i16) {
    database.id = id;
    for object in database.objects.values_mut() {
        match object {
            Object::Table(table) => Arc::make_mut(table).database_id = id,
            Object::Procedure(procedure) => Arc::make_mut(procedure).database_id = id,
            Object::View(module) | Object::Function(module) | Object::Trigger(module) => {
                place_module(module, id);
            }
            Object::Synonym(_) | Object::Sequence(_) => {}
        }
    }
    database.triggers.values_mut().for_each(|trigger| place_module(trigger, id));
    for user_type in database.types.values_mut().filter(|it| it.shape.is_some()) {
        let shape = Arc::make_mut(user_type).shape.as_mut();
        shape.into_iter().for_each(|shape| Arc::make_mut(shape).database_id = id);
    }
}

fn place_module(module: &mut Arc<catalog::ModuleDef>, id: i16) {
    let module = Arc::make_mut(module);
    module.database_id = id;
    let shapes =
        [module.shape.as_mut(), module.routine.as_mut().and_then(|routine| routine.table.as_mut())];
    for shape in shapes.into_iter().flatten() {
        Arc::make_mut(shape).database_id = id;
    }
}
