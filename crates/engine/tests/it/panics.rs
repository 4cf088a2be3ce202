//! A request that panics ends its session, and leaves locks, transactions, the catalog and
//! statistics as the end of the session would: nothing stays locked, no partial change is visible,
//! other sessions go on.
//!
//! The panic is raised by the sink, which a statement calls at various points: inside a
//! transaction, while holding a row, in the middle of a DDL statement, of a trigger, of nested
//! procedures, of a pipeline on several schedulers.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use engine::instance::ExecutionMode;
use engine::instance::Instance;
use engine::session::Session;
use engine::sink::{ColumnInfo, Done, EnvChange, ResultShape, ResultSink, Sent};
use types::{Error, Value};

use crate::client::{Answer, batch, describe, instance_on, login};

/// The message at which the sink panics.
const BOMB: &str = "bomb";

const PREPARE: [&str; 12] = [
    "CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int NOT NULL, INDEX i (a));
     INSERT t SELECT value, value * 10 FROM GENERATE_SERIES(1, 20);
     CREATE TABLE heap (id int NOT NULL, a int);
     INSERT heap SELECT value, 0 FROM GENERATE_SERIES(1, 50);
     CREATE TABLE big (id int NOT NULL, k int NOT NULL, v bigint NOT NULL);
     INSERT big SELECT value, value % 1000, value FROM GENERATE_SERIES(1, 60000);
     CREATE TABLE watched (id int NOT NULL PRIMARY KEY, a int);
     INSERT watched VALUES (1, 1);
     CREATE TABLE target (id int, a int, b int);
     CREATE TABLE parent (id int NOT NULL);
     CREATE TYPE ids AS TABLE (id int)",
    "CREATE TABLE opt (id int NOT NULL PRIMARY KEY NONCLUSTERED, a int) WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY);
     INSERT opt VALUES (1, 1), (2, 2)",
    "CREATE TRIGGER bell ON watched FOR UPDATE AS UPDATE t SET a = -1 WHERE id = 1; PRINT 'bomb'",
    "CREATE TRIGGER instead ON parent INSTEAD OF INSERT AS INSERT t SELECT id + 100, 1 FROM inserted; PRINT 'bomb'",
    "CREATE TRIGGER defined ON DATABASE FOR CREATE_TABLE, ALTER_TABLE, DROP_TABLE, CREATE_INDEX AS IF EVENTDATA().value('(/EVENT_INSTANCE/TSQLCommand/CommandText)[1]', 'nvarchar(max)') LIKE '%boom%' PRINT 'bomb'",
    "CREATE PROCEDURE inner_most AS DECLARE @own TABLE (a int); INSERT @own VALUES (1), (2); CREATE TABLE #inner (a int); INSERT #inner SELECT a FROM @own; SELECT a FROM #inner; PRINT 'bomb'",
    "CREATE PROCEDURE middle AS BEGIN TRY BEGIN TRAN; UPDATE t SET a = 5 WHERE id = 5; DECLARE c CURSOR LOCAL FOR SELECT id FROM t; OPEN c; FETCH c; EXEC inner_most; COMMIT END TRY BEGIN CATCH ROLLBACK END CATCH",
    "CREATE PROCEDURE outer_most AS EXEC middle",
    "CREATE PROCEDURE prints AS SELECT 1; PRINT 'bomb'",
    "CREATE PROCEDURE takes @ids ids READONLY AS UPDATE t SET a = 0 WHERE id IN (SELECT id FROM @ids); PRINT 'bomb'",
    "EXEC sp_configure 'show advanced options', 1; RECONFIGURE",
    "EXEC sp_configure 'cost threshold for parallelism', 0; RECONFIGURE",
];

