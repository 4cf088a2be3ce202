//! FOR XML RAW, AUTO and PATH: writes rows as XML.

use types::text::str_pieces;
use types::{DataType, Result, Value};

use super::{Row, Writer};
use plan::document::text::{ESCAPED_TIMES, base64, xsd_text};
use plan::document::{XmlElement, XmlFormat, XmlMember};
use plan::long;

/// The namespace declaration for `xsi:nil`.
pub(super) const XSI: &str = " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";

/// The XML text being written.
pub(super) struct XmlWriter<'f> {
    format: &'f XmlFormat,
    out: String,
    /// Whether the last start tag still lacks its `>`.
    tag_open: bool,
    /// Number of open elements.
    depth: usize,
}

impl<'f> XmlWriter<'f> {
    pub(super) fn new(format: &'f XmlFormat) -> Self {
        // The root is written first: a text of megabytes is not copied again for it.
        let mut out = String::new();
        if let Some(root) = &format.root {
            let xsi = if format.show_nulls { XSI } else { "" };
            out = format!("<{root}{xsi}{}>", format.declared);
        }
        Self { format, out, tag_open: false, depth: 0 }
    }

    fn end_tag(&mut self) {
        if std::mem::take(&mut self.tag_open) {
            self.out.push('>');
        }
    }

    fn start(&mut self, element: &XmlElement, row: &Row<'_>) -> Result<()> {
        if element.name.is_empty() {
            return Ok(());
        }
        self.end_tag();
        self.out.push('<');
        self.out.push_str(&element.name);
        self.declare();
        self.depth += 1;
        for (name, column) in &element.attributes {
            if let Some(text) = text_of(row, *column)? {
                self.out.push(' ');
                self.out.push_str(name);
                self.out.push_str("=\"");
                escape(&text, Place::Attribute, &mut self.out);
                self.out.push('"');
            }
        }
        self.tag_open = true;
        Ok(())
    }

    /// Writes namespace declarations on the outermost elements, if there is no root element.
    fn declare(&mut self) {
        if self.depth == 0 && self.format.root.is_none() {
            if self.format.show_nulls {
                self.out.push_str(XSI);
            }
            self.out.push_str(&self.format.declared);
        }
    }

    fn stop(&mut self, element: &XmlElement) {
        if element.name.is_empty() {
            return;
        }
        self.depth -= 1;
        if std::mem::take(&mut self.tag_open) {
            self.out.push_str("/>");
            return;
        }
        self.out.push_str("</");
        self.out.push_str(&element.name);
        self.out.push('>');
    }

    fn content(&mut self, members: &[XmlMember], row: &Row<'_>) -> Result<()> {
        let mut after_data = false;
        for member in members {
            let is_data = matches!(member, XmlMember::Data(_));
            match member {
                XmlMember::Text(column) | XmlMember::Data(column) => {
                    let Some(text) = text_of(row, *column)? else { continue };
                    self.end_tag();
                    if is_data && after_data {
                        self.out.push(' ');
                    }
                    if row.output[*column].expr.ty.data_type == DataType::Xml {
                        long::reserve(&mut self.out, text.len());
                        self.out.push_str(&text);
                    } else {
                        escape(&text, Place::Text, &mut self.out);
                    }
                }
                XmlMember::Comment(column) => {
                    let Some(text) = text_of(row, *column)? else { continue };
                    self.end_tag();
                    long::reserve(&mut self.out, text.len());
                    self.out.push_str("<!--");
                    self.out.push_str(&text);
                    self.out.push_str("-->");
                }
                XmlMember::Instruction(name, column) => {
                    let Some(text) = text_of(row, *column)? else { continue };
                    self.end_tag();
                    self.out.push_str(&format!("<?{name} {text}?>"));
                }
                XmlMember::Element(element) => self.element(element, row)?,
            }
            after_data = is_data;
        }
        Ok(())
    }

    /// Writes an element. One of NULLs only is omitted, or marked `xsi:nil`.
    fn element(&mut self, element: &XmlElement, row: &Row<'_>) -> Result<()> {
        if is_null(element, row) {
            if self.format.show_nulls {
                self.end_tag();
                self.out.push_str(&format!("<{}", element.name));
                self.declare();
                self.out.push_str(" xsi:nil=\"true\"/>");
            }
            return Ok(());
        }
        self.start(element, row)?;
        // An empty string has a start and an end tag.
        if !element.content.is_empty() {
            self.end_tag();
        }
        self.content(&element.content, row)?;
        self.stop(element);
        Ok(())
    }
}

fn is_null(element: &XmlElement, row: &Row<'_>) -> bool {
    let null = |column: &usize| row.values[*column].is_null();
    element.attributes.iter().all(|(_, column)| null(column))
        && element.content.iter().all(|member| match member {
            XmlMember::Text(column)
            | XmlMember::Data(column)
            | XmlMember::Comment(column)
            | XmlMember::Instruction(_, column) => null(column),
            XmlMember::Element(inner) => is_null(inner, row),
        })
}

impl Writer for XmlWriter<'_> {
    fn columns(&self, level: usize) -> &[usize] {
        &self.format.levels[level].columns
    }

    fn levels(&self) -> usize {
        self.format.levels.len()
    }

    fn open(&mut self, level: usize, row: &Row<'_>) -> Result<()> {
        let format = self.format;
        let element = &format.levels[level].element;
        self.start(element, row)?;
        self.content(&element.content, row)
    }

    fn close(&mut self, level: usize) {
        let format = self.format;
        self.stop(&format.levels[level].element);
    }

    fn written(&self) -> usize {
        self.out.len()
    }

    fn finish(mut self: Box<Self>) -> String {
        if let Some(root) = &self.format.root {
            self.out.push_str(&format!("</{root}>"));
        }
        self.out
    }
}

/// Returns the text of a value; `None` for NULL.
pub(super) fn text_of(row: &Row<'_>, column: usize) -> Result<Option<String>> {
    let ty = &row.output[column].expr.ty;
    let (value, ty) = match &row.values[column] {
        Value::Variant(inner) => (&inner.0, &inner.1),
        value => (value, ty),
    };
    Ok(match value {
        Value::Null => None,
        Value::VarBinary(bytes) => Some(base64(bytes)),
        Value::VarChar(_) | Value::NVarChar(_) => long::text(value, ty.collation)?,
        _ => Some(xsd_text(value, ty)?),
    })
}

/// Where text is written: more characters are escaped in an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Text,
    Attribute,
}

/// Writes text with the characters escaped that are marks at its place. Other requests run while a long text is written.
pub(super) fn escape(text: &str, place: Place, out: &mut String) {
    for piece in str_pieces(text) {
        long::reserve(out, ESCAPED_TIMES * piece.len());
        escape_piece(piece, place, out);
        if piece.len() < text.len() {
            long::pause();
            if long::is_cancelled() {
                break;
            }
        }
    }
}

fn escape_piece(text: &str, place: Place, out: &mut String) {
    for c in text.chars() {
        match (c, place) {
            ('&', _) => out.push_str("&amp;"),
            ('<', _) => out.push_str("&lt;"),
            ('>', _) => out.push_str("&gt;"),
            ('"', Place::Attribute) => out.push_str("&quot;"),
            ('\r', _) => out.push_str("&#x0D;"),
            ('\n' | '\t', Place::Attribute) => out.push_str(&format!("&#x{:02X};", u32::from(c))),
            ('\n' | '\t', Place::Text) => out.push(c),
            (c, _) if u32::from(c) < 0x20 => out.push_str(&format!("&#x{:02X};", u32::from(c))),
            (c, _) => out.push(c),
        }
    }
}
