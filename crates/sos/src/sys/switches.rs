//! Detects that the kernel has taken the calling thread off its CPU: the word that the kernel then
//! changes (restartable sequences, or the head of a ring of context-switch records), and schedstat.
//!
//! A thread announces a restartable sequence by a pointer in a word that it shares with the kernel.
//! The kernel clears that pointer when it takes the thread off the CPU outside the sequence. So a
//! pointer to a sequence that is never run is a sentinel that costs one load to check.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use super::{RunTimes, SysCause, call};
use crate::sync::{AtomicU64, OnceLock, Ordering};

/// The signature that glibc registers and the kernel expects before a sequence's abort handler.
#[cfg(target_arch = "aarch64")]
const SIGNATURE: u32 = 0xd428_bc00;
#[cfg(not(target_arch = "aarch64"))]
const SIGNATURE: u32 = 0x5305_3053;

/// In place of a sequence's abort handler; never run.
#[repr(C)]
struct Abort {
    signature: u32,
    handler: u32,
}

static ABORT: Abort = Abort { signature: SIGNATURE, handler: 0 };

/// `struct rseq_cs` of linux/rseq.h: an empty sequence, so that no instruction is ever inside it.
#[repr(C, align(32))]
struct Sequence {
    version: u32,
    flags: u32,
    start: *const Abort,
    length: u64,
    abort: *const u32,
}

// SAFETY: it is never written, and its pointers are to statics.
unsafe impl Sync for Sequence {}

static SEQUENCE: Sequence = Sequence {
    version: 0,
    flags: 0,
    start: &raw const ABORT,
    length: 0,
    abort: &raw const ABORT.handler,
};

/// The value to keep in the word; the kernel replaces it by 0.
pub(crate) fn armed_value() -> u64 {
    std::ptr::from_ref(&SEQUENCE).addr() as u64
}

/// The offset from the thread pointer of the area that the C library shares with the kernel; `None`
/// if it has not registered it.
fn shared_offset() -> Option<isize> {
    static OFFSET: OnceLock<Option<isize>> = OnceLock::new();
    *OFFSET.get_or_init(|| {
        let size = find(c"__rseq_size")?.cast::<u32>();
        // SAFETY: the symbol is a constant of that type (glibc 2.35 and later).
        if unsafe { size.read() } == 0 {
            return None;
        }
        let offset = find(c"__rseq_offset")?.cast::<isize>();
        // SAFETY: as above, of type ptrdiff_t.
        Some(unsafe { offset.read() })
    })
}

fn find(name: &std::ffi::CStr) -> Option<NonNull<libc::c_void>> {
    // SAFETY: a valid handle and a terminated name.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

#[cfg(target_arch = "x86_64")]
fn thread_pointer() -> Option<*mut u8> {
    let pointer: *mut u8;
    // SAFETY: the x86-64 ABI keeps the thread pointer at offset 0 of the FS segment.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags));
    };
    Some(pointer)
}

#[cfg(target_arch = "aarch64")]
fn thread_pointer() -> Option<*mut u8> {
    let pointer: *mut u8;
    // SAFETY: TPIDR_EL0 is the thread pointer, which user code may read.
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem, preserves_flags));
    };
    Some(pointer)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn thread_pointer() -> Option<*mut u8> {
    None
}

/// The calling thread's `rseq_cs` word, valid as long as the thread lives; `None` if the thread is
/// not registered.
pub(crate) fn sequence_word() -> Option<NonNull<AtomicU64>> {
    // Offsets in `struct rseq`: the CPU's number, negative until registered, and the pointer.
    const CPU_ID: usize = 4;
    const SEQUENCE_POINTER: usize = 8;
    let offset = shared_offset()?;
    let area = thread_pointer()?.wrapping_offset(offset);
    let cpu_id = area.wrapping_add(CPU_ID).cast::<i32>();
    // SAFETY: the C library says that the thread's shared area is here.
    if unsafe { cpu_id.read_volatile() } < 0 {
        return None;
    }
    NonNull::new(area.wrapping_add(SEQUENCE_POINTER).cast::<AtomicU64>())
}

