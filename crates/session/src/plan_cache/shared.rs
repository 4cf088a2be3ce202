//! The shared cache of compiled programs. It is used only when a session's own cache misses, so one
//! lock is enough: the load depends on new texts and new connections, not on requests.
//!
//! Eviction is S3-FIFO, because texts that are never sent again must not evict those that are. A
//! program first enters a small probation queue. If it was requested again by the end of its
//! probation, it moves to the main queue, and is evicted when it was not requested during a whole
//! round of that queue. The key of a text that is evicted from probation is remembered in the ghost
//! table: if the text is sent again, its program enters the main queue directly. (Yang and others,
//! "FIFO queues are all you need for cache eviction", SOSP 2023.)
//!
//! ```text
//!   put ─► new ──┬─ requested ──► kept ─┬─ requested ─► another round
//!    ▲           └─ not ─► gone         └─ not ───────► evicted
//!    └──────── sent again: to kept ───────┘
//! ```
//!
//! `new` is the probation queue, `kept` the main queue, `gone` the ghost table. A shorter probation
//! would be cheaper, since freeing what is still in the processor's cache costs less. It is this
//! long for users who look at statements that ran once (docs/decisions/0091).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};

use super::ProgramKey;
use plan::program::Program;
use plan::stats::ProgramBooks;

/// Maximum number of programs on probation.
const NEW_MAX: usize = 512;
/// Maximum number of programs in the main queue.
const KEPT_MAX: usize = 3_584;
/// Size of the ghost table: one hash of an evicted text per slot, newer ones overwriting older
/// ones. It takes 64 KB.
const GONE: usize = 8_192;
/// Length of the longest text whose program is cached. A longer text is a script that is sent once;
/// some thousands of them would use up all memory.
const TEXT_MAX_BYTES: usize = 256 << 10;
/// Maximum number of steps in search of a program to evict; the next search continues the round.
const STEPS_MAX: u32 = 16;

/// Number of entries checked under one lock in search of outdated programs.
const LET_GO_AT_ONCE: usize = 256;

/// A cached program with its source text.
struct Place {
    text: Arc<[u8]>,
    /// `None` once it was dropped because the catalog had changed.
    program: Option<Arc<Program>>,
    /// Keeps the statistics alive after the program was dropped.
    _books: Option<Arc<ProgramBooks>>,
    /// Whether it was requested since it was inserted or last passed over.
    asked: bool,
}

impl Place {
    /// Returns whether the program is in use: it was requested, or a session has it in its own
    /// cache.
    fn is_wanted(&mut self) -> bool {
        let program = self.program.as_ref();
        std::mem::take(&mut self.asked) || program.is_some_and(|p| Arc::strong_count(p) > 1)
    }
}

struct Programs {
    places: HashMap<ProgramKey, Place, foldhash::fast::RandomState>,
    /// The probation queue, oldest first.
    new: VecDeque<ProgramKey>,
    /// The main queue, in the order in which entries are checked.
    kept: VecDeque<ProgramKey>,
    /// The ghost table: hashes of texts evicted from probation.
    gone: Box<[u64]>,
}

impl Default for Programs {
    fn default() -> Self {
        Self {
            places: HashMap::default(),
            new: VecDeque::new(),
            kept: VecDeque::new(),
            gone: vec![0; GONE].into(),
        }
    }
}

impl Programs {
    /// Inserts a key into its queue; returns the entry that is evicted for it.
    fn enter(&mut self, key: ProgramKey) -> Option<Place> {
        let is_back = match (key, self.place_of_gone(key)) {
            (ProgramKey::Text(hash), Some(gone)) => std::mem::take(gone) == hash,
            _ => false,
        };
        if is_back {
            return self.keep(key);
        }
        let dropped = self.end_probation();
        self.new.push_back(key);
        dropped
    }

