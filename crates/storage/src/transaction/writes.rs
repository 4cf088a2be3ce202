//! `Writes`: the writes of a transaction, in the order in which they were made.
//!
//! ```text
//! full   [ PIECE writes ] [ PIECE writes ] ..      last   [ fewer ]
//! ```
//! The list is in pieces, so that growing never moves what it has, nor needs twice its memory. A commit
//! frees a piece before it goes to the next. So the notes for the garbage collector, which it leaves for
//! what it has deleted, take the memory of the list: near the memory limit there may be no other.

use crate::spec::Result;
use crate::transaction::undo::Write;
use crate::transaction::wait::ask_for_reserve;

/// Writes in a piece, which are worked off between two pauses and under one pin.
pub(super) const PIECE: usize = if cfg!(test) { 2 } else { 1_024 };
/// From this many writes on, the memory of each piece is asked for.
const ASKED_FROM: usize = 16 << 10;

/// The writes of a transaction.
#[derive(Default)]
pub(super) struct Writes {
    /// Pieces of [`PIECE`] writes.
    full: Vec<Vec<Write>>,
    /// The last writes; empty only if there is none, or the last ones were taken back.
    last: Vec<Write>,
}

impl Writes {
    pub(super) fn len(&self) -> usize {
        self.full.len() * PIECE + self.last.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty() && self.full.is_empty()
    }

    /// Asks for the memory of another write, if there are many already.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`].
    #[inline]
    pub(super) fn ask(&self) -> Result<()> {
        if self.last.len() < PIECE || self.len() < ASKED_FROM {
            return Ok(());
        }
        ask_for_reserve(PIECE * size_of::<Write>())
    }

    #[inline]
    pub(super) fn push(&mut self, write: Write) {
        if self.last.len() == PIECE {
            self.begin_piece();
        }
        self.last.push(write);
    }

    #[cold]
    fn begin_piece(&mut self) {
        let next = Vec::with_capacity(PIECE);
        self.full.push(std::mem::replace(&mut self.last, next));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Write> {
        self.full.iter().flatten().chain(&self.last)
    }

    /// Returns the pieces, in order.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[Write]> {
        self.full.iter().chain(std::iter::once(&self.last)).map(Vec::as_slice)
    }

    /// Returns the pieces, in order; each is freed when it is dropped.
    pub(super) fn into_pieces(self) -> impl Iterator<Item = Vec<Write>> {
        self.full.into_iter().chain(std::iter::once(self.last))
    }

    /// Takes the last writes, but not the first `kept`, of which there are fewer: those of one piece.
    pub(super) fn take_last(&mut self, kept: usize) -> std::vec::Drain<'_, Write> {
        debug_assert!(kept < self.len());
        if self.last.is_empty()
            && let Some(piece) = self.full.pop()
        {
            self.last = piece;
        }
        let before = self.full.len() * PIECE;
        self.last.drain(kept.saturating_sub(before)..)
    }
}
