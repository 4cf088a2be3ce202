//! A server with a data folder: what is there after its end, however it came, and the verb `log`.

use crate::client::{Client, error_numbers};
use crate::data_folder::Data;
use crate::server::{PATIENCE, ServerProcess, command, now, pause};
use types::Value;

fn run(client: &mut Client, text: &str) {
    assert_eq!(error_numbers(&client.batch(text)), [] as [i32; 0], "{text}");
}

fn count(client: &mut Client) -> String {
    format!("{:?}", client.value_of("(SELECT COUNT(*) FROM d.dbo.t)"))
}

const MAKE: &str = "CREATE DATABASE d; ALTER DATABASE d SET DELAYED_DURABILITY = ALLOWED";
const DELAYED: &str =
    "BEGIN TRAN; INSERT d.dbo.t VALUES (2, N'\u{e4}'); COMMIT WITH (DELAYED_DURABILITY = ON)";

#[test]
fn a_delayed_commit_that_was_flushed_survives_a_kill() {
    let data = Data::new("killed");
    let mut server = data.start();
    let mut client = Client::log_in(server.address);
    run(&mut client, MAKE);
    run(&mut client, "CREATE TABLE d.dbo.t (a int PRIMARY KEY, b nvarchar(10))");
    run(&mut client, "INSERT d.dbo.t VALUES (1, N'one')");
    run(&mut client, "USE d");
    run(&mut client, DELAYED);
    run(&mut client, "EXEC sys.sp_flush_log");
    // The server has the folder open.
    let lines = data.log();
    let row = lines.iter().find(|line| line.contains("\"value\":2}")).expect("the row is there");
    let columns = "\"columns\":{\"a\":{\"type\":\"int\",\"value\":2},\
                   \"b\":{\"type\":\"nvarchar(10)\",\"value\":\"\u{e4}\"}}";
    assert!(row.contains("\"operation\":\"insert\",\"table\":\"d.dbo.t\""), "{row}");
    assert!(row.contains(columns), "{row}");
    assert!(lines.iter().any(|line| line.contains("\"key\":\"database 5, options\"")));
    server.signal("KILL");
    server.wait();

    let server = data.start();
    server.wait_for_log("starts");
    let line = server.wait_for_log("is complete");
    assert!(line.contains(" 2 rows in "), "{line}");
    let mut client = Client::log_in(server.address);
    assert_eq!(count(&mut client), "Int(2)");
}

#[test]
fn shutdown_ends_the_server_in_an_orderly_way() {
    let data = Data::new("shutdown");
    for (round, (text, how)) in
        [("SHUTDOWN", "by request"), ("SHUTDOWN WITH NOWAIT", "by NOWAIT request")]
            .into_iter()
            .enumerate()
    {
        let mut server = data.start();
        let mut client = Client::log_in(server.address);
        if round == 0 {
            run(&mut client, MAKE);
            run(&mut client, "CREATE TABLE d.dbo.t (a int PRIMARY KEY, b nvarchar(10))");
        }
        run(&mut client, "CREATE LOGIN small WITH PASSWORD = 'Secret-Word1', CHECK_POLICY = OFF");
        let denied = client.batch("EXECUTE AS LOGIN = 'small'; SHUTDOWN");
        assert_eq!(error_numbers(&denied), [6004]);
        run(&mut client, "REVERT; DROP LOGIN small");
        run(&mut client, &format!("INSERT d.dbo.t VALUES ({round}, N'x')"));
        let tokens = format!("{:?}", client.batch(text));
        assert!(tokens.contains("SHUTDOWN is in progress."), "{tokens}");
        server.wait_for_log(&format!("Server shut down {how} from login sa."));
        assert!(server.wait().success(), "{text}");
    }
    let server = data.start();
    assert_eq!(count(&mut Client::log_in(server.address)), "Int(2)");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
fn shutdown_waits_for_requests_and_with_nowait_does_not() {
    for (text, is_waiting) in [("SHUTDOWN", true), ("SHUTDOWN WITH NOWAIT", false)] {
        let mut server = ServerProcess::start(&[]);
        let mut client = Client::log_in(server.address);
        let mut busy = Client::log_in(server.address);
        let delay = if is_waiting { "0:0:1" } else { "1:0:0" };
        let waiting = std::thread::spawn(move || {
            let text = format!("WAITFOR DELAY '{delay}'; SELECT 42");
            busy.send(&tds::client::batch(&text, busy.settings));
            busy.try_response().map(|tokens| format!("{tokens:?}"))
        });
        let running = "(SELECT COUNT(*) FROM sys.dm_exec_requests WHERE command = 'WAITFOR')";
        let end = now() + PATIENCE;
        while format!("{:?}", client.value_of(running)) != "Int(1)" {
            assert!(now() < end, "the request does not run");
            pause();
        }
        client.send(&tds::client::batch(text, client.settings));
        assert!(server.wait().success(), "{text}");
        let answer = waiting.join().expect("the thread lives");
        let has_all = answer.as_ref().is_ok_and(|answer| answer.contains("Int(42)"));
        assert_eq!(has_all, is_waiting, "{text}: {answer:?}");
    }
}

#[test]
fn the_log_of_a_folder_without_a_database_is_refused() {
    let data = Data::new("empty");
    std::fs::create_dir(data.path()).expect("it is new");
    let out = command(&["log", data.path()]).output().expect("the binary runs");
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("has no Clearway database in it"), "{said}");
}

/// The log has a transaction's changes from its commit on. One scheduler: the truncation pauses, or the other
/// session would see its end only.
#[test]
fn a_truncation_in_the_midst_of_which_the_server_is_killed_has_deleted_nothing() {
    const ROWS: i32 = 100_000;
    let data = Data::new("truncation");
    let start = || {
        let server = data.start_with(&["--schedulers", "1"]);
        server.wait_for_log("is complete");
        let client = Client::log_in(server.address);
        (server, client)
    };
    let mut server = data.start_with(&["--schedulers", "1"]);
    let mut client = Client::log_in(server.address);
    run(&mut client, MAKE);
    run(&mut client, "CREATE TABLE d.dbo.t (a int PRIMARY KEY, b nvarchar(10))");
    run(&mut client, &format!("INSERT d.dbo.t SELECT value, N'x' FROM GENERATE_SERIES(1, {ROWS})"));
    let mut other = Client::log_in(server.address);
    client.send(&tds::client::batch("TRUNCATE TABLE d.dbo.t", client.settings));
    loop {
        match other.value_of("(SELECT COUNT(*) FROM d.dbo.t WITH (NOLOCK))") {
            Value::Int(ROWS) => {}
            Value::Int(seen) => break assert!(seen > 0, "it does not pause"),
            other => panic!("a count is {other:?}"),
        }
    }
    server.signal("KILL");
    server.wait();
    let (mut server, mut client) = start();
    assert_eq!(count(&mut client), format!("Int({ROWS})"));
    run(&mut client, "TRUNCATE TABLE d.dbo.t; INSERT d.dbo.t VALUES (1, N'y')");
    server.signal("KILL");
    server.wait();
    let (_server, mut client) = start();
    assert_eq!(count(&mut client), "Int(1)");
}
