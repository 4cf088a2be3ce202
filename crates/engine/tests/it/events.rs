//! Running event sessions: what is fired and what each target holds, read in the way that published
//! scripts read it.

use std::sync::Arc;
use std::time::Duration;

use engine::instance::Instance;
use engine::session::{Reset, Rpc, RpcParameter, RpcTarget, Session};
use sos::park;
use sos::sync::{AtomicI64, Ordering};
use sos::wait::WaitType;
use types::value::ColumnType;
use types::{Collation, DataType, Value};

use crate::client::{Answer, batch, describe, instance, login, run, sets};

/// Runs a batch that must give no error, and returns its last result set.
pub(crate) fn last(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    sets(session, sql).pop().unwrap_or_default()
}

/// Returns an engine whose events the test's thread fires, like a worker of the server.
pub(crate) fn joined() -> Arc<Instance> {
    let instance = instance();
    instance.machine.accounts().adopt("test");
    instance
}

/// Returns an engine and the session that observes the events.
pub(crate) fn watched(definition: &str) -> (Arc<Instance>, Session) {
    let instance = joined();
    let mut watcher = login(&instance);
    run(&mut watcher, &format!("CREATE EVENT SESSION s ON SERVER {definition}"));
    run(&mut watcher, "ALTER EVENT SESSION s ON SERVER STATE = START");
    (instance, watcher)
}

/// Reads values of the events in a ring buffer, by paths below `event`.
pub(crate) fn ring(watcher: &mut Session, event: &str, paths: &[&str]) -> Vec<Vec<String>> {
    let columns: Vec<String> =
        paths.iter().map(|path| format!("e.value('({path})[1]', 'nvarchar(max)')")).collect();
    let sql = format!(
        "SELECT {} FROM (SELECT CAST(t.target_data AS xml) AS x FROM sys.dm_xe_sessions s
         JOIN sys.dm_xe_session_targets t ON t.event_session_address = s.address
         WHERE s.name = 's' AND t.target_name = 'ring_buffer') AS d
         CROSS APPLY d.x.nodes('//RingBufferTarget/event[@name=\"{event}\"]') AS q(e)",
        columns.join(", ")
    );
    last(watcher, &sql)
}

pub(crate) fn data(name: &str) -> String {
    format!("data[@name=\"{name}\"]/value")
}

#[test]
fn a_batch_is_told_of_with_its_text_its_time_and_its_actions() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.sql_batch_starting, ADD EVENT sqlserver.sql_batch_completed
         (ACTION (sqlserver.session_id, sqlserver.sql_text, sqlserver.database_name, sqlserver.username,
          package0.event_sequence) WHERE batch_text LIKE N'%watch me%')
         ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    run(&mut other, "SELECT 1 -- watch me");
    run(&mut other, "SELECT 2");
    let found = ring(
        &mut watcher,
        "sql_batch_completed",
        &[
            &data("batch_text"),
            &data("row_count"),
            "data[@name=\"result\"]/text",
            "action[@name=\"session_id\"]/value",
            "action[@name=\"sql_text\"]/value",
            "action[@name=\"database_name\"]/value",
            "action[@name=\"username\"]/value",
        ],
    );
    let id = other.state().connection.id.to_string();
    let text = "SELECT 1 -- watch me".to_owned();
    let expected =
        vec![text.clone(), "1".into(), "OK".into(), id, text, "master".into(), "sa".into()];
    assert_eq!(found, [expected]);
    let starting = ring(&mut watcher, "sql_batch_starting", &[&data("batch_text")]);
    assert!(starting.contains(&vec!["SELECT 2".to_owned()]), "{starting:?}");
}

