//! TCP and UNIX sockets: non-blocking, with TCP_NODELAY, never raising SIGPIPE.

use std::io::{self, IoSlice};
use std::mem;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use io_uring::{IoUring, opcode, types};
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrAny,
    SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt,
};

use super::endpoint::{clear_path, open_to_all};
use super::{Endpoint, Fd, Peer, SysCause, call};
use crate::ledger;

/// Connections the kernel completes ahead of `accept`; it caps this at net.core.somaxconn.
const BACKLOG: i32 = 4096;

fn family_of(address: SocketAddr) -> AddressFamily {
    match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    }
}

/// A socket that listens for connections.
#[derive(Debug)]
pub struct Listener(Fd);

impl Listener {
    /// Listens on an address; port 0 takes any free port.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let family = family_of(address);
        call(SysCause::Control, || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let fd = net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
            sockopt::set_socket_reuseaddr(&fd, true)?;
            net::bind(&fd, &address)?;
            net::listen(&fd, BACKLOG)?;
            Ok(Self(fd.into()))
        })
    }

    /// Listens on a UNIX socket, whose file it makes; the file of a server that has gone is
    /// replaced.
    pub fn bind_unix(path: &std::path::Path) -> io::Result<Self> {
        clear_path(path)?;
        let listener = call(SysCause::Control, || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let fd = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            net::bind(&fd, &SocketAddrUnix::new(path)?)?;
            net::listen(&fd, BACKLOG)?;
            io::Result::Ok(Self(fd.into()))
        })?;
        open_to_all(path)?;
        Ok(listener)
    }

    /// The address on which it listens.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        Ok(net::getsockname(&self.0)?.try_into()?)
    }

    /// Accepts a connection; `WouldBlock` if there is none.
    pub fn accept(&self) -> io::Result<(Socket, Peer)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (fd, peer) = call(SysCause::Accept, || net::acceptfrom_with(&self.0, flags))?;
        let socket = Socket(fd.into());
        let peer = peer_of(peer.ok_or(io::ErrorKind::ConnectionAborted)?)?;
        if peer != Peer::Unix {
            // Answers are sent as a whole: waiting for more data to fill a segment would only delay
            // them.
            call(SysCause::Control, || sockopt::set_tcp_nodelay(&socket.0, true))?;
        }
        Ok((socket, peer))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn peer_of(address: SocketAddrAny) -> io::Result<Peer> {
    if address.address_family() == AddressFamily::UNIX {
        return Ok(Peer::Unix);
    }
    Ok(Peer::Tcp(address.try_into()?))
}

/// A socket that is connected, or is being connected.
#[derive(Debug)]
pub struct Socket(Fd);

impl Socket {
    /// Connects to an address, waiting for the handshake; the socket is non-blocking afterwards.
    /// For clients and tests.
    pub fn connect(to: impl Into<Endpoint>) -> io::Result<Self> {
        let fd = match to.into() {
            Endpoint::Tcp(address) => {
                let stream = std::net::TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                OwnedFd::from(stream)
            }
            Endpoint::Unix(path) => {
                let stream = std::os::unix::net::UnixStream::connect(path)?;
                stream.set_nonblocking(true)?;
                OwnedFd::from(stream)
            }
        };
        Ok(Self(fd.into()))
    }

    /// Begins to connect. Until that is done a send would block; if it fails, the
    /// next receive returns the error.
    pub fn connect_begin(to: impl Into<Endpoint>) -> io::Result<Self> {
        let address = match to.into() {
            Endpoint::Tcp(address) => address,
            // The other end is on this machine: the kernel connects the two at once.
            unix @ Endpoint::Unix(_) => return Self::connect(unix),
        };
        let family = family_of(address);
        call(SysCause::Control, || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let fd = net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
            sockopt::set_tcp_nodelay(&fd, true)?;
            match net::connect(&fd, &address) {
                Ok(()) | Err(Errno::INPROGRESS) => Ok(Self(fd.into())),
                Err(error) => Err(error.into()),
            }
        })
    }

    /// Makes two sockets that are connected to each other, within this process.
    pub fn pair() -> io::Result<(Self, Self)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (one, other) = call(SysCause::Control, || {
            net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        })?;
        Ok((Self(one.into()), Self(other.into())))
    }

    /// Reads data that has arrived; 0 at the end of the stream, `WouldBlock` if there is none.
    #[inline]
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = ledger::receive(|| net::recv(&self.0, buffer, RecvFlags::empty()))?;
        Ok(received.1)
    }

    /// Reads data that has arrived without removing it from the socket.
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(call(SysCause::Recv, || net::recv(&self.0, buffer, RecvFlags::PEEK))?.1)
    }

    /// Writes as much as the kernel takes; `WouldBlock` if that is nothing.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(call(SysCause::Send, || net::send(&self.0, bytes, SendFlags::NOSIGNAL))?)
    }

    /// Writes as much as the kernel takes of several pieces.
    pub fn send_vectored(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut control = SendAncillaryBuffer::default();
        let flags = SendFlags::NOSIGNAL;
        Ok(call(SysCause::Send, || net::sendmsg(&self.0, pieces, &mut control, flags))?)
    }

    /// Shuts down both directions: the peer sees the end of the stream, and what it sends is
    /// dropped.
    pub fn shutdown(&self) {
        // It fails if the peer has already closed the connection.
        let _ = call(SysCause::Control, || net::shutdown(&self.0, Shutdown::Both));
    }

    /// Shuts down sending: the peer sees the end of the stream.
    pub fn shutdown_send(&self) {
        // It fails if the peer has already closed the connection.
        let _ = call(SysCause::Control, || net::shutdown(&self.0, Shutdown::Write));
    }

    /// Turns on the kernel's probes of idle connections.
    pub fn set_keepalive(&self) -> io::Result<()> {
        Ok(call(SysCause::Control, || sockopt::set_socket_keepalive(&self.0, true))?)
    }

    /// Returns the address of this end.
    pub fn local_end(&self) -> io::Result<Peer> {
        peer_of(net::getsockname(&self.0)?)
    }

    /// A second handle of the same socket.
    pub fn try_clone(&self) -> io::Result<Self> {
        let fd = call(SysCause::Control, || self.0.as_fd().try_clone_to_owned())?;
        Ok(Self(fd.into()))
    }
}

