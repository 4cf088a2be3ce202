//! The kernel's books on other processes, for whoever measures a server from outside.

use std::fs;
use std::io;

use super::{SysCause, call};

/// Nanoseconds that the living threads of a process have been on a CPU, from their `schedstat`. Exact
/// for threads that sleep; one that runs is up to a tick behind.
pub fn process_cpu_ns(process_id: u32) -> io::Result<u64> {
    call(SysCause::Books, || {
        let mut sum = 0;
        for task in fs::read_dir(format!("/proc/{process_id}/task"))? {
            // A thread may end between the two calls: what it used is then in nobody's books.
            let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
            let on_cpu = text.split(' ').next().and_then(|field| field.parse::<u64>().ok());
            sum += on_cpu.ok_or(io::ErrorKind::InvalidData)?;
        }
        Ok(sum)
    })
}

/// Bytes of a process in memory, from its `status`.
pub fn process_resident_bytes(process_id: u32) -> io::Result<u64> {
    let path = format!("/proc/{process_id}/status");
    let status = call(SysCause::Books, || fs::read_to_string(path))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kilobytes.ok_or(io::ErrorKind::InvalidData)? * 1024)
}