#[test]
fn a_call_is_told_of_as_a_statement_and_its_statements_with_it() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.rpc_completed, ADD EVENT sqlserver.sp_statement_completed
         (ACTION (sqlserver.tsql_stack, sqlserver.query_hash)), ADD EVENT sqlserver.module_end,
         ADD EVENT sqlserver.sql_statement_completed
         ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    run(&mut other, "CREATE TABLE dbo.t (a int NOT NULL PRIMARY KEY NONCLUSTERED)");
    run(
        &mut other,
        "CREATE PROCEDURE dbo.p @a int, @b nvarchar(10) AS\nINSERT dbo.t VALUES (@a)\nSELECT @b",
    );
    let ty = |data_type| ColumnType { data_type, collation: Collation::default(), nullable: true };
    let parameter = |name: &str, data_type, value| RpcParameter {
        name: name.to_owned(),
        ty: ty(data_type),
        value,
        output: false,
        default: false,
        table: None,
    };
    let mut parameters = [
        parameter("@a", DataType::Int, Value::Int(7)),
        parameter("@b", DataType::NVarChar(types::Length::Limited(10)), Value::nvarchar("it's")),
    ];
    let rpc = Rpc {
        target: RpcTarget::Name("dbo.p"),
        parameters: &mut parameters,
        more: false,
        stream: None,
    };
    other.rpc(rpc, &mut Answer::default()).unwrap();
    let calls = ring(
        &mut watcher,
        "rpc_completed",
        &[&data("statement"), &data("object_name"), "data[@name=\"result\"]/text"],
    );
    let text = "exec dbo.p @a=7,@b=N'it''s'".to_owned();
    assert_eq!(calls, [[text, "dbo.p".to_owned(), "OK".to_owned()]]);
    let statements = ring(
        &mut watcher,
        "sp_statement_completed",
        &[
            &data("statement"),
            &data("line_number"),
            &data("object_name"),
            "data[@name=\"object_type\"]/text",
            &data("nest_level"),
            "action[@name=\"tsql_stack\"]/value/frames/frame/@line",
        ],
    );
    let of =
        |text: &str, line: &str| [text, line, "p", "PROC", "1", line].map(str::to_owned).to_vec();
    assert_eq!(statements, [of("INSERT dbo.t VALUES (@a)", "2"), of("SELECT @b", "3")]);
    let hashes =
        ring(&mut watcher, "sp_statement_completed", &["action[@name=\"query_hash\"]/value"]);
    assert!(hashes.iter().all(|row| row[0] != "0"), "{hashes:?}");
    let modules = ring(&mut watcher, "module_end", &[&data("object_name")]);
    assert_eq!(modules, [["p"]]);
    let batches = ring(&mut watcher, "sql_statement_completed", &[&data("statement")]);
    assert!(batches.iter().any(|row| row[0].starts_with("CREATE TABLE dbo.t")), "{batches:?}");
}

#[test]
fn errors_logins_and_resets_are_counted() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.error_reported (WHERE severity > 10), ADD EVENT sqlserver.login,
         ADD EVENT sqlserver.logout, ADD EVENT sqlserver.attention
         ADD TARGET package0.event_counter ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    assert_eq!(batch(&mut other, "SELECT 1 / 0").errors.len(), 1);
    run(&mut other, "BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH PRINT 'caught' END CATCH");
    other.reset(Reset::All, &mut Answer::default()).unwrap();
    other.count_attention();
    drop(other);
    let counts = last(
        &mut watcher,
        "SELECT p.value('@name', 'nvarchar(60)'), e.value('@name', 'nvarchar(60)'), e.value('@count', 'int')
         FROM (SELECT CAST(t.target_data AS xml) AS x FROM sys.dm_xe_sessions s
         JOIN sys.dm_xe_session_targets t ON t.event_session_address = s.address
         WHERE s.name = 's' AND t.target_name = 'event_counter') AS d
         CROSS APPLY d.x.nodes('CounterTarget/Packages/Package') AS a(p) CROSS APPLY p.nodes('Event') AS b(e)",
    );
    let of = |name: &str, count: &str| ["sqlserver", name, count].map(str::to_owned).to_vec();
    let expected =
        [of("error_reported", "2"), of("login", "2"), of("logout", "2"), of("attention", "1")];
    assert_eq!(counts, expected);
    let errors =
        ring(&mut watcher, "error_reported", &[&data("error_number"), &data("is_intercepted")]);
    assert_eq!(errors, [["8134", "false"], ["8134", "true"]]);
    let logins = ring(&mut watcher, "login", &[&data("is_cached")]);
    assert_eq!(logins, [["false"], ["true"]]);
}

