//! Ids of statements: small numbers that index the workers' cells, in ranges, one for each program.
//!
//! A range has a length that is a power of two and begins at a multiple of it, so that a program's
//! cells are adjacent. Ranges are reused once their program is dropped. Memory is bounded by the
//! number of ids; programs that find no free range count together in one cell.

/// Number of ids of an instance.
pub(super) const IDS_MAX: u32 = if cfg!(test) { 64 } else { 1 << 16 };
/// The id of all programs and statements without their own.
pub const OVERFLOW: u32 = 0;
/// The id that compile time is counted under.
pub const COMPILE: u32 = 1;
/// The first id that a program may get.
const FIRST: u32 = 2;
/// Upper limit of ids for one program; its further statements count under [`OVERFLOW`].
const RANGE_MAX: u32 = if cfg!(test) { 16 } else { 1 << 10 };

/// The ids of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First id, a multiple of the length.
    pub first: u32,
    /// Length; 0 if no ids were left.
    pub count: u32,
}

impl Range {
    /// An empty range: everything counts under [`OVERFLOW`].
    pub const NONE: Self = Self { first: OVERFLOW, count: 0 };

    /// Returns the id of a place in the range; places beyond its end share one.
    #[inline]
    pub const fn id(self, place: u32) -> u32 {
        if place < self.count { self.first + place } else { OVERFLOW }
    }

    /// Returns the place of an id; `None` if it is outside the range.
    pub fn place(self, id: u32) -> Option<u32> {
        id.checked_sub(self.first).filter(|place| *place < self.count)
    }
}

/// The ids that are not in use.
#[derive(Debug)]
pub(super) struct Ids {
    /// Ids from here on have never been used.
    next: u32,
    /// Free ranges, indexed by the base-2 logarithm of their length.
    free: [Vec<u32>; RANGE_MAX.ilog2() as usize + 1],
}

impl Default for Ids {
    fn default() -> Self {
        Self { next: FIRST, free: Default::default() }
    }
}

impl Ids {
    /// Allocates ids for a program of this many statements, itself included.
    pub(super) fn take(&mut self, count: u32) -> Range {
        let count = count.clamp(1, RANGE_MAX).next_power_of_two();
        let class = count.ilog2() as usize;
        if let Some(first) = self.free[class].pop() {
            return Range { first, count };
        }
        if let Some(first) = self.fresh(count) {
            return Range { first, count };
        }
        let Some(larger) = (class..self.free.len()).find(|class| !self.free[*class].is_empty())
        else {
            return Range::NONE;
        };
        let Some(first) = self.free[larger].pop() else { return Range::NONE };
        self.give_back(first + count, first + (1 << larger));
        Range { first, count }
    }

    /// Allocates ids that were never used. Those skipped for alignment become free ranges.
    fn fresh(&mut self, count: u32) -> Option<u32> {
        let first = self.next.next_multiple_of(count);
        if first + count > IDS_MAX {
            return None;
        }
        self.give_back(self.next, first);
        self.next = first + count;
        Some(first)
    }

    /// Frees `from..to`, split into aligned ranges.
    fn give_back(&mut self, mut from: u32, to: u32) {
        while from < to {
            let class = from.trailing_zeros().min((to - from).ilog2()) as usize;
            let class = class.min(self.free.len() - 1);
            self.free[class].push(from);
            from += 1 << class;
        }
    }

    /// Frees a program's ids. No thread counts under them any more.
    pub(super) fn free(&mut self, range: Range) {
        if range.count > 0 {
            self.free[range.count.ilog2() as usize].push(range.first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_disjoint_until_there_are_none_left_and_come_back() {
        let mut ids = Ids::default();
        let mut taken = Vec::new();
        for count in [1, 3, 2, 16, 1, 5, 100, 1, 1, 2, 4, 1, 1, 1, 1, 1, 1, 1] {
            taken.push(ids.take(count));
        }
        let mut all: Vec<u32> = taken.iter().flat_map(|r| r.first..r.first + r.count).collect();
        assert!(all.iter().all(|id| (FIRST..IDS_MAX).contains(id)));
        all.sort_unstable();
        all.dedup();
        let counts = taken.iter().map(|r| r.count).sum::<u32>();
        assert_eq!(u32::try_from(all.len()), Ok(counts));
        assert_eq!(ids.take(16), Range::NONE, "62 ids are no four times 16");
        let longest = taken.iter().find(|r| r.count == 16).copied().expect("two were asked for");
        ids.free(longest);
        assert_eq!(ids.take(9), longest);
    }

    #[test]
    fn a_long_range_is_cut_when_short_ones_are_gone() {
        let mut ids = Ids::default();
        while ids.take(16) != Range::NONE {}
        while ids.take(1) != Range::NONE {}
        ids.free(Range { first: 16, count: 16 });
        let first: Vec<u32> = (0..16).map(|_| ids.take(1).id(0)).collect();
        assert_eq!(first.len(), 16);
        assert!(first.iter().all(|id| (16..32).contains(id)));
        assert_eq!(ids.take(1), Range::NONE);
    }

    #[test]
    fn a_place_beyond_the_range_is_the_shared_one() {
        let range = Range { first: 8, count: 4 };
        assert_eq!((range.id(3), range.id(4)), (11, OVERFLOW));
        assert_eq!((range.place(11), range.place(12), range.place(7)), (Some(3), None, None));
        assert_eq!(Range::NONE.id(0), OVERFLOW);
    }
}
