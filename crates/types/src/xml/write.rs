//! Writes XML nodes as text: elements without content as `<a/>`, attributes in double quotes.

use crate::pause::{Pause, Steps};
use crate::text::str_pieces;

use super::scope::Scope;
use super::{Document, NodeId, NodeKind, QName, XML_URI};

impl Document {
    /// Writes a node and its subtree. A name space that a name needs is declared where it is first
    /// used, so that a part of a document is well formed without the rest.
    pub fn write(&self, node: NodeId, out: &mut String) {
        self.write_pausing(node, out, Pause(None));
    }

    /// As [`Self::write`]; pauses now and then.
    pub fn write_pausing(&self, node: NodeId, out: &mut String, pause: Pause) {
        let steps = Steps::new(pause);
        Writer { document: self, scope: Scope::default(), out, steps }.node(node);
    }
}

struct Writer<'d> {
    document: &'d Document,
    /// Declarations in scope of what is written.
    scope: Scope<'d, &'d str>,
    out: &'d mut String,
    steps: Steps,
}

impl<'d> Writer<'d> {
    fn node(&mut self, node: NodeId) {
        self.steps.step();
        let document = self.document;
        match document.kind(node) {
            NodeKind::Root => document.children(node).for_each(|child| self.node(child)),
            NodeKind::Element => self.element(node),
            NodeKind::Text | NodeKind::Attribute | NodeKind::Namespace => {
                escape_text_pausing(document.value(node), self.out, self.steps.pause());
            }
            NodeKind::Comment => {
                self.out.push_str("<!--");
                self.out.push_str(document.value(node));
                self.out.push_str("-->");
            }
            NodeKind::Instruction => {
                self.out.push_str("<?");
                self.out.push_str(&document.name(node).local);
                if !document.value(node).is_empty() {
                    self.out.push(' ');
                    self.out.push_str(document.value(node));
                }
                self.out.push_str("?>");
            }
        }
    }

    fn element(&mut self, node: NodeId) {
        let document = self.document;
        let outer = self.scope.len();
        let name = document.name(node);
        self.out.push('<');
        self.qualified(name);
        for leading in document.leading(node) {
            if document.kind(leading) == NodeKind::Namespace {
                self.declare(&document.name(leading).local, document.value(leading));
            }
        }
        self.need(name);
        for attribute in document.attributes(node) {
            let name = document.name(attribute);
            if !name.prefix.is_empty() {
                self.need(name);
            }
            self.out.push(' ');
            self.qualified(name);
            self.out.push_str("=\"");
            let value = document.value(attribute);
            for piece in str_pieces(value) {
                escape_attribute(piece, self.out);
                if piece.len() < value.len() && !self.steps.pause().call() {
                    break;
                }
            }
            self.out.push('"');
        }
        let mut children = document.children(node).peekable();
        if children.peek().is_none() {
            self.out.push_str("/>");
        } else {
            self.out.push('>');
            children.for_each(|child| self.node(child));
            self.out.push_str("</");
            self.qualified(name);
            self.out.push('>');
        }
        self.scope.truncate(outer);
    }

    fn qualified(&mut self, name: &QName) {
        if !name.prefix.is_empty() {
            self.out.push_str(&name.prefix);
            self.out.push(':');
        }
        self.out.push_str(&name.local);
    }

    /// Declares the name space of a name if it is not in scope.
    fn need(&mut self, name: &'d QName) {
        if self.scope.uri(&name.prefix).unwrap_or_default() != name.uri && name.uri != XML_URI {
            self.declare(&name.prefix, &name.uri);
        }
    }

    fn declare(&mut self, prefix: &'d str, uri: &'d str) {
        self.out.push_str(" xmlns");
        if !prefix.is_empty() {
            self.out.push(':');
            self.out.push_str(prefix);
        }
        self.out.push_str("=\"");
        escape_attribute(uri, self.out);
        self.out.push('"');
        self.scope.declare(prefix, uri);
    }
}

/// As [`escape_text`]; pauses between the pieces of a long text.
pub fn escape_text_pausing(text: &str, out: &mut String, pause: Pause) {
    for piece in str_pieces(text) {
        escape_text(piece, out);
        if piece.len() < text.len() && !pause.call() {
            break;
        }
    }
}

/// Writes text between tags.
pub fn escape_text(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#x0D;"),
            '\n' | '\t' => out.push(c),
            c if u32::from(c) < 0x20 => out.push_str(&format!("&#x{:02X};", u32::from(c))),
            c => out.push(c),
        }
    }
}

/// Writes text within double quotes.
pub fn escape_attribute(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if u32::from(c) < 0x20 => out.push_str(&format!("&#x{:02X};", u32::from(c))),
            c => out.push(c),
        }
    }
}
