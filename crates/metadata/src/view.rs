//! What a system view is: its columns, and the function that makes its rows from a [`Scope`].

use std::any::Any;

use ::types::Value;
use ::types::value::ColumnType;
use sos::ledger::{self, State};

use ::catalog::Database;
pub use ::plan::view::Rows;
use ::session::SessionState;

/// A system view or system table function.
pub struct SystemView {
    /// Schema: `sys` or `INFORMATION_SCHEMA`; empty for compatibility views that need none.
    pub schema: &'static str,
    /// Name.
    pub name: &'static str,
    /// Names and types of the columns, in the documented order.
    pub columns: fn() -> Vec<(&'static str, ColumnType)>,
    /// Makes the rows.
    pub rows: fn(&Scope<'_>) -> Rows,
    /// Number of arguments; 0 for a view.
    pub arity: u8,
}

/// What the rows of a view are made from.
pub struct Scope<'a> {
    /// The session that asks.
    pub session: &'a SessionState,
    /// The database whose view it is: `other.sys.tables` shows the tables of `other`.
    pub database: &'a Database,
    /// Arguments of a table function.
    pub arguments: &'a [Value],
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

    fn read(&self, session: &dyn Any, database: &str, arguments: &[Value]) -> Rows {
        let session = session.downcast_ref().expect("the engine's sessions are of one type");
        self.read(session, database, arguments)
    }
}

impl SystemView {
    /// Makes the rows as a database shows them; none if the database is gone.
    ///
    /// # Errors
    /// Those of definitions that must be bound to be shown (columns of views).
    pub fn read(&self, session: &SessionState, database: &str, arguments: &[Value]) -> Rows {
        // What the server tells of itself is paid for by whoever asks, under a name of its own.
        let of_itself = self.name.starts_with("dm_") || self.name.starts_with("fn_");
        let _observing = of_itself.then(Observing::begin);
        let _label = sos::ledger::labelled(sos::ledger::Label::View);
        match session.catalog.database(database) {
            // The state of the server or of a database has been asked for as a whole.
            Some(database) if self.name.starts_with("dm_") => {
                (self.rows)(&Scope { session, database, arguments })
            }
            Some(database) => {
                let seen = session.sees(database);
                (self.rows)(&Scope { session, database: &seen, arguments })
            }
            None => Ok(Vec::new()),
        }
    }
}

/// While this lives, the thread's time is booked as observation.
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
