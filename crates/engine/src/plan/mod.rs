//! The bound tree: what the binder makes of a syntax tree and what the executor runs.
//!
//! Names are gone: a column is a register, a variable a slot, a table a handle. A statement's plan is
//! immutable and shared between the connections that run it.

pub mod children;
pub mod convert;
pub mod depth;
pub mod document;
pub mod expr;
pub mod function;
pub mod program;
pub mod query;
pub mod statement;
pub mod view;
pub mod walk;
pub mod watch;
