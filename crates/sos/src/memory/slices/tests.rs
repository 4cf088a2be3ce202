//! Slices of a unit: taken, given, populated.

use super::*;

#[test]
fn slices_that_were_given_back_are_idle_until_the_trimmer_has_their_memory() {
    let unit = Slices::<Proven>::new();
    let by = Steps::Slices;
    assert_eq!((unit.take(0b1, by), unit.take(0b110, by)), (0b1, 0b110));
    unit.give(0b10);
    assert_eq!((unit.idle(by), unit.idle(Steps::WholeUnits)), (0b10, 0));
    unit.give(0b101);
    assert_eq!((unit.idle(by), unit.idle(Steps::WholeUnits)), (0b111, 0b111));
    // Slices that were populated before are not populated again.
    assert_eq!((unit.take(0b11, by), unit.idle(by)), (0, 0b100));
    let mut gone = 0;
    assert_eq!(unit.release(by, |going| gone = going.slices), 0b100);
    assert_eq!((gone, unit.idle(by), unit.release(by, |_| {})), (0b100, 0, 0));
    assert_eq!(unit.take(0b100, by), 0b100);
    unit.give(0b111);
    assert_eq!((unit.release(by, |_| {}), unit.take(0b1, by)), (0b111, 0b1));
}

#[test]
fn unit_that_was_taken_apart_and_filled_again_may_be_huge_when_all_of_it_has_gone() {
    let unit = Slices::<Proven>::new();
    let by = Steps::Units;
    unit.take(WHOLE, by);
    unit.give(0xffff);
    unit.release(by, |going| assert!(going.is_first && !going.is_last));
    assert_eq!((unit.is_whole(), unit.take(0xffff, by), unit.is_whole()), (false, 0xffff, true));
    unit.give(WHOLE);
    assert!(!unit.is_whole(), "nothing is in use");
    let mut gone = None;
    unit.release(by, |going| gone = Some(going));
    assert_eq!(gone, Some(Going { slices: WHOLE, is_first: false, is_last: true }));
}

#[test]
fn nothing_is_asked_of_the_kernel_about_pages_where_it_has_no_huge_ones() {
    let unit = Slices::<Proven>::new();
    let by = Steps::Slices;
    unit.take(WHOLE, by);
    let mut all = Vec::new();
    for slices in [0xffff, WHOLE & !0xffff] {
        unit.give(slices);
        unit.release(by, |going| all.push((going.is_first, going.is_last)));
    }
    assert_eq!(all, [(false, false); 2]);
}

#[test]
fn slices_at_the_trimmer_are_nobodys() {
    let unit = Slices::<Proven>::new();
    let by = Steps::Slices;
    unit.take(0b111, by);
    unit.give(0b110);
    let state = || unit.state.load(Ordering::Relaxed);
    unit.release(by, |_| {
        assert_eq!(taken(state(), 0b10, by), None);
        // Other slices of the unit can be taken, and stay with the thread that took them.
        assert_eq!((unit.take(0b1000, by), unit.idle(by)), (0b1000, 0));
        unit.give(0b1);
    });
    assert_eq!((unit.idle(by), state() & WHOLE), (0b1, 0b1000));
}

#[test]
fn huge_page_populates_the_whole_unit_with_its_first_slice() {
    for by in [Steps::Units, Steps::WholeUnits] {
        let unit = Slices::<Proven>::new();
        assert_eq!((unit.take(0x3fff_fffe, by), unit.take(0b1, by)), (WHOLE, 0));
        assert_eq!((unit.idle(by), unit.release(by, |_| {})), (0, 0));
        unit.give(0x3fff_ffff);
        assert_eq!(unit.idle(by), WHOLE);
        let mut gone = None;
        assert_eq!(unit.release(by, |going| gone = Some(going)), WHOLE);
        let is_last = by == Steps::Units;
        let whole = Going { slices: WHOLE, is_first: false, is_last };
        assert_eq!((gone, unit.take(0b1, by)), (Some(whole), WHOLE));
    }
}

#[test]
fn huge_page_of_which_an_eighth_is_free_is_taken_apart_until_all_of_it_has_gone() {
    let unit = Slices::<Proven>::new();
    let by = Steps::Units;
    unit.take(WHOLE, by);
    let mut all = Vec::new();
    unit.give(WHOLE & !0x1fff_ffff);
    assert_eq!(unit.release(by, |going| all.push(going)), 0, "3 are free");
    unit.give(0x1fff_0000);
    assert_eq!(unit.idle(Steps::WholeUnits), 0);
    unit.release(by, |going| all.push(going));
    // Its slices are populated one by one now.
    assert_eq!((unit.take(0x1_0000, by), unit.take(0x2_0000, by)), (0x1_0000, 0x2_0000));
    unit.give(0x1_0000);
    assert_eq!(unit.idle(by), 0x1_0000);
    unit.give(0x2_ffff);
    unit.release(by, |going| {
        all.push(going);
        let state = unit.state.load(Ordering::Relaxed);
        assert_eq!(taken(state, 1 << 31, by), None, "before it may be whole again");
    });
    let going = |slices, is_first, is_last| Going { slices, is_first, is_last };
    let expected = [going(WHOLE & !0xffff, true, false), going(0x3_ffff, false, true)];
    assert_eq!((all.as_slice(), unit.take(0b1, by)), (expected.as_slice(), WHOLE));
}

#[test]
fn unit_is_whole_when_all_is_populated_and_less_than_an_eighth_is_free() {
    let unit = Slices::<Proven>::new();
    // Populated slice by slice, as the first units are.
    unit.take(0x7fff_ffff, Steps::Slices);
    assert!(!unit.is_whole(), "one slice is not populated");
    unit.take(1 << 31, Steps::Units);
    unit.give(0b111);
    assert_eq!((unit.is_whole(), unit.idle(Steps::Units)), (true, 0));
    unit.give(0b1000);
    assert_eq!((unit.is_whole(), unit.idle(Steps::Units)), (false, 0b1111));
}