/// Batches that end in a panic, with the number of the row at which; 0 for a message.
const CASES: [(usize, &str); 24] = [
    (
        0,
        "BEGIN TRAN; UPDATE t SET a = 1 WHERE id = 1; INSERT t VALUES (50, 1); DELETE t WHERE id = 2; PRINT 'bomb'",
    ),
    (
        0,
        "UPDATE t SET a = 1 WHERE id = 1; BEGIN TRAN; UPDATE t SET a = 10 WHERE id = 1; BEGIN TRAN; SAVE TRAN s; UPDATE heap SET a = 1; PRINT 'bomb'",
    ),
    (3, "BEGIN TRAN; UPDATE t SET a = a + 1 OUTPUT inserted.id"),
    (3, "BEGIN TRAN; DELETE heap OUTPUT deleted.id WHERE id > 10"),
    (2, "BEGIN TRAN; INSERT t OUTPUT inserted.id VALUES (60, 1), (61, 1), (62, 1)"),
    (
        2,
        "BEGIN TRAN; MERGE t USING (VALUES (1, 7), (70, 8), (71, 9)) AS s (id, a) ON s.id = t.id WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.a) OUTPUT $action;",
    ),
    (0, "BEGIN TRAN; UPDATE opt WITH (SNAPSHOT) SET a = 9 WHERE id = 1; PRINT 'bomb'"),
    (
        0,
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; SELECT COUNT(*) FROM t WHERE a BETWEEN 10 AND 90; PRINT 'bomb'",
    ),
    (
        0,
        "BEGIN TRAN; SELECT id FROM t WITH (UPDLOCK, HOLDLOCK) WHERE id = 3; SELECT COUNT(*) FROM heap WITH (TABLOCKX); PRINT 'bomb'",
    ),
    (2, "SELECT id FROM t WITH (XLOCK)"),
    (
        0,
        "EXEC sp_getapplock 'mine', 'Exclusive', 'Session'; BEGIN TRAN; EXEC sp_getapplock 'ours', 'Exclusive'; PRINT 'bomb'",
    ),
    (
        0,
        "BEGIN TRAN; CREATE TABLE made (a int); ALTER TABLE t ADD c int NULL; DROP TABLE heap; CREATE INDEX j ON t (a); EXEC sp_rename 'watched.a', 'z', 'COLUMN'; PRINT 'bomb'",
    ),
    (0, "CREATE TABLE boom (a int)"),
    (0, "ALTER TABLE t ADD boom int NOT NULL DEFAULT 3"),
    (0, "CREATE INDEX boom ON t (a, id)"),
    (0, "UPDATE watched SET a = 2; UPDATE watched SET a = 3"),
    (0, "INSERT parent VALUES (1), (2)"),
    (0, "EXEC outer_most"),
    (
        0,
        "CREATE TABLE #mine (a int); DECLARE @v TABLE (a int); INSERT @v VALUES (1); DECLARE c CURSOR GLOBAL FOR SELECT a FROM @v; OPEN c; EXEC ('PRINT ''bomb''')",
    ),
    (0, "INSERT target (id) EXEC prints"),
    (0, "BEGIN TRAN; DECLARE @ids ids; INSERT @ids VALUES (1), (2); EXEC takes @ids"),
    (500, "SELECT id, v FROM big WHERE v % 3 = 1 ORDER BY v DESC"),
    (
        1,
        "SELECT k, COUNT(*), SUM(v), MAX(HASHBYTES('SHA2_256', CAST(v AS varbinary(8)))) FROM big GROUP BY k",
    ),
    (700, "SELECT a.id FROM big AS a JOIN big AS b ON a.id = b.id WHERE a.v % 2 = 0"),
];

/// A sink that panics at a message or at a row.
struct Bomb {
    answer: Answer,
    row: usize,
    rows: usize,
}

impl ResultSink for Bomb {
    fn columns(&mut self, shape: &ResultShape) -> Sent {
        self.answer.columns(shape)
    }
    fn row(&mut self, values: &[Value]) -> Sent {
        self.rows += 1;
        if self.rows == self.row {
            resume_unwind(Box::new("a row"));
        }
        self.answer.row(values)
    }
    fn done(&mut self, done: Done) -> Sent {
        self.answer.done(done)
    }
    fn message(&mut self, message: &Error) -> Sent {
        if message.message == BOMB {
            resume_unwind(Box::new("a message"));
        }
        self.answer.message(message)
    }
    fn return_status(&mut self, status: i32) -> Sent {
        self.answer.return_status(status)
    }
    fn return_value(&mut self, ordinal: u16, column: &ColumnInfo, value: &Value) -> Sent {
        self.answer.return_value(ordinal, column, value)
    }
    fn env_change(&mut self, change: &EnvChange<'_>) -> Sent {
        self.answer.env_change(change)
    }
    fn flush(&mut self) -> Sent {
        self.answer.flush()
    }
}

/// Runs a batch that panics, and drops its session, as the server does.
fn panic_in(instance: &Arc<Instance>, row: usize, text: &str) {
    let mut session = login(instance);
    let mut bomb = Bomb { answer: Answer::default(), row, rows: 0 };
    let books = Arc::clone(session.books());
    let outcome = sos::ledger::request(Some(&books), || {
        session.begin_message();
        let outcome = catch_unwind(AssertUnwindSafe(|| session.batch(text, &mut bomb)));
        session.end_message();
        outcome
    });
    let errors: Vec<String> = bomb.answer.errors.iter().map(describe).collect();
    assert!(outcome.is_err(), "{text}: {errors:?}");
    catch_unwind(AssertUnwindSafe(|| drop(session))).unwrap();
}

fn rows(session: &mut Session, text: &str) -> Vec<Vec<String>> {
    let answer = batch(session, text);
    assert!(answer.errors.is_empty(), "{text}\n{}", describe(&answer.errors[0]));
    answer.sets.into_iter().flatten().collect()
}

