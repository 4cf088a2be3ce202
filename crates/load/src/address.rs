//! Resolves server names as sqlcmd accepts them, and decides whether a connection is encrypted.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use sos::sys::Endpoint;

use crate::link::Encrypt;

const PORT_DEFAULT: u16 = 1433;
/// The port of the dedicated admin connection.
const PORT_ADMIN: u16 = 1434;

/// Resolves a server's name: `host`, `host,port`, `tcp:host,port`, `.` for this machine,
/// `unix:PATH` for a UNIX socket, or `admin:host` for the dedicated admin connection.
///
/// # Errors
/// One line that says what is wrong with the name.
pub fn resolve(server: &str) -> Result<Endpoint, String> {
    let wrong = |why: &str| format!("invalid value '{server}' for '-S': {why}");
    if let Some(path) = server.strip_prefix("unix:") {
        if path.is_empty() {
            return Err(wrong("the path of the socket is missing"));
        }
        return Ok(Endpoint::Unix(Path::new(path).into()));
    }
    let admin = server.strip_prefix("admin:").or_else(|| server.strip_prefix("ADMIN:"));
    let port_default = if admin.is_some() { PORT_ADMIN } else { PORT_DEFAULT };
    let server = admin.unwrap_or(server);
    let name = server.strip_prefix("tcp:").unwrap_or(server);
    if name.contains('\\') {
        return Err(wrong("named instances are not looked up: give the port, as host,port"));
    }
    let (host, port) = match name.split_once(',') {
        Some((host, port)) => {
            (host.trim(), port.trim().parse().map_err(|_| wrong("the port is not a number"))?)
        }
        None => (name.trim(), port_default),
    };
    let host = if matches!(host, "." | "(local)" | "") { "127.0.0.1" } else { host };
    let mut found = (host, port).to_socket_addrs().map_err(|error| wrong(&error.to_string()))?;
    found.next().map(Endpoint::Tcp).ok_or_else(|| wrong("the name has no address"))
}

/// Resolves an agent's address: `host:port`, or a port of this machine alone.
///
/// # Errors
/// One line that says what is wrong with it.
pub fn of_agent(name: &str) -> Result<SocketAddr, String> {
    let wrong = |why: &str| format!("'{name}' is not the address of an agent: {why}");
    let (host, port) = name.rsplit_once(':').unwrap_or(("127.0.0.1", name));
    let port: u16 = port.trim().parse().map_err(|_| wrong("expected host:port, or a port"))?;
    let host = host.trim().trim_start_matches('[').trim_end_matches(']');
    let mut found = (host, port).to_socket_addrs().map_err(|error| wrong(&error.to_string()))?;
    found.next().ok_or_else(|| wrong("the name has no address"))
}

/// Returns the encryption to use: the one asked for, else plain text to this machine and TLS to any
/// other. A password leaves this machine in plain text only if the user asks for that.
pub fn encryption(asked: Option<Encrypt>, server: &Endpoint) -> Encrypt {
    asked.unwrap_or(if server.is_local() { Encrypt::Off } else { Encrypt::On })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_as_sqlcmd_names_them() {
        for (name, expected) in [
            ("127.0.0.1", "127.0.0.1:1433"),
            ("tcp:127.0.0.1,1500", "127.0.0.1:1500"),
            (".", "127.0.0.1:1433"),
            ("::1,9", "[::1]:9"),
            ("admin:127.0.0.1", "127.0.0.1:1434"),
            ("ADMIN:tcp:.,1600", "127.0.0.1:1600"),
            ("unix:/run/clearway.sock", "unix:/run/clearway.sock"),
        ] {
            assert_eq!(resolve(name).map(|found| found.to_string()).as_deref(), Ok(expected));
        }
        assert!(resolve("host\\instance").is_err_and(|why| why.contains("named instances")));
        assert!(resolve("127.0.0.1,x").is_err());
        assert!(resolve("unix:").is_err_and(|why| why.contains("path")));
    }

    #[test]
    fn an_agent_without_a_host_is_on_this_machine() {
        for (name, expected) in
            [("7433", "127.0.0.1:7433"), ("10.1.2.3:5", "10.1.2.3:5"), ("[::1]:9", "[::1]:9")]
        {
            assert_eq!(of_agent(name).map(|found| found.to_string()).as_deref(), Ok(expected));
        }
        for name in ["", "host", "127.0.0.1:", "127.0.0.1:99999"] {
            assert!(of_agent(name).is_err(), "{name}");
        }
    }
}
