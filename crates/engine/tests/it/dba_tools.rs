//! Queries with the constructs of the tools that DBAs run on a slow server, over sessions whose load is
//! known: who blocks whom and with what, what changes in an interval, which statements cost most,
//! what a deadlock was about, backups and checks of integrity.

use std::sync::Arc;

use engine::instance::Instance;
use engine::session::Session;

use crate::client::{batch, instance_on, login};
use crate::client::{sets, spawn};
use crate::dba::{PATIENCE, id};
use crate::events::joined;
use crate::query_profiles::until_blocked;

/// A server with a database, and its administrator.
fn shop(schedulers: usize) -> (Arc<Instance>, Session) {
    let instance = instance_on(schedulers, |_| {});
    let mut dba = login(&instance);
    sets(&mut dba, "CREATE DATABASE shop");
    sets(
        &mut dba,
        "USE shop; CREATE TABLE stock (id int PRIMARY KEY, n int); INSERT stock SELECT value, 5 FROM GENERATE_SERIES(1, 100)",
    );
    (instance, dba)
}

/// Logs in to the database.
fn guest(instance: &Arc<Instance>) -> Session {
    let mut session = login(instance);
    sets(&mut session, "USE shop");
    session
}

/// Sessions in a chain: the first has a transaction, the second waits for it, the third for the
/// second. Returns their ids, and what ends them.
struct Chain {
    ids: [String; 3],
    first: Session,
    others: Vec<std::sync::mpsc::Receiver<(Session, crate::client::Answer)>>,
}

impl Chain {
    fn new(instance: &Arc<Instance>, dba: &mut Session) -> Self {
        let (mut first, mut second, third) = (guest(instance), guest(instance), guest(instance));
        sets(&mut first, "BEGIN TRANSACTION root_of_it; UPDATE stock SET n = 1 WHERE id = 1");
        sets(&mut second, "BEGIN TRANSACTION; UPDATE stock SET n = 2 WHERE id = 2");
        let ids = [id(&first), id(&second), id(&third)];
        let second = spawn(instance, second, "UPDATE stock SET n = n + 1 WHERE id = 1 ROLLBACK");
        until_blocked(dba, &ids[1]);
        let third = spawn(instance, third, "UPDATE stock SET n = n + 1 WHERE id = 2");
        until_blocked(dba, &ids[2]);
        Self { ids, first, others: vec![second, third] }
    }

    fn end(mut self) {
        sets(&mut self.first, "COMMIT");
        for other in self.others {
            let (_, answer) = other.recv_timeout(PATIENCE).expect("nothing is locked");
            assert!(answer.errors.is_empty(), "{:?}", answer.errors);
        }
    }
}

/// Block leaders: how many sessions each one blocks, directly and through others.
const LEADERS: &str = "
DECLARE @blocked TABLE (session_id smallint PRIMARY KEY, blocking_session_id smallint, level int NULL);
INSERT @blocked (session_id, blocking_session_id) SELECT r.session_id, NULLIF(r.blocking_session_id, 0) FROM sys.dm_exec_requests AS r WHERE r.blocking_session_id <> 0;
WITH blockers AS (
    SELECT b.session_id, b.session_id AS top_level_session_id, CONVERT(varchar(8000), '.' + CONVERT(varchar(8000), b.session_id) + '.') AS the_path
    FROM (SELECT session_id FROM @blocked UNION SELECT blocking_session_id FROM @blocked) AS b
    UNION ALL
    SELECT s.session_id, bs.top_level_session_id, CONVERT(varchar(8000), bs.the_path + CONVERT(varchar(8000), s.session_id) + '.')
    FROM @blocked AS s INNER JOIN blockers AS bs ON s.blocking_session_id = bs.session_id AND bs.the_path NOT LIKE '%.' + CONVERT(varchar(8000), s.session_id) + '.%' COLLATE Latin1_General_Bin2)
SELECT b.top_level_session_id, COUNT(*) - 1 AS blocked_session_count FROM blockers AS b GROUP BY b.top_level_session_id ORDER BY blocked_session_count DESC OPTION (KEEPFIXED PLAN)";

#[test]
fn block_leaders_are_counted_with_those_they_block_through_others() {
    let (instance, mut dba) = shop(2);
    let chain = Chain::new(&instance, &mut dba);
    let [first, second, third] = &chain.ids;
    let wanted = [[first.as_str(), "2"], [second, "1"], [third, "0"]];
    assert_eq!(sets(&mut dba, LEADERS)[0], wanted);
    chain.end();
    assert!(sets(&mut dba, LEADERS)[0].is_empty());
}

/// Tasks, with their waits in the form `(1x: 5ms)LCK_M_X`, counted by session.
const TASKS: &str = "
SELECT t.session_id, t.tasks, t.threads, SUBSTRING(w.waits, 3, 8000) FROM (
    SELECT t.session_id, COUNT(*) AS tasks, COUNT(h.os_thread_id) AS threads
    FROM sys.dm_os_tasks AS t INNER JOIN sys.dm_os_workers AS w ON w.worker_address = t.worker_address LEFT OUTER JOIN sys.dm_os_threads AS h ON h.worker_address = w.worker_address
    WHERE t.session_id > 50 AND t.session_id <> @@SPID GROUP BY t.session_id) AS t
OUTER APPLY (SELECT (SELECT ', (' + CONVERT(nvarchar(20), COUNT(*)) + N'x: ' + CASE WHEN MAX(x.wait_duration_ms) >= 0 THEN N'ms' END + N')' + x.wait_type
    FROM sys.dm_os_waiting_tasks AS x WHERE x.session_id = t.session_id GROUP BY x.wait_type FOR XML PATH(''), TYPE).value('(./text())[1]', 'nvarchar(max)') AS waits) AS w
ORDER BY t.session_id";

/// Transactions of sessions, as text with what they have written.
const TRANSACTIONS: &str = "
SELECT s.session_id, s.open_transaction_count, a.name, DB_NAME(d.database_id) + N': ' + CONVERT(nvarchar(20), COUNT(*)) AS written, CASE WHEN MIN(d.database_transaction_begin_time) <= GETDATE() THEN 1 ELSE 0 END,
    CASE a.transaction_type WHEN 1 THEN 'read/write' WHEN 2 THEN 'read-only' END, MAX(CONVERT(tinyint, t.is_user_transaction))
FROM sys.dm_exec_sessions AS s INNER JOIN sys.dm_tran_session_transactions AS t ON t.session_id = s.session_id
INNER JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = t.transaction_id
INNER JOIN sys.dm_tran_database_transactions AS d ON d.transaction_id = t.transaction_id
WHERE a.name COLLATE Latin1_General_Bin2 <> 'sort_init' GROUP BY s.session_id, s.open_transaction_count, a.name, d.database_id, a.transaction_type ORDER BY s.session_id";

#[test]
fn tasks_waits_and_transactions_of_a_blocking_chain_are_its_own() {
    let (instance, mut dba) = shop(2);
    let chain = Chain::new(&instance, &mut dba);
    let [first, second, third] = &chain.ids;
    let tasks = sets(&mut dba, TASKS).remove(0);
    let waits = "(1x: ms)LCK_M_X";
    assert_eq!(tasks, [[second.as_str(), "1", "1", waits], [third, "1", "1", waits]]);
    let open = sets(&mut dba, TRANSACTIONS).remove(0);
    let named = |id: &str, count: &str, name: &str| {
        [id, count, name, "shop: 1", "1", "read/write", "1"].map(str::to_owned)
    };
    assert_eq!(open[0], named(first, "1", "root_of_it"));
    assert_eq!(open[1][..5], named(second, "1", "user_transaction")[..5]);
    chain.end();
    assert!(sets(&mut dba, TASKS)[0].is_empty());
    assert!(sets(&mut dba, TRANSACTIONS)[0].is_empty());
}

/// Locks as a document: by database and object, whose name a cursor over databases resolves.
const LOCKS: &str = "
CREATE TABLE #locks (session_id smallint, database_name sysname, resource_type nvarchar(60), request_mode nvarchar(60), request_status nvarchar(60), request_count int, object_id int NULL, object_name sysname NULL, schema_name sysname NULL);
INSERT #locks (session_id, database_name, resource_type, request_mode, request_status, request_count, object_id)
SELECT l.request_session_id, DB_NAME(l.resource_database_id), l.resource_type, l.request_mode, l.request_status, COUNT(*),
    CASE WHEN l.resource_type = 'OBJECT' THEN l.resource_associated_entity_id END
