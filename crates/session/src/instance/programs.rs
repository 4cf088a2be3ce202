//! Compiled programs of all sessions. Asked only when a session's own cache has none, so one lock is
//! enough; how often it is taken is a matter of new texts and new connections, not of requests.
//!
//! Texts that are never sent again must not push out those that are: a program is on probation first, among
//! few. What was asked for again by the time its probation ends stays, and goes when it was not asked for
//! through a whole round of the rest. Of a text whose program went, its key is remembered: sent again, its
//! program is on no probation. (Yang and others, "FIFO queues are all you need for cache eviction", SOSP 2023.)
//!
//! ```text
//!   put ─► new ─┬─ asked for ──► kept ─┬─ asked for ─► once more
//!    ▲          └─ not ─► gone         └─ not ──────► out
//!    └──────── sent again: to kept ────────┘
//! ```
//!
//! Probation could be shorter: to take apart what is still in the processor's cache costs less. It is as long as it
//! is for those who look for what ran once (docs/decisions/0091).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};

use crate::ProgramKey;
use plan::program::Program;
use plan::stats::ProgramBooks;

/// Programs on probation at most.
const NEW_MAX: usize = 512;
/// Programs at most that were asked for again.
const KEPT_MAX: usize = 3_584;
/// Texts that are remembered whose programs went, each in a place of its own unless it shares it with another: an
/// extent of 64 KB.
const GONE: usize = 8_192;
/// The longest text whose program is kept. A longer one is a script, sent once; some thousands of them
/// would take all memory.
const TEXT_MAX_BYTES: usize = 256 << 10;
/// Steps at most in search of a program that may go: the rest of a round is for the next one.
const STEPS_MAX: u32 = 16;

/// Places that are looked at under one lock in search of old programs.
const LET_GO_AT_ONCE: usize = 256;

/// A program with the text that it was made from.
struct Place {
    text: Arc<[u8]>,
    /// None once it was let go because the catalog had changed.
    program: Option<Arc<Program>>,
    /// What was counted of it stays all the same.
    _books: Option<Arc<ProgramBooks>>,
    /// Whether it was asked for since it was put in or last passed over.
    asked: bool,
}

impl Place {
    /// Whether somebody wants it: it was asked for, or a session has it in its own cache.
    fn is_wanted(&mut self) -> bool {
        let program = self.program.as_ref();
        std::mem::take(&mut self.asked) || program.is_some_and(|p| Arc::strong_count(p) > 1)
    }
}

struct Programs {
    places: HashMap<ProgramKey, Place, foldhash::fast::RandomState>,
    /// Keys on probation, the oldest first.
    new: VecDeque<ProgramKey>,
    /// Keys that were asked for again, in the order in which they are looked at.
    kept: VecDeque<ProgramKey>,
    /// Hashes of texts whose programs went when their probation ended.
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
    /// Puts a key that was not there where it belongs; returns what goes for it.
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

    /// Ends the probation of the oldest where there are too many; returns what goes.
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

    /// Keeps a program that was asked for again; returns what goes for it.
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

/// Programs by key, each with the text that it was made from.
pub struct SharedPrograms {
    programs: SpinLock<Programs>,
}

impl Default for SharedPrograms {
    fn default() -> Self {
        Self { programs: SpinLock::new(SpinClass::PlanCache, Programs::default()) }
    }
}

impl SharedPrograms {
    /// Finds a program made from this text against this catalog.
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

    /// Adds a program, and lets one go where there are many.
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
        // Under the lock, so that the last one put in is the one that is shown.
        if let Some(books) = &program.books {
            books.keep(program);
        }
        let dropped = if replaced.is_some() { None } else { programs.enter(key) };
        // Freed behind the lock.
        drop(programs);
        drop((replaced, dropped));
    }

    /// Lets programs go that were made against another catalog: nobody can run them, and tables that were dropped
    /// stay as long as they do.
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
            // Freed behind the lock.
            drop(programs);
            if seen < LET_GO_AT_ONCE {
                return;
            }
        }
    }

    /// Returns how many programs are kept.
    pub fn count(&self) -> usize {
        self.programs.lock().places.len()
    }

    /// Forgets all (DBCC FREEPROCCACHE).
    pub fn clear(&self) {
        let dropped = std::mem::take(&mut *self.programs.lock());
        drop(dropped);
    }
}
