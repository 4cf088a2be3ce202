//! MARS: sessions over one connection, by a client that frames by hand ([MC-SMP]).

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use tds::client::{self, ClientSettings, EnvChanged, Token, TokenReader};
use tds::packet::{HEADER_BYTES, PacketHeader, Status};
use tds::smp::{FrameHeader, FrameKind, FrameReader, WINDOW_INITIAL};
use tds::transaction::{Begin, IsolationLevel};
use tds::{Cursor, DoneStatus, Prelogin, TdsVersion, TransactionAction};
use types::Value;

use crate::client::{Client, Tokens, error_numbers, login_of_sa, rows, tcp};
use crate::server::{PASSWORD, ServerProcess, command};

/// A query with more rows than windows and buffers hold: some 20 MB.
const MANY_ROWS: i64 = 100_000;

/// A MARS connection. It acknowledges a frame when the test reads it.
struct Mars {
    stream: TcpStream,
    frames: FrameReader,
    received: Vec<u8>,
    lanes: BTreeMap<u16, Lane>,
    settings: ClientSettings,
}

/// The client's side of one session.
#[derive(Default)]
struct Lane {
    sent: u32,
    send_limit: u32,
    read: u32,
    packets: std::collections::VecDeque<Vec<u8>>,
    is_finished: bool,
}

impl Mars {
    /// Connects and logs in, and opens no session.
    fn log_in(address: SocketAddr) -> Self {
        let mut stream = tcp(address);
        let asked = Prelogin {
            encryption: Some(tds::Encryption::NotSupported),
            mars: Some(true),
            ..Prelogin::default()
        };
        stream.write_all(&client::prelogin(&asked)).expect("sent");
        let answer = packet(&mut stream);
        let answer = Prelogin::parse(Cursor::new(&answer[HEADER_BYTES..])).expect("an answer");
        assert_eq!(answer.mars, Some(true));
        stream.write_all(&client::login(&login_of_sa())).expect("sent");
        let answer = packet(&mut stream);
        let tokens = TokenReader::new(Cursor::new(&answer[HEADER_BYTES..]), TdsVersion::V7_4);
        crate::client::assert_logged_in(&tokens.all().expect("tokens"));
        Self {
            stream,
            frames: FrameReader::default(),
            received: Vec::new(),
            lanes: BTreeMap::new(),
            settings: ClientSettings::default(),
        }
    }

    /// Connects, logs in and opens sessions 0 to `count`.
    fn with_sessions(address: SocketAddr, count: u16) -> Self {
        let mut mars = Self::log_in(address);
        (0..count).for_each(|session| mars.open(session));
        mars
    }

    fn open(&mut self, session: u16) {
        self.lanes.insert(session, Lane { send_limit: WINDOW_INITIAL, ..Lane::default() });
        self.control(FrameKind::Syn, session);
    }

    fn frame(&mut self, header: FrameHeader, payload: &[u8]) {
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend_from_slice(payload);
        self.stream.write_all(&bytes).expect("sent");
    }

    fn control(&mut self, kind: FrameKind, session: u16) {
        let lane = &self.lanes[&session];
        let (sequence, window) = (lane.sent, lane.read + WINDOW_INITIAL);
        self.frame(FrameHeader { kind, session, payload_bytes: 0, sequence, window }, &[]);
    }

    /// Sends a message, one packet in each frame.
    fn send(&mut self, session: u16, mut message: &[u8]) {
        while !message.is_empty() {
            while self.lanes[&session].sent == self.lanes[&session].send_limit {
                self.take_frame();
            }
            let length = usize::from(u16::from_be_bytes([message[2], message[3]]));
            let lane = self.lanes.get_mut(&session).expect("it is open");
            lane.sent += 1;
            let header = FrameHeader {
                kind: FrameKind::Data,
                session,
                payload_bytes: length,
                sequence: lane.sent,
                window: lane.read + WINDOW_INITIAL,
            };
            self.frame(header, &message[..length]);
            message = &message[length..];
        }
    }

    fn start(&mut self, session: u16, text: &str) {
        let message = client::batch(text, self.settings);
        self.send(session, &message);
    }

