//! `Units`: which parts of the extents' addresses are in use, and which are populated. A unit is 2
//! MB.
//!
//! ```text
//!             take_slot                       last slot freed
//!   free ───────────────► split (one class) ───────────────────────► free
//!   free ──take_run─────► run of units       ──give_run────────────► free
//!   free ──take_idle────► at the trimmer     ──give_idle───────────► free, not populated
//!   split ─take_idle────► its free slots are ──give_idle───────────► split, these not populated
//! ```
//!
//! Where the kernel has huge pages, the first slot of a unit populates all of it, except in the
//! first unit of a class: most classes never have many extents in use. When an eighth of a unit is
//! free for long, the trimmer splits it, as it does units of the heap ([`super::slices`]): from
//! then on its slots are populated one by one, until none of them is populated, or all are in use.
//! The lowest free slot, and the lowest free unit, is taken first, so that populated memory is used
//! before other.
//!
//! This file makes no system calls and has no memory but its table, so that a test can compare it
//! with a model. One thread at a time uses it, under a lock ([`super::pool`]).

use super::bits::Bits;
use super::class::{CLASSES, UNIT_BYTES, UNIT_PAGES, pages_of};
use super::slices::{FREE_OF_HUGE_PART, Steps};

/// The most units: 512 GB.
pub(super) const UNITS_MAX: usize = 1 << 18;
/// The number of units that the trimmer looks at while it holds the lock once.
const LOOK_UNITS: usize = 1_024;

/// The state of one unit. All zero is a free unit that is not populated.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Unit {
    /// The slots that are in use, or that the trimmer has.
    taken: Bits,
    /// The pages that are populated.
    populated: Bits,
    /// The neighbours in the list of units of this class with free slots, plus 1; 0 for none.
    next: u32,
    before: u32,
    /// The number of slots taken.
    used: u16,
    class: u8,
    kind: Kind,
    is_listed: bool,
    /// Whether it has small pages, populated slot by slot, until none is populated any more.
    is_apart: bool,
    /// Whether the kernel has been told about the small pages.
    kernel_knows: bool,
    /// Whether the trimmer is returning its free pages.
    is_at_trimmer: bool,
}

/// What a unit is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    #[default]
    Free,
    /// Split into extents of one class.
    Split,
    /// Part of an extent that is larger than a unit.
    Run,
}

impl Unit {
    /// The number of pages that are populated and free and may be returned.
    fn idle_pages(&self, steps: Steps) -> usize {
        let populated = self.populated.count();
        match self.kind {
            _ if self.is_at_trimmer => 0,
            Kind::Free => populated,
            Kind::Run => 0,
            Kind::Split => {
                let free = populated - usize::from(self.used) * pages_of(usize::from(self.class));
                let goes = match steps {
                    Steps::Slices => true,
                    Steps::Units => self.is_apart || free >= UNIT_PAGES / FREE_OF_HUGE_PART,
                    Steps::WholeUnits => false,
                };
                if goes { free } else { 0 }
            }
        }
    }

    /// The set of pages of a slot.
    fn pages(&self, slot: usize) -> Bits {
        let pages = pages_of(usize::from(self.class));
        Bits::span(slot * pages, pages)
    }

    /// Marks the wanted pages, or all of the unit, as populated; returns those that were not.
    fn populate(&mut self, wanted: Bits, steps: Steps) -> Bits {
        let whole = steps != Steps::Slices && !self.is_apart;
        let wanted = if whole { Bits::span(0, UNIT_PAGES) } else { wanted };
        let missing = wanted.without(self.populated);
        self.populated = self.populated.with(missing);
        missing
    }

    /// Ends the state of small pages if all pages are in use; returns whether it did.
    fn join(&mut self) -> bool {
        let joins = self.is_apart && !self.is_at_trimmer && self.populated.count() == UNIT_PAGES;
        if joins {
            (self.is_apart, self.kernel_knows) = (false, false);
        }
        joins
    }
}

/// A slot, or a run of units, that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// The number of its first page.
    pub(super) page: usize,
    /// The range of its pages to populate, as first page and count; some may be populated already.
    pub(super) missing: (usize, usize),
    /// The number of pages newly counted as populated.
    pub(super) grown: usize,
    /// Whether to tell the kernel that the unit has small pages, before they are populated.
    pub(super) is_apart: bool,
    /// Whether the kernel may collapse the unit into a huge page, because all its pages are in use.
    pub(super) is_whole: bool,
}

/// Free pages of a unit that the trimmer is returning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Idle {
    /// The unit's first page.
    pub(super) page: usize,
    /// The pages that are populated, numbered from `page`.
    pub(super) pages: Bits,
    /// The slots that cannot be taken until the trimmer is done.
    slots: Bits,
    /// Whether this splits a unit that was populated as a whole.
    pub(super) is_first: bool,
    /// Whether no page of a unit that was split stays populated.
    pub(super) is_last: bool,
}