#[test]
fn locks_and_pairs_without_an_end_are_told_of() {
    let (_instance, mut watcher) = watched(
        "ADD EVENT sqlserver.lock_acquired, ADD EVENT sqlserver.lock_released
         ADD TARGET package0.pair_matching (SET begin_event = N'sqlserver.lock_acquired',
          end_event = N'sqlserver.lock_released',
          begin_matching_columns = N'resource_0', end_matching_columns = N'resource_0')",
    );
    run(&mut watcher, "EXEC sp_getapplock 'one', 'Exclusive', 'Session'");
    run(&mut watcher, "EXEC sp_getapplock 'two', 'Shared', 'Session'");
    run(&mut watcher, "EXEC sp_releaseapplock 'one', 'Session'");
    let found = last(
        &mut watcher,
        "SELECT x.value('(/PairingTarget/@matchedCount)[1]', 'int'), x.value('(/PairingTarget/@orphanCount)[1]', 'int'),
         e.value('(data[@name=\"mode\"]/text)[1]', 'nvarchar(10)'), e.value('(data[@name=\"owner_type\"]/text)[1]', 'nvarchar(20)')
         FROM (SELECT CAST(t.target_data AS xml) AS x FROM sys.dm_xe_sessions s
         JOIN sys.dm_xe_session_targets t ON t.event_session_address = s.address WHERE s.name = 's') AS d
         CROSS APPLY x.nodes('//event[@name=\"lock_acquired\"]') AS q(e)",
    );
    assert_eq!(found, [["1", "1", "S", "Session"]]);
}

#[test]
fn a_histogram_counts_by_action_and_by_field() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.sql_batch_completed (ACTION (sqlserver.session_id))
         ADD TARGET package0.histogram (SET source = N'sqlserver.session_id')",
    );
    let mut other = login(&instance);
    for _ in 0..5 {
        run(&mut other, "SELECT 1");
    }
    let read = "SELECT n.value('(@count)[1]', 'bigint'), n.value('(value)[1]', 'int') FROM (SELECT CAST(t.target_data AS xml) AS x FROM sys.dm_xe_sessions s
         JOIN sys.dm_xe_session_targets t ON t.event_session_address = s.address WHERE s.name = 's') AS d
         CROSS APPLY x.nodes('HistogramTarget/Slot') AS q(n)";
    let found = last(&mut watcher, read);
    let id = other.state().connection.id.to_string();
    assert!(found.contains(&vec!["5".to_owned(), id]), "{found:?}");
    // By a field of another event, weighted by that field's value.
    run(&mut watcher, "DROP EVENT SESSION s ON SERVER");
    run(
        &mut watcher,
        "CREATE EVENT SESSION s ON SERVER ADD EVENT sqlserver.sql_batch_completed
         ADD TARGET package0.histogram (SET filtering_event_name = N'sqlserver.sql_batch_completed', source = N'result', source_type = 0, weight = N'row_count')
         ALTER EVENT SESSION s ON SERVER STATE = START",
    );
    run(&mut other, "SELECT value FROM GENERATE_SERIES(1, 40)");
    let found = last(
        &mut watcher,
        "SELECT n.value('(@text)[1]', 'nvarchar(20)'), n.value('(@weight)[1]', 'bigint') FROM (SELECT CAST(t.target_data AS xml) AS x FROM sys.dm_xe_sessions s
         JOIN sys.dm_xe_session_targets t ON t.event_session_address = s.address WHERE s.name = 's') AS d
         CROSS APPLY x.nodes('HistogramTarget/Slot') AS q(n)",
    );
    assert_eq!(found, [["OK", "40"]]);
}

#[test]
fn a_session_whose_predicate_rejects_everything_says_so() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.sql_batch_completed (WHERE sqlserver.session_id = 9999)
         ADD TARGET package0.event_counter",
    );
    let mut other = login(&instance);
    for _ in 0..3 {
        run(&mut other, "SELECT 1");
    }
    let counts = "SELECT event_name, seen - rejected, dropped, published FROM sys.dm_xe_session_counts WHERE session_name = 's' ORDER BY event_name";
    let found = last(&mut watcher, counts);
    assert_eq!(found, [["NULL", "0", "0", "0"], ["sql_batch_completed", "0", "0", "0"]]);
    let seen = last(
        &mut watcher,
        "SELECT MIN(rejected) FROM sys.dm_xe_session_counts WHERE session_name = 's'",
    );
    assert!(seen[0][0].parse::<i64>().unwrap() >= 3, "{seen:?}");
}

