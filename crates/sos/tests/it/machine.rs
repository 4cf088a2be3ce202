//! Tests of connections through a machine: echo, waits, cancellation, quantum, shutdown.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use sos::clock;
use sos::ledger::{self, Label};
use sos::lock::{LatchClass, RwLatch};
use sos::park::{self, Cancel, Wake};
use sos::sched::{
    self, Blocker, Connection, Interrupt, Machine, MachineConfig, Next, Ready, StopOutcome, Task,
    TaskWaker,
};
use sos::sync::{Arc, AtomicU32, OnceLock, Ordering};
use sos::sys::{Direction, Listener, Socket, poll_fd};
use sos::wait::WaitType;

/// The commands of the test connections, one byte each; ASCII bytes are echoed.
pub(crate) const SLEEP: u8 = 0x80;
const SPIN: u8 = 0x81;
/// Parks under a private address, so that only a cancellation ends it.
pub(crate) const PARK: u8 = 0x82;
/// Parks under the address `KEY`.
pub(crate) const PARK_SHARED: u8 = 0x83;
const PANIC: u8 = 0x84;
/// Is echoed, and ends the connection.
pub(crate) const LAST: u8 = 0x8c;
pub(crate) const CANCEL: u8 = 0x85;
/// Makes the connection one whose requests do not wait for a worker.
pub(crate) const URGENT: u8 = 0x8d;

/// Runs without checking its quantum.
pub(crate) const BUSY: u8 = 0x86;
/// Sleeps without handing its scheduler over.
pub(crate) const BLOCK: u8 = 0x87;
/// The time that BUSY and BLOCK take.
pub(crate) const STALL_MS: u64 = 300;
/// Takes a latch that all connections share, and holds it for half a second.
pub(crate) const HOLD: u8 = 0x8b;
/// A short request that parses.
pub(crate) const PARSE: u8 = 0x88;
/// A long request that scans.
pub(crate) const SCAN: u8 = 0x89;
/// A long request that searches an index and reads a row, in turns.
pub(crate) const LOOK_UP: u8 = 0x8a;

/// The tag that the tasks work for.
pub(crate) const TAG: u32 = 77;

const PARK_MS: u64 = 60_000;
pub(crate) const KEY: usize = 0x5eed;

struct Shared {
    socket: Socket,
    cancel: Cancel,
    interrupts: AtomicU32,
}

impl Interrupt for Shared {
    fn interrupt(&self) {
        self.interrupts.fetch_add(1, Ordering::Relaxed);
        let mut byte = [0];
        if matches!(self.socket.peek(&mut byte), Ok(1)) && byte[0] == CANCEL {
            let _ = self.socket.recv(&mut byte);
            self.cancel.set();
        }
    }

    fn stop(&self) {
        self.cancel.set();
    }
}

struct Echo {
    shared: Arc<Shared>,
    /// Whether its last answer was left to the end of the round.
    is_put_off: bool,
    is_urgent: bool,
}

impl Task for Echo {
    fn fd(&self) -> BorrowedFd<'_> {
        self.shared.socket.as_fd()
    }

    fn run(&mut self, _ready: Ready, _waker: &TaskWaker) -> Next {
        sched::work_for(TAG);
        if std::mem::take(&mut self.is_put_off)
            && let Some(rest) = sched::take_unsent()
        {
            send_all(&self.shared.socket, &rest);
        }
        let mut buffer = [0; 512];
        match self.shared.socket.recv(&mut buffer) {
            Ok(0) => Next::Close,
            Ok(count) => {
                // On a slow machine the attention may arrive together with its request.
                if buffer[1..count].contains(&CANCEL) {
                    self.shared.cancel.set();
                }
                let answer = self.answer(&buffer[..count]);
                self.is_put_off = sched::send_at_round_end(&self.shared.socket, &answer);
                if !self.is_put_off {
                    send_all(&self.shared.socket, &answer);
                }
                self.is_urgent |= buffer[0] == URGENT;
                if buffer[0] == LAST {
                    return Next::Close;
                }
                if count == buffer.len() { Next::Again } else { Next::Keep }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Next::Keep,
            Err(_) => Next::Close,
        }
    }

    fn is_urgent(&self) -> bool {
        self.is_urgent
    }
}

