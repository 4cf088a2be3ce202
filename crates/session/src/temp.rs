//! Temporary tables (`#t`) of a session, in the scopes that made them.
//!
//! A `#table` made in a procedure goes with it; one made in a batch goes with the session or its
//! reset. An inner scope's table hides an outer one's of the same name. `##t` lives in the catalog
//! of tempdb, and so do temporary procedures; the session that made one takes it away.

use std::sync::Arc;

use catalog::TableDef;
use catalog::name::Name;

/// Temporary tables, innermost scope last; the first scope is the session's.
#[derive(Default)]
pub struct TempTables {
    scopes: Vec<Vec<Arc<TableDef>>>,
    globals: Vec<i32>,
}

impl TempTables {
    /// Finds a table from the innermost scope outwards.
    pub fn find(&self, name: &str) -> Option<Arc<TableDef>> {
        self.scopes
            .iter()
            .rev()
            .flat_map(|scope| scope.iter().rev())
            .find(|t| Name::same(&t.name, name))
            .cloned()
    }

    /// Finds a table of the innermost scope.
    pub fn find_in_scope(&self, name: &str) -> Option<&Arc<TableDef>> {
        self.scopes.last()?.iter().find(|t| Name::same(&t.name, name))
    }

    /// Opens a procedure's scope.
    pub fn open_scope(&mut self) {
        if self.scopes.is_empty() {
            self.scopes.push(Vec::new());
        }
        self.scopes.push(Vec::new());
    }

    /// Closes the innermost scope and returns its tables, to be dropped.
    pub fn close_scope(&mut self) -> Vec<Arc<TableDef>> {
        self.scopes.pop().unwrap_or_default()
    }

    /// Adds a table to the innermost scope.
    pub fn add(&mut self, table: Arc<TableDef>) {
        if self.scopes.is_empty() {
            self.scopes.push(Vec::new());
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(table);
        }
    }

    /// Notes a `##t` or a temporary procedure, which go with the session.
    pub fn add_global(&mut self, id: i32) {
        if !self.globals.contains(&id) {
            self.globals.push(id);
        }
    }

    /// Takes the ids of what [`Self::add_global`] noted, which may have been dropped since.
    pub fn take_globals(&mut self) -> Vec<i32> {
        std::mem::take(&mut self.globals)
    }

    /// Replaces the definition of a table (ALTER TABLE, CREATE INDEX), found by its id.
    pub fn replace(&mut self, table: &Arc<TableDef>) {
        for slot in self.scopes.iter_mut().flatten().filter(|t| t.id == table.id) {
            *slot = Arc::clone(table);
        }
    }

    /// Drops a table by id; tells whether it was there.
    pub fn remove(&mut self, id: i32) -> bool {
        let before = self.scopes.iter().map(Vec::len).sum::<usize>();
        self.scopes.iter_mut().for_each(|scope| scope.retain(|t| t.id != id));
        before != self.scopes.iter().map(Vec::len).sum::<usize>()
    }

    /// Takes a table out by id.
    pub fn take(&mut self, id: i32) -> Option<Arc<TableDef>> {
        let found = self.iter().find(|t| t.id == id).cloned();
        self.remove(id);
        found
    }

    /// Puts a table back as it was: in place of its changed definition, else in the innermost scope. Tells whether
    /// it was not there.
    pub fn restore(&mut self, table: Arc<TableDef>) -> bool {
        let is_gone = self.iter().all(|t| t.id != table.id);
        if is_gone {
            self.add(table);
        } else {
            self.replace(&table);
        }
        is_gone
    }

    /// Drops all: at a reset.
    pub fn clear(&mut self) {
        self.scopes.clear();
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.scopes.iter().all(Vec::is_empty)
    }

    /// Iterates over all of them, for the views.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.scopes.iter().flatten()
    }
}
