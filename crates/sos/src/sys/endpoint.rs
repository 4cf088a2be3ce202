//! `Endpoint`: where a server listens, on TCP or on a UNIX socket; `Peer`: who has connected.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// An address and a port of TCP.
    Tcp(SocketAddr),
    /// The path of a UNIX socket, for clients on the same machine.
    Unix(Arc<Path>),
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl Endpoint {
    /// Returns whether only clients on this machine reach it by this endpoint.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An address and a port of TCP.
    Tcp(SocketAddr),
    /// An end of a UNIX socket, which has no address.
    Unix,
}

impl Peer {
    /// Returns whether it is on this machine.
    pub fn is_local(self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix => true,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            // What SQL Server says of clients that do not come over a network.
            Self::Unix => f.write_str("<local machine>"),
        }
    }
}

/// Removes a socket's file if no server listens on it any more.
///
/// # Errors
/// `AddrInUse` if a server listens there, or if the file is no socket.
pub(super) fn clear_path(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
        Err(error) => Err(error),
    }
}

/// Allows every user of this machine to connect: what they may do is decided by their login.
pub(super) fn open_to_all(path: &Path) -> io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))
}
