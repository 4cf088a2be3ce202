//! System views and system table functions, as plans point to them. The views themselves are in a
//! crate above.

use std::any::Any;
use std::fmt::Debug;

use types::value::ColumnType;
use types::{Result, Value};

use crate::function::Function;

/// Rows of a view, each as wide as its columns.
pub type Rows = Result<RowSet>;

/// The rows of a view, made at once, or as they are asked for.
pub enum RowSet {
    /// All of them: for views whose rows are few.
    All(Vec<Vec<Value>>),
    /// Some at a time: for files and logs, which may be larger than the memory.
    Batches(Batches),
}

/// Makes the next rows, perhaps none; returns `None` behind the last ones.
pub type Batches = Box<dyn FnMut() -> Result<Option<Vec<Vec<Value>>>>>;

impl Default for RowSet {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl From<Vec<Vec<Value>>> for RowSet {
    fn from(rows: Vec<Vec<Value>>) -> Self {
        Self::All(rows)
    }
}

impl FromIterator<Vec<Value>> for RowSet {
    fn from_iter<I: IntoIterator<Item = Vec<Value>>>(rows: I) -> Self {
        Self::All(rows.into_iter().collect())
    }
}

impl RowSet {
    /// Returns the next rows; `None` behind the last ones.
    ///
    /// # Errors
    /// What is wrong with the source of the rows.
    pub fn next_batch(&mut self) -> Result<Option<Vec<Vec<Value>>>> {
        match self {
            Self::All(rows) if rows.is_empty() => Ok(None),
            Self::All(rows) => Ok(Some(std::mem::take(rows))),
            Self::Batches(next) => next(),
        }
    }
}

/// A system view or system table function.
pub trait SystemView: Debug + Sync {
    /// Schema: `sys` or `INFORMATION_SCHEMA`; empty for compatibility views that need none.
    fn schema(&self) -> &'static str;

    /// Name without the schema.
    fn name(&self) -> &'static str;

    /// Names and types of the columns, in the documented order.
    fn columns(&self) -> Vec<(&'static str, ColumnType)>;

    /// Number of arguments; 0 for a view.
    fn arity(&self) -> u8;

    /// Computes the rows as a database shows them to a session; none if the database is gone.
    /// `session` is the engine's session type. `needed` has the ordinals of the columns
    /// that are read: the others may be NULL.
    ///
    /// # Errors
    /// Errors of definitions that must be bound to be shown (columns of views).
    fn read(&self, session: &dyn Any, database: &str, arguments: &[Value], needed: &[u16]) -> Rows;
}

/// The schema by which [`Library::view`] finds the tables of msdb; no text can name it.
pub const MSDB: &str = "msdb.dbo";

/// Looks up the built-in functions, views and procedures that names in statements may refer to. The
/// engine, which depends on functions and views, passes it to the binder.
pub trait Library: Sync {
    /// Finds a scalar function by its upper-case name (`@@` names included).
    fn scalar(&self, name: &str) -> Option<&'static Function>;

    /// Finds a system view or system table function by schema and name. Compatibility views need no
    /// schema, and are also found under `dbo`.
    fn view(&self, schema: &str, name: &str) -> Option<&'static dyn SystemView>;

    /// Iterates over all system views and system table functions with their object ids, which are less than those of
    /// temporary tables.
    fn views(&self) -> Box<dyn Iterator<Item = (i32, &'static dyn SystemView)>>;

    /// Iterates over the system's tables and views of msdb with their object ids, which are between those of procedures
    /// and those of other views.
    fn msdb_views(&self) -> Box<dyn Iterator<Item = (i32, &'static dyn SystemView)>>;

    /// Returns the system procedure that drivers call by this number; `None` for an unknown number.
    fn procedure(&self, id: u16) -> Option<&'static str>;

    /// Iterates over all system procedures with their object ids, which are less than those of
    /// views.
    fn procedures(&self) -> Box<dyn Iterator<Item = (i32, &'static str)>>;

    /// Returns the name that a message gives one of SQL Server's views or functions that Clearway
    /// lacks; `None` for any other name.
    fn known_but_missing(&self, database: &str, schema: &str, name: &str) -> Option<String>;
}
