//! A TDS server that follows a script, and records what it did.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const PRELOGIN: u8 = 0x12;
const LOGIN: u8 = 0x10;
const ATTENTION: u8 = 0x06;
const END_OF_MESSAGE: u8 = 1;
const RESET: u8 = 8;
const DONE_FINAL: u16 = 0;
const DONE_MORE: u16 = 1;
const DONE_ERROR: u16 = 2;
const DONE_ATTENTION: u16 = 0x20;

/// The server's reaction to a request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    delay: Duration,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Packet(Vec<u8>),
    /// Bytes, and then the connection is closed.
    Last(Vec<u8>),
    /// Nothing, until it is cancelled.
    Nothing,
}

impl Reply {
    pub(crate) fn ok() -> Self {
        Self::after(Duration::ZERO)
    }

    pub(crate) fn after(delay: Duration) -> Self {
        Self { delay, what: What::Packet(packet(&done(DONE_FINAL))) }
    }

    pub(crate) fn error(number: i32) -> Self {
        let tokens = [error(number), done(DONE_ERROR)].concat();
        Self { delay: Duration::ZERO, what: What::Packet(packet(&tokens)) }
    }

    /// An error of a statement, after which the batch continues and ends normally.
    pub(crate) fn error_before_end(number: i32) -> Self {
        let tokens = [error(number), done(DONE_ERROR | DONE_MORE), done(DONE_FINAL)].concat();
        Self { delay: Duration::ZERO, what: What::Packet(packet(&tokens)) }
    }

    pub(crate) fn never() -> Self {
        Self { delay: Duration::ZERO, what: What::Nothing }
    }

    pub(crate) fn close() -> Self {
        Self { delay: Duration::ZERO, what: What::Last(Vec::new()) }
    }

    pub(crate) fn half() -> Self {
        let mut bytes = packet(&done(DONE_FINAL));
        bytes.truncate(12);
        Self { delay: Duration::ZERO, what: What::Last(bytes) }
    }

    pub(crate) fn garbage() -> Self {
        let text = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        Self { delay: Duration::ZERO, what: What::Last(text.to_vec()) }
    }
}

type Script = dyn Fn(usize) -> Reply + Send + Sync;

/// What the server has done.
#[derive(Default)]
struct Deeds {
    requests: AtomicUsize,
    connections: AtomicUsize,
    attentions: AtomicUsize,
    resets: AtomicUsize,
    delays: Mutex<Vec<Duration>>,
    begun: Mutex<Option<Instant>>,
}

pub(crate) struct FakeServer {
    address: SocketAddr,
    deeds: Arc<Deeds>,
}

impl FakeServer {
    /// Starts a server that asks `script` for its reply to the nth request, over all connections.
    pub(crate) fn start(script: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(Arc::new(script), None, None)
    }

    /// Starts a server that answers at once, except during a stall of `length` that begins `from`
    /// after its first request.
    pub(crate) fn start_with_stall(from: Duration, length: Duration) -> Self {
        Self::listen(Arc::new(|_| Reply::ok()), Some((from, length)), None)
    }

    /// Starts a server that refuses every login.
    pub(crate) fn start_refusing(number: i32) -> Self {
        Self::listen(Arc::new(|_| Reply::ok()), None, Some(number))
    }

