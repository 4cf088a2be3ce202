//! The language: text to syntax tree, every node with its byte span.
//!
//! [`parse`] turns the text of a batch into an [`ast::Batch`]. It knows no catalog: unknown names
//! parse. A mistake is a [`types::Error`] with SQL Server's number, wording and line.
#![forbid(unsafe_code)]

pub mod ast;
mod batch;
mod definition;
mod keyword;
mod lexer;
mod normalize;
mod parser;
mod production;
mod template;
mod text;

pub use batch::{ScriptBatch, split_batches};
pub use definition::{Lists, definition_of_condition, definition_of_value};
pub use keyword::words;
pub use normalize::{names_in, names_object_in, normalized, variables_in};
pub use production::{BOUNDED, Growth, Production, productions};
pub use template::{Template, Tokens};
pub use text::{line_at, utf16_offset};

use types::Result;

/// How many levels of parentheses, subqueries, blocks and the like may nest; one more is error 191.
///
/// A level takes up to 6 KB of stack, without optimisation some five times that: all of them fit the reserve of a stack.
pub const NESTING_MAX: u32 = 128;

/// What `"text"` means: the session's QUOTED_IDENTIFIER.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuotedIdentifier {
    /// ON: a name.
    #[default]
    On,
    /// OFF: a string.
    Off,
}

/// Parses a batch.
///
/// A `SET QUOTED_IDENTIFIER` in the batch changes the meaning of the quotes behind it, as in SQL
/// Server, where that option acts when a batch is parsed.
pub fn parse(text: &str, quotes: QuotedIdentifier) -> Result<ast::Batch> {
    parser::parse_batch(text, quotes)
}
