//! `forbid_calls`: a seccomp filter that refuses system calls, as many containers do, to test how a
//! server runs without them. It cannot be removed, and also holds after `exec`.

use std::io;

use super::{SysCause, call};

/// The system calls that can be refused, by name.
const CALLS: [(&str, libc::c_long); 8] = [
    ("perf_event_open", libc::SYS_perf_event_open),
    ("membarrier", libc::SYS_membarrier),
    ("rseq", libc::SYS_rseq),
    ("sched_setaffinity", libc::SYS_sched_setaffinity),
    ("sched_getaffinity", libc::SYS_sched_getaffinity),
    ("timer_create", libc::SYS_timer_create),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("io_uring_enter", libc::SYS_io_uring_enter),
];

/// Offset of the call's number in the filter's input (`struct seccomp_data`).
const NUMBER: u32 = 0;
/// Offset of the processor architecture.
const MACHINE: u32 = 4;

#[cfg(target_arch = "x86_64")]
const OWN_MACHINE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const OWN_MACHINE: u32 = 0xC000_00B7;

const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Makes these system calls fail with EPERM from now on, in the calling thread and in the threads
/// and processes that it starts.
///
/// # Errors
/// If a name is unknown, or the kernel refuses the filter.
pub fn forbid_calls(names: &[&str]) -> io::Result<()> {
    let mut filter = filter(names)?;
    let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    call(SysCause::Process, || {
        // Required for users other than root, so that a filter cannot trick set-user-ID programs.
        // SAFETY: a flag of the thread; the other arguments must be zero.
        if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let mode = libc::SECCOMP_MODE_FILTER;
        // SAFETY: `program` and the filter that it points to live through the call.
        match unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    })
}

/// Calls of another architecture pass: this is a tool for tests, not for security.
fn filter(names: &[&str]) -> io::Result<Vec<libc::sock_filter>> {
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    let mut filter = vec![
        step(LOAD_WORD, MACHINE),
        branch(OWN_MACHINE, 1, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW),
        step(LOAD_WORD, NUMBER),
    ];
    for name in names {
        let known = CALLS.iter().find(|(known, _)| known == name);
        let unknown = || io::Error::new(io::ErrorKind::InvalidInput, format!("no call '{name}'"));
        let number = u32::try_from(known.ok_or_else(unknown)?.1);
        let number = number.map_err(|_| io::ErrorKind::InvalidInput)?;
        filter.extend([branch(number, 0, 1), step(RETURN, refuse)]);
    }
    filter.push(step(RETURN, libc::SECCOMP_RET_ALLOW));
    Ok(filter)
}

fn step(code: u32, operand: u32) -> libc::sock_filter {
    let code = u16::try_from(code).expect("codes have 16 bits");
    libc::sock_filter { code, jt: 0, jf: 0, k: operand }
}

/// Skips `equal` steps if the loaded word equals `word`, otherwise `other` steps.
fn branch(word: u32, equal: u8, other: u8) -> libc::sock_filter {
    libc::sock_filter { jt: equal, jf: other, ..step(JUMP_IF_EQUAL, word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_calls_are_refused_before_anything_is_set() {
        let error = forbid_calls(&["membarrier", "dance"]).unwrap_err();
        assert!(error.to_string().contains("dance"), "{error}");
    }

    #[test]
    fn forbidden_calls_fail_and_others_do_not() {
        // A separate thread, because the filter cannot be removed.
        let accounts = crate::sync::Arc::new(crate::ledger::Accounts::default());
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = crate::thread::spawn(&accounts, "confined", move || {
            forbid_calls(&["sched_getaffinity"]).unwrap();
            let refused = rustix::thread::sched_getaffinity(None);
            sender.send((refused.err(), crate::sys::thread_id())).unwrap();
        });
        let (refused, id) = receiver.recv().unwrap();
        thread.unwrap().join().unwrap();
        assert_eq!(refused, Some(rustix::io::Errno::PERM));
        assert_ne!(id, 0);
    }
}
