//! Programs that a session ran lately, in front of the instance's shared cache.
//!
//! Direct mapped, by a hash of the text (or of the procedure's id). A program is *moved* out while it
//! runs and put back afterwards: counting it up and down would write a line that all sessions share.

use std::hash::BuildHasher;
use std::sync::Arc;

use crate::SessionState;
use crate::template::TemplateCache;
use catalog::ProcedureDef;
use plan::program::Program;

/// Places in a session's cache; a power of two.
const PLACES: usize = 16;

/// What a program was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramKey {
    /// A batch, by the hash of its text and of what else its meaning depends on.
    Text(u64),
    /// A procedure by its object id.
    Procedure(i32),
}

/// The cache of one session. Places are allocated with the first program.
#[derive(Default)]
pub struct ProgramCache {
    places: Vec<Option<(ProgramKey, Entry)>>,
    hasher: foldhash::fast::FixedState,
    /// Programs of texts that differ in constants.
    pub templates: TemplateCache,
}

/// A cached program.
#[derive(Clone)]
pub struct Entry {
    /// The procedure, if it is one.
    pub procedure: Option<Arc<ProcedureDef>>,
    /// What was sent, to be compared: a hash alone could be met by another text.
    pub text: Arc<[u8]>,
    /// The program.
    pub program: Arc<Program>,
}

impl ProgramCache {
    /// Hashes what a program is made from.
    pub fn hash<'p>(&self, parts: impl Iterator<Item = &'p &'p [u8]>) -> u64 {
        use std::hash::Hasher;
        let mut hasher = self.hasher.build_hasher();
        for part in parts {
            hasher.write(part);
            hasher.write_usize(part.len());
        }
        hasher.finish()
    }

    /// Moves a program out, if it is there and still good for the catalog.
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

    /// Puts a program (back) in.
    pub fn put(&mut self, key: ProgramKey, entry: Entry) {
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        let place = self.place(key);
        self.places[place] = Some((key, entry));
    }

    /// Forgets programs that were made against another catalog.
    pub fn let_go(&mut self, catalog_version: u64) {
        for place in &mut self.places {
            place.take_if(|(_, entry)| entry.program.catalog_version != catalog_version);
        }
        self.templates.let_go(catalog_version);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.places.clear();
        self.templates.clear();
    }

    fn place(&self, key: ProgramKey) -> usize {
        let hash = match key {
            ProgramKey::Text(hash) => hash,
            ProgramKey::Procedure(id) => u64::from(id.unsigned_abs()).wrapping_mul(0x9E37_79B9),
        };
        // The mask keeps it below PLACES.
        usize::try_from(hash & (PLACES as u64 - 1)).unwrap_or(0)
    }
}

/// Empties the plan caches of the instance and of this session, with the statistics of what they had.
pub fn free_programs(session: &mut SessionState) {
    session.instance.programs.clear();
    session.instance.templates.clear();
    session.instance.statistics.evict_all();
    session.programs.clear();
}
