//! Positions and names: [`Span`], [`Ident`], [`ObjectName`], [`Variable`], [`TypeName`].

use std::fmt;

/// A range of bytes of the batch's text; see [`crate::utf16_offset`] for the unit clients use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

/// All spans are equal: trees compare without positions; see the module [`crate::ast`].
impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Span {}

impl Span {
    /// Makes the span from `start` to `end`.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Returns the span from this one's start to `last`'s end.
    #[must_use]
    pub fn to(self, last: Self) -> Self {
        Self { start: self.start, end: last.end }
    }

    /// Returns the text it covers in the batch it came from, or `""` in any other text it does not
    /// fit.
    pub fn text(self, batch: &str) -> &str {
        batch.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// How an identifier was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// `name`, without quotes or brackets.
    None,
    /// `[name]`, in square brackets.
    Brackets,
    /// `"name"`, in double quotes (QUOTED_IDENTIFIER ON).
    Quotes,
}

/// An identifier without its quotes, in the case it was written in.
///
/// Two identifiers are equal if their text is equal byte for byte; quoting does not count. Whether
/// they name one object is decided by the catalog's collation.
#[derive(Clone)]
pub struct Ident {
    text: Box<str>,
    /// How it was written.
    pub quoting: Quoting,
    /// Source range, quotes or brackets included.
    pub span: Span,
}

impl Ident {
    /// Makes an identifier from its text without quotes.
    #[inline]
    pub fn new(text: impl Into<Box<str>>, quoting: Quoting, span: Span) -> Self {
        Self { text: text.into(), quoting, span }
    }

    /// Returns the name without quotes.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the name equals `name`, comparing ASCII letters without case.
    pub fn is(&self, name: &str) -> bool {
        self.text.eq_ignore_ascii_case(name)
    }
}

impl std::ops::Deref for Ident {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Ident {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Ident {}

impl fmt::Debug for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.text)
    }
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A name of one to four parts: `[server.][database.][schema.]object`, with `a..b` leaving parts
/// out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// The last part: the object's own name.
    pub object: Ident,
    /// The schema; `None` if left out (`object` or `database..object`).
    pub schema: Option<Ident>,
    /// The database; `None` if left out.
    pub database: Option<Ident>,
    /// The linked server, first of four parts; `None` if left out.
    pub server: Option<Ident>,
    /// Source range of all parts.
    pub span: Span,
}

impl ObjectName {
    /// Makes a name of one part.
    pub fn simple(object: Ident) -> Self {
        let span = object.span;
        Self { object, schema: None, database: None, server: None, span }
    }

    /// Returns whether the name has the object's part only.
    pub fn is_simple(&self) -> bool {
        self.schema.is_none() && self.database.is_none() && self.server.is_none()
    }

    /// Returns the object's name if no other part was given.
    pub fn as_simple(&self) -> Option<&Ident> {
        self.is_simple().then_some(&self.object)
    }

    /// Returns whether the object is a temporary one: `#name` or `##name`.
    pub fn is_temporary(&self) -> bool {
        self.object.starts_with('#')
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let qualifiers = [&self.server, &self.database, &self.schema];
        for part in qualifiers.into_iter().skip_while(|part| part.is_none()) {
            write!(f, "{}.", part.as_deref().unwrap_or_default())?;
        }
        f.write_str(&self.object)
    }
}

/// A local variable, parameter or `@@` name; the text has its `@`.
#[derive(Clone, PartialEq, Eq)]
pub struct Variable {
    /// `@name` or `@@name`, with its `@`.
    pub name: Box<str>,
    /// Source range of the variable.
    pub span: Span,
}

impl Variable {
    /// Returns whether the name starts with `@@`: a system function such as `@@ROWCOUNT`, unless it
    /// is declared.
    pub fn is_global(&self) -> bool {
        self.name.starts_with("@@")
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A data type by name; `nvarchar(88)`, `dbo.tSessionId`, `decimal(9, 2)`, `xml(CONTENT c)`.
///
/// Names of several words come in their short form: `DOUBLE PRECISION` is `float`, `NATIONAL
/// CHARACTER VARYING` is `nvarchar`, `CHAR VARYING` is `varchar`, `BINARY VARYING` is `varbinary`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName {
    /// The name, perhaps with a schema.
    pub name: ObjectName,
    /// The arguments in parentheses behind the name.
    pub arguments: TypeArguments,
    /// Source range of name and arguments.
    pub span: Span,
}

/// The arguments of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeArguments {
    /// `int`: no arguments in parentheses.
    None,
    /// One number: `varchar(10)`, `float(24)`, `time(3)`.
    One(u32),
    /// Precision and scale: `decimal(9, 2)`.
    Two(u32, u32),
    /// `(max)` of `varchar`, `nvarchar` and `varbinary`.
    Max,
    /// `xml(collection)`: an XML schema collection.
    XmlSchema(Box<ObjectName>),
}
