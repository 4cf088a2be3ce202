//! IN, OR of equalities, IS NULL, LIKE 'abc%', MIN and MAX by an index give what a scan gives: random
//! conditions on indexed tables, beside the same rows in a table without an index.

use engine::instance::ExecutionMode;
use engine::session::Session;

use crate::client::{batch, instance, login};
use crate::dice::Dice;

const COLUMNS: &str = "id int NOT NULL, a int NULL, b smallint NOT NULL, d decimal(6, 2) NULL, \
    s varchar(12) NULL, w nvarchar(12) COLLATE Latin1_General_CI_AI NULL, \
    z varchar(12) COLLATE Latin1_General_BIN2 NULL";

fn session(mode: ExecutionMode) -> Session {
    let instance = instance();
    instance.set_execution_mode(mode);
    let mut session = login(&instance);
    let setup = [
        format!("CREATE TABLE plain ({COLUMNS})"),
        format!("CREATE TABLE sought ({COLUMNS}, PRIMARY KEY (id), INDEX ia (a, b), INDEX id_ (d DESC), \
                 INDEX is_ (s), INDEX iw (w DESC), INDEX iz (b, z))"),
        format!("CREATE TABLE hashed ({COLUMNS}, PRIMARY KEY NONCLUSTERED HASH (id) WITH (BUCKET_COUNT = 64), \
                 INDEX ia HASH (a) WITH (BUCKET_COUNT = 64), INDEX is_ (s)) \
                 WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY)"),
        "INSERT plain SELECT value, CASE WHEN value % 7 = 0 THEN NULL ELSE value % 23 END, value % 5, \
         CASE WHEN value % 11 = 0 THEN NULL ELSE value % 40 / 4.0 END, \
         CASE value % 9 WHEN 0 THEN NULL WHEN 1 THEN 'ab' WHEN 2 THEN 'AB c' WHEN 3 THEN 'ab' + CHAR(1) \
         WHEN 4 THEN 'abc' WHEN 5 THEN 'a-bc' WHEN 6 THEN '' ELSE CONCAT('b', value % 13) END, \
         CASE value % 8 WHEN 0 THEN NULL WHEN 1 THEN N'\u{e4}b' WHEN 2 THEN N'ab' WHEN 3 THEN N'\u{c6}b' \
         WHEN 4 THEN N'aeb' WHEN 5 THEN N'A' WHEN 6 THEN N'a' + NCHAR(776) + N'b' ELSE N'b ' END, \
         CASE value % 6 WHEN 0 THEN NULL WHEN 1 THEN 'Ab' WHEN 2 THEN 'ab' WHEN 3 THEN 'a' WHEN 4 THEN 'ab ' \
         ELSE 'b%' END FROM GENERATE_SERIES(1, 200)"
            .to_owned(),
        "INSERT sought SELECT * FROM plain; INSERT hashed SELECT * FROM plain".to_owned(),
    ];
    for text in setup {
        let answer = batch(&mut session, &text);
        assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
    }
    session
}

fn value(dice: &mut Dice, column: &str) -> String {
    match column {
        "id" => (dice.roll(230)).to_string(),
        "a" => {
            dice.pick(&["1", "5", "9", "22", "40", "NULL", "3.5", "5000000000", "@v"]).to_owned()
        }
        "b" => dice.pick(&["0", "1", "4", "70000", "NULL", "@v"]).to_owned(),
        "d" => dice.pick(&["0", "2.5", "2.50", "9.75", "1e0", "@v", "7"]).to_owned(),
        "w" => dice.pick(&["N'ab'", "'AB'", "N'a'", "N'\u{e4}b'", "N'b'"]).to_owned(),
        _ => {
            dice.pick(&["'ab'", "'AB'", "'abc'", "''", "'b5'", "'b%'", "N'ab'", "'ab '"]).to_owned()
        }
    }
}

fn condition(dice: &mut Dice) -> String {
    let column = dice.pick(&["id", "a", "b", "d", "s", "w", "z"]);
    let pattern = |dice: &mut Dice| {
        dice.pick(&[
            "'ab%'",
            "N'ab%'",
            "'AB%'",
            "'a%'",
            "'b%'",
            "'ab %'",
            "'a_%'",
            "'b[1-3]%'",
            "'%b'",
            "'ab'",
        ])
    };
    let is_text = matches!(column, "s" | "w" | "z");
    match dice.roll(if is_text { 6 } else { 4 }) {
        0 => {
            let list: Vec<String> = (0..=dice.roll(5)).map(|_| value(dice, column)).collect();
            format!("{column} IN ({})", list.join(", "))
        }
        1 => {
            let (first, second) = (value(dice, column), value(dice, column));
            format!("({column} = {first} OR {second} = {column} OR {column} IS NULL)")
        }
        2 => format!("{column} IS NULL"),
        3 => format!(
            "({column} = {} OR {column} IN ({}, {}))",
            value(dice, column),
            value(dice, column),
            value(dice, column)
        ),
        _ => format!("{column} LIKE {}", pattern(dice)),
    }
}

