//! Tests of the table of units against a model, a map from pages to owners.

use std::collections::BTreeMap;

use super::class::{CLASSES, UNIT_PAGES, class_of, pages_of};
use super::slices::Steps;
use super::unit::{Idle, Unit, Units};

const UNITS: usize = 96;

/// A generator of numbers below a limit, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// The model: for each first page taken, the number of pages and the class (`None` for a run).
struct Model {
    units: Box<Units>,
    _table: Vec<Unit>,
    held: BTreeMap<usize, (usize, Option<usize>)>,
    populated: Vec<bool>,
    /// The units that have small pages.
    apart: [bool; UNITS],
    /// What the trimmer is returning.
    going: Vec<Idle>,
    steps: Steps,
    /// Whether allocations are made as if memory were short.
    is_short: bool,
}

impl Model {
    fn new(steps: Steps) -> Self {
        let mut table = vec![Unit::default(); UNITS];
        let mut units = Box::new(Units::empty());
        // SAFETY: the model keeps the table and does not touch it.
        unsafe { units.open(table.as_mut_ptr(), UNITS) };
        units.set_steps(steps);
        let (populated, apart) = (vec![false; UNITS * UNIT_PAGES], [false; UNITS]);
        let (held, going) = (BTreeMap::new(), Vec::new());
        Self { units, _table: table, held, populated, apart, going, steps, is_short: false }
    }

    fn take(&mut self, pages: usize, class: Option<usize>) -> bool {
        let taken = match class {
            Some(class) => self.units.take_slot(class, self.is_short),
            None => self.units.take_run(pages),
        };
        let Some(taken) = taken else { return false };
        let end = taken.page + pages;
        assert!(end <= UNITS * UNIT_PAGES);
        let below = self.held.range(..end).next_back();
        assert!(below.is_none_or(|(&page, held)| page + held.0 <= taken.page), "it is free");
        assert!(
            self.going_pages().iter().all(|page| !(taken.page..end).contains(page)),
            "it is there"
        );
        self.held.insert(taken.page, (pages, class));
        if taken.is_apart {
            self.apart[taken.page / UNIT_PAGES] = true;
            self.units.note_kernel_knows(taken.page);
        }
        let (first, count) = taken.missing;
        let missing = &mut self.populated[first..first + count];
        assert_eq!(missing.iter().filter(|&&is| !is).count(), taken.grown);
        missing.fill(true);
        if taken.is_whole {
            self.apart[taken.page / UNIT_PAGES] = false;
        }
        assert!(self.populated[taken.page..end].iter().all(|&is| is), "all of it is populated");
        if self.steps != Steps::Slices && !self.apart[taken.page / UNIT_PAGES] {
            let first = taken.page / UNIT_PAGES * UNIT_PAGES;
            assert!(self.populated[first..first + UNIT_PAGES].iter().all(|&is| is), "a huge page");
        }
        true
    }

    fn is_held(&self, page: usize) -> bool {
        self.held.range(..=page).next_back().is_some_and(|(&first, held)| first + held.0 > page)
    }

    fn give(&mut self, nth: usize) {
        let Some((&page, &(pages, class))) = self.held.iter().nth(nth) else { return };
        self.held.remove(&page);
        match class {
            Some(class) => self.units.give_slot(page, class),
            None => self.units.give_run(page, pages),
        }
    }

    fn going_pages(&self) -> Vec<usize> {
        let pages = |idle: &Idle| {
            let page = idle.page;
            let runs: Vec<_> = idle.pages.runs().collect();
            runs.into_iter().flat_map(move |(first, count)| page + first..page + first + count)
        };
        self.going.iter().flat_map(pages).collect()
    }

    /// The trimmer takes idle pages, or frees those that it has taken; false if there are none.
    fn trim(&mut self) -> bool {
        self.trim_among(1)
    }

    /// As [`Self::trim`], with up to `most` units at the trimmer at once.
    fn trim_among(&mut self, most: usize) -> bool {
        let before = self.going_pages();
        let taken = (self.going.len() < most)
            .then(|| self.units.take_idle(&mut { usize::MAX }, usize::MAX))
            .flatten();
        let Some(idle) = taken else {
            if self.going.is_empty() {
                return false;
            }
            let idle = self.going.remove(0);
            self.units.give_idle(&idle);
            return true;
        };
        self.going.push(idle);
        for page in self.going_pages().split_off(before.len()) {
            assert!(!self.is_held(page) && !before.contains(&page), "the page is free");
            assert!(std::mem::take(&mut self.populated[page]), "and has memory");
        }
        let unit = idle.page / UNIT_PAGES;
        assert_eq!(
            (idle.is_first && self.apart[unit], idle.is_last && !self.apart[unit]),
            (false, false)
        );
        self.apart[unit] = (self.apart[unit] || idle.is_first) && !idle.is_last;
        true
    }

    /// The idle pages, counted unit by unit.
    fn idle_pages(&self) -> usize {
        (0..UNITS).map(|unit| self.idle_of(unit)).sum()
    }

