//! What a case does to others: how late they are answered, in CPU time of the server, and how much memory the process has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::client::Client;
use crate::server::ServerProcess;

/// A session that sends `SELECT 1` each few milliseconds.
pub(super) struct Asker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    /// How many answers have come so far.
    answers: AtomicU64,
    /// The slowest since it was last read: the CPU time that the server used until the answer came.
    slowest_ns: AtomicU64,
}

impl Asker {
    /// Starts it beside what is measured.
    #[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
    pub(super) fn start(server: &ServerProcess) -> Self {
        let shared = Arc::new(Shared::default());
        let mut client = Client::log_in_patiently(server.address, Duration::from_secs(600));
        let (own, server) = (Arc::clone(&shared), server.id());
        let thread = thread::spawn(move || {
            while !own.is_over.load(Ordering::Relaxed) {
                let start = cpu_ns(server);
                client.batch("SELECT 1");
                let used = cpu_ns(server).saturating_sub(start);
                own.slowest_ns.fetch_max(used, Ordering::Relaxed);
                own.answers.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(2));
            }
        });
        Self { shared, thread: Some(thread) }
    }

    /// Returns the slowest answer since the last call, in milliseconds of CPU. The one that is under way counts too: it waits
    /// for two more.
    pub(super) fn slowest_ms(&self) -> u64 {
        let enough = self.shared.answers.load(Ordering::Relaxed) + 2;
        while self.shared.answers.load(Ordering::Relaxed) < enough {
            crate::server::pause();
        }
        self.shared.slowest_ns.swap(0, Ordering::Relaxed) / 1_000_000
    }
}

/// Returns the CPU time of a process's threads so far.
pub(super) fn cpu_ns(process: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("the server lives");
    let used = threads.flatten().filter_map(|thread| {
        // A thread may end between the two looks.
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    used.sum()
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It fails where the server has ended, which the test says itself.
            let _ = thread.join();
        }
    }
}

/// Samples the process's anonymous memory each millisecond.
pub(super) struct Peak {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Peak {
    /// Starts a thread that looks until the end.
    #[expect(clippy::disallowed_methods, reason = "a test has no machine to run threads on")]
    pub(super) fn start(server: &ServerProcess) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (own, path) = (Arc::clone(&is_over), format!("/proc/{}/status", server.id()));
        let thread = thread::spawn(move || {
            let mut most = 0;
            while !own.load(Ordering::Relaxed) {
                let text = std::fs::read_to_string(&path).expect("the server lives");
                let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
                let kb = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
                most = most.max(kb.unwrap_or(0));
                thread::sleep(Duration::from_millis(1));
            }
            most
        });
        Self { is_over, thread }
    }

    /// Returns the most that was seen, in KB.
    pub(super) fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("the server lives")
    }
}