FROM sys.dm_tran_locks AS l WHERE l.request_session_id IN ({ids}) AND l.resource_type <> 'DATABASE'
GROUP BY l.request_session_id, l.resource_database_id, l.resource_type, l.request_mode, l.request_status, CASE WHEN l.resource_type = 'OBJECT' THEN l.resource_associated_entity_id END;
DECLARE @database_name sysname, @sql nvarchar(max);
DECLARE locks_cursor CURSOR LOCAL FAST_FORWARD FOR SELECT DISTINCT database_name FROM #locks WHERE database_name IS NOT NULL;
OPEN locks_cursor; FETCH NEXT FROM locks_cursor INTO @database_name;
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @sql = CONVERT(nvarchar(max), N'') + N'UPDATE l SET object_name = o.name, schema_name = s.name FROM #locks AS l INNER JOIN ' + QUOTENAME(@database_name) + N'.sys.all_objects AS o ON o.object_id = l.object_id INNER JOIN ' + QUOTENAME(@database_name) + N'.sys.schemas AS s ON s.schema_id = o.schema_id WHERE l.database_name = @database_name OPTION (KEEPFIXED PLAN)';
    EXEC sp_executesql @sql, N'@database_name sysname', @database_name;
    FETCH NEXT FROM locks_cursor INTO @database_name;
END;
CLOSE locks_cursor; DEALLOCATE locks_cursor;
SELECT s.session_id, CONVERT(nvarchar(max), (SELECT l.database_name AS [Database/@name], l.schema_name + '.' + l.object_name AS [Database/Object/@name], l.resource_type AS [Database/Object/Lock/@type], l.request_mode AS [Database/Object/Lock/@mode], l.request_status AS [Database/Object/Lock/@status], l.request_count AS [Database/Object/Lock/@count]
    FROM #locks AS l WHERE l.session_id = s.session_id ORDER BY l.resource_type, l.request_mode FOR XML PATH(''), TYPE)) FROM (SELECT DISTINCT session_id FROM #locks) AS s ORDER BY s.session_id;
DROP TABLE #locks";

#[test]
fn locks_are_shown_with_the_objects_they_are_on() {
    let (instance, mut dba) = shop(2);
    let (mut reader, mut applock) = (guest(&instance), guest(&instance));
    sets(&mut reader, "BEGIN TRANSACTION; SELECT COUNT(*) FROM stock WITH (HOLDLOCK, TABLOCK)");
    sets(&mut applock, "BEGIN TRANSACTION; EXEC sp_getapplock 'mine', 'Exclusive'");
    let writer = guest(&instance);
    let writer_id = id(&writer);
    let writing = spawn(&instance, writer, "UPDATE stock SET n = 0 WHERE id = 1");
    until_blocked(&mut dba, &writer_id);
    let ids = [id(&reader), id(&applock), writer_id];
    let rows = sets(&mut dba, &LOCKS.replace("{ids}", &ids.join(", "))).pop().expect("a result");
    let lock = |on: &str, kind: &str, mode: &str, status: &str| {
        format!(
            "<Database name=\"shop\"><Object{on}><Lock type=\"{kind}\" mode=\"{mode}\" status=\"{status}\" count=\"1\"/></Object></Database>"
        )
    };
    let on = " name=\"dbo.stock\"";
    assert_eq!(rows[0][1], lock(on, "OBJECT", "S", "GRANT"));
    assert_eq!(rows[1][1], lock("", "APPLICATION", "X", "GRANT"));
    sets(&mut reader, "COMMIT");
    sets(&mut applock, "COMMIT");
    let (_, answer) = writing.recv_timeout(PATIENCE).expect("the table is free");
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);
}

/// Two readings of requests and their difference: what each did in between.
const DELTA: &str = "
DECLARE @first TABLE (session_id smallint, cpu int, reads bigint, elapsed int, start_time datetime);
INSERT @first SELECT r.session_id, r.cpu_time, r.logical_reads, r.total_elapsed_time, r.start_time FROM sys.dm_exec_requests AS r WHERE r.session_id IN ({ids});
WAITFOR DELAY '00:00:00.200';
SELECT r.session_id, CASE WHEN r.cpu_time - f.cpu > 20 THEN 'busy' WHEN r.cpu_time - f.cpu <= 1 THEN 'idle' END, CASE WHEN r.total_elapsed_time - f.elapsed >= 195 THEN 1 ELSE 0 END, r.status
FROM sys.dm_exec_requests AS r INNER JOIN @first AS f ON f.session_id = r.session_id AND f.start_time = r.start_time ORDER BY r.session_id";

#[test]
fn in_an_interval_one_who_computes_has_used_the_cpu_and_one_who_waits_has_not() {
    let (instance, mut dba) = shop(3);
    let (mut holder, waiter, worker) = (guest(&instance), guest(&instance), guest(&instance));
    sets(&mut holder, "BEGIN TRANSACTION; UPDATE stock SET n = 1 WHERE id = 1");
    let ids = [id(&waiter), id(&worker)];
    let stop = Arc::clone(worker.cancel());
    let waiting = spawn(&instance, waiter, "UPDATE stock SET n = 2 WHERE id = 1");
    let working = spawn(&instance, worker, "DECLARE @i bigint = 0 WHILE 1 = 1 SET @i += 1");
    until_blocked(&mut dba, &ids[0]);
    let text = DELTA.replace("{ids}", &ids.join(", "));
    // On a busy machine the worker may not have begun, and may get little time in one interval.
    let end_ns = sos::clock::deadline_ns(PATIENCE);
    loop {
        let rows = sets(&mut dba, &text).remove(0);
        assert_eq!(rows[0], [ids[0].as_str(), "idle", "1", "suspended"]);
        if rows.get(1).is_some_and(|row| row[0] == ids[1] && row[1] == "busy") {
            break;
        }
        assert!(sos::clock::monotonic_ns() < end_ns, "the worker never works: {rows:?}");
    }
    stop.set();
    sets(&mut holder, "COMMIT");
    assert!(waiting.recv_timeout(PATIENCE).expect("the row is free").1.errors.is_empty());
    working.recv_timeout(PATIENCE).expect("it is cancelled");
}

/// A check that looks twice: findings of the moment, and waits, files and counters in between.
const FIRST: &str = "
CREATE TABLE #findings (Priority tinyint, Finding varchar(200), Details nvarchar(4000));
CREATE TABLE #waits (Pass tinyint, wait_type nvarchar(60), wait_time_ms bigint, tasks bigint);
CREATE TABLE #counters (Pass tinyint, object_name nvarchar(128), counter_name nvarchar(128), instance_name nvarchar(128), cntr_value bigint, cntr_type int);
CREATE TABLE #files (Pass tinyint, database_id smallint, file_id smallint, num_of_reads bigint, num_of_writes bigint, io_stall_write_ms bigint, TypeDesc nvarchar(60));
DECLARE @pass tinyint = 1;
WHILE @pass <= 2
BEGIN
    INSERT #waits SELECT @pass, x.wait_type, SUM(x.ms), SUM(x.tasks) FROM (
        SELECT owt.wait_type, SUM(owt.wait_duration_ms) OVER (PARTITION BY owt.wait_type, owt.session_id) AS ms, 0 AS tasks FROM sys.dm_os_waiting_tasks AS owt WHERE owt.session_id > 50 AND owt.wait_duration_ms >= 0
        UNION ALL SELECT w.wait_type, w.wait_time_ms, w.waiting_tasks_count FROM sys.dm_os_wait_stats AS w) AS x
    WHERE NOT EXISTS (SELECT * FROM (VALUES ('SLEEP_TASK'), ('WAITFOR'), ('SOS_WORK_DISPATCHER'), ('XE_DISPATCHER_WAIT')) AS ignored (wait_type) WHERE ignored.wait_type = x.wait_type) GROUP BY x.wait_type;
    INSERT #counters SELECT @pass, RTRIM(dmv.object_name), RTRIM(dmv.counter_name), RTRIM(dmv.instance_name), dmv.cntr_value, dmv.cntr_type FROM sys.dm_os_performance_counters AS dmv
        WHERE dmv.counter_name IN ('Batch Requests/sec', 'Number of Deadlocks/sec', 'SQL Compilations/sec', 'Processes blocked', 'User Connections');
    INSERT #files SELECT @pass, vfs.database_id, vfs.file_id, vfs.num_of_reads, vfs.num_of_writes, vfs.io_stall_write_ms, mf.type_desc FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS vfs INNER JOIN sys.master_files AS mf ON vfs.file_id = mf.file_id AND vfs.database_id = mf.database_id WHERE vfs.num_of_reads > 0 OR vfs.num_of_writes > 0;
    IF @pass = 1 WAITFOR DELAY '00:00:00.100';
    SET @pass += 1;
