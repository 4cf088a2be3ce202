//! DDL during writes: no write is lost, and none violates a new constraint.

use engine::instance::Instance;
use engine::session::Session;

use crate::client::{instance, login, run, sets};

const WRITERS: usize = 3;
const WRITES: usize = 300;

fn enter(instance: &std::sync::Arc<Instance>) -> Session {
    let mut session = login(instance);
    run(&mut session, "USE d");
    session
}

/// Runs a statement repeatedly on writer threads during a DDL statement; returns a session.
fn under_fire(create: &str, write: &str, define: &[&str]) -> Session {
    let instance = instance();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d");
    run(&mut session, "USE d");
    run(&mut session, create);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let mut writer = enter(&instance);
                for _ in 0..WRITES {
                    run(&mut writer, write);
                }
            });
        }
        for sql in define.iter().cycle().take(40) {
            run(&mut session, sql);
        }
    });
    session
}

const COUNTER: &str = "CREATE TABLE t (id int NOT NULL PRIMARY KEY, n bigint NOT NULL); \
                       INSERT t VALUES (1, 0), (2, 0)";
fn all() -> String {
    (WRITERS * WRITES).to_string()
}

#[test]
fn a_table_made_anew_loses_no_update() {
    let define = [
        "ALTER TABLE t ADD x int NULL",
        "ALTER TABLE t DROP COLUMN x",
        "ALTER TABLE t ALTER COLUMN n decimal(20, 0) NOT NULL",
        "ALTER TABLE t ALTER COLUMN n bigint NOT NULL",
    ];
    let mut session = under_fire(
        COUNTER,
        "UPDATE t SET n = n + 1 WHERE id = 1; IF @@ROWCOUNT <> 1 THROW 50001, 'gone', 1",
        &define,
    );
    assert_eq!(sets(&mut session, "SELECT n FROM t WHERE id = 1"), [[[all()]]]);
}

#[test]
fn a_table_made_anew_loses_no_insert_and_no_transaction() {
    let write = "BEGIN TRAN; INSERT t (n) VALUES (1); UPDATE c SET n = n + 1; COMMIT";
    let create = "CREATE TABLE t (id int IDENTITY PRIMARY KEY, n int); \
                  CREATE TABLE c (n int); INSERT c VALUES (0)";
    let define = [
        "ALTER TABLE t ADD x int NULL",
        "BEGIN TRAN; ALTER TABLE t DROP COLUMN x; ROLLBACK",
        "BEGIN TRAN; ALTER TABLE t DROP COLUMN x; COMMIT",
    ];
    let mut session = under_fire(create, write, &define);
    assert_eq!(sets(&mut session, "SELECT COUNT(*) FROM t"), [[[all()]]]);
    assert_eq!(sets(&mut session, "SELECT n FROM c"), [[[all()]]]);
}

#[test]
fn no_row_gets_by_a_constraint_that_is_being_added() {
    let write = "BEGIN TRY INSERT t VALUES (NEWID(), -1) END TRY \
                 BEGIN CATCH IF ERROR_NUMBER() <> 547 THROW END CATCH";
    let define = [
        "DELETE t; BEGIN TRY ALTER TABLE t ADD CONSTRAINT positive CHECK (n > 0) END TRY \
         BEGIN CATCH IF ERROR_NUMBER() <> 547 THROW END CATCH",
        "IF OBJECT_ID('positive') IS NOT NULL \
         IF EXISTS (SELECT * FROM t) THROW 50001, 'a row got by', 1 \
         ELSE ALTER TABLE t DROP CONSTRAINT positive",
    ];
    let create = "CREATE TABLE t (id uniqueidentifier PRIMARY KEY, n int)";
    under_fire(create, write, &define);
}
