//! Tests of which passes use up the patience of a request.

use super::*;

const START: Progress = Progress { freed: 7, settled: 3, left: 5 };

#[test]
fn passes_that_a_thread_holds_back_do_not_count() {
    let mut patience = Patience::new(START);
    for _ in 0..100 * PASSES {
        assert_eq!(patience.after_pass(START), Next::Pause);
    }
    let settled = |n: u32| Progress { settled: START.settled + u64::from(n), ..START };
    for n in 1..PASSES {
        assert_eq!(patience.after_pass(settled(n)), Next::Pause);
    }
    assert_eq!(patience.after_pass(settled(PASSES)), Next::GiveUp);
}

#[test]
fn a_pass_that_frees_something_is_followed_by_another_and_renews_patience() {
    let mut patience = Patience::new(START);
    let mut now = START;
    for _ in 0..3 {
        for _ in 1..PASSES {
            now.settled += 1;
            assert_eq!(patience.after_pass(now), Next::Pause);
        }
        now.freed += 1;
        assert_eq!(patience.after_pass(now), Next::Ask);
    }
}

#[test]
fn a_request_gives_up_soon_where_nothing_is_left() {
    let mut now = Progress { left: 0, ..START };
    let mut patience = Patience::new(now);
    for _ in 1..EMPTY_PASSES {
        now.settled += 1;
        assert_eq!(patience.after_pass(now), Next::Pause);
    }
    now.settled += 1;
    assert_eq!(patience.after_pass(now), Next::GiveUp);
}
