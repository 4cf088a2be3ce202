//! Helpers of the parser's tests.

use tsql::ast::{ArithmeticOp, Condition, ConditionKind, Expr, QueryBody, QuerySpec, UnaryOp};
use tsql::ast::{Batch, ExprKind, SelectItemKind, Statement, StatementKind};
use tsql::{QuotedIdentifier, parse};

/// Parses a text that must be valid.
pub(crate) fn batch(text: &str) -> Batch {
    parse(text, QuotedIdentifier::On).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Parses a batch of one statement.
pub(crate) fn statement(text: &str) -> Statement {
    let mut statements = batch(text).statements;
    assert_eq!(statements.len(), 1, "{text}");
    statements.remove(0)
}

/// Returns the number and line of the error that a text must give, and its message.
pub(crate) fn error(text: &str) -> (i32, u32, String) {
    match parse(text, QuotedIdentifier::On) {
        Ok(batch) => panic!("parsed: {text}\n{batch:?}"),
        Err(error) => (error.number, error.line, error.message.clone()),
    }
}

/// Returns the SELECT of a batch of one.
pub(crate) fn select(text: &str) -> QuerySpec {
    let StatementKind::Select(select) = statement(text).kind else { panic!("no SELECT: {text}") };
    let QueryBody::Select(spec) = select.query.body else { panic!("no plain SELECT: {text}") };
    *spec
}

/// Returns the shape of an expression with a parenthesis around every operation.
pub(crate) fn shape(expression: &str) -> String {
    let mut spec = select(&format!("SELECT {expression}"));
    match spec.items.remove(0).kind {
        SelectItemKind::Expr { expr, alias: None } => value(&expr),
        other => panic!("{expression}: {other:?}"),
    }
}

/// Returns the shape of a condition.
pub(crate) fn condition_shape(text: &str) -> String {
    let spec = select(&format!("SELECT 1 WHERE {text}"));
    condition(&spec.filter.expect("WHERE"))
}

/// Parses a single expression.
pub(crate) fn expression(text: &str) -> Expr {
    match select(&format!("SELECT {text}")).items.remove(0).kind {
        SelectItemKind::Expr { expr, alias: None } => expr,
        other => panic!("{text}: {other:?}"),
    }
}

/// Returns the definition of a computed column.
pub(crate) fn column_of(text: &str) -> String {
    let source = format!("SELECT {text}");
    match select(&source).items.remove(0).kind {
        SelectItemKind::Expr { expr, alias: None } => tsql::definition_of_value(&expr, &source),
        other => panic!("{text}: {other:?}"),
    }
}

/// Returns the definition of a CHECK constraint.
pub(crate) fn check_of(text: &str) -> String {
    let source = format!("SELECT 1 WHERE {text}");
    let filter = select(&source).filter.expect("WHERE");
    tsql::definition_of_condition(&filter, &source, tsql::Lists::Comparisons)
}

fn value(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Arithmetic { first, rest } => {
            rest.iter().fold(value(first), |left, (op, right)| {
                format!("({left} {} {})", arithmetic(*op), value(right))
            })
        }
        ExprKind::Unary { op, operand } => {
            let op = match op {
                UnaryOp::Minus => '-',
                UnaryOp::Plus => '+',
                UnaryOp::BitNot => '~',
            };
            format!("({op}{})", value(operand))
        }
        ExprKind::Column(column) => column.column.to_string(),
        ExprKind::Variable(variable) => variable.name.to_string(),
        ExprKind::Literal(tsql::ast::Literal::Int(number)) => number.to_string(),
        ExprKind::Collate { operand, collation } => {
            format!("({} COLLATE {collation})", value(operand))
        }
        other => format!("{other:?}"),
    }
}

fn arithmetic(op: ArithmeticOp) -> &'static str {
    match op {
        ArithmeticOp::Multiply => "*",
        ArithmeticOp::Divide => "/",
        ArithmeticOp::Modulo => "%",
        ArithmeticOp::Add => "+",
        ArithmeticOp::Subtract => "-",
        ArithmeticOp::BitAnd => "&",
        ArithmeticOp::BitXor => "^",
        ArithmeticOp::BitOr => "|",
        ArithmeticOp::Concatenate => "||",
    }
}

fn condition(it: &Condition) -> String {
    let join = |list: &[Condition], word: &str| {
        let list: Vec<_> = list.iter().map(condition).collect();
        format!("({})", list.join(word))
    };
    match &it.kind {
        ConditionKind::And(list) => join(list, " AND "),
        ConditionKind::Or(list) => join(list, " OR "),
        ConditionKind::Not(inner) => format!("(NOT {})", condition(inner)),
        ConditionKind::Compare { op, left, right } => {
            format!("({} {op:?} {})", value(left), value(right))
        }
        ConditionKind::Between { operand, low, high, .. } => {
            format!("({} BETWEEN {} {})", value(operand), value(low), value(high))
        }
        other => format!("{other:?}"),
    }
}
