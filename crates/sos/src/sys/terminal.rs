//! The size of the terminal, for interactive tools.

use std::os::fd::{AsFd, AsRawFd};

use super::{SysCause, call};

/// The number of columns of the terminal of a descriptor; `None` if it is no terminal or does not
/// report it.
pub fn terminal_columns(fd: impl AsFd) -> Option<usize> {
    // SAFETY: plain data; zero is a valid value of it.
    let mut size: libc::winsize = unsafe { std::mem::zeroed() };
    let fd = fd.as_fd().as_raw_fd();
    let result = call(SysCause::Process, || {
        // SAFETY: `size` is writable and what this request writes.
        unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &raw mut size) }
    });
    (result == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}