    /// Receives a frame and puts it where its session is.
    fn take_frame(&mut self) {
        loop {
            let (used, frame) = self.frames.feed(&self.received).expect("frames");
            let payload = self.frames.payload().to_vec();
            self.received.drain(..used);
            if let Some(frame) = frame {
                return self.put(frame, payload);
            }
            let mut buffer = [0; 16 * 1024];
            let count = self.stream.read(&mut buffer).expect("the server answers");
            assert!(count > 0, "the connection has ended");
            self.received.extend_from_slice(&buffer[..count]);
        }
    }

    fn put(&mut self, frame: FrameHeader, payload: Vec<u8>) {
        let lane = self.lanes.get_mut(&frame.session).expect("a frame of an open session");
        lane.send_limit = frame.window;
        match frame.kind {
            FrameKind::Data => {
                let waiting = u32::try_from(lane.packets.len()).expect("few");
                assert_eq!(frame.sequence, lane.read + waiting + 1, "frames are in order");
                assert!(waiting < WINDOW_INITIAL, "the server keeps to the window");
                lane.packets.push_back(payload);
            }
            FrameKind::Fin => lane.is_finished = true,
            FrameKind::Ack => {}
            FrameKind::Syn => panic!("a server opens no session"),
        }
    }

    /// Reads the next packet of a session, and acknowledges it.
    fn packet(&mut self, session: u16) -> Vec<u8> {
        while self.lanes[&session].packets.is_empty() {
            self.take_frame();
        }
        let lane = self.lanes.get_mut(&session).expect("it is open");
        let packet = lane.packets.pop_front().expect("there is one");
        lane.read += 1;
        self.control(FrameKind::Ack, session);
        packet
    }

    /// Reads a session's response to its end.
    fn response(&mut self, session: u16) -> Tokens {
        let mut body = Vec::new();
        self.rest(session, &mut body);
        tokens(&body)
    }

    /// Appends the rest of a session's response.
    fn rest(&mut self, session: u16, body: &mut Vec<u8>) {
        loop {
            let packet = self.packet(session);
            body.extend_from_slice(&packet[HEADER_BYTES..]);
            if is_last(&packet) {
                return;
            }
        }
    }

    fn batch(&mut self, session: u16, text: &str) -> Tokens {
        self.start(session, text);
        self.response(session)
    }

    fn errors(&mut self, session: u16, text: &str) -> Vec<i32> {
        error_numbers(&self.batch(session, text))
    }

    /// Returns the first value of a query's first row.
    fn value(&mut self, session: u16, query: &str) -> Value {
        let tokens = self.batch(session, query);
        rows(&tokens).first().unwrap_or_else(|| panic!("no row: {tokens:?}"))[0].clone()
    }

    /// Sends a transaction manager request, and keeps the transaction that it begins or ends.
    fn transaction(&mut self, session: u16, action: &TransactionAction<'_>) -> Vec<i32> {
        let message = client::transaction(action, self.settings);
        self.send(session, &message);
        let tokens = self.response(session);
        for token in &tokens {
            match token {
                Token::EnvChange(EnvChanged::BeginTransaction(descriptor)) => {
                    self.settings.transaction = *descriptor;
                }
                Token::EnvChange(EnvChanged::EndTransaction(_)) => self.settings.transaction = 0,
                _ => {}
            }
        }
        error_numbers(&tokens)
    }

    fn begin(&mut self, session: u16) -> Vec<i32> {
        let isolation = IsolationLevel::Unchanged;
        let begin = Begin { isolation, name: Vec::new().into() };
        self.transaction(session, &TransactionAction::Begin(begin))
    }

    fn commit(&mut self, session: u16) -> Vec<i32> {
        let name = Vec::new().into();
        self.transaction(session, &TransactionAction::Commit { name, then: None })
    }

    fn roll_back(&mut self, session: u16) -> Vec<i32> {
        let name = Vec::new().into();
        self.transaction(session, &TransactionAction::Rollback { name, then: None })
    }

