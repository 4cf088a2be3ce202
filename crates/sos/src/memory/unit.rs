//! Units: which part of the reserved addresses belongs to whom, and how much of it is populated.
//!
//! ```text
//!             take_slot                       last slot given back
//!   free ───────────────► split (one class) ───────────────────────► free
//!   free ──take_run─────► run of units       ──give_run────────────► free
//!   free ──take_idle────► at the trimmer     ──give_idle───────────► free, not populated
//! ```
//!
//! A unit is populated from its beginning, as far as it has ever been in use: slots are handed out
//! lowest first. Free units are too, so that the populated ones are used before others.
//!
//! No system call and no memory of its own but the table: numbers only, so that a test can hold it
//! against a model. One thread at a time has it ([`super::pool`]).

use super::class::{CLASSES, UNIT_BYTES, UNIT_PAGES, pages_of};

/// Units at most: 512 GB.
pub(super) const UNITS_MAX: usize = 1 << 18;

/// What is known of a unit. All zero is a free one that is not populated.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Unit {
    /// Slots that are taken.
    taken: [u64; UNIT_PAGES / 64],
    /// The neighbours in the list of units of this class with free slots, plus 1; 0 for none.
    next: u32,
    before: u32,
    /// Pages from the beginning that are populated.
    populated: u16,
    /// Slots taken.
    used: u16,
    class: u8,
    is_listed: bool,
}

/// A slot, or a run of units, that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Its number of the first page.
    pub(super) page: usize,
    /// The first of its pages that is to be populated, and how many are.
    pub(super) missing: (usize, usize),
    /// Pages that count as populated from now on and did not before.
    pub(super) grown: usize,
}

/// The table of units.
#[derive(Debug)]
pub(super) struct Units {
    table: *mut Unit,
    count: usize,
    /// One bit a unit: it is in use. Bits at and beyond `count` are never looked at.
    in_use: [u64; UNITS_MAX / 64],
    /// No free unit lies in a word below this one.
    hint: usize,
    /// First unit of each class with free slots, plus 1.
    heads: [u32; CLASSES],
    /// Pages of free units that are populated.
    idle_pages: usize,
}

// SAFETY: the table belongs to the value, wherever it is moved.
unsafe impl Send for Units {}

impl Units {
    /// Makes a table without units.
    pub(super) const fn empty() -> Self {
        Self {
            table: std::ptr::null_mut(),
            count: 0,
            in_use: [0; UNITS_MAX / 64],
            hint: 0,
            heads: [0; CLASSES],
            idle_pages: 0,
        }
    }

    /// Begins to manage `count` units, once.
    ///
    /// # Safety
    /// `table` is that many units of zeros, which nobody else touches as long as this lives.
    pub(super) unsafe fn open(&mut self, table: *mut Unit, count: usize) {
        assert!(count <= UNITS_MAX && self.count == 0, "opened once, within the table");
        self.table = table;
        self.count = count;
    }

    /// Pages of free units that are populated.
    pub(super) fn idle_pages(&self) -> usize {
        self.idle_pages
    }

    fn unit(&mut self, index: usize) -> &mut Unit {
        assert!(index < self.count, "the unit exists");
        // SAFETY: inside the table.
        let unit = unsafe { self.table.add(index) };
        // SAFETY: `open`'s caller gave it to us alone, and `self` is borrowed exclusively.
        unsafe { &mut *unit }
    }

    /// Takes a slot of a class. With `whole`, all of its unit counts as populated with its first slot.
    pub(super) fn take_slot(&mut self, class: usize, whole: bool) -> Option<Taken> {
        let index = match self.heads[class] {
            0 => self.split_free(class)?,
            head => head as usize - 1,
        };
        let pages = pages_of(class);
        let slots = UNIT_PAGES / pages;
        let unit = self.unit(index);
        let slot = lowest_clear(&unit.taken).expect("a listed unit has a free slot");
        unit.taken[slot / 64] |= 1 << (slot % 64);
        unit.used += 1;
        let end = if whole { UNIT_PAGES } else { (slot + 1) * pages };
        let populated = usize::from(unit.populated);
        let grown = end.saturating_sub(populated);
        if grown > 0 {
            unit.populated = page_number(end);
        }
        if usize::from(unit.used) == slots {
            self.unlist(index);
        }
        let first = index * UNIT_PAGES;
        let missing = (first + populated.min(end), grown);
        Some(Taken { page: first + slot * pages, missing, grown })
    }

    /// Gives a slot back.
    pub(super) fn give_slot(&mut self, page: usize, class: usize) {
        let (index, slot) = (page / UNIT_PAGES, page % UNIT_PAGES / pages_of(class));
        let unit = self.unit(index);
        assert_eq!(usize::from(unit.class), class, "the extent goes back as what it was taken");
        let bit = 1 << (slot % 64);
        assert!(unit.taken[slot / 64] & bit != 0, "the extent was taken");
        unit.taken[slot / 64] &= !bit;
        unit.used -= 1;
        let (is_unused, is_listed) = (unit.used == 0, unit.is_listed);
        if is_unused {
            if is_listed {
                self.unlist(index);
            }
            self.free(index, 1);
        } else if !is_listed {
            self.list(index);
        }
    }

