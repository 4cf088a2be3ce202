//! Parallel plans: the same answers as on one scheduler, and what the views show about them.

use std::sync::Arc;

use engine::instance::ExecutionMode;
use engine::instance::Instance;
use engine::session::Session;

use crate::client::{Answer, batch, describe, instance_on, login, run};
use crate::modes::{QUERIES, TABLES};

/// Returns an engine with this many schedulers that runs every possible statement in parallel.
fn eager(schedulers: usize) -> (Arc<Instance>, Session) {
    let instance = instance_on(schedulers, |_| {});
    instance.set_execution_mode(ExecutionMode::Vector);
    let mut session = login(&instance);
    run(
        &mut session,
        "EXEC sp_configure 'show advanced options', 1; RECONFIGURE;
         EXEC sp_configure 'cost threshold for parallelism', 0; RECONFIGURE",
    );
    (instance, session)
}

/// The outcome of a query: rows, in order if it has ORDER BY; for an error its number.
fn outcome(answer: &Answer, text: &str) -> Vec<String> {
    if let Some(error) = answer.errors.first() {
        return vec![format!("msg {}", error.number)];
    }
    // Which of a group's equal strings, `'aX'` or `'Ax '`, names it depends on who was first.
    let alike = |value: &String| value.trim_end().to_lowercase();
    let line = |row: &Vec<String>| row.iter().map(alike).collect::<Vec<_>>().join(" | ");
    let mut lines: Vec<String> = answer.sets.iter().flatten().map(line).collect();
    // So is the order of ties.
    if !text.contains("ORDER BY") || text.contains("WITH TIES") {
        lines.sort();
    }
    lines.extend(answer.messages.iter().map(describe));
    lines
}

/// Queries in addition to those of `modes.rs`.
const MORE: &[&str] = &[
    "SELECT k, COUNT(*), SUM(big), MIN(s), MAX(at2) FROM h GROUP BY k",
    "SELECT COUNT(*), SUM(d), AVG(d), MIN(day) FROM h WHERE k > 20",
    "SELECT h.s, COUNT(*), SUM(b.x) FROM h JOIN b ON b.k = h.k GROUP BY h.s",
    "SELECT h.s, COUNT(*) FROM h JOIN b ON b.s = h.s JOIN one ON one.k = h.k GROUP BY h.s",
    "SELECT h.k, COUNT(*) FROM h LEFT JOIN one ON one.k = h.k WHERE h.id % 3 = 1 GROUP BY h.k",
    "SELECT h.k, COUNT(b.id) FROM h FULL JOIN b ON b.k = h.k GROUP BY h.k",
    "SELECT COUNT(*) FROM h WHERE EXISTS (SELECT * FROM b WHERE b.k = h.k)",
    "SELECT COUNT(*) FROM h WHERE NOT EXISTS (SELECT * FROM b WHERE b.k = h.k AND b.x > h.id)",
    "SELECT id, big FROM h WHERE k = 5 ORDER BY id DESC",
    "SELECT TOP 7 h.id, b.x FROM h JOIN b ON b.k = h.k WHERE h.d > 2 ORDER BY h.id, b.x",
    "SELECT TOP 7 id FROM h WHERE k < 90",
    "SELECT h.id, b.x FROM h JOIN b ON b.id = h.k AND b.x > 9 OPTION (LOOP JOIN)",
    "SELECT DISTINCT k, s FROM h WHERE b = 1",
    "SELECT k FROM h WHERE b = 1 EXCEPT SELECT k FROM b WHERE x < 40",
    "SELECT COUNT(*) FROM h WHERE big > (SELECT AVG(big) FROM h)",
    "SELECT s, COUNT(*) FROM h WHERE k > (SELECT MIN(k) FROM b) AND at > '2024-01-01' GROUP BY s",
    "SELECT s, b, SUM(k), GROUPING_ID(s, b) FROM h GROUP BY CUBE (s, b)",
    "SELECT SUM(f), AVG(f), STDEV(f) FROM h WHERE k > 3",
    "SELECT COUNT(DISTINCT k), SUM(DISTINCT big) FROM h WHERE k > 3",
    "SELECT id, 100 / (k - 50) FROM h WHERE id < 2900",
    "SELECT COUNT(*) FROM h WHERE 1 / (id - 2000) = 0",
    "SELECT SUM(CAST(big AS int) * 1000) FROM h",
    "SELECT t.k, t.n, b.x FROM (SELECT k, COUNT(*) AS n FROM h GROUP BY k) t JOIN b ON b.id = t.n",
    "SELECT x.k, COUNT(*) FROM h x JOIN (SELECT k, MAX(id) AS m FROM h WHERE d > 1 GROUP BY k) y ON y.m = x.id GROUP BY x.k",
    "SELECT COUNT(*), MAX(HASHBYTES('SHA2_256', blob)) FROM h",
    "SELECT a.id, t.n FROM one a CROSS APPLY (SELECT COUNT(*) AS n FROM h WHERE h.k = a.k) t",
    "SELECT COUNT(*) FROM h WHERE at < GETDATE() AND s = SUSER_SNAME()",
    "SELECT k, COUNT(*) FROM c WHERE id > 40 AND m >= 1.5 GROUP BY k",
    "SELECT c.s, SUM(b.x) FROM c JOIN b ON b.k = c.k GROUP BY c.s",
];

