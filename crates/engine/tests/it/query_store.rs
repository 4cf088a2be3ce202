//! The Query Store over a known load: its figures beside those of the load and of
//! `sys.dm_exec_query_stats`, by the queries that people and tools run over it.

use std::sync::Arc;

use ::durable::{Folder, Settings};
use engine::instance::Instance;
use engine::session::Session;

use crate::client::{batch, instance, login};

fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    let mut answer = batch(session, sql);
    assert!(answer.errors.is_empty(), "{sql}: {:?}", answer.errors);
    answer.sets.pop().unwrap_or_default()
}

fn number(session: &mut Session, sql: &str) -> f64 {
    let rows = run(session, sql);
    rows[0][0].parse().unwrap_or_else(|_| panic!("{sql}: {rows:?}"))
}

fn prepare(session: &mut Session) {
    run(session, "CREATE DATABASE d");
    run(
        session,
        "ALTER DATABASE d SET QUERY_STORE = ON (QUERY_CAPTURE_MODE = ALL, INTERVAL_LENGTH_MINUTES = 1440)",
    );
    run(session, "USE d; CREATE TABLE t (id int NOT NULL PRIMARY KEY, n int NOT NULL)");
    run(session, "INSERT t SELECT value, value FROM GENERATE_SERIES(1, 500)");
    run(session, "CREATE PROCEDURE p @id int AS SELECT n FROM t WHERE id <= @id");
}

/// A query over the statistics of the statements with a word in their text.
fn of(figures: &str, word: &str) -> String {
    format!(
        "SELECT {figures} FROM sys.query_store_runtime_stats AS rs
         JOIN sys.query_store_plan AS p ON p.plan_id = rs.plan_id
         JOIN sys.query_store_query AS q ON q.query_id = p.query_id
         JOIN sys.query_store_query_text AS t ON t.query_text_id = q.query_text_id
         WHERE t.query_sql_text LIKE '%{word}%' AND t.query_sql_text NOT LIKE '%query_store%'"
    )
}

#[test]
fn figures_are_those_of_the_load_and_of_the_statement_statistics() {
    let instance = instance();
    let mut session = login(&instance);
    prepare(&mut session);
    std::thread::scope(|scope| {
        for thread in 1..=4 {
            let mut session = login(&instance);
            scope.spawn(move || {
                run(&mut session, "USE d");
                for _ in 0..200 {
                    run(&mut session, &format!("EXEC p {thread}"));
                }
            });
        }
        // Collections in between, as the background task makes them.
        for _ in 0..20 {
            instance.change_query_stores();
        }
    });
    let figures = "SUM(rs.count_executions), SUM(rs.avg_rowcount * rs.count_executions), MIN(rs.min_rowcount),
        MAX(rs.max_rowcount), CAST(MAX(rs.stdev_rowcount) * 1000 AS int), COUNT(DISTINCT p.plan_id), COUNT(*)";
    // 200 executions each of 1 to 4 rows; the deviation of 1, 2, 3, 4 is the root of 1.25.
    let rows = run(&mut session, &of(figures, "SELECT n FROM t WHERE id <="));
    assert_eq!(rows, [["800", "2000", "1", "4", "1118", "1", "1"]]);
    let times = "ABS(SUM(rs.avg_duration * rs.count_executions) - (SELECT SUM(s.total_elapsed_time) FROM sys.dm_exec_query_stats s
        CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) x WHERE x.objectid = OBJECT_ID('p'))) +
        ABS(SUM(rs.avg_cpu_time * rs.count_executions) - (SELECT SUM(s.total_worker_time) FROM sys.dm_exec_query_stats s
        CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) x WHERE x.objectid = OBJECT_ID('p')))";
    // Microseconds of 800 executions, rounded once there.
    let difference = number(&mut session, &of(times, "SELECT n FROM t WHERE id <="));
    assert!(difference < 5.0, "{difference} us");
    let order = "SUM(CASE WHEN rs.min_duration <= rs.avg_duration + 1 AND rs.avg_duration <= rs.max_duration + 1
        AND rs.min_cpu_time <= rs.max_cpu_time AND rs.first_execution_time <= rs.last_execution_time
        AND rs.stdev_duration >= 0 AND rs.last_duration > 0 THEN 0 ELSE 1 END)";
    assert_eq!(number(&mut session, &of(order, "SELECT n FROM t WHERE id <=")), 0.0);
}

