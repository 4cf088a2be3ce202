//! Reports the state of this process to the service manager, as sd_notify(3) does.
//!
//! systemd starts a `Type=notify` service with NOTIFY_SOCKET in its environment: the address of a datagram socket, a path or,
//! after `@`, a name in the abstract namespace. Each message is a few lines such as `READY=1`.

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The environment variable that holds the address of the service manager's socket.
const VARIABLE: &str = "NOTIFY_SOCKET";

/// Sends the lines of `state` to the service manager. Returns whether there is one.
///
/// # Errors
/// If the address in NOTIFY_SOCKET is none, or nothing receives there.
pub(crate) fn service_manager(state: &str) -> io::Result<bool> {
    let Some(place) = std::env::var_os(VARIABLE).filter(|place| !place.is_empty()) else {
        return Ok(false);
    };
    let address = address(&place)?;
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    Ok(true)
}

fn address(place: &OsString) -> io::Result<SocketAddr> {
    match place.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        [b'/', ..] => SocketAddr::from_pathname(place),
        // vsock:, for virtual machines, among others.
        _ => Err(io::Error::new(io::ErrorKind::Unsupported, "neither a path nor an abstract name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_paths_and_abstract_names() {
        let path = address(&"/run/systemd/notify".into()).unwrap();
        assert_eq!(path.as_pathname().unwrap().to_str(), Some("/run/systemd/notify"));
        let name = address(&"@abc".into()).unwrap();
        assert_eq!(name.as_abstract_name(), Some(b"abc".as_slice()));
        assert_eq!(address(&"vsock:2:1".into()).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }
}
