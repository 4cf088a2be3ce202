//! Concurrent sessions: autocommit statements lose no update and report no error, and expiry
//! disturbs no session.

use engine::instance::LockMode;
use engine::session::Session;

use crate::client::{batch, instance, instance_in, login, run, sets};

const THREADS: usize = 4;
const ROUNDS: usize = 200;

/// Runs `sql` in several sessions at once, `ROUNDS` times each.
fn storm(instance: &std::sync::Arc<engine::instance::Instance>, sql: &[String]) {
    storm_of(instance, sql, ROUNDS);
}

fn storm_of(instance: &std::sync::Arc<engine::instance::Instance>, sql: &[String], rounds: usize) {
    std::thread::scope(|scope| {
        for sql in sql {
            scope.spawn(move || {
                let mut session = login(instance);
                run(&mut session, "USE d");
                for _ in 0..rounds {
                    run(&mut session, sql);
                }
            });
        }
    });
}

fn with_table(options: &str) -> (std::sync::Arc<engine::instance::Instance>, Session) {
    with_table_in(instance(), options)
}

fn with_table_in(
    instance: std::sync::Arc<engine::instance::Instance>,
    options: &str,
) -> (std::sync::Arc<engine::instance::Instance>, Session) {
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d");
    run(&mut session, "USE d");
    let create = format!(
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY NONCLUSTERED, n int NOT NULL, gone int) {options}"
    );
    run(&mut session, &create);
    run(&mut session, "INSERT t VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0)");
    (instance, session)
}

const MEMORY: &str = "WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY)";

#[test]
fn point_updates_of_one_row_all_count() {
    for options in ["", MEMORY] {
        let (instance, mut session) = with_table(options);
        let sql = vec!["UPDATE t SET n = n + 1 WHERE id = 1".to_owned(); THREADS];
        storm(&instance, &sql);
        let rows = sets(&mut session, "SELECT n FROM t WHERE id = 1");
        assert_eq!(rows, [[[(THREADS * ROUNDS).to_string()]]]);
    }
}

#[test]
fn scanning_updates_of_the_same_rows_all_count() {
    for options in ["", MEMORY] {
        let (instance, mut session) = with_table(options);
        let mut sql = vec!["UPDATE t SET n = n + 1 WHERE n >= 0".to_owned(); THREADS - 1];
        sql.push("UPDATE t SET n = n + 1 WHERE id = 2".to_owned());
        storm(&instance, &sql);
        let rows = sets(&mut session, "SELECT n FROM t ORDER BY id");
        let scans = ((THREADS - 1) * ROUNDS).to_string();
        let all = (THREADS * ROUNDS).to_string();
        assert_eq!(rows, [[[scans.clone()], [all], [scans]]]);
    }
}

/// Rows that a statement picks by TOP or a window function are there when it changes them: a queue
/// never looks empty to a consumer while it has messages, with or without lock hints.
#[test]
fn consumers_of_a_queue_get_a_row_each() {
    const EACH: usize = 30;
    let picks = [
        "WITH c AS (SELECT TOP (1) * FROM t ORDER BY id) DELETE c",
        "WITH c AS (SELECT TOP (1) * FROM t WHERE gone = 0 ORDER BY n, id DESC) DELETE c",
        "WITH c AS (SELECT *, ROW_NUMBER() OVER (ORDER BY n, id) AS r FROM t) DELETE c WHERE r = 1",
        "DELETE c FROM (SELECT TOP (1) t.id FROM t JOIN (VALUES (0)) v (n) ON v.n = t.n ORDER BY id) c",
        "WITH c AS (SELECT TOP (1) * FROM t WHERE gone = 0 ORDER BY id) UPDATE c SET gone = 1",
        "WITH c AS (SELECT TOP (1) * FROM t WHERE gone = 0 ORDER BY n, id) MERGE c USING (VALUES (0)) v (n) \
         ON v.n = c.n WHEN MATCHED THEN UPDATE SET gone = 1;",
        "BEGIN TRAN; WITH c AS (SELECT TOP (1) * FROM t ORDER BY n, id) DELETE c; COMMIT",
        "BEGIN TRAN; DECLARE @a int = 5; WITH c AS (SELECT TOP (1) * FROM t WHERE gone = 0 ORDER BY n, id) \
         UPDATE c SET gone = 1, @a += 1; COMMIT; IF @a <> 6 THROW 50001, 'not once', 1",
    ];
    for (options, sql) in ["", MEMORY].into_iter().flat_map(|o| picks.map(|sql| (o, sql))) {
        if options == MEMORY && sql.starts_with("BEGIN TRAN") {
            // A conflict of such a transaction is 41302, as in SQL Server.
            continue;
        }
        let (instance, mut session) = with_table(options);
        let fill = format!(
            "DELETE t; INSERT t SELECT value, value % 3 * 0, 0 FROM GENERATE_SERIES(1, {})",
            THREADS * EACH
        );
        run(&mut session, &fill);
        storm_of(&instance, &vec![sql.to_owned(); THREADS], EACH);
        let left = sets(&mut session, "SELECT COUNT(*) FROM t WHERE gone = 0");
        assert_eq!(left, [[["0"]]], "{options} {sql}");
    }
}

