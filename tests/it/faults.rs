//! Injected faults: the ledger, as a client reads it, must book each under a different category.
//!
//! `sp_clearway_fault` is there only in builds with debug assertions, and so are these tests.

use std::process::{Child, Command, Stdio};

use crate::books::Books;
use crate::client::{Client, errors};
use crate::server::{PASSWORD, ServerProcess, first_allowed_cpu};

/// Nanoseconds in a millisecond.
const MS: i64 = 1_000_000;

/// Runs a fault on a new connection and returns what it added to the ledger.
fn books_of(server: &ServerProcess, fault: &str, milliseconds: u32) -> Books {
    let (mut reader, mut faulty) = (Client::log_in(server.address), Client::log_in(server.address));
    let before = Books::read(&mut reader);
    run(&mut faulty, fault, milliseconds);
    Books::read(&mut reader).since(&before)
}

fn run(client: &mut Client, fault: &str, milliseconds: u32) {
    let tokens = client.batch(&format!("EXEC sp_clearway_fault N'{fault}', {milliseconds}"));
    assert!(errors(&tokens).is_empty(), "{:?}", errors(&tokens));
}

#[test]
fn sleep_in_a_running_state_is_unexpected_blocking() {
    let server = ServerProcess::start(&[]);
    let books = books_of(&server, "sleep", 300);
    let found = books.category("unexpected_blocking");
    assert!((295 * MS..450 * MS).contains(&found.wall), "{:?}", books.grown());
    assert_eq!(found.on_cpu, 0, "who sleeps needs no CPU");
    assert!(books.category("user").wall < 150 * MS, "{:?}", books.grown());
}

#[test]
fn bare_system_calls_are_kernel_time_that_no_wrapper_named() {
    let server = ServerProcess::start(&[]);
    let books = books_of(&server, "call_kernel", 600);
    let (found, cpu) = (books.row("kernel", "unwrapped").on_cpu, books.total().on_cpu);
    // Other processes may have used the CPU, and the kernel's split of it is sampled at its ticks.
    assert!(cpu > 50 * MS, "{:?}", books.grown());
    assert!(found * 10 > cpu * 6, "{found} of {cpu}: {:?}", books.grown());
}

#[test]
fn waiting_for_a_lock_held_long_is_spinning_by_its_class() {
    let server = ServerProcess::start(&["--schedulers", "2"]);
    // Connections take turns on the schedulers, so that neighbours are on different ones.
    let mut reader = Client::log_in(server.address);
    let mut holder = Client::log_in(server.address);
    let mut waiter = Client::log_in(server.address);
    let before = Books::read(&mut reader);
    std::thread::scope(|scope| {
        scope.spawn(|| run(&mut holder, "hold", 400));
        crate::server::pause();
        crate::server::pause();
        run(&mut waiter, "contend", 0);
    });
    let books = Books::read(&mut reader).since(&before);
    // Spinning, and spinning without a CPU where others have it.
    let spun = books.row("spin", "SERVER_OTHER");
    let queued = books.row("runnable", "SERVER_OTHER");
    assert!(spun.wall > 0, "{:?}", books.grown());
    assert!((250 * MS..900 * MS).contains(&(spun.wall + queued.wall)), "{:?}", books.grown());
}

#[test]
fn busy_neighbour_makes_running_threads_runnable() {
    let cpu = first_allowed_cpu();
    let arguments = ["-c", &cpu, env!("CARGO_BIN_EXE_clearway")];
    let serve = ["serve", "--port", "0", "--sa-password", PASSWORD];
    let mut pinned = Command::new("taskset");
    pinned.args(arguments).args(serve).stdin(Stdio::null());
    pinned.stdout(Stdio::piped()).stderr(Stdio::piped());
    let server = ServerProcess::start_command(pinned);
    let neighbour = Neighbour::on(&cpu);
    let books = books_of(&server, "compute", 600);
    drop(neighbour);
    let ran = books.category("user").on_cpu;
    let waited = books.total().runnable;
    assert!(waited > 150 * MS, "{:?}", books.grown());
    assert!((550 * MS..900 * MS).contains(&(ran + waited)), "{:?}", books.grown());
    // What a hypervisor takes away in the midst is neither; most of the wait is the neighbour's.
    assert!(books.category("unexpected_blocking").wall < waited / 2, "{:?}", books.grown());
}

#[test]
fn unknown_fault_is_an_error() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let tokens = client.batch("EXEC sp_clearway_fault N'earthquake', 1");
    assert_eq!(errors(&tokens).len(), 1, "{tokens:?}");
}

/// A process that never rests.
struct Neighbour(Child);

impl Neighbour {
    fn on(cpu: &str) -> Self {
        let busy = "while :; do :; done";
        let child = Command::new("taskset").args(["-c", cpu, "sh", "-c", busy]).spawn();
        Self(child.expect("taskset runs"))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // It cannot have ended, and if so that is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
