//! Definitions as bytes: what the log keeps of a catalog, and how a start makes a catalog from it.
//!
//! The unit is the [`Entry`]: a key and a value for each object, principal, option group and
//! counter. [`diff`] returns the entries in which two snapshots differ, and [`decode`] makes a
//! catalog from the last value of each key.
#![forbid(unsafe_code)]

mod check;
mod code;
mod database;
mod decode;
mod diff;
mod event;
mod key;
mod module;
mod server;
mod table;
mod text;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{CatalogCell, RowShape, TableRows, create_rows};
pub use check::check;
pub use decode::{counter_entry, counters, counters_of, decode, decode_database};
pub use diff::{diff, encode, encode_database};
pub use event::EventNames;

/// The version of the encoding, the first byte of each value. A reader knows all versions up to
/// its own.
const VERSION: u8 = 1;

/// A definition as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Names the definition. Keys of one kind and database are together in byte order.
    pub key: Vec<u8>,
    /// The definition; `None` if it was removed.
    pub value: Option<Vec<u8>>,
}

/// The last value of each key.
pub type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Returns what an entry's key names, such as `database 5, object 901578250`.
pub fn key_in_words(key: &[u8]) -> String {
    key::Key::from_bytes(key).map_or_else(|_| format!("{key:02x?}"), |key| key.to_string())
}

/// Returns the id of the database that an entry belongs to; `None` for one of the server.
pub fn database_of_key(key: &[u8]) -> Option<i16> {
    match key::Key::from_bytes(key) {
        Ok(key::Key::Of(database, _)) => Some(database),
        _ => None,
    }
}

/// Returns the counter whose position an entry has; `None` for any other entry.
pub fn counter_of_key(key: &[u8]) -> Option<catalog::CounterKey> {
    match key::Key::from_bytes(key) {
        Ok(key::Key::Counter(counter)) => Some(counter),
        _ => None,
    }
}

/// Returns the storage id of the table that an entry defines; `None` for any other entry.
pub fn storage_of(entry: &Entry) -> Option<storage::TableId> {
    let Ok(key::Key::Of(_, key::Part::Object(_))) = key::Key::from_bytes(&entry.key) else {
        return None;
    };
    let (version, content) = entry.value.as_ref()?.split_first()?;
    let table = content.strip_prefix(&[module::TABLE]).filter(|_| *version <= VERSION)?;
    table::storage_of(table)
}

/// A table whose storage is to be made.
pub struct NewTable<'a> {
    /// Columns and indexes. `shape.restored` is the table's storage id, and `shape.durable` says
    /// whether rows are restored.
    pub shape: RowShape<'a>,
    /// `object_id` of the table.
    pub id: i32,
    /// Name of the table, for messages.
    pub name: &'a str,
    /// Whether it is the definition of a function's result, of a view's columns or of a table type:
    /// then it never has rows, and the maker drops the storage at once.
    pub is_shape: bool,
}

/// Makes the storage of tables while a catalog is decoded.
pub trait TableMaker {
    /// Makes the storage of a table.
    ///
    /// # Errors
    /// 701 if there is not enough memory.
    fn make(&mut self, table: &NewTable<'_>) -> types::Result<Arc<TableRows>>;
}

/// Makes tables in a store.
pub struct StoreMaker<'a> {
    /// The store that allocates the tables.
    pub store: &'a Arc<storage::Store>,
    /// The catalog, whose counters have a log already.
    pub cell: &'a CatalogCell,
}

impl TableMaker for StoreMaker<'_> {
    fn make(&mut self, table: &NewTable<'_>) -> types::Result<Arc<TableRows>> {
        let rows = create_rows(self.store, self.cell, &table.shape)?;
        if table.is_shape {
            self.store.drop_table(rows.data.id());
        }
        Ok(rows)
    }
}

/// Why entries could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The entry's key in words, such as `database 5, object 901578250`.
    pub entry: String,
    /// What is wrong with its bytes.
    pub reason: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "The definition ({}) cannot be read: {}.", self.entry, self.reason)
    }
}

impl std::error::Error for Error {}