/// Of the rows among which a window function or a sort picks, a statement holds those that it
/// changes: another session changes the others at once.
#[test]
fn rows_that_are_not_picked_stay_free() {
    let picks = [
        "WITH d AS (SELECT ROW_NUMBER() OVER (PARTITION BY n ORDER BY id) r FROM t) DELETE d WHERE r = 2",
        "WITH d AS (SELECT TOP (1) * FROM t ORDER BY n, id DESC) UPDATE d SET gone = 2",
        "WITH d AS (SELECT TOP (1) * FROM t ORDER BY n, id DESC) MERGE d USING (VALUES (7)) v (n) \
         ON v.n = d.n WHEN MATCHED THEN DELETE;",
    ];
    for sql in picks {
        let (instance, mut first) = with_table("");
        run(&mut first, "DELETE t; INSERT t VALUES (1, 7, 0), (2, 8, 0), (3, 7, 0), (4, 9, 0)");
        run(
            &mut first,
            &format!("BEGIN TRAN; {sql}; IF @@ROWCOUNT <> 1 THROW 50001, 'not one', 1"),
        );
        let mut second = login(&instance);
        run(&mut second, "USE d; SET LOCK_TIMEOUT 0; UPDATE t SET gone = 1 WHERE id <> 3");
        let answer = batch(&mut second, "UPDATE t SET gone = 1 WHERE id = 3");
        assert_eq!(answer.errors[0].number, 1222, "{sql}");
        run(&mut first, "COMMIT");
    }
}

/// Statements that pick rows in opposite orders wait for each other, but none is a victim: it has
/// only its own work to do again.
#[test]
fn consumers_from_both_ends_of_a_queue_meet() {
    const EACH: usize = 20;
    let (instance, mut session) = with_table("");
    let fill = format!(
        "DELETE t; INSERT t SELECT value, value % 3 * 0, 0 FROM GENERATE_SERIES(1, {})",
        THREADS * EACH * 3
    );
    run(&mut session, &fill);
    let sql: Vec<String> = (0..THREADS)
        .map(|i| {
            let order = if i % 2 == 0 { "n, id" } else { "n, id DESC" };
            format!("WITH c AS (SELECT TOP (3) * FROM t ORDER BY {order}) DELETE c")
        })
        .collect();
    storm_of(&instance, &sql, EACH);
    assert_eq!(sets(&mut session, "SELECT COUNT(*) FROM t"), [[["0"]]]);
}

#[test]
fn variables_of_an_update_that_runs_again_count_once() {
    let (instance, mut session) = with_table(MEMORY);
    let sql = "DECLARE @a int = 5, @b int; UPDATE t SET @a += 1, @b = n = n + 1 WHERE id = 1; \
               IF @a <> 6 OR @b IS NULL THROW 50001, 'counted twice', 1";
    storm(&instance, &vec![sql.to_owned(); THREADS]);
    let rows = sets(&mut session, "SELECT n FROM t WHERE id = 1");
    assert_eq!(rows, [[[(THREADS * ROUNDS).to_string()]]]);
}