impl Echo {
    fn answer(&self, request: &[u8]) -> Vec<u8> {
        match request[0] {
            SLEEP => {
                let pause = Duration::from_millis(200);
                let wake = park::sleep(pause, WaitType::WaitFor, Some(&self.shared.cancel));
                format!("{wake:?}").into_bytes()
            }
            PARK => self.park(Arc::as_ptr(&self.shared) as usize),
            PARK_SHARED => self.park(KEY),
            SPIN => self.spin(),
            BUSY => busy(),
            BLOCK => block(),
            HOLD => hold(),
            PARSE => labelled(&[Label::Parse], Duration::from_micros(100)),
            SCAN => labelled(&[Label::Scan], Duration::from_millis(200)),
            LOOK_UP => labelled(&[Label::Index, Label::Row], Duration::from_millis(200)),
            PANIC => panic!("as asked"),
            _ => request.to_vec(),
        }
    }
}

impl Echo {
    fn park(&self, key: usize) -> Vec<u8> {
        let _blame = sched::blame(Blocker::Work(TAG + 1));
        let cancel = Some(&self.shared.cancel);
        let timeout = Some(Duration::from_millis(PARK_MS));
        let wake = park::park(key, WaitType::LockExclusive, || true, timeout, cancel);
        format!("{wake:?}").into_bytes()
    }

    fn spin(&self) -> Vec<u8> {
        let end = clock::deadline_ns(Duration::from_millis(PARK_MS));
        while clock::monotonic_ns() < end && !self.shared.cancel.is_set() {
            sched::yield_if_quantum_due();
        }
        format!("spun {}", self.shared.cancel.is_set()).into_bytes()
    }
}

fn hold() -> Vec<u8> {
    static LATCH: OnceLock<RwLatch<()>> = OnceLock::new();
    let _held = LATCH.get_or_init(|| RwLatch::new(LatchClass::Other, ())).write();
    park::sleep(Duration::from_millis(500), WaitType::WaitFor, None);
    b"held".to_vec()
}

/// A request that runs for `duration`, ten microseconds under each label in turn.
fn labelled(labels: &[Label], duration: Duration) -> Vec<u8> {
    ledger::request(None, || {
        let end = clock::deadline_ns(duration);
        for &label in labels.iter().cycle() {
            let _label = ledger::labelled(label);
            let change = clock::monotonic_ns() + 10_000;
            while clock::monotonic_ns() < change {
                std::hint::spin_loop();
            }
            sched::yield_if_quantum_due();
            if clock::monotonic_ns() >= end {
                break;
            }
        }
        b"done".to_vec()
    })
}

fn busy() -> Vec<u8> {
    let end = clock::deadline_ns(Duration::from_millis(STALL_MS));
    while clock::monotonic_ns() < end {
        std::hint::spin_loop();
    }
    b"was busy".to_vec()
}

fn block() -> Vec<u8> {
    let nobody = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("binds");
    let deadline = Some(clock::deadline_ns(Duration::from_millis(STALL_MS)));
    assert!(!poll_fd(&nobody, Direction::Readable, deadline).expect("polls"));
    b"blocked".to_vec()
}

fn send_all(socket: &Socket, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match socket.send(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let wait = WaitType::AsyncNetworkIo;
                sched::wait_fd(socket, Direction::Writable, wait, None, None).expect("polls");
            }
            Err(_) => return,
        }
    }
}

pub(crate) struct Server {
    pub(crate) machine: Machine,
    address: SocketAddr,
}

impl Server {
    pub(crate) fn start(schedulers: usize) -> Self {
        Self::with(&MachineConfig { schedulers, ..MachineConfig::default() })
    }

