//! What the kernel counts for the threads of this process, those that the machine did not start
//! included.

use std::fs;
use std::io;

use super::{RunTimes, SysCause, call};

/// A thread of the process that has no ledger account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignThread {
    /// The operating system's id of the thread.
    pub thread_id: u32,
    /// The name that the kernel has for it.
    pub name: Box<str>,
    /// The thread's schedstat since it started.
    pub times: RunTimes,
}

/// The threads of the process that are not among `known`, which is sorted.
#[must_use]
pub fn foreign_threads(known: &[u32]) -> Vec<ForeignThread> {
    let task_ids = || -> io::Result<Vec<u32>> {
        let ids = fs::read_dir("/proc/self/task")?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        Ok(ids.filter(|id| known.binary_search(id).is_err()).collect())
    };
    // Without /proc no thread is listed; the ledger's source shows that then.
    let ids = call(SysCause::Books, task_ids).unwrap_or_default();
    ids.into_iter().filter_map(foreign_thread).collect()
}

fn foreign_thread(thread_id: u32) -> Option<ForeignThread> {
    // It may have ended since it was listed.
    let times = super::run_times(thread_id)?;
    let path = format!("/proc/self/task/{thread_id}/comm");
    let name = call(SysCause::Books, || fs::read_to_string(path)).ok()?;
    Some(ForeignThread { thread_id, name: name.trim_end().into(), times })
}

/// What the kernel counts of a thread besides schedstat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelCounts {
    /// Time in the kernel, in steps of 10 ms, sampled at each tick.
    pub(crate) kernel_ns: u64,
    /// Page faults that needed no I/O.
    pub(crate) minor_faults: u64,
    /// Page faults that needed I/O.
    pub(crate) major_faults: u64,
}

/// Reads what the kernel counts of a thread of this process; `None` if it does not report it.
pub(crate) fn kernel_counts(thread_id: u32) -> Option<KernelCounts> {
    const NS_PER_CLOCK_TICK: u64 = 10_000_000;
    let path = format!("/proc/self/task/{thread_id}/stat");
    let text = call(SysCause::Books, || fs::read_to_string(path)).ok()?;
    // The name, in parentheses, may contain anything; minflt, majflt and stime are the 8th, 10th
    // and 13th field after it.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let field = |n: usize| fields.get(n - 1)?.parse::<u64>().ok();
    Some(KernelCounts {
        kernel_ns: field(13)? * NS_PER_CLOCK_TICK,
        minor_faults: field(8)?,
        major_faults: field(10)?,
    })
}

/// Nanoseconds that the calling thread has been in the kernel.
pub(crate) fn own_kernel_ns() -> u64 {
    // SAFETY: `rusage` is plain data; zero is a valid value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is writable and of the right type.
    let result =
        call(SysCause::Books, || unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) });
    debug_assert_eq!(result, 0, "getrusage of ourselves cannot fail");
    let micros = usage.ru_stime.tv_sec * 1_000_000 + usage.ru_stime.tv_usec;
    u64::try_from(micros).unwrap_or(0) * 1000
}

/// Nanoseconds that a thread of this process has been on a CPU, up to now; `None` if it has ended.
pub(crate) fn cpu_ns_of(thread_id: u32) -> Option<u64> {
    // The kernel's encoding of a thread's clock: its complement, "per thread" and "scheduled time".
    const PER_THREAD_SCHEDULED: i32 = 4 | 2;
    let clock = !i32::try_from(thread_id).ok()? << 3 | PER_THREAD_SCHEDULED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable; an unknown clock is refused.
    let result = call(SysCause::Books, || unsafe { libc::clock_gettime(clock, &raw mut time) });
    let ns = u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?;
    (result == 0).then_some(ns)
}

/// Nanoseconds that all threads of the process have been on a CPU, ended ones included.
#[must_use]
pub fn own_cpu_ns() -> u64 {
    let now = call(SysCause::Books, || {
        rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime)
    });
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// The length of the kernel's tick, at which it samples whether a thread is in user mode or in the
/// kernel.
pub(crate) fn tick_ns() -> u64 {
    let tick = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    u64::try_from(tick.tv_nsec).unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn books_on_the_calling_thread_agree() {
        let me = super::super::thread_id();
        let by_clock = cpu_ns_of(me).expect("the thread lives");
        let by_scheduler = super::super::run_times(me).expect("there are books").on_cpu_ns;
        assert!(by_clock + 1_000_000 > by_scheduler, "{by_clock} {by_scheduler}");
        assert_eq!(cpu_ns_of(u32::MAX / 16), None);
        assert!(foreign_threads(&[]).iter().any(|thread| thread.thread_id == me));
        assert!(foreign_threads(&[me]).iter().all(|thread| thread.thread_id != me));
    }
}
