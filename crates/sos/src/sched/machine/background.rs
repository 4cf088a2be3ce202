//! Background threads: each runs one piece of work once, per period, or per event, until the
//! machine stops.

use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

use super::Machine;
use crate::clock;
use crate::ledger::{self, State};
use crate::memory::{self, TIDY_NS};
use crate::park::{self, Cancel};
use crate::sched::activity::{Activity, Role};
use crate::sync::Arc;
use crate::thread;
use crate::wait::WaitType;

impl Machine {
    /// Runs `run` once on a new thread; [`Self::stop`] waits for its end.
    pub fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.shared.keep_handle(self.spawn_apart(name, run)?);
        Ok(())
    }

    /// As [`Self::spawn`], but the caller ends the thread and waits for it: for work that must go on
    /// while requests finish.
    pub fn spawn_apart(
        &self,
        name: &str,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let shared = Arc::clone(&self.shared);
        let of_thread = name.to_owned();
        let body = move || {
            ledger::to(State::Background);
            let activity = Arc::new(Activity::of_this_thread(&of_thread, Role::Background));
            let _on_roster = shared.roster.enter(&activity);
            if let Err(message) = thread::contain(run) {
                crate::error_log::line(&format_args!("A background thread panicked: {message}"));
            }
        };
        thread::spawn(&self.shared.accounts, name, body)
    }

    /// Runs `run` once per period on a new thread, until the machine stops. A panic ends
    /// one run, not the thread.
    pub fn spawn_background(
        &self,
        name: &str,
        period: Duration,
        run: impl FnMut() + Send + 'static,
    ) -> io::Result<()> {
        let wait = move |stopping: &Cancel| {
            park::sleep(period, WaitType::SleepTask, Some(stopping));
        };
        self.spawn_waiting(name, wait, run)
    }

    /// Runs `run` on a new thread each time that `wait` returns, until the machine stops.
    /// `wait` receives the flag that is set then. A panic ends one run, not the thread.
    pub fn spawn_waiting(
        &self,
        name: &str,
        mut wait: impl FnMut(&Cancel) + Send + 'static,
        mut run: impl FnMut() + Send + 'static,
    ) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        self.spawn(name, move || {
            let mut tidied_ns = 0;
            loop {
                wait(&shared.stopping);
                if shared.stopping.is_set() {
                    return;
                }
                if let Err(message) = thread::contain(&mut run) {
                    crate::error_log::line(&format_args!("A background task panicked: {message}"));
                }
                let now_ns = clock::monotonic_ns();
                if now_ns - tidied_ns >= TIDY_NS {
                    memory::tidy();
                    tidied_ns = now_ns;
                } else {
                    memory::retire();
                }
            }
        })
    }

    /// The flag that is set when the machine begins to stop, for threads made with [`Self::spawn`].
    #[must_use]
    pub fn stopping(&self) -> &Cancel {
        &self.shared.stopping
    }
}
