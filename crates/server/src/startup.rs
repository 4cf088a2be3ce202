//! `Startup`: whether the server has its data, and how far it is until then.
//!
//! The port is open from the first moment. Logins need the definitions, which come from the same
//! recovery as the rows. So a login waits until the server is ready, and gets error 17187 if that
//! takes too long.

use std::io;
use std::time::Duration;

use durable::Progress;
use sos::park;
use sos::sched::Machine;
use sos::sync::{Arc, AtomicBool, Ordering};
use sos::wait::WaitType;
use types::Error;

use crate::log;

/// How long a login waits for the server to be ready, at most; and at most half of the time that a
/// login may take. Drivers give up after 15 seconds, and then cannot say why.
pub(crate) const LOGIN_PATIENCE: Duration = Duration::from_secs(10);

/// How often a login that waits looks again.
pub(crate) const LOGIN_PERIOD: Duration = Duration::from_millis(20);

/// How often the progress is written to the log.
const REPORT_PERIOD: Duration = Duration::from_secs(2);

/// Error 17187: the server is not ready.
const NOT_READY: i32 = 17_187;

/// How far the server's start is.
#[derive(Debug, Default)]
pub(crate) struct Startup {
    pub(crate) progress: Progress,
    is_ready: AtomicBool,
}

impl Startup {
    /// Returns whether logins are accepted.
    pub(crate) fn is_ready(&self) -> bool {
        // Acquire: pairs with the Release in `end`.
        self.is_ready.load(Ordering::Acquire)
    }

    /// Notes that the server is ready, or that it will never be.
    pub(crate) fn end(&self) {
        // Release: pairs with the Acquire in `is_ready`.
        self.is_ready.store(true, Ordering::Release);
    }

    /// Writes the progress to the log until the start has ended, as SQL Server's message 3450 does.
    pub(crate) fn report(self: &Arc<Self>, machine: &Machine, name: &str) -> io::Result<()> {
        let (this, name) = (Arc::clone(self), name.to_owned());
        let body = move || loop {
            park::sleep(REPORT_PERIOD, WaitType::SleepTask, None);
            if this.is_ready() {
                return;
            }
            log::line(&format_args!("Recovery of {name} is {}", this.progress.read()));
        };
        // It ends by itself.
        machine.spawn_apart("recovery progress", body).map(drop)
    }

    /// Returns the error of a login that has waited for long.
    pub(crate) fn not_ready(&self) -> Error {
        let text = format!(
            "SQL Server is not ready to accept new client connections. Wait a few minutes before \
             trying again. If you have access to the error log, look for the informational message \
             that indicates that SQL Server is ready before trying to connect again. Recovery is {}",
            self.progress.read()
        );
        Error::custom(NOT_READY, 16, 1, text)
    }
}
