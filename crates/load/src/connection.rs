//! `Connection`: a socket with at most one request in progress.

use std::io;

use sos::clock;
use sos::sys::{Direction, Endpoint, Socket, poll_fd};
use tds::client::{self, DoneScanner, FinalDone};
use tds::{DoneStatus, TdsVersion};

use crate::Result;
use crate::answer::message_bytes;

/// How long to wait for an answer, or to send a request, before the run is given up: loads of many
/// millions of rows take half a minute on a busy machine.
pub(crate) const PATIENCE_NS: u64 = 120_000_000_000;

/// A connection to the server under load.
pub(crate) struct Connection {
    pub(crate) socket: Socket,
    scanner: DoneScanner,
    /// The part of an answer that has arrived, if it does not arrive in one piece.
    held: Vec<u8>,
    sent_ticks: u64,
    turn: usize,
}

/// The result of reading from the socket.
pub(crate) enum Progress<'a> {
    /// The answer is not whole yet.
    Waiting,
    /// The final DONE of the answer, and its packets.
    Done(FinalDone, &'a [u8]),
}

impl Connection {
    pub(crate) fn open(server: &Endpoint) -> Result<Self> {
        let socket =
            Socket::connect(server.clone()).map_err(|error| format!("{server}: {error}"))?;
        let scanner = DoneScanner::new(TdsVersion::V7_4);
        Ok(Self { socket, scanner, held: Vec::new(), sent_ticks: 0, turn: 0 })
    }

    /// Returns how many requests the connection has sent in runs.
    #[inline]
    pub(crate) fn turn(&self) -> usize {
        self.turn
    }

    /// Returns when the current request was sent.
    #[inline]
    pub(crate) fn sent_ticks(&self) -> u64 {
        self.sent_ticks
    }

    /// Sends the next request of a run.
    #[inline]
    pub(crate) fn send_timed(&mut self, request: &[u8], now_ticks: u64) -> Result<()> {
        self.turn += 1;
        self.sent_ticks = now_ticks;
        self.send(request)
    }

    /// Sends a whole request.
    #[inline]
    pub(crate) fn send(&mut self, request: &[u8]) -> Result<()> {
        self.held.clear();
        let mut rest = request;
        loop {
            match self.socket.send(rest) {
                Ok(sent) if sent == rest.len() => return Ok(()),
                Ok(sent) => rest = &rest[sent..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait_for_room()?,
                Err(error) => return Err(format!("send: {error}")),
            }
        }
    }

    #[cold]
    fn wait_for_room(&self) -> Result<()> {
        self.wait(Direction::Writable)
    }

    fn wait(&self, direction: Direction) -> Result<()> {
        match self.wait_until(direction, clock::monotonic_ns() + PATIENCE_NS)? {
            true => Ok(()),
            false => Err("the server does not answer".to_owned()),
        }
    }

    /// Waits for the socket; false when the deadline comes first.
    fn wait_until(&self, direction: Direction, deadline_ns: u64) -> Result<bool> {
        poll_fd(&self.socket, direction, Some(deadline_ns))
            .map_err(|error| format!("poll: {error}"))
    }

    /// Reads once; `None` if nothing has arrived.
    #[inline]
    fn recv(&self, buffer: &mut [u8]) -> Result<Option<usize>> {
        match self.socket.recv(buffer) {
            Ok(0) => Err("the server has closed a connection".to_owned()),
            Ok(count) => Ok(Some(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(format!("recv: {error}")),
        }
    }

    /// Reads and looks for the end of the answer.
    #[inline]
    pub(crate) fn skim<'a>(&'a mut self, buffer: &'a mut [u8]) -> Result<Progress<'a>> {
        loop {
            let Some(count) = self.recv(buffer)? else { return Ok(Progress::Waiting) };
            let fed = self.scanner.feed(&buffer[..count]);
            let (used, end) = fed.map_err(|error| format!("wrong answer: {error}"))?;
            match end {
                Some(_) if used < count => return Err("more than one answer".to_owned()),
                Some(end) if self.held.is_empty() => {
                    return Ok(Progress::Done(end, &buffer[..count]));
                }
                Some(end) => {
                    self.held.extend_from_slice(&buffer[..count]);
                    return Ok(Progress::Done(end, &self.held));
                }
                None => self.held.extend_from_slice(&buffer[..count]),
            }
            // Fewer bytes than there was room for: another event announces the rest.
            if count < buffer.len() {
                return Ok(Progress::Waiting);
            }
        }
    }

    /// Reads, and returns the message of any type once it is whole.
    pub(crate) fn collect(&mut self, buffer: &mut [u8]) -> Result<Option<&[u8]>> {
        while let Some(count) = self.recv(buffer)? {
            self.held.extend_from_slice(&buffer[..count]);
        }
        match message_bytes(&self.held) {
            Some(bytes) if bytes < self.held.len() => Err("more than one answer".to_owned()),
            Some(_) => Ok(Some(&self.held)),
            None => Ok(None),
        }
    }

    /// Drops the answer that was collected last.
    pub(crate) fn forget(&mut self) {
        self.held.clear();
    }

    /// Sends a request and waits for the packets of its answer.
    pub(crate) fn ask(&mut self, request: &[u8], buffer: &mut [u8]) -> Result<Vec<u8>> {
        let answer = self.ask_until(request, buffer, clock::monotonic_ns() + PATIENCE_NS)?;
        answer.ok_or_else(|| "the server does not answer".to_owned())
    }

    /// Sends a request and waits for the packets of its answer; `None` when the deadline comes
    /// first.
    pub(crate) fn ask_until(
        &mut self,
        request: &[u8],
        buffer: &mut [u8],
        deadline_ns: u64,
    ) -> Result<Option<Vec<u8>>> {
        self.send(request)?;
        loop {
            if let Some(packets) = self.collect(buffer)? {
                return Ok(Some(packets.to_vec()));
            }
            if !self.wait_until(Direction::Readable, deadline_ns)? {
                return Ok(None);
            }
        }
    }

    /// Cancels the current request, and waits until the server acknowledges it; the request's
    /// answer may arrive before that.
    pub(crate) fn cancel(&mut self, buffer: &mut [u8]) -> Result<()> {
        let mut packets = std::mem::take(&mut self.held);
        self.send(&client::attention())?;
        let mut scanner = DoneScanner::new(TdsVersion::V7_4);
        loop {
            let mut rest = &packets[..];
            while !rest.is_empty() {
                let fed = scanner.feed(rest);
                let (used, end) = fed.map_err(|error| format!("wrong answer: {error}"))?;
                if end.is_some_and(|end| end.status.has(DoneStatus::ATTENTION)) {
                    return Ok(());
                }
                rest = &rest[used..];
            }
            packets.clear();
            match self.recv(buffer)? {
                Some(count) => packets.extend_from_slice(&buffer[..count]),
                None => self.wait(Direction::Readable)?,
            }
        }
    }
}
