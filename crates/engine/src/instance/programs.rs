//! Compiled programs of all sessions. Asked only when a session's own cache has none, so one lock is
//! enough; how often it is taken is a matter of new texts and new connections, not of requests.

use std::collections::HashMap;
use std::sync::Arc;

use sos::lock::{SpinClass, SpinLock};

use crate::plan::program::Program;
use crate::session::ProgramKey;

/// Most programs kept. Where there are more texts than that, they are ad hoc ones that never come back.
const PROGRAMS_MAX: usize = 4096;

/// Each with the text that it was made from.
type Programs = HashMap<ProgramKey, (Box<[u8]>, Arc<Program>), foldhash::fast::RandomState>;

/// Programs by key, each with the text that it was made from.
pub struct SharedPrograms {
    programs: SpinLock<Programs>,
}

impl Default for SharedPrograms {
    fn default() -> Self {
        Self { programs: SpinLock::new(SpinClass::PlanCache, HashMap::default()) }
    }
}

impl SharedPrograms {
    /// Finds a program made from this text against this catalog.
    pub(crate) fn get(
        &self,
        key: ProgramKey,
        catalog_version: u64,
        text: &[u8],
    ) -> Option<Arc<Program>> {
        let programs = self.programs.lock();
        let (found, program) = programs.get(&key)?;
        let current = program.catalog_version == catalog_version && program.is_cached();
        let good = **found == *text && current;
        good.then(|| Arc::clone(program))
    }

    /// Adds a program. When the cache is full, all of it goes: what is in use is in its session's own
    /// cache and comes back from there only by being compiled again once.
    pub(crate) fn put(&self, key: ProgramKey, text: &[u8], program: &Arc<Program>) {
        let mut programs = self.programs.lock();
        let dropped = if programs.len() >= PROGRAMS_MAX {
            std::mem::take(&mut *programs)
        } else {
            HashMap::default()
        };
        programs.insert(key, (text.into(), Arc::clone(program)));
        // Freed behind the lock.
        drop(programs);
        drop(dropped);
    }

    /// Returns how many programs are kept.
    pub fn count(&self) -> usize {
        self.programs.lock().len()
    }

    /// Forgets all (DBCC FREEPROCCACHE).
    pub fn clear(&self) {
        let dropped = std::mem::take(&mut *self.programs.lock());
        drop(dropped);
    }
}
