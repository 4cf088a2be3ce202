//! Logical reads and writes of a known load, and the uses of indexes: each figure is compared with what
//! the load has read and written, row version by row version.

use std::sync::Arc;

use engine::instance::Instance;
use engine::session::Session;

use crate::client::{batch, instance_on, login, sets};
use crate::events::{data, ring, watched};

/// 100 rows with an index on their number, and 3 rows that refer to them.
const SHOP: [&str; 4] = [
    "CREATE DATABASE shop",
    "USE shop; CREATE TABLE stock (id int NOT NULL CONSTRAINT pk_stock PRIMARY KEY, n int NOT NULL, place int NOT NULL, INDEX ix_n (n), INDEX ix_place (place))",
    "INSERT stock SELECT value, value % 10, 0 FROM GENERATE_SERIES(1, 100)",
    "CREATE TABLE sold (id int IDENTITY CONSTRAINT pk_sold PRIMARY KEY, stock_id int NOT NULL REFERENCES stock (id))",
];

fn shop(schedulers: usize) -> (Arc<Instance>, Session) {
    let instance = instance_on(schedulers, |_| {});
    let mut session = login(&instance);
    for text in SHOP {
        sets(&mut session, text);
    }
    (instance, session)
}

/// Returns the figures of the statement with these words in its text.
fn figures(session: &mut Session, words: &str, figures: &str) -> Vec<String> {
    let text = format!(
        "SELECT {figures} FROM sys.dm_exec_query_stats AS q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS t
         WHERE SUBSTRING(t.text, q.statement_start_offset / 2 + 1, 200) LIKE '{words}%'"
    );
    let rows = sets(session, &text).remove(0);
    assert_eq!(rows.len(), 1, "{words}: {rows:?}");
    rows.into_iter().next().expect("one row")
}

const READS: &str = "execution_count, total_logical_reads, last_logical_reads, min_logical_reads, max_logical_reads";
const WRITES: &str = "total_logical_reads, total_logical_writes, last_logical_writes, min_logical_writes, max_logical_writes";

#[test]
fn a_statement_reads_the_row_versions_that_storage_returns_and_those_it_writes() {
    let (_instance, mut session) = shop(1);
    for (text, parameters) in [
        ("SELECT COUNT(*) FROM stock WHERE place >= @p", [0, 0, 0]),
        ("SELECT n FROM stock WHERE id = @p", [7, 8, 900]),
        ("SELECT id FROM stock WHERE n = @p", [3, 4, 50]),
        ("UPDATE stock SET place = 1 WHERE id = @p", [1, 2, 900]),
        ("UPDATE stock SET place = 2 WHERE n <= @p", [0, 1, -1]),
        ("INSERT sold (stock_id) SELECT id FROM stock WHERE id <= @p", [4, 0, 2]),
        ("DELETE sold WHERE stock_id <= @p", [1, 0, 9]),
    ] {
        for parameter in parameters {
            let call = format!("EXEC sp_executesql N'{text}', N'@p int', @p = {parameter}");
            sets(&mut session, &call);
        }
    }
    let mut of = |words: &str, of: &str| figures(&mut session, words, of);
    assert_eq!(of("SELECT COUNT(*) FROM stock", READS), ["3", "300", "100", "100", "100"]);
    assert_eq!(of("SELECT n FROM stock WHERE id", READS), ["3", "2", "0", "0", "1"]);
    assert_eq!(of("SELECT id FROM stock WHERE n", READS), ["3", "20", "0", "0", "10"]);
    // Each is read, and written.
    assert_eq!(of("UPDATE stock SET place = 1", WRITES), ["4", "2", "0", "0", "1"]);
    // 10, 20 and no rows.
    assert_eq!(of("UPDATE stock SET place = 2", WRITES), ["60", "30", "0", "0", "20"]);
    // A row is read, written, and the row that it refers to is looked up.
    assert_eq!(of("INSERT sold", WRITES), ["18", "6", "2", "0", "4"]);
    // Scans of 6, 4 and 4 rows; rows for 1 and 1, none, and the other four go.
    assert_eq!(of("DELETE sold", WRITES), ["20", "6", "4", "0", "4"]);
}

