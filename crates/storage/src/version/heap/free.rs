//! `FreeHeads`: the heads of a shard that can be used again.
//!
//! Those of the lowest segment are taken first. So the rows that are left after many were deleted
//! gather at the beginning of the heap, where segments are small, and a walk skips those behind.

use std::ptr::NonNull;

use crate::version::RowHead;

#[derive(Default)]
pub(super) struct FreeHeads {
    /// The free heads of each segment, by its number.
    heads: Vec<Vec<NonNull<RowHead>>>,
    /// A bit for each segment: whether it has any.
    marks: Vec<u64>,
    /// No word of `marks` below this has a bit.
    first: usize,
}

impl FreeHeads {
    /// Adds a head of a segment.
    pub(super) fn push(&mut self, segment: usize, head: NonNull<RowHead>) {
        if self.heads.len() <= segment {
            self.heads.resize_with(segment + 1, Vec::new);
            self.marks.resize(segment / BITS + 1, 0);
        }
        self.heads[segment].push(head);
        self.marks[segment / BITS] |= 1 << (segment % BITS);
        self.first = self.first.min(segment / BITS);
    }

    /// Takes a head of the lowest segment that has any, and returns the segment's number with it.
    pub(super) fn pop(&mut self) -> Option<(usize, NonNull<RowHead>)> {
        while *self.marks.get(self.first)? == 0 {
            self.first += 1;
        }
        let bit = self.marks[self.first].trailing_zeros() as usize;
        let segment = self.first * BITS + bit;
        let head = self.heads[segment].pop().expect("a mark says so");
        if self.heads[segment].is_empty() {
            self.marks[self.first] &= !(1 << bit);
        }
        Some((segment, head))
    }
}

const BITS: usize = u64::BITS as usize;