/// Whether the kernel really clears the word when it takes a thread off its CPU. Tested once, by a
/// sleep of the calling thread.
pub(crate) fn sequences_work() -> bool {
    static WORK: OnceLock<bool> = OnceLock::new();
    *WORK.get_or_init(|| {
        let Some(word) = sequence_word() else { return false };
        // SAFETY: the calling thread's own word.
        let word = unsafe { word.as_ref() };
        word.store(armed_value(), Ordering::Relaxed);
        super::nap();
        word.swap(0, Ordering::Relaxed) == 0
    })
}

/// `struct perf_event_attr` of linux/perf_event.h, as far as needed.
#[repr(C)]
#[derive(Default)]
struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
}

/// A perf ring into which the kernel writes a record for each context switch of the calling thread.
/// Only its head is read.
#[derive(Debug)]
pub(crate) struct SwitchRing {
    pages: NonNull<u8>,
    _event: OwnedFd,
}

// SAFETY: the mapping belongs to the ring, and is only read, atomically.
unsafe impl Send for SwitchRing {}
// SAFETY: as above.
unsafe impl Sync for SwitchRing {}

/// One page of state and one of records.
const RING_BYTES: usize = 2 * 4096;

impl SwitchRing {
    /// Opens a ring for the calling thread. The system refuses if performance events are forbidden,
    /// or the limit of locked memory is reached.
    pub(crate) fn open() -> io::Result<Self> {
        call(SysCause::Books, || {
            let event = open_event()?;
            let (protection, shared) = (libc::PROT_READ, libc::MAP_SHARED);
            let fd = event.as_raw_fd();
            // SAFETY: a new mapping of a descriptor that only this function has.
            let pages =
                unsafe { libc::mmap(std::ptr::null_mut(), RING_BYTES, protection, shared, fd, 0) };
            if pages == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let pages = NonNull::new(pages.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
            Ok(Self { pages, _event: event })
        })
    }

    /// The word that rises with every switch.
    pub(crate) fn word(&self) -> NonNull<AtomicU64> {
        const DATA_HEAD: usize = 1024;
        // SAFETY: the mapping is longer than that.
        unsafe { self.pages.add(DATA_HEAD) }.cast()
    }
}

impl Drop for SwitchRing {
    fn drop(&mut self) {
        call(SysCause::Books, || {
            // SAFETY: mapped in `open`; code that reads the word owns the ring.
            unsafe { libc::munmap(self.pages.as_ptr().cast(), RING_BYTES) }
        });
    }
}

fn open_event() -> io::Result<OwnedFd> {
    const SOFTWARE: u32 = 1;
    const DUMMY: u64 = 9;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    const CONTEXT_SWITCH: u64 = 1 << 26;
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let attributes = EventAttributes {
        kind: SOFTWARE,
        size: u32::try_from(size_of::<EventAttributes>()).unwrap_or(0),
        config: DUMMY,
        flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | CONTEXT_SWITCH,
        ..EventAttributes::default()
    };
    let (this_thread, any_cpu, no_group) = (0, -1, -1);
    let number = libc::SYS_perf_event_open;
    // SAFETY: the attributes are valid and say their own size.
    let fd = unsafe {
        libc::syscall(number, &raw const attributes, this_thread, any_cpu, no_group, CLOSE_ON_EXEC)
    };
    let fd = i32::try_from(fd).map_err(|_| io::ErrorKind::InvalidData)?;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned this descriptor, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A thread's schedstat file, kept open.
#[derive(Debug)]
pub(crate) struct RunBook(OwnedFd);

impl RunBook {
    /// Opens the file of the calling thread.
    pub(crate) fn open() -> io::Result<Self> {
        let path = format!("/proc/self/task/{}/schedstat", super::thread_id());
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
        let mode = rustix::fs::Mode::empty();
        Ok(Self(call(SysCause::Books, || rustix::fs::open(path, flags, mode))?))
    }

    /// Reads the numbers, which takes 300 ns. The time on a CPU is as of the thread's last tick or
    /// switch.
    pub(crate) fn read(&self) -> Option<RunTimes> {
        let mut text = [0; 64];
        let length = rustix::io::pread(&self.0, &mut text, 0).ok()?;
        RunTimes::parse(&text[..length])
    }
}

/// Nanoseconds that the calling thread has been on a CPU, up to now: 230 to 400 ns.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
