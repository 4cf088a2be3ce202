//! Lists of names, strings and catalogs, short and long: long ones are hashed, indexed or searched in
//! windows, and give the same results and errors as short ones.

use crate::client::{batch, instance, login};

/// Columns of a list: below and above the length at which names are hashed.
const LENGTHS: [usize; 5] = [4, 23, 24, 25, 60];

fn list(n: usize, piece: impl Fn(usize) -> String) -> String {
    (0..n).map(piece).collect::<Vec<_>>().join(", ")
}

/// Runs a batch; returns the values of its last row, or the number of its first error.
fn answer_of(session: &mut engine::session::Session, sql: &str) -> Result<Vec<String>, i32> {
    let answer = batch(session, sql);
    match answer.errors.first() {
        Some(error) => Err(error.number),
        None => Ok(answer.sets.last().and_then(|rows| rows.last()).cloned().unwrap_or_default()),
    }
}

#[test]
fn columns_are_found_by_name_in_lists_of_any_length() {
    for n in LENGTHS {
        let instance = instance();
        let mut session = login(&instance);
        let mut check = |sql: String, expected: Result<Vec<&str>, i32>| {
            let expected = expected.map(|row| row.into_iter().map(str::to_owned).collect());
            assert_eq!(answer_of(&mut session, &sql), expected, "{n} columns: {sql}");
        };
        let columns = list(n, |at| format!("{at} AS Ä{at}"));
        let last = n - 1;
        check(format!("SELECT ä1, x.ä2 FROM (SELECT {columns}) x"), Ok(vec!["1", "2"]));
        check(format!("SELECT ä{n} FROM (SELECT {columns}) x"), Err(207));
        check(format!("SELECT x.ä{n} FROM (SELECT {columns}) x"), Err(207));
        check(format!("SELECT 1 FROM (SELECT {columns}, 7 AS ä1) x"), Err(8156));
        check(format!("SELECT ä1 FROM (SELECT {columns}) x, (SELECT 7 AS ä1) y"), Err(209));
        check(format!("SELECT y.ä1 FROM (SELECT {columns}) x, (SELECT 7 AS ä1) y"), Ok(vec!["7"]));
        check(
            format!(
                "WITH c ({}) AS (SELECT {columns}) SELECT B1 FROM c",
                list(n, |at| format!("b{at}"))
            ),
            Ok(vec!["1"]),
        );
        check(
            format!(
                "SELECT b{last} FROM (VALUES ({})) v ({})",
                list(n, |at| at.to_string()),
                list(n, |at| format!("b{at}"))
            ),
            Ok(vec![&*last.to_string()]),
        );
        // Order of output columns, of which some have the same name.
        let rows = "(VALUES (1, 2), (2, 1)) t (a, b)";
        let zeros = list(n, |at| format!("0 AS z{at}"));
        let mut smallest = vec!["1"];
        smallest.extend(std::iter::repeat_n("0", n));
        check(
            format!("SELECT a AS q, {zeros} FROM {rows} ORDER BY z1, Q DESC"),
            Ok(smallest.clone()),
        );
        check(
            format!(
                "SELECT a AS q, {zeros} FROM {rows} UNION SELECT 3, {zeros} ORDER BY z1, Q DESC"
            ),
            Ok(smallest.clone()),
        );
        check(
            format!(
                "SELECT t.a AS q, {zeros} FROM {rows} UNION SELECT 3, {zeros} ORDER BY z1, t.a DESC"
            ),
            Ok(smallest),
        );
        check(
            format!("SELECT a AS q, {zeros} FROM {rows} UNION SELECT 3, {zeros} ORDER BY z1, b"),
            Err(104),
        );
        check(format!("SELECT a AS q, b AS q, {zeros} FROM {rows} ORDER BY z1, q"), Err(209));
    }
}

#[test]
fn written_columns_are_found_by_name_in_lists_of_any_length() {
    for n in LENGTHS {
        let instance = instance();
        let mut session = login(&instance);
        let mut check = |sql: String, expected: Result<Vec<&str>, i32>| {
            let expected = expected.map(|row| row.into_iter().map(str::to_owned).collect());
            assert_eq!(answer_of(&mut session, &sql), expected, "{n} columns: {sql}");
        };
        let columns = list(n, |at| format!("c{at} int"));
        let names = list(n, |at| format!("C{at}"));
        let values = list(n, |at| at.to_string());
        check(format!("CREATE TABLE t ({columns})"), Ok(vec![]));
        check("CREATE VIEW v AS SELECT * FROM t".to_owned(), Ok(vec![]));
        for target in ["t", "v"] {
            check(
                format!(
                    "INSERT {target} ({names}) VALUES ({values}); SELECT c1, c{} FROM t",
                    n - 1
                ),
                Ok(vec!["1", &*(n - 1).to_string()]),
            );
            check(format!("INSERT {target} ({names}, x) VALUES ({values}, 1)"), Err(207));
            check(format!("INSERT {target} ({names}, c1) VALUES ({values}, 1)"), Err(264));
        }
        check(
            format!(
                "UPDATE t SET {}; SELECT c2 FROM t",
                list(n, |at| format!("C{at} = c{at} + 1"))
            ),
            Ok(vec!["3"]),
        );
        check(format!("UPDATE t SET {}, x = 1", list(n, |at| format!("c{at} = 1"))), Err(207));
        let pivoted = list(n, |at| format!("[{at}]"));
        check(
            format!(
                "SELECT [2] FROM (SELECT 2 AS k, 5 AS w) s PIVOT (MAX(w) FOR k IN ({pivoted})) p"
            ),
            Ok(vec!["5"]),
        );
        check(
            format!(
                "SELECT 1 FROM (SELECT 2 AS k, 5 AS w, 1 AS [2]) s PIVOT (MAX(w) FOR k IN ({pivoted})) p"
            ),
            Err(265),
        );
    }
}

