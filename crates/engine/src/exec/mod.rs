//! The executors, and statements that are bound when they run.
//!
//! - the crate `executor` runs bound plans row by row, the crate `vectorized` those that read many rows, in batches of
//!   columns;
//! - `host.rs` answers what the executor asks of the layers above it: bodies of functions and triggers, SELECT INTO;
//! - `ddl/` changes the catalog;
//! - `run/` runs the steps of a program: control flow, errors.

mod bulk_insert;
pub mod ddl;
pub(crate) mod definition_trigger;
#[cfg(test)]
mod differential;
mod export;
mod function;
pub mod host;
pub mod insert_bulk;
mod into;
pub mod run;
pub(crate) mod table_parameter;
mod trigger_body;
mod truncate;

pub use ::executor::{
    Cx, Frame, FrameTables, Host, Profile, Scratch, StatementResult, arithmetic, bulk, columnstore,
    dml, eval, fault, grant, long, move_tuples, parallel, profile, query, reset, run_bound,
    run_scalar, statement, tuple_mover,
};
pub use ::vectorized as vector;
