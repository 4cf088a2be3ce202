//! `Limit`: ends a run that makes no progress, after it has printed the threads of both sides, each with
//! the call in which it waits.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use sos::clock;
use sos::ledger::Accounts;
use sos::sync::{Arc, AtomicBool, Ordering};

/// How long a run may take, its setup included.
const RUN_MAX: Duration = Duration::from_secs(240);
const LOOK: Duration = Duration::from_millis(500);

/// Watches a run until it is dropped.
pub(crate) struct Limit {
    is_over: Arc<AtomicBool>,
}

impl Limit {
    /// Starts to watch. When the time is over, the server and this process's other children are
    /// killed, and what waits for them goes on.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(server: u32) -> Result<Self, String> {
        let is_over = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&is_over);
        let end_ns = clock::deadline_ns(RUN_MAX);
        let watch = move || {
            while !watched.load(Ordering::Relaxed) {
                if clock::monotonic_ns() > end_ns {
                    return end(server);
                }
                load::pause(LOOK);
            }
        };
        let accounts = Arc::new(Accounts::default());
        let started = sos::thread::spawn(&accounts, "limit", watch);
        started.map_err(|error| format!("the thread that watches the run: {error}"))?;
        Ok(Self { is_over })
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn end(server: u32) {
    let mut all = children();
    all.push(std::process::id());
    eprintln!("the run has not ended after {} s; threads and where they wait:", RUN_MAX.as_secs());
    all.iter().for_each(|process| print_threads(*process));
    for process in children().into_iter().chain([server]) {
        // It may have ended by now.
        let _ = Command::new("kill")
            .args(["-KILL", &process.to_string()])
            .stderr(Stdio::null())
            .status();
    }
}

/// The processes that this one has started.
fn children() -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let of = |thread: &Path| std::fs::read_to_string(thread.join("children")).unwrap_or_default();
    let texts: Vec<String> = threads.flatten().map(|thread| of(&thread.path())).collect();
    texts.iter().flat_map(|text| text.split_whitespace()).filter_map(|id| id.parse().ok()).collect()
}

fn print_threads(process: u32) {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return };
    for thread in threads.flatten() {
        let of = |name: &str| {
            let text = std::fs::read_to_string(thread.path().join(name)).unwrap_or_default();
            text.trim().to_owned()
        };
        let state = of("stat").rsplit(')').next().unwrap_or_default().trim().chars().next();
        eprintln!(
            "  {process} {}: {} {} {}",
            of("comm"),
            state.unwrap_or('?'),
            of("wchan"),
            of("syscall")
        );
    }
}
