//! Long work that passes no rows yields its scheduler: a sort, a parser, a hash of a long string. What yields
//! ends in spite of that; a request without an end stops no other.

use crate::client::{Client, error_numbers};
use crate::server::ServerProcess;

/// The yields of a session so far.
const YIELDS: &str = "ISNULL((SELECT waiting_tasks_count FROM sys.dm_exec_session_wait_stats \
     WHERE session_id = @@SPID AND wait_type = N'SOS_SCHEDULER_YIELD'), 0)";

/// A batch that does `work` and fails if its session has yielded fewer than five times in that time.
fn yields_within(work: &str) -> String {
    let count = YIELDS;
    format!(
        "DECLARE @s varchar(max) = REPLICATE(CONVERT(varchar(max), '1,'), 1000000), @n int, @b varbinary(max); \
         DECLARE @j nvarchar(max) = CONCAT('[', @s, '1]'), @t varchar(max) = REPLICATE(@s, 8); \
         DECLARE @before bigint = {count}; {work}; DECLARE @yields bigint = {count} - @before; \
         IF @yields < 5 THROW 50000, 'the scheduler was held', 1"
    )
}

#[test]
fn long_work_without_rows_yields() {
    let server = ServerProcess::start(&["--schedulers", "1"]);
    let mut client = Client::log_in(server.address);
    let fill = "SELECT value AS id, REPLICATE('x', 20) + CONVERT(varchar(9), value * 7919 % 200000) AS t \
                INTO s FROM GENERATE_SERIES(1, 100000)";
    assert_eq!(error_numbers(&client.batch(fill)), [] as [i32; 0]);
    // A neighbour that is always ready.
    let mut neighbour = Client::log_in(server.address);
    neighbour.send(&tds::client::batch("WHILE 1 = 1 DECLARE @i int = 1", neighbour.settings));
    for work in [
        "SET @n = ISJSON(@j)",
        "SET @n = (SELECT COUNT(*) FROM OPENJSON(@j))",
        "DECLARE @x xml = CONCAT('<r>', REPLACE(@s, '1,', '<a/>'), '</r>'); SET @n = @x.value('count(/r/a)', 'int')",
        "SET @n = LEN(REPLACE(@s, '1', '2'))",
        "SET @n = LEN(TRANSLATE(@s, '1,', 'ab'))",
        "SET @n = PATINDEX('%[2-9]%', @s)",
        "SET @n = CHARINDEX('2', REPLICATE(@s, 6))",
        "SET @n = LEN(REVERSE(@s))",
        "SET @n = LEN(STRING_ESCAPE(@s, 'json'))",
        "DECLARE @x xml = CONCAT('<r>', REPLACE(LEFT(@s, 40000), '1,', '<a/>'), '</r>'); SET @x.modify('delete /r/a[2]')",
        "DECLARE @x xml = CONCAT('<r>', REPLACE(LEFT(@s, 40000), '1,', '<a/>'), '</r>'), @h int; \
         EXEC sp_xml_preparedocument @h OUTPUT, @x; SET @n = (SELECT COUNT(*) FROM OPENXML(@h, '/r'))",
        "DECLARE @w nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'aÄ1,'), 800000); IF @w < @w + N'x' SET @n = 1",
        "DECLARE @w nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'aÄ1,'), 400000); \
         SET @n = (SELECT COUNT(*) FROM (SELECT w FROM (VALUES (@w), (@w + N'x')) AS t (w) GROUP BY w) AS x)",
        "DECLARE @x xml = CAST(CAST('<a>' AS varchar(max)) + REPLICATE(@s, 6) + '</a>' AS xml)",
        "SET @b = HASHBYTES('MD2', @s)",
        "DECLARE @m money = TRY_CONVERT(money, REPLICATE(@s, 12))",
        "SET @s = CONVERT(varchar(max), CONVERT(varbinary(max), REPLICATE(@s, 12)), 2); SET @b = CONVERT(varbinary(max), @s, 2)",
        "BEGIN TRY EXEC (@t) END TRY BEGIN CATCH SET @n = 1 END CATCH",
        "DECLARE @p nvarchar(max) = N'SELECT @n = 1 WHERE 1 IN (1' + REPLICATE(CONVERT(nvarchar(max), N',1'), 100000) + N')'; \
         EXEC sp_executesql @p, N'@n int', 1",
        "SET @b = COMPRESS(REPLICATE(@s, 12))",
        "SET @n = (SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY t) AS n FROM s) AS t)",
        "CREATE INDEX i ON s (t)",
        "SET @n = (SELECT COUNT(f) FROM (SELECT SUM(CONVERT(float, value)) OVER (ORDER BY value ROWS 3000 PRECEDING) AS f \
         FROM GENERATE_SERIES(1, 6000)) AS t)",
        "WITH r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 30000) \
         SELECT @n = MAX(n) FROM r OPTION (MAXRECURSION 0)",
        "TRUNCATE TABLE s",
    ] {
        let numbers = error_numbers(&client.batch(&yields_within(work)));
        assert!(numbers.is_empty(), "{work}: {numbers:?}");
    }
}

