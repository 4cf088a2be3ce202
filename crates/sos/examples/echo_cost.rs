//! Compares the cost of a request through the machine with a bare epoll loop: CPU time and system
//! calls per request, 64 connections, 150 bytes in, 120 out. Client and server are on different
//! CPUs if there are two. `cargo run --release -p sos --example echo_cost`
#![expect(clippy::print_stdout, reason = "it is a measuring tool")]

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc;
use std::time::Duration;

use sos::clock;
use sos::ledger::Accounts;
use sos::park;
use sos::sched::{
    Affinity, Connection, Interrupt, Machine, MachineConfig, Next, Ready, Task, TaskWaker,
};
use sos::sync::{Arc, AtomicBool, AtomicU64, Ordering};
use sos::sys::{self, Listener, Socket};
use sos::thread;
use sos::wait::WaitType;

const CONNECTIONS: usize = 64;
const REQUEST_BYTES: usize = 150;
const ANSWER_BYTES: usize = 120;
const ROUND: Duration = Duration::from_secs(2);

struct Echo(Arc<Socket>);
struct Quiet;

impl Interrupt for Quiet {
    fn interrupt(&self) {}
    fn stop(&self) {}
}

impl Task for Echo {
    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn run(&mut self, _ready: Ready, _waker: &TaskWaker) -> Next {
        answer(&self.0)
    }
}

fn answer(socket: &Socket) -> Next {
    let mut buffer = [0; 4096];
    match socket.recv(&mut buffer) {
        Ok(0) | Err(_) => Next::Close,
        Ok(_) => match socket.send(&buffer[..ANSWER_BYTES]) {
            Ok(_) => Next::Keep,
            Err(_) => Next::Close,
        },
    }
}

/// The same work in a loop of only epoll_wait, recv and send.
fn bare_server(listener: Listener, stop: &AtomicBool) {
    use rustix::event::epoll;
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC).expect("makes an epoll");
    let mut sockets = Vec::new();
    while sockets.len() < CONNECTIONS {
        let Ok((socket, _)) = listener.accept() else { continue };
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        let token = epoll::EventData::new_u64(sockets.len() as u64);
        epoll::add(&poller, &socket, token, flags).expect("adds");
        sockets.push(socket);
    }
    let mut events = Vec::with_capacity(64);
    let pause = rustix::event::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    while !stop.load(Ordering::Relaxed) {
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        epoll::wait(&poller, room, Some(&pause)).expect("waits");
        for event in &events {
            let index = usize::try_from(event.data.u64()).expect("is an index");
            answer(&sockets[index]);
        }
    }
}

/// Keeps every connection busy from one thread; returns the number of requests done.
fn client(address: SocketAddr, done: &AtomicBool) -> u64 {
    use rustix::event::epoll;
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC).expect("makes an epoll");
    let sockets: Vec<Socket> =
        (0..CONNECTIONS).map(|_| Socket::connect(address).expect("connects")).collect();
    let request = [7; REQUEST_BYTES];
    for (index, socket) in sockets.iter().enumerate() {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&poller, socket, epoll::EventData::new_u64(index as u64), flags).expect("adds");
        socket.send(&request).expect("sends");
    }
    let mut events = Vec::with_capacity(64);
    let (mut requests, mut buffer) = (0, [0; 4096]);
    while !done.load(Ordering::Relaxed) {
        events.clear();
        epoll::wait(&poller, rustix::buffer::spare_capacity(&mut events), None).expect("waits");
        for event in &events {
            let socket = &sockets[usize::try_from(event.data.u64()).expect("is an index")];
            assert_eq!(socket.recv(&mut buffer).expect("receives"), ANSWER_BYTES);
            socket.send(&request).expect("sends");
            requests += 1;
        }
    }
    requests
}

/// Runs a round of load; returns the number of requests, and the growth of `server_ns`.
fn load(address: SocketAddr, server_ns: impl Fn() -> u64) -> (u64, u64) {
    let accounts = Arc::<Accounts>::default();
    let done = Arc::new(AtomicBool::new(false));
    let requests = Arc::new(AtomicU64::new(0));
    let (flag, count) = (Arc::clone(&done), Arc::clone(&requests));
    let run = move || {
        let cpus = sys::allowed_cpus();
        let _ = sys::pin_to_cpu(cpus[cpus.len() - 1]);
        count.store(client(address, &flag), Ordering::Relaxed);
    };
    let before = server_ns();
    let handle = thread::spawn(&accounts, "client", run).expect("spawns");
    park::sleep(ROUND, WaitType::WaitFor, None);
    let cpu_ns = server_ns() - before;
    done.store(true, Ordering::Relaxed);
    handle.join().expect("loads");
    (requests.load(Ordering::Relaxed), cpu_ns)
}

fn on_cpu_ns(thread_id: u32) -> u64 {
    sys::run_times(thread_id).map_or(0, |times| times.on_cpu_ns)
}

fn bare_round() -> (u64, u64) {
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("binds");
    let address = listener.local_address().expect("has an address");
    let stop = Arc::new(AtomicBool::new(false));
    let (flag, (sender, receiver)) = (Arc::clone(&stop), mpsc::channel());
    let run = move || {
        let _ = sys::pin_to_cpu(sys::allowed_cpus()[0]);
        sender.send(sys::thread_id()).expect("is awaited");
        bare_server(listener, &flag);
    };
    let handle = thread::spawn(&Arc::default(), "bare", run).expect("spawns");
    let id = receiver.recv().expect("starts");
    let result = load(address, || on_cpu_ns(id));
    stop.store(true, Ordering::Relaxed);
    handle.join().expect("serves");
    result
}

fn machine_round() -> (u64, u64) {
    let affinity = Affinity::Pinned;
    let config = MachineConfig { schedulers: 1, affinity, ..MachineConfig::default() };
    let began_ns = clock::monotonic_ns();
    let machine = Machine::start(&config).expect("starts");
    println!("           machine starts in {} us", (clock::monotonic_ns() - began_ns) / 1000);
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("binds");
    let address = listener.local_address().expect("has an address");
    let connect = |socket, _peer| {
        let task = Box::new(Echo(Arc::new(socket)));
        Some(Connection { task, interrupt: Arc::new(Quiet) })
    };
    machine.listen(listener, connect).expect("listens");
    // The workers open their accounts themselves.
    park::sleep(Duration::from_millis(50), WaitType::WaitFor, None);
    let threads = machine.accounts().threads();
    let workers: Vec<u32> = threads
        .iter()
        .filter(|account| account.name().starts_with("sched"))
        .map(|account| account.thread_id())
        .collect();
    let result = load(address, || workers.iter().map(|&id| on_cpu_ns(id)).sum());
    let calls = machine.accounts().sys_calls();
    let counts: Vec<String> = calls
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(cause, count)| format!("{cause} {:.3}", *count as f64 / result.0 as f64))
        .collect();
    println!("           calls per request: {}", counts.join(", "));
    machine.stop(Duration::from_secs(1));
    result
}

fn main() {
    clock::refine();
    for round in 0..3 {
        let (requests, cpu_ns) = bare_round();
        let bare = cpu_ns as f64 / requests as f64;
        println!("{round}: bare    {requests:>8} requests, {bare:.0} ns CPU each");
        let (requests, cpu_ns) = machine_round();
        let through = cpu_ns as f64 / requests as f64;
        println!(
            "{round}: machine {requests:>8} requests, {through:.0} ns CPU each, {:.2} times",
            through / bare
        );
    }
}