fn compare(mode: ExecutionMode, seed: u64, rounds: u32) {
    let mut session = session(mode);
    let mut dice = Dice(seed);
    let mut found = 0;
    for _ in 0..rounds {
        let mut all = condition(&mut dice);
        for _ in 0..dice.roll(3) {
            all = format!("{all} AND {}", condition(&mut dice));
        }
        let list = dice.pick(&[
            "id FROM {} WHERE {c} ORDER BY id",
            "TOP 3 a, b, id FROM {} WHERE {c} ORDER BY a, b, id",
            "COUNT(*), COUNT(s), MAX(d), SUM(id) FROM {} WHERE {c}",
            "MIN(a) FROM {} WHERE {c}",
            "MAX(b) FROM {} WHERE {c}",
        ]);
        let text = |table: &str| {
            let query = list.replace("{}", table).replace("{c}", &all);
            format!("DECLARE @v smallint = 4; SELECT {query}")
        };
        let wanted = batch(&mut session, &text("plain"));
        let numbers = |errors: &[types::Error]| errors.iter().map(|e| e.number).collect::<Vec<_>>();
        for table in ["sought", "hashed"] {
            let got = batch(&mut session, &text(table));
            assert_eq!(numbers(&got.errors), numbers(&wanted.errors), "{}", text(table));
            assert_eq!(got.sets, wanted.sets, "{}", text(table));
        }
        found += wanted.sets.iter().flatten().count();
    }
    assert!(found > 100, "{found} rows");
}

#[test]
fn seeks_find_what_a_scan_finds() {
    compare(ExecutionMode::Row, 0x5EED_0001, 1_500);
}

#[test]
fn seeks_find_what_a_scan_finds_in_vector_mode() {
    compare(ExecutionMode::Vector, 0x5EED_0002, 700);
}

/// Extremes of whole columns, where NULLs come first, last, or are all there is.
#[test]
fn extremes_of_indexed_columns_ignore_null() {
    let mut session = session(ExecutionMode::Row);
    // Of strings that are equal under their collation, any is the least.
    for column in ["id", "a", "b", "d"] {
        for function in ["MIN", "MAX"] {
            for rest in ["", " WHERE a = 5", " WHERE a IS NULL", " WHERE b = 3", " WHERE id < 0"] {
                let text = |table: &str| format!("SELECT {function}({column}) FROM {table}{rest}");
                let wanted = batch(&mut session, &text("plain")).sets;
                for table in ["sought", "hashed"] {
                    assert_eq!(batch(&mut session, &text(table)).sets, wanted, "{}", text(table));
                }
            }
        }
    }
}

/// The plans say so.
#[test]
fn plans_show_several_seeks() {
    let mut session = session(ExecutionMode::Row);
    assert!(batch(&mut session, "SET SHOWPLAN_TEXT ON").errors.is_empty());
    let seeks = [
        ("id IN (5, 77, 150)", "[id]=(5) OR"),
        ("a = 5 OR a = 7 OR a IS NULL", "[a]=NULL"),
        ("a IS NULL AND d > 3", "SEEK:([master].[dbo].[sought].[a]=NULL)"),
        ("b = 2 AND z LIKE 'ab%'", "AND [master].[dbo].[sought].[z] >= 'ab'"),
        ("s LIKE 'ab%'", "[s] < 'ac'"),
    ];
    for (condition, shown) in seeks {
        let text = format!("SELECT * FROM sought WHERE {condition}");
        let plan = batch(&mut session, &text).sets.concat().concat().join("\n");
        assert!(plan.contains("Index Seek") && plan.contains(shown), "{condition}: {plan}");
    }
    let plan = batch(&mut session, "SELECT MAX(a) FROM sought").sets.concat().concat().join("\n");
    assert!(plan.contains("Top") && plan.contains("ORDERED BACKWARD"), "{plan}");
    for condition in ["s LIKE '%ab'", "a = 5 OR b = 3", "s LIKE w"] {
        let text = format!("SELECT * FROM sought WHERE {condition}");
        let plan = batch(&mut session, &text).sets.concat().concat().join("\n");
        assert!(!plan.contains("Index Seek"), "{condition}: {plan}");
    }
}

/// Changes by several seeks change each row once.
#[test]
fn changes_by_several_seeks_change_each_row_once() {
    let mut session = session(ExecutionMode::Row);
    for table in ["plain", "sought", "hashed"] {
        for text in [
            "UPDATE {} SET a = a + 2 WHERE a IN (1, 3, 5, 3)",
            "UPDATE {} SET a = NULL WHERE a = 9 OR a IS NULL",
            "DELETE {} WHERE id IN (4, 8, 15, 16, 23, 42, 4)",
            "UPDATE {} SET s = s + 'x' WHERE s LIKE 'b%'",
        ] {
            let answer = batch(&mut session, &text.replace("{}", table));
            assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
        }
    }
    let text = |table: &str| format!("SELECT id, a, b, d, s FROM {table} ORDER BY id");
    let wanted = batch(&mut session, &text("plain")).sets;
    assert_eq!(wanted[0].len(), 194);
    for table in ["sought", "hashed"] {
        assert_eq!(batch(&mut session, &text(table)).sets, wanted, "{table}");
    }
}
