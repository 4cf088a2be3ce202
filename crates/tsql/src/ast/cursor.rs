//! Statements on cursors: DECLARE CURSOR, OPEN, FETCH, CLOSE and DEALLOCATE.

use super::{Expr, Ident, Span, Statement, Variable};

/// A cursor in OPEN, FETCH, CLOSE, DEALLOCATE and CURRENT OF.
#[derive(Clone, Debug, PartialEq)]
pub struct CursorRef {
    /// Whether `GLOBAL` was written before the name.
    pub global: bool,
    /// The name or the cursor variable.
    pub name: CursorName,
}

/// A cursor by name or through a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum CursorName {
    /// A name written in the statement.
    Name(Ident),
    /// A cursor variable, as `@c`.
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
    /// Source range of the whole declaration.
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
    /// Returns the option as it is written in T-SQL.
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

/// Whether rows may be changed through a cursor.
#[derive(Clone, Debug, PartialEq)]
pub enum CursorAccess {
    /// `FOR READ ONLY`: no positioned UPDATE or DELETE.
    ReadOnly,
    /// `FOR UPDATE [OF columns]`; empty is every column.
    Update(Vec<Ident>),
}

/// `FETCH [direction] [FROM] cursor [INTO variables]`
#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    /// Which row relative to the current one.
    pub direction: FetchDirection,
    /// The cursor that is read.
    pub cursor: CursorRef,
    /// Variables that receive the row; if empty, the row goes to the client.
    pub into: Vec<Variable>,
}

/// Which row FETCH gets.
#[derive(Clone, Debug, PartialEq)]
pub enum FetchDirection {
    /// `NEXT`, also if no direction is written.
    Next,
    /// `PRIOR`: the row before the current one.
    Prior,
    /// `FIRST`: the first row of the result.
    First,
    /// `LAST`: the last row of the result.
    Last,
    /// `ABSOLUTE n`: the n-th row; a negative n counts from the end.
    Absolute(Expr),
    /// `RELATIVE n`: n rows after the current one, or before if negative.
    Relative(Expr),
}
