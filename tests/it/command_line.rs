//! The command line: what it says, how it ends, and how the server starts and stops.

use std::time::Duration;

use tds::DoneStatus;
use tds::client::Token;
use types::Value;

use crate::client::Client;
use crate::server::{PASSWORD, ServerProcess, command, now};

/// Runs the binary to its end; returns its exit code, stdout and stderr.
pub(crate) fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = command(arguments).output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

#[test]
fn bad_values_are_one_clear_line_and_exit_2() {
    let cases: &[(&[&str], &str)] = &[
        (&["--port", "many"], "--port"),
        (&["--port", "70000"], "--port"),
        (&["--listen", "nowhere"], "--listen"),
        (&["--max-memory", "lots"], "--max-memory"),
        (&["--max-memory", "1KB"], "--max-memory"),
        (&["--max-memory", "63MB"], "the least is 64 MB"),
        (&["--memory-model", "elastic"], "--memory-model"),
        (&["--schedulers", "0"], "--schedulers"),
        (&["--schedulers", "many"], "--schedulers"),
        (&["--ledger", "crystal ball"], "--ledger"),
        (&["--schedulers", "-1"], "--schedulers"),
        (&["--schedulers", "99999"], "--schedulers"),
        (&["--schedulers", "x"], "--schedulers"),
        (&["--lock-mode", "none"], "--lock-mode"),
        (&["--experiment", "none"], "--experiment"),
        (&["--lock-mode", ""], "--lock-mode"),
        (&["--encryption", "maybe"], "--encryption"),
        (&["--login-timeout", "soon"], "--login-timeout"),
        (&["--sa-password", ""], "--sa-password"),
        (&["--tls-cert", "only.pem"], "--tls-key"),
        (&["--no-such-option"], "--no-such-option"),
        (&["dance"], "dance"),
    ];
    for (arguments, named) in cases {
        let (code, out, err) = run(arguments);
        assert_eq!(code, 2, "{arguments:?}: {err}");
        assert_eq!(out, "", "{arguments:?}");
        assert_eq!(err.lines().count(), 1, "{arguments:?}: {err}");
        assert!(err.contains(named), "{arguments:?}: {err}");
    }
}

#[test]
fn missing_certificate_files_are_one_clear_line() {
    let (code, _, err) = run(&["--port", "0", "--tls-cert", "a.pem", "--tls-key", "b.pem"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("a.pem") && err.lines().count() == 1, "{err}");
}

#[test]
fn address_in_use_is_one_clear_line_and_exit_1() {
    let server = ServerProcess::start(&[]);
    let port = server.address.port().to_string();
    let (code, _, err) = run(&["--port", &port, "--sa-password", PASSWORD]);
    assert_eq!(code, 1);
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains(&port) && err.contains("in use"), "{err}");
}

#[test]
fn help_and_version_go_to_stdout() {
    let (code, out, _) = run(&["--help"]);
    assert!(code == 0 && out.contains("--max-memory"), "{out}");
    let (code, out, _) = run(&["--version"]);
    assert!(code == 0 && out.starts_with("clearway "), "{out}");
}

#[test]
fn banner_names_every_driver_and_says_that_data_is_in_memory() {
    let server = ServerProcess::start(&[]);
    let port = server.address.port().to_string();
    for driver in ["sqlcmd", "ODBC", "pymssql", "tedious", "Go", "JDBC", ".NET"] {
        let line = server.banner.lines().find(|line| line.trim_start().starts_with(driver));
        let line = line.unwrap_or_else(|| panic!("no line for {driver}:\n{}", server.banner));
        assert!(line.contains(&port) && line.contains(PASSWORD), "{line}");
    }
    assert!(server.banner.contains("memory only"), "{}", server.banner);
}

#[test]
fn password_comes_from_the_environment_in_order() {
    for (name, other) in
        [("CLEARWAY_SA_PASSWORD", Some("MSSQL_SA_PASSWORD")), ("MSSQL_SA_PASSWORD", None)]
    {
        let mut start = command(&["--port", "0"]);
        start.env(name, PASSWORD);
        if let Some(other) = other {
            start.env(other, "Another-Word1");
        }
        let server = ServerProcess::start_command(start);
        Client::log_in(server.address);
    }
}

#[test]
fn without_a_password_a_random_one_is_made_and_printed() {
    let password = || {
        let server = ServerProcess::start_command(command(&["--port", "0"]));
        let line = server.banner.lines().find(|line| line.contains("JDBC")).expect("a line");
        let start = line.find("password=").expect("a password") + "password=".len();
        line[start..].split(';').next().expect("a password").to_owned()
    };
    let (first, second) = (password(), password());
    assert!(first.len() >= 20, "{first}");
    assert_ne!(first, second);
}

#[test]
fn server_is_ready_soon_and_small() {
    let started = now();
    let server = ServerProcess::start(&[]);
    // The goal is 50 ms on an idle machine; tests share theirs.
    assert!(now() - started < Duration::from_secs(5), "{:?}", now() - started);
    // The goal is 30 MB; code that is not optimised takes half as much again.
    let most_kb = if cfg!(debug_assertions) { 48 * 1024 } else { 30 * 1024 };
    assert!(server.resident_kb() < most_kb, "{} KB", server.resident_kb());
}

#[test]
fn stop_signals_end_it_with_exit_0() {
    for signal in ["TERM", "INT"] {
        let mut server = ServerProcess::start(&[]);
        let mut client = Client::log_in(server.address);
        assert_eq!(client.value_of("1"), Value::Int(1));
        server.signal(signal);
        assert_eq!(server.wait().code(), Some(0), "{signal}");
        assert_eq!(client.drain(), 0, "{signal}");
    }
}

#[test]
fn stop_finishes_the_request_in_progress() {
    let mut server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    // Works for a second; one that waits in WAITFOR would be cut off.
    let text = "DECLARE @end datetime2 = DATEADD(second, 1, SYSDATETIME()) \
        WHILE SYSDATETIME() < @end SET @end = @end";
    client.send(&tds::client::batch(text, client.settings));
    std::thread::scope(|scope| {
        let answer = scope.spawn(move || client.response());
        for _ in 0..20 {
            crate::server::pause();
        }
        server.signal("TERM");
        let tokens = answer.join().expect("an answer");
        let done =
            matches!(tokens.last(), Some(Token::Done(done)) if done.status == DoneStatus::FINAL);
        assert!(done, "{tokens:?}");
    });
    assert_eq!(server.wait().code(), Some(0));
}
