//! Partitions against a model: SPLIT, MERGE, SWITCH, TRUNCATE and INSERT at random. After each step
//! the rows of every partition, as `sys.partitions` counts them and as `$PARTITION` numbers them, are
//! those of the model. A restart changes none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use ::durable::{Folder, Settings};
use engine::session::Session;

use crate::client::{batch, instance, login, run, sets};
use crate::dice::Dice;

/// A partition function, the rows of its table and of a staging table.
#[derive(Clone)]
struct Model {
    right: bool,
    bounds: BTreeSet<i64>,
    rows: Vec<i64>,
    staged: Vec<i64>,
}

impl Model {
    fn number(&self, value: i64) -> usize {
        let is_before = |bound: &&i64| **bound < value || (self.right && **bound == value);
        self.bounds.iter().filter(is_before).count() + 1
    }

    fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.bounds.len() + 1];
        self.rows.iter().for_each(|value| counts[self.number(*value) - 1] += 1);
        counts
    }

    /// Returns the condition that a partition is.
    fn condition(&self, number: usize) -> String {
        let bounds: Vec<i64> = self.bounds.iter().copied().collect();
        let (above, below) = if self.right { (">=", "<") } else { (">", "<=") };
        let mut parts = vec!["a = a".to_owned()];
        if number > 1 {
            parts = vec![format!("a {above} {}", bounds[number - 2])];
        }
        if let Some(bound) = bounds.get(number - 1) {
            parts.retain(|part| part != "a = a");
            parts.push(format!("a {below} {bound}"));
        }
        parts.join(" AND ")
    }
}

fn error_of(session: &mut Session, text: &str) -> i32 {
    batch(session, text).errors.first().map_or(0, |error| error.number)
}

/// Makes one step: the statement, and what the model becomes if it gives no error. Also returns the
/// error that the model expects, 0 for none.
fn step(model: &Model, dice: &mut Dice) -> (String, Model, i32) {
    let mut next = model.clone();
    let value = dice.number(100);
    let number = dice.place(model.bounds.len() + 1) + 1;
    match dice.roll(8) {
        0 => {
            let text = format!("ALTER PARTITION FUNCTION f() SPLIT RANGE ({value})");
            let error = if next.bounds.insert(value) { 0 } else { 7721 };
            (text, next, error)
        }
        1 => {
            let known = model.bounds.iter().nth(number - 1).copied().unwrap_or(value);
            let text = format!("ALTER PARTITION FUNCTION f() MERGE RANGE ({known})");
            let error = match (model.bounds.is_empty(), next.bounds.remove(&known)) {
                (true, _) => 7716,
                (false, true) => 0,
                (false, false) => 7715,
            };
            (text, next, error)
        }
        2 | 3 => {
            let text = format!("ALTER TABLE t SWITCH PARTITION {number} TO s");
            let error = if model.staged.is_empty() { 0 } else { 4905 };
            let (moved, kept) =
                model.rows.iter().copied().partition(|row| model.number(*row) == number);
            (next.staged, next.rows) = (moved, kept);
            (text, next, error)
        }
        4 => {
            let of: BTreeSet<usize> = model.staged.iter().map(|row| model.number(*row)).collect();
            let number = of.first().copied().unwrap_or(number);
            let text = format!(
                "ALTER TABLE s ADD CONSTRAINT ck CHECK ({}); \
                 ALTER TABLE s SWITCH TO t PARTITION {number}; ALTER TABLE s DROP CONSTRAINT IF EXISTS ck",
                model.condition(number)
            );
            // Rows that a MERGE or SPLIT has put into several partitions violate the constraint.
            let error = match (of.len() > 1, model.counts()[number - 1]) {
                (true, _) => 547,
                (false, 0) => 0,
                (false, _) => 4904,
            };
            next.rows.append(&mut next.staged);
            (text, next, error)
        }
        5 => {
            let text = format!("TRUNCATE TABLE t WITH (PARTITIONS ({number}))");
            next.rows.retain(|row| model.number(*row) != number);
            (text, next, 0)
        }
        _ => {
            let values: Vec<i64> = (0..dice.roll(6) + 1).map(|_| dice.number(100)).collect();
            let list: Vec<String> = values.iter().map(|value| format!("({value})")).collect();
            next.rows.extend(values);
            (format!("INSERT t (a) VALUES {}", list.join(", ")), next, 0)
        }
    }
}

