//! The queue of a lock against a simple model, and deadlocks on real threads.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use crate::lock::resource::{Asked, Resource};
use crate::lock::{
    Acquired, LockKey, LockManager, LockMode, LockOwner, LockScope, LockStatus, Patience, Request,
};

const SESSIONS: usize = 4;
const SCOPES: [LockScope; 2] = [LockScope::Transaction, LockScope::Session];

/// The next action of a test.
#[derive(Clone, Debug)]
enum Step {
    Ask(usize, usize, LockMode),
    Release(usize, usize),
    ReleaseAll(usize, usize),
    GiveUp(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let session = 0..SESSIONS;
    let mode = prop::sample::select(LockMode::ALL.to_vec());
    prop_oneof![
        4 => (session.clone(), 0..2_usize, mode).prop_map(|(s, o, m)| Step::Ask(s, o, m)),
        2 => (session.clone(), 0..2_usize).prop_map(|(s, o)| Step::Release(s, o)),
        1 => (session.clone(), 0..2_usize).prop_map(|(s, o)| Step::ReleaseAll(s, o)),
        1 => session.prop_map(Step::GiveUp),
    ]
}

/// Holders and waits as plain lists; a mode as the list of the basic modes in it.
#[derive(Default)]
struct Model {
    /// Session, scope, modes, count.
    holds: Vec<(usize, usize, Vec<&'static str>, u32)>,
    /// Session, scope, modes after the grant.
    queue: Vec<(usize, usize, Vec<&'static str>)>,
}

fn basic(mode: LockMode) -> Vec<&'static str> {
    match mode {
        LockMode::IntentShared => vec!["IS"],
        LockMode::Shared => vec!["IS", "S"],
        LockMode::Update => vec!["IS", "S", "U"],
        LockMode::IntentExclusive => vec!["IS", "IX"],
        LockMode::SharedIntentExclusive => vec!["IS", "IX", "S"],
        LockMode::UpdateIntentExclusive => vec!["IS", "IX", "S", "U"],
        LockMode::Exclusive => vec!["IS", "IX", "S", "U", "X"],
    }
}

fn union(a: &[&'static str], b: &[&'static str]) -> Vec<&'static str> {
    let mut both: Vec<_> = a.iter().chain(b).copied().collect();
    both.sort_unstable();
    both.dedup();
    both
}

fn conflict(a: &[&str], b: &[&str]) -> bool {
    const PAIRS: [(&str, &str); 5] =
        [("X", "IS"), ("S", "IX"), ("U", "IX"), ("U", "U"), ("X", "X")];
    PAIRS.iter().any(|(p, q)| a.contains(p) && b.contains(q) || a.contains(q) && b.contains(p))
}

impl Model {
    fn holds(&self, session: usize) -> bool {
        self.holds.iter().any(|hold| hold.0 == session)
    }

    fn waits(&self, session: usize) -> bool {
        self.queue.iter().any(|wait| wait.0 == session)
    }

    fn of(&self, session: usize, scope: usize) -> Option<usize> {
        self.holds.iter().position(|hold| (hold.0, hold.1) == (session, scope))
    }

    fn is_free(&self, session: usize, modes: &[&str], ahead: usize) -> bool {
        let held = self.holds.iter().any(|hold| hold.0 != session && conflict(&hold.2, modes));
        let queued = self.queue[..ahead].iter().any(|wait| conflict(&wait.2, modes));
        !held && (self.holds(session) || !queued)
    }

    fn grant(&mut self, session: usize, scope: usize, modes: Vec<&'static str>) {
        match self.of(session, scope) {
            Some(at) => (self.holds[at].2, self.holds[at].3) = (modes, self.holds[at].3 + 1),
            None => self.holds.push((session, scope, modes, 1)),
        }
    }