#[test]
fn executions_that_fail_are_apart() {
    let instance = instance();
    let mut session = login(&instance);
    prepare(&mut session);
    for id in [3, 0, 5, 0, 0] {
        batch(&mut session, &format!("DECLARE @d int = {id} SELECT SUM(n / @d) FROM t"));
    }
    // One that is caught counts as well, once.
    run(
        &mut session,
        "BEGIN TRY DECLARE @d int = 0; BEGIN SELECT SUM(n / @d) FROM t END END TRY BEGIN CATCH END CATCH",
    );
    let rows = run(
        &mut session,
        &(of("rs.execution_type_desc, SUM(rs.count_executions)", "SELECT SUM(n")
            + " GROUP BY rs.execution_type_desc ORDER BY 1"),
    );
    assert_eq!(rows, [["Exception", "4"], ["Regular", "2"]]);
}

#[test]
fn what_is_counted_before_on_and_after_off_is_not_recorded() {
    let instance = instance();
    let mut session = login(&instance);
    prepare(&mut session);
    run(&mut session, "ALTER DATABASE d SET QUERY_STORE = OFF");
    run(&mut session, "EXEC p 1");
    run(&mut session, "ALTER DATABASE d SET QUERY_STORE = ON");
    run(&mut session, "EXEC p 1");
    run(&mut session, "EXEC p 1");
    run(&mut session, "ALTER DATABASE d SET QUERY_STORE = OFF");
    run(&mut session, "EXEC p 1");
    let executions = of("SUM(rs.count_executions)", "SELECT n FROM t WHERE id <=");
    assert_eq!(number(&mut session, &executions), 2.0);
    // Another database records nothing of this one.
    run(&mut session, "CREATE DATABASE other");
    run(&mut session, "ALTER DATABASE other SET QUERY_STORE = ON (QUERY_CAPTURE_MODE = ALL)");
    run(&mut session, "EXEC p 1");
    assert_eq!(number(&mut session, "SELECT COUNT(*) FROM other.sys.query_store_query"), 0.0);
}

#[test]
fn counts_of_programs_that_leave_the_cache_are_kept() {
    let instance = instance();
    let mut session = login(&instance);
    prepare(&mut session);
    for _ in 0..3 {
        run(&mut session, "EXEC p 7");
        run(&mut session, "DBCC FREEPROCCACHE WITH NO_INFOMSGS");
    }
    run(&mut session, "EXEC p 7");
    // A change of the catalog: the procedure is compiled again, under the same name.
    run(&mut session, "CREATE TABLE more (a int)");
    run(&mut session, "EXEC p 7");
    let figures = "SUM(rs.count_executions), SUM(rs.avg_rowcount * rs.count_executions), COUNT(DISTINCT q.query_id)";
    let rows = run(&mut session, &of(figures, "SELECT n FROM t WHERE id <="));
    assert_eq!(rows, [["5", "35", "1"]]);
}

#[test]
fn waits_are_recorded_by_category() {
    let instance = instance();
    let mut session = login(&instance);
    prepare(&mut session);
    run(&mut session, "BEGIN TRAN; UPDATE t SET n = 0 WHERE id = 1");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut other = login(&instance);
            run(&mut other, "USE d");
            run(&mut other, "UPDATE t SET n = 99 WHERE id = 1");
        });
        let blocked = "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE blocking_session_id <> 0";
        // If it never waited, the row of the wait would be missing below.
        for _ in 0..100_000 {
            if number(&mut session, blocked) > 0.0 {
                break;
            }
            std::thread::yield_now();
        }
        run(&mut session, "COMMIT");
        waiting.join().unwrap();
    });
    let waits = "SELECT w.wait_category_desc, w.execution_type_desc, COUNT(*) FROM sys.query_store_wait_stats AS w
        JOIN sys.query_store_plan AS p ON p.plan_id = w.plan_id JOIN sys.query_store_query AS q ON q.query_id = p.query_id
        JOIN sys.query_store_query_text AS t ON t.query_text_id = q.query_text_id
        WHERE t.query_sql_text LIKE '%UPDATE t SET n = %' AND t.query_sql_text NOT LIKE '%query_store%' AND w.wait_category = 3
        GROUP BY w.wait_category_desc, w.execution_type_desc";
    assert_eq!(run(&mut session, waits), [["Lock", "Regular", "1"]]);
}

