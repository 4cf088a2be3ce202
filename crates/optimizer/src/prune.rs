//! Removes registers that are never read: columns of scans, computed values, buffered values.

use plan::expr::ExprKind;
use plan::query::{Live, Node, Query};
use plan::walk::{self, Registers};

/// Removes from a query's scans and buffers the registers that nothing in it reads.
pub fn prune_query(query: &mut Query) {
    let mut used = Registers::default();
    walk::visit_query(query, &mut |e| {
        if let ExprKind::Column(register) = e.kind {
            used.insert(register);
        }
    });
    prune(&mut query.root, &used);
}

/// Removes from a node the registers that are not in `used`.
pub fn prune(node: &mut Node, used: &Registers) {
    let keep = |live: &mut Live| live.registers.retain(|r| used.contains(*r));
    match node {
        Node::OneRow
        | Node::Empty
        | Node::Values(_)
        | Node::Function(_)
        | Node::UserFunction(_)
        | Node::WorkTable(..) => {}
        Node::Scan(scan) => scan.columns.retain(|c| used.contains(c.1)),
        Node::View(view) => view.columns.retain(|c| used.contains(c.1)),
        Node::Bulk(scan) => scan.columns.retain(|c| used.contains(c.1)),
        Node::Filter(inner) => prune(&mut inner.0, used),
        Node::Join(join) => {
            prune(&mut join.left, used);
            prune(&mut join.right, used);
            keep(&mut join.left_live);
            keep(&mut join.right_live);
        }
        Node::Aggregate(aggregate) => prune(&mut aggregate.input, used),
        Node::Window(window) => {
            prune(&mut window.input, used);
            keep(&mut window.live);
        }
        Node::Spool(spool) => {
            prune(&mut spool.input, used);
            keep(&mut spool.live);
        }
        Node::Sort(sort) => {
            prune(&mut sort.input, used);
            keep(&mut sort.live);
        }
        Node::Distinct(inner) => prune(&mut inner.0, used),
        Node::Limit(limit) => prune(&mut limit.input, used),
        Node::SetOperation(operation) => {
            prune(&mut operation.left.root, used);
            prune(&mut operation.right.root, used);
        }
        Node::Recursive(recursive) => {
            prune(&mut recursive.anchor.root, used);
            prune(&mut recursive.step.root, used);
        }
        Node::Document(document) => prune(&mut document.query.root, used),
        Node::Compute(inner) => {
            inner.1.retain(|c| used.contains(c.0));
            prune(&mut inner.0, used);
        }
    }
}
