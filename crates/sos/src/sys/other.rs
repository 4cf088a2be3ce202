//! What the kernel counts for other processes, for tools that measure a server from outside.

use std::fs;
use std::io;

use super::process::RunTimes;
use super::{SysCause, call};

/// Nanoseconds that the living threads of a process have been on a CPU, from their `schedstat`.
/// Exact for threads that sleep; one that runs is up to a tick behind.
pub fn process_cpu_ns(process_id: u32) -> io::Result<u64> {
    call(SysCause::Books, || {
        let mut sum = 0;
        for task in fs::read_dir(format!("/proc/{process_id}/task"))? {
            // A thread may end between the two calls: the time that it used is then not counted.
            let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
            let on_cpu = text.split(' ').next().and_then(|field| field.parse::<u64>().ok());
            sum += on_cpu.ok_or(io::ErrorKind::InvalidData)?;
        }
        Ok(sum)
    })
}

/// CPU nanoseconds of a process by its own clock, threads that have ended included.
///
/// # Errors
/// If there is no such process.
pub fn process_clock_ns(process_id: u32) -> io::Result<u64> {
    let process = libc::pid_t::try_from(process_id).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is writable and of the right type.
    let error =
        call(SysCause::Books, || unsafe { libc::clock_getcpuclockid(process, &raw mut clock) });
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable and of the right type.
    let result = call(SysCause::Books, || unsafe { libc::clock_gettime(clock, &raw mut time) });
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    Ok(part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec))
}

/// The times of a thread of another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTimes {
    /// The operating system's id of the thread.
    pub thread_id: u32,
    /// The thread's name, which the kernel cuts to 15 bytes.
    pub name: String,
    /// The kernel scheduler's counters of the thread.
    pub run: RunTimes,
    /// CPU time in user mode and in the kernel, in ticks of the kernel's clock; sampled, not exact.
    pub user_ticks: u64,
    /// CPU time in the kernel, in the same unit.
    pub kernel_ticks: u64,
}

/// Ticks of the kernel's clock in a second, for [`TaskTimes`].
#[must_use]
pub fn kernel_ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// Reads the times of every living thread of a process.
///
/// # Errors
/// If there is no such process, or its files have an unknown format.
pub fn process_tasks(process_id: u32) -> io::Result<Vec<TaskTimes>> {
    call(SysCause::Books, || {
        let mut tasks = Vec::new();
        for task in fs::read_dir(format!("/proc/{process_id}/task"))? {
            let path = task?.path();
            let id = path.file_name().and_then(|name| name.to_str()?.parse().ok());
            let thread_id = id.ok_or(io::ErrorKind::InvalidData)?;
            let read = |file: &str| fs::read_to_string(path.join(file));
            // A thread may end between two calls; the caller has an earlier reading of it.
            let (Ok(schedstat), Ok(stat)) = (read("schedstat"), read("stat")) else { continue };
            tasks.push(task_times(thread_id, &schedstat, &stat).ok_or(io::ErrorKind::InvalidData)?);
        }
        Ok(tasks)
    })
}

/// Reads `schedstat` (three numbers) and `stat` (name in brackets; times are fields 14 and 15).
fn task_times(thread_id: u32, schedstat: &str, stat: &str) -> Option<TaskTimes> {
    let mut numbers = schedstat.split_ascii_whitespace().map(|field| field.parse().ok());
    let run = RunTimes {
        on_cpu_ns: numbers.next()??,
        runnable_ns: numbers.next()??,
        timeslices: numbers.next()??,
    };
    // The name may itself have brackets and blanks.
    let (name, fields) = stat.split_once('(')?.1.rsplit_once(')')?;
    let mut ticks = fields.split_ascii_whitespace().skip(11).map(|field| field.parse().ok());
    let (user_ticks, kernel_ticks) = (ticks.next()??, ticks.next()??);
    Some(TaskTimes { thread_id, name: name.to_owned(), run, user_ticks, kernel_ticks })
}

/// The resident bytes of a process, from its `status`.
pub fn process_resident_bytes(process_id: u32) -> io::Result<u64> {
    let path = format!("/proc/{process_id}/status");
    let status = call(SysCause::Books, || fs::read_to_string(path))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kilobytes.ok_or(io::ErrorKind::InvalidData)? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_whose_name_has_brackets_is_read() {
        let stat = "7 (a) (b) S 1 7 7 0 -1 4194304 1 2 3 4 50 60 0 0 20 0 1 0 9 9 9";
        let task = task_times(7, "10 20 30\n", stat).unwrap();
        assert_eq!((task.name.as_str(), task.user_ticks, task.kernel_ticks), ("a) (b", 50, 60));
        assert_eq!(task.run, RunTimes { on_cpu_ns: 10, runnable_ns: 20, timeslices: 30 });
    }

    #[test]
    fn the_clock_and_the_tasks_of_a_process_agree() {
        let own = std::process::id();
        let tasks = process_tasks(own).unwrap();
        let threads: u64 = tasks.iter().map(|task| task.run.on_cpu_ns).sum();
        // A thread may have ended since, and one that runs is up to a tick behind in its file.
        let clock = process_clock_ns(own).unwrap();
        assert!(threads <= clock, "{threads} {clock}");
        assert!(tasks.iter().any(|task| task.thread_id == crate::sys::thread_id()));
    }
}