impl Socket {
    /// Returns the number of its descriptor.
    pub(crate) fn number(&self) -> u64 {
        u64::from(self.as_fd().as_raw_fd().unsigned_abs())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Most sends of one call.
pub const SENDS_MAX: usize = 32;

/// A ring of io_uring, which gives the kernel the sends of several sockets in one system call. Every
/// send ends within the call: what the kernel does not take at once is not sent. So the bytes are
/// borrowed for the call only, and any thread may make the next one.
pub struct SendRing(Option<IoUring>);

impl SendRing {
    /// Makes a ring; an error if the system has no io_uring or forbids it, as container runtimes do.
    pub fn new() -> io::Result<Self> {
        let entries = u32::try_from(SENDS_MAX).expect("a small number");
        let make = || IoUring::builder().dontfork().setup_submit_all().build(entries);
        Ok(Self(Some(call(SysCause::Control, make)?)))
    }

    /// Returns whether a call has failed, so that nothing can be sent with the ring any more.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        self.0.is_none()
    }

    /// Sends each range of `bytes` on its socket. Returns how many bytes of each were sent, zero for
    /// one that has failed: the next send on the socket fails in the same way.
    ///
    /// If the call itself fails, the ring is given up: see [`Self::has_failed`]. Sends that the kernel
    /// has not taken count as not sent.
    pub fn send(
        &mut self,
        sends: &[(RawFd, Range<usize>)],
        bytes: &mut Vec<u8>,
    ) -> [usize; SENDS_MAX] {
        let mut sent = [None; SENDS_MAX];
        let Some(ring) = &mut self.0 else { return [0; SENDS_MAX] };
        for (number, (fd, range)) in (0..).zip(sends) {
            let piece = &bytes[range.clone()];
            let length = u32::try_from(piece.len()).expect("answers are short");
            let entry = opcode::Send::new(types::Fd(*fd), piece.as_ptr(), length)
                .flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
                .build()
                .user_data(number);
            // SAFETY: the bytes stay where they are until every send has ended, below, or for ever if
            // the call fails.
            unsafe { ring.submission().push(&entry) }.expect("the ring has room for each send");
        }
        let (mut left, mut has_failed) = (sends.len(), false);
        while left > 0 && !has_failed {
            match call(SysCause::Send, || ring.submit_and_wait(left)) {
                Err(error) if is_passing(&error) => continue,
                called => has_failed = called.is_err(),
            }
            for done in ring.completion() {
                left -= 1;
                let place = usize::try_from(done.user_data()).expect("the number of a send");
                sent[place] = Some(usize::try_from(done.result()).unwrap_or(0));
            }
        }
        if has_failed {
            // The kernel takes the entries in their order. What it has taken it may read at any time:
            // it sends that, so the bytes and the ring stay for ever.
            let taken = sends.len() - ring.submission().len();
            for (sent, (_, range)) in sent.iter_mut().zip(&sends[..taken]) {
                sent.get_or_insert(range.len());
            }
            let copy = bytes.clone();
            mem::forget((self.0.take(), mem::replace(bytes, copy)));
        }
        sent.map(Option::unwrap_or_default)
    }
}

/// Whether the call succeeds when it is made again.
fn is_passing(error: &io::Error) -> bool {
    let passing = [Errno::INTR, Errno::AGAIN, Errno::BUSY];
    passing.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
