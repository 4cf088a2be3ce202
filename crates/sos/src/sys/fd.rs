//! `Fd`: a file descriptor that is closed through the wrapper, because closing may take long too.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::{SysCause, call};

/// An open descriptor; closed when dropped.
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