    pub(crate) fn with(config: &MachineConfig) -> Self {
        let machine = Machine::start(config).expect("starts");
        let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("binds");
        let address = listener.local_address().expect("has an address");
        let connect = |socket, _peer| {
            let shared =
                Arc::new(Shared { socket, cancel: Cancel::new(), interrupts: AtomicU32::new(0) });
            let interrupt = Arc::clone(&shared);
            let task = Box::new(Echo { shared, is_put_off: false, is_urgent: false });
            Some(Connection { task, interrupt })
        };
        machine.listen(listener, connect).expect("listens");
        Self { machine, address }
    }

    pub(crate) fn client(&self) -> Client {
        Client(Socket::connect(self.address).expect("connects"))
    }

    pub(crate) fn stop(&self) {
        assert_eq!(self.machine.stop(Duration::from_secs(5)), StopOutcome::Clean);
    }

    pub(crate) fn waits(&self, wait_type: WaitType) -> sos::wait::WaitRow {
        self.machine.accounts().waits()[wait_type.index()]
    }
}

pub(crate) struct Client(pub(crate) Socket);

impl Client {
    pub(crate) fn send(&self, bytes: &[u8]) {
        assert_eq!(self.0.send(bytes).expect("sends"), bytes.len());
    }

    /// Receives one answer; empty at the end of the stream.
    pub(crate) fn receive(&self) -> Vec<u8> {
        let mut buffer = vec![0; 65536];
        loop {
            match self.0.recv(&mut buffer) {
                Ok(count) => {
                    buffer.truncate(count);
                    return buffer;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let deadline = Some(clock::deadline_ns(Duration::from_secs(20)));
                    let ready = poll_fd(&self.0, Direction::Readable, deadline).expect("polls");
                    assert!(ready, "no answer within 20 s");
                }
                Err(_) => return Vec::new(),
            }
        }
    }

    pub(crate) fn ask(&self, bytes: &[u8]) -> Vec<u8> {
        self.send(bytes);
        self.receive()
    }
}

pub(crate) fn ms_since(start_ns: u64) -> u64 {
    (clock::monotonic_ns() - start_ns) / 1_000_000
}

#[test]
fn sixty_four_connections_get_their_own_bytes_back() {
    let server = Server::start(2);
    let clients: Vec<Client> = (0..64).map(|_| server.client()).collect();
    for round in 0..50_u32 {
        for (number, client) in clients.iter().enumerate() {
            client.send(format!("hello {number} {round}").as_bytes());
        }
        for (number, client) in clients.iter().enumerate() {
            let answer = String::from_utf8(client.receive()).expect("is text");
            assert_eq!(answer, format!("hello {number} {round}"));
        }
    }
    let counts: Vec<u64> = server.machine.schedulers().iter().map(|row| row.connections).collect();
    assert_eq!(counts, [32, 32]);
    server.stop();
}

#[test]
fn more_than_the_buffer_takes_is_read_in_several_runs() {
    let server = Server::start(1);
    let client = server.client();
    let request = vec![b'x'; 40_000];
    client.send(&request);
    let mut answer = Vec::new();
    while answer.len() < request.len() {
        answer.extend(client.receive());
    }
    assert_eq!(answer, request);
    server.stop();
}

#[test]
fn waiting_task_does_not_delay_another_on_the_same_scheduler() {
    let server = Server::start(1);
    let (waiting, other) = (server.client(), server.client());
    waiting.send(&[PARK]);
    for _ in 0..10 {
        assert_eq!(other.ask(b"hello"), b"hello");
    }
    waiting.send(&[CANCEL]);
    assert_eq!(waiting.receive(), b"Cancelled");
    server.stop();
}

#[test]
fn sleep_lasts_as_long_as_asked_and_is_booked() {
    let server = Server::start(1);
    let client = server.client();
    let start = clock::monotonic_ns();
    assert_eq!(client.ask(&[SLEEP]), b"TimedOut");
    assert!(ms_since(start) >= 200);
    let row = server.waits(WaitType::WaitFor);
    assert_eq!(row.count, 1);
    assert!(row.wait_ns >= 200_000_000 && row.signal_ns < row.wait_ns, "{row:?}");
    server.stop();
}

