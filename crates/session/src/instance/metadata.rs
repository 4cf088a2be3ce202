//! `MetadataCache`: shared tables in which statements and logins look up metadata under a lock, in
//! the lock modes that measure the cost of that. The default mode has no such tables.
//!
//! A server that keeps its metadata in shared tables accesses them with every statement. Under an
//! exclusive spinlock, 144 CPUs waited for it (CMED_HASH_SET); a reader/writer spinlock of one word
//! removed the exclusion, and a distributed one removes the shared writes as well. Here the same
//! lookup is done in the modes of `--lock-mode`: each statement finds the version of the catalog
//! that its plan was made for, and each login finds its name.

use std::collections::HashMap;
use std::hash::Hash;

use sos::lock::{RwMode, RwSpin, SpinClass};

/// How statements look up metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockMode {
    /// No lock: an immutable snapshot of the catalog, and the plan in the session's own program.
    #[default]
    Snapshot,
    /// A table under a spinlock that readers do not share.
    Exclusive,
    /// A table under a reader/writer spinlock of one word.
    ReadWrite,
    /// A table under a reader/writer spinlock whose readers write no shared line.
    Distributed,
}

impl LockMode {
    /// The modes by their names on the command line.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("snapshot", Self::Snapshot),
        ("exclusive", Self::Exclusive),
        ("rw", Self::ReadWrite),
        ("distributed", Self::Distributed),
    ];

    /// Returns the mode with a name, ignoring case.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, mode)| *mode)
    }
}

/// Maximum number of entries of a table; a full table is emptied, since ad hoc statements are not
/// repeated.
const ENTRIES_MAX: usize = if cfg!(test) { 4 } else { 1 << 16 };

/// A table under a lock: catalog versions by key.
struct Table<K> {
    versions: RwSpin<HashMap<K, u64, foldhash::fast::RandomState>>,
}

impl<K: Hash + Eq> Table<K> {
    fn new(class: SpinClass, mode: RwMode) -> Self {
        Self { versions: RwSpin::new(class, mode, HashMap::default()) }
    }

    /// Finds an entry; one that is missing or belongs to another catalog version is created.
    #[inline]
    fn find(&self, key: K, catalog_version: u64) -> Found {
        if self.versions.read().get(&key) == Some(&catalog_version) {
            return Found::Present;
        }
        let mut versions = self.versions.write();
        if versions.len() >= ENTRIES_MAX {
            versions.clear();
        }
        versions.insert(key, catalog_version);
        Found::Made
    }
}

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Found under the lock in shared mode.
    Present,
    /// Missing or outdated; it was created.
    Made,
}

/// The metadata tables of an instance.
pub struct MetadataCache {
    /// Statements by program and line.
    statements: Table<(u64, u32)>,
    logins: Table<String>,
}

impl MetadataCache {
    /// Returns the tables of a mode; `None` for the mode without tables.
    pub fn of_mode(mode: LockMode) -> Option<Self> {
        let (form, class) = match mode {
            LockMode::Snapshot => return None,
            LockMode::Exclusive => (RwMode::Exclusive, SpinClass::CmedHashSet),
            LockMode::ReadWrite => (RwMode::OneWord, SpinClass::LockRwCmedHashSet),
            LockMode::Distributed => (RwMode::Distributed, SpinClass::LockRwCmedHashSet),
        };
        let logins = Table::new(SpinClass::LockRwSecurityCache, form);
        Some(Self { statements: Table::new(class, form), logins })
    }

    /// Looks up a statement in its table.
    pub fn statement(&self, program: u64, line: u32, catalog_version: u64) -> Found {
        self.statements.find((program, line), catalog_version)
    }

    /// Looks up a login in its table.
    pub fn login(&self, name: &str, catalog_version: u64) -> Found {
        self.logins.find(name.to_ascii_lowercase(), catalog_version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> impl Iterator<Item = MetadataCache> {
        LockMode::NAMES.iter().filter_map(|(_, mode)| MetadataCache::of_mode(*mode))
    }

    #[test]
    fn default_mode_has_no_table() {
        assert!(MetadataCache::of_mode(LockMode::default()).is_none());
        assert_eq!(tables().count(), 3);
    }

    #[test]
    fn entry_is_made_once_for_each_version_of_the_catalog() {
        for cache in tables() {
            assert_eq!(cache.statement(7, 1, 10), Found::Made);
            assert_eq!(cache.statement(7, 1, 10), Found::Present);
            assert_eq!(cache.statement(7, 2, 10), Found::Made);
            assert_eq!(cache.statement(7, 1, 11), Found::Made);
            assert_eq!(cache.login("SA", 1), Found::Made);
            assert_eq!(cache.login("sa", 1), Found::Present);
        }
    }

    #[test]
    fn full_table_is_emptied() {
        for cache in tables() {
            (0..4).for_each(|program| assert_eq!(cache.statement(program, 1, 1), Found::Made));
            assert_eq!(cache.statement(0, 1, 1), Found::Present);
            assert_eq!(cache.statement(4, 1, 1), Found::Made);
            assert_eq!(cache.statement(0, 1, 1), Found::Made);
        }
    }

    #[test]
    fn modes_have_names_in_any_case() {
        assert_eq!(LockMode::of_name("Distributed"), Some(LockMode::Distributed));
        assert_eq!(LockMode::of_name("rw"), Some(LockMode::ReadWrite));
        assert_eq!(LockMode::of_name("none"), None);
    }
}
