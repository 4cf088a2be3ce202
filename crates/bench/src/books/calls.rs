//! System calls by cause: compares the ledger's counts with those of `strace`, which sees every
//! call.

use std::time::Duration;

use load::{Result, ServerProcess};

use super::inside::Inside;
use super::loads::{Load, NAMES};
use super::tools::{self, Tool};
use crate::setup::connect;

/// How long the load runs while it is traced.
const WINDOW: Duration = Duration::from_millis(1_000);
/// The largest relative difference of the counts: calls of the reading itself, and of attaching.
pub(crate) const TOLERANCE: f64 = 0.02;
/// Fewer calls than this are not compared.
const COUNT_MIN: u64 = 500;

/// The counts of both sides.
pub(crate) struct Calls {
    pub(crate) rows: Vec<Count>,
    /// Calls that no wrapper of the ledger counts, by name.
    pub(crate) others: Vec<(String, u64)>,
}

/// A cause and its system calls.
pub(crate) struct Count {
    pub(crate) cause: &'static str,
    pub(crate) ledger: i64,
    pub(crate) strace: u64,
}

/// The calls that only one cause makes.
const CAUSES: [(&str, &[&str]); 6] = [
    ("accept", &["accept", "accept4"]),
    ("recv", &["recvfrom", "recvmsg"]),
    ("send", &["sendto", "sendmsg"]),
    ("poll", &["epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll"]),
    ("futex", &["futex"]),
    ("yield", &["sched_yield"]),
];

/// Returns the cause of a system call by the call's name; the name itself if several causes make
/// it.
pub(crate) fn cause_of(call: &str) -> &str {
    let cause = CAUSES.iter().find(|(_, names)| names.contains(&call));
    cause.map_or(call, |(cause, _)| cause)
}

impl Count {
    /// Returns the relative difference; `None` if there are too few calls.
    pub(crate) fn difference(&self) -> Option<f64> {
        let (ledger, strace) =
            (super::compare::float(self.ledger), super::compare::unsigned(self.strace));
        (self.strace >= COUNT_MIN).then(|| (ledger - strace) / strace)
    }
}

/// Runs the first load under `strace` and compares the counts.
pub(crate) fn count(server: &ServerProcess) -> Result<Calls> {
    let mut load = Load::open(NAMES[0], server)?;
    let mut reader = connect(server, "")?;
    let strace = Tool::system_calls(server.id())?;
    let before = Inside::read(&mut reader)?;
    load.generator.run(&load.script, WINDOW)?;
    let after = Inside::read(&mut reader)?;
    let seen = tools::calls(&strace.stop()?);
    let inside = after.since(&before);
    let rows = CAUSES.map(|(cause, names)| {
        let of_cause =
            |place: &super::inside::Place| place.category == "kernel" && place.name == cause;
        let strace = seen.iter().filter(|(name, _)| names.contains(&name.as_str()));
        Count {
            cause,
            ledger: inside.sum(of_cause).occurrences,
            strace: strace.map(|(_, count)| count).sum(),
        }
    });
    let is_other = |name: &str| !CAUSES.iter().any(|(_, names)| names.contains(&name));
    let others = seen.into_iter().filter(|(name, _)| is_other(name)).collect();
    Ok(Calls { rows: rows.into(), others })
}
