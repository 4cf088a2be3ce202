//! Hostile environments: without restartable sequences, without `/proc`, without system calls that
//! containers refuse, on one CPU. The server starts, answers, and says what it has lost.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use types::Value;

use crate::books::Books;
use crate::client::Client;
use crate::server::{PASSWORD, ServerProcess, command, first_allowed_cpu};

/// What [`launch`] is to forbid, by name, with commas.
const FORBIDDEN: &str = "CLEARWAY_TEST_FORBIDDEN";

/// Arguments of a server on a free port.
const SERVE: [&str; 5] = ["serve", "--port", "0", "--sa-password", PASSWORD];

/// No test: becomes a server that may not make some system calls. A filter can only be put on the
/// process itself, so the tests run this one in a child process.
#[test]
#[ignore = "started by other tests"]
fn launch() {
    let forbidden = std::env::var(FORBIDDEN).expect("the starter names the calls");
    let names: Vec<_> = forbidden.split(',').collect();
    sos::sys::forbid_calls(&names).expect("the kernel takes the filter");
    panic!("{}", command(&SERVE).stdout(Stdio::inherit()).stderr(Stdio::inherit()).exec());
}

/// Starts a server that may not make these system calls.
fn start_without(calls: &str) -> ServerProcess {
    let own = std::env::current_exe().expect("a test has a binary");
    let mut starter = Command::new(own);
    starter.args(["--exact", "environments::launch", "--ignored", "--nocapture"]);
    starter.env(FORBIDDEN, calls).stdin(Stdio::null());
    starter.stdout(Stdio::piped()).stderr(Stdio::piped());
    ServerProcess::start_command(starter)
}

/// Starts a server behind another program that becomes it.
fn start_behind(program: &str, arguments: &[&str]) -> ServerProcess {
    let mut starter = Command::new(program);
    starter.args(arguments).arg(env!("CARGO_BIN_EXE_clearway")).args(SERVE).stdin(Stdio::null());
    starter.stdout(Stdio::piped()).stderr(Stdio::piped());
    ServerProcess::start_command(starter)
}

/// Checks that it answers, and returns its books after some work.
fn working(server: &ServerProcess) -> Books {
    let mut client = Client::log_in(server.address);
    let before = Books::read(&mut client);
    for _ in 0..200 {
        assert_eq!(client.value_of("6 * 7"), Value::Int(42));
    }
    Books::read(&mut client).since(&before)
}

/// What the server says of its ledger when it starts.
fn ledger_line(server: &ServerProcess) -> &str {
    let line = server.banner.lines().find(|line| line.starts_with("Ledger: "));
    line.unwrap_or_else(|| panic!("no line about the ledger:\n{}", server.banner))
}

/// Checks that the server works, that its books close as well as the source lets them, and that start
/// and view name the same source.
fn assert_works(server: &ServerProcess, sources: &[&str]) {
    let books = working(server);
    assert!(sources.contains(&books.source.as_str()), "{}", books.source);
    assert!(ledger_line(server).contains(&books.source), "{}", ledger_line(server));
    let (all, idle) = (books.total(), books.category("idle"));
    assert!(all.wall > idle.wall, "{:?}", books.grown());
    let (parts, wall) = (all.on_cpu + all.runnable + all.blocked, all.wall);
    assert!(parts.abs_diff(wall) * 100 <= wall.unsigned_abs(), "{parts} of {wall}");
}

#[test]
fn without_restartable_sequences_switches_are_learnt_otherwise() {
    let mut starter = command(&SERVE);
    starter.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    let server = ServerProcess::start_command(starter);
    assert_works(&server, &["switch_records", "schedstat"]);
}

#[test]
fn without_what_containers_refuse_the_books_are_read_once_a_second() {
    let server = start_without("perf_event_open,membarrier,rseq");
    assert_works(&server, &["schedstat"]);
    assert!(ledger_line(&server).contains("divided over states"), "{}", ledger_line(&server));
}

#[test]
fn without_affinity_it_starts() {
    let server = start_without("sched_setaffinity,sched_getaffinity");
    assert_works(&server, &["rseq", "switch_records", "schedstat"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
fn without_io_uring_each_answer_leaves_alone() {
    let server = start_without("io_uring_setup");
    let address = server.address;
    let ask = move || {
        let mut client = Client::log_in(address);
        for n in 0..200 {
            assert_eq!(client.value_of(&format!("{n} + 1")), Value::Int(n + 1));
        }
    };
    let clients: Vec<_> = (0..8).map(|_| std::thread::spawn(ask)).collect();
    for client in clients {
        client.join().expect("each answer is right");
    }
    assert_works(&server, &["rseq", "switch_records", "schedstat"]);
}

#[test]
fn without_proc_there_is_the_clock_alone() {
    let script = "mount -t tmpfs none /proc && exec \"$0\" \"$@\"";
    let probe = Command::new("unshare").args(["-rm", "sh", "-c", script, "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: this machine does not allow hiding /proc from a process");
        return;
    }
    let server = start_behind("unshare", &["-rm", "sh", "-c", script]);
    assert_works(&server, &["wall_only"]);
}

#[test]
fn on_one_cpu_it_works() {
    let server = start_behind("taskset", &["-c", &first_allowed_cpu()]);
    assert_works(&server, &["rseq", "switch_records", "schedstat"]);
    let mut client = Client::log_in(server.address);
    let schedulers = "(SELECT COUNT(*) FROM sys.dm_os_schedulers WHERE status = 'VISIBLE ONLINE')";
    assert_eq!(client.value_of(schedulers), Value::Int(1));
}

#[test]
fn each_source_can_be_asked_for() {
    for (asked, found) in [("wall", "wall_only"), ("schedstat", "schedstat")] {
        let server = ServerProcess::start(&["--ledger", asked]);
        assert_works(&server, &[found]);
    }
}

#[test]
fn an_unprivileged_user_loses_nothing_here() {
    if !is_root() {
        // Then every other test has run as an unprivileged user.
        return;
    }
    let mut starter = command(&SERVE);
    starter.uid(65_534).gid(65_534).current_dir("/");
    let here = ServerProcess::start(&[]);
    let there = ServerProcess::start_command(starter);
    assert_works(&there, &[working(&here).source.as_str()]);
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}
