//! The function library: one registry entry per function, by name. Functions that read the session
//! are in the engine.
//!
//! A scalar function has one implementation for single rows here. The executor's vector kernels are
//! optimisations, which a differential test compares with it.
#![forbid(unsafe_code)]
#![expect(
    clippy::ptr_arg,
    reason = "one signature for all functions: some change the number of arguments"
)]

mod aggregate;
mod approximate;
mod bits;
mod bucket;
mod calendar;
mod characters;
mod collations;
mod compress;
pub mod date;
pub mod entry;
pub mod format;
mod hash;
pub mod hex;
pub mod json;
pub mod logic;
mod math;
pub mod not_null;
mod number_text;
mod passphrase;
mod password;
mod pick;
mod pieces;
mod random;
mod sound;
mod string;
mod table;
mod unsupported;
pub mod xml;
pub mod zone;

pub use aggregate::{Total, finish_total};
pub use approximate::takes_key;
pub use hash::sha256;
pub use unsupported::{NAMES as KNOWN_BUT_MISSING, is_known};
pub use zone::zones_now;

pub use plan::function::{
    Accumulator, AggregateFunction, Call, Collating, Evaluate, Function, NextRow, TableFunction,
    made,
};

/// Scalar functions, one list per file.
pub static SCALARS: &[&[Function]] = &[
    approximate::FUNCTIONS,
    bits::FUNCTIONS,
    bucket::FUNCTIONS,
    calendar::FUNCTIONS,
    characters::FUNCTIONS,
    compress::FUNCTIONS,
    date::FUNCTIONS,
    format::FUNCTIONS,
    hash::FUNCTIONS,
    hex::FUNCTIONS,
    json::FUNCTIONS,
    logic::FUNCTIONS,
    math::FUNCTIONS,
    number_text::FUNCTIONS,
    passphrase::FUNCTIONS,
    password::FUNCTIONS,
    pick::FUNCTIONS,
    random::FUNCTIONS,
    sound::FUNCTIONS,
    string::FUNCTIONS,
    xml::FUNCTIONS,
    not_null::FUNCTIONS,
    zone::FUNCTIONS,
];

/// All aggregates, one list per file.
pub static AGGREGATES: &[&[AggregateFunction]] =
    &[aggregate::FUNCTIONS, approximate::AGGREGATES, json::AGGREGATES];

/// All built-in table-valued functions.
pub static TABLES: &[&[TableFunction]] =
    &[collations::FUNCTIONS, json::TABLES, table::FUNCTIONS, xml::TABLES];

/// Finds a scalar function of this library by its upper-case name.
pub fn find(name: &str) -> Option<&'static Function> {
    SCALARS.iter().flat_map(|list| list.iter()).find(|f| f.name == name)
}

/// Finds an aggregate by its upper-case name.
pub fn find_aggregate(name: &str) -> Option<&'static AggregateFunction> {
    AGGREGATES.iter().flat_map(|list| list.iter()).find(|f| f.name == name)
}

/// Finds a table-valued function by its upper-case name.
pub fn find_table(name: &str) -> Option<&'static TableFunction> {
    TABLES.iter().flat_map(|list| list.iter()).find(|f| f.name == name)
}

/// Returns whether the first argument is a date part such as `day`, which reads as a column name.
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
