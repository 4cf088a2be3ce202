//! Templates of all sessions, and which kinds of texts were met: a template is made for the second text of
//! a kind, since most kinds have but one.
//!
//! Asked only when a session has no template of its own for a new text.

use std::collections::HashMap;

use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicBool, AtomicU64, Ordering};

use crate::{Kind, ProgramKey};

/// Templates at most.
const TEMPLATES_MAX: usize = 1_024;
/// Kinds that are remembered, each in a place of its own unless it shares it with another: an extent of 64 KB.
const SEEN: usize = 8_192;
/// The half of such a place that tells the kind; the other tells the text of it that was met last.
const KIND_BITS: u64 = 0xFFFF_FFFF_0000_0000;

/// Templates by the key of their kind.
pub struct SharedTemplates {
    templates: SpinLock<HashMap<ProgramKey, Kind, foldhash::fast::RandomState>>,
    seen: Box<[AtomicU64]>,
    /// Whether the first text of a kind is enough.
    at_once: AtomicBool,
}

impl Default for SharedTemplates {
    fn default() -> Self {
        Self {
            templates: SpinLock::new(SpinClass::PlanCache, HashMap::default()),
            seen: (0..SEEN).map(|_| AtomicU64::new(0)).collect(),
            at_once: AtomicBool::new(false),
        }
    }
}

impl SharedTemplates {
    /// Returns whether another text of this kind was compiled before, and remembers this one. Sessions that
    /// compile the same text at the same time are no reason for a template.
    pub fn was_seen(&self, kind: ProgramKey, text: ProgramKey) -> bool {
        let (ProgramKey::Text(kind), ProgramKey::Text(text)) = (kind, text) else { return false };
        let place = usize::try_from(kind % SEEN as u64).unwrap_or(0);
        let mark = (kind & KIND_BITS) | (text & !KIND_BITS);
        // Relaxed: who misses the other's mark compiles once more. Nothing else hangs on it.
        let before = self.seen[place].swap(mark, Ordering::Relaxed);
        let is_second = before != mark && before & KIND_BITS == mark & KIND_BITS;
        is_second || self.at_once.load(Ordering::Relaxed)
    }

    /// Makes templates of the first text of a kind from now on; for tests.
    pub fn make_at_once(&self) {
        // Relaxed: as above.
        self.at_once.store(true, Ordering::Relaxed);
    }

    /// Finds the template of a kind; whether a text is of it is the caller's to see.
    pub fn get(&self, kind: ProgramKey) -> Option<Kind> {
        self.templates.lock().get(&kind).cloned()
    }

    /// Lets templates go whose programs were made against another catalog.
    pub fn let_go(&self, catalog_version: u64) {
        let is_old =
            |_: &ProgramKey, kind: &mut Kind| kind.program.catalog_version != catalog_version;
        let gone: Vec<_> = self.templates.lock().extract_if(is_old).collect();
        // Freed behind the lock.
        drop(gone);
    }

    /// Adds a template, in the place of any other where there are many.
    pub fn put(&self, kind: ProgramKey, made: Kind) {
        let mut templates = self.templates.lock();
        let full = templates.len() >= TEMPLATES_MAX && !templates.contains_key(&kind);
        let dropped = if full {
            let any = templates.keys().next().copied();
            any.and_then(|any| templates.remove(&any))
        } else {
            None
        };
        // As in `SharedPrograms::put`: views show the one that stays.
        if let Some(books) = &made.program.books {
            books.keep(&made.program);
        }
        let replaced = templates.insert(kind, made);
        // Freed behind the lock.
        drop(templates);
        drop((dropped, replaced));
    }

    /// Forgets all (DBCC FREEPROCCACHE).
    pub fn clear(&self) {
        let dropped = std::mem::take(&mut *self.templates.lock());
        drop(dropped);
    }
}
