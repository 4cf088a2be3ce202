//! `Tables`: the tables that the definitions of a log describe, at one place of it.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::{Catalog, CatalogCell, Login, PasswordPolicy};
use definitions::{Entries, Entry, StoreMaker};
use log::Columns;
use session::event::registry::NAMES;
use storage::{Store, StoreOptions, TableId};
use types::row::{RowBuffer, RowLayout};
use types::value::ColumnType;
use types::{Collation, Value};

use super::json::{hex, quote, value};

/// A table whose rows are in the log.
pub(super) struct Known {
    /// Database, schema and name.
    pub(super) name: String,
    columns: Vec<(String, ColumnType)>,
    layout: Arc<RowLayout>,
}

/// The definitions so far, and the tables that they describe.
#[derive(Default)]
pub(super) struct Tables {
    entries: Entries,
    known: HashMap<TableId, Known>,
    is_old: bool,
}

impl Tables {
    /// Begins with the definitions of a checkpoint.
    pub(super) fn new(entries: Entries) -> Self {
        Self { entries, is_old: true, ..Self::default() }
    }

    /// Takes a definition of the log.
    pub(super) fn define(&mut self, entry: &Entry) {
        self.is_old = true;
        match &entry.value {
            Some(value) => self.entries.insert(entry.key.clone(), value.clone()),
            None => self.entries.remove(&entry.key),
        };
    }

    /// Finds a table by the id that records have; `None` if no definition describes it yet.
    pub(super) fn find(&mut self, table: TableId) -> Option<&Known> {
        if self.is_old {
            // A transaction has its definitions one after another: in between they may not fit
            // together, and the last ones that did still count.
            if let Some(known) = decode(&self.entries) {
                self.known = known;
            }
            self.is_old = false;
        }
        self.known.get(&table)
    }
}

/// Decodes the tables of a catalog.
fn decode(entries: &Entries) -> Option<HashMap<TableId, Known>> {
    let store = Store::new(StoreOptions::default());
    let cell = CatalogCell::new(fresh());
    let mut maker = StoreMaker { store: &store, cell: &cell };
    let catalog = definitions::decode(entries, &cell, &mut maker, &NAMES).ok()?;
    let mut known = HashMap::new();
    for database in catalog.databases.values() {
        for table in database.tables() {
            let name = format!("{}.{}.{}", database.name, table.schema, table.name);
            let columns = table.columns.iter().map(|it| (it.name.clone(), it.ty)).collect();
            let layout = Arc::clone(&table.layout);
            known.insert(table.rows.data.id(), Known { name, columns, layout });
        }
    }
    Some(known)
}

/// The catalog of a fresh instance, to which definitions are changes.
fn fresh() -> Catalog {
    let sa = Login {
        name: "sa".to_owned(),
        password_hash: Vec::new(),
        sid: vec![1],
        principal_id: catalog::SA_PRINCIPAL,
        default_database: "master".to_owned(),
        default_language: types::Language::us_english(),
        sysadmin: true,
        roles: Vec::new(),
        disabled: false,
        policy: PasswordPolicy::none(),
        created: Value::Null,
        modified: Value::Null,
    };
    let event_session = ::ddl::event_session::system_health::definition();
    Catalog::bootstrap(sa, Collation::default(), &Value::Null, event_session)
}

impl Known {
    /// Returns the columns of a record as a JSON object; `None` if they are not of this table.
    pub(super) fn columns(&self, columns: &Columns<'_>) -> Option<String> {
        let mut row = RowBuffer::default();
        self.layout.assemble(None, columns.clone(), &mut row).ok()?;
        let view = self.layout.view(&row.bytes, &row.blobs);
        let mut members = Vec::new();
        for (ordinal, _) in columns.clone() {
            let ordinal = ordinal as usize;
            let (name, of) = self.columns.get(ordinal)?;
            members.push(format!(
                "{}:{{\"type\":{},\"value\":{}}}",
                quote(name),
                quote(&of.data_type.to_string()),
                value(&view.get(ordinal), of)
            ));
        }
        Some(format!("{{{}}}", members.join(",")))
    }
}

/// Returns the images of columns as a JSON array.
pub(super) fn images(columns: Vec<(u32, Option<&[u8]>)>) -> String {
    let images = columns.into_iter().map(|(_, image)| image.map_or("null".to_owned(), hex));
    format!("[{}]", images.collect::<Vec<_>>().join(","))
}
