//! The optimizer. Predicates are pushed down to the tables they are about, there split into an access
//! path and the rest; joins ordered and given a method; sorts left out where an index gives the order.
//!
//! - `seek.rs` picks the index of a table;
//! - `estimate.rs` tells how many rows an operator gives and what it costs.

mod estimate;
mod order;
mod seek;

use types::DataType;
use types::value::ColumnType;

use crate::plan::expr::{CompareOp, Expr, ExprKind};
use crate::plan::query::{Access, Join, JoinKind, JoinMethod, Live, Node, Query, TableSource};
use crate::plan::statement::table_of;
use crate::plan::walk::{self, Registers};

pub use estimate::{Estimate, estimate};
pub(crate) use order::sort;
pub(crate) use seek::is_point;

/// Rows that a table of the catalog is taken to have at least: it may be filled later, the plan stays.
const ROWS_MIN: f64 = 1_000.0;
/// Rows that are expected of what nothing is known about.
const ROWS_UNKNOWN: f64 = 1_000.0;

/// Joins two inputs without a predicate.
pub(crate) fn inner_join(left: Node, right: Node) -> Node {
    let (left_live, right_live) = (walk::live(&left), walk::live(&right));
    Node::Join(Box::new(Join {
        kind: JoinKind::Inner,
        method: JoinMethod::Loop,
        left,
        right,
        on: None,
        left_live,
        right_live,
    }))
}

/// Places WHERE over FROM: every conjunct as deep as it can go.
pub(crate) fn place(from: Node, filter: Option<Expr>) -> Node {
    let _label = sos::ledger::labelled(sos::ledger::Label::Plan);
    let mut conjuncts = Vec::new();
    if let Some(filter) = filter {
        split(filter, &mut conjuncts);
    }
    let all = walk::fills(&from).0;
    push(from, conjuncts, &Registers::default(), &all)
}

/// Splits a predicate into its conjuncts.
pub(crate) fn split(predicate: Expr, conjuncts: &mut Vec<Expr>) {
    match predicate.kind {
        ExprKind::And(list) => list.into_vec().into_iter().for_each(|e| split(e, conjuncts)),
        kind => conjuncts.push(Expr { kind, ty: predicate.ty }),
    }
}

/// Makes one predicate of conjuncts; `None` of none.
pub(crate) fn join_conjuncts(mut conjuncts: Vec<Expr>) -> Option<Expr> {
    match conjuncts.len() {
        0 => None,
        1 => conjuncts.pop(),
        _ => {
            let ty = conjuncts[0].ty;
            Some(Expr { kind: ExprKind::And(conjuncts.into()), ty })
        }
    }
}

fn filter(node: Node, conjuncts: Vec<Expr>) -> Node {
    match join_conjuncts(conjuncts) {
        Some(predicate) => Node::Filter(Box::new((node, predicate))),
        None => node,
    }
}

/// Parts conjuncts into those that read, of the registers of this FROM, only `readable`, and others.
fn part(conjuncts: Vec<Expr>, readable: &Registers, all: &Registers) -> (Vec<Expr>, Vec<Expr>) {
    conjuncts.into_iter().partition(|c| walk::reads(c).intersection(all).is_subset(readable))
}