#[test]
fn common_table_expressions_see_those_before_them() {
    for n in LENGTHS {
        let instance = instance();
        let mut session = login(&instance);
        let mut check = |sql: String, expected: Result<Vec<&str>, i32>| {
            let expected = expected.map(|row| row.into_iter().map(str::to_owned).collect());
            assert_eq!(answer_of(&mut session, &sql), expected, "{n}: {sql}");
        };
        let chain = list(n, |at| format!("c{} AS (SELECT v + 1 AS v FROM C{at})", at + 1));
        check(
            format!("WITH c0 AS (SELECT 0 AS v), {chain} SELECT a.v, b.v FROM c{n} a, c1 b"),
            Ok(vec![&*n.to_string(), "1"]),
        );
        // Later ones are not seen: the table of that name is.
        check("CREATE TABLE c2 (v int); INSERT c2 VALUES (70)".to_owned(), Ok(vec![]));
        check(
            format!("WITH c0 AS (SELECT v FROM c2), {chain} SELECT a.v, b.v FROM c1 a, c2 b"),
            Ok(vec!["71", "72"]),
        );
        // A view has no names of the statement in scope.
        check(
            "CREATE VIEW w AS WITH c1 AS (SELECT v + 5 AS v FROM c2) SELECT v FROM c1".to_owned(),
            Ok(vec![]),
        );
        check(
            format!("WITH c0 AS (SELECT v FROM w), {chain} SELECT a.v, b.v FROM c1 a, w b"),
            Ok(vec!["76", "75"]),
        );
        // A recursive one sees itself and those before it.
        check(
            format!(
                "WITH c0 AS (SELECT 1 AS v), {chain}, r AS (SELECT v FROM c1 UNION ALL \
                 SELECT r.v + c0.v FROM r, c0 WHERE r.v < 9), s AS (SELECT MAX(v) AS v FROM r) SELECT v FROM s"
            ),
            Ok(vec!["9"]),
        );
        check(
            format!("WITH c0 AS (SELECT 1 AS v), {chain}, C1 AS (SELECT 1 AS v) SELECT v FROM c1"),
            Err(239),
        );
    }
}

#[test]
fn searches_find_each_match_in_a_long_string() {
    let instance = instance();
    let mut session = login(&instance);
    // Four characters and a pair of surrogates: matches lie across the ends of windows.
    for (piece, needle, place, collation) in [
        ("ab,cde", "B,C", 2, "Latin1_General_CI_AS"),
        ("äb,cde", "b,c", 2, "Latin1_General_CI_AS"),
        ("äb,cde", "b,c", 2, "Latin1_General_BIN2"),
        ("ä😀,cd", "😀,C", 2, "Latin1_General_CI_AS"),
        ("ab,c😀", "😀ab,c😀A", 5, "Latin1_General_CI_AS"),
    ] {
        let sql = format!(
            "DECLARE @s nvarchar(max) = REPLICATE(CAST(N'{piece}' AS nvarchar(max)), 1000), @p int = 0, \
             @n int = 0, @wrong int = 0; WHILE 1 = 1 BEGIN \
             SET @p = CHARINDEX(N'{needle}', @s COLLATE {collation}, @p + 1); IF @p = 0 BREAK; \
             IF @p <> 6 * @n + {place} SET @wrong += 1; SET @n += 1 END; \
             SELECT @wrong, @n, CHARINDEX(N'{needle}x', @s COLLATE {collation})"
        );
        let found = if place == 5 { "998" } else { "1000" };
        assert_eq!(
            answer_of(&mut session, &sql),
            Ok(vec!["0".into(), found.into(), "0".into()]),
            "{sql}"
        );
    }
    // As characters, pairs are one.
    let sql = "DECLARE @s nvarchar(max) = REPLICATE(CAST(N'a😀b' AS nvarchar(max)), 1000); \
               SELECT CHARINDEX(N'B', @s COLLATE Latin1_General_100_CI_AS_SC, 2998)";
    assert_eq!(answer_of(&mut session, sql), Ok(vec!["3000".into()]));
}