END;
INSERT #findings SELECT 1, 'Long-Running Query Blocking Others', N'Session ' + CONVERT(nvarchar(10), b.blocking_session_id) + N' blocks ' + CONVERT(nvarchar(10), COUNT(*)) FROM sys.dm_os_waiting_tasks AS b INNER JOIN sys.dm_exec_sessions AS s ON s.session_id = b.blocking_session_id WHERE b.wait_type LIKE 'LCK%' AND b.wait_duration_ms >= 0 GROUP BY b.blocking_session_id;
INSERT #findings SELECT 1, 'Sleeping Query with Open Transactions', N'Session ' + CONVERT(nvarchar(10), s.session_id) + N' in ' + DB_NAME(s.database_id) + N': ' + (SELECT TOP 1 t.text FROM sys.dm_exec_sql_text(c.most_recent_sql_handle) AS t)
    FROM sys.dm_exec_sessions AS s INNER JOIN sys.dm_exec_connections AS c ON c.session_id = s.session_id WHERE s.status = 'sleeping' AND s.open_transaction_count > 0 AND s.last_request_end_time <= GETDATE() AND EXISTS (SELECT 1 FROM sys.dm_tran_locks WHERE request_session_id = s.session_id AND NOT (resource_type = N'DATABASE' AND request_mode = N'S') UNION ALL SELECT 1 FROM sys.dm_tran_session_transactions WHERE session_id = s.session_id) ;
INSERT #findings SELECT 50, 'Wait', w2.wait_type FROM #waits AS w1 INNER JOIN #waits AS w2 ON w2.wait_type = w1.wait_type AND w2.Pass = 2 WHERE w1.Pass = 1 AND w2.wait_type LIKE 'LCK%' AND w2.wait_time_ms - w1.wait_time_ms >= 190;
INSERT #findings SELECT 100, c2.counter_name, CASE c2.counter_name WHEN 'Processes blocked' THEN CONVERT(nvarchar(20), c2.cntr_value) WHEN 'User Connections' THEN CONVERT(nvarchar(20), c2.cntr_value) ELSE CONVERT(nvarchar(20), c2.cntr_value - c1.cntr_value) END
    FROM #counters AS c1 INNER JOIN #counters AS c2 ON c2.object_name = c1.object_name AND c2.counter_name = c1.counter_name AND c2.instance_name = c1.instance_name AND c2.Pass = 2 WHERE c1.Pass = 1 AND c2.instance_name IN ('', '_Total') AND c2.counter_name <> 'SQL Compilations/sec';
INSERT #findings SELECT 200, 'Files with I/O', CONVERT(nvarchar(20), COUNT(*)) FROM #files;
SELECT Priority, Finding, Details FROM #findings ORDER BY Priority, Finding, Details";

#[test]
fn a_first_look_finds_the_blocker_its_waits_and_its_open_transaction() {
    let (instance, mut dba) = shop(2);
    let chain = Chain::new(&instance, &mut dba);
    let [first, second, _] = &chain.ids;
    let rows = sets(&mut dba, FIRST).pop().expect("a result");
    let found = |finding: &str| -> Vec<&str> {
        rows.iter().filter(|row| row[1] == finding).map(|row| row[2].as_str()).collect()
    };
    let blocks = [first, second].map(|id| format!("Session {id} blocks 1"));
    assert_eq!(found("Long-Running Query Blocking Others"), blocks);
    let text = "BEGIN TRANSACTION root_of_it; UPDATE stock SET n = 1 WHERE id = 1";
    assert_eq!(
        found("Sleeping Query with Open Transactions"),
        [format!("Session {first} in shop: {text}")]
    );
    assert_eq!(found("Wait"), ["LCK_M_X"], "two sessions waited 100 ms each: {rows:?}");
    assert_eq!(found("Batch Requests/sec"), ["0"], "nothing else ran");
    assert_eq!(found("Number of Deadlocks/sec"), ["0"]);
    assert_eq!(found("Processes blocked"), ["2"]);
    assert_eq!(found("User Connections"), ["4"]);
    assert_eq!(found("Files with I/O"), ["0"], "all is in memory");
    chain.end();
}

/// The most expensive statements and procedures of the cache, with what their plans warn of.
const CACHE: &str = "
CREATE TABLE ##top_queries (ID int IDENTITY(1, 1), QueryType nvarchar(258), DatabaseName sysname NULL, QueryText nvarchar(max), ExecutionCount bigint, MinReturnedRows bigint, MaxReturnedRows bigint, TotalReturnedRows bigint, AverageWorkerTime bigint, QueryHash binary(8), QueryPlan xml NULL, SetOptions varchar(max) NULL, NumberOfPlans int NULL, implicit_conversions bit NULL, table_scans int NULL, seeks int NULL, Warnings varchar(max) NULL);
INSERT ##top_queries (QueryType, DatabaseName, QueryText, ExecutionCount, MinReturnedRows, MaxReturnedRows, TotalReturnedRows, AverageWorkerTime, QueryHash, QueryPlan, SetOptions)
SELECT TOP (50) CASE WHEN pa.objectid IS NULL THEN 'Statement' ELSE 'Procedure or Function: ' + QUOTENAME(COALESCE(OBJECT_NAME(st.objectid, st.dbid), '')) END, DB_NAME(CAST(pa.dbid AS int)),
    SUBSTRING(st.text, (qs.statement_start_offset / 2) + 1, ((CASE qs.statement_end_offset WHEN -1 THEN DATALENGTH(st.text) ELSE qs.statement_end_offset END - qs.statement_start_offset) / 2) + 1),
    qs.execution_count, qs.min_rows, qs.max_rows, qs.total_rows, qs.total_worker_time / qs.execution_count, qs.query_hash, TRY_CONVERT(xml, tp.query_plan), SUBSTRING(CASE WHEN (pa.set_options & 1 = 1) THEN ', ANSI_PADDING' ELSE '' END + CASE WHEN (pa.set_options & 64 = 64) THEN ', QUOTED_IDENTIFIER' ELSE '' END, 2, 200000)
FROM sys.dm_exec_query_stats AS qs
CROSS APPLY (SELECT MAX(CASE a.attribute WHEN 'dbid' THEN CONVERT(int, a.value) END) AS dbid, MAX(CASE a.attribute WHEN 'set_options' THEN CONVERT(int, a.value) END) AS set_options, MAX(CASE WHEN a.attribute = 'objectid' THEN p.object_id END) AS objectid FROM sys.dm_exec_plan_attributes(qs.plan_handle) AS a LEFT JOIN sys.procedures AS p ON a.attribute = 'objectid' AND p.object_id = CONVERT(int, a.value)) AS pa
CROSS APPLY sys.dm_exec_sql_text(qs.plan_handle) AS st
CROSS APPLY sys.dm_exec_text_query_plan(qs.plan_handle, qs.statement_start_offset, qs.statement_end_offset) AS tp
WHERE pa.dbid = DB_ID() AND qs.last_execution_time >= DATEADD(hour, -1, GETDATE()) AND st.text NOT LIKE '%##top_queries%' ORDER BY qs.execution_count DESC OPTION (RECOMPILE);
UPDATE b SET NumberOfPlans = x.plans FROM ##top_queries AS b JOIN (SELECT qs.query_hash, COUNT(DISTINCT qs.plan_handle) AS plans FROM sys.dm_exec_query_stats AS qs GROUP BY qs.query_hash) AS x ON x.query_hash = b.QueryHash;
WITH XMLNAMESPACES ('http://schemas.microsoft.com/sqlserver/2004/07/showplan' AS p)
UPDATE b SET table_scans = x.scans, seeks = x.seeks, implicit_conversions = b.QueryPlan.exist('//p:RelOp//p:ScalarOperator/@ScalarString[contains(., \"CONVERT_IMPLICIT\")]')
FROM ##top_queries AS b CROSS APPLY (SELECT COUNT(CASE WHEN n.c.value('@PhysicalOp', 'nvarchar(60)') LIKE '%Scan' THEN 1 END) AS scans, COUNT(CASE WHEN n.c.value('@PhysicalOp', 'nvarchar(60)') = 'Index Seek' THEN 1 END) AS seeks FROM b.QueryPlan.nodes('//p:RelOp') AS n(c)) AS x;
UPDATE b SET Warnings = CASE WHEN QueryPlan IS NULL THEN 'no plan' ELSE ISNULL(NULLIF(SUBSTRING(CASE WHEN NumberOfPlans > 1 THEN ', ' + CAST(NumberOfPlans AS varchar(10)) + ' plans' ELSE '' END + CASE WHEN table_scans > 0 THEN ', scans' ELSE '' END + CASE WHEN implicit_conversions = 1 THEN ', implicit conversions' ELSE '' END, 3, 200), ''), '-') END FROM ##top_queries AS b;
SELECT QueryType, QueryText, ExecutionCount, MinReturnedRows, MaxReturnedRows, TotalReturnedRows, seeks, Warnings FROM ##top_queries ORDER BY ExecutionCount DESC, QueryText;
DROP TABLE ##top_queries";

