//! What the operating system reports about one thread of this process: its times, state and stack.

use std::fs;

use super::{SysCause, call};

/// CPU time and state of a thread, from `/proc/self/task/TID/stat`. The kernel counts these times
/// by its own clock tick, usually 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// CPU time in user mode, in ms.
    pub user_ms: u64,
    /// CPU time in the kernel, in ms.
    pub kernel_ms: u64,
    /// The thread's priority, as the kernel shows it.
    pub priority: i32,
    /// Whether it is neither on a CPU nor queued for one.
    pub sleeps: bool,
}

/// Reads the times of a thread of this process; `None` if it has ended.
#[must_use]
pub fn thread_times(thread_id: u32) -> Option<ThreadTimes> {
    let path = format!("/proc/self/task/{thread_id}/stat");
    let text = call(SysCause::Books, || fs::read_to_string(path)).ok()?;
    parse_stat(&text, rustix::param::clock_ticks_per_second())
}

/// Parses the line: proc(5). The name, in parentheses, may contain anything.
fn parse_stat(line: &str, ticks_per_second: u64) -> Option<ThreadTimes> {
    let (_, rest) = line.rsplit_once(')')?;
    // Field 3, the state, is the first one after the name.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let ms = |field: usize| {
        let ticks: u64 = fields.get(field - 3)?.parse().ok()?;
        Some(ticks * 1000 / ticks_per_second.max(1))
    };
    Some(ThreadTimes {
        user_ms: ms(14)?,
        kernel_ms: ms(15)?,
        priority: fields.get(18 - 3)?.parse().ok()?,
        sleeps: *fields.first()? != "R",
    })
}

/// The address range of a thread's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackBounds {
    /// The lowest address of the stack.
    pub low: usize,
    /// One more than the highest address.
    pub high: usize,
}

/// The stack of the calling thread, if the C library knows it.
#[must_use]
pub fn stack_bounds() -> Option<StackBounds> {
    // SAFETY: plain data; `pthread_getattr_np` fills it in before it is read.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    // SAFETY: returns the handle of the calling thread.
    let handle = unsafe { libc::pthread_self() };
    // SAFETY: `attributes` is writable; the call also asks the kernel for the thread's CPUs.
    let got =
        call(SysCause::Thread, || unsafe { libc::pthread_getattr_np(handle, &raw mut attributes) });
    if got != 0 {
        return None;
    }
    let (mut low, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: `attributes` was filled in above.
    let got =
        unsafe { libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut bytes) };
    // SAFETY: filled in above, and destroyed once.
    unsafe { libc::pthread_attr_destroy(&raw mut attributes) };
    (got == 0).then(|| StackBounds { low: low.addr(), high: low.addr() + bytes })
}

/// The address of the calling thread's descriptor in the C library.
pub(crate) fn thread_handle() -> usize {
    // SAFETY: always succeeds.
    let handle = unsafe { libc::pthread_self() };
    usize::try_from(handle).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_no_field() {
        let line = "7 (a ) b (c) S 1 2 3 4 5 6 7 8 9 10 250 30 0 0 20 0 1 0 100 0 0";
        let times = ThreadTimes { user_ms: 2500, kernel_ms: 300, priority: 20, sleeps: true };
        assert_eq!(parse_stat(line, 100), Some(times));
    }

    #[test]
    fn the_calling_thread_runs_on_its_stack() {
        let here = 0_u8;
        let stack = stack_bounds().expect("the C library knows");
        assert!((stack.low..stack.high).contains(&(&raw const here).addr()));
        assert!(thread_times(super::super::thread_id()).is_some_and(|times| !times.sleeps));
    }
}
