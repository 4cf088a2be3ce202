//! Tests of the parser through its public face.

mod boundary;
mod corpus;
mod errors;
mod fuzzing;
mod nesting;
mod precedence;
mod print;
mod support;
mod tree;
