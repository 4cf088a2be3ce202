//! `clearway diagnose` and `sys.sp_diagnose` against a server: a verdict on a blocked session, the
//! files that it writes, the intervention, and what it says where it cannot look.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Output, Stdio};
use std::time::Duration;

use crate::client::{Client, error_numbers, errors};
use crate::server::{PASSWORD, ServerProcess, command, pause};

fn name(address: SocketAddr) -> String {
    format!("{},{}", address.ip(), address.port())
}

fn run(client: &mut Client, text: &str) {
    let tokens = client.batch(text);
    assert!(errors(&tokens).is_empty(), "{text}: {tokens:?}");
}

/// Runs the verb for a second; returns its exit code and what it printed.
fn diagnose(address: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut all = vec!["diagnose", "-S", address, "--seconds", "1"];
    all.extend_from_slice(arguments);
    text_of(&command(&all).output().expect("the binary runs"))
}

fn text_of(output: &Output) -> (Option<i32>, String) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text + &String::from_utf8_lossy(&output.stderr))
}

/// A session with an open transaction, and one that waits for it.
fn block(server: &ServerProcess) -> (Client, Client) {
    let mut holder = Client::log_in(server.address);
    run(
        &mut holder,
        "CREATE TABLE dbo.stock (id int PRIMARY KEY, n int); INSERT dbo.stock VALUES (1, 1)",
    );
    run(&mut holder, "BEGIN TRAN; UPDATE dbo.stock SET n = 2 WHERE id = 1");
    let mut waiter = Client::log_in(server.address);
    let update = "UPDATE dbo.stock SET n = 3 WHERE id = 1";
    waiter.send(&tds::client::batch(update, waiter.settings));
    let mut watcher = Client::log_in(server.address);
    let waiting = "IF NOT EXISTS (SELECT * FROM sys.dm_exec_requests WHERE wait_type = 'LCK_M_X') \
        RAISERROR('not yet', 16, 1)";
    while !errors(&watcher.batch(waiting)).is_empty() {
        pause();
    }
    (holder, waiter)
}

#[test]
fn session_behind_an_idle_transaction_is_named_by_verb_and_procedure() {
    let server = ServerProcess::start(&[]);
    let (_holder, _waiter) = block(&server);
    let folder = std::env::temp_dir().join(format!("clearway-diagnose-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str| folder.join(name).display().to_string();
    let (json, html) = (file("report.json"), file("report.html"));
    let arguments = ["-P", PASSWORD, "--json", &json, "--html", &html];
    let (code, text) = diagnose(&name(server.address), &arguments);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("A session that does nothing holds an open transaction"), "{text}");
    let json = std::fs::read_to_string(json).expect("it was written");
    assert!(json.contains("\"cause\":\"idle-blocker\""), "{json}");
    let html = std::fs::read_to_string(html).expect("it was written");
    assert!(html.contains("What to do"), "{html}");
    std::fs::remove_dir_all(folder).expect("it is there");

    let mut client = Client::log_in(server.address);
    let tokens = client.batch("EXEC sys.sp_diagnose @seconds = 1");
    assert!(errors(&tokens).is_empty(), "{tokens:?}");
    let first = tokens.iter().find_map(|token| match token {
        tds::client::Token::Row(values) => values.first().cloned(),
        _ => None,
    });
    assert_eq!(first, Some(types::Value::nvarchar("idle-blocker")));
}

#[test]
fn injected_delay_needs_a_right_and_ends_by_itself() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    run(&mut client, "CREATE LOGIN watcher WITH PASSWORD = N'Secret-Word1'");
    run(&mut client, "GRANT VIEW SERVER STATE TO watcher");
    run(&mut client, "EXEC sys.sp_inject_delay 'request', NULL, 100000, 1");
    let ms = |client: &mut Client| {
        let began = crate::server::now();
        run(client, "DECLARE @x int = 1");
        crate::server::now().duration_since(began)
    };
    assert!(ms(&mut client) >= Duration::from_millis(100));
    let end = crate::server::now() + Duration::from_millis(1_100);
    while crate::server::now() < end {
        pause();
    }
    // A request that is no longer delayed: one of many, since the machine may be busy.
    assert!((0..50).any(|_| ms(&mut client) < Duration::from_millis(100)));
    let wrong = client.batch("EXEC sys.sp_inject_delay 'nowhere', NULL, 1, 1");
    assert_eq!(error_numbers(&wrong), [15_600]);
    let mut watcher = Client::connect(server.address);
    watcher.prelogin(tds::prelogin::Encryption::NotSupported);
    let login = tds::Login7 {
        user: "watcher".to_owned(),
        password: "Secret-Word1".to_owned(),
        ..crate::client::login_of_sa()
    };
    crate::client::assert_logged_in(&watcher.login(&login));
    let denied = watcher.batch("EXEC sys.sp_inject_delay 'request', NULL, 1, 1");
    assert!(error_numbers(&denied).contains(&300), "{denied:?}");
}

