//! Tests of answers that leave together at the end of a round.

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use sos::sys::{SENDS_MAX, SendRing, SysCause, forbid_calls};

use crate::machine::{BUSY, CANCEL, Client, LAST, PARK, Server};

/// Makes the scheduler busy until all of `requests` have arrived, so that they run in one round.
fn at_once(server: &Server, requests: &[(&Client, &[u8])]) {
    let busy = server.client();
    // The connection is there once it has an answer.
    assert_eq!(busy.ask(b"there"), b"there");
    busy.send(&[BUSY]);
    for (client, request) in requests {
        client.send(request);
    }
    assert_eq!(busy.receive(), b"was busy");
}

fn sends(server: &Server) -> u64 {
    let calls = server.machine.accounts().sys_calls();
    calls.iter().find(|(cause, _)| *cause == SysCause::Send).map_or(0, |(_, count)| *count)
}

#[test]
fn answers_of_a_round_leave_in_few_calls() {
    let server = Server::start(1);
    let clients: Vec<Client> = (0..2 * SENDS_MAX).map(|_| server.client()).collect();
    for client in &clients {
        assert_eq!(client.ask(b"ready"), b"ready");
    }
    let before = sends(&server);
    let requests: Vec<(&Client, &[u8])> =
        clients.iter().map(|client| (client, b"together".as_slice())).collect();
    at_once(&server, &requests);
    for client in &clients {
        assert_eq!(client.receive(), b"together");
    }
    let count = sends(&server) - before;
    let answers = u64::try_from(clients.len()).expect("a small number") + 2;
    if SendRing::new().is_ok() {
        assert!(count < answers / 2, "{count} calls for {answers} answers");
    } else {
        assert_eq!(count, answers);
    }
    server.stop();
}

#[test]
fn answer_leaves_before_the_next_task_waits() {
    let server = Server::start(1);
    let (first, waiting) = (server.client(), server.client());
    assert_eq!((first.ask(b"a"), waiting.ask(b"b")), (b"a".to_vec(), b"b".to_vec()));
    at_once(&server, &[(&first, b"short"), (&waiting, &[PARK])]);
    assert_eq!(first.receive(), b"short");
    waiting.send(&[CANCEL]);
    assert_eq!(waiting.receive(), b"Cancelled");
    server.stop();
}

#[test]
fn last_answer_of_a_connection_arrives() {
    let server = Server::start(1);
    let clients: Vec<Client> = (0..8).map(|_| server.client()).collect();
    for client in &clients {
        assert_eq!(client.ask(b"ready"), b"ready");
    }
    let requests: Vec<(&Client, &[u8])> =
        clients.iter().map(|client| (client, [LAST].as_slice())).collect();
    at_once(&server, &requests);
    for client in &clients {
        assert_eq!(client.receive(), [LAST]);
        assert_eq!(client.receive(), b"");
    }
    // Whose descriptors these are now does not matter to the answers before.
    let next = server.client();
    assert_eq!(next.ask(b"next"), b"next");
    server.stop();
}

/// Runs a test on a thread without `io_uring_enter`, as a container that allows only the setup. A
/// filter cannot be removed, so the thread ends with the test.
fn without_enter(test: impl FnOnce() + Send + 'static) {
    let confined = move || {
        forbid_calls(&["io_uring_enter"]).expect("the kernel takes the filter");
        test();
    };
    #[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
    let thread = std::thread::spawn(confined);
    thread.join().expect("the test succeeds");
}

#[test]
fn ring_whose_call_fails_is_given_up() {
    without_enter(|| {
        let Ok(mut ring) = SendRing::new() else { return };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("its address"));
        let client = client.expect("it listens");
        let mut bytes = b"firstsecond".to_vec();
        let sends = [(client.as_raw_fd(), 0..5), (client.as_raw_fd(), 5..11)];
        for _ in 0..2 {
            assert_eq!(ring.send(&sends, &mut bytes), [0; SENDS_MAX], "the kernel took nothing");
            assert!(ring.has_failed());
            assert_eq!(bytes, b"firstsecond");
        }
    });
}

#[test]
fn answers_leave_alone_after_the_call_has_failed() {
    without_enter(|| {
        let server = Server::start(1);
        let clients: Vec<Client> = (0..SENDS_MAX).map(|_| server.client()).collect();
        for client in &clients {
            assert_eq!(client.ask(b"ready"), b"ready");
        }
        for round in [b"first", b"again"] {
            let requests: Vec<(&Client, &[u8])> =
                clients.iter().map(|client| (client, round.as_slice())).collect();
            at_once(&server, &requests);
            for client in &clients {
                assert_eq!(client.receive(), round);
            }
        }
        server.stop();
    });
}
