//! XML as the `xml` type holds it: a tree that is read from text and written back.
//!
//! A value is stored as its text; code that examines it reads it into a [`Document`]. Nodes are
//! numbered in document order, so that order, ancestry and the end of a subtree are comparisons of
//! numbers. `parse.rs` reads text and reports what is not well formed; `write.rs` writes text.

mod build;
mod parse;
mod scope;
#[cfg(test)]
mod tests;
mod write;

use std::collections::HashMap;

pub use build::Builder;
pub use parse::{Encoding, Whitespace, parse, parse_paced};
pub use write::{escape_attribute, escape_text, escape_text_pausing};

/// Deepest nesting of elements in an instance.
pub const DEPTH_MAX: usize = 128;
/// The name space of the prefix `xml`.
pub const XML_URI: &str = "http://www.w3.org/XML/1998/namespace";

/// Number of a node in its document.
pub type NodeId = u32;
/// The root node, which represents the whole document.
pub const ROOT: NodeId = 0;

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// The document itself: its children are elements, texts, comments and instructions.
    Root,
    /// An element with its tag name.
    Element,
    /// A name space declaration: its name is the prefix, its value the URI.
    Namespace,
    /// An attribute of an element.
    Attribute,
    /// Text, CDATA sections included.
    Text,
    /// A comment: `<!-- .. -->`.
    Comment,
    /// A processing instruction: `<?target value?>`.
    Instruction,
}

/// A name with its name space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct QName {
    /// The prefix as written; empty without one.
    pub prefix: String,
    /// The local part, behind the colon.
    pub local: String,
    /// URI of the name space; empty for none.
    pub uri: String,
}

/// A tree of nodes, numbered in document order.
#[derive(Clone, Debug, Default)]
pub struct Document {
    nodes: Vec<Node>,
    names: Vec<QName>,
    text: String,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    kind: NodeKind,
    parent: NodeId,
    /// One past the last node of the subtree.
    end: NodeId,
    name: u32,
    /// Range of the value in the document's text.
    start: u32,
    stop: u32,
}

impl Document {
    /// Returns how many nodes there are.
    pub fn len(&self) -> NodeId {
        id(self.nodes.len())
    }

    /// Returns whether there is nothing but the root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node as usize]
    }

    /// Returns the kind of a node.
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.node(node).kind
    }

    /// Returns the parent of a node; `None` for the root.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        (node != ROOT).then(|| self.node(node).parent)
    }

    /// Returns the number behind the last node of a subtree.
    pub fn end(&self, node: NodeId) -> NodeId {
        self.node(node).end
    }

    /// Returns the name of an element, attribute, instruction or declared prefix.
    pub fn name(&self, node: NodeId) -> &QName {
        &self.names[self.node(node).name as usize]
    }

    /// Returns the value of a text, attribute, comment or instruction; `""` for other nodes.
    pub fn value(&self, node: NodeId) -> &str {
        let node = self.node(node);
        &self.text[node.start as usize..node.stop as usize]
    }

    /// Returns the string value: of an element or the root all text in its subtree, of other nodes
    /// their value.
    pub fn string_value(&self, node: NodeId) -> String {
        match self.kind(node) {
            NodeKind::Root | NodeKind::Element => {
                let texts = (node..self.end(node)).filter(|n| self.kind(*n) == NodeKind::Text);
                texts.map(|n| self.value(n)).collect()
            }
            _ => self.value(node).to_owned(),
        }
    }

    /// Returns the children of a node, without attributes and declarations.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let end = self.end(node);
        let mut next = node + 1;
        while next < end && self.is_attribute_like(next) {
            next += 1;
        }
        std::iter::from_fn(move || {
            let this = (next < end).then_some(next)?;
            next = self.end(this);
            Some(this)
        })
    }

    /// Returns the attributes of an element, without name space declarations.
    pub fn attributes(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.leading(node).filter(|n| self.kind(*n) == NodeKind::Attribute)
    }

    /// Returns attributes and declarations of an element.
    pub fn leading(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        (node + 1..self.end(node)).take_while(|n| self.is_attribute_like(*n))
    }

    fn is_attribute_like(&self, node: NodeId) -> bool {
        matches!(self.kind(node), NodeKind::Attribute | NodeKind::Namespace)
    }
}

/// Turns a count into a node number. It always fits: a text of 2 GB has fewer nodes.
fn id(count: usize) -> u32 {
    u32::try_from(count).expect("an XML text is shorter than 2 GB")
}

/// Names met so far, each stored once.
#[derive(Default)]
struct Names {
    places: HashMap<QName, u32>,
}

impl Names {
    fn place(&mut self, name: QName, names: &mut Vec<QName>) -> u32 {
        if let Some(place) = self.places.get(&name) {
            return *place;
        }
        let place = id(names.len());
        names.push(name.clone());
        self.places.insert(name, place);
        place
    }
}
