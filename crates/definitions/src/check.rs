//! The check of a change before it is in the log: what a start could not read must not be there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::name::Name;
use catalog::{Catalog, Database, Object, TableDef, TableRows, Versioning};

use crate::code::Cx;
use crate::decode::Reading;
use crate::key::{Key, Part};
use crate::table::Role;
use crate::{Entry, Error, EventNames, NewTable, TableMaker};

/// Reads the changed entries of a catalog as a start does.
///
/// # Errors
/// Names the entry that a start would refuse.
pub fn check(entries: &[Entry], next: &Catalog, names: &EventNames) -> Result<(), Error> {
    let Some(mut tables) = Tables::of(next) else { return Ok(()) };
    let mut cx = Cx { counter_log: None, tables: &mut tables, names, storages: BTreeSet::new() };
    let mut reading = Reading::new(&Catalog::empty());
    reading.databases = next.databases.values().map(|it| (it.id, bare(it))).collect();
    let put = entries.iter().filter_map(|entry| Some((&entry.key, entry.value.as_ref()?)));
    reading.all(put, &mut cx)?;
    check_names(&reading, next)?;
    check_histories(&reading, next)?;
    let removed = entries.iter().filter(|entry| entry.value.is_none());
    removed.map(|entry| &entry.key).try_for_each(|key| check_removed(key, next))
}

/// Checks that the catalog has each item that was read under its name: no entry that has not changed
/// has the name, too.
fn check_names(reading: &Reading, next: &Catalog) -> Result<(), Error> {
    let read = &reading.catalog;
    same(&read.logins, &next.logins, |it| Key::Login(it.principal_id))?;
    same(&read.event_sessions, &next.event_sessions, |it| Key::EventSession(it.id))?;
    same(&read.triggers, &next.triggers, |it| Key::ServerTrigger(it.id))?;
    for read in reading.databases.values() {
        let Some(next) = next.database_by_id(read.id) else { continue };
        let of = |part| Key::Of(read.id, part);
        same(&read.schemas, &next.schemas, |it| of(Part::Schema(it.id)))?;
        same(&read.objects, &next.objects, |it| of(Part::Object(it.id())))?;
        same(&read.triggers, &next.triggers, |it| of(Part::Trigger(it.id)))?;
        same(&read.types, &next.types, |it| of(Part::Type(it.id)))?;
        same(&read.principals, &next.principals, |it| of(Part::Principal(it.id)))?;
        same(&read.data_sources, &next.data_sources, |it| of(Part::DataSource(it.id)))?;
        same(&read.file_formats, &next.file_formats, |it| of(Part::FileFormat(it.id)))?;
        let (functions, schemes) = (&next.partition_functions, &next.partition_schemes);
        same(&read.partition_functions, functions, |it| of(Part::PartitionFunction(it.id)))?;
        same(&read.partition_schemes, schemes, |it| of(Part::PartitionScheme(it.id)))?;
    }
    for ((database, id), (table, _)) in &reading.tables {
        let name = (Name::new(&table.schema), Name::new(&table.name));
        let found = next.database_by_id(*database).and_then(|it| it.objects.get(&name));
        if found.map(Object::id) != Some(*id) {
            return Err(other_name(&Key::Of(*database, Part::Object(*id))));
        }
    }
    Ok(())
}

fn same<K: Ord, V>(
    read: &BTreeMap<K, V>,
    next: &BTreeMap<K, V>,
    key: impl Fn(&V) -> Key,
) -> Result<(), Error> {
    let in_words = |item: &V| key(item).to_string();
    let has = |(name, item): &(&K, &V)| next.get(*name).map(in_words) == Some(in_words(item));
    match read.iter().find(|item| !has(item)) {
        Some((_, item)) => Err(other_name(&key(item))),
        None => Ok(()),
    }
}

fn other_name(key: &Key) -> Error {
    Error { entry: key.to_string(), reason: "the catalog has another item by its name".to_owned() }
}

/// Checks that the history tables of tables that were read are there.
fn check_histories(reading: &Reading, next: &Catalog) -> Result<(), Error> {
    for ((database, id), (_, role)) in &reading.tables {
        let Role::Current(history) = role else { continue };
        let mut tables = next.database_by_id(*database).into_iter().flat_map(|it| it.tables());
        if !tables.any(|table| table.id == *history) {
            let entry = Key::Of(*database, Part::Object(*id)).to_string();
            return Err(Error { entry, reason: format!("there is no history table {history}") });
        }
    }
    Ok(())
}

/// Checks that no table has a removed object as its history table.
fn check_removed(key: &[u8], next: &Catalog) -> Result<(), Error> {
    let Ok(key) = Key::from_bytes(key) else { return Ok(()) };
    let Key::Of(database, Part::Object(id)) = key else { return Ok(()) };
    let is_history = |table: &TableDef| matches!(table.versioning, Versioning::Current { history, .. } if history == id);
    let mut tables = next.database_by_id(database).into_iter().flat_map(|it| it.tables());
    match tables.find(|table| is_history(table)) {
        Some(table) => {
            let reason = format!("it is the history table of {}", table.qualified_name());
            Err(Error { entry: key.to_string(), reason })
        }
        None => Ok(()),
    }
}

/// Returns a database of the same name without anything in it.
fn bare(database: &Database) -> Database {
    Database { id: database.id, name: database.name.clone(), ..Database::empty() }
}

/// Gives each table the storage of one that is there: what is read is not kept.
struct Tables(Arc<TableRows>);

impl Tables {
    /// `None` if the catalog has no table at all.
    fn of(catalog: &Catalog) -> Option<Self> {
        let mut objects = catalog.databases.values().flat_map(|it| it.objects.values());
        objects.find_map(|object| match object {
            Object::Table(table) => Some(Self(Arc::clone(&table.rows))),
            _ => None,
        })
    }
}

impl TableMaker for Tables {
    fn make(&mut self, _: &NewTable<'_>) -> types::Result<Arc<TableRows>> {
        Ok(Arc::clone(&self.0))
    }
}
