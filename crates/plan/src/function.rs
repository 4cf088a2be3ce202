//! Built-in functions as plans hold them: a name, the check of the arguments, and the code that
//! computes.
//!
//! The functions themselves are in the crate `functions`, which depends on this one: a plan points
//! to their entries.

use std::any::Any;
use std::sync::Arc;

use sos::park::Cancel;
use types::convert::ConvertOptions;
use types::date::Moment;
use types::value::ColumnType;
use types::{Msg, Result, Value};

use crate::expr::Expr;

/// Returns whether a function may return another value at each call, so that the number of calls
/// matters.
pub fn is_volatile(name: &str) -> bool {
    matches!(
        name,
        "NEWID"
            | "NEWSEQUENTIALID"
            | "RAND"
            | "CRYPT_GEN_RANDOM"
            | "PWDENCRYPT"
            | "ENCRYPTBYPASSPHRASE"
    )
}

/// What a function may ask the running statement for.
pub trait EvalContext {
    /// The statement's time, UTC: the same for all its rows.
    fn now(&mut self) -> Moment;

    /// The session's settings that conversions depend on.
    fn convert_options(&self) -> ConvertOptions;

    /// SET DATEFIRST, 1 to 7.
    fn date_first(&self) -> u8;

    /// The next value of NEWSEQUENTIALID().
    fn next_sequential_id(&self) -> Value;

    /// The bit mask of COLUMNS_UPDATED(); `None` outside a trigger.
    fn updated_columns(&self) -> Option<&[u8]>;

    /// A document of sp_xml_preparedocument by its handle, in the library's own type.
    fn document(&self, handle: i64) -> Option<Arc<dyn Any + Send + Sync>>;

    /// Cache of what the methods of `xml` have parsed; it lives as long as the request.
    fn parsed(&mut self) -> &mut Option<Box<dyn Any + Send>>;

    /// What is set when the client cancels the request.
    fn cancel(&self) -> &Arc<Cancel>;

    /// The session, in the engine's own type, for functions about it.
    fn session(&self) -> &dyn Any;

    /// The session, mutable, in the engine's own type.
    fn session_mut(&mut self) -> &mut dyn Any;

    /// Variables and state of the running module, in the engine's own type.
    fn frame(&self) -> &dyn Any;
}

/// The context argument of every built-in function.
pub type Context<'a> = dyn EvalContext + 'a;

/// A scalar function of the library.
pub struct Function {
    /// Name in upper case.
    pub name: &'static str,
    /// Fewest and most arguments.
    pub arity: (u8, u8),
    /// Checks and converts the arguments, and derives the type of the result.
    pub bind: fn(&mut Vec<Expr>) -> Result<ColumnType>,
    /// Code that computes the result.
    pub eval: Evaluate,
    /// Whether equal arguments always give equal results, so that the binder may fold a call.
    pub deterministic: bool,
    /// The collation of its string arguments.
    pub collation: Collating,
}

impl Function {
    /// Returns the entry of a function whose string arguments have a collation in common.
    pub const fn collating(self, collation: Collating) -> Self {
        Self { collation, ..self }
    }
}

/// Whether the string arguments of a call get one collation, that of the argument with precedence: an
/// explicit COLLATE before a column, and a column before variables and literals. Two explicit ones
/// that differ are error 468.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collating {
    /// No: each has its own, such as a name and the kind of what has it.
    Apart,
    /// Yes, for a result that is made of them. Of columns that differ the first has precedence; in SQL
    /// Server the result has no collation then.
    Combine,
    /// Yes, to compare them with each other. Columns that differ are error 468.
    Compare,
}

/// How a function computes its result; the arguments are values of the types that `bind` left.
#[derive(Clone, Copy)]
pub enum Evaluate {
    /// From the arguments; any NULL argument gives NULL without a call.
    Strict(fn(&mut Context<'_>, &Call<'_>, &[Value]) -> Result<Value>),
    /// From the arguments, NULLs included.
    Full(fn(&mut Context<'_>, &Call<'_>, &[Value]) -> Result<Value>),
    /// From the session alone.
    Session(fn(&mut Context<'_>) -> Value),
}

/// What an evaluation gets besides the argument values.
pub struct Call<'a> {
    /// The arguments as bound: their types and collations.
    pub arguments: &'a [Expr],
    /// Type of the result.
    pub ty: &'a ColumnType,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// An aggregate function of the library.
pub struct AggregateFunction {
    /// Name in upper case.
    pub name: &'static str,
    /// Checks and converts the arguments, and derives the type of the result.
    pub bind: fn(&mut Vec<Expr>) -> Result<ColumnType>,
    /// Returns an empty accumulator for a result of this type over arguments of these types.
    pub start: fn(&ColumnType, &[ColumnType]) -> Box<dyn Accumulator>,
}

impl std::fmt::Debug for AggregateFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The running state of an aggregate over one group.
pub trait Accumulator {
    /// Adds a row's arguments.
    fn add(&mut self, arguments: &[Value]) -> Result<()>;
    /// Returns whether a NULL was left out (warning 8153).
    fn saw_null(&self) -> bool;
    /// Returns the group's result.
    fn finish(&mut self) -> Result<Value>;
    /// Prepares for [`Self::remove_first`], before the first row; returns whether it can remove rows
    /// with the same result as if they had not been added.
    fn slide(&mut self) -> bool {
        false
    }
    /// Removes the row that was added first of those that are left.
    ///
    /// # Errors
    /// 3624 if [`Self::slide`] has not returned true.
    fn remove_first(&mut self, _arguments: &[Value]) -> Result<()> {
        Err(Msg::InternalError.into())
    }
}

/// Columns of a table-valued function: name and type.
pub type TableColumns = Vec<(String, ColumnType)>;
/// The rows of a table-valued function: each call appends the next row's values to an empty vector
/// and returns true, or returns false at the end.
pub type NextRow = Box<dyn FnMut(&mut Vec<Value>) -> bool>;

/// Returns the rows of a function that computes all of them at once.
pub fn made(rows: Vec<Vec<Value>>) -> NextRow {
    let mut rows = rows.into_iter();
    Box::new(move |row| match rows.next() {
        Some(next) => {
            *row = next;
            true
        }
        None => false,
    })
}

/// A built-in table-valued function.
pub struct TableFunction {
    /// Name in upper case.
    pub name: &'static str,
    /// Checks and converts the arguments, and derives the columns.
    pub bind: fn(&mut Vec<Expr>) -> Result<TableColumns>,
    /// The collation of its string arguments.
    pub collation: Collating,
    /// Starts the rows for these arguments.
    pub rows: fn(&mut Context<'_>, &[Value]) -> Result<NextRow>,
}

impl std::fmt::Debug for TableFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
