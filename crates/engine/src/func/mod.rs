//! The function library: one registry entry per function, by name.
//!
//! A scalar function has one row implementation here; vector kernels of a later executor are
//! optimisations that a differential test holds against it.
#![expect(
    clippy::ptr_arg,
    reason = "one signature for all functions: some change the number of arguments"
)]

mod activity;
mod aggregate;
pub(crate) mod app_lock;
mod approximate;
mod bits;
mod bucket;
mod calendar;
mod caught;
mod characters;
mod collations;
mod compress;
mod cursor;
pub(crate) mod date;
pub(crate) mod entry;
mod files;
pub(crate) mod format;
mod hash;
pub(crate) mod hex;
pub(crate) mod json;
pub(crate) mod logic;
mod math;
mod message;
mod metadata;
mod number_text;
mod passphrase;
mod password;
mod pick;
mod pointer;
pub(crate) mod principal;
mod property;
mod random;
mod server;
mod sound;
mod string;
pub(crate) mod system;
mod table;
mod unsupported;
pub(crate) mod xml;
pub(crate) mod zone;

pub(crate) use aggregate::{Total, finish_total};
pub(crate) use approximate::takes_key;
pub(crate) use hash::sha256;
pub(crate) use logic::new_guid;
pub(crate) use server::PRODUCT_VERSION;
use types::value::ColumnType;
use types::{Result, Value};
pub(crate) use unsupported::is_known;
pub(crate) use zone::zones_now;

use crate::bind::Binder;
use crate::exec::Cx;
use crate::plan::expr::Expr;

/// Whether a function gives another value at each call, so that it matters how often it is called.
pub(crate) fn is_volatile(name: &str) -> bool {
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

/// All scalar functions, one list per file.
static SCALARS: &[&[Function]] = &[
    activity::FUNCTIONS,
    app_lock::FUNCTIONS,
    approximate::FUNCTIONS,
    bits::FUNCTIONS,
    bucket::FUNCTIONS,
    calendar::FUNCTIONS,
    caught::FUNCTIONS,
    characters::FUNCTIONS,
    compress::FUNCTIONS,
    cursor::FUNCTIONS,
    date::FUNCTIONS,
    files::FUNCTIONS,
    format::FUNCTIONS,
    hash::FUNCTIONS,
    hex::FUNCTIONS,
    json::FUNCTIONS,
    logic::FUNCTIONS,
    math::FUNCTIONS,
    message::FUNCTIONS,
    metadata::FUNCTIONS,
    number_text::FUNCTIONS,
    passphrase::FUNCTIONS,
    password::FUNCTIONS,
    pick::FUNCTIONS,
    pointer::FUNCTIONS,
    principal::FUNCTIONS,
    property::FUNCTIONS,
    random::FUNCTIONS,
    server::FUNCTIONS,
    sound::FUNCTIONS,
    string::FUNCTIONS,
    system::FUNCTIONS,
    xml::FUNCTIONS,
    zone::FUNCTIONS,
];

/// All aggregates.
static AGGREGATES: &[&[AggregateFunction]] =
    &[aggregate::FUNCTIONS, approximate::AGGREGATES, json::AGGREGATES];

/// All built-in table-valued functions.
static TABLES: &[&[TableFunction]] =
    &[collations::FUNCTIONS, json::TABLES, table::FUNCTIONS, xml::TABLES];

/// Finds a scalar function by its upper-case name (`@@` names included).
pub fn find(name: &str) -> Option<&'static Function> {
    SCALARS.iter().flat_map(|list| list.iter()).find(|f| f.name == name)
}

/// Iterates over the names of all functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let scalars = SCALARS.iter().flat_map(|list| list.iter()).map(|f| f.name);
    let aggregates = AGGREGATES.iter().flat_map(|list| list.iter()).map(|f| f.name);
    let tables = TABLES.iter().flat_map(|list| list.iter()).map(|f| f.name);
    scalars.chain(aggregates).chain(tables)
}

/// Returns every scalar function: what holds for all of them is tested over it.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    SCALARS.iter().flat_map(|list| list.iter())
}

/// Finds an aggregate by its upper-case name.
pub fn find_aggregate(name: &str) -> Option<&'static AggregateFunction> {
    AGGREGATES.iter().flat_map(|list| list.iter()).find(|f| f.name == name)
}

/// Finds a table-valued function by its upper-case name.
pub fn find_table(name: &str) -> Option<&'static TableFunction> {
    TABLES.iter().flat_map(|list| list.iter()).find(|f| f.name == name)
}

/// Tells whether the first argument is a date part such as `day`, which reads as a column name.
pub fn takes_date_part(name: &str) -> bool {
    matches!(
        name,
        "DATEADD"
            | "DATEDIFF"
            | "DATEDIFF_BIG"
            | "DATENAME"
            | "DATEPART"
            | "DATETRUNC"
            | "DATE_BUCKET"
    )
}

/// A scalar function of the library.
pub struct Function {
    /// Name in upper case.
    pub name: &'static str,
    /// Fewest and most arguments.
    pub arity: (u8, u8),
    /// Checks and converts the arguments, and derives the type of the result.
    pub bind: fn(&mut Binder<'_>, &mut Vec<Expr>) -> Result<ColumnType>,
    /// Computes the result.
    pub eval: Evaluate,
    /// Whether equal arguments always give equal results, so that the binder may fold it.
    pub deterministic: bool,
}

/// How a function computes its result; the arguments are values of the types that `bind` left.
#[derive(Clone, Copy)]
pub enum Evaluate {
    /// From the arguments; any NULL argument gives NULL without a call.
    Strict(fn(&mut Cx<'_>, &Call<'_>, &[Value]) -> Result<Value>),
    /// From the arguments, NULLs included.
    Full(fn(&mut Cx<'_>, &Call<'_>, &[Value]) -> Result<Value>),
    /// From the session alone.
    Session(fn(&mut Cx<'_>) -> Value),
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
    pub bind: fn(&mut Binder<'_>, &mut Vec<Expr>) -> Result<ColumnType>,
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
pub(crate) fn made(rows: Vec<Vec<Value>>) -> NextRow {
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
    pub bind: fn(&mut Binder<'_>, &mut Vec<Expr>) -> Result<TableColumns>,
    /// Begins to make rows of arguments.
    pub rows: fn(&mut Cx<'_>, &[Value]) -> Result<NextRow>,
}

impl std::fmt::Debug for TableFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
