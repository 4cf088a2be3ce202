//! Tests that a request which panics ends its session with error 3624 and affects nothing else:
//! everything the session held is released. `engine/tests/it/panics.rs` tests the state that a
//! statement leaves wherever it panics.
//!
//! Part of the crate, since the batch that panics on purpose exists under `cfg(test)` only.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::time::Duration;

use tds::client::{self, ClientSettings, Token, TokenReader};
use tds::prelogin::Encryption as Wanted;
use tds::{Login7, MessageReader, Prelogin, Step, TdsVersion};

use crate::Server;
use crate::options::{Certificate, Encryption, Limits, LockMode, Options};

/// The text of the batch that panics.
pub(crate) const PANIC: &str = "CLEARWAY TEST PANIC";
pub(crate) const PASSWORD: &str = "Secret-Word1";

pub(crate) fn server() -> Server {
    let options = Options {
        address: IpAddr::from(Ipv4Addr::LOCALHOST),
        port: 0,
        admin_port: None,
        socket: None,
        sa_password: crate::options::Password::Given(PASSWORD.to_owned()),
        data: None,
        memory_max: 1 << 30,
        memory_model: sos::memory::MemoryModel::Conventional,
        query_memory_max: None,
        experiments: Vec::new(),
        ledger: sos::ledger::SourceChoice::Auto,
        sampling_rate_hz: sos::sampler::RATE_HZ,
        schedulers: Some(1),
        lock_mode: LockMode::default(),
        encryption: Encryption::On,
        certificate: Certificate::SelfSigned,
        limits: Limits::default(),
        start_in_log: false,
    };
    Server::start(&options).expect("a server")
}

/// Reads and decodes a response; `None` at the end of the connection.
pub(crate) fn response(stream: &mut TcpStream) -> Option<Vec<Token>> {
    let mut reader = MessageReader::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).ok().filter(|&count| count > 0)?;
        if let (_, Step::Message(message)) = reader.feed(&buffer[..count]).expect("packets") {
            // The answer to PRELOGIN has no tokens, and these tests do not need it.
            return Some(
                TokenReader::new(message.body, TdsVersion::V7_4).all().unwrap_or_default(),
            );
        }
    }
}

pub(crate) fn log_in(server: &Server) -> TcpStream {
    log_in_as(server, Login7 { user: "sa".to_owned(), ..Login7::default() })
}

/// Logs in with the password of all tests.
pub(crate) fn log_in_as(server: &Server, login: Login7) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    let options = Prelogin { encryption: Some(Wanted::NotSupported), ..Prelogin::default() };
    stream.write_all(&client::prelogin(&options)).expect("sent");
    response(&mut stream).expect("an answer to PRELOGIN");
    let login =
        Login7 { version_code: TdsVersion::V7_4.code(), password: PASSWORD.to_owned(), ..login };
    stream.write_all(&client::login(&login)).expect("sent");
    let tokens = response(&mut stream).expect("an answer to LOGIN7");
    assert!(tokens.iter().any(|token| matches!(token, Token::LoginAck { .. })), "{tokens:?}");
    stream
}

pub(crate) fn batch(stream: &mut TcpStream, text: &str) -> Option<Vec<Token>> {
    stream.write_all(&client::batch(text, ClientSettings::default())).expect("sent");
    response(stream)
}

/// Returns the numbers of a batch's errors.
pub(crate) fn errors(stream: &mut TcpStream, text: &str) -> Vec<i32> {
    let tokens = batch(stream, text).expect("an answer");
    let error = |token: &Token| match token {
        Token::Message(message) if message.severity > 10 => Some(message.number),
        _ => None,
    };
    tokens.iter().filter_map(error).collect()
}

#[test]
fn panic_in_a_request_ends_its_session_with_3624_and_no_other() {
    let server = server();
    let mut witness = log_in(&server);
    assert_eq!(
        errors(&mut witness, "CREATE TABLE t (a int NOT NULL PRIMARY KEY); INSERT t VALUES (1)"),
        []
    );
    for _ in 0..3 {
        let mut victim = log_in(&server);
        let holds = "BEGIN TRAN; UPDATE t SET a = 2; CREATE TABLE made (a int); EXEC sp_getapplock 'l', 'Exclusive', 'Session'";
        assert_eq!(errors(&mut victim, holds), []);
        let blocked = "SET LOCK_TIMEOUT 0; UPDATE t SET a = 1";
        assert_eq!(errors(&mut witness, blocked), [1222]);
        let tokens = batch(&mut victim, PANIC).expect("an answer");
        let error = tokens.iter().find_map(|token| match token {
            Token::Message(error) => Some((error.number, error.severity)),
            _ => None,
        });
        assert_eq!(error, Some((3624, 20)), "{tokens:?}");
        assert_eq!(response(&mut victim), None, "the session has ended");
        let whole = "SET LOCK_TIMEOUT 0; UPDATE t SET a = 1; IF OBJECT_ID('made') IS NOT NULL OR @@TRANCOUNT > 0
            OR EXISTS (SELECT 1 FROM sys.dm_tran_locks WHERE request_session_id <> @@SPID)
            OR EXISTS (SELECT 1 FROM sys.dm_exec_requests WHERE session_id > 50 AND session_id <> @@SPID)
            THROW 50000, 'something is left', 1";
        assert_eq!(errors(&mut witness, whole), []);
        let tokens = batch(&mut witness, "PRINT 'alive'").expect("an answer");
        let printed = |token: &Token| matches!(token, Token::Message(m) if m.message == "alive");
        assert!(tokens.iter().any(printed), "{tokens:?}");
    }
    drop(witness);
    server.stop(sos::sys::Stop::Terminate);
}
