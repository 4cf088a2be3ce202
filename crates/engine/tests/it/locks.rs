//! Application locks between sessions that wait, and what the views show about them.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use engine::instance::Instance;
use engine::session::Session;

use crate::client::{Answer, instance, instance_on, login, run, sets, spawn};

/// Longer than any test runs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Repeats a query until it returns a row.
pub(crate) fn until(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    let end_ns = sos::clock::deadline_ns(PATIENCE);
    loop {
        let rows = sets(session, sql).remove(0);
        if !rows.is_empty() {
            return rows;
        }
        assert!(sos::clock::monotonic_ns() < end_ns, "no rows in 20 s: {sql}");
        run(session, "WAITFOR DELAY '00:00:00.002'");
    }
}

pub(crate) fn id(session: &Session) -> i16 {
    session.state().connection.id
}

const GET: &str = "DECLARE @r int EXEC @r = sp_getapplock";

fn get(resource: &str, mode: &str) -> String {
    format!("{GET} '{resource}', '{mode}', 'Session' SELECT @r")
}

fn result(answer: &Answer) -> &str {
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);
    &answer.sets.last().unwrap()[0][0]
}

fn holder_and_waiter(mode: &str) -> (Arc<Instance>, Session, i16, Receiver<(Session, Answer)>) {
    let instance = instance();
    let mut holder = login(&instance);
    let waiter = login(&instance);
    let number = id(&waiter);
    assert_eq!(sets(&mut holder, &get("a", "Exclusive")), [[["0"]]]);
    let waiting = spawn(&instance, waiter, &get("a", mode));
    let sql = format!("SELECT 1 FROM sys.dm_os_waiting_tasks WHERE session_id = {number}");
    until(&mut holder, &sql);
    (instance, holder, number, waiting)
}

#[test]
fn a_lock_is_granted_when_it_is_given_back_and_the_wait_is_shown() {
    let (_instance, mut holder, number, waiting) = holder_and_waiter("Shared");
    let me = id(&holder);
    let rows = sets(
        &mut holder,
        "SELECT session_id, wait_type, blocking_session_id, exec_context_id, \
         CASE WHEN resource_description LIKE 'applicationlock hash=%dbid=1 id=lock%mode=S' THEN 'ok' END \
         FROM sys.dm_os_waiting_tasks WHERE session_id > 50",
    );
    assert_eq!(rows, [[[&number.to_string(), "LCK_M_S", &me.to_string(), "0", "ok"]]]);
    let rows = sets(
        &mut holder,
        "SELECT request_session_id, request_mode, request_status, request_owner_type, \
         request_reference_count, LEFT(resource_description, 7) FROM sys.dm_tran_locks \
         WHERE resource_type = 'APPLICATION' ORDER BY request_status",
    );
    let held = [me.to_string(), "X".into(), "GRANT".into(), "SESSION".into(), "1".into()];
    let asked = [number.to_string(), "S".into(), "WAIT".into(), "SESSION".into(), "1".into()];
    let with_name = |row: [String; 5]| [row.as_slice(), &["0:[a]:(".to_owned()]].concat();
    assert_eq!(rows, [[with_name(held), with_name(asked)]]);
    let joined = sets(
        &mut holder,
        "SELECT t.session_id FROM sys.dm_os_waiting_tasks w \
         JOIN sys.dm_tran_locks l ON l.lock_owner_address = w.resource_address \
         JOIN sys.dm_os_tasks t ON t.task_address = w.waiting_task_address \
         JOIN sys.dm_os_workers k ON k.worker_address = t.worker_address \
         JOIN sys.dm_os_threads h ON h.thread_address = k.thread_address \
         WHERE t.task_state = 'SUSPENDED' AND k.last_wait_type = w.wait_type AND h.os_thread_id > 0",
    );
    assert_eq!(joined, [[[number.to_string()]]]);
    let request = sets(
        &mut holder,
        &format!(
            "SELECT status, wait_type, blocking_session_id, LEFT(wait_resource, 22) \
             FROM sys.dm_exec_requests WHERE session_id = {number}"
        ),
    );
    assert_eq!(request, [[["suspended", "LCK_M_S", &me.to_string(), "APPLICATION: 1:0:[a]:("]]]);
    let who = sets(&mut holder, &format!("EXEC sp_who '{number}' EXEC sp_who2 '{number}'"));
    assert_eq!(who[0][0][5].trim(), me.to_string());
    assert_eq!(who[1][0][4].trim(), me.to_string());
    // Both are readings of sysprocesses, as in SQL Server: the state and the command of the request.
    let columns = "SELECT status, cmd FROM sysprocesses WHERE spid";
    let process = sets(&mut holder, &format!("{columns} = {number}"));
    let (status, command) = (process[0][0][0].trim(), process[0][0][1].trim());
    assert_eq!(status, "suspended");
    assert_eq!([who[0][0][2].trim(), who[0][0][7].trim()], [status, command]);
    assert_eq!([who[1][0][1].trim(), who[1][0][6].trim()], ["SUSPENDED", command]);
    run(&mut holder, "EXEC sp_releaseapplock 'a', 'Session'");
    let (_, answer) = waiting.recv_timeout(PATIENCE).unwrap();
    assert_eq!(result(&answer), "1");
}

