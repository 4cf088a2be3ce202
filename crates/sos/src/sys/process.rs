//! What the kernel counts for this process and its threads, its limits, and its CPUs.

use std::fs;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::{SysCause, call};

/// CPU time and page faults of the process, from getrusage(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// Time in the kernel, in nanoseconds.
    pub kernel_ns: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
}

/// Reads the CPU time of the process so far.
#[must_use]
pub fn cpu_times() -> CpuTimes {
    // SAFETY: `rusage` is plain data; zero is a valid value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is writable and of the right type.
    let result =
        call(SysCause::Books, || unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) });
    debug_assert_eq!(result, 0, "getrusage of ourselves cannot fail");
    let ns = |time: libc::timeval| {
        let micros = time.tv_sec * 1_000_000 + time.tv_usec;
        u64::try_from(micros).unwrap_or(0) * 1000
    };
    CpuTimes {
        user_ns: ns(usage.ru_utime),
        kernel_ns: ns(usage.ru_stime),
        minor_faults: u64::try_from(usage.ru_minflt).unwrap_or(0),
        major_faults: u64::try_from(usage.ru_majflt).unwrap_or(0),
    }
}

/// The kernel scheduler's counters of a thread, from `/proc/self/task/TID/schedstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTimes {
    /// Nanoseconds that it ran on a CPU.
    pub on_cpu_ns: u64,
    /// Nanoseconds ready to run without a CPU.
    pub runnable_ns: u64,
    /// Times it was put on a CPU.
    pub timeslices: u64,
}

/// Reads schedstat of a thread of this process; `None` if the kernel does not have it.
#[must_use]
pub fn run_times(thread_id: u32) -> Option<RunTimes> {
    let path = format!("/proc/self/task/{thread_id}/schedstat");
    let text = call(SysCause::Books, || fs::read(path)).ok()?;
    RunTimes::parse(&text)
}

impl RunTimes {
    /// Reads the three numbers of a `schedstat`.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        // A hand-written loop, because threads that are often switched read this as often.
        let mut numbers = [0_u64; 3];
        let mut at = 0;
        for number in &mut numbers {
            let begin = at;
            while let Some(digit) = text.get(at).map(|&byte| byte.wrapping_sub(b'0'))
                && digit < 10
            {
                *number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
                at += 1;
            }
            // More digits might not fit into 64 bits.
            if !(1..20).contains(&(at - begin)) {
                return None;
            }
            at += 1;
        }
        let [on_cpu_ns, runnable_ns, timeslices] = numbers;
        Some(Self { on_cpu_ns, runnable_ns, timeslices })
    }
}

/// The resident bytes of the process, from `/proc/self/statm`; 0 if the kernel does not report
/// them.
#[must_use]
pub fn resident_bytes() -> u64 {
    let text = call(SysCause::Books, || fs::read_to_string("/proc/self/statm"));
    let pages = text.ok().and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * u64::try_from(rustix::param::page_size()).unwrap_or(4096)
}

/// The bytes of memory of the machine.
#[must_use]
pub fn total_memory_bytes() -> u64 {
    let info = call(SysCause::Books, rustix::system::sysinfo);
    let unit = u64::from(info.mem_unit.max(1));
    #[expect(clippy::useless_conversion, reason = "the field is 32 bits wide on some targets")]
    let total = u64::from(info.totalram);
    total * unit
}

/// The bytes of memory that this process may use: the machine's, or less if its control groups have
/// a limit, as in a container.
#[must_use]
pub fn granted_memory_bytes() -> u64 {
    let machine = total_memory_bytes();
    super::cgroup::limit_bytes().map_or(machine, |limit| limit.min(machine))
}

/// Returns the most file descriptors that the process may have.
#[must_use]
pub fn open_files_limit() -> u64 {
    call(SysCause::Process, || getrlimit(Resource::Nofile)).current.unwrap_or(u64::MAX)
}

/// Raises the limit of open files as far as the system allows; returns the resulting limit.
pub fn raise_open_files() -> u64 {
    call(SysCause::Process, || {
        let limit = getrlimit(Resource::Nofile);
        // If the system refuses, the old limit stays, and is returned.
        let _ =
            setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
    })
}

/// Returns how many threads may run at once: the CPUs that this process may use or, in a container, its quota of CPU time in whole
/// CPUs, rounded up; at least 1.
#[must_use]
pub fn granted_cpus() -> usize {
    let quota = super::cgroup::cpu_limit().and_then(|limit| limit.cpus);
    within_quota(allowed_cpus().len(), quota)
}

/// Returns the least number of CPUs that can use up the quota, and no more than there are.
fn within_quota(cpus: usize, quota: Option<f64>) -> usize {
    let fits = |count: &usize| {
        quota.is_none_or(|quota| u32::try_from(*count).is_ok_and(|count| f64::from(count) < quota))
    };
    (1..cpus).take_while(fits).count() + 1
}

/// The CPUs that this process may use.
#[must_use]
pub fn allowed_cpus() -> Vec<usize> {
    let set = call(SysCause::Process, || sched_getaffinity(None)).unwrap_or_else(|_| {
        let mut first = CpuSet::new();
        first.set(0);
        first
    });
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Lowers the priority of the calling thread alone, for good, by steps of nice(2), if that is allowed.
pub fn lower_priority(steps: i32) {
    let _ = call(SysCause::Process, || {
        let now = rustix::process::getpriority_process(None)?;
        rustix::process::setpriority_process(None, now.saturating_add(steps))
    });
}

/// Pins the calling thread to one CPU.
pub fn pin_to_cpu(cpu: usize) -> io::Result<()> {
    pin_to_cpus(&[cpu])
}

/// Pins the calling thread, and the processes that it starts, to these CPUs.
pub fn pin_to_cpus(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    Ok(call(SysCause::Process, || sched_setaffinity(None, &set))?)
}

/// Reads a whole file.
///
/// # Errors
/// The error that the system reports.
pub fn read_file(path: &str) -> io::Result<Vec<u8>> {
    call(SysCause::FileRead, || fs::read(path))
}

/// Returns random bytes from the operating system, for salts and passwords.
///
/// # Panics
/// If the operating system has no randomness, because no secret can be made then.
#[must_use]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        let got = call(SysCause::FileRead, || {
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
        });
        filled += got.expect("getrandom never fails once the system has started");
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quota_in_whole_cpus_bounds_the_threads() {
        let counts = [(4, None), (4, Some(1.5)), (4, Some(2.0)), (4, Some(0.1)), (2, Some(8.0))];
        assert_eq!(counts.map(|(cpus, quota)| within_quota(cpus, quota)), [4, 2, 2, 1, 2]);
        assert_eq!(within_quota(0, None), 1, "a system that does not tell");
    }
}
