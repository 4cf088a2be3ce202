//! Adding and dropping an index of a table that other sessions read and write.
//!
//! The new index joins the set first, so a writer that links a version from then on adds its keys:
//! writers read the set after they have linked. Then the existing versions get their entries;
//! adding an entry that exists changes nothing. No statement uses the index before `add_index`
//! returns.

use std::sync::Arc;

use crate::index::{Index, has_key, with_buffer};
use crate::primitives::{pin, yield_if_quantum_due};
use crate::spec::{Error, IndexId, IndexSpec, Result, RowImage};
use crate::store::{Asker, KeyTaken, Table, Trust, check_free};
use crate::transaction::{Patience, wait_for};
use crate::version::{HeapPosition, Owner, RowHead, VersionKind, owner, versions};

/// Rows that are indexed per step of the walk over the heap.
const BATCH: usize = 64;

impl Table {
    /// Builds an index over the existing rows, while other sessions read and write. Fails with
    /// [`Error::Unique`] if two live rows have the same key; then there is no index.
    pub fn add_index(&self, spec: IndexSpec) -> Result<()> {
        let index = Arc::new(Index::new(spec));
        let mut position = HeapPosition::default();
        let mut heads = Vec::new();
        self.heap.walk(&mut position, &mut heads, 1);
        let trust = if heads.is_empty() { Trust::Plan } else { Trust::Nobody };
        self.change_indexes(|set| set.with(Arc::clone(&index), trust));
        let built = self.fill_index(&index);
        if built.is_err() {
            self.remove_index(&index);
        }
        built
    }

    fn fill_index(&self, index: &Index) -> Result<()> {
        let mut position = HeapPosition::default();
        let mut heads = Vec::new();
        loop {
            heads.clear();
            self.heap.walk(&mut position, &mut heads, BATCH);
            if heads.is_empty() {
                return Ok(());
            }
            yield_if_quantum_due();
            for head in &heads {
                while let Err(taken) = self.index_row(index, head) {
                    match taken {
                        KeyTaken::Duplicate { index, key } => {
                            return Err(Error::Unique { table: self.id(), index, key });
                        }
                        KeyTaken::Stale => unreachable!("no snapshot was asked for"),
                        KeyTaken::Busy { blocker, .. } => {
                            wait_for(&self.shared.locks, None, blocker, &Patience::default())?;
                        }
                    }
                }
            }
        }
    }

    /// Adds the entries of a row's versions. The key of the newest one must be free.
    fn index_row(&self, index: &Index, head: &RowHead) -> Result<(), KeyTaken> {
        let guard = pin();
        let clock = &self.shared.clock;
        let mut newer: Option<RowImage<'_>> = None;
        let mut is_newest = true;
        for version in versions(head.latest(), &guard) {
            let whose = owner(version, std::ptr::null(), clock, &guard);
            if version.kind == VersionKind::Data {
                let image = version.image();
                with_buffer(|key| {
                    index.extractor.key(image, key);
                    if newer.is_some_and(|newer| !has_key(index, newer, key)) {
                        head.note_keys_changed();
                    }
                    index.add(
                        (key, head),
                        index.part_of(version),
                        &guard,
                        |other| match is_newest {
                            // Asked as a statement without a transaction: no version is its own.
                            true => {
                                check_free((index, key), other, Asker::STATEMENT, clock, &guard)
                            }
                            false => Ok(()),
                        },
                        || {},
                    )
                })?;
                newer = Some(image);
            }
            // Versions below the newest committed one are history: their keys need not be free.
            let is_state = version.kind != VersionKind::Lock;
            is_newest = is_newest && !(is_state && matches!(whose, Owner::Committed(_)));
        }
        Ok(())
    }

    /// Removes an index; returns `false` if the table has none with this id.
    pub fn drop_index(&self, index: IndexId) -> bool {
        let guard = pin();
        let found = self.indexes(&guard).iter().find(|other| other.id == index);
        found.inspect(|index| self.remove_index(index)).is_some()
    }

    fn remove_index(&self, index: &Arc<Index>) {
        self.change_indexes(|set| set.without(index));
        self.uses().forget(index.id);
        // Transactions that began before may still scan it.
        self.shared.garbage.note_index(&self.shared, Arc::clone(index));
    }
}