/// What the end of a transaction works off, and what a foreign key searches: no operator counts these rows.
#[test]
fn rows_that_no_operator_counts_yield() {
    let server = ServerProcess::start(&["--schedulers", "1"]);
    let mut client = Client::log_in(server.address);
    let fill = "SELECT value AS id, value % 7 AS t INTO s FROM GENERATE_SERIES(1, 300000)";
    assert_eq!(error_numbers(&client.batch(fill)), [] as [i32; 0]);
    let mut neighbour = Client::log_in(server.address);
    neighbour.send(&tds::client::batch("WHILE 1 = 1 DECLARE @i int = 1", neighbour.settings));
    for (before, work) in [
        ("BEGIN TRAN; UPDATE s SET t += 1", "COMMIT"),
        ("BEGIN TRAN; UPDATE s SET t += 1", "ROLLBACK"),
        ("BEGIN TRAN; SAVE TRAN p; UPDATE s SET t += 1", "ROLLBACK TRAN p"),
        (
            "ROLLBACK; BEGIN TRAN; DECLARE @n int = (SELECT COUNT(*) FROM s WITH (UPDLOCK))",
            "COMMIT",
        ),
        (
            "CREATE TABLE p (id int PRIMARY KEY); INSERT p VALUES (1); CREATE TABLE c (p int REFERENCES p); \
             INSERT c SELECT NULL FROM GENERATE_SERIES(1, 300000)",
            "DELETE p",
        ),
    ] {
        let text = format!(
            "{before}; DECLARE @before bigint = {YIELDS}; {work}; DECLARE @yields bigint = {YIELDS} - @before; \
             IF @yields < 2 THROW 50000, 'the scheduler was held', 1"
        );
        let numbers = error_numbers(&client.batch(&text));
        assert!(numbers.is_empty(), "{before}; {work}: {numbers:?}");
    }
}

/// While the expressions of an UPDATE yield, another session changes its row each time.
#[test]
fn update_that_yields_ends_though_its_row_changes_in_each_gap() {
    let server = ServerProcess::start(&["--schedulers", "1"]);
    let mut client = Client::log_in(server.address);
    let table =
        "CREATE TABLE r (id int PRIMARY KEY, n int, h varbinary(16)); INSERT r VALUES (1, 0, NULL)";
    assert_eq!(error_numbers(&client.batch(table)), [] as [i32; 0]);
    let mut neighbour = Client::log_in(server.address);
    let text = "WHILE 1 = 1 UPDATE r SET n = n + 1 WHERE id = 1";
    neighbour.send(&tds::client::batch(text, neighbour.settings));
    let update = "UPDATE r SET h = HASHBYTES('MD2', CONCAT(n, REPLICATE(CONVERT(varchar(max), 'x'), 200000))) \
                  WHERE id = 1";
    assert_eq!(error_numbers(&client.batch(update)), [] as [i32; 0]);
}

/// The first row lock of a table and a change of a definition wait until no older request has a pointer to what there was before.
/// A request that neither ends nor waits does so at the end of each quantum.
#[test]
fn request_without_an_end_stops_no_other() {
    const BUSY_SECONDS: u64 = 30;
    let server = ServerProcess::start(&["--schedulers", "2"]);
    let mut client = Client::log_in(server.address);
    let tables =
        "SELECT value AS n INTO n FROM GENERATE_SERIES(1, 1000); CREATE TABLE t (a int NOT NULL)";
    assert_eq!(error_numbers(&client.batch(tables)), [] as [i32; 0]);
    for endless in
        ["DECLARE @i int = 1", "DECLARE @i int = (SELECT COUNT(*) FROM n AS a CROSS JOIN n AS b)"]
    {
        let text = format!(
            "DECLARE @end datetime2 = DATEADD(second, {BUSY_SECONDS}, SYSDATETIME()); WHILE SYSDATETIME() < @end {endless}"
        );
        let began = crate::server::now();
        let mut busy = Client::log_in(server.address);
        busy.send(&tds::client::batch(&text, busy.settings));
        for statement in [
            "DROP TABLE t; CREATE TABLE t (a int NOT NULL)",
            "INSERT t VALUES (1)",
            "SELECT * FROM t WITH (REPEATABLEREAD)",
            "CREATE INDEX i ON t (a)",
            "ALTER TABLE t ADD b int NOT NULL DEFAULT 1",
            "CHECKPOINT",
        ] {
            assert_eq!(error_numbers(&client.batch(statement)), [] as [i32; 0], "{statement}");
            assert!(began.elapsed().as_secs() < BUSY_SECONDS / 2, "beside {endless}: {statement}");
        }
    }
}
