//! `query_plan_hash`: a hash of a plan's structure without its constants.

use super::handle::Fingerprint;
use crate::expr::{Expr, ExprKind};
use crate::query::{Access, JoinMethod, Node, Query, Scan, TableSource};
use crate::statement::{Bound, table_of};
use crate::walk;

/// Returns the hash of a plan's operators, tables and access paths.
pub(super) fn plan_hash(bound: &Bound) -> [u8; 8] {
    let mut hash = Fingerprint::default();
    put_bound(bound, &mut hash);
    hash.finish()
}

/// Returns whether a plan reads or changes tables or views, and so counts as a query in
/// `sys.dm_exec_query_stats`.
pub(super) fn is_query(bound: &Bound) -> bool {
    match bound {
        Bound::Scalar(scalar) => walk::has_subquery(&scalar.expr),
        Bound::SelectAssign(select) => {
            !matches!(select.root, Node::OneRow)
                || select.assignments.iter().any(|(_, expr)| walk::has_subquery(expr))
        }
        Bound::Select(_)
        | Bound::SelectInto(_)
        | Bound::Insert(_)
        | Bound::Update(_)
        | Bound::Delete(_)
        | Bound::Instead(_)
        | Bound::Truncate(_)
        | Bound::Merge(_) => true,
    }
}

fn put_bound(bound: &Bound, hash: &mut Fingerprint) {
    match bound {
        Bound::Select(select) => put("select", hash, |hash| put_query(&select.query, hash)),
        Bound::SelectAssign(select) => put("assign", hash, |hash| {
            put_node(&select.root, hash);
            select.assignments.iter().for_each(|(_, expr)| put_expr(expr, hash));
        }),
        Bound::SelectInto(into) => put("into", hash, |hash| put_query(&into.query, hash)),
        Bound::Insert(insert) => put("insert", hash, |hash| {
            put_table(&insert.target, hash);
            if let crate::statement::InsertSource::Query(query) = &insert.source {
                put_query(query, hash);
            }
        }),
        Bound::Update(update) => put("update", hash, |hash| {
            put_table(&update.target, hash);
            put_node(&update.root, hash);
        }),
        Bound::Delete(delete) => put("delete", hash, |hash| {
            put_table(&delete.target, hash);
            put_node(&delete.root, hash);
        }),
        Bound::Instead(instead) => put("instead", hash, |hash| {
            put_table(&instead.target, hash);
            put_node(&instead.root, hash);
        }),
        Bound::Merge(merge) => put("merge", hash, |hash| {
            put_table(&merge.target, hash);
            put_node(&merge.root, hash);
        }),
        Bound::Truncate(table) => put("truncate", hash, |hash| put_table(table, hash)),
        Bound::Scalar(scalar) => put("scalar", hash, |hash| put_expr(&scalar.expr, hash)),
    }
}

/// Hashes an operator and its inputs, in brackets.
fn put(name: &str, hash: &mut Fingerprint, below: impl FnOnce(&mut Fingerprint)) {
    hash.bytes(name.as_bytes());
    hash.bytes(b"(");
    below(hash);
    hash.bytes(b")");
}

fn put_query(query: &Query, hash: &mut Fingerprint) {
    put_node(&query.root, hash);
    query.output.iter().for_each(|column| put_expr(&column.expr, hash));
}

