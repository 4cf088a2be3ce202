//! WITH CHECK OPTION: collects the conditions by which a view selects its rows.

use plan::children;
use plan::expr::Expr;
use plan::query::Node;

/// Returns all conditions in a view's tree, before the optimizer moves them.
pub(crate) fn predicates(root: &Node) -> Vec<Expr> {
    let mut found = Vec::new();
    let mut nodes = vec![root];
    while let Some(node) = nodes.pop() {
        match node {
            Node::Filter(filter) => found.push(filter.1.clone()),
            Node::Join(join) => found.extend(join.on.clone()),
            _ => {}
        }
        children::inputs(node, &mut |input| nodes.push(input));
    }
    found
}

/// Returns whether a view's tree contains a join.
pub(crate) fn is_joined(root: &Node) -> bool {
    let mut joined = false;
    let mut nodes = vec![root];
    while let Some(node) = nodes.pop() {
        joined |= matches!(node, Node::Join(_));
        children::inputs(node, &mut |input| nodes.push(input));
    }
    joined
}
