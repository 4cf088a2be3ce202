//! What a system view is: its columns, and the function that makes its rows from a [`Scope`].

use std::any::Any;

use ::types::Value;
use ::types::value::ColumnType;
use sos::ledger::{self, State};

use ::catalog::Database;
pub use ::plan::view::{RowSet, Rows};
use ::session::SessionState;

/// A system view or system table function.
pub struct SystemView {
    /// Schema: `sys` or `INFORMATION_SCHEMA`; empty for compatibility views that need none.
    pub schema: &'static str,
    /// Name without the schema.
    pub name: &'static str,
    /// Names and types of the columns, in the documented order.
    pub columns: fn() -> Vec<(&'static str, ColumnType)>,
    /// Returns the rows, in any order.
    pub rows: fn(&Scope<'_>) -> Rows,
    /// Number of arguments of a table function; 0 for a view.
    pub arity: u8,
}

/// What a view computes its rows from: session, database and arguments.
pub struct Scope<'a> {
    /// The session that runs the query.
    pub session: &'a SessionState,
    /// The database that the view belongs to: `other.sys.tables` shows the tables of `other`.
    pub database: &'a Database,
    /// Arguments of a table function.
    pub arguments: &'a [Value],
    /// Ordinals of the columns that are read: [`crate::column::rows_needed`] computes no others.
    pub needed: &'a [u16],
}

impl plan::view::SystemView for SystemView {
    fn schema(&self) -> &'static str {
        self.schema
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn columns(&self) -> Vec<(&'static str, ColumnType)> {
        (self.columns)()
    }

    fn arity(&self) -> u8 {
        self.arity
    }

    fn read(&self, session: &dyn Any, database: &str, arguments: &[Value], needed: &[u16]) -> Rows {
        let session = session.downcast_ref().expect("the engine's sessions are of one type");
        self.read(session, database, arguments, needed)
    }
}

impl SystemView {
    /// Returns the rows as a database shows them; empty if the database was dropped.
    ///
    /// # Errors
    /// The errors of definitions that are bound to be shown (columns of views).
    pub fn read(
        &self,
        session: &SessionState,
        database: &str,
        arguments: &[Value],
        needed: &[u16],
    ) -> Rows {
        // Views of the server's own state are charged to the reading session, as observation.
        let of_itself = self.name.starts_with("dm_") || self.name.starts_with("fn_");
        let observe = move || {
            let observing = of_itself.then(Observing::begin);
            (observing, sos::ledger::labelled(sos::ledger::Label::View))
        };
        let guard = observe();
        let rows = match session.catalog.database(database) {
            // These require a permission on the whole server or database, so rows are not filtered.
            Some(database) if self.name.starts_with("dm_") => {
                (self.rows)(&Scope { session, database, arguments, needed })
            }
            Some(database) => {
                let seen = session.sees(database);
                (self.rows)(&Scope { session, database: &seen, arguments, needed })
            }
            None => Ok(RowSet::default()),
        };
        drop(guard);
        Ok(match rows? {
            RowSet::All(rows) => RowSet::All(rows),
            RowSet::Batches(mut next) => RowSet::Batches(Box::new(move || {
                let _guard = observe();
                next()
            })),
        })
    }
}

/// A guard: while it lives, the thread's time is charged to the state `Observing`.
struct Observing(State);

impl Observing {
    fn begin() -> Self {
        Self(ledger::to(State::Observing))
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        ledger::to(self.0);
    }
}

impl std::fmt::Debug for SystemView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}
