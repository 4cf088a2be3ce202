//! SMP: several sessions over one connection, the framing of MARS ([MC-SMP]).
//!
//! ```text
//!   0    1      2   4        8          12       16
//!   │ 53 │ flags │ SID │ LENGTH │ SEQNUM │ WNDW │ payload of DATA .. │      little-endian
//! ```
//!
//! Each session counts its DATA frames from 1. WNDW is the highest number that the sender of a frame
//! is ready to receive, so a reader that stops reading stops its own session and no other. This file
//! has the frames and the counting; it knows neither sockets nor what the payload is.

use crate::error::{ProtocolError, Result};

/// The first byte of every frame.
pub const SMP_ID: u8 = 0x53;
/// The length of a frame's header in bytes.
pub const SMP_HEADER_BYTES: usize = 16;
/// The window of a new session: frames that a side may send before the other has answered.
pub const WINDOW_INITIAL: u32 = 4;
/// The longest payload of a frame in bytes: the longest TDS packet.
pub const PAYLOAD_BYTES_MAX: usize = 32_767;
/// Frames taken after which the sender gets an ACK, unless DATA has told it the window before.
const FRAMES_PER_ACK: u32 = 2;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Opens a session; only clients do.
    Syn,
    /// Acknowledges frames and reports the window.
    Ack,
    /// The sender has no more to send.
    Fin,
    /// Carries a part of the session's stream.
    Data,
}

impl FrameKind {
    const fn code(self) -> u8 {
        match self {
            Self::Syn => 1,
            Self::Ack => 2,
            Self::Fin => 4,
            Self::Data => 8,
        }
    }

    const fn of_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Syn),
            2 => Some(Self::Ack),
            4 => Some(Self::Fin),
            8 => Some(Self::Data),
            _ => None,
        }
    }
}

/// The header of a frame ([MC-SMP] 2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// What the frame is.
    pub kind: FrameKind,
    /// The session's id, chosen by the client.
    pub session: u16,
    /// The length of the payload in bytes; 0 except for DATA.
    pub payload_bytes: usize,
    /// The number of the frame if it is DATA, else of the last DATA frame sent.
    pub sequence: u32,
    /// The highest number of a frame that the sender is ready to receive.
    pub window: u32,
}

impl FrameHeader {
    /// Reads the header of a frame.
    ///
    /// # Errors
    /// An unknown first byte, flags other than exactly one kind, or a length that no frame of that
    /// kind has.
    pub fn parse(bytes: &[u8; SMP_HEADER_BYTES]) -> Result<Self> {
        let four = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        if bytes[0] != SMP_ID {
            return Err(ProtocolError::Smp("A frame begins with another byte than 0x53"));
        }
        let kind = FrameKind::of_code(bytes[1])
            .ok_or(ProtocolError::Smp("A frame has flags of no kind of frame"))?;
        let length = usize::try_from(four(4)).unwrap_or(usize::MAX);
        let payload_bytes = length
            .checked_sub(SMP_HEADER_BYTES)
            .ok_or(ProtocolError::Smp("A frame is shorter than its header"))?;
        match kind {
            FrameKind::Data if payload_bytes > PAYLOAD_BYTES_MAX => {
                return Err(ProtocolError::Smp("A frame is longer than the longest packet"));
            }
            FrameKind::Syn | FrameKind::Ack | FrameKind::Fin if payload_bytes > 0 => {
                return Err(ProtocolError::Smp("A frame without data has a payload"));
            }
            FrameKind::Syn | FrameKind::Ack | FrameKind::Fin | FrameKind::Data => {}
        }
        let session = u16::from_le_bytes([bytes[2], bytes[3]]);
        Ok(Self { kind, session, payload_bytes, sequence: four(8), window: four(12) })
    }

    /// Returns the bytes of the header.
    pub fn to_bytes(self) -> [u8; SMP_HEADER_BYTES] {
        let mut bytes = [0; SMP_HEADER_BYTES];
        let length = u32::try_from(self.payload_bytes + SMP_HEADER_BYTES).unwrap_or(u32::MAX);
        bytes[0] = SMP_ID;
        bytes[1] = self.kind.code();
        bytes[2..4].copy_from_slice(&self.session.to_le_bytes());
        bytes[4..8].copy_from_slice(&length.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.window.to_le_bytes());
        bytes
    }
}

/// Cuts the bytes of a connection into frames as they arrive.
#[derive(Debug, Default)]
pub struct FrameReader {
    header: [u8; SMP_HEADER_BYTES],
    header_filled: usize,
    /// The frame whose payload is arriving.
    current: Option<FrameHeader>,
    payload: Vec<u8>,
}