#[test]
fn a_session_that_ends_gives_its_locks_back() {
    let (_instance, holder, _, waiting) = holder_and_waiter("Exclusive");
    drop(holder);
    let (_, answer) = waiting.recv_timeout(PATIENCE).unwrap();
    assert_eq!(result(&answer), "1");
}

#[test]
fn a_cancelled_request_leaves_no_trace() {
    let instance = instance();
    let mut holder = login(&instance);
    run(&mut holder, &get("a", "Exclusive"));
    let waiter = login(&instance);
    let (number, cancel) = (id(&waiter), Arc::clone(waiter.cancel()));
    let waiting = spawn(&instance, waiter, &format!("{} PRINT 'never'", get("a", "Shared")));
    let sql = format!("SELECT 1 FROM sys.dm_os_waiting_tasks WHERE session_id = {number}");
    until(&mut holder, &sql);
    cancel.set();
    let (_waiter, answer) = waiting.recv_timeout(PATIENCE).unwrap();
    assert!(answer.messages.is_empty() && answer.sets.is_empty(), "{answer:?}");
    let rows = sets(&mut holder, "SELECT COUNT(*) FROM sys.dm_tran_locks");
    assert_eq!(rows, [[["1"]]]);
}

#[test]
fn kill_ends_a_wait_for_a_lock() {
    let (_instance, mut holder, number, waiting) = holder_and_waiter("Update");
    run(&mut holder, &format!("KILL {number}"));
    let (_, answer) = waiting.recv_timeout(PATIENCE).unwrap();
    assert!(answer.sets.is_empty(), "{answer:?}");
}

#[test]
fn a_deadlock_costs_the_lower_priority_a_return_value() {
    let instance = instance();
    let (mut one, mut two) = (login(&instance), login(&instance));
    run(&mut one, &format!("SET DEADLOCK_PRIORITY LOW {}", get("a", "Exclusive")));
    run(&mut two, &get("b", "Exclusive"));
    let number = id(&one);
    let waiting = spawn(&instance, one, &get("b", "Exclusive"));
    let sql = format!("SELECT 1 FROM sys.dm_os_waiting_tasks WHERE session_id = {number}");
    until(&mut two, &sql);
    // Closes the cycle; the victim keeps its earlier lock, so this request times out.
    let sql = "DECLARE @r int EXEC @r = sp_getapplock 'a', 'Exclusive', 'Session', 100 SELECT @r";
    assert_eq!(sets(&mut two, sql), [[["-1"]]]);
    let (mut one, answer) = waiting.recv_timeout(PATIENCE).unwrap();
    assert_eq!(result(&answer), "-3");
    let held = sets(&mut one, "SELECT APPLOCK_MODE('public', 'a', 'Session')");
    assert_eq!(held, [[["Exclusive"]]]);
}

