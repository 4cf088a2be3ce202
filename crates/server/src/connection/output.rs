//! `Output`: sends packets to the client, through TLS if it is in use, and waits for a slow client.

use std::io::{self, IoSlice};
use std::time::Duration;

use durable::Database;
use engine::sink::CutOff;
use sos::park::Wake;
use sos::sched;
use sos::sys::Direction;
use sos::wait::WaitType;
use tds::ResponseWriter;

use super::channel::Channel;
use super::end::End;
use super::held::wait_for_log;
use super::link::Link;

/// Most slices passed to the kernel at once.
const PIECES_MAX: usize = 16;

/// The sending side of a connection.
pub(crate) struct Output<'a> {
    pub(super) link: &'a Link,
    pub(super) channel: &'a mut Channel,
    /// Buffer for TLS records.
    pub(super) sealed: &'a mut Vec<u8>,
    /// Longest time that a client may read nothing.
    pub(super) send_timeout: Duration,
}

impl Output<'_> {
    /// Sends all closed packets of a response that goes on, once what they depend on is durable.
    pub(crate) fn send_part(
        &mut self,
        writer: &mut ResponseWriter,
        database: Option<&Database>,
    ) -> Result<(), End> {
        wait_for_log(database)?;
        self.send(writer)
    }

    /// Returns why the request is cut off, if it is.
    pub(crate) fn cut_off(&self) -> Option<CutOff> {
        self.link.cut_off()
    }

    /// Sends all closed packets.
    pub(super) fn send(&mut self, writer: &mut ResponseWriter) -> Result<(), End> {
        if let Some(lane) = &self.link.lane {
            return lane.send(writer, self.link);
        }
        while writer.sendable_bytes() > 0 {
            let sent = match (self.channel.is_plain(), writer.as_single()) {
                (true, Some(bytes)) => self.patiently(|link| link.socket.send(bytes))?,
                (true, None) => {
                    let mut pieces = [IoSlice::new(&[]); PIECES_MAX];
                    let count = writer.slices(&mut pieces);
                    self.patiently(|link| link.socket.send_vectored(&pieces[..count]))?
                }
                (false, _) => {
                    let mut pieces = [IoSlice::new(&[]); PIECES_MAX];
                    let count = writer.slices(&mut pieces);
                    self.send_sealed(&pieces[..count])?
                }
            };
            writer.consume(sent);
        }
        Ok(())
    }

    /// Sends packets that were moved out of a writer; not for a session of a MARS connection.
    pub(super) fn send_plain(&mut self, bytes: &[u8]) -> Result<(), End> {
        if self.channel.is_plain() {
            return self.send_raw(bytes);
        }
        self.send_sealed(&[IoSlice::new(bytes)]).map(|_| ())
    }

    /// Returns whether the client may read other sessions instead of this one.
    pub(crate) fn is_mars(&self) -> bool {
        self.link.lane.is_some()
    }

    /// Sends the closed packets that the client is ready for, once what they depend on is durable;
    /// all of them without MARS.
    pub(crate) fn send_some(
        &mut self,
        writer: &mut ResponseWriter,
        database: Option<&Database>,
    ) -> Result<(), End> {
        match &self.link.lane {
            Some(lane) => {
                wait_for_log(database)?;
                lane.send_some(writer)
            }
            None => self.send_part(writer, database),
        }
    }

    /// Sends slices through TLS; returns their length in bytes.
    fn send_sealed(&mut self, pieces: &[IoSlice<'_>]) -> Result<usize, End> {
        self.sealed.clear();
        for piece in pieces {
            self.channel.seal(piece, self.sealed)?;
        }
        let sealed = std::mem::take(self.sealed);
        let sent = self.send_raw(&sealed);
        *self.sealed = sealed;
        sent.map(|()| pieces.iter().map(|piece| piece.len()).sum())
    }

    /// Sends bytes without TLS.
    pub(crate) fn send_raw(&mut self, mut bytes: &[u8]) -> Result<(), End> {
        while !bytes.is_empty() {
            let sent = self.patiently(|link| link.socket.send(bytes))?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Sends as much as the kernel accepts, waiting until it accepts something.
    fn patiently(&self, send: impl Fn(&Link) -> io::Result<usize>) -> Result<usize, End> {
        loop {
            match send(self.link) {
                Ok(0) => return Err(End::Closed),
                Ok(sent) => {
                    self.link.traffic.count_write();
                    return Ok(sent);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until the client has read something. An attention does not end the wait, because the
    /// client reads on until it is acknowledged; a stop does.
    #[cold]
    fn wait(&self) -> Result<(), End> {
        let cancel = self.link.cancel().filter(|cancel| !cancel.is_set());
        let wake = sched::wait_fd(
            &self.link.socket,
            Direction::Writable,
            WaitType::AsyncNetworkIo,
            Some(self.send_timeout),
            cancel,
        )?;
        match wake {
            Wake::Signalled => Ok(()),
            Wake::TimedOut => Err(End::TimedOut("send timeout")),
            Wake::Cancelled if self.link.is_stopping() => Err(End::Stopping),
            Wake::Cancelled => Ok(()),
        }
    }
}
