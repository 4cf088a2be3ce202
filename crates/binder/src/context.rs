//! `BinderContext`: what a binder borrows for the length of one leaf. The session makes it.

use std::sync::Arc;

use crate::Binder;
use crate::expr::XmlScope;
use catalog::options::Options;
use catalog::security::{Owner, Rights};
use catalog::{Catalog, TableDef};
use plan::program::{TableVariableDef, VariableDef};
use plan::view::Library;

/// Finds a temporary table by name.
pub(crate) type FindTable<'s> = dyn Fn(&str) -> Option<Arc<TableDef>> + 's;

/// What a [`Binder`] reads.
pub struct BinderContext<'s> {
    /// The catalog snapshot.
    pub catalog: Arc<Catalog>,
    /// Current database.
    pub database: &'s str,
    /// What the login may do; none where it need not be asked.
    pub rights: Option<&'s Rights>,
    /// The owner of the module that the leaf is in.
    pub chain: Option<Owner>,
    /// SET options of the session.
    pub options: &'s Options,
    /// Variables of the program.
    pub variables: &'s [VariableDef],
    /// Table variables of the program.
    pub table_variables: &'s [TableVariableDef],
    /// Finds temporary tables of the session.
    pub temp_tables: Box<FindTable<'s>>,
    /// Functions and views of the server.
    pub library: &'static dyn Library,
    /// How much is optimized.
    pub level: optimizer::Level,
    /// Where the optimizer reads samples of tables.
    pub store: &'s Arc<storage::Store>,
}
impl BinderContext<'_> {
    /// Makes a binder.
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
