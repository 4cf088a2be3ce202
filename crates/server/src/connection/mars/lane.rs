//! `Lane`: how one session of a MARS connection sends: packet by packet, as its window allows.

use std::io::IoSlice;

use sos::lock::{SpinClass, SpinLock};
use sos::park::{self, Wake};
use sos::sync::{Arc, AtomicBool, Ordering};
use sos::wait::WaitType;
use tds::ResponseWriter;
use tds::smp::{FrameHeader, FrameKind, Windows};

use super::super::end::End;
use super::super::link::Link;
use super::wire::{Patience, Wire};

/// Most slices that a packet is gathered from.
const PIECES_MAX: usize = 16;

/// The sending side of one session.
#[derive(Debug)]
pub(in crate::connection) struct Lane {
    wire: Arc<Wire>,
    state: SpinLock<State>,
    /// Whether the window lets another frame pass; changed with `state`.
    may_send: AtomicBool,
    is_closed: AtomicBool,
}

#[derive(Debug)]
struct State {
    windows: Windows,
    /// Whether FIN has been sent.
    is_finished: bool,
}

impl Lane {
    /// Returns the lane of a session that a SYN has opened.
    pub(super) fn new(wire: &Arc<Wire>, windows: Windows) -> Self {
        let state = State { windows, is_finished: false };
        Self {
            wire: Arc::clone(wire),
            state: SpinLock::new(SpinClass::SessionManager, state),
            may_send: AtomicBool::new(windows.may_send()),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Sends all closed packets of a response, waiting for a client that does not read.
    pub(in crate::connection) fn send(
        &self,
        writer: &mut ResponseWriter,
        link: &Link,
    ) -> Result<(), End> {
        let mut target = 0;
        while writer.sendable_bytes() > 0 {
            match self.send_packet(writer)? {
                Some(queued) => target = queued,
                None => {
                    self.wire.flush(target, Patience::Wait)?;
                    self.wait(link)?;
                }
            }
        }
        self.wire.flush(target, Patience::Wait).map(drop)
    }

    /// Sends the closed packets that the client is ready for now.
    pub(in crate::connection) fn send_some(&self, writer: &mut ResponseWriter) -> Result<(), End> {
        let mut target = 0;
        while writer.sendable_bytes() > 0 && !self.wire.is_congested() {
            match self.send_packet(writer)? {
                Some(queued) => target = queued,
                None => break,
            }
        }
        if target > 0 && !self.wire.flush(target, Patience::Leave)? {
            self.wire.wake_task();
        }
        Ok(())
    }

    /// Queues the next packet: drivers expect one in each frame. Returns the wire's count of queued
    /// bytes, `None` if the window is used up.
    fn send_packet(&self, writer: &mut ResponseWriter) -> Result<Option<u64>, End> {
        let mut pieces = [IoSlice::new(&[]); PIECES_MAX];
        let count = writer.slices(&mut pieces);
        let packet = first_packet(&pieces[..count]);
        let queued = self.wire.with(|outbound| {
            let mut state = self.state.lock();
            if self.is_closed.load(Ordering::Relaxed) || state.is_finished {
                return Err(End::Closed);
            }
            let header = state.windows.send(packet.len());
            self.may_send.store(state.windows.may_send(), Ordering::Relaxed);
            drop(state);
            header.map(|header| outbound.add(header, &packet)).transpose()
        })?;
        if queued.is_some() {
            writer.consume(packet.len());
        }
        Ok(queued)
    }

    /// Waits until the client has read on. It may take as long as it likes: only this session
    /// waits. An attention does not end the wait, because the client reads on until it is
    /// acknowledged; a stop and the end of the connection do.
    #[cold]
    fn wait(&self, link: &Link) -> Result<(), End> {
        let must_wait =
            || !self.may_send.load(Ordering::Relaxed) && !self.is_closed.load(Ordering::Relaxed);
        let cancel = link.cancel().filter(|cancel| !cancel.is_set());
        let wait = WaitType::AsyncNetworkIo;
        match park::park(self.key(), wait, must_wait, None, cancel) {
            Wake::Cancelled if link.is_stopping() => Err(End::Stopping),
            Wake::Cancelled | Wake::Signalled | Wake::TimedOut => Ok(()),
        }
    }

    /// Takes the header of a frame of DATA or an ACK.
    pub(super) fn take(&self, header: &FrameHeader) -> Result<(), End> {
        let mut state = self.state.lock();
        match header.kind {
            FrameKind::Data => state.windows.take_data(header)?,
            FrameKind::Ack => state.windows.take_ack(header)?,
            FrameKind::Syn | FrameKind::Fin => {}
        }
        self.may_send.store(state.windows.may_send(), Ordering::Relaxed);
        drop(state);
        park::unpark_all(self.key());
        Ok(())
    }

    /// Notes that the session has taken a frame of DATA, and sends the ACK that is due.
    pub(super) fn taken(&self) -> Result<(), End> {
        self.wire.with(|outbound| {
            let ack = self.state.lock().windows.taken();
            ack.map(|ack| outbound.add(ack, &[])).transpose()
        })?;
        Ok(())
    }

    /// Sends the frame that ends the session's answers, once.
    pub(in crate::connection) fn finish(&self) {
        let queued = self.wire.with(|outbound| {
            let mut state = self.state.lock();
            if std::mem::replace(&mut state.is_finished, true) {
                return Ok(None);
            }
            let fin = state.windows.finish();
            drop(state);
            outbound.add(fin, &[]).map(Some)
        });
        // If the connection has ended, its client needs no FIN.
        if let Ok(Some(queued)) = queued
            && matches!(self.wire.flush(queued, Patience::Leave), Ok(false))
        {
            self.wire.wake_task();
        }
    }

    /// Returns whether FIN has been sent.
    pub(super) fn is_finished(&self) -> bool {
        self.state.lock().is_finished
    }

    /// Ends the whole connection because of this session.
    pub(in crate::connection) fn fail(&self) {
        self.wire.fail();
    }

    /// Lets the session wait for its client no more: the connection has ended.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        park::unpark_all(self.key());
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// Copies the first packet of the bytes to send.
fn first_packet(pieces: &[IoSlice<'_>]) -> Vec<u8> {
    let mut bytes = pieces.iter().flat_map(|piece| piece.iter().copied());
    let mut packet: Vec<u8> = bytes.by_ref().take(tds::packet::HEADER_BYTES).collect();
    let length = match packet.get(2..4) {
        Some(&[high, low]) => usize::from(u16::from_be_bytes([high, low])),
        Some(_) | None => 0,
    };
    let mut rest = length.saturating_sub(packet.len());
    packet.reserve(rest);
    let mut skip = tds::packet::HEADER_BYTES;
    for piece in pieces {
        let from = skip.min(piece.len());
        skip -= from;
        let count = rest.min(piece.len() - from);
        packet.extend_from_slice(&piece[from..from + count]);
        rest -= count;
    }
    packet
}
