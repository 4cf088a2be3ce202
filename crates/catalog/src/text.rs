//! `ModuleText`: a piece of T-SQL that is stored with an object.

use tsql::QuotedIdentifier;
use tsql::ast::{Condition, Expr, QueryBody, QuerySpec, SelectItemKind, StatementKind};

/// A piece of T-SQL stored with an object: source text and syntax tree.
#[derive(Debug)]
pub struct ModuleText<T = Expr> {
    /// The text as the catalog views show it.
    pub text: String,
    /// A text that gives the same tree when it is parsed: as written in the statement. Empty for an
    /// object that does not survive a restart.
    pub written: Box<str>,
    /// QUOTED_IDENTIFIER, under which `written` is parsed.
    pub quoted: bool,
    /// Syntax tree of the text.
    pub tree: T,
}

/// A piece of T-SQL that is no statement.
pub trait Piece: Sized + Clone + PartialEq {
    /// The start of a query that ends with the piece.
    const BEFORE: &'static str;

    /// Takes the piece out of that query.
    fn of(query: QuerySpec) -> Option<Self>;
}

impl Piece for Expr {
    const BEFORE: &'static str = "SELECT ";

    fn of(mut query: QuerySpec) -> Option<Self> {
        match query.items.pop()?.kind {
            SelectItemKind::Expr { expr, alias: None } if query.items.is_empty() => Some(expr),
            _ => None,
        }
    }
}

impl Piece for Condition {
    const BEFORE: &'static str = "SELECT 1 WHERE ";

    fn of(query: QuerySpec) -> Option<Self> {
        query.filter
    }
}

impl<T: Piece> ModuleText<T> {
    /// Makes a text from its tree, the part of the statement that the tree was parsed from, and the
    /// text for the catalog views.
    pub fn new(tree: &T, written: &str, quoted: bool, text: String) -> Self {
        // Of a piece in parentheses, the part may begin or end inside them. The text for the views
        // has the same meaning, though BETWEEN, for one, is two comparisons in it.
        let is_whole = Self::parse(written, quoted).is_ok_and(|parsed| parsed == *tree);
        let written = match (written.is_empty(), is_whole) {
            (true, _) => "",
            (false, true) => written,
            (false, false) => text.as_str(),
        };
        Self { written: written.into(), quoted, tree: tree.clone(), text }
    }

    /// Parses a piece as it was written.
    ///
    /// # Errors
    /// The syntax error; 102 for a text that is something else than such a piece.
    pub fn parse(written: &str, quoted: bool) -> types::Result<T> {
        let quotes = if quoted { QuotedIdentifier::On } else { QuotedIdentifier::Off };
        let batch = tsql::parse(&format!("{}{written}", T::BEFORE), quotes)?;
        let mut statements = batch.statements;
        let statement = statements.pop().filter(|_| statements.is_empty());
        let piece = match statement.map(|statement| statement.kind) {
            Some(StatementKind::Select(select)) => match select.query.body {
                QueryBody::Select(query) => T::of(*query),
                QueryBody::Parenthesized(_) | QueryBody::SetOperation { .. } => None,
            },
            _ => None,
        };
        piece.ok_or_else(|| types::Msg::SyntaxNear(written).into())
    }
}
