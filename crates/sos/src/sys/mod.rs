//! System calls: each behind a wrapper that names its cause, so that kernel time is attributed.
//!
//! No other file of Clearway makes a system call in the path of a request.

mod cgroup;
mod disk;
mod endpoint;
mod environment;
mod event;
mod file;
mod forbid;
mod host;
mod image;
mod memory;
mod os_disk;
mod other;
mod poll;
mod process;
mod signal;
mod socket;
mod switches;
mod task;
mod tasks;
mod terminal;
mod timer;

pub use disk::{
    Disk, DiskFile, DiskLock, LockError, Open, SyncMethod, is_disk_full, is_out_of_descriptors,
    path_names,
};
pub use endpoint::{Endpoint, Peer};
pub use environment::{Fact, environment};
pub use event::EventFd;
pub(crate) use file::{FileReader, FileWriter, cpu_number};
pub use file::{
    FolderEntries, FolderEntry, NewFile, RandomReader, folder_entries, folder_names, is_folder,
    make_folder, real_path, remove_file, remove_folder,
};
pub use forbid::forbid_calls;
pub use host::{
    MachineCpu, MachineMemory, PathFacts, ProcessMemory, Topology, address_space_kb, distribution,
    free_bytes, is_virtual, machine_cpu, machine_memory, path_facts, process_memory, topology,
};
#[cfg(test)]
pub(crate) use image::a_function_of_the_c_library;
pub(crate) use image::{own_shift, place_of};
pub use memory::{Faults, faults};
pub(crate) use memory::{
    Keep, Paging, allows_huge_pages, discard, huge_bytes, machine_bytes, populate, prefer_pages,
    raise_locked_limit, release, reserve, resident_stack, resident_variables, resident_within,
    untouched_from,
};
pub use os_disk::OsDisk;
pub use other::{
    TaskTimes, kernel_ticks_per_second, process_clock_ns, process_cpu_ns, process_resident_bytes,
    process_tasks,
};
pub use poll::{Direction, Event, Events, Poller, Timeout, poll_fd};
pub(crate) use poll::{Polled, poll_two};
pub use process::{
    CpuTimes, RunTimes, allowed_cpus, cpu_times, granted_cpus, granted_memory_bytes,
    lower_priority, open_files_limit, pin_to_cpu, pin_to_cpus, raise_open_files, random_bytes,
    read_file, resident_bytes, run_times, total_memory_bytes,
};
pub use signal::{
    Stop, StopSignals, ask_to_stop, clear_signal_mask, ignore_sigpipe, ignore_sigxfsz, kill_group,
};
pub use socket::{Listener, SENDS_MAX, SendRing, Socket};
pub use switches::thread_cpu_ns;
pub(crate) use switches::{RunBook, SwitchRing, armed_value, sequence_word, sequences_work};
pub(crate) use task::thread_handle;
pub use task::{StackBounds, ThreadTimes, stack_bounds, thread_times};
pub use tasks::{ForeignThread, foreign_threads, own_cpu_ns};
pub(crate) use tasks::{KernelCounts, cpu_ns_of, kernel_counts, own_kernel_ns, tick_ns};
pub use terminal::terminal_columns;
pub(crate) use timer::CpuTimer;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::thread::{MembarrierCommand, futex, membarrier as membarrier_command};

use crate::ledger;
use crate::registry::registry;
use crate::sync::AtomicU32;

registry! {
    /// Why a thread enters the kernel.
    pub enum SysCause {
        /// Taking a connection off the listener.
        Accept => "accept",
        /// Reading from a socket.
        Recv => "recv",
        /// Writing to a socket.
        Send => "send",
        /// Waiting for sockets in epoll or poll.
        Poll => "poll",
        /// Changing the polled set or socket options, closing.
        Control => "control",
        /// Sleeping and waking in memory waits.
        Futex => "futex",
        /// Waking a thread that sleeps in a poller.
        Wake => "wake",
        /// Yielding the CPU to another thread.
        Yield => "yield",
        /// Sleeping in the slow path of a spinlock.
        Nap => "nap",
        /// Reading the kernel's counters.
        Books => "books",
        /// Populating pages before they are touched.
        PagePopulate => "page_populate",
        /// Returning memory to the system.
        MemoryDecommit => "decommit",
        /// The fence of a distributed lock's writer.
        Membarrier => "membarrier",
        /// Reading from a file.
        FileRead => "file_read",
        /// Writing to a file.
        FileWrite => "file_write",
        /// Making a file durable.
        FileSync => "fsync",
        /// Setting signals, limits, affinity and timers.
        Process => "process",
        /// Starting a thread, or preparing its stack.
        Thread => "thread",
    }
}

