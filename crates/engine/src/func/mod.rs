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
mod permission;
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
pub(crate) use unsupported::is_known;
pub(crate) use zone::zones_now;

pub(crate) use crate::plan::function::{
    Accumulator, AggregateFunction, Call, Evaluate, Function, NextRow, TableFunction, made,
};

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
    permission::FUNCTIONS,
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
