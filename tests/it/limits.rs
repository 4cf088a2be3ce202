//! Named limits: slow clients, big messages, too many connections.

use std::io::Write;

use tds::client;
use tds::{Encryption, Prelogin};
use types::Value;

use crate::client::{Client, scalar, tcp};
use crate::server::{ServerProcess, pause};

#[test]
fn silent_client_is_closed_after_the_login_timeout() {
    let server = ServerProcess::start(&["--login-timeout", "300ms"]);
    let mut client = Client::connect(server.address);
    assert_eq!(client.drain(), 0);
    server.wait_for_log("login timeout");
}

#[test]
fn half_a_login_is_closed_after_the_login_timeout() {
    let server = ServerProcess::start(&["--login-timeout", "300ms"]);
    let mut client = Client::connect(server.address);
    client.prelogin(Encryption::Off);
    client.send(&[0x10, 1, 1, 0]);
    client.drain();
    server.wait_for_log("login timeout");
}

#[test]
fn client_that_drips_is_closed_after_the_login_timeout() {
    let server = ServerProcess::start(&["--login-timeout", "400ms"]);
    let mut stream = tcp(server.address);
    let bytes = client::prelogin(&Prelogin::default());
    let mut closed = false;
    for byte in bytes.iter().cycle().take(400) {
        closed |= stream.write_all(&[*byte]).is_err();
        pause();
        if closed {
            break;
        }
    }
    assert!(closed, "a drip of bytes keeps no connection open");
}

#[test]
fn half_a_request_is_closed_after_the_packet_timeout() {
    let server = ServerProcess::start(&["--packet-timeout", "300ms"]);
    let mut client = Client::log_in(server.address);
    let bytes = client::batch("SELECT 1", client.settings);
    client.send(&bytes[..bytes.len() / 2]);
    client.drain();
    server.wait_for_log("packet timeout");
}

#[test]
fn idle_connection_stays() {
    let server = ServerProcess::start(&["--packet-timeout", "100ms", "--login-timeout", "100ms"]);
    let mut client = Client::log_in(server.address);
    for _ in 0..100 {
        pause();
    }
    assert_eq!(scalar(&client.batch("SELECT 1")), Value::Int(1));
}

#[test]
fn request_in_many_small_pieces_is_put_together() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    for chunk in client::batch("SELECT 1", client.settings).chunks(3) {
        client.send(chunk);
        pause();
    }
    assert_eq!(scalar(&client.response()), Value::Int(1));
}

#[test]
fn batch_of_many_megabytes_is_run() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let text = format!("SELECT 1 /* {} */", "x".repeat(4 << 20));
    assert_eq!(scalar(&client.batch(&text)), Value::Int(1));
    drop(client);
    server.wait_until("its memory is used again", |s| s.resident_kb() < 80 * 1024);
}

#[test]
fn one_connection_too_many_is_closed() {
    let server = ServerProcess::start(&["--max-connections", "2"]);
    let first = Client::log_in(server.address);
    let _second = Client::log_in(server.address);
    let mut third = Client::connect(server.address);
    assert_eq!(third.drain(), 0);
    drop(first);
    server.wait_for_log("Too many connections");
    for _ in 0..200 {
        pause();
        let mut again = Client::connect(server.address);
        again.send(&client::prelogin(&Prelogin::default()));
        if again.drain_some() > 0 {
            return;
        }
    }
    panic!("a place that was given back is never free");
}

#[test]
fn client_that_takes_no_answer_is_closed_after_the_send_timeout() {
    let server = ServerProcess::start(&["--send-timeout", "500ms"]);
    let mut client = Client::log_in(server.address);
    let text = "SELECT REPLICATE(CONVERT(varchar(max), 'x'), 64000000)";
    client.send(&client::batch(text, client.settings));
    server.wait_for_log("send timeout");
}

#[test]
fn many_idle_connections_are_cheap() {
    let server = ServerProcess::start(&[]);
    drop(Client::log_in(server.address));
    pause();
    let before_kb = server.resident_kb();
    let clients: Vec<_> = (0..500).map(|_| Client::log_in(server.address)).collect();
    let each_kb = (server.resident_kb() - before_kb) / 500;
    assert!(each_kb <= 24, "{each_kb} KB per idle connection");
    drop(clients);
}
