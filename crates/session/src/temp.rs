//! Temporary tables (`#t`) of a session, by the scope that created them.
//!
//! A `#table` created in a procedure is dropped at its end; one created in a batch is dropped with
//! the session or at its reset. A table of an inner scope hides one of the same name in an outer
//! scope. `##t` and temporary procedures are in the catalog of tempdb; the session that created one
//! drops it at its end.

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

    /// Moves the scopes of procedures out; the session's own stays.
    pub fn take_inner(&mut self) -> Self {
        let scopes = self.scopes.split_off(self.scopes.len().min(1));
        Self { scopes, globals: Vec::new() }
    }

    /// Puts the scopes of procedures back, inside the session's own.
    pub fn put_inner(&mut self, inner: Self) {
        if self.scopes.is_empty() && !inner.scopes.is_empty() {
            self.scopes.push(Vec::new());
        }
        self.scopes.extend(inner.scopes);
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

    /// Records a `##t` or a temporary procedure, to be dropped with the session.
    pub fn add_global(&mut self, id: i32) {
        if !self.globals.contains(&id) {
            self.globals.push(id);
        }
    }

    /// Removes and returns the ids recorded by [`Self::add_global`]; some may have been dropped
    /// since.
    pub fn take_globals(&mut self) -> Vec<i32> {
        std::mem::take(&mut self.globals)
    }

    /// Replaces the definition of a table (ALTER TABLE, CREATE INDEX), found by its id.
    pub fn replace(&mut self, table: &Arc<TableDef>) {
        for slot in self.scopes.iter_mut().flatten().filter(|t| t.id == table.id) {
            *slot = Arc::clone(table);
        }
    }

    /// Drops a table by id; returns whether it existed.
    pub fn remove(&mut self, id: i32) -> bool {
        let before = self.scopes.iter().map(Vec::len).sum::<usize>();
        self.scopes.iter_mut().for_each(|scope| scope.retain(|t| t.id != id));
        before != self.scopes.iter().map(Vec::len).sum::<usize>()
    }

    /// Removes a table by id, and returns it.
    pub fn take(&mut self, id: i32) -> Option<Arc<TableDef>> {
        let found = self.iter().find(|t| t.id == id).cloned();
        self.remove(id);
        found
    }

    /// Restores a table: replaces its changed definition, or adds it to the innermost scope.
    /// Returns whether it was missing.
    pub fn restore(&mut self, table: Arc<TableDef>) -> bool {
        let is_gone = self.iter().all(|t| t.id != table.id);
        if is_gone {
            self.add(table);
        } else {
            self.replace(&table);
        }
        is_gone
    }

    /// Removes all tables: at a reset.
    pub fn clear(&mut self) {
        self.scopes.clear();
    }

    /// Returns whether there is no temporary table.
    pub fn is_empty(&self) -> bool {
        self.scopes.iter().all(Vec::is_empty)
    }

    /// Iterates over the tables of all scopes, for views.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.scopes.iter().flatten()
    }
}
