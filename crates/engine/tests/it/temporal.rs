//! System-versioned tables against a model: the content of a table at every recorded time.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::instance::Instance;
use engine::session::Session;

use crate::client::{instance, instance_on, login, run, sets};
use crate::dice::Dice;

const TABLE: &str = "CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int NOT NULL, \
     s datetime2 GENERATED ALWAYS AS ROW START HIDDEN NOT NULL, \
     e datetime2 GENERATED ALWAYS AS ROW END HIDDEN NOT NULL, PERIOD FOR SYSTEM_TIME (s, e)) \
     WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.th))";

/// Rows of the table by id.
type Rows = BTreeMap<u64, u64>;

fn session_in(instance: &Arc<Instance>) -> Session {
    let mut session = login(instance);
    run(&mut session, "USE d");
    session
}

/// Makes a random change, in the table and in the model.
fn change(dice: &mut Dice, rows: &mut Rows, session: &mut Session) {
    let (id, v) = (dice.roll(12), dice.roll(1_000));
    let text = match dice.roll(6) {
        0 | 1 => {
            rows.entry(id).or_insert(v);
            format!(
                "IF NOT EXISTS (SELECT * FROM t WHERE id = {id}) INSERT t (id, v) VALUES ({id}, {v})"
            )
        }
        2 => {
            rows.entry(id).and_modify(|old| *old = v);
            format!("UPDATE t SET v = {v} WHERE id = {id}")
        }
        3 => {
            rows.remove(&id);
            format!("DELETE t WHERE id = {id}")
        }
        4 => {
            rows.iter_mut().filter(|(key, _)| **key % 3 == id % 3).for_each(|(_, old)| *old += 1);
            format!("UPDATE t SET v += 1 WHERE id % 3 = {}", id % 3)
        }
        _ => {
            rows.insert(id, v);
            format!(
                "MERGE t USING (VALUES ({id}, {v})) n (id, v) ON t.id = n.id WHEN MATCHED THEN \
                 UPDATE SET v = n.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (n.id, n.v);"
            )
        }
    };
    run(session, &text);
}

fn as_rows(set: &[Vec<String>]) -> Rows {
    set.iter().map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap())).collect()
}

#[test]
fn a_table_is_at_every_noted_moment_what_it_was_then() {
    let instance = instance();
    run(&mut login(&instance), "CREATE DATABASE d");
    let mut session = session_in(&instance);
    run(&mut session, TABLE);
    let mut dice = Dice(7);
    let mut rows = Rows::new();
    let mut noted: Vec<(String, Rows)> = Vec::new();
    for _ in 0..150 {
        match dice.roll(4) {
            0 => change(&mut dice, &mut rows, &mut session),
            how => {
                let mut inside = rows.clone();
                run(&mut session, "BEGIN TRANSACTION");
                for _ in 0..=dice.roll(5) {
                    change(&mut dice, &mut inside, &mut session);
                }
                if how == 1 {
                    run(&mut session, "ROLLBACK");
                } else {
                    run(&mut session, "COMMIT");
                    rows = inside;
                }
            }
        }
        let now = sets(&mut session, "SELECT SYSUTCDATETIME()")[0][0][0].clone();
        noted.push((now, rows.clone()));
    }
    for (moment, rows) in &noted {
        let then = format!("SELECT * FROM t FOR SYSTEM_TIME AS OF '{moment}'");
        assert_eq!(&as_rows(&sets(&mut session, &then)[0]), rows, "as of {moment}");
    }
    check_versions(&mut session);
}

/// The versions of a row follow each other: none begins before the previous one has ended, and
/// those that FOR SYSTEM_TIME ALL shows have a non-empty period.
fn check_versions(session: &mut Session) {
    let overlaps = "SELECT COUNT(*) FROM (SELECT s, LAG(e) OVER (PARTITION BY id ORDER BY s, e) AS ended \
         FROM t FOR SYSTEM_TIME ALL) v WHERE s < ended";
    assert_eq!(sets(session, overlaps)[0][0][0], "0");
    let empty = "SELECT COUNT(*) FROM t FOR SYSTEM_TIME ALL WHERE s >= e";
    assert_eq!(sets(session, empty)[0][0][0], "0");
}

#[test]
fn writers_of_the_same_rows_keep_every_version_once() {
    const SESSIONS: u64 = 4;
    const ROUNDS: u64 = 200;
    let instance = instance_on(2, |_| {});
    run(&mut login(&instance), "CREATE DATABASE d");
    let mut session = session_in(&instance);
    run(&mut session, TABLE);
    run(&mut session, "INSERT t (id, v) VALUES (0, 0), (1, 0), (2, 0)");
    std::thread::scope(|scope| {
        for number in 0..SESSIONS {
            let instance = &instance;
            scope.spawn(move || {
                let mut session = session_in(instance);
                let mut dice = Dice(number + 1);
                for _ in 0..ROUNDS {
                    let id = dice.roll(3);
                    run(&mut session, &format!("UPDATE t SET v += 1 WHERE id = {id}"));
                }
                if number == 0 {
                    run(&mut session, "UPDATE t SET v += 1");
                }
            });
        }
    });
    let counts = sets(&mut session, "SELECT SUM(v) FROM t; SELECT COUNT(*) FROM th");
    let all = (SESSIONS * ROUNDS + 3).to_string();
    assert_eq!((&counts[0][0][0], &counts[1][0][0]), (&all, &all));
    check_versions(&mut session);
    // The value increases by one from each version to the next, including those with an empty
    // period.
    let broken = "SELECT COUNT(*) FROM (SELECT v, s, LAG(v) OVER (PARTITION BY id ORDER BY v) AS before, \
         LAG(e) OVER (PARTITION BY id ORDER BY v) AS ended FROM (SELECT id, v, s, e FROM t UNION ALL \
         SELECT id, v, s, e FROM th) a) b WHERE v <> before + 1 OR s <> ended";
    assert_eq!(sets(&mut session, broken)[0][0][0], "0");
}