#[test]
fn executions_that_are_not_timed_are_counted_too_and_conditions_as_well() {
    let (_instance, mut session) = shop(1);
    sets(
        &mut session,
        "DECLARE @i int = 1, @n int
         WHILE @i <= 300
         BEGIN
             SELECT @n = n FROM stock WHERE id = @i
             UPDATE stock SET place = 7 WHERE id = @i
             IF EXISTS (SELECT * FROM stock WHERE id = @i) SET @n = 1
             SET @i += 1
         END",
    );
    let mut of = |words: &str, of: &str| figures(&mut session, words, of);
    assert_eq!(of("SELECT @n", READS), ["300", "100", "0", "0", "1"]);
    assert_eq!(of("UPDATE stock", WRITES), ["200", "100", "0", "0", "1"]);
    assert_eq!(of("IF EXISTS", READS), ["300", "100", "0", "0", "1"]);
}

#[test]
fn sessions_and_requests_have_the_sums_of_their_statements() {
    let (instance, mut session) = shop(1);
    let mut worker = login(&instance);
    sets(&mut worker, "USE shop; SELECT * FROM stock");
    sets(&mut worker, "UPDATE stock SET place = 3 WHERE n < 2");
    let id = worker.state().connection.id;
    let of_session = format!(
        "SELECT reads, writes, logical_reads FROM sys.dm_exec_sessions WHERE session_id = {id}"
    );
    assert_eq!(sets(&mut session, &of_session), [[["0", "20", "140"]]]);
    // A request sees what its statements have done so far.
    let own =
        "SELECT reads, writes, logical_reads FROM sys.dm_exec_requests WHERE session_id = @@SPID";
    let rows = sets(
        &mut worker,
        &format!("DELETE stock WHERE id > 95; SELECT COUNT(*) FROM stock; {own}"),
    );
    assert_eq!(rows.last(), Some(&vec![vec!["0".to_owned(), "5".to_owned(), "105".to_owned()]]));
    assert_eq!(sets(&mut worker, own), [[["0", "0", "0"]]]);
    assert_eq!(sets(&mut session, &of_session), [[["0", "25", "245"]]]);
}

#[test]
fn modules_have_what_their_statements_and_the_modules_they_call_have_read() {
    let (_instance, mut session) = shop(1);
    for text in [
        "CREATE FUNCTION total (@n int) RETURNS int AS BEGIN RETURN (SELECT COUNT(*) FROM stock WHERE n = @n) END",
        "CREATE PROCEDURE inner_one AS UPDATE stock SET place = 4 WHERE id = 5",
        "CREATE PROCEDURE outer_one AS BEGIN SELECT COUNT(*) FROM stock; EXEC inner_one END",
        "CREATE TRIGGER on_sold ON sold AFTER INSERT AS UPDATE stock SET place = 5 WHERE id IN (SELECT stock_id FROM inserted)",
        "EXEC outer_one",
        "EXEC outer_one",
        "DECLARE @t int = 0, @i int = 0 WHILE @i < 100 BEGIN SET @t += dbo.total(1); SET @i += 1 END",
        "INSERT sold (stock_id) VALUES (1), (2)",
    ] {
        sets(&mut session, text);
    }
    let mut of = |view: &str, name: &str| {
        let text = format!(
            "SELECT execution_count, total_logical_reads, total_logical_writes, min_logical_reads, max_logical_writes FROM sys.dm_exec_{view}_stats WHERE object_id = OBJECT_ID('{name}')"
        );
        sets(&mut session, &text).remove(0).remove(0)
    };
    assert_eq!(of("procedure", "outer_one"), ["2", "204", "2", "102", "1"]);
    assert_eq!(of("procedure", "inner_one"), ["2", "4", "2", "2", "1"]);
    assert_eq!(of("function", "total"), ["100", "1000", "0", "10", "0"]);
    let trigger = of("trigger", "on_sold");
    assert_eq!((trigger[0].as_str(), trigger[2].as_str()), ("1", "2"));
    // The function's reads are those of the statement that calls it, too.
    let calls = figures(&mut session, "SET @t", READS);
    assert_eq!(calls, ["100", "1000", "10", "10", "10"]);
    // The statement that fires a trigger has its own writes only.
    assert_eq!(figures(&mut session, "INSERT sold", WRITES)[1..], ["2", "2", "2", "2"]);
}