/// Applies conjuncts to a node: inside it where they can go, above it where not. `outer` are the
/// registers that are filled before the node is opened.
fn push(node: Node, conjuncts: Vec<Expr>, outer: &Registers, all: &Registers) -> Node {
    match node {
        Node::Scan(scan) => Node::Scan(Box::new(seek::choose(*scan, conjuncts))),
        Node::Filter(inner) => {
            let (input, predicate) = *inner;
            let mut merged = conjuncts;
            split(predicate, &mut merged);
            push(input, merged, outer, all)
        }
        Node::Compute(inner) => {
            let (input, computed) = *inner;
            let made: Registers = computed.iter().map(|c| c.0).collect();
            let (below, above): (Vec<_>, Vec<_>) =
                conjuncts.into_iter().partition(|c| walk::reads(c).is_disjoint(&made));
            let input = push(input, below, outer, all);
            filter(Node::Compute(Box::new((input, computed))), above)
        }
        Node::Sort(mut sort) if sort.limit.is_none() => {
            let input = std::mem::replace(&mut sort.input, Node::Empty);
            sort.input = push(input, conjuncts, outer, all);
            Node::Sort(sort)
        }
        Node::Join(join) => match join.kind {
            JoinKind::Inner => push_inner(*join, conjuncts, outer, all),
            JoinKind::Left => push_left(*join, conjuncts, outer, all),
            JoinKind::Full => push_full(*join, conjuncts, outer, all),
            JoinKind::Semi | JoinKind::Anti => {
                let mut join = join;
                let left = std::mem::replace(&mut join.left, Node::Empty);
                join.left = push(left, conjuncts, outer, all);
                Node::Join(join)
            }
        },
        Node::OneRow
        | Node::Empty
        | Node::View(_)
        | Node::Values(_)
        | Node::Function(_)
        | Node::Aggregate(_)
        | Node::Window(_)
        | Node::Sort(_)
        | Node::Distinct(_)
        | Node::Limit(_)
        | Node::SetOperation(_)
        | Node::Recursive(_)
        | Node::Document(_)
        | Node::UserFunction(_)
        | Node::WorkTable(..) => filter(node, conjuncts),
    }
}

/// Takes a tree of inner joins apart into its inputs and predicates.
fn flatten(node: Node, inputs: &mut Vec<Node>, conjuncts: &mut Vec<Expr>) {
    match node {
        Node::Join(join) if join.kind == JoinKind::Inner => {
            flatten(join.left, inputs, conjuncts);
            flatten(join.right, inputs, conjuncts);
            if let Some(on) = join.on {
                split(on, conjuncts);
            }
            // That of a derived table may have been given its method already.
            if let JoinMethod::Hash(keys) = join.method {
                conjuncts.extend(keys.into_iter().map(equal));
            }
        }
        Node::Filter(inner) if matches!(inner.0, Node::Join(_) | Node::Scan(_)) => {
            let (input, predicate) = *inner;
            flatten(input, inputs, conjuncts);
            split(predicate, conjuncts);
        }
        other => inputs.push(other),
    }
}

/// The comparison that a pair of hash keys came from.
fn equal((left, right): (Expr, Expr)) -> Expr {
    let ty = ColumnType { data_type: DataType::Bit, collation: left.ty.collation, nullable: true };
    let kind = ExprKind::Compare(CompareOp::Equal, left.ty.collation, Box::new((left, right)));
    Expr { kind, ty }
}

/// Orders the inputs of inner joins: next comes what gives the fewest rows by what is known by then.
fn push_inner(join: Join, conjuncts: Vec<Expr>, outer: &Registers, all: &Registers) -> Node {
    let mut inputs = Vec::new();
    let mut conjuncts = conjuncts;
    flatten(Node::Join(Box::new(join)), &mut inputs, &mut conjuncts);
    let mut readable = outer.clone();
    let mut tree: Option<Node> = None;
    while !inputs.is_empty() {
        let next = cheapest(&inputs, &conjuncts, &readable, all);
        let input = inputs.remove(next);
        let own = walk::fills(&input).0;
        let before = readable.clone();
        readable.extend(&own);
        let (ready, later) = part(std::mem::take(&mut conjuncts), &readable, all);
        conjuncts = later;
        tree = Some(match tree {
            None => push(input, ready, &before, all),
            Some(left) => attach(JoinKind::Inner, (left, input), ready, &before, all),
        });
    }
    filter(tree.unwrap_or(Node::OneRow), conjuncts)
}

