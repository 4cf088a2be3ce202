//! Tests T-SQL's operator precedence against the documentation's table and known results of SQL
//! Server.

use crate::support::{condition_shape, shape};

#[test]
fn bitwise_and_additive_operators_share_a_level() {
    // 1 & 2 + 4 is 4 and 6 | 1 & 4 is 4 on SQL Server.
    assert_eq!(shape("1 & 2 + 4"), "((1 & 2) + 4)");
    assert_eq!(shape("6 | 1 & 4"), "((6 | 1) & 4)");
    assert_eq!(shape("1 - 2 ^ 3 + 4"), "(((1 - 2) ^ 3) + 4)");
}

#[test]
fn multiplication_binds_tighter_than_addition() {
    assert_eq!(shape("1 + 2 * 3 - 4 / 5 % 6"), "((1 + (2 * 3)) - ((4 / 5) % 6))");
    assert_eq!(shape("1 | 2 * 3"), "(1 | (2 * 3))");
    assert_eq!(shape("(1 + 2) * 3"), "((1 + 2) * 3)");
}

#[test]
fn sign_binds_looser_than_multiplication() {
    // -100 / -100 * 10 is 0 and not 10: the documented trap of the sign's place in the table.
    assert_eq!(shape("-100 / -100 * 10"), "(-(100 / (-(100 * 10))))");
    assert_eq!(shape("-a + b"), "((-a) + b)");
    assert_eq!(shape("a - -b - c"), "((a - (-b)) - c)");
}

#[test]
fn bitwise_not_and_collate_bind_tightest() {
    assert_eq!(shape("~a * b"), "((~a) * b)");
    assert_eq!(shape("a + b COLLATE c"), "(a + (b COLLATE c))");
}

#[test]
fn shifts_are_functions_of_the_additive_level() {
    use tsql::ast::ExprKind;
    let name = |text: &str| match crate::support::expression(text).kind {
        ExprKind::Call(call) => (call.name.object.to_string(), call.arguments.len()),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(name("12345 << 5"), ("LEFT_SHIFT".to_owned(), 2));
    assert_eq!(name("a + 1 >> b * 2"), ("RIGHT_SHIFT".to_owned(), 2));
    assert_eq!(name("1 << 2 << 3"), ("LEFT_SHIFT".to_owned(), 2));
    assert_eq!(condition_shape("a < 1"), "(a Less 1)");
}

#[test]
fn comparison_binds_looser_than_bitwise_and() {
    // `IF @Flags & 1 <> 0` of the session-state procedures.
    assert_eq!(condition_shape("@f & 1 <> 0"), "((@f & 1) NotEqual 0)");
    assert_eq!(condition_shape("a = 1 | 2"), "(a Equal (1 | 2))");
}

#[test]
fn not_binds_tighter_than_and_and_that_tighter_than_or() {
    assert_eq!(
        condition_shape("a = 1 OR b = 2 AND NOT c = 3 OR d = 4"),
        "((a Equal 1) OR ((b Equal 2) AND (NOT (c Equal 3))) OR (d Equal 4))"
    );
    assert_eq!(
        condition_shape("(a = 1 OR b = 2) AND c = 3"),
        "(((a Equal 1) OR (b Equal 2)) AND (c Equal 3))"
    );
}

#[test]
fn and_of_between_is_not_the_logical_one() {
    assert_eq!(
        condition_shape("a BETWEEN 1 AND 2 + 3 AND b = 4"),
        "((a BETWEEN 1 (2 + 3)) AND (b Equal 4))"
    );
}

#[test]
fn parenthesis_may_hold_a_value_or_a_condition() {
    assert_eq!(condition_shape("(a) = 1"), "(a Equal 1)");
    assert_eq!(condition_shape("((a + 1) * 2) - 3 > (b)"), "((((a + 1) * 2) - 3) Greater b)");
    assert_eq!(condition_shape("((a = 1))"), "(a Equal 1)");
}
