//! Tests syntax errors: number, token, line.

use crate::support::error;

fn check(text: &str, number: i32, line: u32, message: &str) {
    assert_eq!(error(text), (number, line, message.to_owned()), "{text}");
}

#[test]
fn token_that_does_not_fit_is_102_and_a_keyword_156() {
    check("SELECT 1,\n, 2", 102, 2, "Incorrect syntax near ','.");
    check("SELECT\nFROM t", 156, 2, "Incorrect syntax near the keyword 'FROM'.");
    check("SELECT a b c FROM t", 102, 1, "Incorrect syntax near 'c'.");
    check("SELECT 1 'x' 'y'", 102, 1, "Incorrect syntax near 'y'.");
    check("SELECT 1\nfoo bar", 102, 2, "Incorrect syntax near 'bar'.");
    check("UPDATE t SET\n\nWHERE a = 1", 156, 3, "Incorrect syntax near the keyword 'WHERE'.");
    check("SELECT * FROM t WHERE a = )", 102, 1, "Incorrect syntax near ')'.");
    check("SELECT 1 ?", 102, 1, "Incorrect syntax near '?'.");
    check("SELECT 1 \u{0}", 102, 1, "Incorrect syntax near '\u{0}'.");
}

#[test]
fn what_is_missing_at_the_end_is_blamed_on_the_last_token() {
    check("SELECT\n1 +", 102, 2, "Incorrect syntax near '+'.");
    check("BEGIN\nSELECT 1", 102, 2, "Incorrect syntax near '1'.");
    check("SELECT * FROM", 102, 1, "Incorrect syntax near 'FROM'.");
}

#[test]
fn unclosed_quotes_and_comments_have_their_numbers() {
    check(
        "SELECT 1\nSELECT 'abc",
        105,
        2,
        "Unclosed quotation mark after the character string 'abc'.",
    );
    check("SELECT [abc", 105, 1, "Unclosed quotation mark after the character string 'abc'.");
    check("SELECT 1 /* a /* b */\n", 113, 1, "Missing end comment mark '*/'.");
}

#[test]
fn first_mistake_is_reported_although_a_later_string_is_open() {
    assert_eq!(error("SELECT 1 2 'abc").0, 102);
}

#[test]
fn value_where_a_condition_belongs_is_4145() {
    assert_eq!(error("SELECT 1 WHERE a").0, 4145);
    assert_eq!(error("IF @a SELECT 1").0, 4145);
    assert_eq!(error("SELECT 1 WHERE a = 1 AND b").0, 4145);
    assert_eq!(error("SELECT a = 1 = 2").0, 102);
}

#[test]
fn definitions_stand_alone_in_their_batch() {
    assert_eq!(error("SELECT 1 CREATE PROCEDURE p AS SELECT 1").0, 111);
    assert_eq!(error("IF 1 = 1 CREATE VIEW v AS SELECT 1 AS a").0, 111);
    assert_eq!(error("CREATE VIEW v AS SELECT 1 AS a SELECT 2").0, 156);
    assert_eq!(error("CREATE FUNCTION f () RETURNS int AS BEGIN RETURN 1 END SELECT 2").0, 156);
}

#[test]
fn names_have_limits() {
    assert_eq!(error(&format!("SELECT {}", "a".repeat(129))).0, 103);
    assert_eq!(error("SELECT [] FROM t").0, 1038);
    assert_eq!(error("SELECT * FROM a.b.c.d.e").0, 117);
}

#[test]
fn numbers_have_limits() {
    assert_eq!(error(&format!("SELECT {}", "9".repeat(39))).0, 1007);
    assert_eq!(error("SELECT 1e400").0, 168);
    assert_eq!(error("SELECT $99999999999999999").0, 1007);
}

#[test]
fn option_that_does_not_exist_is_195() {
    check("SET nonsense ON", 195, 1, "'nonsense' is not a recognized SET option.");
}

#[test]
fn call_without_exec_is_for_the_first_statement_only() {
    assert_eq!(error("SELECT 1; p").0, 102);
}