/// The table of units, and what is needed to find a free slot in it.
#[derive(Debug)]
pub(super) struct Units {
    table: *mut Unit,
    count: usize,
    /// One bit per unit: whether it is in use. Bits from `count` on are never read.
    in_use: [u64; UNITS_MAX / 64],
    /// The words below this one have no free unit.
    hint: usize,
    /// First unit of each class with free slots, plus 1.
    heads: [u32; CLASSES],
    /// The number of units of each class.
    split: [u32; CLASSES],
    /// The number of pages that are populated and free and may be returned.
    idle_pages: usize,
    /// One more than the highest unit that was ever in use.
    end: usize,
    steps: Steps,
}

// SAFETY: the table belongs to the value, on whatever thread it is.
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
            split: [0; CLASSES],
            idle_pages: 0,
            end: 0,
            steps: Steps::Slices,
        }
    }

    /// Begins to manage `count` units. Called once.
    ///
    /// # Safety
    /// `table` is that many units of zeros, which only this value uses as long as it lives.
    pub(super) unsafe fn open(&mut self, table: *mut Unit, count: usize) {
        assert!(count <= UNITS_MAX && self.count == 0, "opened once, within the table");
        self.table = table;
        self.count = count;
    }

    /// Chooses how units are populated from now on.
    pub(super) fn set_steps(&mut self, steps: Steps) {
        self.steps = steps;
        self.idle_pages = (0..self.end).map(|index| self.unit(index).idle_pages(steps)).sum();
    }

    /// The number of pages that are populated and free and may be returned.
    pub(super) fn idle_pages(&self) -> usize {
        self.idle_pages
    }

    fn unit(&mut self, index: usize) -> &mut Unit {
        assert!(index < self.count, "the unit exists");
        // SAFETY: the index is below `count`, so the pointer stays inside the table.
        let unit = unsafe { self.table.add(index) };
        // SAFETY: `open`'s caller promised exclusive use, and `self` is borrowed exclusively.
        unsafe { &mut *unit }
    }

    /// Changes a unit, and updates the count of idle pages.
    fn change<R>(&mut self, index: usize, change: impl FnOnce(&mut Unit) -> R) -> R {
        let steps = self.steps;
        let unit = self.unit(index);
        let before = unit.idle_pages(steps);
        let result = change(unit);
        let after = unit.idle_pages(steps);
        self.idle_pages = self.idle_pages + after - before;
        result
    }

    /// Takes a slot of a class; if memory is short, without populating a whole unit for it.
    pub(super) fn take_slot(&mut self, class: usize, is_short: bool) -> Option<Taken> {
        let index = match self.heads[class] {
            0 => self.split_free(class, is_short)?,
            head => head as usize - 1,
        };
        let (pages, steps) = (pages_of(class), self.steps);
        let first = index * UNIT_PAGES;
        let (is_full, taken) = self.change(index, |unit| {
            let slot = unit.taken.lowest_missing().expect("a listed unit has a free slot");
            unit.taken.insert(slot);
            unit.used += 1;
            let missing = unit.populate(unit.pages(slot), steps);
            let span = missing.bounds().map_or((first, 0), |(from, to)| (first + from, to - from));
            let is_full = unit.taken.lowest_missing().is_none();
            let is_apart = unit.is_apart && !unit.kernel_knows;
            let is_whole = is_full && unit.join();
            let page = first + slot * pages;
            (is_full, Taken { page, missing: span, grown: missing.count(), is_apart, is_whole })
        });
        if is_full {
            self.unlist(index);
        }
        Some(taken)
    }

    /// Records that the kernel has been told that a unit has small pages.
    pub(super) fn note_kernel_knows(&mut self, page: usize) {
        self.unit(page / UNIT_PAGES).kernel_knows = true;
    }

    /// Frees a slot of a class.
    pub(super) fn give_slot(&mut self, page: usize, class: usize) {
        let (index, slot) = (page / UNIT_PAGES, page % UNIT_PAGES / pages_of(class));
        self.change(index, |unit| {
            assert_eq!(usize::from(unit.class), class, "the extent goes back as what it was taken");
            assert!(unit.taken.has(slot), "the extent was taken");
            unit.taken.remove(slot);
            unit.used -= 1;
        });
        self.list_or_free(index);
    }

    /// Frees a unit without taken slots, unless the trimmer is at it; lists one that has a free
    /// slot.
    fn list_or_free(&mut self, index: usize) {
        let unit = *self.unit(index);
        if unit.used == 0 && !unit.is_at_trimmer {
            if unit.is_listed {
                self.unlist(index);
            }
            self.split[usize::from(unit.class)] -= 1;
            self.free(index, 1);
        } else if !unit.is_listed && unit.taken.lowest_missing().is_some() {
            self.list(index);
        }
    }

    /// Takes `pages` consecutive pages, more than a unit has.
    pub(super) fn take_run(&mut self, pages: usize) -> Option<Taken> {
        let count = pages.div_ceil(UNIT_PAGES);
        let (first, steps) = (self.find_free(count)?, self.steps);
        let page = first * UNIT_PAGES;
        let (mut from, mut to, mut grown) = (usize::MAX, page, 0);
        for index in first..first + count {
            let wanted = (pages - (index - first) * UNIT_PAGES).min(UNIT_PAGES);
            self.mark_used(index, Kind::Run);
            let fill = |unit: &mut Unit| unit.populate(Bits::span(0, wanted), steps);
            let missing = self.change(index, fill);
            if let Some(bounds) = missing.bounds() {
                from = from.min(index * UNIT_PAGES + bounds.0);
                to = index * UNIT_PAGES + bounds.1;
                grown += missing.count();
            }
        }
        let missing = if grown > 0 { (from, to - from) } else { (page, 0) };
        Some(Taken { page, missing, grown, is_apart: false, is_whole: false })
    }

    /// Frees a run of pages.
    pub(super) fn give_run(&mut self, page: usize, pages: usize) {
        self.free(page / UNIT_PAGES, pages.div_ceil(UNIT_PAGES));
    }

    /// Takes the free pages of the highest unit below `below` that has some, at most `most`, for
    /// the trimmer. Looks at no more units than takes a few microseconds, since others wait for the
    /// lock; sets `below` to where to continue.
    pub(super) fn take_idle(&mut self, below: &mut usize, most: usize) -> Option<Idle> {
        let (steps, end) = (self.steps, self.end.min(*below));
        let first = if self.idle_pages == 0 { 0 } else { end.saturating_sub(LOOK_UNITS) };
        let fits = |pages| (1..=most).contains(&pages);
        let found = (first..end).rev().find(|&index| fits(self.unit(index).idle_pages(steps)));
        *below = found.unwrap_or(first);
        let index = found?;
        if self.unit(index).kind == Kind::Free {
            self.mark_used(index, Kind::Free);
        } else if self.unit(index).is_listed {
            self.unlist(index);
        }
        let page = index * UNIT_PAGES;
        Some(self.change(index, |unit| {
            unit.is_at_trimmer = true;
            let mut idle = Idle { page, pages: unit.populated, ..Idle::default() };
            if unit.kind == Kind::Free {
                idle.is_last = unit.is_apart;
                return idle;
            }
            let slots = UNIT_PAGES / pages_of(usize::from(unit.class));
            for slot in 0..slots {
                if unit.taken.has(slot) {
                    idle.pages = idle.pages.without(unit.pages(slot));
                } else {
                    idle.slots.insert(slot);
                }
            }
            idle.is_first = steps == Steps::Units && !unit.is_apart;
            unit.taken = unit.taken.with(idle.slots);
            unit.used += page_number(idle.slots.count());
            // The trimmer informs the kernel before any thread can take a slot and populate it.
            (unit.is_apart, unit.kernel_knows) = (steps == Steps::Units, true);
            idle
        }))
    }

    /// Frees the pages that the trimmer has returned; they are not populated any more.
    pub(super) fn give_idle(&mut self, idle: &Idle) {
        let index = idle.page / UNIT_PAGES;
        let kind = self.change(index, |unit| {
            unit.populated = unit.populated.without(idle.pages);
            unit.taken = unit.taken.without(idle.slots);
            unit.used -= page_number(idle.slots.count());
            unit.is_at_trimmer = false;
            unit.kind
        });
        if kind == Kind::Free {
            let unit = self.unit(index);
            (unit.is_apart, unit.kernel_knows) = (false, false);
            self.free(index, 1);
        } else {
            self.list_or_free(index);
        }
    }

    fn split_free(&mut self, class: usize, is_short: bool) -> Option<usize> {
        let index = self.find_free(1)?;
        self.mark_used(index, Kind::Split);
        self.split[class] += 1;
        let is_by_slot = is_short || self.split[class] == 1;
        let steps = self.steps;
        self.change(index, |unit| {
            unit.class = u8::try_from(class).expect("classes are few");
            unit.used = 0;
            // Bits beyond the last slot count as taken.
            let slots = UNIT_PAGES / pages_of(class);
            unit.taken = Bits::span(slots, UNIT_PAGES - slots);
            unit.is_apart |= is_by_slot && steps == Steps::Units && unit.populated.is_empty();
        });
        self.list(index);
        Some(index)
    }

    fn mark_used(&mut self, index: usize, kind: Kind) {
        self.in_use[index / 64] |= 1 << (index % 64);
        self.end = self.end.max(index + 1);
        self.change(index, |unit| (unit.kind, unit.used, unit.class) = (kind, 0, 0));
    }

    fn free(&mut self, first: usize, count: usize) {
        for index in first..first + count {
            assert!(self.in_use[index / 64] >> (index % 64) & 1 == 1, "the unit was in use");
            self.in_use[index / 64] &= !(1 << (index % 64));
            self.change(index, |unit| unit.kind = Kind::Free);
        }
        self.hint = self.hint.min(first / 64);
    }

    /// The first unit of the lowest run of `count` free units.
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

const _: () = assert!(UNIT_BYTES.is_multiple_of(1 << 21), "a unit is as large as a huge page");
