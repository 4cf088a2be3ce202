//! Tests the experiment mode in which the allocator has one lock. The mode is switched on for a
//! whole process, so the test is a separate binary.
#![cfg(not(any(loom, shuttle)))]

use std::sync::Arc;

use sos::ledger::Accounts;
use sos::lock::SpinClass;
use sos::memory::Allocator;
use sos::memory::experiment::Experiment;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

#[test]
fn extents_under_one_lock_collide_with_more_threads_than_cpus() {
    let accounts = Arc::new(Accounts::default());
    let collisions = |accounts: &Accounts| {
        let rows = accounts.spins();
        rows.iter()
            .find(|row| row.class == SpinClass::SosLargePageAllocator)
            .map_or(0, |r| r.collisions)
    };
    let work = |accounts: &Arc<Accounts>| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let take_and_give = || {
                    for _ in 0..60_000 {
                        drop(std::hint::black_box(Vec::<u8>::with_capacity(64 << 10)));
                    }
                };
                sos::thread::spawn(accounts, "taker", take_and_give).unwrap()
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        collisions(accounts)
    };
    let kept = work(&accounts);
    Experiment::AllocatorLock.switch_on();
    let locked = work(&accounts) - kept;
    assert!(locked > kept, "{locked} collisions under one lock, {kept} with magazines");
}
