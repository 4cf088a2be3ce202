//! Builds an XML document, node by node in document order.

use crate::pause::{Pause, Steps};

use super::{Document, Names, Node, NodeId, NodeKind, QName, ROOT, id};

/// A document under construction: nodes are added in document order.
pub struct Builder {
    document: Document,
    names: Names,
    open: Vec<NodeId>,
    steps: Steps,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// Starts a document with an empty root.
    pub fn new() -> Self {
        Self::pausing(Pause(None))
    }

    /// Starts one that pauses now and then while nodes are added.
    pub fn pausing(pause: Pause) -> Self {
        let mut builder = Self {
            document: Document::default(),
            names: Names::default(),
            open: Vec::new(),
            steps: Steps::new(pause),
        };
        builder.push(NodeKind::Root, QName::default(), "");
        builder.open.push(ROOT);
        builder
    }

    fn push(&mut self, kind: NodeKind, name: QName, value: &str) -> NodeId {
        self.steps.step();
        let document = &mut self.document;
        let start = id(document.text.len());
        document.text.push_str(value);
        let node = id(document.nodes.len());
        document.nodes.push(Node {
            kind,
            parent: self.open.last().copied().unwrap_or(ROOT),
            end: node + 1,
            name: self.names.place(name, &mut document.names),
            start,
            stop: id(document.text.len()),
        });
        node
    }

    /// Returns the bytes of memory that the document takes so far.
    pub fn bytes(&self) -> usize {
        self.document.nodes.len() * size_of::<Node>() + self.document.text.len()
    }

    /// Returns how many elements are open.
    pub fn depth(&self) -> usize {
        self.open.len() - 1
    }

    /// Begins an element inside the innermost open one.
    pub fn start_element(&mut self, name: QName) {
        let node = self.push(NodeKind::Element, name, "");
        self.open.push(node);
    }

    /// Ends the innermost element.
    pub fn end_element(&mut self) {
        let end = id(self.document.nodes.len());
        if let Some(node) = self.open.pop() {
            self.document.nodes[node as usize].end = end;
        }
    }

    /// Declares a prefix on the element begun last; the empty prefix is the default name space.
    pub fn namespace(&mut self, prefix: &str, uri: &str) {
        let name = QName { local: prefix.to_owned(), ..QName::default() };
        self.push(NodeKind::Namespace, name, uri);
    }

    /// Adds an attribute to the element begun last.
    pub fn attribute(&mut self, name: QName, value: &str) {
        self.push(NodeKind::Attribute, name, value);
    }

    /// Adds text; consecutive texts become one node.
    pub fn text(&mut self, value: &str) {
        if value.is_empty() {
            return;
        }
        let parent = self.open.last().copied().unwrap_or(ROOT);
        let document = &mut self.document;
        if let Some(last) = document.nodes.last_mut()
            && last.kind == NodeKind::Text
            && last.parent == parent
            && last.stop as usize == document.text.len()
        {
            document.text.push_str(value);
            last.stop = id(document.text.len());
            return;
        }
        self.push(NodeKind::Text, QName::default(), value);
    }

    /// Adds a comment node.
    pub fn comment(&mut self, value: &str) {
        self.push(NodeKind::Comment, QName::default(), value);
    }

    /// Adds a processing instruction.
    pub fn instruction(&mut self, target: &str, value: &str) {
        let name = QName { local: target.to_owned(), ..QName::default() };
        self.push(NodeKind::Instruction, name, value);
    }

    /// Adds a copy of a node and its subtree; of a root, only the subtree.
    pub fn copy(&mut self, from: &Document, node: NodeId) {
        match from.kind(node) {
            NodeKind::Root => {
                for child in from.children(node).collect::<Vec<_>>() {
                    self.copy(from, child);
                }
            }
            NodeKind::Element => {
                self.start_element(from.name(node).clone());
                for leading in from.leading(node) {
                    self.copy(from, leading);
                }
                for child in from.children(node).collect::<Vec<_>>() {
                    self.copy(from, child);
                }
                self.end_element();
            }
            NodeKind::Namespace => self.namespace(&from.name(node).local, from.value(node)),
            NodeKind::Attribute => self.attribute(from.name(node).clone(), from.value(node)),
            NodeKind::Text => self.text(from.value(node)),
            NodeKind::Comment => self.comment(from.value(node)),
            NodeKind::Instruction => self.instruction(&from.name(node).local, from.value(node)),
        }
    }

    /// Returns the finished document.
    pub fn finish(mut self) -> Document {
        while !self.open.is_empty() {
            self.end_element();
        }
        self.document
    }
}