    /// Ends a session and waits until the server has ended it too.
    fn close(&mut self, session: u16) {
        self.control(FrameKind::Fin, session);
        while !self.lanes[&session].is_finished {
            self.take_frame();
        }
    }
}

/// Reads one packet from a connection without frames.
fn packet(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES];
    stream.read_exact(&mut bytes).expect("the server answers");
    let length = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
    bytes.resize(length, 0);
    stream.read_exact(&mut bytes[HEADER_BYTES..]).expect("the server answers");
    bytes
}

fn is_last(packet: &[u8]) -> bool {
    let header = packet[..HEADER_BYTES].try_into().expect("a header");
    PacketHeader::parse(&header).expect("a header").status.has(Status::END_OF_MESSAGE)
}

fn tokens(body: &[u8]) -> Tokens {
    TokenReader::new(Cursor::new(body), TdsVersion::V7_4).all().expect("whole tokens")
}

/// Returns the query that takes many windows to read.
fn many_rows(factor: i64) -> String {
    format!(
        "SELECT value * {factor}, REPLICATE('x', 200) FROM GENERATE_SERIES(CAST(1 AS bigint), CAST({MANY_ROWS} AS bigint))"
    )
}

fn assert_many_rows(body: &[u8], factor: i64) {
    let tokens = tokens(body);
    let numbers = rows(&tokens).into_iter().map(|row| row[0].clone());
    assert!(numbers.eq((1..=MANY_ROWS).map(|n| Value::BigInt(n * factor))), "factor {factor}");
}

#[test]
fn two_readers_take_turns() {
    let server = ServerProcess::start(&[]);
    let mut mars = Mars::with_sessions(server.address, 2);
    mars.start(0, &many_rows(1));
    mars.start(1, &many_rows(2));
    let mut bodies = [Vec::new(), Vec::new()];
    let mut open = vec![0_u16, 1];
    while !open.is_empty() {
        open.retain(|&session| {
            let packet = mars.packet(session);
            bodies[usize::from(session)].extend_from_slice(&packet[HEADER_BYTES..]);
            !is_last(&packet)
        });
    }
    assert_many_rows(&bodies[0], 1);
    assert_many_rows(&bodies[1], 2);
}

#[test]
fn session_whose_client_does_not_read_stops_no_other_and_costs_little() {
    let server = ServerProcess::start(&[]);
    let mut mars = Mars::with_sessions(server.address, 40);
    assert_eq!(mars.errors(39, "CREATE TABLE t (a int NOT NULL PRIMARY KEY)"), []);
    mars.start(38, &many_rows(1));
    let first = mars.packet(38);
    let before_kb = server.resident_kb();
    for session in 0..38 {
        mars.start(session, &many_rows(3));
    }
    for n in 0..100 {
        assert_eq!(mars.errors(39, &format!("INSERT t VALUES ({n}); UPDATE t SET a = a")), []);
    }
    assert_eq!(mars.value(39, "SELECT COUNT(*) FROM t"), Value::Int(100));
    // 38 results of 20 MB each would be 760 MB.
    let grown_kb = server.resident_kb().saturating_sub(before_kb);
    assert!(grown_kb < 150 * 1024, "grown by {grown_kb} KB");
    let mut body = first[HEADER_BYTES..].to_vec();
    mars.rest(38, &mut body);
    assert_many_rows(&body, 1);
}

#[test]
fn attention_cancels_its_own_session_only() {
    let server = ServerProcess::start(&[]);
    let mut mars = Mars::with_sessions(server.address, 3);
    mars.start(0, &many_rows(1));
    mars.start(1, &many_rows(2));
    let first = mars.packet(0);
    mars.packet(1);
    mars.send(1, &client::attention());
    let is_acknowledged = |tokens: &Tokens| {
        let attention = |token: &Token| matches!(token, Token::Done(done) if done.status.has(DoneStatus::ATTENTION));
        tokens.iter().any(attention)
    };
    // The rest of what was sent, then the acknowledgement, which is a separate message.
    let mut cut = Vec::new();
    mars.rest(1, &mut cut);
    assert!(cut.len() < 2_000_000, "it was cancelled: {}", cut.len());
    assert!(is_acknowledged(&mars.response(1)));
    assert_eq!(mars.value(1, "SELECT 5"), Value::Int(5));
    let mut body = first[HEADER_BYTES..].to_vec();
    mars.rest(0, &mut body);
    assert_many_rows(&body, 1);
    // One that waits for its turn is cancelled before it begins.
    mars.start(0, "WAITFOR DELAY '00:00:02'; SELECT 1");
    mars.start(2, "SELECT 2");
    mars.send(2, &client::attention());
    let done = mars.response(2);
    assert!(rows(&done).is_empty(), "{done:?}");
    assert!(is_acknowledged(&mars.response(2)));
    assert_eq!(rows(&mars.response(0)).len(), 1);
}

