//! `BinderContext`: what a binder borrows from the session while it binds one leaf.

use std::sync::Arc;

use crate::Binder;
use crate::expr::XmlScope;
use catalog::options::Options;
use catalog::security::{Owner, Rights};
use catalog::{Catalog, TableDef};
use plan::program::{TableVariableDef, VariableDef};
use plan::view::Library;

/// A lookup of temporary tables by name.
pub(crate) type FindTable<'s> = dyn Fn(&str) -> Option<Arc<TableDef>> + 's;

/// The state that a [`Binder`] reads.
pub struct BinderContext<'s> {
    /// Snapshot of the catalog.
    pub catalog: Arc<Catalog>,
    /// Name of the current database.
    pub database: &'s str,
    /// Permissions of the principal; `None` if they need no check.
    pub rights: Option<&'s Rights>,
    /// The owner of the module that contains the leaf.
    pub chain: Option<Owner>,
    /// SET options of the session.
    pub options: &'s Options,
    /// Variables of the program.
    pub variables: &'s [VariableDef],
    /// Table variables of the program.
    pub table_variables: &'s [TableVariableDef],
    /// Finds temporary tables of the session.
    pub temp_tables: Box<FindTable<'s>>,
    /// Built-in functions, views and procedures.
    pub library: &'static dyn Library,
    /// The level of optimization.
    pub level: optimizer::Level,
    /// Storage from which the optimizer samples tables.
    pub store: &'s Arc<storage::Store>,
}
impl BinderContext<'_> {
    /// Returns a binder with this context.
    pub fn binder(&self) -> Binder<'_> {
        Binder {
            catalog: &self.catalog,
            database: self.database,
            rights: self.rights,
            chain: self.chain,
            unchained: std::cell::Cell::new(false),
            options: self.options,
            meaning: self.options.meaning(),
            variables: self.variables,
            given: Vec::new(),
            table_variables: self.table_variables,
            temp_tables: &*self.temp_tables,
            library: self.library,
            levels: Vec::new(),
            registers: 0,
            rows: 0,
            session_bound: false,
            depth: 0,
            size: 0,
            unfolded: 0,
            height: 0,
            ctes: Vec::new(),
            xml: XmlScope::default(),
            recursion_max: None,
            store: self.store,
            level: self.level,
            hints: optimizer::Hints::default(),
            subqueries: false,
            assigns: false,
            takes_values: false,
            once: 0,
            view_checks: Vec::new(),
            nested: None,
            in_view: false,
            system_time: None,
            unfound: None,
            known_collation: std::cell::Cell::new(None),
        }
    }
}
