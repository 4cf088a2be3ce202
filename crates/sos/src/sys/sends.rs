//! `SendRing`: gives the kernel the sends of several sockets in one system call, by io_uring.
//!
//! Every send ends within the call: what the kernel does not take at once is not sent. So the bytes
//! are borrowed for the call only, and any thread may make the next one.

use std::io;
use std::ops::Range;
use std::os::fd::RawFd;

use io_uring::{IoUring, opcode, types};
use rustix::io::Errno;

use super::{SysCause, call};

/// Most sends of one call.
pub const SENDS_MAX: usize = 32;

/// A ring of io_uring for sends.
pub struct SendRing(IoUring);

impl SendRing {
    /// Makes a ring; an error if the system has no io_uring or forbids it, as container runtimes do.
    pub fn new() -> io::Result<Self> {
        let entries = u32::try_from(SENDS_MAX).expect("a small number");
        let make = || IoUring::builder().dontfork().setup_submit_all().build(entries);
        Ok(Self(call(SysCause::Control, make)?))
    }

    /// Sends each range of `bytes` on its socket. Returns how many bytes of each were sent, zero for
    /// one that has failed: the next send on the socket fails in the same way.
    pub fn send(&mut self, sends: &[(RawFd, Range<usize>)], bytes: &[u8]) -> [usize; SENDS_MAX] {
        for (number, (fd, range)) in (0..).zip(sends) {
            let piece = &bytes[range.clone()];
            let length = u32::try_from(piece.len()).expect("answers are short");
            let entry = opcode::Send::new(types::Fd(*fd), piece.as_ptr(), length)
                .flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
                .build()
                .user_data(number);
            // SAFETY: the bytes are borrowed until every send has ended, below.
            unsafe { self.0.submission().push(&entry) }.expect("the ring has room for each send");
        }
        let mut sent = [0; SENDS_MAX];
        let mut left = sends.len();
        while left > 0 {
            match call(SysCause::Send, || self.0.submit_and_wait(left)) {
                Ok(_) => {}
                Err(error) if is_passing(&error) => continue,
                // The bytes are still borrowed by the kernel, so this cannot return.
                Err(error) => panic!("io_uring_enter failed: {error}"),
            }
            for done in self.0.completion() {
                left -= 1;
                let place = usize::try_from(done.user_data()).expect("the number of a send");
                sent[place] = usize::try_from(done.result()).unwrap_or(0);
            }
        }
        sent
    }
}

/// Whether the call succeeds when it is made again.
fn is_passing(error: &io::Error) -> bool {
    let passing = [Errno::INTR, Errno::AGAIN, Errno::BUSY];
    passing.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
