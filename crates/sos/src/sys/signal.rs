//! Signals: SIGTERM, SIGINT and SIGHUP, which ask the server to stop, as a descriptor to wait on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{Direction, SysCause, call, poll_fd};
use crate::clock;
use crate::ledger::{self, State};

/// The signals that ask to stop as a wake-up. Must be made before any thread is started, because
/// threads inherit the mask that keeps the signals from killing the process.
#[derive(Debug)]
pub struct StopSignals(OwnedFd);

impl StopSignals {
    /// Takes the signals over from the default action. SIGHUP stays ignored where the process was
    /// started so, as by nohup.
    pub fn new() -> io::Result<Self> {
        call(SysCause::Process, || {
            // SAFETY: a signal set is plain data; zero is a valid value of it.
            let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
            // A blocked signal is queued even if it is ignored.
            let hang_up = (!is_ignored(libc::SIGHUP)).then_some(libc::SIGHUP);
            for signal in [libc::SIGTERM, libc::SIGINT].into_iter().chain(hang_up) {
                // SAFETY: `set` is a valid set and the signal a valid number.
                unsafe { libc::sigaddset(&raw mut set, signal) };
            }
            let none = std::ptr::null_mut();
            // SAFETY: `set` is valid; no old mask is asked for.
            if unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, none) } != 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: `set` is valid; -1 asks for a new descriptor.
            let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the kernel has just returned this descriptor, so nothing else owns it.
            Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
        })
    }

    /// Waits until the process is asked to stop.
    pub fn wait(&self) -> io::Result<()> {
        let before = ledger::to(State::Idle);
        let waited = poll_fd(&self.0, Direction::Readable, None);
        ledger::to(before);
        waited.map(drop)
    }

    /// Waits up to `time` until the process is asked to stop; returns whether it was.
    pub fn came_within(&self, time: Duration) -> io::Result<bool> {
        let before = ledger::to(State::Idle);
        let came = poll_fd(&self.0, Direction::Readable, Some(clock::deadline_ns(time)));
        ledger::to(before);
        came
    }

    /// Whether the process has been asked to stop.
    pub fn came(&self) -> io::Result<bool> {
        poll_fd(&self.0, Direction::Readable, Some(0))
    }
}

/// The signal that asks a process to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// SIGINT: a user pressed Ctrl-C.
    Interrupt,
    /// SIGTERM, from a service manager or `kill`.
    Terminate,
    /// SIGHUP: the terminal was closed.
    HangUp,
}

impl Stop {
    /// Returns the signal's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
        }
    }
}

/// Whether the process was started with this signal ignored.
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: a `sigaction` is plain data; zero is a valid value of it.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is set, and `action` is writable.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

impl StopSignals {
    /// Takes one signal that has come, so that a later one is seen; `None` if there is none.
    pub fn take(&self) -> io::Result<Option<Stop>> {
        if !self.came()? {
            return Ok(None);
        }
        // A `signalfd_siginfo`, which starts with the signal's number.
        let mut info = [0_u8; 128];
        let count = call(SysCause::Process, || rustix::io::read(&self.0, &mut info))?;
        let number = info[..count].first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
        Ok(Some(match number {
            libc::SIGINT => Stop::Interrupt,
            libc::SIGHUP => Stop::HangUp,
            // The only other signal of the set.
            _ => Stop::Terminate,
        }))
    }
}

impl AsFd for StopSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Makes a command start with no signal blocked: a child inherits the mask of its parent, and with
/// that of [`StopSignals`] it could not be asked to stop.
pub fn clear_signal_mask(command: &mut Command) {
    let clear = || {
        // SAFETY: a signal set is plain data; zero is a valid value of it.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: `set` is writable.
        unsafe { libc::sigemptyset(&raw mut set) };
        let none = std::ptr::null_mut();
        // SAFETY: `set` is valid; no old mask is asked for.
        match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, none) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    };
    // SAFETY: between fork and exec this only calls functions that are safe there
    // (signal-safety(7)), and allocates nothing.
    unsafe { command.pre_exec(clear) };
}

/// Asks another process to stop.
///
/// # Errors
/// If there is no such process, or this process may not signal it.
pub fn ask_to_stop(process_id: u32, stop: Stop) -> io::Result<()> {
    let signal = match stop {
        Stop::Interrupt => Signal::INT,
        Stop::Terminate => Signal::TERM,
        Stop::HangUp => Signal::HUP,
    };
    let process = process_of(process_id)?;
    Ok(call(SysCause::Process, || kill_process(process, signal))?)
}

/// Kills a process that leads a group, and all of its group, at once.
///
/// # Errors
/// If there is no such group, or this process may not signal it.
pub fn kill_group(process_id: u32) -> io::Result<()> {
    let process = process_of(process_id)?;
    Ok(call(SysCause::Process, || kill_process_group(process, Signal::KILL))?)
}

fn process_of(id: u32) -> io::Result<Pid> {
    let process = i32::try_from(id).ok().and_then(Pid::from_raw);
    process.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Makes writes to a closed connection fail instead of killing the process.
pub fn ignore_sigpipe() {
    // SAFETY: SIG_IGN is a valid disposition and runs no code.
    call(SysCause::Process, || unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) });
}

/// Makes writes past the limit of a file's size (RLIMIT_FSIZE) fail instead of killing the process.
pub fn ignore_sigxfsz() {
    // SAFETY: SIG_IGN is a valid disposition and runs no code.
    call(SysCause::Process, || unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) });
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_child_of_whoever_takes_signals_over_can_be_stopped() {
        let _signals = StopSignals::new().unwrap();
        let mut command = Command::new("sleep");
        command.arg("60");
        clear_signal_mask(&mut command);
        let mut child = command.spawn().unwrap();
        ask_to_stop(child.id(), Stop::Terminate).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        assert!(
            ask_to_stop(0, Stop::Interrupt).is_err(),
            "0 means no process, and not the own group"
        );
    }
}