#[test]
fn a_deadlock_through_a_row_and_a_lock_is_found() {
    let instance = instance();
    let (mut one, mut two) = (login(&instance), login(&instance));
    run(&mut one, "CREATE DATABASE d");
    run(&mut one, "USE d");
    run(&mut one, "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT t VALUES (1, 1)");
    run(&mut one, "BEGIN TRAN; UPDATE t SET n = 2 WHERE id = 1");
    run(&mut two, "USE d");
    run(&mut two, &format!("BEGIN TRAN {GET} 'a', 'Exclusive' SELECT @r"));
    let (number, blocker) = (id(&two), id(&one));
    run(&mut two, "SET DEADLOCK_PRIORITY LOW");
    let waiting = spawn(&instance, two, "UPDATE t SET n = 3 WHERE id = 1");
    let sql = format!(
        "SELECT w.wait_type, w.blocking_session_id, LEFT(w.resource_description, 7), \
         CASE WHEN w.resource_description LIKE CONCAT('% associatedObjectId=', p.hobt_id, \
         ' of dbo.t (id = 1)') THEN 1 ELSE 0 END, CASE WHEN r.wait_resource LIKE \
         CONCAT('KEY: ', DB_ID(), ':', p.hobt_id, ' (____________) of dbo.t (id = 1)') \
         THEN 1 ELSE 0 END FROM sys.dm_os_waiting_tasks AS w JOIN sys.dm_exec_requests AS r \
         ON r.session_id = w.session_id JOIN sys.partitions AS p \
         ON p.object_id = OBJECT_ID('t') WHERE w.session_id = {number}"
    );
    let rows = until(&mut one, &sql);
    let blocker = blocker.to_string();
    assert_eq!(rows, [["LCK_M_X", blocker.as_str(), "keylock", "1", "1"]]);
    // The victim's transaction is rolled back, and its lock is released.
    let sql = format!("{GET} 'a', 'Exclusive' SELECT @r");
    assert_eq!(sets(&mut one, &sql), [[["1"]]]);
    let (mut two, answer) = waiting.recv_timeout(PATIENCE).unwrap();
    assert_eq!(answer.errors[0].number, 1205);
    assert_eq!(sets(&mut two, "SELECT @@TRANCOUNT"), [[["0"]]]);
}

/// Each session undoes its attempt and so wakes the other one: the cycle must still be found, also
/// with more sessions waiting behind them.
#[test]
fn a_deadlock_of_keys_is_found() {
    let instance = instance_on(2, |_| {});
    let mut sessions: Vec<Session> = (0..4).map(|_| login(&instance)).collect();
    run(&mut sessions[0], "CREATE DATABASE d");
    run(&mut sessions[0], "USE d CREATE TABLE t (k int PRIMARY KEY, v int)");
    sessions.iter_mut().for_each(|session| drop(sets(session, "USE d")));
    for round in 0..30 {
        let (a, b) = (round * 2, round * 2 + 1);
        run(&mut sessions[0], &format!("BEGIN TRAN INSERT t VALUES ({a}, 0)"));
        run(&mut sessions[1], &format!("BEGIN TRAN INSERT t VALUES ({b}, 0)"));
        let take = |key: i32, own: i32| match round % 2 {
            0 => format!("INSERT t VALUES ({key}, 1)"),
            _ => format!("UPDATE t SET k = {key} WHERE k = {own}"),
        };
        let texts = [
            take(b, a),
            take(a, b),
            format!("INSERT t VALUES ({a}, 2)"),
            format!("INSERT t VALUES ({b}, 2)"),
        ];
        let waiting = sessions.drain(..).zip(&texts);
        let waiting: Vec<_> =
            waiting.map(|(session, text)| spawn(&instance, session, text)).collect();
        let mut waiting = waiting.into_iter();
        let mut ended = Vec::new();
        for _ in 0..2 {
            let (mut session, answer) = waiting.next().unwrap().recv_timeout(PATIENCE).unwrap();
            ended.push(answer.errors.first().map_or(0, |error| error.number));
            run(&mut session, "IF @@TRANCOUNT > 0 COMMIT");
            sessions.push(session);
        }
        // One is the victim; then the other key is free, or a session waiting behind has taken it.
        assert_eq!(ended.iter().filter(|number| **number == 1205).count(), 1, "{ended:?}");
        for waiting in waiting {
            sessions.push(waiting.recv_timeout(PATIENCE).unwrap().0);
        }
    }
}

#[test]
fn open_transactions_are_listed() {
    let instance = instance();
    let (mut one, mut two) = (login(&instance), login(&instance));
    let number = id(&two);
    run(&mut two, "BEGIN TRAN named");
    let sql = format!(
        "SELECT s.session_id, t.name, t.transaction_type, t.transaction_state, s.enlist_count, \
         CASE WHEN DATEDIFF(second, t.transaction_begin_time, GETDATE()) BETWEEN 0 AND 60 THEN 'ok' END \
         FROM sys.dm_tran_active_transactions t JOIN sys.dm_tran_session_transactions s \
         ON s.transaction_id = t.transaction_id WHERE s.session_id = {number}"
    );
    let row = [&number.to_string(), "named", "1", "2", "0", "ok"].map(str::to_owned);
    assert_eq!(sets(&mut one, &sql), [[row]]);
    run(&mut two, "COMMIT BEGIN TRAN");
    assert_eq!(sets(&mut one, &sql)[0][0][1], "user_transaction");
    run(&mut two, "ROLLBACK");
    assert!(sets(&mut one, &sql)[0].is_empty());
}
