//! `Bag`: retired items in the order in which they were retired, in pieces of a fixed size.
//!
//! A transaction of a million rows retires as many items before one can be freed, often because memory is
//! short. One array of them would double, which takes three times its size in the midst, and no
//! request for it could be refused. A bag takes 32 bytes for an item, a piece at a time, and gives each
//! piece back as it becomes empty.

use std::collections::VecDeque;

/// Items in a piece.
const PIECE_ITEMS: usize = if cfg!(test) { 4 } else { 128 };

/// Pieces that an empty bag has room for in its list.
const PIECES_KEPT: usize = if cfg!(test) { 4 } else { 64 };

/// Retired items, those that were retired first in front.
pub(super) struct Bag<T> {
    /// None of them is empty but the only one, whose room is kept.
    pieces: VecDeque<VecDeque<T>>,
    len: usize,
}

impl<T> Bag<T> {
    pub(super) const fn new() -> Self {
        Self { pieces: VecDeque::new(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds an item behind the others.
    #[inline]
    pub(super) fn push(&mut self, item: T) {
        self.len += 1;
        match self.pieces.back_mut() {
            Some(piece) if piece.len() < PIECE_ITEMS => piece.push_back(item),
            _ => self.push_piece(item),
        }
    }

    #[cold]
    fn push_piece(&mut self, item: T) {
        let mut piece = VecDeque::with_capacity(PIECE_ITEMS);
        piece.push_back(item);
        self.pieces.push_back(piece);
    }

    /// Takes the first item, if it `is_due`.
    pub(super) fn pop_if(&mut self, is_due: impl FnOnce(&T) -> bool) -> Option<T> {
        let first = self.pieces.front_mut()?;
        if !is_due(first.front()?) {
            return None;
        }
        let item = first.pop_front();
        self.len -= 1;
        if first.is_empty() && self.pieces.len() > 1 {
            self.pieces.pop_front();
        }
        // The list of the pieces of a million items is freed with them.
        if self.len == 0 && self.pieces.capacity() > PIECES_KEPT {
            self.pieces.shrink_to(PIECES_KEPT);
        }
        item
    }

    /// Moves the items of another bag behind those of this one. The other keeps the room of one piece, if its last
    /// one has room here.
    pub(super) fn append(&mut self, other: &mut Self) {
        if other.len == 0 {
            return;
        }
        let mut last = other.pieces.pop_back().expect("a bag with items has a piece");
        if self.len == 0 {
            self.pieces.clear();
        }
        self.len += std::mem::take(&mut other.len);
        self.pieces.append(&mut other.pieces);
        other.pieces.shrink_to(PIECES_KEPT);
        match self.pieces.back_mut() {
            Some(piece) if piece.len() + last.len() <= PIECE_ITEMS => {
                piece.append(&mut last);
                other.pieces.push_back(last);
            }
            _ => self.pieces.push_back(last),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// A bag is compared with a list; no piece is ever larger than its size, or empty beside others.
    #[test]
    fn items_leave_in_order_and_pieces_keep_their_size() {
        let (mut bag, mut list) = (Bag::new(), VecDeque::new());
        let mut other = Bag::new();
        for round in 0..200_usize {
            for number in 0..round % 11 {
                bag.push(100 * round + number);
                list.push_back(100 * round + number);
            }
            if round % 3 == 0 {
                (0..round % 7).for_each(|number| other.push(100 * round + 50 + number));
                list.extend((0..round % 7).map(|number| 100 * round + 50 + number));
                bag.append(&mut other);
                assert!(other.len() == 0 && other.pop_if(|_| true).is_none());
            }
            for _ in 0..round % 8 {
                assert_eq!(bag.pop_if(|_| true), list.pop_front());
            }
            assert_eq!(bag.len(), list.len());
            assert!(bag.pop_if(|_| false).is_none());
            let is_right = |piece: &VecDeque<usize>| {
                piece.capacity() == PIECE_ITEMS && (!piece.is_empty() || bag.pieces.len() == 1)
            };
            assert!(bag.pieces.iter().all(is_right));
        }
        while let Some(item) = bag.pop_if(|_| true) {
            assert_eq!(Some(item), list.pop_front());
        }
        assert!(list.is_empty() && bag.pieces.len() <= 1 && bag.pieces.capacity() <= PIECES_KEPT);
    }
}