#[test]
fn attention_ends_a_sleep_at_once() {
    let server = Server::start(1);
    let client = server.client();
    let start = clock::monotonic_ns();
    client.send(&[PARK]);
    park::sleep(Duration::from_millis(50), WaitType::WaitFor, None);
    client.send(&[CANCEL]);
    assert_eq!(client.receive(), b"Cancelled");
    assert!(ms_since(start) < 10_000);
    server.stop();
}

#[test]
fn twenty_tasks_wait_at_the_same_time() {
    let server = Server::start(1);
    let clients: Vec<Client> = (0..20).map(|_| server.client()).collect();
    for client in &clients {
        client.send(b"P");
    }
    for client in &clients {
        assert_eq!(client.receive(), b"P");
    }
    let waiting: Vec<Client> = (0..20).map(|_| server.client()).collect();
    for client in &waiting {
        client.send(&[SLEEP]);
    }
    for client in &waiting {
        assert_eq!(client.receive(), b"TimedOut");
    }
    assert_eq!(server.waits(WaitType::WaitFor).count, 20);
    server.stop();
}

#[test]
fn long_request_lets_others_run_every_quantum() {
    let server = Server::start(1);
    let (long, short) = (server.client(), server.client());
    assert_eq!(short.ask(b"warm"), b"warm");
    long.send(&[SPIN]);
    for _ in 0..20 {
        assert_eq!(short.ask(b"quick"), b"quick");
    }
    long.send(&[CANCEL]);
    assert_eq!(long.receive(), b"spun true");
    assert!(server.waits(WaitType::SchedulerYield).count >= 10);
    server.stop();
}

#[test]
fn attention_reaches_a_request_that_does_not_wait() {
    let server = Server::start(1);
    let client = server.client();
    client.send(&[SPIN]);
    park::sleep(Duration::from_millis(30), WaitType::WaitFor, None);
    client.send(&[CANCEL]);
    assert_eq!(client.receive(), b"spun true");
    server.stop();
}

#[test]
fn panicking_task_costs_its_connection_only() {
    let server = Server::start(1);
    let (bad, good) = (server.client(), server.client());
    assert_eq!(bad.ask(&[PANIC]), b"");
    assert_eq!(good.ask(b"unharmed"), b"unharmed");
    server.stop();
}

#[test]
fn request_pipelined_behind_a_waiting_one_is_answered_after_it() {
    let server = Server::start(1);
    let client = server.client();
    client.send(&[SLEEP]);
    park::sleep(Duration::from_millis(50), WaitType::WaitFor, None);
    client.send(b"next");
    let mut answers = client.receive();
    while answers.len() < b"TimedOutnext".len() {
        answers.extend(client.receive());
    }
    assert_eq!(answers, b"TimedOutnext");
    server.stop();
}

#[test]
fn stop_lets_a_running_request_finish_and_closes_idle_ones() {
    let server = Server::start(2);
    let (busy, idle) = (server.client(), server.client());
    assert_eq!(idle.ask(b"warm"), b"warm");
    busy.send(&[SLEEP]);
    park::sleep(Duration::from_millis(50), WaitType::WaitFor, None);
    server.stop();
    assert_eq!(busy.receive(), b"TimedOut");
    assert_eq!(busy.receive(), b"");
    assert_eq!(idle.receive(), b"");
    let rows = server.machine.schedulers();
    assert!(rows.iter().all(|row| row.workers == 0 && row.connections == 0), "{rows:?}");
}

#[test]
fn stop_cancels_what_does_not_finish_in_time() {
    let server = Server::start(1);
    let client = server.client();
    client.send(&[PARK]);
    park::sleep(Duration::from_millis(50), WaitType::WaitFor, None);
    let start = clock::monotonic_ns();
    assert_eq!(server.machine.stop(Duration::from_millis(200)), StopOutcome::Clean);
    assert!(ms_since(start) >= 200);
    assert_eq!(client.receive(), b"Cancelled");
}

