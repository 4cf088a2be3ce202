//! RESTORE DATABASE: checks a whole file, makes tables and rows aside, and publishes the database at
//! the end. Until then the database before is as it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::durable::backup::{BackupReader, Piece, folder_and_name, rows_of};
use definitions::{Entries, NewTable, TableMaker};
use metadata::Rows;
use metadata::backup::{FILES, File, HEADER, LABEL};
use metadata::column::{rows, shape};
use sos::sys::OsDisk;
use storage::{RowImage, TransactionOptions};
use types::{Error, Msg, Result};

use super::{
    Columns, Progress, Wishes, check_alone, facts, not_opened, say, tell_end, unreadable,
};
use ::catalog::name::Name;
use ::catalog::{
    BackupFacts, CatalogCell, Class, CounterKey, Database, Object, PropertyClass, RowShape,
    SYSTEM_DATABASE_LAST, TableRows, Upto, create_rows,
};
use ::ddl::user_access::is_in_use;
use ::executor::{Cx, fault};

/// Runs RESTORE VERIFYONLY of a file.
pub(super) fn verify_only(path: &str, cx: &mut Cx<'_>) -> Result<()> {
    check_makes(cx)?;
    open(path)?.verify().map_err(|error| unreadable(path, &error))?;
    say(Error::custom(3262, 10, 1, "The backup set on file 1 is valid."), cx)
}

/// Returns the result of RESTORE HEADERONLY.
pub(super) fn header(path: &str, cx: &Cx<'_>) -> Result<(Columns, Rows)> {
    let facts = facts_of_file(path, cx)?;
    Ok((shape(HEADER), rows(HEADER, [facts])))
}

/// Returns the result of RESTORE FILELISTONLY.
pub(super) fn files(path: &str, cx: &Cx<'_>) -> Result<(Columns, Rows)> {
    let facts = facts_of_file(path, cx)?;
    Ok((shape(FILES), rows(FILES, File::all(&facts))))
}

/// Returns the result of RESTORE LABELONLY.
pub(super) fn label(path: &str, cx: &Cx<'_>) -> Result<(Columns, Rows)> {
    let facts = facts_of_file(path, cx)?;
    Ok((shape(LABEL), rows(LABEL, [facts])))
}

fn facts_of_file(path: &str, cx: &Cx<'_>) -> Result<BackupFacts> {
    check_makes(cx)?;
    Ok(all_facts(&open(path)?, path))
}

/// Returns all facts of a backup: of its beginning, its end and its file.
fn all_facts(reader: &BackupReader, path: &str) -> BackupFacts {
    let mut facts = reader.facts().clone();
    facts.extend(reader.end());
    facts.set("bytes", reader.bytes());
    facts.set("path", path);
    facts
}

fn open(path: &str) -> Result<BackupReader> {
    let (folder, file) = folder_and_name(path);
    let disk = OsDisk::open(folder).map_err(|error| not_opened(path, &error))?;
    BackupReader::open(&disk, file).map_err(|error| unreadable(path, &error))
}

fn check_makes(cx: &Cx<'_>) -> Result<()> {
    match cx.session.identity.rights.makes_databases(&cx.session.catalog) {
        true => Ok(()),
        false => Err(Msg::DatabasePermissionDenied("CREATE DATABASE", "master").into()),
    }
}

/// Runs RESTORE DATABASE from a file.
pub(super) fn run(name: &str, path: &str, wishes: &Wishes, cx: &mut Cx<'_>) -> Result<()> {
    check_alone(cx)?;
    cx.session.refresh_catalog();
    let before = cx.session.catalog.database(name).cloned();
    match &before {
        Some(found) if cx.session.identity.rights.owns(found) => {}
        _ => check_makes(cx)?,
    }
    let began = sos::clock::utc_100ns();
    let mut reader = open(path)?;
    reader.verify().map_err(|error| unreadable(path, &error))?;
    let facts = all_facts(&reader, path);
    if let Some(found) = &before {
        check_replaces(found, reader.facts(), wishes, cx)?;
    }
    let bytes = reader.bytes();
    let mark = cx.session.mark_definitions();
    let made = make((name, path), before.as_ref(), &facts, wishes, cx);
    cx.session.end_definition(&mark, made.is_err());
    made?;
    cx.session.refresh_catalog();
    let replaces = i32::from(wishes.replaces).to_string();
    let more = [("replace", replaces), ("recovery", "1".to_owned())];
    facts::remember_restore(name, &facts, &more, cx)?;
    let micros = sos::clock::utc_100ns().saturating_sub(began) / 10;
    tell_end("RESTORE DATABASE", bytes, micros, cx)
}