/// Makes a system call and books it on the calling thread. Every call below goes through here.
#[inline]
pub(crate) fn call<R>(cause: SysCause, call: impl FnOnce() -> R) -> R {
    ledger::call(cause, call)
}

/// An open descriptor; closed through the wrapper when dropped, because closing may take long too.
#[derive(Debug)]
pub(super) struct Fd(Option<OwnedFd>);

impl From<OwnedFd> for Fd {
    fn from(fd: OwnedFd) -> Self {
        Self(Some(fd))
    }
}

impl AsFd for Fd {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_ref().expect("a descriptor is open until it is dropped").as_fd()
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        if let Some(fd) = self.0.take() {
            call(SysCause::Control, || drop(fd));
        }
    }
}

/// The operating system's id of the calling thread.
#[must_use]
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Sleeps while the word is `expected`, until woken or until the deadline (monotonic ns); false at
/// the deadline.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> bool {
    let deadline = deadline_ns.map(timespec);
    let flags = futex::Flags::PRIVATE;
    let mask = std::num::NonZeroU32::MAX;
    let _asleep = crate::lock::asleep();
    // FUTEX_WAIT_BITSET takes an absolute monotonic time, so that a spurious wake costs no
    // precision.
    let result = call(SysCause::Futex, || {
        futex::wait_bitset(word, flags, expected, deadline.as_ref(), mask)
    });
    result != Err(rustix::io::Errno::TIMEDOUT)
}

/// Wakes one thread that sleeps on the word.
pub(crate) fn futex_wake(word: &AtomicU32) {
    // An error would mean a bad address, and the reference proves that it is good.
    let _ = call(SysCause::Futex, || futex::wake(word, futex::Flags::PRIVATE, 1));
}

fn timespec(ns: u64) -> rustix::thread::Timespec {
    rustix::thread::Timespec {
        tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % 1_000_000_000).unwrap_or(0),
    }
}

/// Yields the CPU to another thread that is ready to run on it.
pub(crate) fn yield_cpu() {
    call(SysCause::Yield, rustix::thread::sched_yield);
}

/// Sleeps for the shortest time that the kernel allows, in the slow path of a spinlock.
pub(crate) fn nap() {
    let pause = Duration::from_micros(50);
    let pause = timespec(u64::try_from(pause.as_nanos()).unwrap_or(0));
    let _asleep = crate::lock::asleep();
    // A signal may end the sleep early, which does no harm.
    let _ = call(SysCause::Nap, || rustix::thread::nanosleep(&pause));
}

/// Runs a closure that reads a file by another crate's code.
pub(crate) fn read_with<R>(read: impl FnOnce() -> R) -> R {
    call(SysCause::FileRead, read)
}

/// The error number of the last failed call to the C library.
fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Registers the process for [`membarrier`] with the kernel; false if the kernel does not have it.
pub(crate) fn register_membarrier() -> bool {
    let command = MembarrierCommand::RegisterPrivateExpedited;
    call(SysCause::Membarrier, || membarrier_command(command)).is_ok()
}

/// A full barrier on every CPU that runs a thread of this process.
pub(crate) fn membarrier() {
    let command = MembarrierCommand::PrivateExpedited;
    let result = call(SysCause::Membarrier, || membarrier_command(command));
    // A lock that relies on it cannot continue without it.
    assert!(result.is_ok(), "membarrier was registered and fails now: {result:?}");
}
