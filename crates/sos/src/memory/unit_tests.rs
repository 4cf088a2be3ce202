//! The table of units against a model: a map from pages to owners.

use std::collections::BTreeMap;

use super::class::{CLASSES, UNIT_PAGES, pages_of};
use super::unit::{Unit, Units};

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

/// What is taken: first page to pages and class, none for a run.
struct Model {
    units: Box<Units>,
    _table: Vec<Unit>,
    held: BTreeMap<usize, (usize, Option<usize>)>,
    populated: Vec<bool>,
    /// Whether units are populated as wholes.
    whole: bool,
}

impl Model {
    fn new(whole: bool) -> Self {
        let mut table = vec![Unit::default(); UNITS];
        let mut units = Box::new(Units::empty());
        // SAFETY: the table is kept beside it, and touched by nobody.
        unsafe { units.open(table.as_mut_ptr(), UNITS) };
        let populated = vec![false; UNITS * UNIT_PAGES];
        Self { units, _table: table, held: BTreeMap::new(), populated, whole }
    }

    fn take(&mut self, pages: usize, class: Option<usize>) -> bool {
        let taken = match class {
            Some(class) => self.units.take_slot(class, self.whole),
            None => self.units.take_run(pages, self.whole),
        };
        let Some(taken) = taken else { return false };
        let end = taken.page + pages;
        assert!(end <= UNITS * UNIT_PAGES);
        let below = self.held.range(..end).next_back();
        assert!(below.is_none_or(|(&page, held)| page + held.0 <= taken.page), "it is free");
        let (first, count) = taken.missing;
        let missing = &mut self.populated[first..first + count];
        assert_eq!(missing.iter().filter(|&&is| !is).count(), taken.grown);
        missing.fill(true);
        assert!(self.populated[taken.page..end].iter().all(|&is| is), "all of it is populated");
        self.held.insert(taken.page, (pages, class));
        true
    }

    fn give(&mut self, nth: usize) {
        let Some((&page, &(pages, class))) = self.held.iter().nth(nth) else { return };
        self.held.remove(&page);
        match class {
            Some(class) => self.units.give_slot(page, class),
            None => self.units.give_run(page, pages),
        }
    }

    fn trim(&mut self) {
        let Some((page, pages)) = self.units.take_idle() else { return };
        let held = self.held.range(..page + UNIT_PAGES).next_back();
        assert!(held.is_none_or(|(&first, held)| first + held.0 <= page), "the unit is free");
        let unit = &mut self.populated[page..page + UNIT_PAGES];
        assert_eq!(unit.iter().filter(|&&is| is).count(), pages);
        unit.fill(false);
        self.units.give_idle(page);
    }
}

#[test]
fn no_page_has_two_owners_and_every_page_is_populated_when_taken() {
    for whole in [false, true] {
        take_and_give_at_random(&mut Model::new(whole));
    }
}

fn take_and_give_at_random(model: &mut Model) {
    let mut random = Random(0x5eed);
    for _ in 0..20_000 {
        match random.below(20) {
            0 => {
                let pages = UNIT_PAGES + 1 + random.below(5 * UNIT_PAGES);
                model.take(pages, None);
            }
            1 => model.trim(),
            2..12 => {
                let class = random.below(CLASSES);
                model.take(pages_of(class), Some(class));
            }
            _ => model.give(random.below(model.held.len().max(1))),
        }
    }
    while !model.held.is_empty() {
        model.give(0);
    }
    let populated = model.populated.iter().filter(|&&is| is).count();
    assert_eq!(model.units.idle_pages(), populated, "all that is populated is free");
    while model.units.idle_pages() > 0 {
        model.trim();
    }
    assert!(model.take(UNITS * UNIT_PAGES, None), "nothing was lost");
}

#[test]
fn what_is_full_says_so_and_goes_on_when_something_comes_back() {
    let mut model = Model::new(false);
    while model.take(UNIT_PAGES, Some(CLASSES - 1)) {}
    assert_eq!(model.held.len(), UNITS);
    assert!(!model.take(1, Some(0)) && !model.take(2 * UNIT_PAGES, None));
    model.give(10);
    assert!(model.take(1, Some(0)));
}
