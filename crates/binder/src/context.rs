//! `BinderContext`: what a binder borrows from the session while it binds one leaf; the one place
//! where a [`Binder`] is made; and whether a name leads to this server, and to a database that the
//! login may enter.

use std::cell::Cell;
use std::sync::Arc;

use crate::expr::XmlScope;
use crate::{Binder, CteScope, Level};
use catalog::name::Name;
use catalog::options::{Meaning, Options};
use catalog::security::{Owner, Rights};
use catalog::{Catalog, Database, TableDef, Unqualified};
use plan::program::{TableVariableDef, VariableDef, VariableNames};
use plan::view::Library;
use sos::park::Cancel;
use tsql::ast::ObjectName;
use types::{Msg, Result};

/// A lookup of temporary tables by name.
pub(crate) type FindTable<'s> = dyn Fn(&str) -> Option<Arc<TableDef>> + 's;

/// The state that a [`Binder`] reads.
pub struct BinderContext<'s> {
    /// Snapshot of the catalog.
    pub catalog: Arc<Catalog>,
    /// Name of this server: a name of four parts that begins with it is a local one.
    pub server: &'s str,
    /// Name of the current database.
    pub database: &'s str,
    /// Permissions of the principal; `None` if they need no check.
    pub rights: Option<&'s Rights>,
    /// Where names without a schema are looked up before dbo.
    pub unqualified: Unqualified<'s>,
    /// The owner of the module that contains the leaf.
    pub chain: Option<Owner>,
    /// SET options of the session.
    pub options: &'s Options,
    /// Variables of the program.
    pub variables: &'s [VariableDef],
    /// Table variables of the program.
    pub table_variables: &'s [TableVariableDef],
    /// Places of these, if they are many.
    pub names: Option<&'s VariableNames>,
    /// Finds temporary tables of the session.
    pub temp_tables: Box<FindTable<'s>>,
    /// Built-in functions, views and procedures.
    pub library: &'static dyn Library,
    /// How much the optimizer does.
    pub optimization: optimizer::Level,
    /// Storage from which the optimizer samples tables.
    pub store: &'s Arc<storage::Store>,
    /// Is set once the client cancels the request.
    pub cancel: &'s Cancel,
}

impl BinderContext<'_> {
    /// Returns a binder with this context.
    pub fn binder(&self) -> Binder<'_> {
        let surroundings = Surroundings {
            catalog: &self.catalog,
            server: self.server,
            database: self.database,
            unqualified: self.unqualified,
            options: self.options,
            meaning: self.options.meaning(),
            temp_tables: &*self.temp_tables,
            library: self.library,
            optimization: self.optimization,
            store: self.store,
            cancel: self.cancel,
        };
        Binder {
            rights: self.rights,
            chain: self.chain,
            variables: self.variables,
            table_variables: self.table_variables,
            names: self.names,
            ..Binder::new(surroundings)
        }
    }
}

/// What every binder borrows, whatever it binds.
struct Surroundings<'a> {
    catalog: &'a Arc<Catalog>,
    server: &'a str,
    database: &'a str,
    unqualified: Unqualified<'a>,
    options: &'a Options,
    meaning: Meaning,
    temp_tables: &'a FindTable<'a>,
    library: &'a dyn Library,
    optimization: optimizer::Level,
    store: &'a Arc<storage::Store>,
    cancel: &'a Cancel,
}

impl<'a> Binder<'a> {
    /// Returns a binder that has bound nothing, without permission checks and without variables.
    fn new(of: Surroundings<'a>) -> Self {
        Self {
            catalog: of.catalog,
            server: of.server,
            database: of.database,
            unqualified: of.unqualified,
            rights: None,
            chain: None,
            synonym: None,
            unchained: Cell::new(false),
            options: of.options,
            meaning: of.meaning,
            variables: &[],
            given: Vec::new(),
            table_variables: &[],
            names: None,
            temp_tables: of.temp_tables,
            library: of.library,
            level: Level::default(),
            outer: Vec::new(),
            registers: 0,
            rows: 0,
            session_bound: false,
            depth: 0,
            size: 0,
            unfolded: 0,
            height: 0,
            ctes: CteScope::default(),
            xml: XmlScope::default(),
            recursion_max: None,
            store: of.store,
            cancel: of.cancel,
            optimization: of.optimization,
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
            known_collation: Cell::new(None),
        }
    }

    /// Returns a binder for a separate piece of text (a default, a computed column) with the same
    /// names but no tables in scope.
    pub fn child(&self) -> Binder<'_> {
        let surroundings = Surroundings {
            catalog: self.catalog,
            server: self.server,
            database: self.database,
            unqualified: self.unqualified,
            options: self.options,
            meaning: self.meaning,
            temp_tables: self.temp_tables,
            library: self.library,
            optimization: self.optimization,
            store: self.store,
            cancel: self.cancel,
        };
        Binder { depth: self.depth, hints: self.hints, ..Binder::new(surroundings) }
    }
}

/// Checks that the login has a user in a database that a name selects (916).
pub(crate) fn require_entry(binder: &Binder<'_>, database: &Database) -> Result<()> {
    if Name::same(&database.name, binder.database) {
        return Ok(());
    }
    match binder.asked_in_module() {
        Some(rights) if !rights.enters(database) => {
            Err(Msg::NoDatabaseAccess(rights.login(), &database.name).into())
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses the object of another server.
///
/// # Errors
/// 7202: there are no linked servers, and the name is not this server's own.
#[inline(never)]
pub(crate) fn check_local(binder: &Binder<'_>, name: &ObjectName) -> Result<()> {
    match &name.server {
        Some(server) if !server.is(binder.server) => Err(Msg::LinkedServerNotFound(server).into()),
        Some(_) | None => Ok(()),
    }
}
