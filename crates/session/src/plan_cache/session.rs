//! The session's cache of recently run programs, in front of the instance's shared cache.
//!
//! It is direct-mapped by a hash of the text (or of the procedure's id). A program is *moved* out
//! while it runs and put back afterwards: changing its reference count would write a cache line
//! that all sessions share.

use std::hash::BuildHasher;
use std::sync::Arc;

use super::template::TemplateCache;
use crate::SessionState;
use catalog::ProcedureDef;
use plan::program::Program;

/// Number of slots in a session's cache; a power of two.
const PLACES: usize = 16;

/// The key of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramKey {
    /// A batch: a hash of its text and of everything else that its meaning depends on.
    Text(u64),
    /// A procedure by its object id.
    Procedure(i32),
}

/// The cache of one session. Its slots are allocated with the first program.
#[derive(Default)]
pub struct ProgramCache {
    places: Vec<Option<(ProgramKey, Entry)>>,
    hasher: foldhash::fast::FixedState,
    /// Programs of texts that differ only in constants.
    pub templates: TemplateCache,
}

/// A cached program with its source.
#[derive(Clone)]
pub struct Entry {
    /// The procedure, if the program is its body.
    pub procedure: Option<Arc<ProcedureDef>>,
    /// The text as sent, to be compared: another text may have the same hash.
    pub text: Arc<[u8]>,
    /// Program compiled from the source.
    pub program: Arc<Program>,
}

impl ProgramCache {
    /// Returns the hash of a program's source.
    pub fn hash<'p>(&self, parts: impl Iterator<Item = &'p &'p [u8]>) -> u64 {
        use std::hash::Hasher;
        let mut hasher = self.hasher.build_hasher();
        for part in parts {
            hasher.write(part);
            hasher.write_usize(part.len());
        }
        hasher.finish()
    }

    /// Moves a program out if it is cached and still valid for the catalog.
    pub fn take(&mut self, key: ProgramKey, catalog_version: u64) -> Option<Entry> {
        let place = self.place(key);
        let slot = self.places.get_mut(place)?;
        match slot {
            Some((found, entry))
                if *found == key
                    && entry.program.catalog_version == catalog_version
                    && entry.program.is_cached() =>
            {
                slot.take().map(|(_, entry)| entry)
            }
            _ => None,
        }
    }

    /// Returns a cached program without moving it out.
    pub fn get(&self, key: ProgramKey) -> Option<&Entry> {
        let found = self.places.get(self.place(key))?.as_ref();
        found.filter(|(known, _)| *known == key).map(|(_, entry)| entry)
    }

    /// Stores a program, or puts it back after a run.
    pub fn put(&mut self, key: ProgramKey, entry: Entry) {
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        let place = self.place(key);
        self.places[place] = Some((key, entry));
    }

    /// Drops programs that were compiled against another catalog version.
    pub fn let_go(&mut self, catalog_version: u64) {
        for place in &mut self.places {
            place.take_if(|(_, entry)| entry.program.catalog_version != catalog_version);
        }
        self.templates.let_go(catalog_version);
    }

    /// Drops all programs of the session.
    pub fn clear(&mut self) {
        self.places.clear();
        self.templates.clear();
    }

    fn place(&self, key: ProgramKey) -> usize {
        let hash = match key {
            ProgramKey::Text(hash) => hash,
            ProgramKey::Procedure(id) => u64::from(id.unsigned_abs()).wrapping_mul(0x9E37_79B9),
        };
        // The mask keeps it below `PLACES`.
        usize::try_from(hash & (PLACES as u64 - 1)).unwrap_or(0)
    }
}

/// Empties the plan caches of the instance and of this session, with the statistics of what they had.
pub fn free_programs(session: &mut SessionState) {
    session.instance.programs.clear();
    session.instance.templates.clear();
    session.instance.statistics.evict_all();
    session.caches.programs.clear();
}