#[test]
fn the_queries_of_tools_answer() {
    let instance = instance();
    let mut session = login(&instance);
    prepare(&mut session);
    for _ in 0..5 {
        run(&mut session, "EXEC p 3");
    }
    // Top resource consumers, as the reports of SSMS group them.
    let top = "DECLARE @from datetimeoffset = DATEADD(hour, -1, SYSDATETIMEOFFSET()), @to datetimeoffset = DATEADD(hour, 1, SYSDATETIMEOFFSET());
        SELECT TOP (25) p.query_id, q.object_id, ISNULL(OBJECT_NAME(q.object_id), '') AS object_name, qt.query_sql_text,
            ROUND(CONVERT(float, SUM(rs.avg_duration * rs.count_executions)) * 0.001, 2) AS total_duration,
            SUM(rs.count_executions) AS count_executions, COUNT(DISTINCT p.plan_id) AS num_plans
        FROM sys.query_store_runtime_stats AS rs
        JOIN sys.query_store_plan AS p ON p.plan_id = rs.plan_id
        JOIN sys.query_store_query AS q ON q.query_id = p.query_id
        JOIN sys.query_store_query_text AS qt ON q.query_text_id = qt.query_text_id
        WHERE NOT (rs.first_execution_time > @to OR rs.last_execution_time < @from)
        GROUP BY p.query_id, qt.query_sql_text, q.object_id
        HAVING COUNT(DISTINCT p.plan_id) >= 1 ORDER BY total_duration DESC";
    let rows = run(&mut session, top);
    assert!(rows.iter().any(|row| row[2] == "p" && row[5] == "5" && row[6] == "1"), "{rows:?}");
    // Regressed queries: two windows of intervals, joined.
    let regressed = "WITH hist AS (SELECT p.query_id, SUM(rs.avg_duration * rs.count_executions) / NULLIF(SUM(rs.count_executions), 0) AS avg_duration, SUM(rs.count_executions) AS executions
            FROM sys.query_store_runtime_stats AS rs JOIN sys.query_store_plan AS p ON p.plan_id = rs.plan_id
            JOIN sys.query_store_runtime_stats_interval AS i ON i.runtime_stats_interval_id = rs.runtime_stats_interval_id
            WHERE i.end_time > DATEADD(day, -2, SYSUTCDATETIME()) GROUP BY p.query_id),
        recent AS (SELECT p.query_id, SUM(rs.avg_duration * rs.count_executions) / NULLIF(SUM(rs.count_executions), 0) AS avg_duration, SUM(rs.count_executions) AS executions
            FROM sys.query_store_runtime_stats AS rs JOIN sys.query_store_plan AS p ON p.plan_id = rs.plan_id
            WHERE rs.last_execution_time > DATEADD(hour, -1, SYSUTCDATETIME()) GROUP BY p.query_id)
        SELECT TOP (10) r.query_id, r.avg_duration / NULLIF(h.avg_duration, 0) AS factor FROM recent AS r JOIN hist AS h ON h.query_id = r.query_id
        WHERE r.executions = 5 AND h.executions = 5 ORDER BY factor DESC OPTION (MERGE JOIN)";
    let rows = run(&mut session, regressed);
    assert!(rows.len() == 1 && rows[0][1].parse() == Ok(1.0), "{rows:?}");
    // Tracked query, and what sp_QuickieStore gathers into temporary tables: maintenance left out,
    // ranked per plan, the plan as XML and the options of the database.
    let tracked = "CREATE TABLE #distinct_plans (plan_id bigint NOT NULL PRIMARY KEY);
        INSERT #distinct_plans WITH (TABLOCK) SELECT DISTINCT TOP (10) qsrs.plan_id FROM sys.query_store_runtime_stats AS qsrs
        WHERE EXISTS (SELECT 1/0 FROM sys.query_store_plan AS qsp JOIN sys.query_store_query AS qsq ON qsq.query_id = qsp.query_id
            WHERE qsp.plan_id = qsrs.plan_id AND qsq.object_id = OBJECT_ID('dbo.p')) OPTION (RECOMPILE);
        SELECT CASE qsrs.execution_type_desc WHEN 'Regular' THEN 'ok' END, qsrs.count_executions,
            ROW_NUMBER() OVER (PARTITION BY qsrs.plan_id ORDER BY qsrs.last_execution_time DESC) AS n, x.plans,
            TRY_CAST(qsp.query_plan AS xml).value('declare namespace p=\"http://schemas.microsoft.com/sqlserver/2004/07/showplan\"; (//p:StmtSimple/@StatementType)[1]', 'varchar(20)'),
            qsrs.avg_num_physical_io_reads + ISNULL(qsrs.avg_log_bytes_used + qsrs.avg_tempdb_space_used, 0) + qsrs.avg_page_server_io_reads,
            qsp.has_compile_replay_script, qsrs.replica_group_id, qsrs.last_dop
        FROM #distinct_plans AS dp JOIN sys.query_store_runtime_stats AS qsrs ON qsrs.plan_id = dp.plan_id
        CROSS APPLY (SELECT TOP (1) qsp.* FROM sys.query_store_plan AS qsp WHERE qsp.plan_id = qsrs.plan_id AND qsp.is_online_index_plan = 0 ORDER BY qsp.last_execution_time DESC) AS qsp
        CROSS APPLY (SELECT COUNT_BIG(DISTINCT p2.query_plan_hash) AS plans FROM sys.query_store_plan AS p2 WHERE p2.query_id = qsp.query_id) AS x
        OPTION (RECOMPILE);";
    assert_eq!(run(&mut session, tracked), [["ok", "5", "1", "1", "SELECT", "0", "0", "1", "1"]]);
    // Wait statistics.
    let waits = "SELECT TOP (10) ws.wait_category, ws.wait_category_desc, ROUND(CONVERT(float, SUM(ws.total_query_wait_time_ms)), 2) AS total,
            ROUND(CONVERT(float, SQRT(SUM(ws.stdev_query_wait_time_ms * ws.stdev_query_wait_time_ms * (ws.total_query_wait_time_ms / NULLIF(ws.avg_query_wait_time_ms, 0))) / NULLIF(SUM(ws.total_query_wait_time_ms / NULLIF(ws.avg_query_wait_time_ms, 0)), 0))), 2) AS stdev
        FROM sys.query_store_wait_stats AS ws JOIN sys.query_store_runtime_stats_interval AS itvl ON itvl.runtime_stats_interval_id = ws.runtime_stats_interval_id
        GROUP BY ws.wait_category, ws.wait_category_desc ORDER BY total DESC";
    run(&mut session, waits);
}