/// Joins `right` to `left` by the predicates: by an index of the right side, by a hash table over it,
/// or by opening it for each left row.
fn attach(
    kind: JoinKind,
    (left, right): (Node, Node),
    conjuncts: Vec<Expr>,
    before: &Registers,
    all: &Registers,
) -> Node {
    let left_fills = walk::fills(&left).0;
    let right_fills = walk::fills(&right).0;
    let (left_live, right_live) = (walk::live(&left), walk::live(&right));
    let seekable = is_seekable(&right, &conjuncts);
    let independent = node_reads(&right).is_disjoint(&left_fills);
    let mut keys = Vec::new();
    let mut rest = Vec::new();
    for conjunct in conjuncts {
        match equi(conjunct, &left_fills, &right_fills, all) {
            Ok(pair) => keys.push(pair),
            Err(conjunct) => rest.push(conjunct),
        }
    }
    if seekable || !independent || (keys.is_empty() && kind != JoinKind::Full) {
        rest.extend(keys.into_iter().map(|k| k.2));
        let right = push(right, rest, before, all);
        let method = JoinMethod::Loop;
        return Node::Join(Box::new(Join {
            kind,
            method,
            left,
            right,
            on: None,
            left_live,
            right_live,
        }));
    }
    let mut own = right_fills;
    own.extend(&before.difference(&left_fills));
    let (below, on) = part(rest, &own, all);
    let right = push(right, below, before, all);
    let method = JoinMethod::Hash(keys.into_iter().map(|(l, r, _)| (l, r)).collect());
    let on = join_conjuncts(on);
    Node::Join(Box::new(Join { kind, method, left, right, on, left_live, right_live }))
}

/// Takes `left = right` apart where one side reads the left input only and the other the right one.
fn equi(
    conjunct: Expr,
    left: &Registers,
    right: &Registers,
    all: &Registers,
) -> Result<(Expr, Expr, Expr), Expr> {
    let ExprKind::Compare(CompareOp::Equal, collation, pair) = &conjunct.kind else {
        return Err(conjunct);
    };
    let of = |e: &Expr| walk::reads(e).intersection(all);
    let (a, b) = (of(&pair.0), of(&pair.1));
    if a.is_empty() || b.is_empty() || walk::has_subquery(&conjunct) {
        return Err(conjunct);
    }
    let with_collation = |e: &Expr| {
        let mut e = e.clone();
        e.ty.collation = *collation;
        e
    };
    if a.is_subset(left) && b.is_subset(right) {
        return Ok((with_collation(&pair.0), with_collation(&pair.1), conjunct.clone()));
    }
    if b.is_subset(left) && a.is_subset(right) {
        return Ok((with_collation(&pair.1), with_collation(&pair.0), conjunct.clone()));
    }
    Err(conjunct)
}

/// Returns the registers that a node's expressions read.
fn node_reads(node: &Node) -> Registers {
    let mut set = Registers::default();
    walk::visit_node(node, &mut |e| {
        if let ExprKind::Column(register) = e.kind {
            set.insert(register);
        }
    });
    set
}

fn is_seekable(node: &Node, conjuncts: &[Expr]) -> bool {
    match node {
        Node::Scan(scan) => seek::best(scan, conjuncts).is_some_and(|b| b.equal > 0),
        Node::Filter(inner) => is_seekable(&inner.0, conjuncts),
        Node::Compute(inner) => is_seekable(&inner.0, conjuncts),
        _ => false,
    }
}

/// Picks the input to join next.
fn cheapest(inputs: &[Node], conjuncts: &[Expr], readable: &Registers, all: &Registers) -> usize {
    let mut best = (0, f64::INFINITY);
    for (i, input) in inputs.iter().enumerate() {
        let own = walk::fills(input).0;
        let mut known = readable.clone();
        known.extend(&own);
        if !node_reads(input).intersection(all).is_subset(&known) {
            continue;
        }
        let ready: Vec<Expr> = conjuncts
            .iter()
            .filter(|c| walk::reads(c).intersection(all).is_subset(&known))
            .cloned()
            .collect();
        let rows = expected_rows(input, &ready);
        if rows < best.1 {
            best = (i, rows);
        }
    }
    best.0
}