    /// Ends the probation of the oldest if the queue is full; returns the entry that is evicted.
    fn end_probation(&mut self) -> Option<Place> {
        if self.new.len() < NEW_MAX {
            return None;
        }
        let oldest = self.new.pop_front()?;
        if self.places.get_mut(&oldest).is_some_and(Place::is_wanted) {
            return self.keep(oldest);
        }
        if let (ProgramKey::Text(hash), Some(gone)) = (oldest, self.place_of_gone(oldest)) {
            *gone = hash;
        }
        self.places.remove(&oldest)
    }

    fn place_of_gone(&mut self, key: ProgramKey) -> Option<&mut u64> {
        let ProgramKey::Text(hash) = key else { return None };
        self.gone.get_mut(usize::try_from(hash % GONE as u64).ok()?)
    }

    /// Moves a requested program to the main queue; returns the entry that is evicted for it.
    fn keep(&mut self, key: ProgramKey) -> Option<Place> {
        self.kept.push_back(key);
        if self.kept.len() <= KEPT_MAX {
            return None;
        }
        for _ in 0..STEPS_MAX {
            let next = self.kept.pop_front()?;
            if !self.places.get_mut(&next).is_some_and(Place::is_wanted) {
                return self.places.remove(&next);
            }
            self.kept.push_back(next);
        }
        let next = self.kept.pop_front()?;
        self.places.remove(&next)
    }
}

/// The shared programs by key, each with its source text.
pub struct SharedPrograms {
    programs: SpinLock<Programs>,
}

impl Default for SharedPrograms {
    fn default() -> Self {
        Self { programs: SpinLock::new(SpinClass::PlanCache, Programs::default()) }
    }
}

impl SharedPrograms {
    /// Finds the program of this text, if it was compiled against this catalog version.
    pub fn get(&self, key: ProgramKey, catalog_version: u64, text: &[u8]) -> Option<Arc<Program>> {
        let mut programs = self.programs.lock();
        let place = programs.places.get_mut(&key)?;
        let program = place.program.as_ref()?;
        let current = program.catalog_version == catalog_version && program.is_cached();
        if !current || *place.text != *text {
            return None;
        }
        place.asked = true;
        Some(Arc::clone(program))
    }

    /// Inserts a program, and evicts one if the cache is full.
    pub fn put(&self, key: ProgramKey, text: &Arc<[u8]>, program: &Arc<Program>) {
        if text.len() > TEXT_MAX_BYTES {
            return;
        }
        let place = Place {
            text: Arc::clone(text),
            program: Some(Arc::clone(program)),
            _books: program.books.clone(),
            asked: false,
        };
        let mut programs = self.programs.lock();
        let replaced = programs.places.insert(key, place);
        // Under the lock, so that views show the program that was inserted last.
        if let Some(books) = &program.books {
            books.keep(program);
        }
        let dropped = if replaced.is_some() { None } else { programs.enter(key) };
        // Freed after the lock is released.
        drop(programs);
        drop((replaced, dropped));
    }

    /// Drops programs compiled against another catalog version: no session can run them, and they
    /// keep dropped tables alive.
    pub fn let_go(&self, catalog_version: u64) {
        let is_old = |program: &mut Arc<Program>| program.catalog_version != catalog_version;
        for first in (0..).step_by(LET_GO_AT_ONCE) {
            let mut gone = Vec::with_capacity(LET_GO_AT_ONCE);
            let mut programs = self.programs.lock();
            let Programs { places, new, kept, .. } = &mut *programs;
            let keys = new.iter().chain(kept.iter()).skip(first).take(LET_GO_AT_ONCE);
            let mut seen = 0;
            for key in keys {
                seen += 1;
                let place = places.get_mut(key);
                gone.extend(place.and_then(|place| place.program.take_if(is_old)));
            }
            // Freed after the lock is released.
            drop(programs);
            if seen < LET_GO_AT_ONCE {
                return;
            }
        }
    }

    /// Returns the number of cached programs.
    pub fn count(&self) -> usize {
        self.programs.lock().places.len()
    }

    /// Drops all programs (DBCC FREEPROCCACHE).
    pub fn clear(&self) {
        let dropped = std::mem::take(&mut *self.programs.lock());
        drop(dropped);
    }
}
