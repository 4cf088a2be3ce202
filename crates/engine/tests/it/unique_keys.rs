//! Unique keys and foreign keys are checked when a statement has changed all its rows: random
//! changes of keys that pass over each other, compared with a model that changes a list.

use std::collections::BTreeMap;

use engine::session::Session;

use crate::client::{batch, instance, login};
use crate::dice::Dice;

/// A table's rows: its key, a second unique column, and a name that stays with the row.
type Model = Vec<(i64, i64, i64)>;

/// Returns whether all keys of both kinds differ.
fn is_unique(rows: &Model) -> bool {
    let distinct = |keys: Vec<i64>| {
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.len() == keys.len()
    };
    distinct(rows.iter().map(|r| r.0).collect()) && distinct(rows.iter().map(|r| r.1).collect())
}

/// Runs a statement that the model says gives these rows; returns whether it was accepted.
fn apply(session: &mut Session, table: &str, text: &str, model: &mut Model, new: Model) -> bool {
    let answer = batch(session, text);
    let accepted = is_unique(&new);
    let numbers: Vec<i32> = answer.errors.iter().map(|e| e.number).collect();
    if accepted {
        assert_eq!(numbers, [], "{text} on {model:?}");
        *model = new;
        model.sort_unstable();
    } else {
        assert!(numbers == [2627] || numbers == [2601], "{text} on {model:?}: {numbers:?}");
    }
    let rows = batch(session, &format!("SELECT k, u, id FROM {table} ORDER BY k"));
    let wanted: Vec<Vec<String>> =
        model.iter().map(|r| vec![r.0.to_string(), r.1.to_string(), r.2.to_string()]).collect();
    assert_eq!(rows.sets[0], wanted, "rows after {text}");
    accepted
}

/// Maps each key by a random table of `CASE`s; keys that it leaves out stay.
fn mapping(dice: &mut Dice, rows: &Model) -> (String, BTreeMap<i64, i64>) {
    let mut map = BTreeMap::new();
    let mut text = String::from("CASE k");
    for (key, ..) in rows {
        if dice.number(3) > 0 {
            let to = dice.number(12);
            map.insert(*key, to);
            text.push_str(&format!(" WHEN {key} THEN {to}"));
        }
    }
    if map.is_empty() {
        return ("k".to_owned(), map);
    }
    (text + " ELSE k END", map)
}

fn update(dice: &mut Dice, rows: &Model) -> (String, Model) {
    let shift = dice.number(5) - 2;
    let least = dice.number(12);
    match dice.number(4) {
        0 => {
            let new = |r: &(i64, i64, i64)| match r.0 >= least {
                true => (r.0 + shift, r.1 - shift, r.2),
                false => *r,
            };
            let text = format!("SET k = k + {shift}, u = u - {shift} WHERE k >= {least}");
            (text, rows.iter().map(new).collect())
        }
        1 => {
            let sum = dice.number(14);
            let text = format!("SET k = {sum} - k");
            (text, rows.iter().map(|r| (sum - r.0, r.1, r.2)).collect())
        }
        // The two columns change their values.
        2 => ("SET k = u, u = k".to_owned(), rows.iter().map(|r| (r.1, r.0, r.2)).collect()),
        _ => {
            let (text, map) = mapping(dice, rows);
            let new = |r: &(i64, i64, i64)| (*map.get(&r.0).unwrap_or(&r.0), r.1, r.2);
            (format!("SET k = {text}"), rows.iter().map(new).collect())
        }
    }
}

#[test]
fn keys_that_pass_over_each_other_are_changed_as_a_whole() {
    let mut session = login(&instance());
    let mut dice = Dice(0x0051_7CC1_B727);
    let kinds = [
        ("plain", "CREATE TABLE plain (k int PRIMARY KEY, u int UNIQUE, id int)"),
        (
            "heap",
            "CREATE TABLE heap (k int NOT NULL, u int, id int); \
                  CREATE UNIQUE INDEX ik ON heap (k DESC); CREATE UNIQUE INDEX iu ON heap (u)",
        ),
        (
            "memory",
            "CREATE TABLE memory (k int NOT NULL PRIMARY KEY NONCLUSTERED, u int NOT NULL \
                    UNIQUE, id int) WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY)",
        ),
    ];
    let (mut accepted, mut refused) = (0, 0);
    for (table, create) in kinds {
        assert!(batch(&mut session, create).errors.is_empty());
        let mut model: Model = (1..=6).map(|n| (n, n, n)).collect();
        for (k, u, id) in &model {
            batch(&mut session, &format!("INSERT {table} VALUES ({k}, {u}, {id})"));
        }
        for _ in 0..300 {
            let (change, new) = update(&mut dice, &model);
            let text = format!("UPDATE {table} {change}");
            match apply(&mut session, table, &text, &mut model, new) {
                true => accepted += 1,
                false => refused += 1,
            }
        }
    }
    assert!(accepted > 100 && refused > 100, "{accepted} accepted, {refused} refused");
}

