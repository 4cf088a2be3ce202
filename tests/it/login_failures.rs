//! Failed logins: how long the answers wait, and that nothing else does.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tds::login7::{Feature, feature};
use tds::{Encryption, Login7};
use types::Value;

use crate::client::{Client, assert_logged_in, error_numbers, errors, login_of_sa};
use crate::server::{ServerProcess, now};

/// Logs in once; returns how long the answer took, and the errors.
fn attempt(address: SocketAddr, password: &str) -> (Duration, Vec<i32>) {
    let mut client = Client::connect(address);
    client.prelogin(Encryption::Off);
    let started = now();
    let tokens = client.login(&Login7 { password: password.to_owned(), ..login_of_sa() });
    let took = started.elapsed();
    if password == login_of_sa().password {
        assert_logged_in(&tokens);
    }
    (took, error_numbers(&tokens))
}

fn count(client: &mut Client, expression: &str) -> i32 {
    match client.value_of(expression) {
        Value::Int(count) => count,
        other => panic!("{expression}: {other:?}"),
    }
}

/// The first two failures cost nothing, each further one doubles the wait, and the right password waits as long: its time
/// reveals nothing. The one scheduler serves other sessions during the wait, since no worker waits.
#[test]
fn answers_wait_after_failures_and_the_scheduler_does_not() {
    let server = ServerProcess::start(&["--schedulers", "1"]);
    let mut other = Client::log_in(server.address);
    for least_ms in [0, 0, 100, 200, 400] {
        let (took, errors) = attempt(server.address, "wrong");
        assert_eq!(errors, [18456]);
        assert!(took >= Duration::from_millis(least_ms), "{took:?}, at least {least_ms} ms");
    }
    let address = server.address;
    let served = std::thread::scope(|scope| {
        let right = scope.spawn(|| attempt(address, &login_of_sa().password));
        let mut served = 0;
        while !right.is_finished() {
            count(&mut other, "1");
            served += 1;
        }
        let (took, errors) = right.join().expect("logs in");
        assert!(took >= Duration::from_millis(400) && errors.is_empty(), "{took:?}, {errors:?}");
        served
    });
    assert!(served > 10, "{served} requests were served while an answer waited");
    let of_sa = "FROM sys.dm_server_login_failures WHERE kind = 'LOGIN' AND name = 'sa'";
    for (expression, wanted) in [
        (format!("(SELECT CAST(failure_count AS int) {of_sa})"), 5),
        (format!("(SELECT last_state {of_sa})"), 8),
        (
            "(SELECT COUNT(*) FROM sys.dm_server_login_failures WHERE kind = 'ADDRESS')".to_owned(),
            1,
        ),
        (
            "(SELECT CAST(waiting_tasks_count AS int) FROM sys.dm_os_wait_stats \
             WHERE wait_type = 'LOGIN_DELAY')"
                .to_owned(),
            4,
        ),
        (
            "(SELECT CAST(cntr_value AS int) FROM sys.dm_os_performance_counters \
             WHERE counter_name = 'Failed Logins/sec')"
                .to_owned(),
            5,
        ),
    ] {
        assert_eq!(count(&mut other, &expression), wanted, "{expression}");
    }
}

/// Requests that use up quantum after quantum keep no answer, nor any other timer, from its time.
#[test]
fn a_busy_scheduler_answers_when_the_time_has_come() {
    const LATE_AT_MOST: Duration = Duration::from_secs(2);
    let server = ServerProcess::start(&["--schedulers", "1"]);
    let address = server.address;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut busy = Client::log_in(address);
                while !is_over.load(Ordering::Relaxed) {
                    busy.batch("DECLARE @i int = 0; WHILE @i < 100000 SET @i += 1");
                }
            });
        }
        for least_ms in [0, 0, 100, 200] {
            let (took, errors) = attempt(address, "wrong");
            assert_eq!(errors, [18456]);
            let least = Duration::from_millis(least_ms);
            assert!(took >= least && took < least + LATE_AT_MOST, "{took:?} and not {least:?}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Logins of Windows and of Entra get one sentence that names the way out, and a SQL login works
/// on the same server.
#[test]
fn windows_and_entra_logins_are_refused_with_the_way_out() {
    let server = ServerProcess::start(&["--schedulers", "1"]);
    let sspi = vec![0x60, 0x28, 0x06, 0x06];
    let windows = Login7 { sspi, user: String::new(), password: String::new(), ..login_of_sa() };
    let token = Feature { id: feature::FEDERATED_AUTH, data: vec![0x02, 0, 0, 0, 0, 0] };
    let entra = Login7 { features: vec![token], ..login_of_sa() };
    for (login, number, instead_of) in
        [(windows, 18_452, "Trusted_Connection=yes"), (entra, 18_456, "an access token")]
    {
        let mut client = Client::connect(server.address);
        client.prelogin(Encryption::Off);
        let tokens = client.login(&login);
        let errors = errors(&tokens);
        let [error] = errors.as_slice() else { panic!("{errors:?}") };
        assert_eq!((error.number, error.severity), (number, 14));
        let text = &error.message;
        assert!(text.contains("connect with a SQL login (User ID and Password)"), "{text}");
        assert!(text.contains(instead_of), "{text}");
    }
    let mut client = Client::log_in(server.address);
    assert_eq!(count(&mut client, "1"), 1);
}