#[test]
fn slow_reader_makes_its_task_wait_and_nobody_else() {
    let server = Server::start(1);
    let (slow, other) = (server.client(), server.client());
    let chunk = vec![b'z'; 512];
    let mut sent = 0;
    // Until both directions are full: the task waits to write, because the client does not read.
    loop {
        match slow.0.send(&chunk) {
            Ok(count) => sent += count,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                let soon = Some(clock::deadline_ns(Duration::from_millis(200)));
                if !poll_fd(&slow.0, Direction::Writable, soon).expect("polls") {
                    break;
                }
            }
        }
    }
    assert_eq!(other.ask(b"unharmed"), b"unharmed");
    let mut received = 0;
    while received < sent {
        let count = slow.receive().len();
        assert!(count > 0, "the stream ended after {received} of {sent} bytes");
        received += count;
    }
    assert_eq!(received, sent);
    assert!(server.waits(WaitType::AsyncNetworkIo).count > 0);
    server.stop();
}

#[test]
fn ten_thousand_connections_at_once_are_served() {
    // Both ends of each connection are descriptors of this process; some are left for other tests.
    let descriptors = sos::sys::raise_open_files();
    let count = usize::try_from(descriptors.saturating_sub(1000) / 2).unwrap_or(0).min(10_000);
    let server = Server::start(2);
    let clients: Vec<Client> = (0..count).map(|_| server.client()).collect();
    for client in &clients {
        client.send(b"all of you");
    }
    for client in &clients {
        assert_eq!(client.receive(), b"all of you");
    }
    server.stop();
    assert!(clients.iter().all(|client| client.receive().is_empty()));
}

#[test]
fn two_machines_live_side_by_side() {
    let (one, two) = (Server::start(1), Server::start(1));
    assert_eq!(one.client().ask(b"one"), b"one");
    one.stop();
    assert_eq!(two.client().ask(b"two"), b"two");
    two.stop();
}

#[test]
fn connections_beyond_the_worker_limit_wait_their_turn() {
    let config = MachineConfig { schedulers: 1, workers_max: 2, ..MachineConfig::default() };
    let server = Server::with(&config);
    let clients: Vec<Client> = (0..6).map(|_| server.client()).collect();
    for client in &clients {
        client.send(&[SLEEP]);
    }
    for client in &clients {
        assert_eq!(client.receive(), b"TimedOut");
    }
    server.stop();
}

#[test]
fn stop_reaches_requests_when_every_worker_there_may_be_waits() {
    let config = MachineConfig { schedulers: 1, workers_max: 1, ..MachineConfig::default() };
    let server = Server::with(&config);
    let client = server.client();
    client.send(&[PARK]);
    park::sleep(Duration::from_millis(50), WaitType::WaitFor, None);
    assert_eq!(server.machine.stop(Duration::from_millis(200)), StopOutcome::Clean);
    assert_eq!(client.receive(), b"Cancelled");
}

#[test]
fn background_task_runs_every_period_until_the_stop() {
    let machine = Machine::start(&MachineConfig { schedulers: 1, ..MachineConfig::default() })
        .expect("starts");
    let runs = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&runs);
    let run = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        assert!(counter.load(Ordering::Relaxed) != 2, "the second run panics");
    };
    machine.spawn_background("ticker", Duration::from_millis(5), run).expect("spawns");
    let deadline_ns = clock::deadline_ns(Duration::from_secs(20));
    while runs.load(Ordering::Relaxed) < 4 {
        assert!(clock::monotonic_ns() < deadline_ns, "{runs:?} runs in 20 s");
        park::sleep(Duration::from_millis(5), WaitType::WaitFor, None);
    }
    assert_eq!(machine.stop(Duration::from_secs(1)), StopOutcome::Clean);
    let ran = runs.load(Ordering::Relaxed);
    park::sleep(Duration::from_millis(20), WaitType::WaitFor, None);
    assert_eq!(runs.load(Ordering::Relaxed), ran, "it runs after the stop");
}