/// A folder that is removed when the test ends.
struct Data(std::path::PathBuf);

impl Drop for Data {
    fn drop(&mut self) {
        // The folder of temporary files is emptied by others if this fails.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(data: &Data) -> Arc<Instance> {
    let instance = instance();
    let folder = Folder::open(data.0.to_str().unwrap()).unwrap();
    instance.open_database(folder, &Settings::default()).unwrap();
    instance
}

fn stop(instance: &Instance, orderly: bool) {
    if orderly {
        instance.write_query_stores(true);
    }
    instance.durable().unwrap().stop();
}

#[test]
fn it_survives_a_restart_and_a_crash_loses_no_more_than_what_was_not_written() {
    let path = std::env::temp_dir().join(format!("clearway-{}-query-store", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let data = Data(path);
    let executions = of("ISNULL(SUM(rs.count_executions), 0)", "SELECT n FROM t WHERE id <=");
    {
        let instance = open(&data);
        let mut session = login(&instance);
        prepare(&mut session);
        run(&mut session, "EXEC p 1");
        run(&mut session, "EXEC p 1");
        assert_eq!(number(&mut session, &executions), 2.0);
        run(
            &mut session,
            "EXEC sp_query_store_set_hints @query_id = 1, @query_hints = N'OPTION (MAXDOP 1)'",
        );
        drop(session);
        stop(&instance, true);
    }
    {
        let instance = open(&data);
        let mut session = login(&instance);
        run(&mut session, "USE d");
        assert_eq!(number(&mut session, &executions), 2.0);
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM sys.query_store_query_hints"), 1.0);
        run(&mut session, "EXEC p 1");
        // This one is in the same interval and under the same plan.
        assert_eq!(number(&mut session, &executions), 3.0);
        run(&mut session, "EXEC sp_query_store_flush_db");
        run(&mut session, "EXEC p 1");
        drop(session);
        stop(&instance, false);
    }
    {
        let instance = open(&data);
        let mut session = login(&instance);
        run(&mut session, "USE d");
        assert_eq!(number(&mut session, &executions), 3.0);
        run(&mut session, "USE master; DROP DATABASE d");
        drop(session);
        stop(&instance, true);
    }
    let instance = open(&data);
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d");
    assert_eq!(number(&mut session, "SELECT COUNT(*) FROM d.sys.query_store_query"), 0.0);
    assert!(!data.0.join("query_store.5").exists(), "the file of a dropped database is removed");
    drop(session);
    stop(&instance, true);
}
