//! Reports of requests that are blocked: blocked_process_report, and the deadlock graph of rows. Both
//! are read as published scripts read them.

use std::sync::Arc;

use engine::event::emit::blocked::BlockedProcesses;
use engine::instance::Instance;
use engine::session::Session;

use crate::client::{batch, login, run, sets, spawn};
use crate::events::{data, ring, watched};
use crate::locks::{PATIENCE, id, until};

const EVENT: &str = "blocked_process_report";

/// A path into the report of an event.
fn report(path: &str) -> String {
    format!("data[@name=\"blocked_process\"]/value/blocked-process-report/{path}")
}

/// Returns an engine that collects reports after one second, and a session in a database with a
/// table of two rows.
fn shop() -> (Arc<Instance>, Session) {
    let (instance, mut watcher) = watched(
        "ADD EVENT sqlserver.blocked_process_report (SET collect_database_name = 1),
         ADD EVENT sqlserver.xml_deadlock_report ADD TARGET package0.ring_buffer",
    );
    run(&mut watcher, "EXEC sp_configure 'show advanced options', 1 RECONFIGURE");
    run(&mut watcher, "EXEC sp_configure 'blocked process threshold', 1 RECONFIGURE");
    run(&mut watcher, "CREATE DATABASE shop");
    run(&mut watcher, "USE shop CREATE TABLE t (id int CONSTRAINT pk_t PRIMARY KEY, n int)");
    run(&mut watcher, "INSERT t VALUES (1, 1), (2, 2)");
    (instance, watcher)
}

fn customer(instance: &Arc<Instance>) -> Session {
    let mut session = login(instance);
    run(&mut session, "USE shop");
    session
}

/// Looks until a report is there, and returns values of the first one.
fn reported(
    (instance, monitor): (&Arc<Instance>, &mut BlockedProcesses),
    watcher: &mut Session,
    paths: &[String],
) -> Vec<String> {
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let end_ns = sos::clock::deadline_ns(PATIENCE);
    loop {
        monitor.look(instance);
        if let Some(found) = ring(watcher, EVENT, &paths).into_iter().next() {
            return found;
        }
        assert!(sos::clock::monotonic_ns() < end_ns, "no report in 20 s");
        run(watcher, "WAITFOR DELAY '00:00:00.05'");
    }
}

fn number(session: &mut Session, sql: &str) -> String {
    sets(session, sql).pop().unwrap().remove(0).remove(0)
}

#[test]
fn a_request_that_waits_for_a_row_is_reported_once_for_each_threshold() {
    let (instance, mut watcher) = shop();
    let (mut holder, waiter) = (customer(&instance), customer(&instance));
    let numbers = (id(&waiter).to_string(), id(&holder).to_string());
    run(&mut holder, "BEGIN TRAN UPDATE t SET n = 3 WHERE id = 1");
    let text = "DECLARE @a int = 1\nUPDATE t SET n = n + @a WHERE id = 1; SELECT '<&>'";
    let waiting = spawn(&instance, waiter, &format!("BEGIN TRAN\n{text} COMMIT"));
    let sql = format!("SELECT 1 FROM sys.dm_os_waiting_tasks WHERE session_id = {}", numbers.0);
    until(&mut watcher, &sql);
    let mut monitor = BlockedProcesses::default();
    monitor.look(&instance);
    assert_eq!(ring(&mut watcher, EVENT, &["@name"]).len(), 0, "it has not waited for a second");
    let blocked = |name: &str| report(&format!("blocked-process/process/{name}"));
    let blocking = |name: &str| report(&format!("blocking-process/process/{name}"));
    let found = reported(
        (&instance, &mut monitor),
        &mut watcher,
        &[
            data("database_name"),
            "data[@name=\"lock_mode\"]/text".to_owned(),
            "data[@name=\"resource_owner_type\"]/text".to_owned(),
            blocked("@spid"),
            blocked("@status"),
            blocked("@lockMode"),
            blocked("@transactionname"),
            blocked("@currentdbname"),
            blocked("@isolationlevel"),
            blocked("executionStack/frame/@line"),
            blocked("@lockTimeout"),
            blocking("@spid"),
            blocking("@status"),
            blocking("@trancount"),
        ],
    );
    let expected = [
        "shop",
        "X",
        "LOCK",
        &numbers.0,
        "suspended",
        "X",
        "user_transaction",
        "shop",
        "read committed (2)",
        "3",
        "4294967295",
        &numbers.1,
        "sleeping",
        "1",
    ];
    assert_eq!(found, expected);
    assert_ids_and_texts(&mut watcher);
    monitor.look(&instance);
    let once = ring(&mut watcher, EVENT, &[&data("duration")]);
    assert_eq!(once.len(), 1, "the next report is due when another second has passed");
    assert!((1_000_000..2_000_000).contains(&once[0][0].parse::<u64>().unwrap()), "{once:?}");
    run(&mut watcher, "WAITFOR DELAY '00:00:01.1'");
    monitor.look(&instance);
    assert_eq!(ring(&mut watcher, EVENT, &["@name"]).len(), 2);
    run(&mut holder, "COMMIT");
    let (_waiter, answer) = waiting.recv_timeout(PATIENCE).unwrap();
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);
}

