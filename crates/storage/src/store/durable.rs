//! What a durable table adds to its writes and reads: changes for the log, and noted epochs.

use std::sync::Arc;

use types::row::RowLayout;

use crate::durability::{
    Announced, ChangeKind, CommitLog, EpochMark, Lost, RowChange, note, note_seen,
};
use crate::primitives::{Guard, Ordering};
use crate::spec::{Result, RowImage};
use crate::store::{Shared, Store, Table};
use crate::version::{RowHead, Version, VersionKind, versions};

/// The durable side of a table.
pub(crate) struct Durable {
    /// `None` in an internal table, whose rows have no layout.
    pub(crate) layout: Option<Arc<RowLayout>>,
    /// 0 for the rows of the table itself, else the number of the internal table.
    pub(crate) part: u8,
}

impl Store {
    /// Sets the log of the store, once, before anything is read or written that a restart must
    /// find again. Tables that were restored before have nothing that is not durable.
    ///
    /// # Panics
    /// If the store has a log.
    pub fn set_log(&self, log: Arc<dyn CommitLog>) {
        assert!(self.shared().log.set(log).is_ok(), "a store has one log");
    }

    /// Notes that the log has failed when this epoch was the last durable one. From now on readers do
    /// not see what is not durable, and writes of durable tables fail.
    pub fn lose(&self, durable: u64) {
        // Release: pairs with the Acquire in `lost`.
        self.shared().lost.store(Lost::word_after(durable), Ordering::Release);
    }

    /// Returns the log of the store.
    pub(crate) fn log(&self) -> Option<&dyn CommitLog> {
        self.shared().log.get().map(Arc::as_ref)
    }
}

impl Shared {
    /// Returns what the failure of the log has left undecided.
    #[inline]
    pub(crate) fn lost(&self) -> Lost {
        Lost::from_word(self.lost.load(Ordering::Acquire))
    }
}

impl Table {
    /// Returns which versions of this table readers pass over.
    #[inline]
    pub(crate) fn lost(&self) -> Lost {
        if self.durable.is_some() { self.shared.lost() } else { Lost::NOTHING }
    }

    /// Notes what is visible now, unless the caller has seen what is durable only.
    #[inline]
    pub(crate) fn note_barrier_of(&self, lost: Lost) {
        if lost.is_nothing() {
            self.note_barrier();
        }
    }

    /// Returns the log, if changes of this table are written to it.
    #[inline]
    pub(crate) fn log(&self) -> Option<&dyn CommitLog> {
        self.durable.as_ref()?;
        self.shared.log.get().map(Arc::as_ref)
    }

    /// Waits until an autocommit write of this many bytes may be logged, if it is.
    #[inline]
    pub(crate) fn admit(&self, bytes: u64) -> Result<()> {
        self.log().map_or(Ok(()), |log| log.admit(bytes))
    }

    /// Announces an autocommit write of a row, if it is logged. The caller is pinned until the write
    /// is visible.
    #[inline]
    pub(crate) fn announce(&self, head: &RowHead, is_lazy: bool) -> Option<Announced<'_>> {
        let log = self.log()?;
        self.note_range(head);
        Some(Announced::new(log, &self.shared.clock, is_lazy))
    }

    /// Notes for checkpoints that a row changes. The caller is pinned until the change is visible.
    pub(crate) fn note_range(&self, head: &RowHead) {
        self.heap.note_change(head, &self.shared.generation);
    }

    /// Writes the change that a committed version made to the log.
    pub(crate) fn write_change(
        &self,
        announced: &Announced<'_>,
        (head, version): (&RowHead, &Version),
        before: Option<RowImage<'_>>,
    ) {
        let Some(durable) = self.durable.as_deref() else { return };
        let after = match version.kind {
            VersionKind::Data => Some(version.image()),
            VersionKind::Tombstone | VersionKind::Moved => None,
            VersionKind::Lock => return,
        };
        let kind = match (before, after) {
            (None, _) => ChangeKind::Insert,
            (Some(_), Some(_)) => ChangeKind::Update,
            (Some(_), None) => ChangeKind::Delete,
        };
        announced.write(&RowChange {
            table: self.id(),
            part: durable.part,
            row: head.id(),
            layout: durable.layout.as_deref(),
            kind,
            before,
            after,
        });
    }

    /// Notes the epoch of a version that was read.
    #[inline]
    pub(crate) fn note_version(&self, version: &Version) {
        let mark = version.mark();
        if mark != EpochMark::NONE
            && let Some(log) = self.shared.log.get()
        {
            note_seen(log.as_ref(), mark);
        }
    }

    /// Notes what is visible now, for a read whose result depends on more than one version.
    #[inline]
    pub(crate) fn note_barrier(&self) {
        if let Some(log) = self.log() {
            note(log.barrier());
        }
    }
}

/// Returns the row as it was before a version; `None` if it was not there. The caller keeps the
/// version below.
pub(crate) fn content_below<'g>(version: &'g Version, guard: &'g Guard) -> Option<RowImage<'g>> {
    // Acquire: pairs with the Release that linked the version.
    let below = versions(version.next.load(Ordering::Acquire), guard);
    let content = below.into_iter().find(|version| version.kind != VersionKind::Lock)?;
    (content.kind == VersionKind::Data).then(|| content.image())
}
