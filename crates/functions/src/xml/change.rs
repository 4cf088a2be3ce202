//! Executes the statements of `modify()`: returns a changed copy of the document.

use std::collections::HashMap;
use std::sync::Arc;

use types::Result;
use types::xml::{Builder, Document, NodeId, NodeKind, ROOT};

use crate::pieces::PAUSE;

use super::eval::{self, Evaluation, Focus, Item, Sequence};
use super::syntax::{Change, Place};

/// The change at one node.
#[derive(Default)]
struct Edit {
    deleted: bool,
    value: Option<String>,
    inserted: Vec<(Place, Item)>,
}

/// Applies a change.
///
/// # Errors
/// Errors of its expressions.
pub(crate) fn apply<'q>(
    change: &'q Change,
    document: &Arc<Document>,
    evaluation: &mut Evaluation<'q>,
) -> Result<Document> {
    let root = Item::Node(Arc::clone(document), ROOT);
    let focus = Focus { item: Some(root), position: 1, size: 1 };
    let mut edits: HashMap<NodeId, Edit> = HashMap::new();
    let nodes = |items: Sequence| {
        items.into_iter().filter_map(|item| match item {
            Item::Node(owner, node) if Arc::ptr_eq(&owner, document) => Some(node),
            _ => None,
        })
    };
    match change {
        Change::Delete(which) => {
            for node in nodes(evaluation.eval(which, &focus)?) {
                edits.entry(node).or_default().deleted = true;
            }
        }
        Change::Replace { target, value } => {
            for node in nodes(evaluation.eval(target, &focus)?) {
                let value = evaluation.eval(value, &focus)?;
                let value = value.iter().map(Item::text).collect::<Vec<_>>().join(" ");
                edits.entry(node).or_default().value = Some(value);
            }
        }
        Change::Insert { what, target, place } => {
            for node in nodes(evaluation.eval(target, &focus)?) {
                for item in evaluation.eval(what, &focus)? {
                    edits.entry(node).or_default().inserted.push((*place, item));
                }
            }
        }
    }
    let mut builder = Builder::pausing(PAUSE);
    Copier { document, edits }.node(ROOT, &mut builder);
    Ok(builder.finish())
}

struct Copier<'d> {
    document: &'d Document,
    edits: HashMap<NodeId, Edit>,
}

impl Copier<'_> {
    fn insert(&self, node: NodeId, wanted: impl Fn(Place, bool) -> bool, builder: &mut Builder) {
        let Some(edit) = self.edits.get(&node) else { return };
        let chosen =
            edit.inserted.iter().filter(|(place, item)| wanted(*place, is_attribute(item)));
        let items: Sequence = chosen.map(|(_, item)| item.clone()).collect();
        eval::add(&items, builder);
    }

    fn node(&self, node: NodeId, builder: &mut Builder) {
        let document = self.document;
        let edit = self.edits.get(&node);
        self.insert(node, |place, _| place == Place::Before, builder);
        if edit.is_some_and(|edit| edit.deleted) {
            return;
        }
        let value = edit.and_then(|edit| edit.value.as_deref());
        let own = || value.unwrap_or_else(|| document.value(node));
        match document.kind(node) {
            NodeKind::Element => {
                builder.start_element(document.name(node).clone());
                for leading in document.leading(node) {
                    self.node(leading, builder);
                }
                self.insert(node, |place, attribute| within(place) && attribute, builder);
                self.content(node, builder);
                builder.end_element();
            }
            NodeKind::Root => self.content(node, builder),
            NodeKind::Attribute => builder.attribute(document.name(node).clone(), own()),
            NodeKind::Text => builder.text(own()),
            NodeKind::Comment => builder.comment(own()),
            NodeKind::Instruction => builder.instruction(&document.name(node).local, own()),
            NodeKind::Namespace => builder.copy(document, node),
        }
        self.insert(node, |place, _| place == Place::After, builder);
    }

    fn content(&self, node: NodeId, builder: &mut Builder) {
        self.insert(node, |place, attribute| place == Place::First && !attribute, builder);
        for child in self.document.children(node) {
            self.node(child, builder);
        }
        self.insert(node, |place, attribute| place == Place::Last && !attribute, builder);
    }
}

fn within(place: Place) -> bool {
    matches!(place, Place::First | Place::Last)
}

fn is_attribute(item: &Item) -> bool {
    matches!(item, Item::Node(document, node) if document.kind(*node) == NodeKind::Attribute)
}