/// The ids are those of the catalog and of the transactions, and texts come back as they were sent.
fn assert_ids_and_texts(watcher: &mut Session) {
    let row = ring(
        watcher,
        EVENT,
        &[
            &data("database_id"),
            &data("object_id"),
            &data("index_id"),
            &data("transaction_id"),
            &report("blocked-process/process/@waitresource"),
            &report("blocked-process/process/inputbuf"),
            &report("blocking-process/process/@xactid"),
            &report("blocking-process/process/inputbuf"),
            &report("blocked-process/process/executionStack/frame/@sqlhandle"),
        ],
    )
    .remove(0);
    assert_eq!(row[0], number(watcher, "SELECT DB_ID()"));
    assert_eq!(row[1], number(watcher, "SELECT OBJECT_ID('t')"));
    assert_eq!(row[2], number(watcher, "SELECT index_id FROM sys.indexes WHERE name = 'pk_t'"));
    let transactions =
        sets(watcher, "SELECT transaction_id FROM sys.dm_tran_active_transactions ORDER BY 1");
    let both: Vec<&str> = transactions[0].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(both, [row[6].as_str(), row[3].as_str()]);
    let hobt =
        number(watcher, "SELECT hobt_id FROM sys.partitions WHERE object_id = OBJECT_ID('t')");
    assert!(row[4].starts_with(&format!("KEY: {}:{hobt} (", row[0])), "{}", row[4]);
    assert!(!row[4].contains(" of "), "a key is data, which a report does not show: {}", row[4]);
    assert!(row[5].contains("SELECT '<&>' COMMIT"), "{}", row[5]);
    assert!(row[7].contains("UPDATE t SET n = 3"), "{}", row[7]);
    let sql = format!("SELECT TOP (1) text FROM sys.dm_exec_sql_text({})", row[8]);
    assert!(number(watcher, &sql).starts_with("BEGIN TRAN\nDECLARE @a"), "{}", row[8]);
}

#[test]
fn a_wait_for_a_definition_names_the_object_and_one_for_an_application_lock_its_name() {
    let (instance, mut watcher) = shop();
    let (mut holder, waiter) = (customer(&instance), customer(&instance));
    run(&mut holder, "BEGIN TRAN ALTER TABLE t ADD more int");
    let waiting = spawn(&instance, waiter, "ALTER TABLE t ADD even_more int");
    let mut monitor = BlockedProcesses::default();
    let paths =
        [report("blocked-process/process/@waitresource"), "data[@name=\"lock_mode\"]/text".into()];
    let found = reported((&instance, &mut monitor), &mut watcher, &paths);
    let object =
        number(&mut watcher, "SELECT CONCAT('OBJECT: ', DB_ID(), ':', OBJECT_ID('t'), ':0')");
    assert_eq!(found, [object.as_str(), "SCH_M"]);
    let shown = "SELECT wait_resource FROM sys.dm_exec_requests WHERE wait_type = 'LCK_M_SCH_M'";
    assert_eq!(number(&mut watcher, shown), object);
    run(&mut holder, "ROLLBACK");
    drop(waiting.recv_timeout(PATIENCE).unwrap());

    run(&mut holder, "EXEC sp_getapplock 'x<y', 'Exclusive', 'Session'");
    let waiter = customer(&instance);
    let waiting = spawn(&instance, waiter, "EXEC sp_getapplock 'x<y', 'Shared', 'Session'");
    run(&mut watcher, "ALTER EVENT SESSION s ON SERVER STATE = STOP");
    run(&mut watcher, "ALTER EVENT SESSION s ON SERVER STATE = START");
    let found = reported((&instance, &mut monitor), &mut watcher, &paths);
    let name = number(&mut watcher, "SELECT CONCAT('APPLICATION: ', DB_ID(), ':0:[x<y]:(')");
    assert!(found[0].starts_with(&name), "{}", found[0]);
    assert_eq!(found[1], "S");
    run(&mut holder, "EXEC sp_releaseapplock 'x<y', 'Session'");
    drop(waiting.recv_timeout(PATIENCE).unwrap());
}

