//! `ServerProcess`: a server started as a child process, perhaps pinned to a CPU, and measured from
//! outside.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use sos::{clock, sys};

use crate::Result;

/// The end of the text before the address in the line that says where a server listens.
const READY: &str = " is ready: ";

/// A running server, stopped when dropped.
pub struct ServerProcess {
    child: Child,
    address: SocketAddr,
    ready_ns: u64,
}

/// The CPUs that a child may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On every CPU that this process may use.
    Anywhere,
    /// On this CPU; the calling thread is moved to the other one.
    Pinned {
        /// Index of the child's CPU.
        server_cpu: usize,
        /// Index of the caller's CPU from then on.
        client_cpu: usize,
    },
}

impl ServerProcess {
    /// Starts a server, passes it `input`, and waits for the line with its address.
    pub fn start(mut command: Command, input: &[u8], place: Place) -> Result<Self> {
        if let Place::Pinned { server_cpu, .. } = place {
            // A child inherits the CPUs of the thread that starts it.
            sys::pin_to_cpu(server_cpu).map_err(|error| format!("CPU {server_cpu}: {error}"))?;
        }
        // The caller may have blocked signals, and a child would inherit that.
        sys::clear_signal_mask(&mut command);
        let started_ns = clock::monotonic_ns();
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        if let Place::Pinned { client_cpu, .. } = place {
            sys::pin_to_cpu(client_cpu).map_err(|error| format!("CPU {client_cpu}: {error}"))?;
        }
        let child = spawned.map_err(|error| format!("{command:?}: {error}"))?;
        // From here on this value ends the child, whatever fails.
        let mut server = Self { child, address: ([0, 0, 0, 0], 0).into(), ready_ns: 0 };
        server.give(input)?;
        server.address = server.read_address()?;
        server.ready_ns = clock::monotonic_ns() - started_ns;
        Ok(server)
    }

    fn give(&mut self, input: &[u8]) -> Result<()> {
        let mut stdin = self.child.stdin.take().ok_or("the child has no stdin")?;
        stdin.write_all(input).map_err(|error| format!("the child's stdin: {error}"))
    }

    fn read_address(&mut self) -> Result<SocketAddr> {
        let stdout = self.child.stdout.take().ok_or("the child has no stdout")?;
        for line in BufReader::new(stdout).lines() {
            let line = line.map_err(|error| format!("the child's stdout: {error}"))?;
            if let Some((_, address)) = line.split_once(READY) {
                return address.trim().parse().map_err(|_| format!("no address in '{line}'"));
            }
        }
        Err("the server ended before it was ready".to_owned())
    }

    /// Returns the address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the time from its start to its ready line.
    pub fn ready_ns(&self) -> u64 {
        self.ready_ns
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the CPU time of its threads so far, user and kernel.
    pub fn cpu_ns(&self) -> Result<u64> {
        sys::process_cpu_ns(self.child.id())
            .map_err(|error| format!("the server has gone: {error}"))
    }

    /// Ends it in order and waits for that: it writes what it writes at its end, such as the counts
    /// of `make pgo`. Dropping it kills it.
    pub fn stop(mut self) -> Result<()> {
        let asked = sys::ask_to_stop(self.child.id(), sys::Stop::Terminate);
        asked.map_err(|error| format!("the server has gone: {error}"))?;
        let ended = self.child.wait().map_err(|error| format!("the server: {error}"))?;
        if ended.success() { Ok(()) } else { Err(format!("the server ended with {ended}")) }
    }

    /// Returns its resident memory.
    pub fn resident_bytes(&self) -> Result<u64> {
        let bytes = sys::process_resident_bytes(self.child.id());
        bytes.map_err(|error| format!("the server has gone: {error}"))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_inherits_no_blocked_signals() {
        let _signals = sys::StopSignals::new().expect("signals");
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'x is ready: 127.0.0.1:1'; exec sleep 60"]);
        let server = ServerProcess::start(command, b"", Place::Anywhere).expect("it starts");
        let blocked = |path: String| {
            let status = std::fs::read_to_string(path).expect("it lives");
            let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
            u64::from_str_radix(line.expect("a mask").trim(), 16).expect("in hex")
        };
        assert_eq!(blocked(format!("/proc/{}/status", server.id())), 0);
        assert_ne!(blocked("/proc/thread-self/status".to_owned()), 0, "and ours are blocked");
    }
}
