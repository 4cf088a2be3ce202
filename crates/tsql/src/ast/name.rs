//! Positions and names: [`Span`], [`Ident`], [`ObjectName`], [`Variable`], [`TypeName`].

use std::fmt;

/// A range of bytes of the batch's text; see [`crate::utf16_offset`] for the unit clients use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

/// Positions do not tell trees apart; see the module [`crate::ast`].
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

    /// Returns the text it covers in the batch it came from, or `""` in any other text it does not fit.
    pub fn text(self, batch: &str) -> &str {
        batch.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// How an identifier was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// `name`
    None,
    /// `[name]`
    Brackets,
    /// `"name"`
    Quotes,
}

/// An identifier without its quotes, in the case it was written in.
///
/// Compared like names in a case-sensitive collation and without regard to quoting; the catalog's
/// collation decides what is the same name.
#[derive(Clone)]
pub struct Ident {
    text: Box<str>,
    /// How it was written.
    pub quoting: Quoting,
    /// Where, quotes included.
    pub span: Span,
}

impl Ident {
    /// Makes an identifier.
    #[inline]
    pub fn new(text: impl Into<Box<str>>, quoting: Quoting, span: Span) -> Self {
        Self { text: text.into(), quoting, span }
    }

    /// Returns the name without quotes.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Tells whether it is `name`, ASCII letters compared without case.
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

/// A name of one to four parts: `[server.][database.][schema.]object`, with `a..b` leaving parts out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// The last part.
    pub object: Ident,
    /// The part before it.
    pub schema: Option<Ident>,
    /// The part before that.
    pub database: Option<Ident>,
    /// The first of four parts.
    pub server: Option<Ident>,
    /// All of it.
    pub span: Span,
}

impl ObjectName {
    /// Makes a name of one part.
    pub fn simple(object: Ident) -> Self {
        let span = object.span;
        Self { object, schema: None, database: None, server: None, span }
    }

    /// Tells whether it has one part only.
    pub fn is_simple(&self) -> bool {
        self.schema.is_none() && self.database.is_none() && self.server.is_none()
    }

    /// Returns the object's name if no other part was given.
    pub fn as_simple(&self) -> Option<&Ident> {
        self.is_simple().then_some(&self.object)
    }

    /// Tells whether the object is `#name` or `##name`.
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
    /// `@name` or `@@name`.
    pub name: Box<str>,
    /// Where.
    pub span: Span,
}

impl Variable {
    /// Tells whether it starts with `@@`: a system function such as `@@ROWCOUNT`, unless it is declared.
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
/// Names of several words come in their short form: `DOUBLE PRECISION` is `float`, `NATIONAL CHARACTER
/// VARYING` is `nvarchar`, `CHAR VARYING` is `varchar`, `BINARY VARYING` is `varbinary`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName {
    /// The name, perhaps with a schema.
    pub name: ObjectName,
    /// What stands in parentheses behind it.
    pub arguments: TypeArguments,
    /// All of it.
    pub span: Span,
}

/// The arguments of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeArguments {
    /// `int`
    None,
    /// `varchar(10)`, `float(24)`, `time(3)`
    One(u32),
    /// `decimal(9, 2)`
    Two(u32, u32),
    /// `varchar(max)`
    Max,
    /// `xml(collection)`
    XmlSchema(Box<ObjectName>),
}