#[test]
fn no_report_comes_without_a_threshold() {
    let (instance, mut watcher) = shop();
    let refused = batch(&mut watcher, "EXEC sp_configure 'blocked process threshold', 86401");
    assert_eq!(refused.errors[0].number, 15_129);
    let settings = "SELECT configuration_id, value, value_in_use, maximum, is_dynamic, is_advanced \
                    FROM sys.configurations WHERE name = 'blocked process threshold (s)'";
    assert_eq!(sets(&mut watcher, settings)[0], [["1569", "1", "1", "86400", "1", "1"]]);
    run(&mut watcher, "EXEC sp_configure 'blocked process threshold', 0 RECONFIGURE");
    let (mut holder, waiter) = (customer(&instance), customer(&instance));
    run(&mut holder, "BEGIN TRAN UPDATE t SET n = 3 WHERE id = 1");
    let waiting = spawn(&instance, waiter, "UPDATE t SET n = 4 WHERE id = 1");
    run(&mut watcher, "WAITFOR DELAY '00:00:01.1'");
    let mut monitor = BlockedProcesses::default();
    monitor.look(&instance);
    assert_eq!(ring(&mut watcher, EVENT, &["@name"]).len(), 0);
    // A threshold counts from the beginning of the wait.
    run(&mut watcher, "EXEC sp_configure 'blocked process threshold', 1 RECONFIGURE");
    monitor.look(&instance);
    let names = [report("blocked-process/process/@transactionname")];
    assert_eq!(reported((&instance, &mut monitor), &mut watcher, &names), ["UPDATE"]);
    run(&mut holder, "COMMIT");
    drop(waiting.recv_timeout(PATIENCE).unwrap());
}

#[test]
fn the_graph_of_a_deadlock_of_rows_names_their_index_and_the_statements() {
    let (instance, mut watcher) = shop();
    run(&mut watcher, "DBCC TRACEON (1222, -1)");
    let (mut one, mut two) = (customer(&instance), customer(&instance));
    run(&mut one, "BEGIN TRAN UPDATE t SET n = 3 WHERE id = 1");
    run(&mut two, "BEGIN TRAN UPDATE t SET n = 3 WHERE id = 2");
    let sql = format!("SELECT 1 FROM sys.dm_os_waiting_tasks WHERE session_id = {}", id(&two));
    let waiting = spawn(&instance, two, "UPDATE t SET n = 4 WHERE id = 1");
    until(&mut watcher, &sql);
    let answer = batch(&mut one, "UPDATE t SET n = 4 WHERE id = 2");
    let (_two, other) = waiting.recv_timeout(PATIENCE).unwrap();
    assert_eq!(answer.errors.len() + other.errors.len(), 1, "one of them is the victim");
    let graph = "data[@name=\"xml_report\"]/value/deadlock/";
    let process = |name: &str| format!("{graph}process-list/process[2]/{name}");
    let lock = |name: &str| format!("{graph}resource-list/keylock[2]/{name}");
    let paths = [
        process("@lockMode"),
        process("@currentdbname"),
        process("@status"),
        process("@trancount"),
        process("executionStack/frame/@procname"),
        process("executionStack/frame/@line"),
        lock("@objectname"),
        lock("@indexname"),
        lock("@mode"),
        lock("owner-list/owner/@mode"),
        lock("waiter-list/waiter/@mode"),
        lock("waiter-list/waiter/@requestType"),
    ];
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let found = ring(&mut watcher, "xml_deadlock_report", &paths);
    let expected =
        ["X", "shop", "suspended", "1", "adhoc", "1", "shop.dbo.t", "pk_t", "X", "X", "X", "wait"];
    assert_eq!(found, [expected]);
    let texts = ["executionStack/frame", "inputbuf", "@waitresource"].map(process);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = ring(&mut watcher, "xml_deadlock_report", &texts).remove(0);
    assert!(found[0].contains("UPDATE t SET n = "), "{}", found[0]);
    assert!(found[1].contains("UPDATE t SET n = "), "{}", found[1]);
    assert!(found[2].starts_with("KEY: "), "{}", found[2]);
    let logged = "SELECT COUNT(*) FROM sys.dm_os_error_log WHERE text LIKE '%keylock hobtid=%objectname=shop.dbo.t indexname=pk_t%'";
    assert_eq!(number(&mut watcher, logged), "2");
}

#[test]
fn a_wait_for_a_lock_of_a_reader_names_what_it_is_on() {
    let (instance, mut watcher) = shop();
    let (mut holder, waiter) = (customer(&instance), customer(&instance));
    let name = id(&waiter);
    sets(&mut holder, "BEGIN TRAN SELECT * FROM t WITH (REPEATABLEREAD) WHERE id = 2");
    let waiting = spawn(&instance, waiter, "UPDATE t SET n = 4 WHERE id = 2");
    let sql = format!(
        "SELECT r.wait_resource, w.resource_description FROM sys.dm_exec_requests AS r \
         JOIN sys.dm_os_waiting_tasks AS w ON w.session_id = r.session_id \
         WHERE r.session_id = {name} AND r.wait_resource IS NOT NULL"
    );
    let row = until(&mut watcher, &sql).remove(0);
    assert!(row[0].starts_with("KEY: ") && row[0].ends_with(" of dbo.t (id = 2)"), "{row:?}");
    assert!(row[1].starts_with("keylock hobtid="), "{row:?}");
    run(&mut holder, "COMMIT");
    drop(waiting.recv_timeout(PATIENCE).unwrap());
}
