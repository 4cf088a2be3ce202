//! FOR XML EXPLICIT: a row's Tag selects the element that it makes, and its Parent the open element
//! that contains it.

use types::{Msg, Result, Value};

use super::Row;
use super::xml::{Place, XSI, escape, text_of};
use plan::document::{ExplicitColumn, ExplicitDirective, ExplicitFormat};

/// The XML text being written.
pub(super) struct ExplicitWriter<'f> {
    format: &'f ExplicitFormat,
    out: String,
    /// Bytes of the root's start tag, with which the text begins.
    head: usize,
    /// The open elements, outermost first: tag, name, and whether the start tag still lacks its
    /// `>`.
    open: Vec<(i64, &'f str, bool)>,
}

/// Number of columns before those that make elements: Tag and Parent.
const LEADING: usize = 2;

impl<'f> ExplicitWriter<'f> {
    pub(super) fn new(format: &'f ExplicitFormat) -> Self {
        let head = format.root.as_ref().map(|root| format!("<{root}{}>", format.declared));
        let out = head.unwrap_or_default();
        Self { format, head: out.len(), out, open: Vec::new() }
    }

    /// Writes the element of a row.
    ///
    /// # Errors
    /// 6803 if Tag is NULL, 6833 for a parent that is not open, 6806 for a tag that no column has.
    pub(super) fn row(&mut self, row: &Row<'_>) -> Result<()> {
        let tag = row.values.first().and_then(Value::as_whole).ok_or(Msg::XmlExplicitTag)?;
        let parent = row.values.get(1).and_then(Value::as_whole).filter(|parent| *parent != 0);
        let depth = match parent {
            None => 0,
            Some(parent) => {
                let place = self.open.iter().rposition(|(open, ..)| *open == parent);
                place.ok_or(Msg::XmlExplicitParent(parent))? + 1
            }
        };
        while self.open.len() > depth {
            self.close();
        }
        let format = self.format;
        let own = |column: &&ExplicitColumn| column.tag == tag;
        let Some(first) = format.columns.iter().find(own) else {
            return Err(Msg::XmlExplicitUndeclared(tag).into());
        };
        self.end_start_tag();
        self.out.push('<');
        self.out.push_str(&first.element);
        if self.open.is_empty() && format.root.is_none() {
            self.out.push_str(&format.declared);
        }
        self.open.push((tag, &first.element, true));
        for (place, column) in format.columns.iter().enumerate().filter(|(_, c)| c.tag == tag) {
            self.column(row, place + LEADING, column)?;
        }
        Ok(())
    }

    fn column(&mut self, row: &Row<'_>, place: usize, column: &ExplicitColumn) -> Result<()> {
        let Some(text) = text_of(row, place)? else {
            if column.directive == ExplicitDirective::ElementNil {
                self.end_start_tag();
                self.out.push_str(&format!("<{}{XSI} xsi:nil=\"true\"/>", column.name));
            }
            return Ok(());
        };
        match column.directive {
            ExplicitDirective::Hide => {}
            ExplicitDirective::Plain if !column.name.is_empty() => {
                self.out.push_str(&format!(" {}=\"", column.name));
                escape(&text, Place::Attribute, &mut self.out);
                self.out.push('"');
            }
            ExplicitDirective::Cdata => {
                self.end_start_tag();
                self.out.push_str(&format!("<![CDATA[{text}]]>"));
            }
            ExplicitDirective::Plain
            | ExplicitDirective::Element
            | ExplicitDirective::ElementNil
            | ExplicitDirective::Xml => {
                self.end_start_tag();
                let named = !column.name.is_empty();
                if named {
                    self.out.push_str(&format!("<{}>", column.name));
                }
                let is_xml = row.output[place].expr.ty.data_type == types::DataType::Xml;
                if column.directive == ExplicitDirective::Xml || is_xml {
                    self.out.push_str(&text);
                } else {
                    escape(&text, Place::Text, &mut self.out);
                }
                if named {
                    self.out.push_str(&format!("</{}>", column.name));
                }
            }
        }
        Ok(())
    }

    fn end_start_tag(&mut self) {
        if let Some((_, _, lacks)) = self.open.last_mut()
            && std::mem::take(lacks)
        {
            self.out.push('>');
        }
    }

    fn close(&mut self) {
        if let Some((_, name, lacks)) = self.open.pop() {
            match lacks {
                true => self.out.push_str("/>"),
                false => self.out.push_str(&format!("</{name}>")),
            }
        }
    }

    /// Returns the bytes of the text so far.
    pub(super) fn written(&self) -> usize {
        self.out.len()
    }

    /// Returns the whole text; NULL if there was no row.
    pub(super) fn finish(mut self) -> Value {
        if self.out.len() == self.head {
            return Value::Null;
        }
        while !self.open.is_empty() {
            self.close();
        }
        if let Some(root) = &self.format.root {
            self.out.push_str(&format!("</{root}>"));
        }
        plan::long::nvarchar(&self.out)
    }
}
