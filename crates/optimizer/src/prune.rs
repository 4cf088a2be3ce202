//! Removes registers that are never read: columns of scans, computed values, buffered values.

use plan::children;
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
    children::inputs_mut(node, &mut |input| prune(input, used));
    match node {
        Node::Scan(scan) => scan.columns.retain(|c| used.contains(c.1)),
        Node::View(view) => view.columns.retain(|c| used.contains(c.1)),
        Node::Bulk(scan) => scan.columns.retain(|c| used.contains(c.1)),
        Node::Compute(inner) => inner.1.retain(|c| used.contains(c.0)),
        Node::Join(join) => {
            keep(&mut join.left_live);
            keep(&mut join.right_live);
        }
        Node::Window(window) => keep(&mut window.live),
        Node::Spool(spool) => keep(&mut spool.live),
        Node::Sort(sort) => keep(&mut sort.live),
        _ => {}
    }
}