#[test]
fn long_strings_are_stuffed_and_repeated_as_short_ones_are() {
    let instance = instance();
    let mut session = login(&instance);
    for n in [3, 30_000, 700_000] {
        let sql = format!(
            "DECLARE @s nvarchar(max) = REPLICATE(CAST(N'ab' AS nvarchar(max)), {n}), \
             @b varbinary(max) = CAST(REPLICATE(CAST('ab' AS varchar(max)), {n}) AS varbinary(max)); \
             SELECT LEN(@s), IIF(STUFF(@s, 2, 3, N'x') = N'ax' + SUBSTRING(@s, 5, 2 * {n}), 1, 0), \
             LEN(STUFF(@s, 2 * {n}, 9, N'')), STUFF(@s, 2 * {n} + 1, 1, N''), \
             DATALENGTH(STUFF(@s, 1, 2 * {n}, N'xyz'))"
        );
        let (all, less) = ((2 * n).to_string(), (2 * n - 1).to_string());
        let expected = [&*all, "1", &*less, "NULL", "6"].map(str::to_owned).to_vec();
        assert_eq!(answer_of(&mut session, &sql), Ok(expected), "{n}");
    }
}

#[test]
fn checksums_over_frames_are_those_of_their_rows() {
    let instance = instance();
    let mut session = login(&instance);
    let sql = "CREATE TABLE t (id int PRIMARY KEY, v int); \
               INSERT t SELECT value, NULLIF(value * 7919 % 1000, value % 5) FROM GENERATE_SERIES(1, 300); \
               UPDATE t SET v = NULL WHERE id BETWEEN 100 AND 120; \
               SELECT COUNT(*), COUNT(w), SUM(IIF(w = c OR w IS NULL AND c IS NULL, 0, 1)) FROM (SELECT \
               CHECKSUM_AGG(v) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING) AS w, \
               (SELECT CHECKSUM_AGG(b.v) FROM t b WHERE b.id BETWEEN t.id - 3 AND t.id + 1) AS c FROM t) q";
    let row = answer_of(&mut session, sql).unwrap();
    assert_eq!((&*row[0], &*row[2]), ("300", "0"));
    assert_ne!(row[1], "300", "some frames have no value");
}

/// Objects whose id or name does not lead back to them.
const LOST: &str = "SELECT COUNT(*) FROM sys.objects WHERE schema_id IN (1, SCHEMA_ID('s')) AND (\
    ISNULL(OBJECT_ID(QUOTENAME(SCHEMA_NAME(schema_id)) + '.' + QUOTENAME(name)), 0) <> object_id OR \
    ISNULL(OBJECT_NAME(object_id), '') <> name OR OBJECT_ID('s.none_' + name) IS NOT NULL)";

#[test]
fn objects_are_found_by_id_and_name_while_they_change() {
    let instance = instance();
    let mut session = login(&instance);
    let mut run = |sql: &str| answer_of(&mut session, sql);
    run("CREATE DATABASE d; USE d").unwrap();
    run("CREATE SCHEMA s").unwrap();
    for at in 0..20 {
        run(&format!(
            "CREATE TABLE t{at} (id int CONSTRAINT pk{at} PRIMARY KEY, v int CONSTRAINT df{at} DEFAULT 1 \
             CONSTRAINT ck{at} CHECK (v > 0))"
        ))
        .unwrap();
    }
    run("CREATE VIEW v AS SELECT id FROM t0").unwrap();
    let none = Ok(vec!["0".to_owned()]);
    assert_eq!(run(LOST), none);
    // The same names in another schema, and others in the place of those that are dropped.
    run("BEGIN TRAN").unwrap();
    for definition in [
        "CREATE TABLE s.t1 (id int CONSTRAINT pk1 PRIMARY KEY)",
        "DROP TABLE t2; CREATE TABLE t2 (id int, w int CONSTRAINT ck2 CHECK (w > 0))",
        "ALTER TABLE t3 DROP CONSTRAINT ck3; ALTER TABLE t4 ADD CONSTRAINT ck3 CHECK (v > 3)",
        "EXEC sp_rename 't5', 'u5'; ALTER SCHEMA s TRANSFER t6",
        "CREATE SYNONYM s.y FOR t0; CREATE SEQUENCE s.q; CREATE TYPE s.ty AS TABLE (a int)",
    ] {
        run(definition).unwrap();
        assert_eq!(run(LOST), none, "{definition}");
        assert_eq!(run(LOST), none, "{definition}, again");
    }
    let gone = "SELECT OBJECT_ID('t5'), OBJECT_ID('t6'), OBJECT_ID('dbo.nothing'), OBJECT_NAME(7)";
    assert_eq!(run(gone), Ok(vec!["NULL".to_owned(); 4]));
    run("ROLLBACK").unwrap();
    assert_eq!(run(LOST), none);
    assert_eq!(run("SELECT OBJECT_ID('s.t1'), OBJECT_ID('u5')"), Ok(vec!["NULL".to_owned(); 2]));
    assert_eq!(run("SELECT OBJECT_NAME(OBJECT_ID('sys.objects'))"), Ok(vec!["objects".to_owned()]));
}
