//! Abnormal ends of parallel statements: an attention, KILL, an error in a helper, lack of memory.
//! In each case all helpers stop, nothing stays locked, and the next statement runs on several
//! schedulers again.

use std::sync::Arc;
use std::time::Duration;

use engine::instance::ExecutionMode;
use engine::instance::{Config, Instance};
use engine::session::Session;
use sos::park;
use sos::wait::WaitType;

use crate::client::{batch, describe, instance_on, login, run};
use crate::export::{Folder, make_files};

const ROWS: i64 = 120_000;

/// One statement of each kind of parallel region, and of each operator that can drive one.
const STATEMENTS: [&str; 7] = [
    "SELECT k, COUNT(*), SUM(v), MAX(HASHBYTES('SHA2_256', CAST(v AS varbinary(8)))) FROM t GROUP BY k",
    "SELECT id, v FROM t WHERE v % 3 = 1 ORDER BY v DESC",
    "INSERT target WITH (TABLOCK) SELECT id, k, v FROM t WHERE id > 0",
    "SELECT COUNT(*), SUM(a.v) FROM t AS a WHERE EXISTS (SELECT 1 FROM t AS b WHERE b.v = a.v AND b.k < 500)",
    "SELECT COUNT_BIG(*) FROM t AS a JOIN u ON u.k = a.k WHERE a.v + u.id > 0",
    "SELECT k, COUNT(*), SUM(v), MAX(HASHBYTES('SHA2_256', CAST(v AS varbinary(8)))) FROM f GROUP BY k",
    "INSERT target WITH (TABLOCK) SELECT id, k, v FROM f",
];

/// Files of the external table `f`.
const FILES: [i64; 6] = [ROWS / 6; 6];

/// Returns an engine with two schedulers that runs every possible statement in parallel, and its
/// tables.
fn eager(change: impl FnOnce(&mut Config)) -> (Arc<Instance>, Session, Folder) {
    let instance = instance_on(2, change);
    instance.set_execution_mode(ExecutionMode::Vector);
    let mut session = login(&instance);
    let folder = Folder::new();
    make_files(&mut session, &folder, &FILES);
    let prepare = format!(
        "EXEC sp_configure 'show advanced options', 1; RECONFIGURE;
         EXEC sp_configure 'cost threshold for parallelism', 0; RECONFIGURE;
         CREATE TABLE t (id int NOT NULL, k int NOT NULL, v bigint NOT NULL);
         INSERT t SELECT value, value % 1000, value FROM GENERATE_SERIES(1, {ROWS});
         CREATE TABLE u (id int NOT NULL, k int NOT NULL);
         INSERT u SELECT value, value % 1000 FROM GENERATE_SERIES(1, 8000);
         CREATE TABLE target (id int NOT NULL, k int NOT NULL, v bigint NOT NULL, INDEX c CLUSTERED COLUMNSTORE)"
    );
    run(&mut session, &prepare);
    (instance, session, folder)
}

fn number(session: &mut Session, text: &str) -> i64 {
    run(session, text).sets[0][0][0].parse().unwrap()
}

fn rest(pause: Duration) {
    park::sleep(pause, WaitType::SleepTask, None);
}

/// Asserts that nothing is left of the statement, and that helpers are available again.
fn assert_all_is_well(session: &mut Session) {
    let used = "SELECT SUM(used_memory_kb) FROM sys.dm_exec_query_resource_semaphores";
    assert_eq!(number(session, used), 0, "memory is held");
    let tasks = "SELECT COUNT(*) FROM sys.dm_os_tasks WHERE exec_context_id > 0";
    assert_eq!(number(session, tasks), 0, "somebody works on");
    let groups = "SELECT COALESCE(SUM(total_rows), 0) FROM sys.column_store_row_groups WHERE object_id = OBJECT_ID('target')";
    let rows = number(session, "SELECT COUNT(*) FROM target");
    assert_eq!(rows % ROWS, 0, "a part of a load is there");
    assert_eq!(number(session, groups), rows);
    run(session, "SET STATISTICS XML ON");
    let is_parallel = |session: &mut Session| {
        let answer = run(session, "SELECT k, SUM(v) FROM t GROUP BY k");
        answer.sets[1][0][0].contains("DegreeOfParallelism=\"2\"")
    };
    assert!((0..200).any(|_| is_parallel(session)), "nobody helps any more");
    run(session, "SET STATISTICS XML OFF");
    let sum = "SELECT COUNT(*) + SUM(v) FROM t WHERE k >= 0";
    assert_eq!(number(session, sum), ROWS + ROWS * (ROWS + 1) / 2);
}

/// Returns the duration of each statement without interruption.
fn durations(session: &mut Session) -> Vec<Duration> {
    let measured = STATEMENTS.iter().map(|text| {
        let begin = sos::clock::monotonic_ns();
        run(session, text);
        Duration::from_nanos(sos::clock::monotonic_ns() - begin)
    });
    let measured = measured.collect();
    run(session, "TRUNCATE TABLE target");
    measured
}

/// Multiples of the golden ratio, which spread evenly over a duration.
fn moment(round: u32, whole: Duration) -> Duration {
    whole.mul_f64(f64::from(round) * 0.618_033_988_75 % 1.0)
}