#[test]
fn the_cache_shows_the_statements_that_ran_with_their_counts_and_plans() {
    let (_instance, mut dba) = shop(1);
    sets(
        &mut dba,
        "CREATE PROCEDURE by_range @from int, @to int AS SELECT n FROM stock WHERE id BETWEEN @from AND @to",
    );
    sets(
        &mut dba,
        "CREATE TABLE names (name varchar(20), INDEX ix (name)); INSERT names VALUES ('1'), ('2')",
    );
    sets(&mut dba, "DBCC FREEPROCCACHE WITH NO_INFOMSGS");
    for number in 1..=7 {
        sets(&mut dba, &format!("EXEC by_range 1, {number}"));
    }
    for _ in 0..3 {
        sets(&mut dba, "EXEC sp_executesql N'SELECT n FROM stock WHERE n = @n', N'@n int', @n = 5");
    }
    sets(
        &mut dba,
        "EXEC sp_executesql N'SELECT name FROM names WHERE name = @p', N'@p int', @p = 2",
    );
    let rows = sets(&mut dba, CACHE).pop().expect("a result");
    let procedure = "Procedure or Function: [by_range]";
    let ranged = "SELECT n FROM stock WHERE id BETWEEN @from AND @to";
    assert_eq!(rows[0][..6], [procedure, ranged, "7", "1", "7", "28"]);
    assert_eq!(rows[0][6..], ["1", "-"]);
    assert_eq!(
        rows[1],
        ["Statement", "SELECT n FROM stock WHERE n = @n", "3", "100", "100", "300", "0", "scans"]
    );
    let converted = rows.iter().find(|row| row[1].contains("names WHERE")).expect("it ran");
    assert_eq!(converted[2..6], ["1", "1", "1", "1"]);
    assert!(converted[7].contains("implicit conversions"), "{converted:?}");
}

/// What is wrong with the indexes of a database.
const INDEXES: &str = "
CREATE TABLE #IndexSanity (index_sanity_id int IDENTITY PRIMARY KEY CLUSTERED, database_id smallint NOT NULL, object_id int NOT NULL, index_id int NOT NULL, index_type tinyint NOT NULL, schema_name nvarchar(128) NOT NULL, object_name nvarchar(128) NOT NULL, index_name nvarchar(128) NULL, key_column_names nvarchar(max) NULL, key_column_names_with_sort_order nvarchar(max) NULL, include_column_names nvarchar(max) NULL, count_key_columns int NULL, is_unique bit NOT NULL, is_primary_key bit NOT NULL, filter_definition nvarchar(max) NOT NULL, total_rows bigint NULL, user_reads bigint NULL,
    db_schema_object_name AS [schema_name] + N'.' + [object_name], index_definition AS CASE WHEN filter_definition <> N'' THEN N'[FILTER] ' ELSE N'' END + CASE WHEN is_primary_key = 1 THEN N'[PK] ' ELSE N'' END + CASE WHEN is_unique = 1 AND is_primary_key = 0 THEN N'[UNIQUE] ' ELSE N'' END + CASE WHEN count_key_columns > 0 THEN N'[' + CAST(count_key_columns AS nvarchar(10)) + N' KEY' + CASE WHEN count_key_columns > 1 THEN N'S' ELSE N'' END + N'] ' + LTRIM(key_column_names_with_sort_order) ELSE N'' END);