#[test]
fn reasons_for_no_look_are_one_sentence() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    run(&mut client, "CREATE LOGIN plain WITH PASSWORD = N'Secret-Word1'");
    let at = name(server.address);
    let nothing = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let closed = name(nothing.local_addr().expect("it is bound"));
    drop(nothing);
    for (server, arguments, expected) in [
        (&at, ["-U", "sa", "-P", "wrong"], "refused the login 'sa'"),
        (&at, ["-U", "plain", "-P", "Secret-Word1"], "lacks the permission VIEW SERVER STATE"),
        (&closed, ["-U", "sa", "-P", PASSWORD], "cannot be reached"),
    ] {
        let (code, text) = diagnose(server, &arguments);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    let (code, text) = diagnose(&at, &["-P", PASSWORD, "--seconds", "0"]);
    assert_eq!(code, Some(2), "{text}");
    let (code, text) = diagnose(&at, &["-P", PASSWORD]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("Nothing to diagnose"), "{text}");
}

#[test]
fn file_that_cannot_be_written_is_named_before_the_look() {
    let nothing = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let closed = name(nothing.local_addr().expect("it is bound"));
    drop(nothing);
    let folder = std::env::temp_dir().join(format!("clearway-reports-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str| folder.join(name).display().to_string();
    // No server is asked: there is none.
    let (json, html) = (file("report.json"), file("missing/report.html"));
    let (code, text) = diagnose(&closed, &["-P", PASSWORD, "--json", &json, "--html", &html]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("report.html") && !text.contains("reached"), "{text}");
    // A file that was made for a report that does not come is not left behind, and what an older
    // one has is kept.
    let kept = file("kept.html");
    std::fs::write(&kept, "of yesterday").expect("the folder is there");
    let (_, text) = diagnose(&closed, &["-P", PASSWORD, "--json", &json, "--html", &kept]);
    assert!(text.contains("cannot be reached"), "{text}");
    assert!(!std::path::Path::new(&json).exists());
    assert_eq!(std::fs::read_to_string(&kept).expect("it is kept"), "of yesterday");
    std::fs::remove_dir_all(folder).expect("it is there");
}

#[test]
fn peer_that_is_no_tds_server_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = name(listener.local_addr().expect("it is bound"));
    let arguments = ["diagnose", "-S", &at, "-P", PASSWORD, "--seconds", "1"];
    let child = command(&arguments).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let (mut peer, _) = listener.accept().expect("it connects");
    let mut hello = [0; 64];
    assert!(peer.read(&mut hello).expect("it sends PRELOGIN") > 0);
    peer.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").expect("it reads");
    drop(peer);
    let (code, text) = text_of(&child.wait_with_output().expect("it ends"));
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("does not speak TDS") || text.contains("cannot be reached"), "{text}");
}

#[test]
fn server_that_goes_away_is_said_in_a_sentence() {
    let server = ServerProcess::start(&[]);
    let at = name(server.address);
    let arguments = ["diagnose", "-S", &at, "-P", PASSWORD, "--seconds", "60"];
    let child = command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut client = Client::log_in(server.address);
    let here = "IF NOT EXISTS (SELECT * FROM sys.dm_exec_sessions WHERE program_name = \
        'clearway diagnose' AND logical_reads >= 0) RAISERROR('not yet', 16, 1)";
    while !errors(&client.batch(here)).is_empty() {
        pause();
    }
    drop(server);
    let (code, text) = text_of(&child.wait_with_output().expect("it ends"));
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("went away") || text.contains("cannot be reached"), "{text}");
}
