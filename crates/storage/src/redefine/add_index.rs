//! Adding and dropping an index of a table that other sessions read and write.
//!
//! The new index joins the set first, so a writer that links a version from then on adds its keys:
//! writers read the set after they have linked. Then the existing versions get their entries;
//! adding an entry that exists changes nothing. No statement uses the index before `add_index`
//! returns.
//!
//! In a transaction ([`Transaction::add_index`]) its own rows count as rows, not as those of another transaction that
//! would have to end first.

use std::sync::Arc;

use crate::index::{Index, has_key, with_buffer};
use crate::primitives::{pin, yield_if_quantum_due};
use crate::spec::{Error, IndexId, IndexSpec, Result, RowImage};
use crate::store::{Asker, KeyTaken, Table, Trust, check_free};
use crate::transaction::{Patience, Transaction, wait_for};
use crate::version::{Blocker, HeapPosition, Owner, RowHead, VersionKind, owner, versions};

/// Rows that are indexed per step of the walk over the heap.
const BATCH: usize = 64;

/// Waits until a transaction that is in the way has ended.
type Wait<'a> = dyn Fn(Blocker) -> Result<()> + 'a;

impl Transaction {
    /// Builds an index as [`Table::add_index`] does, in this transaction: its own rows are in the way of each other
    /// only if they have the same key, and its waits for others end as those for rows do.
    pub fn add_index(&self, table: &Table, spec: IndexSpec) -> Result<()> {
        let asker = Asker { me: self.state_address(), snapshot: None };
        table.build_index(spec, asker, &|blocker| self.wait_for(blocker))
    }
}

impl Table {
    /// Builds an index over the existing rows, while other sessions read and write. Fails with
    /// [`Error::Unique`] if two live rows have the same key; then there is no index.
    pub fn add_index(&self, spec: IndexSpec) -> Result<()> {
        let wait = |blocker| wait_for(&self.shared.locks, None, blocker, &Patience::default());
        self.build_index(spec, Asker::STATEMENT, &wait)
    }

    fn build_index(&self, spec: IndexSpec, asker: Asker, wait: &Wait<'_>) -> Result<()> {
        let index = Arc::new(Index::new(spec));
        let mut position = HeapPosition::default();
        let mut heads = Vec::new();
        self.heap.walk(&mut position, &mut heads, 1);
        let trust = if heads.is_empty() { Trust::Plan } else { Trust::Nobody };
        self.change_indexes(|set| set.with(Arc::clone(&index), trust));
        let built = self.fill_index(&index, asker, wait);
        if built.is_err() {
            self.remove_index(&index);
        }
        built
    }

    fn fill_index(&self, index: &Index, asker: Asker, wait: &Wait<'_>) -> Result<()> {
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
                while let Err(taken) = self.index_row(index, head, asker) {
                    match taken {
                        KeyTaken::Duplicate { index, key } => {
                            return Err(Error::Unique { table: self.id(), index, key });
                        }
                        KeyTaken::Stale => unreachable!("no snapshot was asked for"),
                        KeyTaken::Busy { blocker, .. } => wait(blocker)?,
                    }
                }
            }
        }
    }

    /// Adds the entries of a row's versions. The key of the newest one must be free.
    fn index_row(&self, index: &Index, head: &RowHead, asker: Asker) -> Result<(), KeyTaken> {
        let guard = pin();
        let clock = &self.shared.clock;
        let mut newer: Option<RowImage<'_>> = None;
        let mut is_newest = true;
        for version in versions(head.latest(), &guard) {
            let whose = owner(version, asker.me, clock, &guard);
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
                            true => check_free((index, key), other, asker, clock, &guard),
                            false => Ok(()),
                        },
                        || {},
                    )
                })?;
                newer = Some(image);
            }
            // Versions below the newest one that is committed or the asker's are history: their keys need not be
            // free.
            let is_state = version.kind != VersionKind::Lock;
            let is_settled = matches!(whose, Owner::Own | Owner::Committed(_));
            is_newest = is_newest && !(is_state && is_settled);
        }
        Ok(())
    }

    /// Removes an index; returns `false` if the table has none with this id.
    pub fn drop_index(&self, index: IndexId) -> bool {
        let guard = pin();
        self.find_index(index, &guard).inspect(|index| self.remove_index(index)).is_some()
    }

    pub(super) fn remove_index(&self, index: &Arc<Index>) {
        self.change_indexes(|set| set.without(index));
        self.uses().forget(index.id);
        // Transactions that began before may still scan it.
        self.shared.garbage.note_index(&self.shared, Arc::clone(index));
    }
}
