//! `Map`: names for the numbers of a field, as `sys.dm_xe_map_values` shows them. Maps of this
//! crate are computed from its registries, so that they are always complete.

use super::package::{PACKAGE0, Package, SQLOS};
use crate::lock::{LatchClass, SpinClass};
use crate::memory::MemoryClerk;
use crate::sched::StallKind;
use crate::wait::WaitType;

/// Names of the values of a field.
#[derive(Debug)]
pub struct Map {
    /// The package that it belongs to.
    pub package: &'static Package,
    /// The name within its package.
    pub name: &'static str,
    /// A description for `sys.dm_xe_objects`.
    pub description: &'static str,
    /// The keys and names.
    pub entries: Entries,
}

/// Where the keys and names of a map come from.
#[derive(Clone, Copy, Debug)]
pub enum Entries {
    /// A list of keys and names.
    Listed(&'static [(u32, &'static str)]),
    /// A registry: the number of members, and a function from the index to key and name.
    Registry(usize, fn(usize) -> (u32, &'static str)),
}

impl Map {
    /// Declares a map with a list of keys and names.
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

    /// The keys and names, in the order of the registry.
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

    /// The key of a name, ignoring case.
    #[must_use]
    pub fn key_of(&self, text: &str) -> Option<u32> {
        self.values().find(|(_, other)| other.eq_ignore_ascii_case(text)).map(|(key, _)| key)
    }
}

fn key(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The key of the first class, and that of LOCK_HASH, which scripts use by its number in newer
/// builds.
const SPIN_KEY_FIRST: u32 = 61;
const SPIN_KEY_LOCK_HASH: u32 = 187;

/// The key of a class of spinlocks. Published scripts expect CMED_HASH_SET at 61, and LOCK_HASH at
/// 187.
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

/// `spinlock_types`: the classes of spinlocks.
pub static SPINLOCK_TYPES: Map =
    Map::registry(&SQLOS, "spinlock_types", "Types of spinlocks", SpinClass::COUNT, spinlock);

/// `sqlservr_spinlock_types`: the same map under the name in newer builds.
pub static SQLSERVR_SPINLOCK_TYPES: Map = Map::registry(
    &SQLOS,
    "sqlservr_spinlock_types",
    "Types of spinlocks",
    SpinClass::COUNT,
    spinlock,
);

/// `wait_types`: the wait types.
pub static WAIT_TYPES: Map =
    Map::registry(&SQLOS, "wait_types", "Wait types", WaitType::COUNT, wait);

/// `latch_class`: the classes of latches.
pub static LATCH_CLASS: Map =
    Map::registry(&SQLOS, "latch_class", "Classes of latches", LatchClass::COUNT, latch);

/// `memory_clerk_types`: the memory clerks.
pub static MEMORY_CLERK_TYPES: Map =
    Map::registry(&SQLOS, "memory_clerk_types", "Memory clerks", MemoryClerk::COUNT, clerk);

/// `latch_mode`: the modes of latches.
pub static LATCH_MODE: Map = Map::listed(
    &SQLOS,
    "latch_mode",
    "Modes of latches",
    &[(0, "NL"), (1, "KP"), (2, "SH"), (3, "UP"), (4, "EX"), (5, "DT")],
);

/// `event_opcode`: whether a wait begins or ends.
pub static EVENT_OPCODE: Map = Map::listed(
    &PACKAGE0,
    "event_opcode",
    "Whether a wait begins or ends",
    &[(0, "Begin"), (1, "End")],
);

fn stall(at: usize) -> (u32, &'static str) {
    (key(at), StallKind::ALL[at].name())
}

/// The kinds of stalls that the scheduler monitor finds.
pub static STALL_KIND: Map = Map::registry(
    &SQLOS,
    "scheduler_monitor_finding",
    "Kinds of stalls that the scheduler monitor finds",
    StallKind::COUNT,
    stall,
);

/// The maps that this crate declares.
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