#[test]
fn sessions_share_transaction_tables_and_environment() {
    let server = ServerProcess::start(&[]);
    let mut mars = Mars::with_sessions(server.address, 2);
    let mut other = Client::log_in(server.address);
    assert_eq!(mars.value(0, "SELECT @@SPID"), mars.value(1, "SELECT @@SPID"));
    assert_eq!(mars.errors(0, "CREATE TABLE t (a int NOT NULL PRIMARY KEY)"), []);
    assert_eq!(mars.begin(0), []);
    assert_eq!(mars.errors(0, "INSERT t VALUES (1); CREATE TABLE #t (a int)"), []);
    assert_eq!(mars.errors(1, "INSERT t VALUES (2); INSERT #t VALUES (1), (2), (3)"), []);
    assert_eq!(mars.value(0, "SELECT COUNT(*) + 10 * @@TRANCOUNT FROM t"), Value::Int(12));
    assert_eq!(mars.value(0, "SELECT COUNT(*) FROM #t"), Value::Int(3));
    assert_eq!(other.value_of("(SELECT COUNT(*) FROM t)"), Value::Int(0));
    assert_eq!(mars.roll_back(1), []);
    assert_eq!(mars.value(0, "SELECT COUNT(*) + @@TRANCOUNT FROM t"), Value::Int(0));
    assert_eq!(mars.begin(1), []);
    assert_eq!(mars.errors(0, "INSERT t VALUES (1)"), []);
    assert_eq!(mars.commit(1), []);
    assert_eq!(other.value_of("(SELECT COUNT(*) FROM t)"), Value::Int(1));
    assert_eq!(mars.errors(0, "SET DATEFIRST 3; CREATE DATABASE d"), []);
    assert_eq!(mars.errors(0, "USE d"), []);
    assert_eq!(mars.value(1, "SELECT CAST(@@DATEFIRST AS int)"), Value::Int(3));
    assert_eq!(mars.value(1, "SELECT IIF(DB_NAME() = 'd', 1, 0)"), Value::Int(1));
    // A batch that runs keeps the options it began with.
    mars.start(0, &format!("{}; SELECT CAST(@@DATEFIRST AS int)", many_rows(1)));
    let mut body = mars.packet(0)[HEADER_BYTES..].to_vec();
    assert_eq!(mars.errors(1, "SET DATEFIRST 5"), []);
    mars.rest(0, &mut body);
    assert_eq!(rows(&tokens(&body)).last().expect("a row")[0], Value::Int(3));
}