    fn ask(&mut self, session: usize, scope: usize, mode: LockMode) {
        let held = self.of(session, scope).map(|at| self.holds[at].2.clone()).unwrap_or_default();
        let modes = union(&held, &basic(mode));
        if modes == held || self.is_free(session, &modes, self.queue.len()) {
            return self.grant(session, scope, modes);
        }
        // A session that holds the lock goes ahead of those that do not.
        let first = self.queue.iter().position(|wait| !self.holds(wait.0));
        let at = if self.holds(session) { first } else { None };
        self.queue.insert(at.unwrap_or(self.queue.len()), (session, scope, modes));
    }

    fn settle(&mut self) {
        while let Some(at) = (0..self.queue.len()).find(|&at| {
            let (session, _, modes) = &self.queue[at];
            self.is_free(*session, modes, at)
        }) {
            let (session, scope, modes) = self.queue.remove(at);
            self.grant(session, scope, modes);
        }
    }
}

fn key() -> LockKey {
    LockKey { database: 1, principal: 0, name: "a".into() }
}

/// Both as lists of text, for comparison.
fn shown(resource: &Resource, model: &Model) -> (Vec<String>, Vec<String>) {
    let mut rows = Vec::new();
    resource.show(&key(), &mut rows);
    let mut real: Vec<String> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let place = if row.status == LockStatus::Granted { 0 } else { place };
        let (scope, modes) = (row.scope as usize, union(&[], &basic(row.mode)));
        real.push(format!("{place} {} {scope} {modes:?} {}", row.session, row.count));
    }
    let mut expected: Vec<String> = Vec::new();
    for (session, scope, modes, count) in &model.holds {
        let modes = union(&[], modes);
        expected.push(format!("0 {session} {scope} {modes:?} {count}"));
    }
    for (place, (session, scope, modes)) in model.queue.iter().enumerate() {
        let (place, modes) = (place + model.holds.len(), union(&[], modes));
        expected.push(format!("{place} {session} {scope} {modes:?} 1"));
    }
    real.sort();
    expected.sort();
    (real, expected)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn queue_does_what_the_model_does(steps in prop::collection::vec(step(), 1..40)) {
        let number = |session: usize| u32::try_from(session).expect("few sessions");
        let owners: Vec<_> =
            (0..SESSIONS).map(|session| Arc::new(LockOwner::new(number(session)))).collect();
        let (mut resource, mut model) = (Resource::default(), Model::default());
        let mut waiting: [Option<Arc<Request>>; SESSIONS] = Default::default();
        for step in steps {
            match step {
                Step::Ask(session, scope, mode) if !model.waits(session) => {
                    let would = resource.would_grant(number(session), SCOPES[scope], mode);
                    let asked = resource.ask(&owners[session], SCOPES[scope], mode);
                    prop_assert_eq!(would, !matches!(asked, Asked::Queued(_)));
                    if let Asked::Queued(request) = asked {
                        waiting[session] = Some(request);
                    }
                    model.ask(session, scope, mode);
                }
                Step::Release(session, scope) if !model.waits(session) => {
                    let released = resource.release(number(session), SCOPES[scope]);
                    let at = model.of(session, scope);
                    prop_assert_eq!(released.is_some(), at.is_some());
                    if let Some(at) = at {
                        model.holds[at].3 -= 1;
                        model.holds.retain(|hold| hold.3 > 0);
                    }
                }
                Step::ReleaseAll(session, scope) if !model.waits(session) => {
                    resource.release_all(number(session), SCOPES[scope]);
                    model.holds.retain(|hold| (hold.0, hold.1) != (session, scope));
                }
                Step::GiveUp(session) if model.waits(session) => {
                    let request = waiting[session].take().expect("it waits");
                    prop_assert!(resource.refuse(&request));
                    model.queue.retain(|wait| wait.0 != session);
                }
                Step::Ask(..) | Step::Release(..) | Step::ReleaseAll(..) | Step::GiveUp(_) => {}
            }
            resource.promote();
            model.settle();
            let (real, expected) = shown(&resource, &model);
            prop_assert_eq!(real, expected);
        }
    }
}

