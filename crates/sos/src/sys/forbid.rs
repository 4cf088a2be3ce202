//! A filter that refuses system calls, as many containers have one: for finding out what a server
//! does without them. It cannot be taken off again, and holds for what the process becomes by
//! `exec`.

use std::io;

use super::{SysCause, call};

/// Calls that can be refused, by name.
const CALLS: [(&str, libc::c_long); 6] = [
    ("perf_event_open", libc::SYS_perf_event_open),
    ("membarrier", libc::SYS_membarrier),
    ("rseq", libc::SYS_rseq),
    ("sched_setaffinity", libc::SYS_sched_setaffinity),
    ("sched_getaffinity", libc::SYS_sched_getaffinity),
    ("timer_create", libc::SYS_timer_create),
];

/// Offset of the call's number in what a filter looks at (`struct seccomp_data`).
const NUMBER: u32 = 0;
/// Offset of the machine's kind.
const MACHINE: u32 = 4;

#[cfg(target_arch = "x86_64")]
const OWN_MACHINE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const OWN_MACHINE: u32 = 0xC000_00B7;

const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Makes these system calls fail with EPERM from now on, in the calling thread and in whatever it
/// starts or becomes.
///
/// # Errors
/// If a name is not known here, or the kernel takes no filter.
pub fn forbid_calls(names: &[&str]) -> io::Result<()> {
    let mut filter = filter(names)?;
    let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    call(SysCause::Process, || {
        // Without this only root may set a filter, and it could trick programs that gain rights.
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

/// A call of another machine's kind passes: this is a tool for tests and no wall.
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

/// Goes on so many steps further if the loaded word equals `word`, else so many others.
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
        // A thread of its own: what is forbidden stays so.
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
