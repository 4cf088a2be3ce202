//! All workers wait: logins and the dedicated admin connection are answered, `diagnose` names it, and a
//! stop does not wait for WAITFOR.

use std::net::SocketAddr;

use tds::client::batch;

use crate::client::{Client, assert_logged_in, error_numbers, errors, login_of_sa, rows};
use crate::server::{PASSWORD, ServerProcess, command};

/// As many as a server with few CPUs may have.
const WORKERS: usize = 512;

/// Returns the address of the dedicated admin connection, from the server's log.
fn admin_address(client: &mut Client) -> SocketAddr {
    let text = "SELECT CAST(REPLACE(SUBSTRING(text, CHARINDEX('on port ', text) + 8, 9), '.', '') AS int) \
        FROM sys.dm_os_error_log WHERE text LIKE 'Dedicated admin%'";
    let found = rows(&client.batch(text));
    let types::Value::Int(port) = found[0][0] else { panic!("no such line: {found:?}") };
    SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).expect("a port")))
}

#[test]
fn server_all_of_whose_workers_wait_answers_logins_and_the_administrator() {
    let mut server = ServerProcess::start(&[
        "--schedulers",
        "1",
        "--admin-port",
        "0",
        "--shutdown-timeout",
        "60m",
    ]);
    let mut first = Client::log_in(server.address);
    assert!(errors(&first.batch("CREATE LOGIN plain WITH PASSWORD = N'Secret-Word1'")).is_empty());
    let admin = admin_address(&mut first);
    // Refused before the one connection is taken, and while it is.
    let mut plain = Client::connect(admin);
    plain.prelogin(tds::prelogin::Encryption::NotSupported);
    let login = tds::Login7 { user: "plain".to_owned(), ..login_of_sa() };
    assert_eq!(error_numbers(&plain.login(&login)), [18_456]);
    let mut administrator = Client::log_in(admin);
    let mut second = Client::connect(admin);
    second.prelogin(tds::prelogin::Encryption::NotSupported);
    assert_eq!(error_numbers(&second.login(&login_of_sa())), [17_810]);

    let waiting: Vec<Client> = (0..WORKERS + 8)
        .map(|_| {
            let mut client = Client::log_in(server.address);
            client.send(&batch("WAITFOR DELAY '20:00:00'", client.settings));
            client
        })
        .collect();
    let queued = "SELECT COUNT(*) FROM sys.dm_os_waiting_tasks WHERE wait_type = 'THREADPOOL'";
    server.wait_until("requests wait for a worker", |_| {
        rows(&administrator.batch(queued))[0][0] != types::Value::Int(0)
    });
    let endpoint = "SELECT endpoint_id FROM sys.dm_exec_sessions WHERE session_id = @@SPID";
    assert_eq!(rows(&administrator.batch(endpoint)), [[types::Value::Int(1)]]);
    // A login is answered; what it asks then waits like the others.
    let mut late = Client::connect(server.address);
    late.prelogin(tds::prelogin::Encryption::NotSupported);
    assert_logged_in(&late.login(&login_of_sa()));
    drop(administrator);

    let at = format!("admin:{},{}", admin.ip(), admin.port());
    let arguments = ["diagnose", "-S", &at, "-P", PASSWORD, "--seconds", "1"];
    let output = command(&arguments).output().expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("All worker threads"), "{text}{output:?}");
    assert!(text.contains("are in WAITFOR"), "{text}");

    // Requests may take an hour to finish, but WAITFOR is no work.
    server.signal("TERM");
    assert!(server.wait().success());
    drop(waiting);
}
