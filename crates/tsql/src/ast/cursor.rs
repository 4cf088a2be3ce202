//! Cursors.

use super::{Expr, Ident, Span, Statement, Variable};

/// A cursor in OPEN, FETCH, CLOSE, DEALLOCATE and CURRENT OF.
#[derive(Clone, Debug, PartialEq)]
pub struct CursorRef {
    /// GLOBAL was written.
    pub global: bool,
    /// Which.
    pub name: CursorName,
}

/// A cursor's name.
#[derive(Clone, Debug, PartialEq)]
pub enum CursorName {
    /// By name.
    Name(Ident),
    /// In a cursor variable.
    Variable(Variable),
}

/// `DECLARE c [INSENSITIVE] [SCROLL] CURSOR [LOCAL ..] FOR query [FOR UPDATE OF ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursor {
    /// Its name; none in `SET @c = CURSOR ..`.
    pub name: Option<Ident>,
    /// Its options, of either syntax, in order.
    pub options: Vec<CursorOption>,
    /// Its query: a SELECT.
    pub query: Box<Statement>,
    /// FOR READ ONLY, FOR UPDATE.
    pub access: Option<CursorAccess>,
    /// Where.
    pub span: Span,
}

/// An option of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum CursorOption {
    Insensitive,
    Scroll,
    Local,
    Global,
    ForwardOnly,
    Static,
    Keyset,
    Dynamic,
    FastForward,
    ReadOnly,
    ScrollLocks,
    Optimistic,
    TypeWarning,
}

impl CursorOption {
    /// Returns it as it is written.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Insensitive => "INSENSITIVE",
            Self::Scroll => "SCROLL",
            Self::Local => "LOCAL",
            Self::Global => "GLOBAL",
            Self::ForwardOnly => "FORWARD_ONLY",
            Self::Static => "STATIC",
            Self::Keyset => "KEYSET",
            Self::Dynamic => "DYNAMIC",
            Self::FastForward => "FAST_FORWARD",
            Self::ReadOnly => "READ_ONLY",
            Self::ScrollLocks => "SCROLL_LOCKS",
            Self::Optimistic => "OPTIMISTIC",
            Self::TypeWarning => "TYPE_WARNING",
        }
    }
}

/// What a cursor may change.
#[derive(Clone, Debug, PartialEq)]
pub enum CursorAccess {
    /// FOR READ ONLY
    ReadOnly,
    /// FOR UPDATE \[OF columns\]
    Update(Vec<Ident>),
}

/// `FETCH [direction] [FROM] cursor [INTO variables]`
#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    /// Which row.
    pub direction: FetchDirection,
    /// Of which cursor.
    pub cursor: CursorRef,
    /// Where to; to the client if empty.
    pub into: Vec<Variable>,
}

/// Which row FETCH gets.
#[derive(Clone, Debug, PartialEq)]
pub enum FetchDirection {
    /// NEXT, also when nothing is said
    Next,
    /// PRIOR
    Prior,
    /// FIRST
    First,
    /// LAST
    Last,
    /// ABSOLUTE n
    Absolute(Expr),
    /// RELATIVE n
    Relative(Expr),
}