    fn listen(
        script: Arc<Script>,
        stall: Option<(Duration, Duration)>,
        refusal: Option<i32>,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let deeds = Arc::new(Deeds::default());
        let shared = Arc::clone(&deeds);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (script, deeds) = (Arc::clone(&script), Arc::clone(&shared));
                thread::spawn(move || serve(stream, &*script, &deeds, stall, refusal));
            }
        });
        Self { address, deeds }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn requests(&self) -> usize {
        self.deeds.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn connections(&self) -> usize {
        self.deeds.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn attentions(&self) -> usize {
        self.deeds.attentions.load(Ordering::SeqCst)
    }

    pub(crate) fn resets(&self) -> usize {
        self.deeds.resets.load(Ordering::SeqCst)
    }

    /// Returns how long answers really took, sorted.
    pub(crate) fn delays(&self) -> Vec<Duration> {
        let mut delays = self.deeds.delays.lock().expect("no thread has panicked").clone();
        delays.sort();
        delays
    }
}

fn serve(
    mut stream: TcpStream,
    script: &Script,
    deeds: &Deeds,
    stall: Option<(Duration, Duration)>,
    refusal: Option<i32>,
) {
    deeds.connections.fetch_add(1, Ordering::SeqCst);
    stream.set_nodelay(true).expect("a socket");
    while let Some((kind, status)) = read_message(&mut stream) {
        let answer = match kind {
            PRELOGIN => packet(&prelogin()),
            LOGIN => {
                packet(&refusal.map_or_else(login_ack, |n| [error(n), done(DONE_ERROR)].concat()))
            }
            ATTENTION => {
                deeds.attentions.fetch_add(1, Ordering::SeqCst);
                packet(&done(DONE_ATTENTION))
            }
            _ => {
                let begin = Instant::now();
                deeds.resets.fetch_add(usize::from(status & RESET != 0), Ordering::SeqCst);
                let reply = script(deeds.requests.fetch_add(1, Ordering::SeqCst));
                thread::sleep(reply.delay);
                if let Some((from, length)) = stall {
                    stand_still(deeds, from, length);
                }
                deeds.delays.lock().expect("no thread has panicked").push(begin.elapsed());
                match reply.what {
                    What::Packet(bytes) => bytes,
                    What::Nothing => continue,
                    What::Last(bytes) => {
                        let _ = stream.write_all(&bytes);
                        return;
                    }
                }
            }
        };
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

/// Sleeps until the end of the stall, if one is in progress.
fn stand_still(deeds: &Deeds, from: Duration, length: Duration) {
    let now = Instant::now();
    let begun = *deeds.begun.lock().expect("no thread has panicked").get_or_insert(now);
    let at = now - begun;
    if at >= from && at < from + length {
        thread::sleep(from + length - at);
    }
}

/// Reads a message; returns its type and the status of its first packet.
fn read_message(stream: &mut TcpStream) -> Option<(u8, u8)> {
    let mut first = None;
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header).ok()?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let mut payload = vec![0; length.checked_sub(8)?];
        stream.read_exact(&mut payload).ok()?;
        let first = *first.get_or_insert((header[0], header[1]));
        if header[1] & END_OF_MESSAGE != 0 {
            return Some(first);
        }
    }
}

fn packet(payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 8).expect("a short answer").to_be_bytes();
    [&[4, END_OF_MESSAGE, length[0], length[1], 0, 0, 1, 0], payload].concat()
}

/// VERSION and ENCRYPTION (not supported), [MS-TDS] 2.2.6.5.
fn prelogin() -> Vec<u8> {
    vec![0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 16, 0, 0, 0, 0, 0, 2]
}

/// LOGINACK of TDS 7.4 ([MS-TDS] 2.2.7.14), and DONE.
fn login_ack() -> Vec<u8> {
    let mut token = vec![0xAD, 12, 0, 1, 0x74, 0, 0, 4, 1, b'F', 0, 1, 0, 0, 0];
    token.extend(done(DONE_FINAL));
    token
}

fn done(status: u16) -> Vec<u8> {
    let mut token = vec![0xFD];
    token.extend(status.to_le_bytes());
    token.extend([0; 10]);
    token
}

/// ERROR ([MS-TDS] 2.2.7.10) of severity 16.
fn error(number: i32) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.extend([1, 16]);
    body.extend([3, 0, b'b', 0, b'a', 0, b'd', 0]);
    body.extend([0, 0]);
    body.extend([1, 0, 0, 0]);
    let length = u16::try_from(body.len()).expect("a short token").to_le_bytes();
    [&[0xAA, length[0], length[1]], &body[..]].concat()
}