/// Returns what another session sees: rows, definitions, locks, and counters of current items.
fn world(session: &mut Session) -> BTreeMap<&'static str, Vec<Vec<String>>> {
    let looks = [
        ("t", "SELECT id, a FROM t ORDER BY id"),
        ("heap", "SELECT COUNT(*), SUM(a) FROM heap"),
        ("watched", "SELECT * FROM watched"),
        ("opt", "SELECT * FROM opt ORDER BY id"),
        (
            "others",
            "SELECT (SELECT COUNT(*) FROM target), (SELECT COUNT(*) FROM parent), (SELECT COUNT(*) FROM big)",
        ),
        ("objects", "SELECT name, type FROM sys.objects ORDER BY object_id"),
        (
            "columns",
            "SELECT object_id, name, system_type_id FROM sys.columns WHERE object_id IN (SELECT object_id FROM sys.tables) ORDER BY object_id, column_id",
        ),
        (
            "indexes",
            "SELECT object_id, name FROM sys.indexes WHERE object_id IN (SELECT object_id FROM sys.tables) ORDER BY object_id, index_id",
        ),
        ("tempdb", "SELECT COUNT(*) FROM tempdb.sys.tables"),
        (
            "locks",
            "SELECT resource_type, request_mode FROM sys.dm_tran_locks WHERE request_session_id <> @@SPID",
        ),
        ("sessions", "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1"),
        (
            "requests",
            "SELECT session_id FROM sys.dm_exec_requests WHERE session_id > 50 AND session_id <> @@SPID",
        ),
        ("transactions", "SELECT session_id FROM sys.dm_tran_session_transactions"),
        (
            "grants",
            "SELECT session_id FROM sys.dm_exec_query_memory_grants WHERE session_id <> @@SPID",
        ),
        ("waiting", "SELECT session_id FROM sys.dm_os_waiting_tasks WHERE session_id > 50"),
        ("counters", GAUGES),
    ];
    looks.into_iter().map(|(name, text)| (name, rows(session, text))).collect()
}

/// Counters of current items, except memory and caches.
const GAUGES: &str = "SELECT RTRIM(counter_name), cntr_value FROM sys.dm_os_performance_counters
    WHERE RTRIM(counter_name) IN ('User Connections', 'Transactions', 'Active Transactions', 'Processes blocked', 'Active Temp Tables',
        'Memory Grants Outstanding', 'Memory Grants Pending', 'Active cursors', 'Logical Connections')
    ORDER BY counter_name, instance_name";

#[test]
fn a_panic_leaves_what_the_end_of_its_session_would() {
    for mode in [ExecutionMode::Row, ExecutionMode::Vector] {
        let instance = instance_on(2, |_| ());
        instance.set_execution_mode(mode);
        let mut witness = login(&instance);
        for text in PREPARE {
            rows(&mut witness, text);
        }
        rows(&mut witness, "UPDATE t SET a = 1 WHERE id = 1");
        let mut before = world(&mut witness);
        for (row, text) in CASES {
            panic_in(&instance, row, text);
            let after = world(&mut witness);
            if text.starts_with("UPDATE watched") {
                before.insert("watched", after["watched"].clone());
            }
            for (what, seen) in &after {
                assert_eq!(*seen, before[what], "{mode:?}: {text}: {what}");
            }
            check_that_others_go_on(&instance, text);
        }
        let held = rows(
            &mut witness,
            "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE status = 'running' AND is_user_process = 1",
        );
        assert_eq!(held, [["1"]]);
    }
}

fn check_that_others_go_on(instance: &Arc<Instance>, text: &str) {
    let mut other = login(instance);
    let wide = "SET LOCK_TIMEOUT 0; BEGIN TRAN; UPDATE t SET a = a + 1; INSERT t VALUES (-5, 15); UPDATE heap SET a = 2; UPDATE watched SET id = id WHERE id = 7; ROLLBACK";
    let defines = "SET LOCK_TIMEOUT 0; BEGIN TRAN; ALTER TABLE t ADD other int NULL; CREATE TABLE boon (a int); DROP TABLE boon; ALTER TABLE heap ADD other int NULL; ROLLBACK";
    let asks = "DECLARE @r int; EXEC @r = sp_getapplock 'mine', 'Exclusive', 'Session', 0; SELECT @r; EXEC sp_releaseapplock 'mine', 'Session'";
    let optimized = "UPDATE opt SET a = a";
    for wanted in [wide, defines, asks, optimized] {
        let answer = batch(&mut other, wanted);
        let errors: Vec<String> = answer.errors.iter().map(describe).collect();
        assert!(errors.is_empty(), "{text}\n{wanted}\n{errors:?}");
    }
}