/// Answers "late" at its deadline and "woken" when another thread wakes it.
struct Patient {
    shared: Arc<Shared>,
    deadline_ns: Option<u64>,
    wakers: Arc<sos::lock::SpinLock<Vec<TaskWaker>>>,
}

impl Task for Patient {
    fn fd(&self) -> BorrowedFd<'_> {
        self.shared.socket.as_fd()
    }

    fn run(&mut self, ready: Ready, waker: &TaskWaker) -> Next {
        let mut buffer = [0; 16];
        if ready.has(Ready::TIMED_OUT) {
            self.deadline_ns = None;
            send_all(&self.shared.socket, b"late");
        } else if ready.has(Ready::WOKEN) {
            send_all(&self.shared.socket, b"woken");
            return Next::Close;
        } else if ready.has(Ready::READABLE) {
            let _ = self.shared.socket.recv(&mut buffer);
            self.wakers.lock().push(waker.clone());
        }
        Next::Keep
    }

    fn deadline_ns(&self) -> Option<u64> {
        self.deadline_ns
    }
}

#[test]
fn task_runs_at_its_deadline_and_when_woken() {
    let machine = Machine::start(&MachineConfig { schedulers: 1, ..MachineConfig::default() })
        .expect("starts");
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("binds");
    let client = {
        let address = listener.local_address().expect("has an address");
        let wakers =
            Arc::new(sos::lock::SpinLock::new(sos::lock::SpinClass::ServerOther, Vec::new()));
        let for_tasks = Arc::clone(&wakers);
        let connect = move |socket, _peer| {
            let shared =
                Arc::new(Shared { socket, cancel: Cancel::new(), interrupts: AtomicU32::new(0) });
            let interrupt: Arc<dyn Interrupt> = Arc::clone(&shared) as Arc<dyn Interrupt>;
            let deadline_ns = Some(clock::deadline_ns(Duration::from_millis(60)));
            let wakers = Arc::clone(&for_tasks);
            Some(Connection { task: Box::new(Patient { shared, deadline_ns, wakers }), interrupt })
        };
        machine.listen(listener, connect).expect("listens");
        let client = Client(Socket::connect(address).expect("connects"));
        assert_eq!(client.receive(), b"late");
        client.send(b"?");
        while wakers.lock().is_empty() {
            park::sleep(Duration::from_millis(1), WaitType::WaitFor, None);
        }
        wakers.lock()[0].wake();
        client
    };
    assert_eq!(client.receive(), b"woken");
    assert_eq!(client.receive(), b"");
    assert_eq!(machine.stop(Duration::from_secs(1)), StopOutcome::Clean);
}

#[test]
fn unpark_reaches_a_task() {
    let server = Server::start(1);
    let client = server.client();
    client.send(&[PARK_SHARED]);
    let mut woken = 0;
    while woken == 0 {
        park::sleep(Duration::from_millis(1), WaitType::WaitFor, None);
        woken = park::unpark_all(KEY);
    }
    let answer = client.receive();
    assert!(answer == b"Signalled", "{answer:?}");
    assert_ne!(Wake::Signalled, Wake::TimedOut);
    server.stop();
}

/// Answers a request only when its number is released; the second byte is the number.
struct Holder {
    shared: Arc<Shared>,
    held: Vec<u8>,
    /// Whether it answers at the release, without a run.
    answers_at_release: bool,
    /// How often it ran for a release.
    runs: Arc<AtomicU32>,
    /// How often it ran while it held an answer and was not released.
    early: Arc<AtomicU32>,
}

