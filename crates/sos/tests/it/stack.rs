//! Tests of the call stacks of threads.

use sos::ledger::Accounts;
use sos::stack::{self, FRAMES_MAX, StackId};
use sos::sync::Arc;

#[inline(never)]
fn inner(skip: usize) -> StackId {
    std::hint::black_box(stack::here(skip))
}

#[inline(never)]
fn outer(skip: usize) -> StackId {
    std::hint::black_box(inner(skip))
}

#[inline(never)]
fn deep(levels: usize) -> StackId {
    if levels == 0 {
        return stack::here(0);
    }
    std::hint::black_box(deep(levels - 1))
}

fn frames(id: StackId) -> Vec<usize> {
    let mut frames = [0; FRAMES_MAX];
    let length = stack::frames(id, &mut frames);
    frames[..length].to_vec()
}

/// Whether an address is within a function's first bytes.
fn is_in(address: usize, function: *const ()) -> bool {
    (1..512).contains(&address.wrapping_sub(function.addr()))
}

/// Runs a closure on a thread with an account.
fn on_a_thread<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = sos::thread::spawn(&Arc::new(Accounts::default()), "walker", move || {
        sender.send(run()).expect("the test waits");
    });
    let result = receiver.recv().expect("the thread answers");
    thread.expect("started").join().expect("ended");
    result
}

#[test]
fn a_stack_names_its_callers_from_the_inside_out() {
    let (found, skipped) = on_a_thread(|| {
        let [found, skipped] = [0, 1].map(|skip| frames(outer(std::hint::black_box(skip))));
        (found, skipped)
    });
    assert!(is_in(found[0], inner as fn(usize) -> StackId as *const ()), "{found:x?}");
    assert!(is_in(found[1], outer as fn(usize) -> StackId as *const ()), "{found:x?}");
    assert!(found.len() > 5, "up to the thread's first function: {found:x?}");
    assert_eq!((skipped[0], skipped.len()), (found[1], found.len() - 1), "{skipped:x?} {found:x?}");
}

#[test]
fn the_same_place_has_the_same_id_and_a_deep_stack_its_innermost_functions() {
    let ids = on_a_thread(|| {
        let mut ids = Vec::new();
        for _ in 0..std::hint::black_box(20) {
            ids.push(outer(std::hint::black_box(0)));
        }
        ids.sort();
        ids.dedup();
        ids
    });
    // The compiler may unroll the loop.
    assert!(ids.len() < 10 && ids[0] != StackId::NONE, "{ids:?}");
    let found = frames(on_a_thread(|| deep(200)));
    assert_eq!(found.len(), FRAMES_MAX);
    assert!(found.iter().all(|&at| is_in(at, deep as fn(usize) -> StackId as *const ())));
}

#[test]
fn a_thread_that_was_not_started_here_has_stacks_once_it_has_an_account() {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(outer(0), StackId::NONE);
            Arc::new(Accounts::default()).adopt("taken in");
            assert!(frames(outer(0)).len() > 3);
        });
    });
}