#[test]
fn expiry_and_upserts_go_on_side_by_side() {
    let (instance, mut session) = with_table("");
    let mut sql: Vec<String> = (10..12)
        .map(|id| {
            format!(
                "UPDATE t SET n = n + 1 WHERE id = {id} IF @@ROWCOUNT = 0 \
                 INSERT t VALUES ({id}, 1, 1)"
            )
        })
        .collect();
    sql.push("DELETE t WHERE gone > 0".to_owned());
    sql.push("SELECT COUNT(*) FROM t WHERE gone = 0".to_owned());
    storm(&instance, &sql);
    run(&mut session, "DELETE t WHERE gone > 0");
    let rows = sets(&mut session, "SELECT COUNT(*) FROM t");
    assert_eq!(rows, [[["3"]]]);
}

#[test]
fn explicit_transactions_on_one_row_conflict_or_wait() {
    let (instance, mut first) = with_table(MEMORY);
    let mut second = login(&instance);
    run(&mut second, "USE d");
    run(&mut first, "BEGIN TRAN; UPDATE t WITH (SNAPSHOT) SET n = 1 WHERE id = 1");
    let answer = batch(&mut second, "BEGIN TRAN; UPDATE t WITH (SNAPSHOT) SET n = 2 WHERE id = 1");
    assert_eq!(answer.errors[0].number, 41302);
    run(&mut second, "IF @@TRANCOUNT > 0 ROLLBACK");
    run(&mut first, "COMMIT");
    assert_eq!(sets(&mut second, "SELECT n FROM t WHERE id = 1"), [[["1"]]]);
}

#[test]
fn every_lock_mode_gives_the_same_answers_while_the_catalog_changes() {
    for (name, mode) in LockMode::NAMES {
        let (instance, mut session) = with_table_in(instance_in(*mode), MEMORY);
        let update = "UPDATE t SET n = n + 1 WHERE id = 1; SELECT n FROM t WHERE id = 2";
        let mut sql = vec![update.to_owned()];
        sql.resize(THREADS - 1, sql[0].clone());
        sql.push("CREATE TABLE other (id int); DROP TABLE other".to_owned());
        storm(&instance, &sql);
        let rows = sets(&mut session, "SELECT n FROM t WHERE id = 1");
        assert_eq!(rows, [[[((THREADS - 1) * ROUNDS).to_string()]]], "{name}");
        // Idle locks have this class too, and its row exists whether there were collisions or not.
        let sql = "SELECT COUNT(*) FROM sys.dm_os_spinlock_stats WHERE name IN
                   ('CMED_HASH_SET', 'LOCK_RW_CMED_HASH_SET', 'LOCK_RW_SECURITY_CACHE')";
        assert_eq!(sets(&mut session, sql), [[["3"]]], "{name}");
    }
}

#[test]
fn an_atomic_block_that_has_sent_rows_does_not_run_again() {
    let (instance, mut session) = with_table(MEMORY);
    run(
        &mut session,
        "CREATE PROCEDURE dbo.p WITH NATIVE_COMPILATION, SCHEMABINDING AS BEGIN ATOMIC WITH \
         (TRANSACTION ISOLATION LEVEL = SNAPSHOT, LANGUAGE = N'us_english') \
         SELECT n FROM dbo.t WHERE id = 1; \
         DECLARE @i int = 0; WHILE @i < 200 SET @i += 1; \
         UPDATE dbo.t SET n += 1 WHERE id = 1; UPDATE dbo.t SET n += 1 WHERE id = 2; END",
    );
    let conflicts = std::sync::atomic::AtomicU32::new(0);
    let order = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut session = login(&instance);
                run(&mut session, "USE d");
                // A conflict takes two sessions at once: on a loaded machine that may be rare.
                for round in 0..100 * ROUNDS {
                    if round >= ROUNDS && conflicts.load(order) > 0 {
                        break;
                    }
                    let answer = batch(&mut session, "EXEC dbo.p");
                    assert_eq!(answer.sets.len(), 1, "{answer:?}");
                    assert_eq!(answer.counts, [0_u64; 0], "NOCOUNT is ON");
                    if let Some(error) = answer.errors.first() {
                        assert_eq!(error.number, 41302);
                        conflicts.fetch_add(1, order);
                    }
                }
            });
        }
    });
    assert!(conflicts.load(order) > 0, "sessions met");
}
