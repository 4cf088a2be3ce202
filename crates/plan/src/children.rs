//! One step down a bound tree: the inputs of an operator, and the expressions it holds itself.

use crate::expr::Expr;
use crate::query::{Access, AggregateCall, JoinMethod, Node, Point, SortKey, WindowCall};

/// Calls `see` for each input of an operator.
pub fn inputs<'n>(node: &'n Node, see: &mut dyn FnMut(&'n Node)) {
    match node {
        Node::OneRow
        | Node::Empty
        | Node::Scan(_)
        | Node::View(_)
        | Node::Values(_)
        | Node::Function(_)
        | Node::Bulk(_)
        | Node::UserFunction(_)
        | Node::WorkTable(..) => {}
        Node::Filter(inner) => see(&inner.0),
        Node::Join(join) => {
            see(&join.left);
            see(&join.right);
        }
        Node::Aggregate(aggregate) => see(&aggregate.input),
        Node::Window(window) => see(&window.input),
        Node::Sort(sort) => see(&sort.input),
        Node::Distinct(inner) => see(&inner.0),
        Node::Limit(limit) => see(&limit.input),
        Node::SetOperation(operation) => {
            see(&operation.left.root);
            see(&operation.right.root);
        }
        Node::Recursive(recursive) => {
            see(&recursive.anchor.root);
            see(&recursive.step.root);
        }
        Node::Document(document) => see(&document.query.root),
        Node::Compute(inner) => see(&inner.0),
        Node::Spool(spool) => see(&spool.input),
    }
}

/// Returns the input whose rows the operator passes on, each with its registers. `None` for an
/// operator that makes or combines rows, and for DISTINCT and a spool, which store rows.
pub fn passed(node: &Node) -> Option<&Node> {
    match node {
        Node::Filter(inner) => Some(&inner.0),
        Node::Compute(inner) => Some(&inner.0),
        Node::Sort(sort) => Some(&sort.input),
        Node::Limit(limit) => Some(&limit.input),
        Node::Window(window) => Some(&window.input),
        _ => None,
    }
}

/// Like [`inputs`], with mutable inputs.
pub fn inputs_mut(node: &mut Node, change: &mut dyn FnMut(&mut Node)) {
    match node {
        Node::OneRow
        | Node::Empty
        | Node::Scan(_)
        | Node::View(_)
        | Node::Values(_)
        | Node::Function(_)
        | Node::Bulk(_)
        | Node::UserFunction(_)
        | Node::WorkTable(..) => {}
        Node::Filter(inner) => change(&mut inner.0),
        Node::Join(join) => {
            change(&mut join.left);
            change(&mut join.right);
        }
        Node::Aggregate(aggregate) => change(&mut aggregate.input),
        Node::Window(window) => change(&mut window.input),
        Node::Sort(sort) => change(&mut sort.input),
        Node::Distinct(inner) => change(&mut inner.0),
        Node::Limit(limit) => change(&mut limit.input),
        Node::SetOperation(operation) => {
            change(&mut operation.left.root);
            change(&mut operation.right.root);
        }
        Node::Recursive(recursive) => {
            change(&mut recursive.anchor.root);
            change(&mut recursive.step.root);
        }
        Node::Document(document) => change(&mut document.query.root),
        Node::Compute(inner) => change(&mut inner.0),
        Node::Spool(spool) => change(&mut spool.input),
    }
}

/// Calls `change` for each expression of an operator, not for those of its inputs. The outputs of
/// the queries of a set operation, a recursion and a document are the operator's own.
pub fn expressions_mut(node: &mut Node, change: &mut dyn FnMut(&mut Expr)) {
    match node {
        Node::OneRow | Node::Empty | Node::Bulk(_) | Node::WorkTable(..) => {}
        Node::Scan(scan) => {
            scan.predicate.iter_mut().chain(&mut scan.residual).for_each(&mut *change);
            match &mut scan.access {
                Access::Full => {}
                Access::Seek { key, .. } => key.iter_mut().for_each(change),
                Access::Points { prefix, points, .. } => {
                    let points = points.iter_mut().filter_map(Point::expr_mut);
                    prefix.iter_mut().chain(points).for_each(change);
                }
                Access::Range { prefix, lower, upper, .. } => {
                    let bounds = lower.iter_mut().chain(upper).map(|(e, _)| e);
                    prefix.iter_mut().chain(bounds).for_each(change);
                }
            }
        }
        Node::View(view) => view.arguments.iter_mut().for_each(change),
        Node::Values(values) => values.rows.iter_mut().flatten().for_each(change),
        Node::Function(function) => function.arguments.iter_mut().for_each(change),
        Node::UserFunction(function) => function.arguments.iter_mut().for_each(change),
        Node::Filter(inner) => change(&mut inner.1),
        Node::Join(join) => {
            join.on.iter_mut().for_each(&mut *change);
            if let JoinMethod::Hash(keys) = &mut join.method {
                for (left, right) in keys {
                    change(left);
                    change(right);
                }
            }
        }
        Node::Aggregate(aggregate) => {
            aggregate.keys.iter_mut().for_each(|(e, _)| change(e));
            aggregate.aggregates.iter_mut().for_each(|call| of_aggregate(call, change));
        }
        Node::Window(window) => window.calls.iter_mut().for_each(|call| of_window(call, change)),
        Node::Sort(sort) => {
            of_keys(&mut sort.keys, change);
            sort.limit.iter_mut().for_each(change);
        }
        Node::Distinct(inner) => inner.1.iter_mut().for_each(change),
        Node::Limit(limit) => {
            limit.offset.iter_mut().chain(&mut limit.count).for_each(&mut *change);
            limit.ties.iter_mut().for_each(|keys| of_keys(keys, change));
        }
        Node::SetOperation(operation) => {
            let (left, right) = (&mut operation.left.output, &mut operation.right.output);
            left.iter_mut().chain(right).for_each(|c| change(&mut c.expr));
        }
        Node::Recursive(recursive) => {
            let (anchor, step) = (&mut recursive.anchor.output, &mut recursive.step.output);
            anchor.iter_mut().chain(step).for_each(|c| change(&mut c.expr));
        }
        Node::Document(document) => {
            document.query.output.iter_mut().for_each(|c| change(&mut c.expr));
        }
        Node::Compute(inner) => inner.1.iter_mut().for_each(|(_, e)| change(e)),
        Node::Spool(spool) => {
            for (outer, own) in &mut spool.keys {
                change(outer);
                change(own);
            }
            spool.rest.iter_mut().for_each(change);
        }
    }
}