/// Checks that a database may be replaced.
fn check_replaces(found: &Database, facts: &BackupFacts, wishes: &Wishes, cx: &Cx<'_>) -> Result<()> {
    let name = &found.name;
    if found.id <= SYSTEM_DATABASE_LAST {
        return Err(Msg::NotSupported("RESTORE DATABASE of a system database").into());
    }
    if Name::same(&cx.session.identity.database, name) {
        return Err(Error::custom(
            3102,
            16,
            1,
            format!(
                "RESTORE cannot process database '{name}' because it is in use by this session. It is recommended that the master database be used when performing this operation."
            ),
        ));
    }
    if is_in_use(cx.session, found) {
        let text = "Exclusive access could not be obtained because the database is in use.";
        return Err(Error::custom(3101, 16, 1, text));
    }
    if wishes.replaces {
        return Ok(());
    }
    let is_same = facts.get("database") == found.name
        && facts.get("identity") == format!("{:?}", found.created);
    if !is_same {
        return Err(Error::custom(
            3154,
            16,
            4,
            format!(
                "The backup set holds a backup of a database other than the existing '{name}' database."
            ),
        ));
    }
    if found.options.recovery.eq_ignore_ascii_case("SIMPLE") {
        return Ok(());
    }
    Err(Error::custom(
        3159,
        16,
        1,
        format!(
            "The tail of the log for the database \"{name}\" has not been backed up. Use BACKUP LOG WITH NORECOVERY to backup the log if it contains work you do not want to lose. Use the WITH REPLACE or WITH STOPAT clause of the RESTORE statement to just overwrite the contents of the log."
        ),
    ))
}

/// Makes tables with new storage, and keeps them by the storage ids of the backup.
struct Maker<'a> {
    store: &'a Arc<storage::Store>,
    cell: &'a CatalogCell,
    made: BTreeMap<u32, Arc<TableRows>>,
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
                self.made.insert(before.0, Arc::clone(&rows));
            }
            _ => self.store.drop_table(rows.data.id()),
        }
        Ok(rows)
    }
}

/// Makes the database and publishes it.
fn make(
    (name, path): (&str, &str),
    before: Option<&Arc<Database>>,
    end: &BackupFacts,
    wishes: &Wishes,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let instance = Arc::clone(&cx.session.instance);
    let mut maker =
        Maker { store: &instance.store, cell: &instance.catalog, made: BTreeMap::new() };
    let mut reader = open(path)?;
    let bytes = reader.bytes();
    let mut progress = Progress::new(wishes.stats);
    let mut entries = Entries::new();
    let mut database = None;
    loop {
        let position = reader.position();
        let piece = reader.next_piece().map_err(|error| unreadable(path, &error))?;
        match piece {
            Some(Piece::Definitions(read)) => {
                entries.extend(read.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
                continue;
            }
            None if database.is_some() => break,
            Some(Piece::Rows(..)) | None => {}
        }
        if database.is_none() {
            let names = &::session::event::registry::NAMES;
            let read = definitions::decode_database(&entries, &instance.catalog, &mut maker, names);
            for rows in maker.made.values() {
                cx.session.note_made(rows.data.id());
            }
            let read = read.map_err(|error| {
                Error::custom(3183, 16, 1, format!("The backup '{path}' is damaged: {error}"))
            })?;
            database = Some(read);
        }
        let Some(Piece::Rows(table, rows)) = piece else { break };
        let unreadable = || {
            let text = format!("The backup '{path}' is damaged at offset {position}: a row.");
            Error::custom(3183, 16, 1, text)
        };
        let to = maker.made.get(&table).ok_or_else(unreadable)?;
        let transaction = instance.store.begin(TransactionOptions::STATEMENT);
        let read =
            rows_of(rows, |row| transaction.insert(&to.data, RowImage::from(row)).map(|_| ()));
        read.map_err(|error| fault::raise(cx, error))?.ok_or_else(unreadable)?;
        transaction.commit().map_err(|error| fault::raise(cx, error))?;
        fault::check_cancel(cx)?;
        progress.tell(position, bytes, cx)?;
    }
    let Some(mut database) = database else { return Err(Msg::InternalError.into()) };
    set_counters(&mut database, &maker, end);
    set_owner(&mut database, before, cx);
    renumber_modules(&mut database, name, &instance.catalog);
    name.clone_into(&mut database.name);
    if database.tables().any(|table| table.period.is_some()) {
        instance.note_periods();
    }
    let replaced = before.map(|before| before.id);
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
    progress.tell(1, 1, cx)
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

/// Makes counters go on where they were, and writes that to the log.
fn set_counters(database: &mut Database, maker: &Maker<'_>, end: &BackupFacts) {
    for (before, rows) in &maker.made {
        let key = format!("identity {before}");
        if end.0.contains_key(&key) {
            rows.identity.set(end.number(&key));
            rows.identity.settle();
        }
    }
    for object in database.objects.values_mut() {
        let Object::Sequence(sequence) = object else { continue };
        let sequence = Arc::make_mut(sequence);
        let key = format!("sequence {}", sequence.id);
        let exhausted = end.number(&format!("{key} exhausted")) != 0;
        let upto = Upto { next: end.number(&key), exhausted };
        // A new counter: its key is unique in the instance.
        sequence.counter = maker.cell.new_sequence_counter(upto.next, true);
        sequence.counter.restore(upto);
        sequence.counter.settle();
    }
    // Later values are beyond those in the rows, also after a crash: taking one logs the position.
    let version = Upto::at(end.number("rowversion"));
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
