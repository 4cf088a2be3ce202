//! Wrong kernels: the comparisons of this folder must detect each of them.

use types::batch::{Selection, Vector};
use types::type_rules::BinaryOp;
use types::{Error, Value};

use super::data::{Random, Table, selection};
use super::{Lab, Outcome, difference, texts};
use crate::plan::expr::{CompareOp, Expr, ExprKind};

/// A wrong kernel: evaluates another expression, or changes the outcome.
struct Mutant {
    name: &'static str,
    expr: fn(&mut Expr),
    outcome: fn(Outcome) -> Outcome,
}

const MUTANTS: [Mutant; 8] = [
    of_expr("takes < for <=", |e| {
        if let ExprKind::Compare(op @ CompareOp::LessOrEqual, ..) = &mut e.kind {
            *op = CompareOp::Less;
        }
    }),
    of_expr("compares under another collation", |e| {
        if let ExprKind::Compare(_, collation, _) = &mut e.kind {
            *collation = types::Collation::LATIN1_GENERAL_100_BIN2;
        }
    }),
    of_expr("takes AND for OR", |e| {
        if let ExprKind::Or(any) = &mut e.kind {
            e.kind = ExprKind::And(std::mem::take(any));
        }
    }),
    of_expr("looks at the first operand of AND only", |e| {
        if let ExprKind::And(all) = &mut e.kind {
            e.kind = ExprKind::And(all.iter().take(1).cloned().collect());
        }
    }),
    of_expr("adds for subtracting", |e| {
        if let ExprKind::Arithmetic(op @ BinaryOp::Subtract, _) = &mut e.kind {
            *op = BinaryOp::Add;
        }
    }),
    of_expr("matches without ESCAPE", |e| {
        if let ExprKind::Like(_, like) = &mut e.kind {
            like.escape = None;
        }
    }),
    of_outcome("takes NULL for 0", |outcome| {
        outcome.map(|values| {
            let plain = |value| if value == Value::Null { Value::Int(0) } else { value };
            values.into_iter().map(plain).collect()
        })
    }),
    of_outcome("swallows errors", |outcome| outcome.or_else(|_: Error| Ok(Vec::new()))),
];

const fn of_expr(name: &'static str, expr: fn(&mut Expr)) -> Mutant {
    Mutant { name, expr, outcome: |outcome| outcome }
}

const fn of_outcome(name: &'static str, outcome: fn(Outcome) -> Outcome) -> Mutant {
    Mutant { name, expr: |_| {}, outcome }
}

#[test]
fn wrong_kernels_are_noticed() {
    let mut lab = Lab::new(Table::new(40));
    let all: Vec<String> = texts::operators().into_iter().chain(texts::conditions()).collect();
    for mutant in MUTANTS {
        let mut random = Random::new();
        let noticed = all.iter().any(|text| is_noticed(&mut lab, &mutant, text, &mut random));
        assert!(noticed, "nobody notices a kernel that {}", mutant.name);
    }
}

fn is_noticed(lab: &mut Lab, mutant: &Mutant, text: &str, random: &mut Random) -> bool {
    let Some((expr, registers)) = lab.bind(text) else { return false };
    let mut wrong = expr.clone();
    (mutant.expr)(&mut wrong);
    if let ExprKind::Case(branches, _) = &mut wrong.kind {
        branches.iter_mut().for_each(|(condition, _)| (mutant.expr)(condition));
    }
    let rows = selection(lab.table.rows, random);
    let batches = std::sync::Arc::clone(&lab.batches);
    let batch = random.pick(&batches);
    let wanted = lab.by_row((&expr, registers), &rows);
    let found = (mutant.outcome)(lab.by_batch((&wrong, registers), batch, &rows));
    difference(&wanted, &found, &rows).is_some()
}

#[test]
fn vector_that_forgets_its_nulls_is_noticed() {
    let table = Table::new(40);
    let mut random = Random::new();
    let batch = table.batch(&mut random);
    let forgetful = |vector: &Vector| {
        let mut copy = vector.clone();
        copy.parts_mut().1.clear();
        copy
    };
    let rows = Selection::all(40);
    let read = |vector: &Vector| Ok(rows.iter().map(|row| vector.get(row)).collect());
    let forgotten = batch.columns.iter().filter(|column| column.has_nulls()).filter(|column| {
        let (wanted, found): (Outcome, Outcome) = (read(column), read(&forgetful(column)));
        difference(&wanted, &found, &rows).is_some()
    });
    assert!(forgotten.count() > 10);
}
