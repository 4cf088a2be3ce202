//! The errors that the simulated disk reports, with Linux's numbers where the system has one.

use std::io;

const EIO: i32 = 5;
const EFBIG: i32 = 27;
const ENOSPC: i32 = 28;

/// Returns EIO: the device failed.
pub(crate) fn device() -> io::Error {
    io::Error::from_raw_os_error(EIO)
}

/// Returns ENOSPC: the disk has no room.
pub(crate) fn full() -> io::Error {
    io::Error::from_raw_os_error(ENOSPC)
}

/// Returns EFBIG: no file can be that long.
pub(crate) fn too_large() -> io::Error {
    io::Error::from_raw_os_error(EFBIG)
}

/// The process or the machine is down, or the handle is of an earlier life of it.
pub(crate) fn down() -> io::Error {
    io::Error::other("the simulated machine is down, or was restarted since")
}
