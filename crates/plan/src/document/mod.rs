//! Bound FOR JSON and FOR XML: all rows of a query as one text.
//!
//! A row becomes an object or element for each of the format's levels: one for PATH and RAW, one
//! for each table for AUTO, where a change in a level's own columns begins a new one.

pub mod text;

use crate::expr::Register;
use crate::query::Query;

/// Whether a value is inserted as text or is JSON already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text: escaped and in quotes.
    Text,
    /// JSON: inserted without escaping.
    Json,
}

/// FOR JSON or FOR XML over a query.
#[derive(Clone, Debug)]
pub struct Document {
    /// Rows that the document is made of.
    pub query: Query,
    /// JSON or XML, with options.
    pub format: DocumentFormat,
    /// Register that receives the text.
    pub register: Register,
    /// Result for an empty input.
    pub when_empty: WhenEmpty,
    /// TYPE: the client receives the document as one value.
    pub whole: bool,
}

/// The result of a document query without rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenEmpty {
    /// No row: the answer to a client.
    NoRow,
    /// One row with NULL: a subquery or derived table.
    Null,
}

/// The format of the document.
#[derive(Clone, Debug)]
pub enum DocumentFormat {
    /// FOR JSON AUTO or PATH.
    Json(JsonFormat),
    /// FOR XML RAW, AUTO or PATH.
    Xml(XmlFormat),
    /// FOR XML EXPLICIT: columns name the elements.
    Explicit(ExplicitFormat),
}

/// FOR XML EXPLICIT: each row makes one element; its first two columns, Tag and Parent, place it in
/// the tree.
#[derive(Clone, Debug)]
pub struct ExplicitFormat {
    /// ROOT: name of the outermost element.
    pub root: Option<String>,
    /// Declarations of namespaces, as text.
    pub declared: String,
    /// The columns after Tag and Parent.
    pub columns: Vec<ExplicitColumn>,
}

/// A column name of the form `element!tag!name!directive`.
#[derive(Clone, Debug)]
pub struct ExplicitColumn {
    /// Name of the element.
    pub element: String,
    /// Tag of the element it belongs to.
    pub tag: i64,
    /// The attribute's or inner element's name; empty for the content itself.
    pub name: String,
    /// How the value is written.
    pub directive: ExplicitDirective,
}

/// The directive of a FOR XML EXPLICIT column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplicitDirective {
    /// An attribute, or text where it has no name.
    Plain,
    /// `element`: a nested element.
    Element,
    /// `elementxsinil`: a nested element, also for NULL.
    ElementNil,
    /// `xml`: a nested element, or content, whose text is already markup.
    Xml,
    /// `cdata`: content in a CDATA section.
    Cdata,
    /// `hide`: not written; the rows may be sorted by it.
    Hide,
}

impl Document {
    /// Returns whether the result is JSON that other JSON may embed without escaping.
    pub fn is_json(&self) -> bool {
        matches!(&self.format, DocumentFormat::Json(json) if !json.without_wrapper)
    }
}

/// FOR JSON and its options.
#[derive(Clone, Debug)]
pub struct JsonFormat {
    /// ROOT: name of the property around the array.
    pub root: Option<String>,
    /// INCLUDE_NULL_VALUES: NULL columns are written.
    pub include_nulls: bool,
    /// WITHOUT_ARRAY_WRAPPER: no brackets around the objects.
    pub without_wrapper: bool,
    /// The nested objects of a row, outermost first.
    pub levels: Vec<JsonLevel>,
}

/// The object of a row at one level.
#[derive(Clone, Debug)]
pub struct JsonLevel {
    /// The property of the level above that holds an array of these.
    pub name: String,
    /// Properties of the object, in order.
    pub members: Vec<JsonMember>,
    /// Ordinals of the columns that it contains: a change in one begins a new object.
    pub columns: Vec<usize>,
}

/// A property of an object.
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
    /// ROOT: name of the outermost element.
    pub root: Option<String>,
    /// ELEMENTS XSINIL: NULL shows as an element.
    pub show_nulls: bool,
    /// Declarations of namespaces, as the outermost elements carry them.
    pub declared: String,
    /// The nested elements of a row, outermost first.
    pub levels: Vec<XmlLevel>,
}

/// The element of a row at one level.
#[derive(Clone, Debug)]
pub struct XmlLevel {
    /// The element; its name is empty for `PATH('')`, which makes none.
    pub element: XmlElement,
    /// Ordinals of the columns that it contains: a change in one begins a new element.
    pub columns: Vec<usize>,
}

/// An element with attributes and content.
#[derive(Clone, Debug, Default)]
pub struct XmlElement {
    /// Tag name; empty for no element.
    pub name: String,
    /// Its attributes: name and column.
    pub attributes: Vec<(String, usize)>,
    /// Nodes between its tags.
    pub content: Vec<XmlMember>,
}

/// A node of an element's content.
#[derive(Clone, Debug)]
pub enum XmlMember {
    /// The value of a column as text, or as nodes if it is `xml`.
    Text(usize),
    /// `data()`: the value as text, separated from a preceding one by a space.
    Data(usize),
    /// `comment()`: the value as a comment.
    Comment(usize),
    /// `processing-instruction(name)`: name and column.
    Instruction(String, usize),
    /// A nested element, with its own content.
    Element(XmlElement),
}