INSERT #IndexSanity (database_id, object_id, index_id, index_type, schema_name, object_name, index_name, is_unique, is_primary_key, filter_definition, total_rows, user_reads)
SELECT DB_ID(), so.object_id, si.index_id, si.type, sc.name, so.name, si.name, si.is_unique, si.is_primary_key, ISNULL(si.filter_definition, N''), ps.row_count, us.user_seeks + us.user_scans + us.user_lookups
FROM sys.indexes AS si JOIN sys.objects AS so ON si.object_id = so.object_id AND so.is_ms_shipped = 0 AND so.type <> 'TF' JOIN sys.schemas AS sc ON so.schema_id = sc.schema_id
LEFT JOIN (SELECT object_id, index_id, SUM(row_count) AS row_count FROM sys.dm_db_partition_stats GROUP BY object_id, index_id) AS ps ON ps.object_id = si.object_id AND ps.index_id = si.index_id
LEFT JOIN sys.dm_db_index_usage_stats AS us ON us.database_id = DB_ID() AND us.object_id = si.object_id AND us.index_id = si.index_id
WHERE si.type IN (0, 1, 2, 4, 5, 6) OPTION (RECOMPILE);
UPDATE s SET key_column_names = D1.names, key_column_names_with_sort_order = D1.sorted, count_key_columns = D1.keys, include_column_names = D2.names FROM #IndexSanity AS s
CROSS APPLY (SELECT RTRIM(STUFF((SELECT N', ' + c.name AS col_definition FROM sys.index_columns AS ic JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id WHERE ic.object_id = s.object_id AND ic.index_id = s.index_id AND ic.is_included_column = 0 ORDER BY ic.key_ordinal FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)'), 1, 1, '')) AS names,
    (SELECT COUNT(*) FROM sys.index_columns AS ic WHERE ic.object_id = s.object_id AND ic.index_id = s.index_id AND ic.key_ordinal > 0) AS keys,
    RTRIM(STUFF((SELECT N', ' + c.name + CASE ic.is_descending_key WHEN 1 THEN N' DESC' ELSE N'' END FROM sys.index_columns AS ic JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id WHERE ic.object_id = s.object_id AND ic.index_id = s.index_id AND ic.is_included_column = 0 ORDER BY ic.key_ordinal FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)'), 1, 1, '')) AS sorted) AS D1
CROSS APPLY (SELECT RTRIM(STUFF((SELECT N', ' + c.name FROM sys.index_columns AS ic JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id WHERE ic.object_id = s.object_id AND ic.index_id = s.index_id AND ic.is_included_column = 1 ORDER BY c.name FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)'), 1, 1, '')) AS names) AS D2;
WITH duplicate_indexes AS (SELECT object_id, key_column_names, filter_definition, database_id FROM #IndexSanity AS ips WHERE ips.index_type IN (1, 2) AND ips.is_primary_key = 0 GROUP BY object_id, key_column_names, filter_definition, database_id HAVING COUNT_BIG(*) > 1)
SELECT 1 AS check_id, 'Duplicate keys' AS finding, ips.index_name, LTRIM(ips.index_definition) AS details FROM duplicate_indexes AS di JOIN #IndexSanity AS ips ON ips.object_id = di.object_id AND ips.key_column_names = di.key_column_names AND ips.filter_definition = di.filter_definition
UNION ALL SELECT 2, 'Borderline duplicate keys', a.index_name, b.index_name FROM #IndexSanity AS a JOIN #IndexSanity AS b ON a.object_id = b.object_id AND a.index_id <> b.index_id AND b.key_column_names LIKE a.key_column_names + N', %'
UNION ALL SELECT 20, 'Self-loathing: heap with rows', NULL, db_schema_object_name + N': ' + CONVERT(nvarchar(20), total_rows) FROM #IndexSanity WHERE index_id = 0 AND total_rows > 0
UNION ALL SELECT 21, 'Heap with a nonclustered primary key', index_name, db_schema_object_name FROM #IndexSanity WHERE is_primary_key = 1 AND index_id > 1
UNION ALL SELECT 22, 'Unused', index_name, NULL FROM #IndexSanity WHERE user_reads = 0
UNION ALL SELECT 60, 'Foreign key without index', fk.name, OBJECT_NAME(fk.parent_object_id) FROM sys.foreign_keys AS fk WHERE NOT EXISTS (SELECT 1 FROM sys.foreign_key_columns AS f JOIN sys.index_columns AS ic ON ic.object_id = f.parent_object_id AND ic.column_id = f.parent_column_id AND ic.key_ordinal = f.constraint_column_id WHERE f.constraint_object_id = fk.object_id)
ORDER BY check_id, index_name, details;
DROP TABLE #IndexSanity";

#[test]
fn an_index_check_finds_duplicates_heaps_and_keys_without_index() {
    let (_instance, mut dba) = shop(1);
    for text in [
        "CREATE TABLE orders (id int NOT NULL CONSTRAINT pk_orders PRIMARY KEY NONCLUSTERED, stock_id int CONSTRAINT fk_stock REFERENCES stock (id), day date, amount money)",
        "CREATE INDEX ix_day ON orders (day) INCLUDE (amount); CREATE INDEX ix_day_again ON orders (day); CREATE INDEX ix_day_amount ON orders (day, amount DESC)",
        "CREATE INDEX ix_some ON orders (day) WHERE amount > 100",
        "INSERT orders SELECT value, value, '2024-01-01', value FROM GENERATE_SERIES(1, 40)",
    ] {
        sets(&mut dba, text);
    }
    let rows = sets(&mut dba, INDEXES).pop().expect("a result");
    assert_eq!(
        rows,
        [
            ["1", "Duplicate keys", "ix_day", "[1 KEY] day"],
            ["1", "Duplicate keys", "ix_day_again", "[1 KEY] day"],
            ["2", "Borderline duplicate keys", "ix_day", "ix_day_amount"],
            ["2", "Borderline duplicate keys", "ix_day_again", "ix_day_amount"],
            ["2", "Borderline duplicate keys", "ix_some", "ix_day_amount"],
            ["20", "Self-loathing: heap with rows", "NULL", "dbo.orders: 40"],
            ["21", "Heap with a nonclustered primary key", "pk_orders", "dbo.orders"],
            // The rows were inserted, and no statement has read them.
            ["22", "Unused", "NULL", "NULL"],
            ["22", "Unused", "ix_day", "NULL"],
            ["22", "Unused", "ix_day_again", "NULL"],
            ["22", "Unused", "ix_day_amount", "NULL"],
            ["22", "Unused", "ix_some", "NULL"],
            ["22", "Unused", "pk_orders", "NULL"],
            ["60", "Foreign key without index", "fk_stock", "orders"],
        ]
    );
}

/// Deadlocks that the session system_health has kept, taken apart.
const DEADLOCKS: &str = "
SELECT CONVERT(xml, x.deadlock) AS deadlock_xml INTO #deadlock_data FROM (
    SELECT CONVERT(nvarchar(max), e.x.query('(data[@name=\"xml_report\"]/value/deadlock)[1]')) AS deadlock FROM (
        SELECT TRY_CAST(t.target_data AS xml) AS target_data FROM sys.dm_xe_sessions AS s JOIN sys.dm_xe_session_targets AS t ON s.address = t.event_session_address WHERE s.name = N'system_health' AND t.target_name = N'ring_buffer') AS d
    CROSS APPLY d.target_data.nodes('/RingBufferTarget/event[@name=\"xml_deadlock_report\"]') AS e(x)) AS x OPTION (RECOMPILE);
SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS deadlock, d.deadlock_xml.value('(deadlock/victim-list/victimProcess/@id)[1]', 'nvarchar(50)') AS victim_id, d.deadlock_xml INTO #parsed FROM #deadlock_data AS d;
SELECT p.deadlock, ca.dp.value('@id', 'nvarchar(256)') AS id, CASE WHEN p.victim_id = ca.dp.value('@id', 'nvarchar(256)') THEN 1 ELSE 0 END AS is_victim, ca.dp.value('@spid', 'smallint') AS spid, ca.dp.value('@currentdbname', 'nvarchar(256)') AS database_name, ca.dp.value('@loginname', 'nvarchar(256)') AS login_name, ca.dp.value('@isolationlevel', 'nvarchar(256)') AS isolation_level, ca.dp.value('@transactionname', 'nvarchar(256)') AS transaction_name, ca.dp.value('(inputbuf/text())[1]', 'nvarchar(max)') AS inputbuf, ca.dp.value('@waitresource', 'nvarchar(256)') AS wait_resource
INTO #process FROM #parsed AS p CROSS APPLY p.deadlock_xml.nodes('//deadlock/process-list/process') AS ca(dp);
SELECT spid, is_victim, login_name, LTRIM(RTRIM(REPLACE(REPLACE(inputbuf, CHAR(10), ' '), CHAR(13), ' '))) FROM #process ORDER BY spid;
SELECT COUNT(DISTINCT o.value('@id', 'nvarchar(256)')), COUNT(*) FROM #parsed AS p CROSS APPLY p.deadlock_xml.nodes('//deadlock/resource-list/*/owner-list/owner') AS r(o) JOIN #process AS s ON s.id = o.value('@id', 'nvarchar(256)');
SELECT COUNT(*) FROM #parsed AS p CROSS APPLY p.deadlock_xml.nodes('//deadlock/resource-list/*/waiter-list/waiter') AS r(w) JOIN #process AS s ON s.id = w.value('@id', 'nvarchar(256)')";

#[test]
fn a_deadlock_that_system_health_has_kept_is_taken_apart() {
    let instance = joined();
    instance.start_event_sessions().expect("the session can start");
    let mut dba = login(&instance);
    sets(&mut dba, "CREATE DATABASE shop");
    sets(
        &mut dba,
        "USE shop; CREATE TABLE stock (id int PRIMARY KEY, n int); INSERT stock VALUES (1, 1), (2, 2)",
    );
    let (mut one, mut two) = (guest(&instance), guest(&instance));
    sets(
        &mut one,
        "SET DEADLOCK_PRIORITY HIGH; BEGIN TRANSACTION; UPDATE stock SET n = 0 WHERE id = 1",
    );
    sets(
        &mut two,
        "SET DEADLOCK_PRIORITY LOW; BEGIN TRANSACTION; UPDATE stock SET n = 0 WHERE id = 2",
    );
    let (one_id, two_id) = (id(&one), id(&two));
    let text_two = "UPDATE stock SET n = 5 WHERE id = 1";
    let second = spawn(&instance, two, text_two);
    until_blocked(&mut dba, &two_id);
    // Another shape: a text that differs in constants only is shown with parameters for them.
    let text_one = "UPDATE stock SET n = n + 7 WHERE id = 2";
    sets(&mut one, text_one);
    let (_, answer) = second.recv_timeout(PATIENCE).expect("it is the victim");
    assert_eq!(answer.errors[0].number, 1205);
    sets(&mut one, "COMMIT");
    let sets = sets(&mut dba, DEADLOCKS);
    let [.., processes, owners, waiters] = sets.as_slice() else { panic!("{sets:?}") };
    let wanted = [[&one_id, "0", "sa", text_one], [&two_id, "1", "sa", text_two]];
    assert_eq!(processes, &wanted);
    assert_eq!(
        (owners, waiters),
        (&vec![vec!["2".to_owned(), "2".to_owned()]], &vec![vec!["2".to_owned()]])
    );
}

/// Pressure: schedulers, memory for queries and threads.
const PRESSURE: &str = "
SELECT SUM(s.runnable_tasks_count) AS runnable, COUNT(*) AS schedulers, SUM(s.current_workers_count) - SUM(s.active_workers_count) AS idle_workers, MAX(i.max_workers_count) FROM sys.dm_os_schedulers AS s CROSS JOIN sys.dm_os_sys_info AS i WHERE s.status = 'VISIBLE ONLINE';
SELECT SUM(r.waiter_count) AS waiters, SUM(r.grantee_count) AS grantees, SIGN(SUM(r.total_memory_kb)), MAX(CASE WHEN r.granted_memory_kb <= r.total_memory_kb THEN 1 ELSE 0 END) FROM sys.dm_exec_query_resource_semaphores AS r WHERE r.max_target_memory_kb IS NOT NULL;
SELECT mg.session_id, CASE WHEN mg.granted_memory_kb > 0 AND mg.grant_time >= mg.request_time THEN 'granted' WHEN mg.grant_time IS NULL THEN 'waits' END, CASE WHEN mg.used_memory_kb <= mg.granted_memory_kb THEN 1 ELSE 0 END FROM sys.dm_exec_query_memory_grants AS mg WHERE mg.session_id <> @@SPID;
SELECT COUNT(*) FROM sys.dm_os_waiting_tasks AS w WHERE w.session_id > 50 AND w.wait_type = 'THREADPOOL';
SELECT t.type, SUM(t.pages_kb) AS kb INTO #clerks FROM sys.dm_os_memory_clerks AS t GROUP BY t.type HAVING SUM(t.pages_kb) > 0; SELECT SIGN(COUNT(*)) FROM #clerks; DROP TABLE #clerks";

#[test]
fn pressure_is_seen_where_a_sort_holds_memory_while_its_reader_waits() {
    let (instance, mut dba) = shop(2);
    let mut holder = guest(&instance);
    sets(&mut holder, "BEGIN TRANSACTION; UPDATE stock SET n = 0 WHERE id = 100");
    let sorter = guest(&instance);
    let sorter_id = id(&sorter);
    let sorting = spawn(
        &instance,
        sorter,
        "SELECT id, REPLICATE('x', 1000) AS filler FROM stock WITH (UPDLOCK) ORDER BY n DESC, filler",
    );
    until_blocked(&mut dba, &sorter_id);
    let pressure = sets(&mut dba, PRESSURE);
    assert_eq!(
        pressure[0][0][..2],
        ["0", "2"],
        "two schedulers, and none has a queue: {pressure:?}"
    );
    assert_eq!(pressure[1], [["0", "1", "1", "1"]]);
    assert_eq!(pressure[2], [[sorter_id.as_str(), "granted", "1"]]);
    assert_eq!(pressure[3], [["0"]]);
    assert_eq!(pressure.last().expect("a result"), &[["1"]]);
    sets(&mut holder, "COMMIT");
    let (_, answer) = sorting.recv_timeout(PATIENCE).expect("the row is free");
    assert_eq!(answer.sets[0].len(), 100);
    assert_eq!(sets(&mut dba, PRESSURE)[1], [["0", "0", "1", "1"]]);
}

/// A session of events that is made by dynamic SQL, read and dropped.
const EVENTS: &str = "
DECLARE @session_name nvarchar(512) = N'keeper_' + REPLACE(CONVERT(nvarchar(36), NEWID()), N'-', N''), @session_sql nvarchar(max), @start_sql nvarchar(max), @stop_sql nvarchar(max), @drop_sql nvarchar(max), @filter nvarchar(max) = N'sqlserver.is_system = 0 AND row_count > 3 AND sqlserver.session_id <> ' + CONVERT(nvarchar(10), @@SPID);
SET @session_sql = N'CREATE EVENT SESSION ' + @session_name + N' ON SERVER ADD EVENT sqlserver.sql_statement_completed (SET collect_statement = 1 ACTION (sqlserver.database_name, sqlserver.sql_text, sqlserver.session_id, sqlserver.query_hash_signed, sqlserver.query_plan_hash_signed) WHERE ( ' + @filter + N' )) ADD TARGET package0.ring_buffer (SET max_memory = 102400) WITH (MAX_MEMORY = 102400KB, EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS, MAX_DISPATCH_LATENCY = 5 SECONDS, MAX_EVENT_SIZE = 0KB, MEMORY_PARTITION_MODE = PER_CPU, TRACK_CAUSALITY = OFF, STARTUP_STATE = OFF)';
SET @start_sql = N'ALTER EVENT SESSION ' + @session_name + N' ON SERVER STATE = START'; SET @stop_sql = N'ALTER EVENT SESSION ' + @session_name + N' ON SERVER STATE = STOP'; SET @drop_sql = N'DROP EVENT SESSION ' + @session_name + N' ON SERVER';
EXEC (@session_sql); EXEC (@start_sql);
SELECT @session_name";

/// Reads the events of that session.
const SHREDDED: &str = "
SELECT c.value('@name', 'nvarchar(256)') AS event_type, c.value('(action[@name=\"database_name\"]/value/text())[1]', 'nvarchar(256)'), LTRIM(c.value('(data[@name=\"statement\"]/value/text())[1]', 'nvarchar(max)')), c.value('(data[@name=\"row_count\"]/value/text())[1]', 'bigint'), CASE WHEN CONVERT(binary(8), c.value('(action[@name=\"query_hash_signed\"]/value/text())[1]', 'bigint')) <> 0x THEN 1 END, CASE WHEN c.value('(data[@name=\"duration\"]/value/text())[1]', 'bigint') >= 0 THEN 1 END
FROM (SELECT TRY_CAST(t.target_data AS xml) AS x FROM sys.dm_xe_session_targets AS t JOIN sys.dm_xe_sessions AS s ON s.address = t.event_session_address WHERE s.name = N'{name}' AND t.target_name = N'ring_buffer') AS r CROSS APPLY r.x.nodes('/RingBufferTarget/event') AS e(c) ORDER BY 3";

#[test]
fn a_session_of_events_keeps_the_statements_above_the_threshold() {
    let instance = joined();
    let mut dba = login(&instance);
    sets(&mut dba, "CREATE DATABASE shop");
    sets(
        &mut dba,
        "USE shop; CREATE TABLE stock (id int PRIMARY KEY, n int); INSERT stock SELECT value, 5 FROM GENERATE_SERIES(1, 100)",
    );
    let name = sets(&mut dba, EVENTS).remove(0).remove(0).remove(0);
    let mut worker = guest(&instance);
    for top in [2, 3, 4, 50] {
        sets(&mut worker, &format!("SELECT TOP ({top}) id FROM stock"));
    }
    let rows = sets(&mut dba, &SHREDDED.replace("{name}", &name)).remove(0);
    let kept = |text: &str, count: &str| {
        ["sql_statement_completed", "shop", text, count, "1", "1"].map(str::to_owned)
    };
    let wanted =
        [kept("SELECT TOP (4) id FROM stock", "4"), kept("SELECT TOP (50) id FROM stock", "50")];
    assert_eq!(rows, wanted);
    sets(
        &mut dba,
        &format!(
            "ALTER EVENT SESSION {name} ON SERVER STATE = STOP; DROP EVENT SESSION {name} ON SERVER"
        ),
    );
    let left = format!("SELECT COUNT(*) FROM sys.server_event_sessions WHERE name = '{name}'");
    assert_eq!(sets(&mut dba, &left), [[["0"]]]);
}

/// Backs up the databases that are named, verifies the files and keeps a log of the commands.
const BACKUP: &str = "
CREATE PROCEDURE dbo.back_up @databases nvarchar(max), @directory nvarchar(max), @verify nvarchar(1) = N'Y', @checksum nvarchar(1) = N'Y', @log table_of_commands READONLY AS
BEGIN
    SET NOCOUNT ON
    DECLARE @DirectoryInfo TABLE (FileExists bit, FileIsADirectory bit, ParentDirectoryExists bit)
    DECLARE @name sysname, @path nvarchar(max), @file nvarchar(max), @command nvarchar(max), @error int = 0, @ReturnCode int
    INSERT INTO @DirectoryInfo (FileExists, FileIsADirectory, ParentDirectoryExists) EXECUTE [master].dbo.xp_fileexist @directory
    IF NOT EXISTS (SELECT * FROM @DirectoryInfo WHERE FileExists = 0 AND FileIsADirectory = 1 AND ParentDirectoryExists = 1) BEGIN RAISERROR('The directory %s does not exist.', 16, 1, @directory) WITH NOWAIT RETURN 50001 END
    DECLARE names CURSOR LOCAL FAST_FORWARD FOR SELECT d.name FROM sys.databases AS d JOIN STRING_SPLIT(@databases, N',') AS s ON d.name = LTRIM(RTRIM(s.value)) ORDER BY d.name
    OPEN names FETCH NEXT FROM names INTO @name
    WHILE @@FETCH_STATUS = 0
    BEGIN
        SET @path = @directory + N'/' + @name + N'/FULL'
        EXECUTE @ReturnCode = [master].dbo.xp_create_subdir @path
        IF @ReturnCode <> 0 RAISERROR('Error creating directory.', 16, 1)
        SET @file = @path + N'/' + REPLACE(CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')), N'\\', N'$') + N'_' + @name + N'_FULL_' + REPLACE(REPLACE(REPLACE((CONVERT(nvarchar, GETDATE(), 120)), '-', ''), ' ', '_'), ':', '') + N'.bak'
        SET @command = N'BACKUP DATABASE ' + QUOTENAME(@name) + N' TO DISK = N''' + REPLACE(@file, '''', '''''') + N''' WITH ' + CASE WHEN @checksum = 'Y' THEN N'CHECKSUM' ELSE N'NO_CHECKSUM' END + N', COMPRESSION'
        BEGIN TRY EXEC (@command) END TRY BEGIN CATCH SET @error = ERROR_NUMBER() END CATCH
        INSERT dbo.CommandLog (DatabaseName, CommandType, Command, ErrorNumber) VALUES (@name, 'BACKUP_DATABASE', @command, @error)
        IF @error = 0 AND @verify = 'Y'
        BEGIN
            SET @command = N'RESTORE VERIFYONLY FROM DISK = N''' + REPLACE(@file, '''', '''''') + N''' WITH ' + CASE WHEN @checksum = 'Y' THEN N'CHECKSUM' ELSE N'NO_CHECKSUM' END
            BEGIN TRY EXEC (@command) END TRY BEGIN CATCH SET @error = ERROR_NUMBER() END CATCH
            INSERT dbo.CommandLog (DatabaseName, CommandType, Command, ErrorNumber) VALUES (@name, 'RESTORE_VERIFYONLY', @command, @error)
        END
        FETCH NEXT FROM names INTO @name
    END
    RETURN @error
END";

#[test]
fn backups_and_checks_of_integrity_are_made_verified_and_remembered() {
    let data = crate::backup::Data::new("tools");
    let instance = data.open();
    let mut dba = login(&instance);
    for text in ["CREATE DATABASE shop", "CREATE DATABASE other"] {
        sets(&mut dba, text);
    }
    sets(
        &mut dba,
        "USE shop; CREATE TABLE stock (id int PRIMARY KEY, n int); INSERT stock VALUES (1, 1)",
    );
    sets(
        &mut dba,
        "CREATE TABLE CommandLog (ID int IDENTITY PRIMARY KEY, DatabaseName sysname, CommandType nvarchar(60), Command nvarchar(max), ErrorNumber int)",
    );
    sets(&mut dba, "CREATE TYPE table_of_commands AS TABLE (command nvarchar(max))");
    sets(&mut dba, BACKUP);
    let folder = data.file("backups");
    let call = format!(
        "DECLARE @none table_of_commands, @r int EXEC @r = dbo.back_up N'shop, other', N'{folder}', @log = @none SELECT @r"
    );
    assert_eq!(batch(&mut dba, &call).errors[0].number, 50_000, "there is no such folder yet");
    sets(&mut dba, &format!("EXEC master.dbo.xp_create_subdir N'{folder}'"));
    assert_eq!(sets(&mut dba, &call), [[["0"]]]);
    let log =
        sets(&mut dba, "SELECT DatabaseName, CommandType, ErrorNumber FROM CommandLog ORDER BY ID");
    let wanted = [
        ["other", "BACKUP_DATABASE", "0"],
        ["other", "RESTORE_VERIFYONLY", "0"],
        ["shop", "BACKUP_DATABASE", "0"],
        ["shop", "RESTORE_VERIFYONLY", "0"],
    ];
    assert_eq!(log[0], wanted);
    let backups = "SELECT b.database_name, b.type, b.has_backup_checksums, IIF(b.backup_size >= b.compressed_backup_size AND b.backup_finish_date >= b.backup_start_date, 1, 0), (SELECT COUNT(*) FROM sys.dm_os_file_exists(f.physical_device_name) AS e WHERE e.file_exists = 1)
        FROM msdb.dbo.backupset AS b JOIN msdb.dbo.backupmediafamily AS f ON f.media_set_id = b.media_set_id ORDER BY b.database_name";
    assert_eq!(
        sets(&mut dba, backups)[0],
        [["other", "D", "1", "1", "1"], ["shop", "D", "1", "1", "1"]]
    );
    let files = format!("EXEC master.dbo.xp_dirtree N'{folder}', 0, 1");
    let files = sets(&mut dba, &files).remove(0);
    let names: Vec<&str> = files.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(
        (files.len(), names[0], names[1], names[3]),
        (6, "other", "FULL", "shop"),
        "{files:?}"
    );
    let io = "SELECT type_desc, IIF(SUM(v.num_of_writes) > 0 AND SUM(v.num_of_bytes_written) > SUM(v.num_of_writes), 1, 0), IIF(SUM(v.io_stall) >= SUM(v.io_stall_write_ms), 1, 0) FROM sys.dm_io_virtual_file_stats(DB_ID('shop'), NULL) AS v JOIN sys.master_files AS f ON f.database_id = v.database_id AND f.file_id = v.file_id GROUP BY type_desc ORDER BY type_desc";
    sets(&mut dba, "CHECKPOINT");
    assert_eq!(sets(&mut dba, io)[0], [["LOG", "1", "1"], ["ROWS", "1", "1"]]);
    assert_eq!(sets(&mut dba, "SELECT SIGN(@@TOTAL_WRITE), @@TOTAL_ERRORS")[0], [["1", "0"]]);
    // A check that found no error is remembered, also after a restart.
    sets(&mut dba, "DBCC CHECKDB ('shop') WITH NO_INFOMSGS, ALL_ERRORMSGS, DATA_PURITY");
    let checked = "SELECT name, IIF(DATEDIFF(minute, CAST(DATABASEPROPERTYEX(name, 'LastGoodCheckDbTime') AS datetime), GETDATE()) BETWEEN 0 AND 60, 1, 0) FROM sys.databases WHERE database_id > 4 ORDER BY name";
    let wanted = [["other", "0"], ["shop", "1"]];
    assert_eq!(sets(&mut dba, checked)[0], wanted);
    drop(dba);
    instance.durable().expect("it has a folder").stop();
    drop(instance);
    let instance = data.open();
    assert_eq!(sets(&mut login(&instance), checked)[0], wanted);
}

/// The statements of the cache by a figure, with their share of it, as sp_BlitzCache sorts them.
const BY_READS: &str = "
SELECT TOP (3) SUBSTRING(st.text, (qs.statement_start_offset / 2) + 1, ((CASE qs.statement_end_offset WHEN -1 THEN DATALENGTH(st.text) ELSE qs.statement_end_offset END - qs.statement_start_offset) / 2) + 1) AS QueryText,
    qs.execution_count, qs.total_logical_reads, qs.total_logical_reads / qs.execution_count AS AverageReads, qs.min_logical_reads, qs.max_logical_reads, qs.last_logical_reads, qs.total_logical_writes,
    CAST(ROUND(100.00 * qs.total_logical_reads / SUM(qs.total_logical_reads) OVER (), 0) AS int) AS PercentReads, CASE WHEN qs.total_logical_reads / qs.execution_count > 10 * NULLIF(qs.total_rows / qs.execution_count, 0) THEN 'reads much, returns little' ELSE '-' END AS Warnings
FROM sys.dm_exec_query_stats AS qs CROSS APPLY sys.dm_exec_sql_text(qs.sql_handle) AS st
CROSS APPLY (SELECT MAX(CASE a.attribute WHEN 'dbid' THEN CONVERT(int, a.value) END) AS dbid FROM sys.dm_exec_plan_attributes(qs.plan_handle) AS a) AS pa
WHERE pa.dbid = DB_ID() AND st.text NOT LIKE '%dm_exec_query_stats%' ORDER BY qs.total_logical_reads DESC OPTION (RECOMPILE)";

#[test]
fn the_statements_that_read_most_come_first_with_what_they_have_read() {
    let (_instance, mut dba) = shop(1);
    sets(&mut dba, "DBCC FREEPROCCACHE WITH NO_INFOMSGS");
    for (text, parameter, times) in [
        ("SELECT COUNT(*) FROM stock WHERE n = @p", 5, 6),
        ("SELECT n FROM stock WHERE id = @p", 5, 90),
        ("UPDATE stock SET n = 6 WHERE id <= @p", 20, 2),
    ] {
        for _ in 0..times {
            let call = format!("EXEC sp_executesql N'{text}', N'@p int', @p = {parameter}");
            sets(&mut dba, &call);
        }
    }
    let rows = sets(&mut dba, BY_READS).remove(0);
    let scan =
        ["SELECT COUNT(*) FROM stock WHERE n = @p", "6", "600", "100", "100", "100", "100", "0"];
    assert_eq!(rows[0][..8], scan);
    // 600 of 770.
    assert_eq!(rows[0][8..], ["78", "reads much, returns little"]);
    let point =
        ["SELECT n FROM stock WHERE id = @p", "90", "90", "1", "1", "1", "1", "0", "12", "-"];
    assert_eq!(rows[1], point);
    let update = [
        "UPDATE stock SET n = 6 WHERE id <= @p",
        "2",
        "80",
        "40",
        "40",
        "40",
        "40",
        "40",
        "10",
        "-",
    ];
    assert_eq!(rows[2], update);
}

/// Indexes with what they cost and what they are good for, as sp_BlitzIndex does.
const INDEX_USES: &str = "
SELECT sn.index_name, sn.total_reads, sn.user_updates, CASE WHEN sn.total_reads = 0 AND sn.user_updates > 0 THEN 'Unused index' WHEN sn.total_reads * 10 < sn.user_updates THEN 'More writes than reads' ELSE '-' END AS finding,
    N'Reads: ' + CONVERT(nvarchar(20), sn.total_reads) + CASE WHEN sn.total_reads > 0 THEN N' (' + RTRIM(CASE WHEN sn.user_seeks > 0 THEN CONVERT(nvarchar(20), sn.user_seeks) + N' seek ' ELSE N'' END + CASE WHEN sn.user_scans > 0 THEN CONVERT(nvarchar(20), sn.user_scans) + N' scan ' ELSE N'' END + CASE WHEN sn.user_lookups > 0 THEN CONVERT(nvarchar(20), sn.user_lookups) + N' lookup' ELSE N'' END) + N')' ELSE N'' END + N' Writes: ' + CONVERT(nvarchar(20), sn.user_updates) AS index_usage_summary,
    CASE WHEN sn.last_user_read IS NULL THEN 'never' WHEN DATEDIFF(minute, sn.last_user_read, GETDATE()) BETWEEN 0 AND 60 THEN 'now' END
FROM (SELECT si.name AS index_name, ISNULL(us.user_seeks + us.user_scans + us.user_lookups, 0) AS total_reads, us.user_seeks, us.user_scans, us.user_lookups, ISNULL(us.user_updates, 0) AS user_updates, (SELECT MAX(v.d) FROM (VALUES (us.last_user_seek), (us.last_user_scan), (us.last_user_lookup)) AS v (d)) AS last_user_read
    FROM sys.indexes AS si JOIN sys.objects AS so ON so.object_id = si.object_id AND so.is_ms_shipped = 0
    LEFT JOIN sys.dm_db_index_usage_stats AS us ON us.database_id = DB_ID() AND us.object_id = si.object_id AND us.index_id = si.index_id) AS sn ORDER BY sn.index_name";

#[test]
fn an_index_that_no_statement_reads_is_found_and_one_that_is_read_is_not() {
    let (_instance, mut dba) = shop(1);
    sets(&mut dba, "CREATE INDEX ix_n ON stock (n); CREATE INDEX ix_unused ON stock (n, id)");
    for n in 1..=12 {
        sets(&mut dba, &format!("UPDATE stock SET n = {n} WHERE id = {n}"));
    }
    for _ in 0..2 {
        sets(&mut dba, "SELECT id FROM stock WITH (INDEX (ix_n)) WHERE n = 3");
    }
    sets(&mut dba, "SELECT MAX(n + id) FROM stock");
    let rows = sets(&mut dba, INDEX_USES).remove(0);
    let rows: Vec<[&str; 6]> = rows
        .iter()
        .map(|row| std::array::from_fn(|at| row[at].as_str()))
        .map(|row: [&str; 6]| match row[0].starts_with("PK__") {
            true => ["PK", row[1], row[2], row[3], row[4], row[5]],
            false => row,
        })
        .collect();
    assert_eq!(
        rows,
        [
            ["ix_n", "2", "12", "-", "Reads: 2 (2 seek) Writes: 12", "now"],
            ["ix_unused", "0", "12", "Unused index", "Reads: 0 Writes: 12", "never"],
            // 12 rows that are changed and one scan; the INSERT that has filled the table.
            ["PK", "13", "13", "-", "Reads: 13 (12 seek 1 scan) Writes: 13", "now"],
        ]
    );
}

/// The plans of a Query Store by logical reads, as QuickieStore sorts them.
const STORED_BY_READS: &str = "
DECLARE @sql nvarchar(max) = N'WITH top_plans AS (
    SELECT TOP (@top) qsrs.plan_id, SUM(qsrs.count_executions) AS count_executions, SUM(qsrs.avg_logical_io_reads * qsrs.count_executions) AS total_logical_io_reads FROM sys.query_store_runtime_stats AS qsrs
    WHERE EXISTS (SELECT 1 FROM sys.query_store_plan AS qsp JOIN sys.query_store_query AS qsq ON qsq.query_id = qsp.query_id JOIN sys.query_store_query_text AS qsqt ON qsqt.query_text_id = qsq.query_text_id WHERE qsp.plan_id = qsrs.plan_id AND qsqt.query_sql_text LIKE N''%FROM stock%'' AND qsqt.query_sql_text NOT LIKE N''%query_store%'')
    GROUP BY qsrs.plan_id ORDER BY MAX(qsrs.avg_logical_io_reads) DESC)
SELECT qsqt.query_sql_text, tp.count_executions, CAST(tp.total_logical_io_reads AS bigint), CAST(MAX(qsrs.avg_logical_io_reads) AS decimal(9, 2)), MIN(qsrs.min_logical_io_reads), MAX(qsrs.max_logical_io_reads), MAX(qsrs.last_logical_io_reads), CAST(MAX(qsrs.stdev_logical_io_reads) AS decimal(9, 2)), CAST(MAX(qsrs.avg_logical_io_writes) AS decimal(9, 2)), MAX(qsrs.max_logical_io_writes)
FROM top_plans AS tp JOIN sys.query_store_runtime_stats AS qsrs ON qsrs.plan_id = tp.plan_id JOIN sys.query_store_plan AS qsp ON qsp.plan_id = tp.plan_id JOIN sys.query_store_query AS qsq ON qsq.query_id = qsp.query_id JOIN sys.query_store_query_text AS qsqt ON qsqt.query_text_id = qsq.query_text_id
GROUP BY qsqt.query_sql_text, tp.count_executions, tp.total_logical_io_reads ORDER BY MAX(qsrs.avg_logical_io_reads) DESC OPTION (RECOMPILE)';
EXEC sp_executesql @sql, N'@top bigint', @top = 10";

#[test]
fn a_query_store_is_sorted_by_logical_reads() {
    let (_instance, mut dba) = shop(1);
    sets(
        &mut dba,
        "ALTER DATABASE shop SET QUERY_STORE = ON (QUERY_CAPTURE_MODE = ALL, INTERVAL_LENGTH_MINUTES = 1440)",
    );
    for top in [10, 20, 30] {
        let text = "DELETE x FROM stock AS x WHERE x.id BETWEEN 60 AND 60 + @p; SELECT id FROM stock WHERE id <= @p";
        sets(&mut dba, &format!("EXEC sp_executesql N'{text}', N'@p int', @p = {top}"));
    }
    sets(&mut dba, "SELECT COUNT(*) FROM stock WHERE n > 4");
    // An execution that fails is in another row.
    assert_eq!(batch(&mut dba, "SELECT SUM(1 / (n - 5)) FROM stock").errors[0].number, 8134);
    let rows = sets(&mut dba, STORED_BY_READS).remove(0);
    let find = |words: &str| {
        let row = rows.iter().find(|row| row[0].contains(words));
        row.unwrap_or_else(|| panic!("{words}: {rows:?}"))[1..].to_vec()
    };
    // 69 rows are left: 11, 10 and 10 are gone.
    assert_eq!(find("COUNT(*)"), ["1", "69", "69.00", "69", "69", "69", "0.00", "0.00", "0"]);
    // 10, 20 and 30 rows: the deviation is the root of 200 / 3.
    let read = ["3", "60", "20.00", "10", "30", "30", "8.16", "0.00", "0"];
    assert_eq!(find("SELECT id FROM stock"), read);
    // 11, 10 and 10 rows are read, and written.
    let deleted = ["3", "62", "20.67", "20", "22", "20", "0.94", "10.33", "11"];
    assert_eq!(find("DELETE x"), deleted);
    assert!(rows[0][0].contains("COUNT(*)") || rows[0][0].contains("SUM("), "{rows:?}");
}