fn put_node(node: &Node, hash: &mut Fingerprint) {
    match node {
        Node::OneRow => put("row", hash, |_| {}),
        Node::Empty => put("empty", hash, |_| {}),
        Node::Values(values) => put("values", hash, |hash| hash.number(values.rows.len() as u64)),
        Node::Scan(scan) => put_scan(scan, hash),
        Node::View(view) => put("view", hash, |hash| hash.bytes(view.view.name().as_bytes())),
        Node::Function(function) => {
            put("function", hash, |hash| hash.bytes(function.function.name.as_bytes()));
        }
        Node::Bulk(scan) => put("bulk", hash, |hash| hash.bytes(scan.name.as_bytes())),
        Node::UserFunction(function) => {
            put("function", hash, |hash| hash.bytes(function.module.name.as_bytes()));
        }
        Node::Filter(filter) => put("filter", hash, |hash| {
            put_node(&filter.0, hash);
            put_expr(&filter.1, hash);
        }),
        Node::Compute(compute) => put("compute", hash, |hash| {
            put_node(&compute.0, hash);
            compute.1.iter().for_each(|(_, expr)| put_expr(expr, hash));
        }),
        Node::Join(join) => put("join", hash, |hash| {
            hash.number(join.kind as u64);
            hash.number(u64::from(matches!(join.method, JoinMethod::Hash(_))));
            put_node(&join.left, hash);
            put_node(&join.right, hash);
        }),
        Node::Aggregate(aggregate) => put("aggregate", hash, |hash| {
            hash.number(aggregate.keys.len() as u64);
            aggregate.aggregates.iter().for_each(|a| hash.bytes(a.function.name.as_bytes()));
            put_node(&aggregate.input, hash);
        }),
        Node::Window(window) => put("window", hash, |hash| put_node(&window.input, hash)),
        Node::Sort(sort) => put("sort", hash, |hash| {
            hash.number(sort.keys.len() as u64);
            put_node(&sort.input, hash);
        }),
        Node::Distinct(distinct) => put("distinct", hash, |hash| put_node(&distinct.0, hash)),
        Node::Limit(limit) => put("limit", hash, |hash| put_node(&limit.input, hash)),
        Node::SetOperation(operation) => put("set", hash, |hash| {
            hash.number(operation.kind as u64);
            put_query(&operation.left, hash);
            put_query(&operation.right, hash);
        }),
        Node::Recursive(recursive) => put("recursive", hash, |hash| {
            put_query(&recursive.anchor, hash);
            put_query(&recursive.step, hash);
        }),
        Node::Document(document) => put("document", hash, |hash| put_query(&document.query, hash)),
        Node::Spool(spool) => put("spool", hash, |hash| put_node(&spool.input, hash)),
        Node::WorkTable(..) => put("work", hash, |_| {}),
    }
}

fn put_scan(scan: &Scan, hash: &mut Fingerprint) {
    put("scan", hash, |hash| {
        put_table(&scan.table, hash);
        match &scan.access {
            Access::Full => hash.bytes(b"full"),
            Access::Seek { index, key } => {
                hash.bytes(b"seek");
                hash.number(u64::from(*index));
                hash.number(key.len() as u64);
            }
            Access::Points { index, prefix, .. } => {
                hash.bytes(b"points");
                hash.number(u64::from(*index));
                hash.number(prefix.len() as u64);
            }
            Access::Range { index, prefix, lower, upper, backward } => {
                hash.bytes(b"range");
                hash.number(u64::from(*index));
                hash.number(prefix.len() as u64);
                hash.bytes(&[lower.is_some(), upper.is_some(), *backward].map(u8::from));
            }
        }
    });
}

fn put_table(table: &TableSource, hash: &mut Fingerprint) {
    let of = table_of(table);
    match table {
        // A table gets another id when it is created again, so the name is hashed.
        TableSource::Table(_) | TableSource::Variable(..) => {
            hash.bytes(of.schema.as_bytes());
            hash.bytes(b".");
            hash.bytes(of.name.as_bytes());
        }
        TableSource::Trigger(is_deleted, _) => {
            hash.bytes(if *is_deleted { b"deleted" } else { b"inserted" });
        }
    }
}

/// Hashes the subqueries of an expression.
fn put_expr(expr: &Expr, hash: &mut Fingerprint) {
    walk::visit(expr, &mut |e| match &e.kind {
        // `visit` also enters the expressions of a subquery, and so finds nested subqueries.
        ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => put_root(&query.root, hash),
        ExprKind::Quantified(quantified) => put_root(&quantified.query.root, hash),
        _ => {}
    });
}

fn put_root(root: &Node, hash: &mut Fingerprint) {
    put("subquery", hash, |hash| put_node(root, hash));
}
