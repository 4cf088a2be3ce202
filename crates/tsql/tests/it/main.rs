//! Tests of the parser through its public interface.

mod boundary;
mod corpus;
mod definition;
mod errors;
mod fuzzing;
mod long;
mod nesting;
mod precedence;
mod print;
mod production;
mod support;
mod tree;
