//! T-SQL's grammar: turns text into a syntax tree in which every node has its byte span.
//!
//! [`parse`] turns the text of a batch into an [`ast::Batch`]. The parser does not use the catalog,
//! so a batch with unknown names parses. A syntax error is a [`types::Error`] with SQL Server's
//! number, wording and line.
#![forbid(unsafe_code)]

pub mod ast;
mod batch;
mod definition;
mod keyword;
mod lexer;
mod normalize;
mod object_name;
mod parser;
pub mod permission;
mod production;
mod references;
mod template;
mod text;

pub use batch::{ScriptBatch, split_batches};
pub use definition::{Lists, definition_of_condition, definition_of_value};
pub use keyword::words;
pub use normalize::{names_in, names_object_in, normalized, variables_in};
pub use object_name::{parse_object_name, parse_procedure_name, split_name};
pub use production::{BOUNDED, Growth, Production, productions};
pub use references::{
    Reference, Use, columns_of_condition, columns_of_value, references, references_of_procedure,
    tables_read,
};
pub use template::{Template, Tokens};
pub use text::{Utf16Offsets, line_at, utf16_offset};

use types::Result;
use types::pause::Watched;

/// How many levels of parentheses, subqueries, blocks and the like may nest; one more is error 191.
///
/// A level takes up to 6 KB of stack, and some five times that without optimisation: all levels
/// together fit the stack's reserve.
pub const NESTING_MAX: u32 = 128;

/// What `"text"` means: the session's `SET QUOTED_IDENTIFIER` setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuotedIdentifier {
    /// ON: `"text"` is an identifier, the default.
    #[default]
    On,
    /// OFF: `"text"` is a string literal.
    Off,
}

/// Parses a batch.
///
/// A `SET QUOTED_IDENTIFIER` in the batch changes the meaning of the quotes behind it, as in SQL
/// Server, where that option acts when a batch is parsed.
pub fn parse(text: &str, quotes: QuotedIdentifier) -> Result<ast::Batch> {
    parser::parse_batch(text, quotes, &Watched::new(&|| true))
}

/// As [`parse`], for a text that may be long. Once `watched` is over, the result means nothing.
///
/// # Errors
/// As [`parse`].
pub fn parse_watched(
    text: &str,
    quotes: QuotedIdentifier,
    watched: &Watched<'_>,
) -> Result<ast::Batch> {
    parser::parse_batch(text, quotes, watched)
}
