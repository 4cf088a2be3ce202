//! `BinderContext`: what a binder borrows from a session for the length of one leaf.

use std::collections::HashSet;
use std::sync::Arc;

use crate::bind::Binder;
use crate::bind::expr::XmlScope;
use crate::catalog::name::Name;
use crate::catalog::{Catalog, TableDef};
use crate::plan::program::{Program, TableVariableDef, VariableDef};
use crate::security::{Owner, Rights};
use crate::session::{Options, SessionState};

/// Finds a temporary table by name.
type FindTable<'s> = dyn Fn(&str) -> Option<Arc<TableDef>> + 's;

/// What a [`Binder`] reads.
pub struct BinderContext<'s> {
    catalog: Arc<Catalog>,
    database: &'s str,
    rights: Option<&'s Rights>,
    chain: Option<Owner>,
    options: &'s Options,
    variables: &'s [VariableDef],
    table_variables: &'s [TableVariableDef],
    temp_tables: Box<FindTable<'s>>,
    level: crate::opt::Level,
    store: &'s Arc<storage::Store>,
}

impl<'s> BinderContext<'s> {
    /// For a leaf of a program. `SessionState` and program are borrowed, the catalog is counted up:
    /// binding is not on the hot path.
    pub fn of(session: &'s SessionState, program: &'s Program) -> Self {
        let database =
            if program.switches_database { &session.database } else { &program.database };
        Self {
            rights: (program.asks() && !session.rights.is_all()).then_some(&session.rights),
            chain: program.owner,
            variables: &program.variables,
            table_variables: &program.table_variables,
            ..Self::bare(session, database)
        }
    }

    /// For a leaf of a program that does not run yet, in the database that it will run in. It has the variables
    /// that are declared up to `at`, and no temporary table that the program makes itself: what is found by
    /// that name is another one.
    pub(crate) fn ahead(
        session: &'s SessionState,
        program: &'s Program,
        (database, at): (&'s str, u32),
        made: &'s HashSet<String>,
    ) -> Self {
        let variables = program.variables.partition_point(|variable| variable.at <= at);
        let tables = program.table_variables.partition_point(|table| table.at <= at);
        let find = |name: &str| {
            let own = !made.is_empty() && made.contains(&Name::folded(name));
            if own { None } else { session.temp.find(name) }
        };
        Self {
            rights: (program.asks() && !session.rights.is_all()).then_some(&session.rights),
            chain: program.owner,
            variables: &program.variables[..variables],
            table_variables: &program.table_variables[..tables],
            temp_tables: Box::new(find),
            ..Self::bare(session, database)
        }
    }

    /// Without variables, for what the login may be forbidden.
    pub(crate) fn checked(session: &'s SessionState, database: &'s str) -> Self {
        let rights = (!session.rights.is_all()).then_some(&session.rights);
        Self { rights, ..Self::bare(session, database) }
    }

    /// Without variables.
    pub fn bare(session: &'s SessionState, database: &'s str) -> Self {
        Self {
            catalog: Arc::clone(&session.catalog),
            database,
            rights: None,
            chain: None,
            options: &session.options,
            variables: &[],
            table_variables: &[],
            temp_tables: Box::new(|name| session.temp.find(name)),
            level: session.instance.config.optimizer,
            store: &session.instance.store,
        }
    }

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
            hints: crate::opt::Hints::default(),
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
