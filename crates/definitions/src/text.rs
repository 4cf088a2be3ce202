//! Stored T-SQL: texts are encoded, and parsed again when they are decoded.

use catalog::{ModuleText, Piece};
use tsql::QuotedIdentifier;
use tsql::ast::Statement;

use crate::code::{Code, Cx, Fault, Fields, Result, put_field};

/// Parses a batch. `quoted` is QUOTED_IDENTIFIER.
pub(crate) fn parse_batch(text: &str, quoted: bool) -> Result<Vec<Statement>> {
    let quotes = if quoted { QuotedIdentifier::On } else { QuotedIdentifier::Off };
    tsql::parse(text, quotes).map(|batch| batch.statements).map_err(Fault::from)
}

impl From<types::Error> for Fault {
    fn from(error: types::Error) -> Self {
        Self(error.into_body().message)
    }
}

/// The text as written gives the same tree again; the text that views show does not: BETWEEN has
/// become two comparisons in it.
impl<T: Piece> Code for ModuleText<T> {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { text, written, quoted, tree: _ } = self;
        put_field(out, 1, text);
        put_field(out, 2, written);
        put_field(out, 3, quoted);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut fields = Fields::of(bytes);
        let text = fields.take(1, cx)?;
        let written: Box<str> = fields.take(2, cx)?;
        let quoted = fields.take(3, cx)?;
        fields.end()?;
        let tree = Self::parse(&written, quoted)?;
        Ok(Self { text, written, quoted, tree })
    }
}
