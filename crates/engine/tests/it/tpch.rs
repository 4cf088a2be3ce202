//! The plans of TPC-H's queries are sane: no cross product of inputs that a predicate could join,
//! and a hash join is built over its smaller side.

use std::path::Path;

use engine::bind::bind_statement;
use engine::opt::estimate;
use engine::plan::children;
use engine::plan::expr::{ExprKind, Register};
use engine::plan::query::{Join, JoinKind, JoinMethod, Node};
use engine::plan::statement::{Bound, table_of};
use engine::plan::walk;
use engine::session::Session;
use tsql::QuotedIdentifier;

use crate::client::{batch, instance, login};

/// A ten-thousandth of the specification's sizes, with its keys and the values that the queries
/// select.
const ROWS: &[&str] = &[
    "INSERT region SELECT value, CHOOSE(value + 1, 'AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'), '' \
     FROM GENERATE_SERIES(0, 4)",
    "INSERT nation SELECT value, CONCAT('NATION', value), value % 5, '' FROM GENERATE_SERIES(0, 24)",
    "INSERT supplier SELECT value, CONCAT('S', value), '', value % 25, '', value, '' FROM GENERATE_SERIES(1, 20)",
    "INSERT part SELECT value, CONCAT('part ', value), 'm', CONCAT('Brand#', value % 25), CONCAT('T', value % 150), \
     value % 50 + 1, CONCAT('C', value % 40), value, '' FROM GENERATE_SERIES(1, 200)",
    "INSERT partsupp SELECT 1 + value / 4, 1 + (value + value / 4) % 20, value, value, '' FROM GENERATE_SERIES(0, 799)",
    "INSERT customer SELECT value, CONCAT('C', value), '', value % 25, '', value, CONCAT('SEG', value % 5), '' \
     FROM GENERATE_SERIES(1, 150)",
    "INSERT orders SELECT value, 1 + value % 150, 'F', value, DATEADD(day, value, '1992-01-01'), CONCAT('P', value % 5), '', 0, '' \
     FROM GENERATE_SERIES(1, 1500)",
    "INSERT lineitem SELECT 1 + value / 4, 1 + value % 200, 1 + value % 20, 1 + value % 4, value % 50, value, 0.05, 0.01, 'R', 'F', \
     DATEADD(day, value / 4, '1992-01-02'), DATEADD(day, value / 4, '1992-01-09'), DATEADD(day, value / 4, '1992-01-08'), '', 'MAIL', '' \
     FROM GENERATE_SERIES(0, 5999)",
];

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/workloads/tpch");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn filled() -> Session {
    let mut session = login(&instance());
    let schema = text("schema.sql");
    for statement in [schema.as_str()].iter().chain(ROWS) {
        let answer = batch(&mut session, statement);
        assert!(answer.errors.is_empty(), "{statement}: {:?}", answer.errors);
    }
    session
}

/// Binds the queries of a text and checks each operator of their plans.
fn look(session: &Session, text: &str, see: &mut dyn FnMut(&Node)) {
    let parsed = tsql::parse(text, QuotedIdentifier::On).unwrap();
    for statement in &parsed.statements {
        let context = compile::binding::bare_context(session.state(), "master");
        let mut binder = context.binder();
        let Ok(Bound::Select(select)) = bind_statement(&mut binder, statement) else { continue };
        let mut nodes = vec![&select.query.root];
        while let Some(node) = nodes.pop() {
            see(node);
            children::inputs(node, &mut |input| nodes.push(input));
        }
    }
}

/// Returns whether all rows of one side are combined with all rows of the other.
fn is_product(join: &Join) -> bool {
    match &join.method {
        JoinMethod::Hash(keys) => keys.is_empty() && join.on.is_none(),
        JoinMethod::Loop => {
            let left = walk::fills(&join.left).0;
            let mut reads = false;
            walk::visit_node(&join.right, &mut |e| {
                reads |= matches!(e.kind, ExprKind::Column(r) if left.contains(r));
            });
            !reads
        }
    }
}

fn outline(node: &Node, depth: usize, out: &mut String) {
    let what = match node {
        Node::Scan(scan) => {
            let key = match &scan.access {
                engine::plan::query::Access::Full => "all",
                engine::plan::query::Access::Seek { .. } => "seek",
                engine::plan::query::Access::Range { .. } => "range",
                engine::plan::query::Access::Points { .. } => "points",
            };
            format!("{} {key}", table_of(&scan.table).name)
        }
        Node::Join(join) => {
            let method = if matches!(join.method, JoinMethod::Loop) { "loop" } else { "hash" };
            format!("{:?} {method}", join.kind)
        }
        Node::Filter(_) => "filter".to_owned(),
        Node::Aggregate(_) => "aggregate".to_owned(),
        Node::Sort(_) => "sort".to_owned(),
        Node::Compute(_) => "compute".to_owned(),
        Node::Distinct(_) => "distinct".to_owned(),
        Node::Limit(_) => "limit".to_owned(),
        _ => "other".to_owned(),
    };
    let rows = estimate(node).rows;
    out.push_str(&format!("{:depth$}{what} {rows:.1}\n", ""));
    children::inputs(node, &mut |input| outline(input, depth + 2, out));
}

#[test]
fn plans_of_tpch_have_no_products_and_keep_the_smaller_side() {
    let session = filled();
    let mut failures = String::new();
    for number in 1..=22 {
        let name = format!("q{number:02}.sql");
        let mut first = true;
        look(&session, &text(&name), &mut |node| {
            if std::mem::take(&mut first) && std::env::var_os("OUTLINE").is_some() {
                let mut out = String::new();
                outline(node, 0, &mut out);
                failures.push_str(&format!("{name}\n{out}"));
            }
            let Node::Join(join) = node else { return };
            if is_product(join) {
                failures.push_str(&format!("{name}: {:?} product\n", join.kind));
            }
            let (left, right) = (estimate(&join.left).rows, estimate(&join.right).rows);
            if join.kind == JoinKind::Inner
                && matches!(join.method, JoinMethod::Hash(_))
                && right > left * 4.0 + 100.0
            {
                failures.push_str(&format!("{name}: keeps {right} rows for {left}\n"));
            }
        });
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn a_correlated_aggregate_of_tpch_is_grouped_once() {
    let session = filled();
    let mut groups = 0;
    let mut registers: Vec<Register> = Vec::new();
    look(&session, &text("q17.sql"), &mut |node| {
        if let Node::Aggregate(aggregate) = node
            && !aggregate.scalar
        {
            groups += 1;
            registers.extend(aggregate.keys.iter().map(|k| k.1));
        }
    });
    assert_eq!((groups, registers.len()), (1, 1), "AVG by part");
}