    fn idle_of(&self, unit: usize) -> usize {
        let pages = unit * UNIT_PAGES..(unit + 1) * UNIT_PAGES;
        let populated = self.populated[pages.clone()].iter().filter(|&&is| is).count();
        let below = self.held.range(..pages.end);
        let mut here =
            below.rev().take_while(|(first, held)| *first + held.0 > pages.start).peekable();
        if self.going.iter().any(|going| going.page == pages.start) {
            return 0;
        }
        match here.peek() {
            None => return populated,
            Some((_, (_, None))) => return 0,
            Some(_) => {}
        }
        let free = populated - here.map(|(_, held)| held.0).sum::<usize>();
        match self.steps {
            Steps::Slices => free,
            Steps::Units if self.apart[unit] || 8 * free >= UNIT_PAGES => free,
            _ => 0,
        }
    }
}

#[test]
fn no_page_has_two_owners_and_every_page_is_populated_when_taken() {
    for steps in [Steps::Slices, Steps::Units, Steps::WholeUnits] {
        take_and_give_at_random(&mut Model::new(steps));
    }
}

fn take_and_give_at_random(model: &mut Model) {
    let mut random = Random(0x5eed);
    for round in 0..20_000 {
        // For 2,000 rounds more is taken than freed, then for 2,000 more is freed.
        let takes = if round / 2_000 % 2 == 0 { 13 } else { 8 };
        model.is_short = round / 500 % 3 == 0;
        match random.below(20) {
            0 => {
                let pages = UNIT_PAGES + 1 + random.below(5 * UNIT_PAGES);
                model.take(pages, None);
            }
            1 => _ = model.trim_among(1 + random.below(2)),
            kind if kind < takes => {
                let class = random.below(CLASSES);
                model.take(pages_of(class), Some(class));
            }
            _ => model.give(random.below(model.held.len().max(1))),
        }
        assert_eq!(model.units.idle_pages(), model.idle_pages());
    }
    while !model.held.is_empty() {
        model.give(0);
    }
    while model.trim() {}
    assert_eq!(
        (model.units.idle_pages(), model.populated.contains(&true)),
        (0, false),
        "all has gone"
    );
    assert_eq!(model.apart, [false; UNITS]);
    assert!(model.take(UNITS * UNIT_PAGES, None), "nothing was lost");
}

#[test]
fn what_is_full_says_so_and_goes_on_when_something_comes_back() {
    let mut model = Model::new(Steps::Slices);
    while model.take(UNIT_PAGES, Some(CLASSES - 1)) {}
    assert_eq!(model.held.len(), UNITS);
    assert!(!model.take(1, Some(0)) && !model.take(2 * UNIT_PAGES, None));
    model.give(10);
    assert!(model.take(1, Some(0)));
}

#[test]
fn first_unit_of_a_class_is_populated_slot_by_slot_and_others_as_a_whole() {
    let mut model = Model::new(Steps::Units);
    let class = class_of(16);
    for slot in 0..16 {
        assert!(model.take(16, Some(class)));
        let populated = model.populated.iter().filter(|&&is| is).count();
        assert_eq!(
            (populated, model.apart[0]),
            ((slot + 1) * 16, slot < 15),
            "huge when it is full"
        );
    }
    assert!(model.take(16, Some(class)));
    assert!(model.populated[UNIT_PAGES..2 * UNIT_PAGES].iter().all(|&is| is));
    assert_eq!(model.units.idle_pages(), UNIT_PAGES - 16, "of a huge page more than an eighth");
    // From then on the unit's slots are populated one by one.
    while model.trim() {}
    assert_eq!((model.units.idle_pages(), &model.apart[..2]), (0, [false, true].as_slice()));
    assert!(model.take(16, Some(class)));
    assert_eq!(model.populated.iter().filter(|&&is| is).count(), UNIT_PAGES + 32);
}

#[test]
fn unit_that_begins_when_memory_is_short_is_populated_slot_by_slot() {
    let mut model = Model::new(Steps::Units);
    let class = class_of(16);
    model.is_short = true;
    for _ in 0..17 {
        assert!(model.take(16, Some(class)));
    }
    let populated = model.populated.iter().filter(|&&is| is).count();
    assert_eq!((populated, &model.apart[..2]), (17 * 16, [false, true].as_slice()));
}

#[test]
fn unit_whose_last_extent_comes_back_while_the_trimmer_has_the_rest_is_free_afterwards() {
    let mut model = Model::new(Steps::Slices);
    for _ in 0..3 {
        assert!(model.take(64, Some(class_of(64))));
    }
    model.give(2);
    assert!(model.trim());
    model.give(0);
    model.give(0);
    assert_eq!(model.units.idle_pages(), 0, "it is the trimmer's until it is done");
    assert!(model.trim());
    assert_eq!(model.units.idle_pages(), 128);
    assert!(model.take(UNITS * UNIT_PAGES, None), "nothing was lost");
}