#[test]
fn transactions_have_sql_servers_rules_for_mars() {
    let server = ServerProcess::start(&[]);
    let mut mars = Mars::with_sessions(server.address, 2);
    assert_eq!(mars.errors(0, "CREATE TABLE t (a bigint NOT NULL PRIMARY KEY, b char(200))"), []);
    let rows_of_t = many_rows(1).replacen("SELECT", "INSERT t SELECT", 1);
    assert_eq!(mars.errors(0, &rows_of_t), []);
    // A batch's own transaction ends with the batch.
    assert_eq!(mars.errors(0, "BEGIN TRAN; DELETE TOP (1) FROM t"), [3997]);
    let count = i32::try_from(MANY_ROWS).expect("it fits");
    assert_eq!(mars.value(1, "SELECT COUNT(*) + @@TRANCOUNT FROM t"), Value::Int(count));
    assert_eq!(mars.errors(0, "BEGIN TRAN; DELETE TOP (1) FROM t; COMMIT"), []);
    // While a reader is open, no transaction begins.
    mars.start(0, "SELECT a, b FROM t");
    mars.packet(0);
    assert_eq!(mars.begin(1), [3988]);
    assert_eq!(mars.errors(1, "BEGIN TRAN"), [3988]);
    assert_eq!(mars.errors(1, "UPDATE TOP (10) t SET b = ''"), []);
    let mut body = Vec::new();
    mars.rest(0, &mut body);
    // A request says which transaction it runs in.
    assert_eq!(mars.begin(0), []);
    let open = mars.settings.transaction;
    mars.settings.transaction = 0;
    assert_eq!(mars.errors(1, "SELECT 1"), [3989]);
    mars.settings.transaction = open + 1;
    assert_eq!(mars.errors(1, "SELECT 1"), [3971]);
    mars.settings.transaction = open;
    // While a reader is open, its transaction is not committed, and has no savepoints.
    mars.start(0, "SELECT a, b FROM t; SELECT 7");
    mars.packet(0);
    assert_eq!(mars.errors(1, "DELETE FROM t WHERE a > 50000"), []);
    assert_eq!(mars.commit(1), [3981]);
    assert_eq!(mars.errors(1, "SAVE TRAN s"), [3981]);
    let (mut body, mut packets) = (Vec::new(), 1);
    while packets < 20 {
        body.extend_from_slice(&mars.packet(0)[HEADER_BYTES..]);
        packets += 1;
    }
    // A rollback ends what runs in the transaction.
    assert_eq!(mars.roll_back(1), []);
    mars.rest(0, &mut body);
    let text = body.windows(2).any(|pair| pair == 3980_u16.to_le_bytes());
    assert!(text && body.len() < 15_000_000, "{} bytes", body.len());
    assert_eq!(mars.value(0, "SELECT COUNT(*) + @@TRANCOUNT FROM t"), Value::Int(count - 1));
}

#[test]
fn transaction_of_a_batch_is_its_own() {
    let server = ServerProcess::start(&[]);
    let mut mars = Mars::with_sessions(server.address, 2);
    let tables =
        "CREATE TABLE t (a int NOT NULL PRIMARY KEY, b int); INSERT t VALUES (1, 0), (2, 0)";
    assert_eq!(mars.errors(0, tables), []);
    let text = format!("BEGIN TRAN; UPDATE t SET b = 1 WHERE a = 1; {}; COMMIT", many_rows(1));
    mars.start(0, &text);
    let mut body = mars.packet(0)[HEADER_BYTES..].to_vec();
    // Another session is outside the transaction, and begins none.
    assert_eq!(mars.value(1, "SELECT SUM(b) + @@TRANCOUNT FROM t"), Value::Int(0));
    assert_eq!(mars.errors(1, "UPDATE t SET b = 5 WHERE a = 2"), []);
    assert_eq!(mars.errors(1, "BEGIN TRAN"), [3988]);
    // It would wait for the row until its own client reads the other result: a deadlock.
    assert_eq!(mars.errors(1, "UPDATE t SET b = 6 WHERE a = 1"), [1205]);
    mars.rest(0, &mut body);
    assert_eq!(error_numbers(&tokens(&body)), []);
    assert_eq!(mars.value(1, "SELECT SUM(b) + @@TRANCOUNT FROM t"), Value::Int(6));
}

#[test]
fn pool_resets_a_connection_that_is_idle() {
    let server = ServerProcess::start(&[]);
    let mut mars = Mars::with_sessions(server.address, 2);
    assert_eq!(mars.errors(0, "CREATE TABLE #t (a int); SET DATEFIRST 3"), []);
    let mut message = client::batch("SELECT CAST(@@DATEFIRST AS int)", mars.settings);
    client::set_reset(&mut message, tds::Reset::Session);
    mars.start(0, &many_rows(1));
    let mut body = mars.packet(0)[HEADER_BYTES..].to_vec();
    mars.send(1, &message);
    let refused = mars.response(1);
    assert_eq!(error_numbers(&refused), [3983]);
    mars.rest(0, &mut body);
    assert_many_rows(&body, 1);
    mars.send(1, &message);
    let reset = mars.response(1);
    assert_eq!(rows(&reset), [[Value::Int(7)]]);
    assert_eq!(mars.errors(0, "SELECT * FROM #t"), [208]);
}

