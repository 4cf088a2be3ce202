//! Short answers leave together: while other tasks are ready they are kept, and the kernel gets them
//! in one system call.
//!
//! ```text
//! task      `send_at_round_end`: others are ready? ─► copy the answer
//! holder    32 of them, no other task is ready, a wait, the end of a quantum,
//!           a connection that ends, a task that has lately run for long ─► send all
//! ```
//! A send alone finds the kernel's code and data cold after the request's, and enters the kernel for
//! one answer: docs/decisions/0401. What the kernel does not take goes back to its task.

use std::os::fd::RawFd;

use super::connections::{Core, Sends, Token};
use super::{Ready, Scheduler};
use crate::clock;
use crate::sys::{SENDS_MAX, SendRing};

/// What most answers do not exceed.
const ANSWER_BYTES_USUAL: usize = 512;
/// A task that has run for longer lets the answers before it leave first.
const LONG_NS: u64 = 100_000;

impl Sends {
    /// Returns `None` if the system lets nothing be sent together.
    pub(super) fn new() -> Option<Self> {
        let ring = SendRing::new().ok()?;
        // Usual answers never make it grow, so it is the machine's memory and no request's.
        let bytes = Vec::with_capacity(SENDS_MAX * ANSWER_BYTES_USUAL);
        let (pieces, tokens) = (Vec::with_capacity(SENDS_MAX), Vec::with_capacity(SENDS_MAX));
        Some(Self { ring, bytes, pieces, tokens })
    }

    fn push(&mut self, token: Token, fd: RawFd, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.pieces.push((fd, start..self.bytes.len()));
        self.tokens.push(token);
    }
}

impl Scheduler {
    /// Sends the answers that were kept. Called by the holder.
    #[inline]
    pub(super) fn send_kept(&self) {
        // SAFETY: the caller holds the scheduler; the closure does not give it up.
        unsafe { self.core.with(Core::send_kept) }
    }
}

impl Core {
    pub(super) fn keep_answer(&mut self, token: Token, fd: RawFd, bytes: &[u8]) -> bool {
        let has_others = self.has_ready();
        let Some(sends) = &mut self.sends else { return false };
        if sends.pieces.is_empty() && !has_others {
            return false;
        }
        sends.push(token, fd, bytes);
        if sends.pieces.len() == SENDS_MAX {
            self.send_kept();
        }
        true
    }

    /// Sends the answers that were kept. A task whose answer was not taken whole runs for the rest.
    #[inline]
    pub(super) fn send_kept(&mut self) {
        if self.sends.as_ref().is_some_and(|sends| !sends.pieces.is_empty()) {
            self.send_all();
        }
    }

    fn send_all(&mut self) {
        let Some(sends) = &mut self.sends else { return };
        let sent = sends.ring.send(&sends.pieces, &mut sends.bytes);
        let mut late = Vec::new();
        for (((_, range), token), sent) in sends.pieces.iter().zip(&sends.tokens).zip(sent) {
            if sent < range.len() {
                late.push(*token);
                self.unsent.push((*token, sends.bytes[range.start + sent..range.end].to_vec()));
            }
        }
        sends.bytes.clear();
        sends.pieces.clear();
        sends.tokens.clear();
        if sends.ring.has_failed() {
            // From here on each answer is sent alone.
            self.sends = None;
        }
        for token in late {
            let Some(slot) = self.slot(token) else { continue };
            if slot.resting.is_some() {
                self.queue(token, Ready::AGAIN);
            } else {
                slot.pending = slot.pending.and(Ready::AGAIN);
            }
        }
    }

    /// Notes how long a task has run, in ticks.
    pub(super) fn note_run(&mut self, token: Token, ticks: u64) {
        if let Some(slot) = self.slot(token) {
            slot.was_long = clock::ticks_to_ns(ticks) > LONG_NS;
        }
    }

    pub(super) fn take_unsent(&mut self, token: Token) -> Option<Vec<u8>> {
        if self.sends.as_ref().is_some_and(|sends| sends.tokens.contains(&token)) {
            self.send_all();
        }
        let place = self.unsent.iter().position(|(of, _)| *of == token)?;
        Some(self.unsent.swap_remove(place).1)
    }
}