#[test]
fn an_attention_at_any_moment_ends_leader_and_helpers() {
    let (_instance, mut session, _folder) = eager(|_| {});
    let durations = durations(&mut session);
    let cancel = Arc::clone(session.cancel());
    let mut ended = 0;
    for round in 0..150_u32 {
        let which = round as usize % STATEMENTS.len();
        let after = moment(round, durations[which]);
        let is_cut = std::thread::scope(|scope| {
            let cancel = &cancel;
            scope.spawn(move || {
                rest(after);
                cancel.set();
            });
            let answer = batch(&mut session, STATEMENTS[which]);
            assert!(answer.errors.is_empty(), "{}", describe(&answer.errors[0]));
            answer.counts.is_empty()
        });
        ended += u32::from(is_cut);
        session.cancel().clear();
    }
    assert!(ended > 30, "{ended} of 150 were ended in their midst");
    assert_all_is_well(&mut session);
}

#[test]
fn a_session_that_is_killed_takes_its_helpers_with_it() {
    let (instance, mut session, _folder) = eager(|_| {});
    let durations = durations(&mut session);
    for round in 0..40_u32 {
        let which = round as usize % STATEMENTS.len();
        let mut victim = login(&instance);
        run(&mut victim, "USE d");
        let kill = format!("KILL {}", victim.state().connection.id);
        std::thread::scope(|scope| {
            let victim = scope.spawn(move || batch(&mut victim, STATEMENTS[which]));
            rest(moment(round, durations[which]));
            // It may have ended already.
            let numbers: Vec<i32> =
                batch(&mut session, &kill).errors.iter().map(|error| error.number).collect();
            assert!(numbers.is_empty() || numbers == [6106], "{numbers:?}");
            victim.join().unwrap();
        });
    }
    assert_all_is_well(&mut session);
}

#[test]
fn an_error_in_a_helper_ends_all_of_them_whoever_meets_it() {
    let (_instance, mut session, _folder) = eager(|_| {});
    let failing = [
        "SELECT k, SUM(v / (id - 70000)) FROM t GROUP BY k",
        "SELECT id FROM t WHERE v / (id - 119999) > 5 ORDER BY id",
        "INSERT target WITH (TABLOCK) SELECT id, k, v / (id - 60001) FROM t",
        "SELECT COUNT(*) FROM t AS a JOIN u ON u.k = a.k WHERE a.v / (a.id - 90001) > u.id",
        "SELECT k, SUM(v / (id - 70000)) FROM f GROUP BY k",
    ];
    for round in 0..40 {
        let answer = batch(&mut session, failing[round % failing.len()]);
        assert_eq!(answer.errors.first().map(|error| error.number), Some(8134));
    }
    assert_all_is_well(&mut session);
}

#[test]
fn no_memory_for_a_helper_is_701_for_the_statement() {
    let (_instance, mut session, _folder) = eager(|config| config.query_memory_max = 1 << 20);
    // Each worker has separate groups: together they exceed the limit.
    let texts = [
        "SELECT v, COUNT(*) FROM t GROUP BY v",
        "SELECT COUNT(*) FROM (SELECT id, v FROM t WHERE v > 0 ORDER BY v OFFSET 1 ROWS) AS x",
    ];
    for round in 0..20 {
        let answer = batch(&mut session, texts[round % texts.len()]);
        let numbers: Vec<i32> = answer.errors.iter().map(|error| error.number).collect();
        assert_eq!(numbers, [701], "{}", texts[round % texts.len()]);
    }
    assert_all_is_well(&mut session);
}

#[test]
fn a_columnstore_index_beside_rows_is_read_by_several_and_each_row_once() {
    let (_instance, mut session, _folder) = eager(|_| {});
    run(&mut session, "CREATE NONCLUSTERED COLUMNSTORE INDEX c ON t (id, k, v)");
    let text = "SELECT COUNT(*), SUM(CAST(id AS bigint)), SUM(v), COUNT(DISTINCT k), MIN(v), MAX(v) FROM t WHERE k >= 0";
    let texts = [text.to_owned(), text.replace("COUNT(DISTINCT k)", "MAX(k)")];
    let mut parallel = 0;
    for round in 0..40_i64 {
        // Changed and new rows are read as rows.
        run(
            &mut session,
            &format!(
                "UPDATE t SET v = v + 1 WHERE id % 997 = {round}; INSERT t VALUES ({}, 3, {round});
                 DELETE t WHERE id % 1999 = {round}",
                ROWS + round + 1
            ),
        );
        for text in &texts {
            let serial = run(&mut session, &format!("{text} OPTION (MAXDOP 1)")).sets;
            run(&mut session, "SET STATISTICS XML ON");
            let answer = run(&mut session, text);
            run(&mut session, "SET STATISTICS XML OFF");
            assert_eq!(answer.sets[0], serial[0], "round {round}");
            parallel += i32::from(answer.sets[1][0][0].contains("DegreeOfParallelism=\"2\""));
        }
    }
    assert!(parallel > 10, "{parallel} statements ran on two schedulers");
}
