//! A machine with one CPU: the server starts there and works, with one scheduler and with several.

use std::process::Command;
use std::thread::scope;

use types::Value;

use crate::client::{Client, error_numbers};
use crate::server::{PASSWORD, ServerProcess, command};

const CLIENTS: usize = 6;
const ROUNDS: usize = 30;

/// Starts a server that may use one CPU only: the first that this process may use.
fn start(schedulers: &str) -> ServerProcess {
    let allowed = sos::sys::allowed_cpus();
    let cpu = allowed.first().expect("a process has a CPU").to_string();
    let plain =
        command(&["serve", "--port", "0", "--sa-password", PASSWORD, "--schedulers", schedulers]);
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", &cpu]).arg(plain.get_program()).args(plain.get_args());
    pinned.stdin(std::process::Stdio::null());
    pinned.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    ServerProcess::start_command(pinned)
}

fn ok(client: &mut Client, sql: &str) {
    let tokens = client.batch(sql);
    assert!(error_numbers(&tokens).is_empty(), "{sql}: {:?}", error_numbers(&tokens));
}

/// Everybody waits for everybody: rows, application locks and time.
fn work(server: &ServerProcess) {
    let mut client = Client::log_in(server.address);
    ok(&mut client, "CREATE DATABASE d");
    ok(&mut client, "USE d");
    ok(&mut client, "CREATE TABLE t (id int NOT NULL PRIMARY KEY, n int NOT NULL)");
    ok(&mut client, "INSERT t VALUES (1, 0), (2, 0)");
    let address = server.address;
    scope(|threads| {
        for _ in 0..CLIENTS {
            threads.spawn(move || {
                let mut client = Client::log_in(address);
                ok(&mut client, "USE d");
                for _ in 0..ROUNDS {
                    ok(&mut client, "UPDATE t SET n = n + 1 WHERE id = 1");
                    ok(
                        &mut client,
                        "BEGIN TRAN DECLARE @r int EXEC @r = sp_getapplock 'one', 'Exclusive' \
                         IF @r < 0 THROW 50001, 'no lock', 1 \
                         UPDATE t SET n = n + 1 WHERE id = 2 WAITFOR DELAY '00:00:00.001' COMMIT",
                    );
                }
            });
        }
    });
    let total = i32::try_from(CLIENTS * ROUNDS).expect("is small");
    for id in [1, 2] {
        let n = client.value_of(&format!("(SELECT n FROM d.dbo.t WHERE id = {id})"));
        assert_eq!(n, Value::Int(total), "row {id}");
    }
}

/// What the server has used of a CPU, in ms.
fn cpu_ms(client: &mut Client) -> i32 {
    let sql = "(SELECT CAST(process_kernel_time_ms + process_user_time_ms AS int) FROM sys.dm_os_sys_info)";
    match client.value_of(sql) {
        Value::Int(ms) => ms,
        other => panic!("no number of ms: {other:?}"),
    }
}

#[test]
fn one_cpu_is_enough_for_one_scheduler_and_for_four() {
    for schedulers in ["1", "4"] {
        let server = start(schedulers);
        work(&server);
        let mut client = Client::log_in(server.address);
        let before = cpu_ms(&mut client);
        ok(&mut client, "WAITFOR DELAY '00:00:01'");
        let spent = cpu_ms(&mut client) - before;
        // No thread spins: a second of idleness costs next to nothing.
        assert!(spent < 150, "{schedulers} schedulers: {spent} ms of CPU in an idle second");
    }
}