fn of_keys(keys: &mut [SortKey], change: &mut dyn FnMut(&mut Expr)) {
    keys.iter_mut().for_each(|k| change(&mut k.expr));
}

fn of_aggregate(call: &mut AggregateCall, change: &mut dyn FnMut(&mut Expr)) {
    call.arguments.iter_mut().chain(&mut call.filter).for_each(&mut *change);
    of_keys(&mut call.order, change);
}

fn of_window(call: &mut WindowCall, change: &mut dyn FnMut(&mut Expr)) {
    call.arguments.iter_mut().chain(&mut call.partition).for_each(&mut *change);
    of_keys(&mut call.order, change);
}

/// Like [`expressions_mut`], with shared references.
pub fn expressions<'n>(node: &'n Node, see: &mut dyn FnMut(&'n Expr)) {
    match node {
        Node::OneRow | Node::Empty | Node::Bulk(_) | Node::WorkTable(..) => {}
        Node::Scan(scan) => {
            scan.predicate.iter().chain(&scan.residual).for_each(&mut *see);
            match &scan.access {
                Access::Full => {}
                Access::Seek { key, .. } => key.iter().for_each(see),
                Access::Points { prefix, points, .. } => {
                    prefix.iter().chain(points.iter().filter_map(Point::expr)).for_each(see);
                }
                Access::Range { prefix, lower, upper, .. } => {
                    let bounds = lower.iter().chain(upper).map(|(e, _)| e);
                    prefix.iter().chain(bounds).for_each(see);
                }
            }
        }
        Node::View(view) => view.arguments.iter().for_each(see),
        Node::Values(values) => values.rows.iter().flatten().for_each(see),
        Node::Function(function) => function.arguments.iter().for_each(see),
        Node::UserFunction(function) => function.arguments.iter().for_each(see),
        Node::Filter(inner) => see(&inner.1),
        Node::Join(join) => {
            join.on.iter().for_each(&mut *see);
            if let JoinMethod::Hash(keys) = &join.method {
                for (left, right) in keys {
                    see(left);
                    see(right);
                }
            }
        }
        Node::Aggregate(aggregate) => {
            aggregate.keys.iter().for_each(|(e, _)| see(e));
            aggregate.aggregates.iter().for_each(|call| see_aggregate(call, see));
        }
        Node::Window(window) => window.calls.iter().for_each(|call| see_window(call, see)),
        Node::Sort(sort) => {
            see_keys(&sort.keys, see);
            sort.limit.iter().for_each(see);
        }
        Node::Distinct(inner) => inner.1.iter().for_each(see),
        Node::Limit(limit) => {
            limit.offset.iter().chain(&limit.count).for_each(&mut *see);
            limit.ties.iter().for_each(|keys| see_keys(keys, see));
        }
        Node::SetOperation(operation) => {
            let (left, right) = (&operation.left.output, &operation.right.output);
            left.iter().chain(right).for_each(|c| see(&c.expr));
        }
        Node::Recursive(recursive) => {
            let (anchor, step) = (&recursive.anchor.output, &recursive.step.output);
            anchor.iter().chain(step).for_each(|c| see(&c.expr));
        }
        Node::Document(document) => {
            document.query.output.iter().for_each(|c| see(&c.expr));
        }
        Node::Compute(inner) => inner.1.iter().for_each(|(_, e)| see(e)),
        Node::Spool(spool) => {
            for (outer, own) in &spool.keys {
                see(outer);
                see(own);
            }
            spool.rest.iter().for_each(see);
        }
    }
}

fn see_keys<'n>(keys: &'n [SortKey], see: &mut dyn FnMut(&'n Expr)) {
    keys.iter().for_each(|k| see(&k.expr));
}

fn see_aggregate<'n>(call: &'n AggregateCall, see: &mut dyn FnMut(&'n Expr)) {
    call.arguments.iter().chain(&call.filter).for_each(&mut *see);
    see_keys(&call.order, see);
}

fn see_window<'n>(call: &'n WindowCall, see: &mut dyn FnMut(&'n Expr)) {
    call.arguments.iter().chain(&call.partition).for_each(&mut *see);
    see_keys(&call.order, see);
}