#[test]
fn a_running_session_keeps_what_it_holds_when_it_is_altered() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.sql_batch_completed (WHERE batch_text = N'SELECT 1')
         ADD TARGET package0.ring_buffer",
    );
    let mut other = login(&instance);
    run(&mut other, "SELECT 1");
    let refused = batch(&mut watcher, "ALTER EVENT SESSION s ON SERVER WITH (MAX_MEMORY = 8 MB)");
    assert_eq!(refused.errors[0].number, 25707);
    run(
        &mut watcher,
        "ALTER EVENT SESSION s ON SERVER ADD EVENT sqlserver.login ADD TARGET package0.event_counter",
    );
    drop(login(&instance));
    run(&mut other, "SELECT 1");
    assert_eq!(ring(&mut watcher, "sql_batch_completed", &[&data("batch_text")]).len(), 2);
    assert_eq!(ring(&mut watcher, "login", &[&data("is_cached")]), [["false"]]);
    let targets = last(
        &mut watcher,
        "SELECT t.target_name FROM sys.dm_xe_sessions s JOIN sys.dm_xe_session_targets t ON t.event_session_address = s.address WHERE s.name = 's'",
    );
    assert_eq!(targets, [["ring_buffer"], ["event_counter"]]);
    let again = batch(&mut watcher, "ALTER EVENT SESSION s ON SERVER STATE = START");
    assert_eq!(again.errors[0].number, 25705);
    run(&mut watcher, "ALTER EVENT SESSION s ON SERVER STATE = STOP");
    assert!(last(&mut watcher, "SELECT name FROM sys.dm_xe_sessions").is_empty());
}