const HEAP: &str =
    "SELECT * INTO h FROM a; DELETE h WHERE id % 40 = 7; UPDATE h SET k = k + 1 WHERE id % 40 = 8";

/// Asserts that every query has the same outcome on one scheduler and on several.
fn assert_same_on_several(session: &mut Session) {
    let mut failures = String::new();
    for query in QUERIES.iter().chain(MORE) {
        let (text, hints) = match query.strip_suffix(')').and_then(|q| q.split_once(" OPTION (")) {
            Some((text, hints)) => (text, format!("{hints}, ")),
            None => (*query, String::new()),
        };
        let [one, many] = [1, 4].map(|degree| {
            let text = format!("{text} OPTION ({hints}MAXDOP {degree})");
            outcome(&batch(session, &text), query)
        });
        if one != many {
            let at = one.iter().zip(&many).position(|(a, b)| a != b);
            let at = at.unwrap_or(one.len().min(many.len()));
            let (a, b) = (one.get(at), many.get(at));
            failures += &format!("{query}\n  at {at}:\n    {a:?}\n    {b:?}\n");
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn answers_on_several_schedulers_are_those_on_one() {
    let (instance, mut session) = eager(2);
    run(&mut session, TABLES);
    run(&mut session, HEAP);
    // On a busy machine a statement may end before a second scheduler joins it: then it is
    // repeated.
    let mut parallel = 0;
    for _ in 0..20 {
        assert_same_on_several(&mut session);
        let degrees = "SELECT COUNT(*) FROM sys.dm_exec_query_stats
             WHERE max_dop = 2 AND total_worker_time >= 0";
        parallel = run(&mut session, degrees).sets[0][0][0].parse().unwrap();
        if parallel > 20 {
            break;
        }
    }
    assert!(parallel > 20, "{parallel} statements ran on two schedulers");
    assert_eq!(memory_in_use(&mut session), "0");
    drop(session);
    drop(instance);
}

fn memory_in_use(session: &mut Session) -> String {
    let used = "SELECT SUM(used_memory_kb) FROM sys.dm_exec_query_resource_semaphores";
    run(session, used).sets[0][0][0].clone()
}

/// Creates a table of several parts.
const LARGE: &str = "
CREATE TABLE t (id int NOT NULL, k int NOT NULL, v bigint NOT NULL);
INSERT t SELECT value, value % 1000, value FROM GENERATE_SERIES(1, 200000);";

/// Repeats a statement until it has run on two schedulers, as the caller's `is_parallel` reports.
fn until(mut is_parallel: impl FnMut() -> bool) {
    assert!((0..50).any(|_| is_parallel()), "never ran on two schedulers");
}

#[test]
fn a_plan_shows_where_rows_are_gathered_and_how_many_schedulers_worked() {
    let (_instance, mut session) = eager(2);
    run(&mut session, LARGE);
    let text = "SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k";
    let shown = |session: &mut Session, text: &str| {
        run(session, "SET SHOWPLAN_TEXT ON");
        let lines = run(session, text).sets.concat().concat().join("\n");
        run(session, "SET SHOWPLAN_TEXT OFF");
        lines
    };
    let plan = shown(&mut session, text);
    let places: Vec<_> = [
        "Hash Match(Aggregate",
        "Parallelism(Gather Streams",
        "Hash Match(Partial Aggregate",
        "Table Scan",
    ]
    .map(|name| plan.find(name))
    .to_vec();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{plan}");
    let serial = shown(&mut session, &format!("{text} OPTION (MAXDOP 1)"));
    assert!(!serial.contains("Parallelism"), "{serial}");
    // In row mode a statement runs on one scheduler.
    let by_rows = format!("{text} OPTION (USE HINT ('DISALLOW_BATCH_MODE'))");
    assert_eq!(shown(&mut session, &by_rows).lines().nth(1), serial.lines().nth(1));
    run(&mut session, "SET STATISTICS XML ON");
    assert!(run(&mut session, &by_rows).sets[1][0][0].contains("DegreeOfParallelism=\"1\""));
    run(&mut session, "SET STATISTICS XML ON");
    until(|| {
        let answer = run(&mut session, text);
        let xml = &answer.sets[1][0][0];
        assert!(xml.contains("PhysicalOp=\"Parallelism\""), "{xml}");
        let counted = xml.matches("ActualRowsRead=\"200000\"").count();
        assert_eq!(counted, 1, "each row is read once, by whoever reads it: {xml}");
        xml.contains("DegreeOfParallelism=\"2\"")
    });
    let answer = run(&mut session, &format!("{text} OPTION (MAXDOP 1)"));
    assert!(answer.sets[1][0][0].contains("DegreeOfParallelism=\"1\""));
}

#[test]
fn a_cheap_statement_and_one_with_a_limit_of_one_stay_on_one_scheduler() {
    let (_instance, mut session) = eager(2);
    run(&mut session, LARGE);
    let text = "SELECT COUNT(*), SUM(v) FROM t WHERE k > 3";
    let degree = |session: &mut Session, text: &str| {
        run(session, "SET STATISTICS XML ON");
        let xml = run(session, text).sets[1][0][0].clone();
        run(session, "SET STATISTICS XML OFF");
        xml.contains("DegreeOfParallelism=\"2\"")
    };
    until(|| degree(&mut session, text));
    run(&mut session, "EXEC sp_configure 'max degree of parallelism', 1; RECONFIGURE");
    assert!(!degree(&mut session, text));
    until(|| degree(&mut session, &format!("{text} OPTION (MAXDOP 0)")));
    run(
        &mut session,
        "EXEC sp_configure 'max degree of parallelism', 0; RECONFIGURE;
         EXEC sp_configure 'cost threshold for parallelism', 5",
    );
    until(|| degree(&mut session, text));
    run(&mut session, "RECONFIGURE");
    assert!(!degree(&mut session, text), "costs less than 5");
    let settings = "SELECT value_in_use FROM sys.configurations WHERE configuration_id IN (1538, 1539) ORDER BY configuration_id";
    assert_eq!(run(&mut session, settings).sets[0].concat(), ["5", "0"]);
    run(
        &mut session,
        "EXEC sp_configure 'cost threshold for parallelism', 0; RECONFIGURE;
         ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 1",
    );
    assert!(!degree(&mut session, text));
}

#[test]
fn what_helpers_spend_is_the_sessions_and_the_statements() {
    let (_instance, mut session) = eager(2);
    run(&mut session, LARGE);
    let text = "SELECT MAX(HASHBYTES('SHA2_256', CAST(v AS varbinary(8)))) FROM t WHERE k >= 0";
    let stats = "SELECT max_dop, total_worker_time, total_elapsed_time, last_used_threads FROM sys.dm_exec_query_stats AS s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS x WHERE x.text LIKE 'SELECT MAX(HASH%'";
    until(|| {
        run(&mut session, text);
        let row = run(&mut session, stats).sets[0][0].clone();
        row[0] == "2" && row[3] == "2"
    });
    let waits = "SELECT COUNT(*) FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID AND wait_type = 'CXCONSUMER' AND waiting_tasks_count > 0";
    until(|| {
        run(&mut session, text);
        run(&mut session, waits).sets[0][0][0] == "1"
    });
}

#[test]
fn an_error_of_a_helper_is_the_statements_and_frees_all() {
    let (_instance, mut session) = eager(2);
    run(&mut session, LARGE);
    for _ in 0..20 {
        let answer = batch(&mut session, "SELECT SUM(v / (id - 150000)) FROM t");
        assert_eq!(answer.errors.first().map(|e| e.number), Some(8134));
        let answer =
            batch(&mut session, "SELECT id FROM t WHERE v / (id - 199999) > 5 ORDER BY id");
        assert_eq!(answer.errors.first().map(|e| e.number), Some(8134));
    }
    assert_eq!(memory_in_use(&mut session), "0");
    let rows = run(&mut session, "SELECT COUNT(*), SUM(v) FROM t").sets[0][0].join(" ");
    assert_eq!(rows, "200000 20000100000");
    let tasks = "SELECT COUNT(*) FROM sys.dm_os_tasks WHERE exec_context_id > 0";
    assert_eq!(run(&mut session, tasks).sets[0][0][0], "0");
}

#[test]
fn a_transaction_sees_its_own_changes_on_all_schedulers_and_no_others() {
    let (instance, mut session) = eager(2);
    run(&mut session, LARGE);
    let mut other = login(&instance);
    run(
        &mut session,
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN TRAN; DELETE t WHERE id <= 100000; UPDATE t SET v = 1 WHERE id > 150000",
    );
    run(&mut other, "INSERT t SELECT -value, 5, 1000000 FROM GENERATE_SERIES(1, 5000)");
    for _ in 0..10 {
        let rows =
            run(&mut session, "SELECT COUNT(*), SUM(v) FROM t WHERE k >= 0").sets[0][0].join(" ");
        assert_eq!(rows, "105000 11250075000");
        let rows =
            run(&mut other, "SELECT COUNT(*), SUM(v) FROM t WHERE k >= 0").sets[0][0].join(" ");
        assert_eq!(rows, "205000 25000100000");
    }
    // A statement does not read the rows that it inserts into the table it reads.
    run(&mut session, "INSERT t SELECT id, k, v FROM t WHERE k >= 0");
    run(&mut session, "ROLLBACK");
    let rows = run(&mut session, "SELECT COUNT(*), SUM(v) FROM t").sets[0][0].join(" ");
    assert_eq!(rows, "205000 25000100000");
}

#[test]
fn helpers_load_row_groups_of_their_own() {
    let (_instance, mut session) = eager(2);
    run(
        &mut session,
        "CREATE TABLE big (id bigint NOT NULL, k int NULL, s varchar(12) NOT NULL);
         INSERT big SELECT value, NULLIF(value % 7, 3), 's' + CAST(value % 1000 AS varchar(8)) FROM GENERATE_SERIES(1, 400000);
         CREATE TABLE target (id bigint NOT NULL, k int NULL, s varchar(12) NOT NULL, INDEX c CLUSTERED COLUMNSTORE);
         CREATE TABLE strict (id bigint NOT NULL, k int NOT NULL, INDEX c CLUSTERED COLUMNSTORE)",
    );
    let sums = "SELECT COUNT(*), SUM(id), SUM(k), COUNT(DISTINCT s), MIN(s) FROM ";
    let wanted = run(&mut session, &format!("{sums} big")).sets;
    run(&mut session, "SET STATISTICS XML ON");
    until(|| {
        run(&mut session, "TRUNCATE TABLE target");
        let answer =
            run(&mut session, "INSERT target WITH (TABLOCK) SELECT id, k, s FROM big WHERE id > 0");
        assert!(answer.counts.contains(&400_000), "{:?}", answer.counts);
        answer.sets.concat().concat().concat().contains("DegreeOfParallelism=\"2\"")
    });
    run(&mut session, "SET STATISTICS XML OFF");
    assert_eq!(run(&mut session, &format!("{sums} target")).sets, wanted);
    let groups = "SELECT COUNT(*), SUM(total_rows) FROM sys.dm_db_column_store_row_group_physical_stats WHERE object_id = OBJECT_ID('target') AND state_desc = 'COMPRESSED'";
    let found = run(&mut session, groups).sets[0][0].clone();
    assert_ne!(found[0], "0", "{found:?}");
    // A NULL in one worker ends the load in all of them.
    let answer = batch(&mut session, "INSERT strict SELECT id, k FROM big WHERE id > 0");
    assert_eq!(answer.errors.first().map(|e| e.number), Some(515));
    assert_eq!(run(&mut session, "SELECT COUNT(*) FROM strict").sets[0][0][0], "0");
    assert_eq!(memory_in_use(&mut session), "0");
}