    /// Takes so many pages, more than a unit has, in a row. With `whole`, as above.
    pub(super) fn take_run(&mut self, pages: usize, whole: bool) -> Option<Taken> {
        let count = pages.div_ceil(UNIT_PAGES);
        let first = self.find_free(count)?;
        let mut grown = 0;
        for index in first..first + count {
            self.mark_used(index);
            let rest = pages - (index - first) * UNIT_PAGES;
            let needed = if whole { UNIT_PAGES } else { rest.min(UNIT_PAGES) };
            let unit = self.unit(index);
            let more = needed.saturating_sub(usize::from(unit.populated));
            if more > 0 {
                unit.populated = page_number(needed);
            }
            grown += more;
        }
        let page = first * UNIT_PAGES;
        let all = if whole { count * UNIT_PAGES } else { pages };
        Some(Taken { page, missing: (page, if grown > 0 { all } else { 0 }), grown })
    }

    /// Gives a run back.
    pub(super) fn give_run(&mut self, page: usize, pages: usize) {
        self.free(page / UNIT_PAGES, pages.div_ceil(UNIT_PAGES));
    }

    /// Takes a free unit that is populated, the highest one, for the trimmer; with its populated pages.
    pub(super) fn take_idle(&mut self) -> Option<(usize, usize)> {
        if self.idle_pages == 0 {
            return None;
        }
        let index = (0..self.count).rev().find(|&index| {
            self.in_use[index / 64] >> (index % 64) & 1 == 0 && self.unit(index).populated > 0
        })?;
        let pages = usize::from(self.unit(index).populated);
        self.mark_used(index);
        Some((index * UNIT_PAGES, pages))
    }

    /// Gives it back, not populated any more.
    pub(super) fn give_idle(&mut self, page: usize) {
        self.unit(page / UNIT_PAGES).populated = 0;
        self.free(page / UNIT_PAGES, 1);
    }

    fn split_free(&mut self, class: usize) -> Option<usize> {
        let index = self.find_free(1)?;
        self.mark_used(index);
        let slots = UNIT_PAGES / pages_of(class);
        let unit = self.unit(index);
        unit.class = u8::try_from(class).expect("classes are few");
        unit.used = 0;
        // What is no slot counts as taken.
        for (word, taken) in unit.taken.iter_mut().enumerate() {
            let real = slots.saturating_sub(word * 64).min(64);
            *taken = if real == 64 { 0 } else { !0 << real };
        }
        self.list(index);
        Some(index)
    }

    fn mark_used(&mut self, index: usize) {
        self.in_use[index / 64] |= 1 << (index % 64);
        self.idle_pages -= usize::from(self.unit(index).populated);
    }

    fn free(&mut self, first: usize, count: usize) {
        for index in first..first + count {
            assert!(self.in_use[index / 64] >> (index % 64) & 1 == 1, "the unit was in use");
            self.in_use[index / 64] &= !(1 << (index % 64));
            self.idle_pages += usize::from(self.unit(index).populated);
        }
        self.hint = self.hint.min(first / 64);
    }

    /// The lowest run of so many free units.
    fn find_free(&mut self, count: usize) -> Option<usize> {
        let words = self.count.div_ceil(64);
        while self.hint < words && self.in_use[self.hint] == !0 {
            self.hint += 1;
        }
        let (mut run, mut index) = (0, self.hint * 64);
        while index < self.count {
            let word = self.in_use[index / 64];
            if index.is_multiple_of(64) && word == !0 {
                run = 0;
                index += 64;
                continue;
            }
            run = if word >> (index % 64) & 1 == 0 { run + 1 } else { 0 };
            index += 1;
            if run == count {
                return Some(index - count);
            }
        }
        None
    }

    fn list(&mut self, index: usize) {
        let class = usize::from(self.unit(index).class);
        let link = u32::try_from(index + 1).expect("units are numbered in 32 bits");
        let next = std::mem::replace(&mut self.heads[class], link);
        let unit = self.unit(index);
        (unit.next, unit.before, unit.is_listed) = (next, 0, true);
        if next != 0 {
            self.unit(next as usize - 1).before = link;
        }
    }

    fn unlist(&mut self, index: usize) {
        let unit = self.unit(index);
        unit.is_listed = false;
        let (next, before, class) = (unit.next, unit.before, usize::from(unit.class));
        match before {
            0 => self.heads[class] = next,
            before => self.unit(before as usize - 1).next = next,
        }
        if next != 0 {
            self.unit(next as usize - 1).before = before;
        }
    }
}

fn page_number(page: usize) -> u16 {
    u16::try_from(page).expect("a unit has 256 pages")
}

fn lowest_clear(words: &[u64]) -> Option<usize> {
    let found = words.iter().enumerate().find(|(_, word)| **word != !0)?;
    Some(found.0 * 64 + found.1.trailing_ones() as usize)
}

const _: () = assert!(UNIT_BYTES.is_multiple_of(1 << 21), "a unit is as large as a huge page");
