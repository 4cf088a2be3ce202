//! `sys.dm_exec_query_profiles` while a statement is stopped in its middle: the counts so far are
//! known.

use std::sync::Arc;

use engine::instance::Instance;
use engine::session::Session;

use crate::client::{instance_on, login};
use crate::client::{sets, spawn};
use crate::dba::{PATIENCE, id};

/// Reads five rows, and waits at the third one: another session has locked its partner.
const QUERY: &str = "SELECT a.id, b.v FROM few AS a JOIN stock AS b WITH (UPDLOCK) ON b.id = a.id";

/// A server with a table whose row 3 the second session has locked.
fn stopped_at_three() -> (Arc<Instance>, Session, Session) {
    let instance = instance_on(2, |_| {});
    let mut dba = login(&instance);
    sets(&mut dba, "CREATE DATABASE shop");
    sets(
        &mut dba,
        "USE shop; CREATE TABLE few (id int PRIMARY KEY); INSERT few VALUES (1), (2), (3), (4), (5)
         CREATE TABLE stock (id int PRIMARY KEY, v int); INSERT stock SELECT id, 10 * id FROM few",
    );
    let mut holder = login(&instance);
    sets(&mut holder, "USE shop; BEGIN TRANSACTION; UPDATE stock SET v = 0 WHERE id = 3");
    (instance, dba, holder)
}

/// Waits until a session waits for a lock.
pub(crate) fn until_blocked(dba: &mut Session, session: &str) {
    let end_ns = sos::clock::deadline_ns(PATIENCE);
    let blocked = format!(
        "SELECT 1 FROM sys.dm_os_waiting_tasks WHERE session_id = {session} AND wait_type LIKE 'LCK%'"
    );
    while sets(dba, &blocked)[0].is_empty() {
        assert!(sos::clock::monotonic_ns() < end_ns, "the session never waits");
        sets(dba, "WAITFOR DELAY '00:00:00.002'");
    }
}

/// Starts the query in a session with these settings before, and returns what the view shows when
/// it has stopped; then lets it end.
fn seen(settings: &str, option: &str, columns: &str) -> Vec<Vec<String>> {
    let (instance, mut dba, mut holder) = stopped_at_three();
    let mut reader = login(&instance);
    sets(&mut reader, "USE shop");
    if !settings.is_empty() {
        sets(&mut reader, settings);
    }
    let reader_id = id(&reader);
    let text = format!("{QUERY} OPTION (LOOP JOIN, FORCE ORDER{option})");
    let reading = spawn(&instance, reader, &text);
    until_blocked(&mut dba, &reader_id);
    let seen = format!(
        "SELECT {columns} FROM sys.dm_exec_query_profiles AS p WHERE p.session_id = {reader_id}
         ORDER BY p.node_id, p.thread_id"
    );
    let rows = sets(&mut dba, &seen).remove(0);
    sets(&mut holder, "ROLLBACK");
    let (_, answer) = reading.recv_timeout(PATIENCE).expect("the row is free");
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);
    assert_eq!(answer.sets[0].len(), 5);
    assert!(sets(&mut dba, &seen)[0].is_empty(), "it has ended");
    rows
}

#[test]
fn a_running_statement_shows_the_rows_of_its_operators_so_far() {
    let counts = "p.node_id, p.physical_operator_name, p.row_count, p.rebind_count,
        p.end_of_scan_count, p.scan_count, p.actual_read_row_count, OBJECT_NAME(p.object_id),
        p.index_id, p.cpu_time_ms";
    let rows = seen("SET STATISTICS XML ON", "", counts);
    let wanted = [
        ["0", "Nested Loops", "2", "1", "0", "NULL", "NULL", "NULL", "NULL", "NULL"],
        ["1", "Index Scan", "3", "1", "0", "1", "3", "few", "1", "NULL"],
        ["2", "Index Seek", "2", "3", "2", "3", "2", "stock", "1", "NULL"],
    ];
    // A scan counts what storage returns in steps of many rows, so reads are not compared.
    let but_reads = |row: &Vec<String>| {
        let mut row = row.clone();
        row.remove(6);
        row
    };
    let wanted: Vec<_> = wanted
        .iter()
        .map(|row| but_reads(&row.iter().map(ToString::to_string).collect()))
        .collect();
    assert_eq!(rows.iter().map(but_reads).collect::<Vec<_>>(), wanted);
}

#[test]
fn times_and_handles_of_a_running_statement_are_those_of_its_request() {
    let facts = "p.thread_id,
        (SELECT COUNT(*) FROM sys.dm_os_tasks AS t WHERE t.task_address = p.task_address),
        (SELECT COUNT(*) FROM sys.dm_exec_requests AS r WHERE r.session_id = p.session_id
         AND r.plan_handle = p.plan_handle AND r.sql_handle = p.sql_handle),
        (SELECT IIF(p.open_time BETWEEN i.ms_ticks - 60000 AND i.ms_ticks
         AND p.first_active_time <= p.open_time AND p.last_row_time >= p.first_row_time
         AND p.last_active_time >= p.last_row_time, 1, 0) FROM sys.dm_os_sys_info AS i),
        SIGN(p.elapsed_time_ms + 1), SIGN(p.estimate_row_count)";
    let rows = seen("", ", USE HINT ('QUERY_PLAN_PROFILE')", facts);
    assert_eq!(rows, vec![["0", "1", "1", "1", "1", "1"]; 3]);
}

