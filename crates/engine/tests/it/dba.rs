//! A procedure of the kind that DBAs ask first on a slow server, over sessions whose load is known:
//! who runs, what each waits for, who blocks whom, since when, with which plan and which locks.

use std::time::Duration;

use engine::session::Session;

use crate::client::{batch, instance_on, login, run, sets, spawn};

/// Longer than the test runs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A procedure that collects the state of all sessions in steps, as such procedures do: a table of
/// requests, waits beside it, texts cut by offsets, transactions, locks as XML, and dynamic SQL that
/// returns the columns in the wanted order.
const WHO: &str = "
CREATE PROCEDURE dbo.who_works (@filter sysname = N'', @show_own bit = 0, @order nvarchar(200) = N'[session_id]', @rows int = NULL OUTPUT)
WITH RECOMPILE AS
BEGIN
    SET NOCOUNT ON; SET QUOTED_IDENTIFIER ON; SET ANSI_PADDING ON; SET CONCAT_NULL_YIELDS_NULL ON; SET ANSI_WARNINGS ON; SET NUMERIC_ROUNDABORT OFF; SET ARITHABORT ON
    IF @filter LIKE N'%[^a-zA-Z_]%' BEGIN RAISERROR('The filter has characters that no name has.', 16, 1); RETURN; END
    CREATE TABLE #sessions (recursion smallint NOT NULL, session_id smallint NOT NULL, request_id int NOT NULL, session_number int NOT NULL IDENTITY(1, 1), blocking_session_id smallint NULL,
        status varchar(30) NOT NULL, wait_info nvarchar(4000) NULL, sql_text nvarchar(max) NULL, outer_text nvarchar(max) NULL, tran_count int NULL, database_name sysname NULL, program sysname NULL,
        locks xml NULL, query_plan xml NULL, started datetime NULL, UNIQUE CLUSTERED (session_id, request_id, recursion) WITH (IGNORE_DUP_KEY = ON));
    DECLARE @sessions TABLE (session_id smallint NOT NULL PRIMARY KEY, blocker smallint NULL);
    INSERT @sessions
    SELECT s.session_id, NULLIF(r.blocking_session_id, 0) FROM sys.dm_exec_sessions AS s LEFT OUTER JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
    WHERE s.is_user_process = 1 AND (r.session_id IS NOT NULL OR s.open_transaction_count > 0) AND (@show_own = 1 OR s.session_id <> @@SPID);
    INSERT #sessions (recursion, session_id, request_id, blocking_session_id, status, wait_info, tran_count, database_name, program, started)
    SELECT 1, s.session_id, COALESCE(r.request_id, 0), y.blocker, LOWER(COALESCE(r.status, s.status)),
        w.wait_type + N' (' + CASE WHEN w.wait_duration_ms >= 0 THEN N'ms' END + N')', s.open_transaction_count, DB_NAME(s.database_id), s.program_name, COALESCE(r.start_time, s.last_request_start_time)
    FROM @sessions AS y
    INNER JOIN sys.dm_exec_sessions AS s ON s.session_id = y.session_id
    LEFT OUTER JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
    OUTER APPLY (SELECT TOP (1) t.wait_type, t.wait_duration_ms FROM sys.dm_os_waiting_tasks AS t WHERE t.session_id = s.session_id ORDER BY t.wait_duration_ms DESC) AS w
    WHERE @filter = N'' OR DB_NAME(s.database_id) LIKE @filter;
    DECLARE @session_id smallint, @handle varbinary(64), @start int, @end int, @plan varbinary(64);
    DECLARE sql_cursor CURSOR LOCAL FAST_FORWARD FOR
        SELECT r.session_id, r.sql_handle, r.statement_start_offset, r.statement_end_offset, r.plan_handle FROM sys.dm_exec_requests AS r JOIN #sessions AS s ON s.session_id = r.session_id
        UNION ALL SELECT c.session_id, c.most_recent_sql_handle, 0, -1, NULL FROM sys.dm_exec_connections AS c JOIN #sessions AS s ON s.session_id = c.session_id AND s.status = 'sleeping'
        OPTION (KEEPFIXED PLAN);
    OPEN sql_cursor; FETCH NEXT FROM sql_cursor INTO @session_id, @handle, @start, @end, @plan;
    WHILE @@FETCH_STATUS = 0
    BEGIN
        BEGIN TRY
            UPDATE s SET
                s.sql_text = (SELECT SUBSTRING(t.text, (@start / 2) + 1, CASE @end WHEN -1 THEN LEN(t.text) ELSE (@end - @start) / 2 + 1 END) FROM sys.dm_exec_sql_text(@handle) AS t),
                s.outer_text = (SELECT b.event_info FROM sys.dm_exec_input_buffer(@session_id, 0) AS b),
                s.query_plan = (SELECT CONVERT(xml, p.query_plan) FROM sys.dm_exec_text_query_plan(@plan, @start, @end) AS p)
            FROM #sessions AS s WHERE s.session_id = @session_id OPTION (KEEPFIXED PLAN);
        END TRY
        BEGIN CATCH
            UPDATE s SET s.sql_text = CASE ERROR_NUMBER() WHEN 1222 THEN N'<timeout_exceeded />' ELSE ERROR_MESSAGE() END FROM #sessions AS s WHERE s.session_id = @session_id;
        END CATCH;
        FETCH NEXT FROM sql_cursor INTO @session_id, @handle, @start, @end, @plan;
    END;
    CLOSE sql_cursor; DEALLOCATE sql_cursor;
    UPDATE s SET s.locks = (
        SELECT l.resource_type AS [Lock/@resource], l.request_mode AS [Lock/@mode], l.request_status AS [Lock/@status], COUNT(*) AS [Lock/@count]
        FROM sys.dm_tran_locks AS l WHERE l.request_session_id = s.session_id GROUP BY l.resource_type, l.request_mode, l.request_status ORDER BY 1, 2, 3 FOR XML PATH(''), TYPE)
    FROM #sessions AS s;
    SELECT @rows = COUNT(*) FROM #sessions;
    DECLARE @sql nvarchar(max) = N'SELECT session_id, blocking_session_id, status, wait_info, sql_text, outer_text, tran_count, database_name,
        query_plan.exist(''declare namespace p=\"http://schemas.microsoft.com/sqlserver/2004/07/showplan\"; //p:RelOp'') AS has_plan,
        CASE WHEN started <= GETDATE() THEN 1 ELSE 0 END AS is_started FROM #sessions ORDER BY ' + @order;
    EXEC sys.sp_executesql @sql;
END";

pub(crate) fn id(session: &Session) -> String {
    session.state().connection.id.to_string()
}

#[test]
fn who_works_shows_each_session_with_its_blocker_text_and_plan() {
    let instance = instance_on(2, |_| {});
    let mut dba = login(&instance);
    run(&mut dba, "CREATE DATABASE shop");
    run(
        &mut dba,
        "USE shop; CREATE TABLE stock (id int PRIMARY KEY, n int); INSERT stock VALUES (1, 5), (2, 5)",
    );
    run(
        &mut dba,
        "CREATE PROCEDURE sell @id int AS\nSET NOCOUNT ON\nDECLARE @n int = 1\nUPDATE stock SET n = n - @n WHERE id = @id\nSELECT 1 AS done",
    );
    run(&mut dba, WHO);
    let (mut holder, mut waiter, mut idle) = (login(&instance), login(&instance), login(&instance));
    for session in [&mut holder, &mut waiter, &mut idle] {
        run(session, "USE shop");
    }
    run(&mut holder, "BEGIN TRANSACTION; EXEC sell 1");
    run(&mut idle, "SELECT COUNT(*) FROM stock WHERE id = 2");
    let (holder_id, waiter_id) = (id(&holder), id(&waiter));
    let waiting = spawn(&instance, waiter, "EXEC dbo.sell @id = 1");
    let end_ns = sos::clock::deadline_ns(PATIENCE);
    let blocked = format!(
        "SELECT 1 FROM sys.dm_os_waiting_tasks WHERE session_id = {waiter_id} AND wait_type LIKE 'LCK%'"
    );
    while sets(&mut dba, &blocked)[0].is_empty() {
        assert!(sos::clock::monotonic_ns() < end_ns, "the second sale never waits");
        run(&mut dba, "WAITFOR DELAY '00:00:00.002'");
    }
    let call = "DECLARE @n int EXEC dbo.who_works @filter = N'shop', @rows = @n OUTPUT SELECT @n";
    let shown = sets(&mut dba, call);
    let [rows, count] = shown.as_slice() else { panic!("{shown:?}") };
    assert_eq!(count, &[["2"]]);
    let update = "UPDATE stock SET n = n - @n WHERE id = @id";
    let last = "BEGIN TRANSACTION; EXEC sell 1";
    let wanted = [
        [&holder_id, "NULL", "sleeping", "NULL", last, last, "1", "shop", "NULL", "1"],
        [
            &waiter_id,
            &holder_id,
            "suspended",
            "LCK_M_X (ms)",
            update,
            "EXEC dbo.sell @id = 1",
            "0",
            "shop",
            "1",
            "1",
        ],
    ];
    assert_eq!(rows, &wanted);
    run(&mut holder, "COMMIT");
    let (mut waiter, answer) = waiting.recv_timeout(PATIENCE).unwrap();
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);
    assert_eq!(sets(&mut waiter, "SELECT n FROM stock WHERE id = 1"), [[["3"]]]);
    let alone = sets(&mut dba, "EXEC dbo.who_works @show_own = 1, @filter = N'shop'");
    assert_eq!(alone[0].len(), 1, "{alone:?}");
    assert_eq!(alone[0][0][2], "running");
    let refused = batch(&mut dba, "EXEC dbo.who_works N'a b'");
    assert_eq!(refused.errors[0].number, 50_000);
}
