//! What diagnose says of peers that are no server it can look at: a sentence, and in time.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use diagnose::Settings;
use load::Login;
use load::link::{Encrypt, Target};
use sos::clock;

/// The limit of a login and of an answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// On a busy machine, too, a run that does not hang is over by then.
const HANGS: Duration = Duration::from_secs(30);

/// Diagnoses a peer that does `act` with the connection once it has sent its first packet.
fn said_of(act: impl FnOnce(&mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let peer = spawn(move || {
        let (mut stream, _) = listener.accept().expect("it connects");
        // Its header has the length in bytes 2 and 3.
        let mut head = [0; 8];
        stream.read_exact(&mut head).expect("it sends PRELOGIN");
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let mut rest = vec![0; length - head.len()];
        stream.read_exact(&mut rest).expect("all of it");
        act(&mut stream);
    });
    let began_ns = clock::monotonic_ns();
    let said = run(address);
    assert!(Duration::from_nanos(clock::monotonic_ns() - began_ns) < HANGS);
    peer.join().expect("the peer has done its part");
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[expect(clippy::disallowed_methods, reason = "the peer is no thread of a server")]
fn spawn(body: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    std::thread::spawn(body)
}

fn run(address: SocketAddr) -> String {
    let settings = Settings {
        server: "there".to_owned(),
        target: Target {
            address: address.into(),
            login: Login {
                user: "sa".to_owned(),
                password: "Secret-Word1".to_owned(),
                database: String::new(),
            },
            encrypt: Encrypt::Off,
        },
        patience: PATIENCE,
        length: Duration::from_secs(1),
        confirm: false,
    };
    let said = diagnose::run(&settings, |time| {
        load::pause(time);
        true
    });
    said.expect_err("this is no server")
}

#[test]
fn peer_that_answers_nothing_is_left_after_the_time_limit() {
    let said = said_of(|stream| {
        // Until it hangs up.
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("it closes in order");
    });
    assert_eq!(said, "there cannot be reached: the server takes too long");
}

#[test]
fn peer_that_closes_at_once_may_speak_something_else() {
    let said = said_of(|stream| stream.shutdown(std::net::Shutdown::Write).expect("it is open"));
    assert!(said.starts_with("there does not speak TDS, or takes no more"), "{said}");
}

#[test]
fn peer_that_speaks_another_protocol_is_told_so() {
    let said = said_of(|stream| {
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            .expect("it reads");
    });
    assert!(said.starts_with("there does not speak TDS"), "{said}");
}

#[test]
fn port_without_a_listener_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let said = run(address);
    assert!(said.starts_with("there cannot be reached: "), "{said}");
}
