//! Bound FOR JSON and FOR XML: all rows of a query as one text.
//!
//! A row becomes an object or element for each of the format's levels: one for PATH and RAW, one for
//! each table for AUTO, where a level's own columns tell when a new one begins.

pub mod text;

use crate::expr::Register;
use crate::query::Query;

/// Whether a value is put in as text or is JSON already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text: in quotes and escaped.
    Text,
    /// JSON: as it stands.
    Json,
}

/// FOR JSON or FOR XML over a query.
#[derive(Clone, Debug)]
pub struct Document {
    /// The rows.
    pub query: Query,
    /// What is made of them.
    pub format: DocumentFormat,
    /// Where the text goes.
    pub register: Register,
    /// What no rows give.
    pub when_empty: WhenEmpty,
    /// Whether a client gets it as one value: TYPE.
    pub whole: bool,
}

/// What a document of no rows is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenEmpty {
    /// No row: the answer to a client.
    NoRow,
    /// A row of NULL: a subquery or derived table.
    Null,
}

/// What is made of the rows.
#[derive(Clone, Debug)]
pub enum DocumentFormat {
    /// FOR JSON
    Json(JsonFormat),
    /// FOR XML
    Xml(XmlFormat),
    /// FOR XML EXPLICIT
    Explicit(ExplicitFormat),
}

/// FOR XML EXPLICIT: each row makes an element that its first two columns place.
#[derive(Clone, Debug)]
pub struct ExplicitFormat {
    /// ROOT.
    pub root: Option<String>,
    /// Declarations of name spaces.
    pub declared: String,
    /// What the columns behind Tag and Parent are.
    pub columns: Vec<ExplicitColumn>,
}

/// `element!tag!name!directive`
#[derive(Clone, Debug)]
pub struct ExplicitColumn {
    /// The element's name.
    pub element: String,
    /// The tag whose element it is of.
    pub tag: i64,
    /// The attribute's or inner element's name; empty for the content itself.
    pub name: String,
    /// What becomes of the value.
    pub directive: ExplicitDirective,
}

/// What a column of FOR XML EXPLICIT becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplicitDirective {
    /// An attribute, or text where it has no name.
    Plain,
    /// `element`: an inner element.
    Element,
    /// `elementxsinil`: one that shows NULL.
    ElementNil,
    /// `xml`: an inner element, or content, whose text is markup.
    Xml,
    /// `cdata`: content as a CDATA section.
    Cdata,
    /// `hide`: nothing; the rows may be sorted by it.
    Hide,
}

impl Document {
    /// Tells whether the result is JSON that goes into other JSON as it stands.
    pub fn is_json(&self) -> bool {
        matches!(&self.format, DocumentFormat::Json(json) if !json.without_wrapper)
    }
}

/// FOR JSON and its options.
#[derive(Clone, Debug)]
pub struct JsonFormat {
    /// ROOT.
    pub root: Option<String>,
    /// INCLUDE_NULL_VALUES.
    pub include_nulls: bool,
    /// WITHOUT_ARRAY_WRAPPER.
    pub without_wrapper: bool,
    /// The objects of a row, outermost first.
    pub levels: Vec<JsonLevel>,
}

/// The object that a row makes at one level.
#[derive(Clone, Debug)]
pub struct JsonLevel {
    /// The property of the level above that holds an array of these.
    pub name: String,
    /// Its own properties.
    pub members: Vec<JsonMember>,
    /// The columns behind them.
    pub columns: Vec<usize>,
}

/// A property.
#[derive(Clone, Debug)]
pub enum JsonMember {
    /// The value of a column.
    Value(String, usize, Form),
    /// An object of further properties.
    Object(String, Vec<JsonMember>),
}

/// FOR XML and its options.
#[derive(Clone, Debug)]
pub struct XmlFormat {
    /// ROOT.
    pub root: Option<String>,
    /// ELEMENTS XSINIL: NULL shows as an element.
    pub show_nulls: bool,
    /// Declarations of name spaces, as the outermost elements have them.
    pub declared: String,
    /// The elements of a row, outermost first.
    pub levels: Vec<XmlLevel>,
}

/// The element that a row makes at one level.
#[derive(Clone, Debug)]
pub struct XmlLevel {
    /// The element; its name is empty for `PATH('')`, which makes none.
    pub element: XmlElement,
    /// The columns behind it.
    pub columns: Vec<usize>,
}

/// An element.
#[derive(Clone, Debug, Default)]
pub struct XmlElement {
    /// Its name.
    pub name: String,
    /// Its attributes: name and column.
    pub attributes: Vec<(String, usize)>,
    /// What is in it.
    pub content: Vec<XmlMember>,
}

/// What is in an element.
#[derive(Clone, Debug)]
pub enum XmlMember {
    /// The value of a column as text, or as nodes if it is `xml`.
    Text(usize),
    /// `data()`: as text, with a blank before it where another stands before.
    Data(usize),
    /// `comment()`
    Comment(usize),
    /// `processing-instruction(name)`
    Instruction(String, usize),
    /// An element.
    Element(XmlElement),
}
