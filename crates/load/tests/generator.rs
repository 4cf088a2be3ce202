//! Tests the generator against the echo server, whose answers are known.

use std::net::SocketAddr;
use std::time::Duration;

use load::echo::EchoServer;
use load::{Generator, Outcome, Result, Script};
use sos::ledger::Accounts;
use sos::sync::Arc;

const REQUEST_BYTES: usize = 40;
const WINDOW: Duration = Duration::from_millis(50);

/// Puts tokens into one packet.
fn packet(tokens: &[u8]) -> Vec<u8> {
    let length = u16::try_from(tokens.len() + 8).expect("a short answer").to_be_bytes();
    let mut packet = vec![4, 1, length[0], length[1], 0, 0, 1, 0];
    packet.extend_from_slice(tokens);
    packet
}

/// A DONE with these status bits.
fn done(status: u8) -> Vec<u8> {
    let mut token = vec![0xFD, status, 0, 0, 0];
    token.extend_from_slice(&[0; 8]);
    token
}

/// An ERROR of severity 16 without a text.
fn error(number: i32) -> Vec<u8> {
    let mut content = number.to_le_bytes().to_vec();
    content.extend_from_slice(&[1, 16, 0, 0, 0, 0]);
    content.extend_from_slice(&1_u32.to_le_bytes());
    let length = u16::try_from(content.len()).expect("a short error").to_le_bytes();
    [&[0xAA, length[0], length[1]][..], &content].concat()
}

/// Starts a server that gives this answer to every request, for the life of the test process.
fn serve(answer: Vec<u8>) -> SocketAddr {
    let server = EchoServer::bind(REQUEST_BYTES, answer).expect("a free port");
    let address = server.address();
    let accounts = Arc::<Accounts>::default();
    let run = move || server.run().expect("it serves for ever");
    drop(sos::thread::spawn(&accounts, "echo", run).expect("a thread"));
    address
}

fn load(address: SocketAddr, connections: usize, answer_bytes: u64) -> Result<Outcome> {
    let script = Script::of_one(vec![7; REQUEST_BYTES]).with_answer_bytes(answer_bytes);
    Generator::open(address, connections)?.run(&script, WINDOW)
}

#[test]
fn every_request_is_answered_and_timed() {
    let outcome = load(serve(packet(&done(0))), 8, 21).expect("a run");
    assert!(outcome.requests() >= 8, "{} requests", outcome.requests());
    assert_eq!((outcome.troubles(), outcome.first_trouble), (0, None));
    assert!(outcome.wall_ns >= 50_000_000 && outcome.own_cpu_ns > 0);
    assert!(outcome.latencies.min() >= 1_000, "no answer within a microsecond");
}

#[test]
fn errors_are_counted_by_number() {
    let tokens = [error(1205), done(2)].concat();
    let outcome = load(serve(packet(&tokens)), 4, 38).expect("a run");
    assert_eq!(outcome.errors.get(&1205), Some(&outcome.requests()));
    assert_eq!((outcome.errors.len(), outcome.wrong_answers), (1, 0));
}

#[test]
fn an_error_behind_a_final_success_is_found_by_its_length() {
    let tokens = [error(208), done(0)].concat();
    let outcome = load(serve(packet(&tokens)), 1, 21).expect("a run");
    assert_eq!(outcome.errors.get(&208), Some(&outcome.requests()));
}

#[test]
fn an_answer_of_another_length_is_wrong() {
    let outcome = load(serve(packet(&done(0))), 2, 22).expect("a run");
    assert_eq!(outcome.wrong_answers, outcome.requests());
    assert!(outcome.first_trouble.is_some());
}

#[test]
fn an_answer_in_many_packets_is_one_answer() {
    let mut answer = Vec::new();
    for _ in 0..100 {
        let mut packet = packet(&[0; 1_000]);
        packet[1] = 0;
        answer.extend_from_slice(&packet);
    }
    answer.extend_from_slice(&packet(&done(0)));
    let bytes = u64::try_from(answer.len()).expect("a short answer");
    let outcome = load(serve(answer), 4, bytes).expect("a run");
    assert!(outcome.requests() >= 4);
    assert_eq!(outcome.troubles(), 0);
}

#[test]
fn bytes_that_are_no_answer_end_the_run() {
    let said = load(serve(vec![0; 21]), 1, 21).expect_err("it is not TDS");
    assert!(said.starts_with("wrong answer"), "{said}");
}

#[test]
fn a_server_that_hangs_up_ends_the_run() {
    let address = serve(packet(&done(0)));
    // With one byte more than it expects, the echo server closes the connection.
    let script = Script::of_one(vec![7; REQUEST_BYTES + 1]);
    let mut generator = Generator::open(address, 1).expect("connects");
    let said = generator.run(&script, WINDOW).expect_err("it hangs up");
    assert!(said.contains("closed") || said.contains("reset"), "{said}");
}

#[test]
fn nobody_there_is_said() {
    let address = serve(packet(&done(0)));
    let nobody = SocketAddr::new(address.ip(), 1);
    assert!(Generator::open(nobody, 1).err().expect("nobody listens").contains("refused"));
}