#[test]
fn thousand_sessions_run_and_end() {
    let server = ServerProcess::start(&[]);
    let mut mars = Mars::with_sessions(server.address, 1000);
    for session in 0..1000 {
        mars.start(session, &format!("SELECT {session}"));
    }
    for session in (0..1000).rev() {
        let answer = mars.response(session);
        assert_eq!(rows(&answer), [[Value::Int(i32::from(session))]]);
    }
    let before = server.sockets();
    (1..1000).for_each(|session| mars.close(session));
    server.wait_until("the sessions are gone", |s| s.sockets() + 1900 < before);
    // Their numbers may be used again.
    mars.open(7);
    assert_eq!(mars.value(7, "SELECT 8"), Value::Int(8));
    drop(mars);
    server.wait_until("the connection is gone", |s| s.sockets() < 12);
}

#[test]
fn sessions_beyond_the_limit_get_one_error_and_the_others_go_on() {
    let server = ServerProcess::start(&[]);
    let mut mars = Mars::with_sessions(server.address, 2048);
    for session in 2048..10_000 {
        mars.open(session);
        let answer = mars.response(session);
        assert_eq!(error_numbers(&answer), [17809]);
    }
    assert_eq!(mars.value(5, "SELECT 6"), Value::Int(6));
    mars.close(5);
    mars.open(5);
    assert_eq!(mars.errors(5, "SELECT 7"), [17809], "the refused ones have not ended");
    for session in 2048..10_000 {
        mars.close(session);
    }
    mars.close(5);
    mars.open(5);
    assert_eq!(mars.value(5, "SELECT 7"), Value::Int(7));
}

#[test]
fn sessions_leave_descriptors_for_connections() {
    let plain = command(&["serve", "--port", "0", "--sa-password", PASSWORD]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 400; exec \"$0\" \"$@\""]);
    limited.arg(plain.get_program()).args(plain.get_args());
    limited.stdin(std::process::Stdio::null());
    limited.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let server = ServerProcess::start_command(limited);
    // Two for each session: half of the 400.
    let mut mars = Mars::with_sessions(server.address, 100);
    for session in 100..300 {
        mars.open(session);
        assert_eq!(error_numbers(&mars.response(session)), [17809]);
    }
    assert_eq!(mars.value(5, "SELECT 6"), Value::Int(6));
    let mut others: Vec<_> = (0..50).map(|_| Client::log_in(server.address)).collect();
    assert_eq!(others[49].value_of("1"), Value::Int(1));
    drop(mars);
    server.wait_until("the sessions are gone", |s| s.sockets() < 100);
    let mut again = Mars::with_sessions(server.address, 100);
    assert_eq!(again.value(99, "SELECT 7"), Value::Int(7));
}

/// Returns frames that no client sends, with sessions 0 and 1 open.
fn malformed() -> Vec<Vec<u8>> {
    let frame = |kind, session, sequence, window| {
        FrameHeader { kind, session, payload_bytes: 0, sequence, window }.to_bytes().to_vec()
    };
    let altered = |at: usize, byte: u8| {
        let mut bytes = frame(FrameKind::Ack, 0, 0, 4);
        bytes[at] = byte;
        bytes
    };
    vec![
        client::batch("SELECT 1", ClientSettings::default()),
        vec![0],
        altered(0, 0x54),
        altered(1, 0),
        altered(1, 3),
        altered(1, 0x10),
        altered(4, 15),
        altered(4, 17),
        altered(7, 0x80),
        frame(FrameKind::Ack, 9, 0, 4),
        frame(FrameKind::Data, 9, 1, 4),
        frame(FrameKind::Fin, 9, 0, 4),
        frame(FrameKind::Syn, 0, 0, 4),
        frame(FrameKind::Syn, 2, 1, 4),
        frame(FrameKind::Data, 0, 0, 4),
        frame(FrameKind::Data, 0, 2, 4),
        frame(FrameKind::Data, 0, 1, 3),
        frame(FrameKind::Ack, 0, 7, 4),
        frame(FrameKind::Ack, 0, 0, 0),
        [frame(FrameKind::Fin, 0, 0, 4), frame(FrameKind::Data, 0, 1, 4)].concat(),
    ]
}

