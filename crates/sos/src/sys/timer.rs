//! `CpuTimer`: a timer of a thread's own CPU time, which sends the thread a signal per period.
//!
//! The kernel checks these timers on its tick, so none fires more often than that; periods in
//! between are reported as overrun. A thread that does not run gets no signals. The signal may
//! interrupt a system call that is about to sleep: the wrappers here treat that as a spurious
//! wake-up.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use super::{SysCause, call};
use crate::stack::Registers;
use crate::sync::OnceLock;

/// A timer of the CPU time of the thread that made it; it sends [`SIGNAL`] to that thread.
#[derive(Debug)]
pub(crate) struct CpuTimer(libc::timer_t);

// SAFETY: the kernel's id of a timer of this process, which any thread may set and delete.
unsafe impl Send for CpuTimer {}
// SAFETY: as above; each use is one system call.
unsafe impl Sync for CpuTimer {}

/// The signal that profilers of C programs use.
const SIGNAL: libc::c_int = libc::SIGPROF;

const NS_PER_SECOND: u64 = 1_000_000_000;

impl CpuTimer {
    /// Makes a timer for the calling thread, which does not run until it has a rate.
    pub(crate) fn for_this_thread() -> io::Result<Self> {
        handle_signal()?;
        // SAFETY: plain data, of which zero is a valid value.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = SIGNAL;
        event.sigev_notify_thread_id = i32::try_from(super::thread_id()).unwrap_or(0);
        let mut timer = ptr::null_mut();
        let clock = libc::CLOCK_THREAD_CPUTIME_ID;
        // SAFETY: both pointers are to live values of the right types.
        let made = call(SysCause::Process, || unsafe {
            libc::timer_create(clock, &raw mut event, &raw mut timer)
        });
        if made == 0 { Ok(Self(timer)) } else { Err(io::Error::last_os_error()) }
    }

    /// Makes the timer fire `hz` times per second of the thread's CPU time, first after `phase` of
    /// a period (in 1/2^32); 0 stops it.
    pub(crate) fn set_rate(&self, hz: u32, phase: u32) -> io::Result<()> {
        let period_ns = NS_PER_SECOND.checked_div(u64::from(hz)).unwrap_or(0);
        let first_ns = ((period_ns * u64::from(phase)) >> 32).max(u64::from(hz > 0));
        let setting =
            libc::itimerspec { it_interval: timespec(period_ns), it_value: timespec(first_ns) };
        // SAFETY: the timer exists until dropped; the old setting is not asked for.
        let set = call(SysCause::Process, || unsafe {
            libc::timer_settime(self.0, 0, &raw const setting, ptr::null_mut())
        });
        if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for CpuTimer {
    fn drop(&mut self) {
        // SAFETY: deleted once. A pending signal finds a handler that does not use the timer.
        call(SysCause::Process, || unsafe { libc::timer_delete(self.0) });
    }
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: i64::try_from(ns / NS_PER_SECOND).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % NS_PER_SECOND).unwrap_or(0),
    }
}

/// Installs the signal handler once per process: by default the signal would end the process.
fn handle_signal() -> io::Result<()> {
    static TAKEN: OnceLock<Result<(), i32>> = OnceLock::new();
    let take = || {
        // SAFETY: plain data, of which zero is a valid value: an empty mask.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        // SAFETY: the handler has the signature that SA_SIGINFO asks for, and is safe in a signal.
        let taken = call(SysCause::Process, || unsafe {
            libc::sigaction(SIGNAL, &raw const action, ptr::null_mut())
        });
        if taken == 0 { Ok(()) } else { Err(super::last_errno()) }
    };
    TAKEN.get_or_init(take).map_err(io::Error::from_raw_os_error)
}

/// What the kernel passes with a timer's signal: `siginfo_t` with the fields of `_timer`,
/// sigaction(2).
#[repr(C)]
struct TimerInfo {
    signal: libc::c_int,
    error: libc::c_int,
    code: libc::c_int,
    padding: libc::c_int,
    timer: libc::c_int,
    overrun: libc::c_int,
}

/// The signal handler. It may run between any two instructions of a thread, so it takes no lock,
/// allocates nothing and makes no system call.
extern "C" fn on_signal(
    _: libc::c_int,
    info: *const libc::siginfo_t,
    context: *const libc::c_void,
) {
    // SAFETY: the kernel passes a valid structure, of which this is the first part.
    let info = unsafe { &*info.cast::<TimerInfo>() };
    if info.code != libc::SI_TIMER {
        return;
    }
    // SAFETY: the kernel passes the interrupted context.
    let registers = registers(unsafe { &*context.cast::<libc::ucontext_t>() });
    let periods = 1 + u32::try_from(info.overrun).unwrap_or(0);
    crate::sampler::on_tick(registers, periods);
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    let register = |at: libc::c_int| -> usize {
        let value = usize::try_from(at).ok().and_then(|at| context.uc_mcontext.gregs.get(at));
        value.map_or(0, |value| word(value.cast_unsigned()))
    };
    Registers {
        instruction: register(libc::REG_RIP),
        stack: register(libc::REG_RSP),
        frame: register(libc::REG_RBP),
    }
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    const FRAME_POINTER: usize = 29;
    Registers {
        instruction: word(context.uc_mcontext.pc),
        stack: word(context.uc_mcontext.sp),
        frame: word(context.uc_mcontext.regs[FRAME_POINTER]),
    }
}

/// A register's value, on 64-bit machines.
fn word(value: u64) -> usize {
    usize::try_from(value).unwrap_or(0)
}

/// On other processors a sample has no stack.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn registers(_: &libc::ucontext_t) -> Registers {
    Registers::default()
}