#[test]
fn statistics_io_adds_up_to_the_logical_reads_of_the_statement() {
    let (_instance, mut session) = shop(1);
    let text = "UPDATE s SET place = 6 FROM stock AS s JOIN sold AS d ON d.stock_id = s.id";
    sets(&mut session, "INSERT sold (stock_id) VALUES (3), (5)");
    sets(&mut session, "SET STATISTICS IO ON");
    let answer = batch(&mut session, text);
    sets(&mut session, "SET STATISTICS IO OFF");
    let reads = |message: &String| {
        let (_, rest) = message.split_once("logical reads ").expect("a message of reads");
        rest.split(',').next().and_then(|n| n.parse::<u64>().ok()).expect("a number")
    };
    let sum: u64 = answer.messages.iter().map(|m| reads(&m.message)).sum();
    let counted = figures(&mut session, "UPDATE s SET place = 6", "total_logical_reads");
    assert_eq!(counted, [sum.to_string()], "{:?}", answer.messages);
    assert!(sum >= 6, "two rows of each table are read, and two are written: {sum}");
}

#[test]
fn helpers_of_a_parallel_statement_count_for_it() {
    let (_instance, mut session) = shop(2);
    sets(
        &mut session,
        "CREATE TABLE many (n int NOT NULL); INSERT many SELECT value FROM GENERATE_SERIES(1, 40000)",
    );
    for _ in 0..3 {
        sets(&mut session, "SELECT SUM(CAST(n AS bigint)) AS total FROM many WHERE n % 7 < 3");
    }
    let counted = figures(&mut session, "SELECT SUM(CAST(n AS bigint)) AS total", READS);
    assert_eq!(counted, ["3", "120000", "40000", "40000", "40000"]);
}

#[test]
fn events_of_statements_batches_and_calls_have_reads_and_writes() {
    let (_instance, mut watcher) = watched(
        "ADD EVENT sqlserver.sql_statement_completed, ADD EVENT sqlserver.sql_batch_completed, ADD EVENT sqlserver.sp_statement_completed ADD TARGET package0.ring_buffer",
    );
    let instance = Arc::clone(&watcher.state().instance);
    let mut session = login(&instance);
    for text in [SHOP[0], SHOP[1], SHOP[2]] {
        sets(&mut session, text);
    }
    sets(&mut session, "CREATE PROCEDURE one AS DELETE stock WHERE id = 9");
    sets(&mut session, "SELECT COUNT(*) FROM stock; UPDATE stock SET place = 9 WHERE id = 1");
    sets(&mut session, "EXEC one");
    let mut of = |event: &str, text: &str| {
        let paths = [data(text), data("logical_reads"), data("writes"), data("physical_reads")];
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        ring(&mut watcher, event, &paths)
    };
    let has = |rows: &[Vec<String>], row: [&str; 4]| {
        assert!(rows.iter().any(|found| *found == row), "{row:?} is not in {rows:?}");
    };
    let statements = of("sql_statement_completed", "statement");
    has(&statements, ["SELECT COUNT(*) FROM stock", "100", "0", "0"]);
    has(&statements, ["UPDATE stock SET place = 9 WHERE id = 1", "2", "1", "0"]);
    has(&of("sp_statement_completed", "statement"), ["DELETE stock WHERE id = 9", "2", "1", "0"]);
    let batches = of("sql_batch_completed", "batch_text");
    has(
        &batches,
        ["SELECT COUNT(*) FROM stock; UPDATE stock SET place = 9 WHERE id = 1", "102", "1", "0"],
    );
    has(&batches, ["EXEC one", "2", "1", "0"]);
}

/// The uses of the indexes of the tables, in the order of their names.
const USES: &str = "
SELECT OBJECT_NAME(i.object_id), ISNULL(i.name, 'heap'), u.user_seeks, u.user_scans, u.user_lookups, u.user_updates,
    IIF(u.last_user_seek > DATEADD(hour, -1, GETDATE()), 's', '') + IIF(u.last_user_scan > DATEADD(hour, -1, GETDATE()), 'c', '') + IIF(u.last_user_update > DATEADD(hour, -1, GETDATE()), 'u', '')
FROM sys.indexes AS i JOIN sys.dm_db_index_usage_stats AS u ON u.object_id = i.object_id AND u.index_id = i.index_id AND u.database_id = DB_ID()
ORDER BY 1, 2";