#[test]
fn malformed_frames_end_their_connection_with_one_line_of_log() {
    let server = ServerProcess::start(&["--packet-timeout", "2s"]);
    let mut witness = Mars::with_sessions(server.address, 1);
    for (index, bytes) in malformed().into_iter().enumerate() {
        let mut mars = Mars::with_sessions(server.address, 2);
        mars.start(1, "SELECT 1");
        mars.response(1);
        mars.stream.write_all(&bytes).expect("sent");
        // A reset is an end too.
        let _ = mars.stream.read_to_end(&mut Vec::new());
        server.wait_for_log("TDS");
        assert_eq!(witness.value(0, "SELECT 1"), Value::Int(1), "after {index}");
        assert_eq!(server.log(), Vec::<String>::new(), "{index}: one line");
    }
    // A frame that does not go on ends its connection as well.
    let mut mars = Mars::with_sessions(server.address, 1);
    mars.stream.write_all(&[0x53, 8, 0, 0]).expect("sent");
    let _ = mars.stream.read_to_end(&mut Vec::new());
    server.wait_for_log("packet timeout");
    assert_eq!(witness.value(0, "SELECT 1"), Value::Int(1));
}

#[test]
fn every_flipped_byte_of_a_frame_is_survived() {
    let server = ServerProcess::start(&["--packet-timeout", "300ms"]);
    let mut witness = Mars::with_sessions(server.address, 1);
    let text = client::batch("SELECT 1", ClientSettings::default());
    let header = FrameHeader {
        kind: FrameKind::Data,
        session: 0,
        payload_bytes: text.len(),
        sequence: 1,
        window: 4,
    };
    let whole = [header.to_bytes().to_vec(), text].concat();
    for index in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[index] ^= 0xFF;
        let mut mars = Mars::with_sessions(server.address, 1);
        mars.stream.write_all(&bytes).expect("sent");
        drop(mars);
        assert_eq!(witness.value(0, "SELECT 1"), Value::Int(1), "after {index}");
    }
    server.wait_until("the connections are gone", |s| s.sockets() < 16);
}

#[test]
fn fatal_error_and_kill_end_all_sessions_of_their_connection() {
    let server = ServerProcess::start(&[]);
    let mut other = Client::log_in(server.address);
    let mut mars = Mars::with_sessions(server.address, 2);
    mars.start(0, &many_rows(1));
    mars.packet(0);
    let end = "RAISERROR('end', 20, 1) WITH LOG";
    let without_mars = error_numbers(&Client::log_in(server.address).batch(end));
    assert_eq!(mars.errors(1, end), without_mars);
    assert!(mars.stream.read_to_end(&mut Vec::new()).is_ok());
    let mut mars = Mars::with_sessions(server.address, 2);
    let Value::SmallInt(spid) = mars.value(1, "SELECT @@SPID") else { panic!("a number") };
    mars.start(0, &many_rows(1));
    mars.packet(0);
    assert_eq!(error_numbers(&other.batch(&format!("KILL {spid}"))), []);
    assert!(mars.stream.read_to_end(&mut Vec::new()).is_ok());
    let left = "(SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id > 50)";
    server.wait_until("the session is gone", |_| other.value_of(left) == Value::Int(1));
}

#[test]
fn request_of_many_packets_passes_the_window() {
    let server = ServerProcess::start(&[]);
    let mut mars = Mars::with_sessions(server.address, 2);
    let text = format!("SELECT LEN('{}')", "y".repeat(100_000));
    assert_eq!(mars.value(1, &text), Value::BigInt(100_000));
}