#[test]
fn merge_may_take_keys_that_it_frees() {
    let mut session = login(&instance());
    let mut dice = Dice(0x00A5_93F1);
    batch(&mut session, "CREATE TABLE m (k int PRIMARY KEY, u int UNIQUE, id int)");
    let mut model: Model = (1..=6).map(|n| (n, n, n)).collect();
    for (k, u, id) in &model {
        batch(&mut session, &format!("INSERT m VALUES ({k}, {u}, {id})"));
    }
    let (mut next, mut accepted, mut refused) = (7, 0, 0);
    for _ in 0..400 {
        // Each source row names a row by its id, and what becomes of it.
        let (mut source, mut new) = (Vec::new(), Model::new());
        for (k, u, id) in &model {
            let to = dice.number(10);
            match dice.number(4) {
                0 => source.push(format!("({id}, NULL)")),
                1 => {
                    source.push(format!("({id}, {to})"));
                    new.push((to, *u, *id));
                }
                _ => new.push((*k, *u, *id)),
            }
        }
        if model.len() < 6 || dice.number(3) == 0 {
            let to = dice.number(10);
            source.push(format!("({next}, {to})"));
            new.push((to, to, next));
            next += 1;
        }
        if source.is_empty() {
            continue;
        }
        let text = format!(
            "MERGE m USING (VALUES {}) AS s (id, k) ON s.id = m.id WHEN MATCHED AND s.k IS NULL \
             THEN DELETE WHEN MATCHED THEN UPDATE SET k = s.k WHEN NOT MATCHED THEN INSERT \
             VALUES (s.k, s.k, s.id);",
            source.join(", ")
        );
        match apply(&mut session, "m", &text, &mut model, new) {
            true => accepted += 1,
            false => refused += 1,
        }
    }
    assert!(accepted > 40 && refused > 40, "{accepted} accepted, {refused} refused");
}

/// Rows that refer to changed keys follow them, with and without an index on the reference.
#[test]
fn referring_rows_follow_keys_that_pass_over_each_other() {
    let mut session = login(&instance());
    let mut dice = Dice(0x0D15_EA5E);
    let setup = [
        "CREATE TABLE p (k int PRIMARY KEY, u int UNIQUE, id int)",
        "CREATE TABLE scanned (id int, p int REFERENCES p (k) ON UPDATE CASCADE)",
        "CREATE TABLE sought (id int, p int REFERENCES p (k) ON UPDATE CASCADE, INDEX ix (p))",
        "CREATE TABLE nulled (id int, p int REFERENCES p (k) ON UPDATE SET NULL)",
        "INSERT p SELECT value, value, value FROM GENERATE_SERIES(1, 6)",
        "INSERT scanned SELECT a.value, a.value FROM GENERATE_SERIES(1, 6) a, \
         GENERATE_SERIES(1, 3) b; INSERT sought SELECT * FROM scanned",
    ];
    for text in setup {
        assert!(batch(&mut session, text).errors.is_empty(), "{text}");
    }
    let mut model: Model = (1..=6).map(|n| (n, n, n)).collect();
    let mut accepted = 0;
    for _ in 0..200 {
        batch(&mut session, "DELETE nulled; INSERT nulled SELECT id, k FROM p");
        let (change, new) = update(&mut dice, &model);
        let before = model.clone();
        if !apply(&mut session, "p", &format!("UPDATE p {change}"), &mut model, new) {
            continue;
        }
        accepted += 1;
        for child in ["scanned", "sought"] {
            let text =
                format!("SELECT COUNT(*) FROM {child} AS c JOIN p ON p.k = c.p WHERE p.id = c.id");
            assert_eq!(batch(&mut session, &text).sets[0][0][0], "18", "{child} after {change}");
        }
        let is_kept = |r: &&(i64, i64, i64)| before.iter().any(|b| (b.0, b.2) == (r.0, r.2));
        let kept = model.iter().filter(is_kept).count();
        let text = "SELECT COUNT(p) FROM nulled";
        assert_eq!(batch(&mut session, text).sets[0][0][0], kept.to_string(), "after {change}");
    }
    assert!(accepted > 40, "{accepted} accepted");
}

/// A key that another row takes in the same statement is still there for rows that refer to it.
#[test]
fn a_reference_is_checked_when_all_rows_have_changed() {
    let mut session = login(&instance());
    let setup = "CREATE TABLE p (k int PRIMARY KEY); CREATE TABLE c (p int REFERENCES p); \
                 INSERT p VALUES (1), (2), (3); INSERT c VALUES (2)";
    assert!(batch(&mut session, setup).errors.is_empty());
    let numbers = |session: &mut Session, text: &str| {
        batch(session, text).errors.iter().map(|e| e.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&mut session, "UPDATE p SET k = 4 - k"), []);
    assert_eq!(numbers(&mut session, "UPDATE p SET k = k - 1"), []);
    assert_eq!(numbers(&mut session, "UPDATE p SET k = k + 5"), [547]);
    assert_eq!(numbers(&mut session, "DELETE p WHERE k <> 2"), []);
    assert_eq!(numbers(&mut session, "DELETE p"), [547]);
    let left = batch(&mut session, "SELECT k FROM p");
    assert_eq!(left.sets[0], [["2"]]);
}