const FOREVER: Patience<'_> = Patience { timeout: None, cancel: None, deadlock_priority: 0 };

fn named(name: &str) -> LockKey {
    LockKey { name: name.into(), ..key() }
}

/// Runs sessions in a ring, each holding one lock and asking for the next; returns results.
fn ring(priorities: &[i8]) -> Vec<Acquired> {
    let manager = LockManager::default();
    let barrier = std::sync::Barrier::new(priorities.len());
    let count = priorities.len();
    let session = |place: usize| {
        let (manager, barrier) = (&manager, &barrier);
        move || {
            let mut locks = manager.open(u32::try_from(place + 1).expect("few"));
            let ask = (LockScope::Session, LockMode::Exclusive);
            let own = named(&place.to_string());
            assert_eq!(locks.acquire(manager, &own, ask, FOREVER), Acquired::AtOnce);
            barrier.wait();
            let patience = Patience { deadlock_priority: priorities[place], ..FOREVER };
            let next = named(&((place + 1) % count).to_string());
            let acquired = locks.acquire(manager, &next, ask, patience);
            locks.close(manager);
            acquired
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|place| scope.spawn(session(place))).collect();
        threads.into_iter().map(|thread| thread.join().expect("ends")).collect()
    })
}

#[test]
fn a_cycle_costs_only_the_lowest_priority_its_wait() {
    for _ in 0..20 {
        let outcome = ring(&[0, -5, 3, 0]);
        assert_eq!(outcome[1], Acquired::Victim, "{outcome:?}");
        let others = outcome.iter().filter(|acquired| **acquired == Acquired::AfterWait).count();
        assert_eq!(others, 3, "{outcome:?}");
    }
}

#[test]
fn a_cycle_of_equals_costs_one_its_wait() {
    for count in 2..6 {
        let outcome = ring(&vec![0; count]);
        let victims = outcome.iter().filter(|acquired| **acquired == Acquired::Victim).count();
        assert_eq!(victims, 1, "{outcome:?}");
    }
}

#[test]
fn two_readers_who_both_want_to_write_are_a_deadlock() {
    let manager = LockManager::default();
    let barrier = std::sync::Barrier::new(2);
    let session = |number| {
        let (manager, barrier) = (&manager, &barrier);
        move || {
            let mut locks = manager.open(number);
            let shared = (LockScope::Transaction, LockMode::Shared);
            locks.acquire(manager, &key(), shared, FOREVER);
            barrier.wait();
            let write = (LockScope::Transaction, LockMode::Exclusive);
            let acquired = locks.acquire(manager, &key(), write, FOREVER);
            locks.close(manager);
            acquired
        }
    };
    std::thread::scope(|scope| {
        let (one, two) = (scope.spawn(session(1)), scope.spawn(session(2)));
        let mut outcome = [one.join().expect("ends"), two.join().expect("ends")];
        outcome.sort_by_key(|acquired| *acquired as u8);
        assert_eq!(outcome, [Acquired::AfterWait, Acquired::Victim]);
    });
}

#[test]
fn a_request_that_is_not_to_wait_leaves_nothing_behind() {
    let manager = LockManager::default();
    let (mut one, mut two) = (manager.open(1), manager.open(2));
    let ask = (LockScope::Session, LockMode::Exclusive);
    one.acquire(&manager, &key(), ask, FOREVER);
    let at_once = Patience { timeout: Some(Duration::ZERO), ..FOREVER };
    assert_eq!(two.acquire(&manager, &key(), ask, at_once), Acquired::TimedOut);
    let soon = Patience { timeout: Some(Duration::from_millis(5)), ..FOREVER };
    assert_eq!(two.acquire(&manager, &key(), ask, soon), Acquired::TimedOut);
    assert_eq!(manager.rows().len(), 1);
    one.close(&manager);
    assert!(manager.rows().is_empty());
    assert_eq!(two.acquire(&manager, &key(), ask, at_once), Acquired::AtOnce);
}
