//! The templates of all sessions, and the kinds of texts seen so far. A template is created for the
//! second text of a kind, since most kinds have only one text.
//!
//! Used only when a session has none for a new text in its own cache.

use std::collections::HashMap;

use sos::lock::{SpinClass, SpinLock};
use sos::sync::{AtomicBool, AtomicU64, Ordering};

use super::{Kind, ProgramKey};

/// Maximum number of templates.
const TEMPLATES_MAX: usize = 1_024;
/// Number of kinds that are remembered, one per slot, newer ones overwriting older ones: 64 KB.
const SEEN: usize = 8_192;
/// Mask of the half of a slot that identifies the kind; the other half identifies its latest text.
const KIND_BITS: u64 = 0xFFFF_FFFF_0000_0000;

/// Templates, by the key of their kind.
pub struct SharedTemplates {
    templates: SpinLock<HashMap<ProgramKey, Kind, foldhash::fast::RandomState>>,
    seen: Box<[AtomicU64]>,
    /// Whether the first text of a kind gets a template.
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
    /// Returns whether another text of this kind was compiled before, and remembers this one.
    /// Several sessions compiling the same text at once do not count as two texts.
    pub fn was_seen(&self, kind: ProgramKey, text: ProgramKey) -> bool {
        let (ProgramKey::Text(kind), ProgramKey::Text(text)) = (kind, text) else { return false };
        let place = usize::try_from(kind % SEEN as u64).unwrap_or(0);
        let mark = (kind & KIND_BITS) | (text & !KIND_BITS);
        // Relaxed: a session that misses another's mark compiles once more, with no other effect.
        let before = self.seen[place].swap(mark, Ordering::Relaxed);
        let is_second = before != mark && before & KIND_BITS == mark & KIND_BITS;
        is_second || self.at_once.load(Ordering::Relaxed)
    }

    /// Creates templates for the first text of a kind from now on; for tests.
    pub fn make_at_once(&self) {
        // Relaxed: as in `was_seen`.
        self.at_once.store(true, Ordering::Relaxed);
    }

    /// Finds the template of a kind; the caller checks whether a text matches it.
    pub fn get(&self, kind: ProgramKey) -> Option<Kind> {
        self.templates.lock().get(&kind).cloned()
    }

    /// Drops templates whose programs were compiled against another catalog version.
    pub fn let_go(&self, catalog_version: u64) {
        let is_old =
            |_: &ProgramKey, kind: &mut Kind| kind.program.catalog_version != catalog_version;
        let gone: Vec<_> = self.templates.lock().extract_if(is_old).collect();
        // Freed after the lock is released.
        drop(gone);
    }

    /// Adds a template; replaces an arbitrary one if there are too many.
    pub fn put(&self, kind: ProgramKey, made: Kind) {
        let mut templates = self.templates.lock();
        let full = templates.len() >= TEMPLATES_MAX && !templates.contains_key(&kind);
        let dropped = if full {
            let any = templates.keys().next().copied();
            any.and_then(|any| templates.remove(&any))
        } else {
            None
        };
        // As in `SharedPrograms::put`: views show the program that is kept.
        if let Some(books) = &made.program.books {
            books.keep(&made.program);
        }
        let replaced = templates.insert(kind, made);
        // Freed after the lock is released.
        drop(templates);
        drop((dropped, replaced));
    }

    /// Drops all templates (DBCC FREEPROCCACHE).
    pub fn clear(&self) {
        let dropped = std::mem::take(&mut *self.templates.lock());
        drop(dropped);
    }
}