/// Compares the partitions of the database with the model.
fn compare(session: &mut Session, model: &Model, after: &str) {
    let shown = sets(
        session,
        "SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('t') AND index_id < 2 ORDER BY partition_number; \
         SELECT $PARTITION.f(a), COUNT(*) FROM t GROUP BY $PARTITION.f(a); \
         SELECT COUNT(*), ISNULL(SUM(a), 0) FROM s; SELECT ISNULL(SUM(a), 0) FROM t; SELECT COUNT(*) FROM t WITH (INDEX (ix))",
    );
    let counts = model.counts();
    let words: Vec<Vec<String>> = counts.iter().map(|count| vec![count.to_string()]).collect();
    assert_eq!(shown[0], words, "after {after}");
    let numbered = (1..).zip(&counts).filter(|(_, count)| **count > 0);
    let numbered: BTreeMap<usize, usize> =
        numbered.map(|(number, count)| (number, *count)).collect();
    let of = |row: &Vec<String>| (row[0].parse().unwrap(), row[1].parse().unwrap());
    assert_eq!(shown[1].iter().map(of).collect::<BTreeMap<_, _>>(), numbered, "after {after}");
    let sum = |rows: &[i64]| rows.iter().sum::<i64>().to_string();
    assert_eq!(shown[2][0], [model.staged.len().to_string(), sum(&model.staged)], "after {after}");
    assert_eq!(shown[3][0], [sum(&model.rows)], "after {after}");
    assert_eq!(shown[4][0], [model.rows.len().to_string()], "after {after}");
}

fn define(session: &mut Session, right: bool, clustered: bool) {
    let side = if right { "RIGHT" } else { "LEFT" };
    let key = if clustered {
        "CREATE CLUSTERED INDEX c ON t (a); CREATE CLUSTERED INDEX c ON s (a)"
    } else {
        ""
    };
    let text = format!(
        "CREATE PARTITION FUNCTION f (int) AS RANGE {side} FOR VALUES (30, 60); CREATE PARTITION SCHEME p AS PARTITION f ALL TO ([PRIMARY]); \
         CREATE TABLE t (id int IDENTITY, a int NOT NULL) ON p (a); CREATE TABLE s (id int IDENTITY, a int NOT NULL); \
         CREATE INDEX ix ON t (id); CREATE INDEX ix ON s (id) INCLUDE (a); {key}"
    );
    run(session, &text);
}

#[test]
fn partitions_are_those_of_a_model_whatever_is_done_to_them() {
    let (mut switched, mut refused) = (0, 0);
    for (right, clustered, seed) in [(false, false, 0x5eed), (true, true, 0xdeed), (true, false, 7)]
    {
        let instance = instance();
        let mut session = login(&instance);
        run(&mut session, "CREATE DATABASE d; USE d");
        define(&mut session, right, clustered);
        let bounds = BTreeSet::from([30, 60]);
        let mut model = Model { right, bounds, rows: Vec::new(), staged: Vec::new() };
        let mut dice = Dice(seed);
        for _ in 0..120 {
            let (text, next, expected) = step(&model, &mut dice);
            let undone = dice.roll(5) == 0 && expected == 0;
            run(&mut session, "ALTER PARTITION SCHEME p NEXT USED [PRIMARY]");
            let text = if undone { format!("BEGIN TRAN; {text}; ROLLBACK") } else { text };
            assert_eq!(error_of(&mut session, &text), expected, "{text}");
            refused += i32::from(expected != 0);
            if expected == 0 && !undone {
                switched += i32::from(text.contains("SWITCH") && next.rows != model.rows);
                model = next;
            }
            compare(&mut session, &model, &text);
        }
    }
    assert!(switched > 10 && refused > 20, "{switched} {refused}");
}

/// A folder that is removed when the test ends.
struct Data(PathBuf);

impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn partitions_and_switched_rows_survive_a_restart() {
    let name = format!("clearway-{}-partitions", std::process::id());
    let data = Data(std::env::temp_dir().join(name));
    let _ = std::fs::remove_dir_all(&data.0);
    let open = || {
        let instance = instance();
        let folder = Folder::open(data.0.to_str().unwrap()).unwrap();
        instance.open_database(folder, &Settings::default()).unwrap();
        instance
    };
    let bounds = BTreeSet::from([30, 45, 60]);
    let staged = vec![50, 60];
    let model = Model { right: false, bounds, rows: vec![1, 31, 45, 99], staged };
    {
        let instance = open();
        let mut session = login(&instance);
        run(&mut session, "CREATE DATABASE d; USE d");
        define(&mut session, false, true);
        run(&mut session, "INSERT t (a) VALUES (1), (31), (45), (50), (60), (99)");
        run(&mut session, "ALTER PARTITION FUNCTION f() SPLIT RANGE (45)");
        run(&mut session, "ALTER TABLE t SWITCH PARTITION 3 TO s");
        compare(&mut session, &model, "a switch");
        instance.flush_log().unwrap();
        drop(session);
        instance.machine.stop(Duration::from_secs(20));
        instance.durable().unwrap().stop();
    }
    let instance = open();
    let mut session = login(&instance);
    run(&mut session, "USE d");
    compare(&mut session, &model, "a restart");
    // Definitions that were read back go on to work.
    run(&mut session, "ALTER PARTITION SCHEME p NEXT USED [PRIMARY]");
    run(&mut session, "ALTER TABLE s ADD CONSTRAINT ck CHECK (a > 45 AND a <= 60)");
    run(&mut session, "ALTER TABLE s SWITCH TO t PARTITION 3");
    let rows = vec![1, 31, 45, 99, 50, 60];
    compare(&mut session, &Model { rows, staged: Vec::new(), ..model }, "a switch back");
}