fn expected_rows(node: &Node, conjuncts: &[Expr]) -> f64 {
    match node {
        Node::Scan(scan) => {
            let table = table_of(&scan.table);
            let counted = f64::from(u32::try_from(table.rows.data.row_count()).unwrap_or(u32::MAX));
            let temporary = table.id < 0 || matches!(scan.table, TableSource::Variable(..));
            let rows = if temporary { counted.max(1.0) } else { counted.max(ROWS_MIN) };
            match seek::best(scan, conjuncts) {
                Some(best) if best.unique => 1.0,
                Some(best) if best.equal > 0 => (rows / 100.0).max(2.0),
                Some(_) => rows / 3.0,
                None if conjuncts.is_empty() => rows,
                None => rows / 2.0,
            }
        }
        Node::OneRow | Node::Empty => 1.0,
        Node::Values(values) => f64::from(u32::try_from(values.rows.len()).unwrap_or(u32::MAX)),
        Node::Filter(inner) => expected_rows(&inner.0, conjuncts),
        Node::Compute(inner) => expected_rows(&inner.0, conjuncts),
        Node::Aggregate(aggregate) if aggregate.scalar => 1.0,
        _ => ROWS_UNKNOWN,
    }
}

fn push_left(join: Join, conjuncts: Vec<Expr>, outer: &Registers, all: &Registers) -> Node {
    let Join { left, right, on, method, .. } = join;
    let mut readable = outer.clone();
    readable.extend(&walk::fills(&left).0);
    let (below, above) = part(conjuncts, &readable, all);
    let left = push(left, below, outer, all);
    let on_conjuncts = conditions(on, method);
    filter(attach(JoinKind::Left, (left, right), on_conjuncts, &readable, all), above)
}

/// All conditions of a join, also those that a derived table's pass has made hash keys of.
fn conditions(on: Option<Expr>, method: JoinMethod) -> Vec<Expr> {
    let mut conditions = match method {
        JoinMethod::Loop => Vec::new(),
        JoinMethod::Hash(keys) => keys.into_iter().map(equal).collect(),
    };
    if let Some(on) = on {
        split(on, &mut conditions);
    }
    conditions
}

fn push_full(join: Join, conjuncts: Vec<Expr>, outer: &Registers, all: &Registers) -> Node {
    let Join { left, right, on, left_live, right_live, method, .. } = join;
    let left = push(left, Vec::new(), outer, all);
    let right = push(right, Vec::new(), outer, all);
    let (left_fills, right_fills) = (walk::fills(&left).0, walk::fills(&right).0);
    let mut keys = Vec::new();
    let mut rest = Vec::new();
    for conjunct in conditions(on, method) {
        match equi(conjunct, &left_fills, &right_fills, all) {
            Ok((l, r, _)) => keys.push((l, r)),
            Err(conjunct) => rest.push(conjunct),
        }
    }
    let method = JoinMethod::Hash(keys);
    let on = join_conjuncts(rest);
    let kind = JoinKind::Full;
    let join = Join { kind, method, left, right, on, left_live, right_live };
    filter(Node::Join(Box::new(join)), conjuncts)
}

/// Leaves out of a query's scans and buffers the registers that nothing in it reads.
pub(crate) fn prune_query(query: &mut Query) {
    let mut used = Registers::default();
    walk::visit_query(query, &mut |e| {
        if let ExprKind::Column(register) = e.kind {
            used.insert(register);
        }
    });
    prune(&mut query.root, &used);
}

/// Leaves out of a node the registers that are not in `used`.
pub(crate) fn prune(node: &mut Node, used: &Registers) {
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

/// Tells whether a scan reads all rows.
pub(crate) fn is_full(access: &Access) -> bool {
    matches!(access, Access::Full)
}
