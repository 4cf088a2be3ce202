//! `Map`: numbers with names, as `sys.dm_xe_map_values` shows them. Maps of this layer are computed
//! from its registries, so that they cannot lag behind.

use super::package::{PACKAGE0, Package, SQLOS};
use crate::lock::{LatchClass, SpinClass};
use crate::memory::MemoryClerk;
use crate::sched::StallKind;
use crate::wait::WaitType;

/// Names of the values of a field.
#[derive(Debug)]
pub struct Map {
    /// The package it belongs to.
    pub package: &'static Package,
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub description: &'static str,
    /// Its values.
    pub entries: Entries,
}

/// Where the values of a map come from.
#[derive(Clone, Copy, Debug)]
pub enum Entries {
    /// A list: keys and names.
    Listed(&'static [(u32, &'static str)]),
    /// A registry of so many members: the key and name of each.
    Registry(usize, fn(usize) -> (u32, &'static str)),
}

impl Map {
    /// Lists the values of a map.
    #[must_use]
    pub const fn listed(
        package: &'static Package,
        name: &'static str,
        description: &'static str,
        entries: &'static [(u32, &'static str)],
    ) -> Self {
        Self { package, name, description, entries: Entries::Listed(entries) }
    }

    const fn registry(
        package: &'static Package,
        name: &'static str,
        description: &'static str,
        count: usize,
        entry: fn(usize) -> (u32, &'static str),
    ) -> Self {
        Self { package, name, description, entries: Entries::Registry(count, entry) }
    }

    /// Keys and names, in the order of the registry.
    pub fn values(&self) -> impl Iterator<Item = (u32, &'static str)> {
        let count = match self.entries {
            Entries::Listed(list) => list.len(),
            Entries::Registry(count, _) => count,
        };
        let entries = self.entries;
        (0..count).map(move |at| match entries {
            Entries::Listed(list) => list[at],
            Entries::Registry(_, entry) => entry(at),
        })
    }

    /// The name of a key.
    #[must_use]
    pub fn text_of(&self, key: u32) -> Option<&'static str> {
        self.values().find(|(other, _)| *other == key).map(|(_, text)| text)
    }

    /// The key of a name, in whatever case.
    #[must_use]
    pub fn key_of(&self, text: &str) -> Option<u32> {
        self.values().find(|(_, other)| other.eq_ignore_ascii_case(text)).map(|(key, _)| key)
    }
}

fn key(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The key of the first class; and of LOCK_HASH, which scripts ask for by its number in new builds.
const SPIN_KEY_FIRST: u32 = 61;
const SPIN_KEY_LOCK_HASH: u32 = 187;

/// The key of a class of spinlocks: the published scripts find CMED_HASH_SET at 61, and LOCK_HASH
/// at 187.
#[must_use]
pub fn spinlock_key(class: SpinClass) -> u32 {
    match class {
        SpinClass::LockHash => SPIN_KEY_LOCK_HASH,
        other => SPIN_KEY_FIRST + key(other.index()),
    }
}

fn spinlock(at: usize) -> (u32, &'static str) {
    let class = SpinClass::ALL[at];
    (spinlock_key(class), class.name())
}

/// The key of a wait type.
#[must_use]
pub fn wait_key(wait_type: WaitType) -> u32 {
    key(wait_type.index())
}

fn wait(at: usize) -> (u32, &'static str) {
    (key(at), WaitType::ALL[at].name())
}

/// The key of a class of latches.
#[must_use]
pub fn latch_key(class: LatchClass) -> u32 {
    key(class.index())
}

fn latch(at: usize) -> (u32, &'static str) {
    (key(at), LatchClass::ALL[at].name())
}

fn clerk(at: usize) -> (u32, &'static str) {
    (key(at), MemoryClerk::ALL[at].name())
}

/// Classes of spinlocks.
pub static SPINLOCK_TYPES: Map =
    Map::registry(&SQLOS, "spinlock_types", "Types of spinlocks", SpinClass::COUNT, spinlock);

/// The same under the name that newer builds use.
pub static SQLSERVR_SPINLOCK_TYPES: Map = Map::registry(
    &SQLOS,
    "sqlservr_spinlock_types",
    "Types of spinlocks",
    SpinClass::COUNT,
    spinlock,
);

/// Wait types.
pub static WAIT_TYPES: Map =
    Map::registry(&SQLOS, "wait_types", "Wait types", WaitType::COUNT, wait);

/// Classes of latches.
pub static LATCH_CLASS: Map =
    Map::registry(&SQLOS, "latch_class", "Classes of latches", LatchClass::COUNT, latch);

/// Memory clerks.
pub static MEMORY_CLERK_TYPES: Map =
    Map::registry(&SQLOS, "memory_clerk_types", "Memory clerks", MemoryClerk::COUNT, clerk);

/// Modes of latches.
pub static LATCH_MODE: Map = Map::listed(
    &SQLOS,
    "latch_mode",
    "Modes of latches",
    &[(0, "NL"), (1, "KP"), (2, "SH"), (3, "UP"), (4, "EX"), (5, "DT")],
);

/// Whether something begins or ends.
pub static EVENT_OPCODE: Map = Map::listed(
    &PACKAGE0,
    "event_opcode",
    "Whether something begins or ends",
    &[(0, "Begin"), (1, "End")],
);

fn stall(at: usize) -> (u32, &'static str) {
    (key(at), StallKind::ALL[at].name())
}

/// What the scheduler monitor has found.
pub static STALL_KIND: Map = Map::registry(
    &SQLOS,
    "scheduler_monitor_finding",
    "What the scheduler monitor has found",
    StallKind::COUNT,
    stall,
);

/// The maps of this layer.
pub static MAPS: &[&Map] = &[
    &SPINLOCK_TYPES,
    &SQLSERVR_SPINLOCK_TYPES,
    &WAIT_TYPES,
    &LATCH_CLASS,
    &LATCH_MODE,
    &MEMORY_CLERK_TYPES,
    &EVENT_OPCODE,
    &STALL_KIND,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_scripts_find_the_spinlock_types_they_ask_for() {
        assert_eq!(SPINLOCK_TYPES.text_of(61), Some("CMED_HASH_SET"));
        assert_eq!(SQLSERVR_SPINLOCK_TYPES.text_of(187), Some("LOCK_HASH"));
        assert_eq!(SPINLOCK_TYPES.key_of("cmed_hash_set"), Some(61));
    }

    #[test]
    fn keys_and_names_are_unique() {
        for map in MAPS {
            let all: Vec<_> = map.values().collect();
            for (at, (key, text)) in all.iter().enumerate() {
                assert!(all[..at].iter().all(|(k, t)| k != key && t != text), "{}", map.name);
                assert_eq!(map.key_of(text), Some(*key));
            }
        }
    }
}
