//! Models of the lock manager under shuttle: no grant is lost, no session waits for ever, and no
//! two sessions hold a lock in incompatible modes.

use std::sync::Arc;
use std::time::Duration;

use shuttle::sync::atomic::{AtomicU32, Ordering};
use shuttle::thread::spawn;

use crate::lock::{Acquired, LockKey, LockManager, LockMode, LockScope, Patience};
use crate::models::prove;
use crate::primitives::Mutant;

const AT_ANY_TIME: Patience<'_> =
    Patience { timeout: Some(Duration::from_secs(1)), cancel: None, deadlock_priority: 0 };
const NEVER: Patience<'_> = Patience { timeout: None, cancel: None, deadlock_priority: 0 };

fn key(name: &str) -> LockKey {
    LockKey { database: 1, principal: 0, name: name.into() }
}

fn exclusive() -> (LockScope, LockMode) {
    (LockScope::Session, LockMode::Exclusive)
}

/// Two sessions wait for ever and one may give up; a session that has the lock is alone.
fn giving_up_beside_waiting() {
    let manager = Arc::new(LockManager::default());
    let inside = Arc::new(AtomicU32::new(0));
    let patience = [NEVER, AT_ANY_TIME, NEVER];
    let sessions: Vec<_> = (1..=3)
        .zip(patience)
        .map(|(number, patience)| {
            let (manager, inside) = (Arc::clone(&manager), Arc::clone(&inside));
            spawn(move || {
                let mut locks = manager.open(number);
                let acquired = locks.acquire(&manager, &key("a"), exclusive(), patience);
                if matches!(acquired, Acquired::AtOnce | Acquired::AfterWait) {
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two hold it");
                    inside.fetch_sub(1, Ordering::SeqCst);
                    assert!(locks.release(&manager, &key("a"), LockScope::Session));
                } else {
                    assert_eq!((number, acquired), (2, Acquired::TimedOut));
                }
                locks.close(&manager);
            })
        })
        .collect();
    for session in sessions {
        session.join().unwrap();
    }
    assert!(manager.rows().is_empty(), "{:?}", manager.rows());
    assert!(manager.owners().is_empty());
}

/// A reader waits behind a writer, beside a reader that has the lock; the writer gives up.
fn queue_moves_up_when_one_gives_up() {
    let manager = Arc::new(LockManager::default());
    let shared = (LockScope::Session, LockMode::Shared);
    let mut holder = manager.open(1);
    assert_eq!(holder.acquire(&manager, &key("a"), shared, NEVER), Acquired::AtOnce);
    let others = [(2, exclusive(), AT_ANY_TIME), (3, shared, NEVER)];
    let others: Vec<_> = others
        .into_iter()
        .map(|(number, ask, patience)| {
            let manager = Arc::clone(&manager);
            spawn(move || {
                let mut locks = manager.open(number);
                let acquired = locks.acquire(&manager, &key("a"), ask, patience);
                locks.close(&manager);
                acquired
            })
        })
        .collect();
    let acquired: Vec<_> = others.into_iter().map(|other| other.join().unwrap()).collect();
    assert_eq!(acquired[0], Acquired::TimedOut);
    assert!(matches!(acquired[1], Acquired::AtOnce | Acquired::AfterWait), "{acquired:?}");
    holder.close(&manager);
    assert!(manager.rows().is_empty());
}

/// Two sessions take two locks in opposite orders: one is the victim if both would wait.
fn opposite_orders() {
    let manager = Arc::new(LockManager::default());
    let session = |number, names: [&'static str; 2]| {
        let manager = Arc::clone(&manager);
        spawn(move || {
            let mut locks = manager.open(number);
            let first = locks.acquire(&manager, &key(names[0]), exclusive(), NEVER);
            assert!(matches!(first, Acquired::AtOnce | Acquired::AfterWait), "{first:?}");
            let second = locks.acquire(&manager, &key(names[1]), exclusive(), NEVER);
            locks.close(&manager);
            second
        })
    };
    let (one, two) = (session(1, ["a", "b"]), session(2, ["b", "a"]));
    let outcome = [one.join().unwrap(), two.join().unwrap()];
    let victims = outcome.iter().filter(|acquired| **acquired == Acquired::Victim).count();
    assert!(victims <= 1, "{outcome:?}");
    assert!(manager.rows().is_empty());
}

#[test]
fn models_locks_are_granted_to_whom_they_are_due() {
    prove(giving_up_beside_waiting, Mutant::LockGrantOverlooked);
    prove(queue_moves_up_when_one_gives_up, Mutant::LockQueueForgotten);
}

#[test]
fn models_deadlocks_have_one_victim() {
    prove(opposite_orders, Mutant::LockVictimIsWhoSearches);
}
