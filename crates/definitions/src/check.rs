//! The check of a change before it is in the log: what a start could not read must not be there.

use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::{Catalog, Database, Object, TableRows};

use crate::code::Cx;
use crate::decode::Reading;
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
    reading.all(put, &mut cx)
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
