//! Built-in functions as plans hold them: a name, the check of the arguments, and the code that computes.
//!
//! The functions themselves are in `func`, which is above: a plan points to their entries.

use std::any::Any;
use std::sync::Arc;

use types::convert::ConvertOptions;
use types::date::Moment;
use types::value::ColumnType;
use types::{Result, Value};

use crate::expr::Expr;

/// Whether a function gives another value at each call, so that it matters how often it is called.
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

/// What a function may ask of the statement that it runs in.
pub trait EvalContext {
    /// The statement's time, UTC: the same for all its rows.
    fn now(&mut self) -> Moment;

    /// The session's settings that conversions go by.
    fn convert_options(&self) -> ConvertOptions;

    /// SET DATEFIRST.
    fn date_first(&self) -> u8;

    /// The next value of NEWSEQUENTIALID().
    fn next_sequential_id(&self) -> Value;

    /// What COLUMNS_UPDATED() gives; `None` outside of a trigger.
    fn updated_columns(&self) -> Option<&[u8]>;

    /// A document of sp_xml_preparedocument by its handle: what the library has for one.
    fn document(&self, handle: i64) -> Option<Arc<dyn Any + Send + Sync>>;

    /// What the methods of `xml` have parsed, for the length of a request.
    fn parsed(&mut self) -> &mut Option<Box<dyn Any + Send>>;

    /// The session, for functions that are about it: what the engine has for one.
    fn session(&self) -> &dyn Any;

    /// The session, to be changed.
    fn session_mut(&mut self) -> &mut dyn Any;

    /// Variables and state of the running module, likewise.
    fn frame(&self) -> &dyn Any;
}

/// What functions are called with.
pub type Context<'a> = dyn EvalContext + 'a;

/// A scalar function of the library.
pub struct Function {
    /// Name in upper case.
    pub name: &'static str,
    /// Fewest and most arguments.
    pub arity: (u8, u8),
    /// Checks and converts the arguments, and derives the type of the result.
    pub bind: fn(&mut Vec<Expr>) -> Result<ColumnType>,
    /// Computes the result.
    pub eval: Evaluate,
    /// Whether equal arguments always give equal results, so that the binder may fold it.
    pub deterministic: bool,
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

/// What an evaluation knows beside the values.
pub struct Call<'a> {
    /// The arguments as bound: their types and collations.
    pub arguments: &'a [Expr],
    /// The result's type.
    pub ty: &'a ColumnType,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// An aggregate function.
pub struct AggregateFunction {
    /// Name in upper case.
    pub name: &'static str,
    /// Checks and converts the arguments, and derives the type of the result.
    pub bind: fn(&mut Vec<Expr>) -> Result<ColumnType>,
    /// Makes an empty accumulator for a result of this type over arguments of these types.
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
    /// Tells whether a NULL was left out (warning 8153).
    fn saw_null(&self) -> bool;
    /// Returns the result.
    fn finish(&mut self) -> Result<Value>;
}

/// Columns of a table-valued function: name and type.
pub type TableColumns = Vec<(String, ColumnType)>;
/// The rows of a table-valued function, one after the other: puts the values of the next one into an empty vector;
/// `false` where there is none.
pub type NextRow = Box<dyn FnMut(&mut Vec<Value>) -> bool>;

/// The rows of a function that makes all of them at once.
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
    /// Checks and converts the arguments; derives the columns.
    pub bind: fn(&mut Vec<Expr>) -> Result<TableColumns>,
    /// Begins to make rows of arguments.
    pub rows: fn(&mut Context<'_>, &[Value]) -> Result<NextRow>,
}

impl std::fmt::Debug for TableFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