#[test]
fn statements_are_profiled_for_trace_flag_7412_and_else_only_if_they_ask() {
    let count = "COUNT(*) OVER ()";
    assert!(seen("", "", count).is_empty(), "nothing is asked for");
    assert!(seen("SET STATISTICS IO ON", "", count).is_empty(), "reads alone need no plan");
    assert_eq!(seen("SET STATISTICS PROFILE ON", "", count).len(), 3);
    assert_eq!(seen("DBCC TRACEON (7412, -1) WITH NO_INFOMSGS", "", count).len(), 3);
}

#[test]
fn profiled_statements_answer_as_others_do() {
    let instance = instance_on(1, |_| {});
    let mut session = login(&instance);
    sets(
        &mut session,
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT t VALUES (1, 0), (2, 0)",
    );
    sets(&mut session, "CREATE TABLE seen (id int)");
    sets(
        &mut session,
        "CREATE TRIGGER tr ON t AFTER UPDATE AS INSERT seen SELECT id FROM inserted",
    );
    sets(
        &mut session,
        "CREATE FUNCTION f () RETURNS int AS BEGIN RETURN (SELECT COUNT(*) FROM t) END",
    );
    sets(&mut session, "DBCC TRACEON (7412, -1) WITH NO_INFOMSGS");
    let answer = sets(
        &mut session,
        "DECLARE c CURSOR LOCAL FOR SELECT id FROM t FOR UPDATE OF n
         OPEN c FETCH NEXT FROM c UPDATE t SET n = 7 WHERE CURRENT OF c CLOSE c
         UPDATE t SET n = n + dbo.f() WHERE id = 2
         SELECT id, n, (SELECT COUNT(*) FROM seen) FROM t ORDER BY id",
    );
    assert_eq!(answer, [vec![vec!["1"]], vec![vec!["1", "7", "2"], vec!["2", "2", "2"]]]);
    let shown = sets(&mut session, "SELECT COUNT(*) FROM sys.dm_exec_query_profiles");
    assert_ne!(shown, [[["0"]]], "the statement sees its own operators");
}

#[test]
fn memory_health_has_a_snapshot_with_its_clerks() {
    let instance = instance_on(1, |_| {});
    let mut session = login(&instance);
    let count = "SELECT COUNT(*) FROM sys.dm_os_memory_health_history";
    assert_eq!(sets(&mut session, count), [[["0"]]], "no second has passed");
    (0..16).for_each(|_| instance.remember());
    let rows = sets(
        &mut session,
        "SELECT h.severity_level_desc, IIF(h.snapshot_time <= SYSUTCDATETIME(), 1, 0),
             SIGN(h.allocation_potential_memory_mb), h.out_of_memory_event_count, h.memgrant_waiter_count,
             (SELECT IIF(COUNT(*) BETWEEN 1 AND 5 AND COUNT(*) = COUNT(c.address), 1, 0)
              FROM OPENJSON(h.top_memory_clerks) WITH (clerk_type sysname '$.clerk_type', pages_allocated_kb bigint '$.pages_allocated_kb') AS j
              OUTER APPLY (SELECT m.memory_clerk_address AS address FROM sys.dm_os_memory_clerks AS m WHERE m.type = j.clerk_type AND j.pages_allocated_kb > 0) AS c)
         FROM sys.dm_os_memory_health_history AS h",
    );
    assert_eq!(rows[0].len(), 2, "16 seconds: {rows:?}");
    for row in &rows[0] {
        // Other tests of this process may have used much of its memory.
        assert!(["LOW", "MEDIUM", "HIGH"].contains(&row[0].as_str()), "{row:?}");
        assert_eq!(row[1..3], ["1", "1"]);
        assert_eq!(row[4..], ["0", "1"], "{row:?}");
    }
}

#[test]
fn sp_monitor_shows_what_was_done_since_it_ran_last() {
    let instance = instance_on(1, |_| {});
    let mut session = login(&instance);
    let first = sets(&mut session, "EXEC sp_monitor");
    let started = sets(&mut session, "SELECT sqlserver_start_time FROM sys.dm_os_sys_info");
    assert_eq!(first[0][0][0], started[0][0][0], "the last run is the start");
    assert_eq!(first[3][0][3], "1(1)", "one login so far: {first:?}");
    let _others = [login(&instance), login(&instance)];
    let second = sets(&mut session, "EXEC sp_monitor");
    assert_eq!(second[0][0][0], first[0][0][1], "the last run is the first one");
    assert_eq!(second[3][0], ["0(0)", "0(0)", "0(0)", "3(2)"]);
    let shapes: Vec<usize> = second.iter().map(|set| set[0].len()).collect();
    assert_eq!(shapes, [3, 3, 3, 4]);
    let busy = &second[1][0][0];
    assert!(busy.ends_with('%') && busy.contains(")-"), "{busy}");
}
