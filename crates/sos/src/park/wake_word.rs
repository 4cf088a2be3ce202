//! `WakeWord`: one word (futex) that one thread waits on and others set, once per wait.
//!
//! | value | meaning                                                        |
//! |-------|----------------------------------------------------------------|
//! | 0     | undecided: the waiter may sleep                                |
//! | other | decided by the first thread to store; the waiter reads it here |

#[cfg(not(shuttle))]
use crate::sync::{AtomicU32, Ordering};

/// The word: many threads may `set` it, one may `wait`.
#[cfg(not(shuttle))]
#[derive(Debug, Default)]
pub struct WakeWord {
    word: AtomicU32,
}

#[cfg(not(shuttle))]
impl WakeWord {
    /// Makes an undecided word.
    #[must_use]
    pub const fn new() -> Self {
        Self { word: AtomicU32::new(0) }
    }

    /// Stores the decision, unless there is one already, and wakes the waiter.
    pub fn set(&self, value: u32) -> bool {
        let first = self.decide(value);
        if first {
            crate::sys::futex_wake(&self.word);
        }
        first
    }

    /// Stores the decision, unless there is one already, without a wake-up: for the waiter that
    /// gives up.
    pub fn decide(&self, value: u32) -> bool {
        debug_assert_ne!(value, 0, "0 means undecided");
        // Release: pairs with the Acquire in `wait`. Acquire: a loser reads what the winner
        // decided.
        self.word.compare_exchange(0, value, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The decision; 0 if there is none.
    pub fn get(&self) -> u32 {
        // Acquire: pairs with the Release in `decide`.
        self.word.load(Ordering::Acquire)
    }

    /// Makes the word undecided again. Only the waiter may call it, while no other thread can set
    /// it.
    pub fn reset(&self) {
        self.word.store(0, Ordering::Relaxed);
    }

    /// Sleeps until there is a decision or the deadline (monotonic ns) has passed; returns the
    /// decision, or 0.
    pub fn wait(&self, deadline_ns: Option<u64>) -> u32 {
        loop {
            let value = self.get();
            if value != 0 {
                return value;
            }
            if !crate::sys::futex_wait(&self.word, 0, deadline_ns) {
                return self.get();
            }
        }
    }
}

/// The word as shuttle sees it. Deadlines never pass.
#[cfg(shuttle)]
#[derive(Debug, Default)]
pub struct WakeWord {
    word: shuttle::sync::Mutex<u32>,
    changed: shuttle::sync::Condvar,
}

#[cfg(shuttle)]
impl WakeWord {
    /// Makes an undecided word.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores the decision, unless there is one already, and wakes the waiter.
    pub fn set(&self, value: u32) -> bool {
        let first = self.decide(value);
        self.changed.notify_all();
        first
    }

    /// Stores the decision, unless there is one already.
    pub fn decide(&self, value: u32) -> bool {
        let mut word = self.word.lock().expect("no model thread panics under it");
        let first = *word == 0;
        if first {
            *word = value;
        }
        first
    }

    /// The decision; 0 if there is none.
    pub fn get(&self) -> u32 {
        *self.word.lock().expect("no model thread panics under it")
    }

    /// Makes the word undecided again.
    pub fn reset(&self) {
        *self.word.lock().expect("no model thread panics under it") = 0;
    }

    /// Sleeps until there is a decision.
    pub fn wait(&self, _deadline_ns: Option<u64>) -> u32 {
        let mut word = self.word.lock().expect("no model thread panics under it");
        while *word == 0 {
            word = self.changed.wait(word).expect("no model thread panics under it");
        }
        *word
    }
}