impl Task for Holder {
    fn fd(&self) -> BorrowedFd<'_> {
        self.shared.socket.as_fd()
    }

    fn run(&mut self, ready: Ready, _waker: &TaskWaker) -> Next {
        if !self.held.is_empty() {
            if !ready.has(Ready::RELEASED) || self.answers_at_release {
                self.early.fetch_add(1, Ordering::Relaxed);
            }
            self.runs.fetch_add(1, Ordering::Relaxed);
            send_all(&self.shared.socket, &self.held);
            self.held.clear();
        }
        let mut buffer = [0; 2];
        match self.shared.socket.recv(&mut buffer) {
            Ok(2) => {
                self.held = buffer.to_vec();
                Next::Hold(buffer[1].into())
            }
            Ok(_) => Next::Close,
            Err(error) if error.kind() == ErrorKind::WouldBlock => Next::Keep,
            Err(_) => Next::Close,
        }
    }

    fn release(&mut self) -> Option<Next> {
        if !self.answers_at_release {
            return None;
        }
        send_all(&self.shared.socket, &self.held);
        self.held.clear();
        // It reads one request in a run: the next one may be in the socket already.
        Some(Next::Again)
    }
}

#[test]
fn held_answers_leave_when_they_are_released_and_not_before() {
    let machine = Machine::start(&MachineConfig { schedulers: 2, ..MachineConfig::default() })
        .expect("starts");
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("binds");
    let address = listener.local_address().expect("has an address");
    let early = Arc::new(AtomicU32::new(0));
    let runs = Arc::new(AtomicU32::new(0));
    let (of_tasks, runs_of_tasks) = (Arc::clone(&early), Arc::clone(&runs));
    let count = AtomicU32::new(0);
    let connect = move |socket, _peer| {
        let shared =
            Arc::new(Shared { socket, cancel: Cancel::new(), interrupts: AtomicU32::new(0) });
        let interrupt: Arc<dyn Interrupt> = Arc::clone(&shared) as Arc<dyn Interrupt>;
        let (early, runs) = (Arc::clone(&of_tasks), Arc::clone(&runs_of_tasks));
        // The first client's task runs for its answers, the second one's does not, and so on.
        let answers_at_release = count.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        let holder = Holder { shared, held: Vec::new(), answers_at_release, runs, early };
        Some(Connection { task: Box::new(holder), interrupt })
    };
    machine.listen(listener, connect).expect("listens");
    let clients: Vec<Client> =
        (0..8).map(|_| Client(Socket::connect(address).expect("connects"))).collect();
    for round in 1..=50_u8 {
        // Each client asks for another number, the last one first, and sends a second request at
        // once: it must be answered after the first.
        for (client, ahead) in clients.iter().zip(0..) {
            client.send(&[b'a', round + 7 - ahead]);
        }
        machine.release(u64::from(round) + 7);
        for (client, ahead) in clients.iter().zip(0..) {
            assert_eq!(client.receive(), [b'a', round + 7 - ahead]);
        }
    }
    assert_eq!(runs.load(Ordering::Relaxed), 4 * 50, "half of the tasks answer without a run");
    clients[0].send(&[b'b', 200]);
    clients[0].send(&[b'c', 201]);
    clients[1].send(&[b'b', 200]);
    clients[1].send(&[b'c', 201]);
    park::sleep(Duration::from_millis(50), WaitType::WaitFor, None);
    assert_eq!(early.load(Ordering::Relaxed), 0, "a held task runs when it is released");
    machine.release(200);
    assert_eq!(clients[0].receive(), [b'b', 200]);
    assert_eq!(clients[1].receive(), [b'b', 200]);
    machine.release(201);
    assert_eq!(clients[0].receive(), [b'c', 201]);
    assert_eq!(clients[1].receive(), [b'c', 201]);
    // A stop lets a held answer leave.
    clients[1].send(&[b'd', 202]);
    park::sleep(Duration::from_millis(20), WaitType::WaitFor, None);
    let releasing = machine.clone();
    let accounts = Arc::new(ledger::Accounts::new(ledger::SourceChoice::Auto));
    let release = move || {
        park::sleep(Duration::from_millis(50), WaitType::WaitFor, None);
        releasing.release(202);
    };
    let releasing = sos::thread::spawn(&accounts, "releaser", release).expect("spawns");
    assert_eq!(machine.stop(Duration::from_secs(20)), StopOutcome::Clean);
    releasing.join().expect("ends");
    assert_eq!(clients[1].receive(), [b'd', 202]);
}
