//! A bare echo server: one epoll loop, one `recv` and one `send` per request.
//!
//! It is the upper limit for any server on this machine. It counts a request's bytes and answers
//! with fixed ones, so that client and kernel do the same work as with a real server.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use sos::sys::{Events, Listener, Poller, Socket, Timeout};

use crate::Result;

/// The listener's token; a connection's token is its index.
const LISTENER: u64 = u64::MAX;
const EVENTS_MAX: usize = 256;
const BUFFER_BYTES: usize = 64 * 1024;

/// An echo server on a listening socket.
pub struct EchoServer {
    listener: Listener,
    address: SocketAddr,
    request_bytes: usize,
    answer: Vec<u8>,
}

/// A client's connection, and the bytes of its request that have not arrived.
struct Peer {
    socket: Socket,
    missing: usize,
}

impl EchoServer {
    /// Listens on a free port for requests of `request_bytes` bytes.
    pub fn bind(request_bytes: usize, answer: Vec<u8>) -> Result<Self> {
        if request_bytes == 0 || answer.is_empty() {
            return Err("a request and an answer have bytes".to_owned());
        }
        let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).map_err(text)?;
        let address = listener.local_address().map_err(text)?;
        Ok(Self { listener, address, request_bytes, answer })
    }

    /// Returns the address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests, without end.
    pub fn run(self) -> Result<()> {
        let poller = Poller::new().map_err(text)?;
        poller.add(&self.listener, LISTENER).map_err(text)?;
        let mut events = Events::with_capacity(EVENTS_MAX);
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut peers: Vec<Option<Peer>> = Vec::new();
        loop {
            poller.wait(&mut events, Timeout::Never);
            for event in &mut events {
                if event.token == LISTENER {
                    self.accept(&poller, &mut peers)?;
                    continue;
                }
                let index = usize::try_from(event.token).expect("a token is an index");
                let Some(peer) = &mut peers[index] else { continue };
                if self.serve(peer, &mut buffer).is_err() {
                    peers[index] = None;
                }
            }
        }
    }

    fn accept(&self, poller: &Poller, peers: &mut Vec<Option<Peer>>) -> Result<()> {
        for token in u64::try_from(peers.len()).map_err(|error| error.to_string())?.. {
            // No further connection is waiting, or it is closed again.
            let Ok((socket, _)) = self.listener.accept() else { break };
            poller.add(&socket, token).map_err(text)?;
            peers.push(Some(Peer { socket, missing: self.request_bytes }));
        }
        Ok(())
    }

    #[inline]
    fn serve(&self, peer: &mut Peer, buffer: &mut [u8]) -> io::Result<()> {
        let count = match peer.socket.recv(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        peer.missing = peer.missing.checked_sub(count).ok_or(io::ErrorKind::InvalidData)?;
        if peer.missing > 0 {
            return Ok(());
        }
        peer.missing = self.request_bytes;
        let sent = peer.socket.send(&self.answer)?;
        // The client waits for this answer, so the socket's buffer is empty and takes it whole.
        if sent == self.answer.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }
}

fn text(error: io::Error) -> String {
    error.to_string()
}