fn uses(session: &mut Session) -> Vec<String> {
    sets(session, USES).remove(0).into_iter().map(|row| row.join(" ")).collect()
}

#[test]
fn an_index_is_used_once_for_each_operator_and_execution() {
    let (_instance, mut session) = shop(1);
    // The statement that has filled the table.
    let filled = ["stock ix_n 0 0 0 1 u", "stock ix_place 0 0 0 1 u", "stock pk_stock 0 0 0 1 u"];
    assert_eq!(uses(&mut session), filled);
    for id in 1..=70 {
        sets(&mut session, &format!("SELECT n FROM stock WHERE id = {id}"));
    }
    for _ in 0..2 {
        // Opened for each row of the other: one use.
        sets(
            &mut session,
            "SELECT COUNT(*) FROM (VALUES (1), (2), (3)) AS v (n) CROSS APPLY (SELECT TOP 1 id FROM stock WHERE stock.n = v.n) AS s",
        );
        sets(&mut session, "SELECT MAX(place) FROM stock WHERE place + 0 < 100");
        // The condition of an IF.
        sets(&mut session, "IF EXISTS (SELECT * FROM stock WHERE n = 3) SELECT 1");
    }
    sets(&mut session, "UPDATE stock SET place = 1 WHERE id = 3");
    sets(&mut session, "DELETE stock WHERE id = 4");
    sets(&mut session, "INSERT sold (stock_id) VALUES (3)");
    assert_eq!(
        uses(&mut session),
        [
            "sold pk_sold 0 0 0 1 u",
            "stock ix_n 4 0 0 2 su",
            "stock ix_place 0 0 0 3 u",
            // 70 reads, the row that is changed, the one that is deleted, and the one referred to.
            "stock pk_stock 73 2 0 3 scu",
        ]
    );
}

#[test]
fn plans_that_are_shown_only_use_nothing_and_an_index_made_again_starts_at_zero() {
    let (_instance, mut session) = shop(1);
    sets(&mut session, "SELECT id FROM stock WHERE n = 3");
    sets(&mut session, "SET SHOWPLAN_ALL ON");
    sets(&mut session, "SELECT id FROM stock WHERE n = 3");
    sets(&mut session, "SET SHOWPLAN_ALL OFF");
    sets(&mut session, "SET FMTONLY ON; SELECT id FROM stock WHERE n = 3; SET FMTONLY OFF");
    assert_eq!(uses(&mut session)[0], "stock ix_n 1 0 0 1 su");
    sets(&mut session, "DROP INDEX ix_n ON stock");
    sets(&mut session, "CREATE INDEX ix_n ON stock (n)");
    let names = |rows: Vec<String>| rows.iter().filter(|row| row.contains("ix_n")).count();
    assert_eq!(names(uses(&mut session)), 0);
    sets(&mut session, "SELECT id FROM stock WHERE n = 4");
    assert_eq!(uses(&mut session)[0], "stock ix_n 1 0 0 0 s");
}

#[test]
fn heaps_columnstores_cursors_and_bulk_inserts_are_uses_too() {
    let (_instance, mut session) = shop(1);
    for text in [
        "DROP TABLE sold; DROP TABLE stock",
        "CREATE TABLE bag (a int, b int)",
        "INSERT bag VALUES (1, 2), (3, 4)",
        "INSERT bag EXEC (N'SELECT 5, 6')",
        "DECLARE c CURSOR STATIC FOR SELECT a FROM bag; OPEN c; FETCH NEXT FROM c; CLOSE c; DEALLOCATE c",
        "CREATE TABLE facts (a int, b int, INDEX cci CLUSTERED COLUMNSTORE)",
        "INSERT facts SELECT a, b FROM bag",
        "SELECT SUM(b) FROM facts",
        "MERGE bag AS t USING (SELECT 1 AS a) AS s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 9 WHEN NOT MATCHED THEN INSERT VALUES (7, 8);",
    ] {
        sets(&mut session, text);
    }
    let rows = uses(&mut session);
    // Two scans of the heap by a cursor and an INSERT, one by MERGE, which has two clauses that write.
    assert_eq!(rows, ["bag heap 0 3 0 4 cu", "facts cci 0 1 0 1 cu"]);
}