#[test]
fn a_file_is_read_back_and_one_that_cannot_be_written_says_so() {
    let folder = std::env::temp_dir().join(format!("clearway-events-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("log.xel");
    let path = path.to_string_lossy();
    let (instance, mut watcher) = watched(&format!(
        "ADD EVENT sqlserver.sql_batch_completed (ACTION (sqlserver.session_id) WHERE batch_text LIKE N'SELECT %')
         ADD TARGET package0.event_file (SET filename = N'{path}')"
    ));
    let mut other = login(&instance);
    run(&mut other, "SELECT 1");
    run(&mut other, "SELECT 2");
    let pattern = folder.join("log*.xel");
    // The dispatcher writes when the event session stops.
    run(&mut watcher, "ALTER EVENT SESSION s ON SERVER STATE = STOP");
    let found = last(
        &mut watcher,
        &format!(
            "SELECT object_name, x.value('(event/data[@name=\"batch_text\"]/value)[1]', 'nvarchar(max)') FROM
             (SELECT object_name, CAST(event_data AS xml) AS x FROM sys.fn_xe_file_target_read_file(N'{}', NULL, NULL, NULL)) AS e",
            pattern.display()
        ),
    );
    assert_eq!(found, [["sql_batch_completed", "SELECT 1"], ["sql_batch_completed", "SELECT 2"]]);
    let missing = batch(
        &mut watcher,
        "SELECT * FROM sys.fn_xe_file_target_read_file(N'/no/such/folder/x*.xel', NULL, NULL, NULL)",
    );
    assert_eq!(missing.errors[0].number, 25717);
    std::fs::remove_dir_all(&folder).unwrap();
    let refused = batch(
        &mut watcher,
        "CREATE EVENT SESSION f ON SERVER ADD EVENT sqlserver.login ADD TARGET package0.event_file (SET filename = N'/no/such/folder/x.xel')
         ALTER EVENT SESSION f ON SERVER STATE = START",
    );
    assert_eq!(refused.errors[0].number, 25602, "{}", describe(&refused.errors[0]));
    let text = &refused.errors[0].message;
    let name = "The target, \"5B2DA06D-898A-43C8-9309-39BBBE93EBBD.package0.event_file\",";
    assert!(text.starts_with(name), "{text}");
    assert!(
        text.contains("returned error 2: 'No such file or directory' while creating"),
        "{text}"
    );
}

#[test]
fn a_deadlock_is_reported_with_both_sides() {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.xml_deadlock_report, ADD EVENT sqlserver.lock_deadlock ADD TARGET package0.ring_buffer",
    );
    let mut first = login(&instance);
    run(&mut first, "EXEC sp_getapplock 'a', 'Exclusive', 'Session'");
    let accounts = Arc::clone(instance.machine.accounts());
    let shared = Arc::clone(&instance);
    let theirs = Arc::new(AtomicI64::new(0));
    let told = Arc::clone(&theirs);
    let thread = sos::thread::spawn(&accounts, "second", move || {
        let mut second = login(&shared);
        run(&mut second, "EXEC sp_getapplock 'b', 'Exclusive', 'Session'");
        let answer = batch(
            &mut second,
            "DECLARE @r int EXEC @r = sp_getapplock 'a', 'Exclusive', 'Session' SELECT @r",
        );
        // Relaxed: read after the join.
        told.store(answer.sets[0][0][0].parse().unwrap(), Ordering::Relaxed);
    });
    let waiting = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_status = 'WAIT'";
    while last(&mut watcher, waiting)[0][0] != "1" {
        park::sleep(Duration::from_millis(5), WaitType::SleepTask, None);
    }
    let mine = last(
        &mut first,
        "DECLARE @r int EXEC @r = sp_getapplock 'b', 'Exclusive', 'Session' EXEC sp_releaseapplock 'a', 'Session' SELECT @r",
    );
    drop(first);
    thread.unwrap().join().unwrap();
    let theirs = theirs.load(Ordering::Relaxed);
    assert!(mine[0][0] == "-3" || theirs == -3, "{mine:?} {theirs}");
    let reports = ring(
        &mut watcher,
        "xml_deadlock_report",
        &[
            "data[@name=\"xml_report\"]/value/deadlock/process-list/process[2]/@loginname",
            "data[@name=\"xml_report\"]/value/deadlock/resource-list/applicationlock/@mode",
        ],
    );
    assert_eq!(reports, [["sa", "X"]]);
    assert_eq!(ring(&mut watcher, "lock_deadlock", &["data[@name=\"mode\"]/text"]), [["X"]]);
}

#[test]
fn system_health_is_defined_and_starts_with_the_server() {
    let instance = joined();
    let mut watcher = login(&instance);
    instance.start_event_sessions().unwrap();
    let found = last(
        &mut watcher,
        "SELECT s.name, t.target_name, s.total_buffer_size / 1048576 FROM sys.dm_xe_sessions s JOIN sys.dm_xe_session_targets t ON t.event_session_address = s.address",
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0][..2], ["system_health", "ring_buffer"]);
    let events = last(&mut watcher, "SELECT event_name FROM sys.dm_xe_session_events ORDER BY 1");
    assert_eq!(
        events.concat(),
        [
            "error_reported",
            "scheduler_monitor",
            "spinlock_backoff_warning",
            "wait_completed",
            "xml_deadlock_report"
        ]
    );
    assert_eq!(batch(&mut watcher, "RAISERROR('boom', 20, 1) WITH LOG").errors[1].severity, 20);
    let text = last(
        &mut watcher,
        "SELECT CAST(t.target_data AS xml).value('(//event[@name=\"error_reported\"]/data[@name=\"message\"]/value)[1]', 'nvarchar(max)') FROM sys.dm_xe_session_targets t",
    );
    assert_eq!(text, [["boom"]]);
}

#[test]
fn who_may_not_define_sessions_is_refused_and_who_may_not_look_sees_none() {
    let instance = instance();
    let mut owner = login(&instance);
    run(&mut owner, "CREATE LOGIN plain WITH PASSWORD = 'Secret-1'");
    let refused = |owner: &mut Session, sql: &str| {
        let answer = batch(owner, &format!("EXECUTE AS LOGIN = 'plain' {sql} REVERT"));
        let numbers: Vec<i32> = answer.errors.iter().map(|error| error.number).collect();
        run(owner, "IF SUSER_SNAME() <> 'sa' REVERT");
        numbers
    };
    let create = "EXEC('CREATE EVENT SESSION x ON SERVER ADD EVENT sqlserver.login')";
    assert_eq!(refused(&mut owner, create), [15247]);
    let look = "EXEC('SELECT * FROM sys.dm_xe_sessions')";
    assert_eq!(refused(&mut owner, look), [300, 297]);
    run(&mut owner, "GRANT ALTER ANY EVENT SESSION TO plain GRANT VIEW SERVER STATE TO plain");
    assert_eq!(refused(&mut owner, create), Vec::<i32>::new());
    assert_eq!(refused(&mut owner, look), Vec::<i32>::new());
    assert_eq!(
        last(&mut owner, "SELECT name FROM sys.server_event_sessions WHERE name = 'x'"),
        [["x"]]
    );
}