impl FrameReader {
    /// Takes received bytes; returns how many of them were used, and the header of the frame that
    /// is complete with them. Call again with the rest. The payload is in [`Self::payload`] until
    /// the next call.
    ///
    /// # Errors
    /// A header that is none: no further byte of the connection can be understood.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Option<FrameHeader>)> {
        let mut used = 0;
        let current = match self.current {
            Some(current) => current,
            None => {
                self.payload.clear();
                let count = bytes.len().min(SMP_HEADER_BYTES - self.header_filled);
                let end = self.header_filled + count;
                self.header[self.header_filled..end].copy_from_slice(&bytes[..count]);
                self.header_filled = end;
                used = count;
                // A wrong first byte is reported at once: the rest may never come.
                if self.header_filled > 0 && self.header[0] != SMP_ID {
                    return Err(ProtocolError::Smp("A frame begins with another byte than 0x53"));
                }
                if self.header_filled < SMP_HEADER_BYTES {
                    return Ok((used, None));
                }
                self.header_filled = 0;
                FrameHeader::parse(&self.header)?
            }
        };
        let count = (bytes.len() - used).min(current.payload_bytes - self.payload.len());
        self.payload.extend_from_slice(&bytes[used..used + count]);
        used += count;
        let is_whole = self.payload.len() == current.payload_bytes;
        self.current = (!is_whole).then_some(current);
        Ok((used, is_whole.then_some(current)))
    }

    /// Returns the payload of the frame last returned.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Returns whether a frame has begun and not ended.
    pub const fn is_mid_frame(&self) -> bool {
        self.header_filled > 0 || self.current.is_some()
    }
}

/// The counting of one session's frames in both directions ([MC-SMP] 3.1.1).
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    session: u16,
    /// The number of the last DATA frame sent, and the highest that may be sent.
    sent: u32,
    send_limit: u32,
    /// The number of the last DATA frame received, the highest that may come, and the highest that
    /// the peer has been told.
    received: u32,
    receive_limit: u32,
    announced: u32,
}

impl Windows {
    /// Returns the counting of a session that a SYN opens.
    ///
    /// # Errors
    /// A SYN with a number: sessions begin at 0.
    pub fn open(syn: &FrameHeader) -> Result<Self> {
        if syn.sequence != 0 {
            return Err(ProtocolError::Smp("A session begins with a number other than 0"));
        }
        let mut windows = Self {
            session: syn.session,
            sent: 0,
            send_limit: 0,
            received: 0,
            receive_limit: WINDOW_INITIAL,
            announced: WINDOW_INITIAL,
        };
        windows.widen(syn.window)?;
        Ok(windows)
    }

    /// Takes the header of a DATA frame.
    ///
    /// # Errors
    /// A frame out of order, or one that the sender was not allowed to send.
    pub fn take_data(&mut self, header: &FrameHeader) -> Result<()> {
        if header.sequence != self.received.wrapping_add(1) {
            return Err(ProtocolError::Smp("A frame has another number than the next"));
        }
        if self.received == self.receive_limit {
            return Err(ProtocolError::Smp("A frame is beyond the window"));
        }
        self.received = header.sequence;
        self.widen(header.window)
    }

    /// Takes the header of an ACK.
    ///
    /// # Errors
    /// An ACK that names a frame that was not received, or narrows the window.
    pub fn take_ack(&mut self, header: &FrameHeader) -> Result<()> {
        if header.sequence != self.received {
            return Err(ProtocolError::Smp("An acknowledgement has a number of no frame"));
        }
        self.widen(header.window)
    }

    /// The peer reads on: takes the highest number that it is ready to receive.
    fn widen(&mut self, window: u32) -> Result<()> {
        // Numbers wrap around: of two, the later is less than half of the range ahead.
        let ahead = |number: u32, than: u32| number.wrapping_sub(than) < 1 << 31;
        if !ahead(window, self.send_limit) {
            return Err(ProtocolError::Smp("A window becomes narrower"));
        }
        self.send_limit = window;
        Ok(())
    }

    /// Notes that the session has taken a received frame. Returns the ACK to send, if one is due.
    pub fn taken(&mut self) -> Option<FrameHeader> {
        self.receive_limit = self.receive_limit.wrapping_add(1);
        if self.receive_limit.wrapping_sub(self.announced) < FRAMES_PER_ACK {
            return None;
        }
        Some(self.header(FrameKind::Ack, 0))
    }

    /// Returns whether a DATA frame may be sent.
    pub const fn may_send(&self) -> bool {
        self.send_limit != self.sent
    }

    /// Counts a DATA frame and returns its header; `None` if the window is used up.
    pub fn send(&mut self, payload_bytes: usize) -> Option<FrameHeader> {
        if !self.may_send() {
            return None;
        }
        self.sent = self.sent.wrapping_add(1);
        Some(self.header(FrameKind::Data, payload_bytes))
    }

    /// Returns the header of the frame that ends what this side sends.
    pub fn finish(&mut self) -> FrameHeader {
        self.header(FrameKind::Fin, 0)
    }

    fn header(&mut self, kind: FrameKind, payload_bytes: usize) -> FrameHeader {
        self.announced = self.receive_limit;
        FrameHeader {
            kind,
            session: self.session,
            payload_bytes,
            sequence: self.sent,
            window: self.receive_limit,
        }
    }
}
