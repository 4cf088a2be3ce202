//! The bound tree: what the binder makes of a syntax tree and what the executor runs.
//!
//! Names are resolved: a column is a register, a variable a slot, a table a handle. A statement's
//! plan is immutable and shared between the connections that run it. The crate also holds the
//! interface through which results leave (`sink`) and the execution statistics of statements
//! (`stats/`).
#![forbid(unsafe_code)]

pub mod children;
pub mod convert;
pub mod depth;
pub mod document;
pub mod expr;
pub mod function;
pub mod long;
pub mod program;
pub mod query;
pub mod safe;
pub mod same;
pub mod sink;
pub mod sort;
pub mod statement;
pub mod stats;
pub mod stop;
pub mod uses;
pub mod view;
pub mod walk;
pub mod watch;

/// How much the optimizer does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nothing, so that tests can compare plans as bound with optimized ones.
    None,
    /// All rewrites and the choice of join order and access paths.
    #[default]
    Full,
}
