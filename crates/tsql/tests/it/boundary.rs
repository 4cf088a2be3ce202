//! Tests where statements start and end without semicolons, and on which line.

use crate::support::{batch, statement};
use tsql::ast::StatementKind;
use tsql::{QuotedIdentifier, parse, utf16_offset};

/// Returns the text of each statement.
fn texts(text: &str) -> Vec<&str> {
    batch(text).statements.iter().map(|statement| statement.span.text(text)).collect()
}

#[test]
fn keyword_ends_the_statement_before_it() {
    assert_eq!(texts("DELETE FROM t COMMIT"), ["DELETE FROM t", "COMMIT"]);
    assert_eq!(texts("EXEC p\nSELECT 1"), ["EXEC p", "SELECT 1"]);
    assert_eq!(
        texts("SELECT a FROM t WAITFOR DELAY '0:0:1'"),
        ["SELECT a FROM t", "WAITFOR DELAY '0:0:1'"]
    );
    assert_eq!(texts("SELECT a FROM t CLOSE c"), ["SELECT a FROM t", "CLOSE c"]);
    assert_eq!(texts("SELECT a FROM t DBCC x"), ["SELECT a FROM t", "DBCC x"]);
    assert_eq!(texts("SELECT a FROM t BREAK"), ["SELECT a FROM t", "BREAK"]);
    assert_eq!(texts("SELECT 1 a SELECT 2;;; SELECT 3;"), ["SELECT 1 a", "SELECT 2", "SELECT 3"]);
    assert_eq!(texts("RETURN SELECT 1"), ["RETURN", "SELECT 1"]);
    assert_eq!(texts("BEGIN TRAN SELECT 1"), ["BEGIN TRAN", "SELECT 1"]);
    assert_eq!(texts("ROLLBACK TRAN t1 SELECT 1"), ["ROLLBACK TRAN t1", "SELECT 1"]);
}

#[test]
fn cache_update_then_insert_stands_on_one_line() {
    let text = "UPDATE c SET a = 1 WHERE Id = @Id IF (@@ROWCOUNT = 0) BEGIN INSERT INTO c (Id) VALUES (@Id); END";
    assert_eq!(texts(text), [&text[..33], &text[34..]]);
}

#[test]
fn word_that_is_not_reserved_is_an_alias_as_on_the_server() {
    assert_eq!(texts("SELECT a FROM t THROW").len(), 1);
    assert_eq!(texts("SELECT a FROM t; THROW").len(), 2);
}

#[test]
fn label_is_no_alias_of_what_stands_before_it() {
    for text in
        ["SELECT a FROM t\nx:", "SELECT a\nx:", "BEGIN TRAN\nx:", "EXEC p\nx:", "RETURN\nx:"]
    {
        assert_eq!(texts(text)[1..], ["x:"], "{text}");
    }
}

#[test]
fn option_is_no_alias() {
    let StatementKind::Select(select) = statement("SELECT a FROM t OPTION (RECOMPILE)").kind else {
        panic!("no SELECT")
    };
    assert_eq!(select.options.len(), 1);
}

#[test]
fn statement_knows_its_line() {
    let batch = batch("SELECT 1\n\n  SELECT 2 /*\n*/ IF 1 = 1\nBEGIN\nPRINT 'x'\nEND");
    let lines: Vec<_> = batch.statements.iter().map(|statement| statement.line).collect();
    assert_eq!(lines, [1, 3, 4]);
    let StatementKind::If(branch) = &batch.statements[2].kind else { panic!("no IF") };
    let StatementKind::Block(block) = &branch.branches[0].then.kind else { panic!("no block") };
    assert_eq!((branch.branches[0].line, block[0].line), (4, 6));
}

#[test]
fn offsets_count_utf16_bytes() {
    let text = "SELECT N'ä😀' SELECT 2";
    let second = &batch(text).statements[1];
    // `ä` is one UTF-16 unit, the emoji two.
    assert_eq!(utf16_offset(text, second.span.start), 2 * 14);
}

#[test]
fn quoted_identifier_decides_and_set_changes_it_behind() {
    let on = parse("SELECT \"a\"", QuotedIdentifier::On).unwrap();
    let off = parse("SELECT \"a\"", QuotedIdentifier::Off).unwrap();
    assert_ne!(on, off);
    let switched = parse("SET QUOTED_IDENTIFIER OFF SELECT \"a\"", QuotedIdentifier::On).unwrap();
    assert_eq!(switched.statements[1], off.statements[0]);
}

#[test]
fn if_takes_the_nearest_else() {
    let StatementKind::If(outer) = statement("IF 1 = 1 IF 2 = 2 PRINT 'a' ELSE PRINT 'b'").kind
    else {
        panic!("no IF")
    };
    assert!(outer.otherwise.is_none());
}

#[test]
fn unsupported_statement_carries_its_name_and_ends_before_the_next() {
    let text = "BACKUP DATABASE d TO DISK = 'x' WITH INIT SELECT 1";
    assert_eq!(texts(text), ["BACKUP DATABASE d TO DISK = 'x' WITH INIT", "SELECT 1"]);
    let text = "RESTORE DATABASE d WITH RECOVERY SELECT 1";
    assert_eq!(texts(text), ["RESTORE DATABASE d WITH RECOVERY", "SELECT 1"]);
    for (text, name) in [
        ("CREATE XML SCHEMA COLLECTION c AS N'x'", "CREATE XML SCHEMA COLLECTION"),
        ("ALTER RESOURCE GOVERNOR RECONFIGURE", "ALTER RESOURCE GOVERNOR"),
        ("DROP ASSEMBLY a", "DROP ASSEMBLY"),
    ] {
        let StatementKind::Unsupported(unsupported) = statement(text).kind else {
            panic!("{text}")
        };
        assert_eq!(&*unsupported.name, name);
    }
}
