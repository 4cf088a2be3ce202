//! `Write`: one write of a transaction, taken back when it rolls back and stamped when it commits.

use std::ptr::NonNull;

use crate::durability::{Announced, EpochMark, logged_bytes};
use crate::primitives::{Guard, Ordering, Timestamp};
use crate::store::{Shared, Table, content_below, remove_dead_keys};
use crate::version::{RowHead, Version};

/// The kind of a write; `Lock` is a claim without a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    Insert,
    Update,
    Delete,
    Lock,
}

/// One write of a transaction.
pub(crate) struct Write {
    table: *const Table,
    head: *const RowHead,
    version: NonNull<Version>,
    pub(crate) kind: WriteKind,
}

impl Write {
    #[inline]
    pub(crate) fn new(
        table: &Table,
        head: &RowHead,
        version: NonNull<Version>,
        kind: WriteKind,
    ) -> Self {
        Self { table, head, version, kind }
    }

    fn table(&self) -> &Table {
        // SAFETY: a dropped table stays until every transaction that began before has ended.
        unsafe { &*self.table }
    }

    pub(crate) fn is_to(&self, table: &Table) -> bool {
        // Compared by id, so that a write to an internal table counts as one to its table.
        self.table().id() == table.id()
    }

    fn head(&self) -> &RowHead {
        // SAFETY: heads live as long as their table.
        unsafe { &*self.head }
    }

    fn version(&self) -> &Version {
        // SAFETY: an own version stays in the chain until the transaction ends or undoes it.
        unsafe { self.version.as_ref() }
    }

    /// Takes the version out of the chain again. It is the newest: no other transaction may link
    /// above it, and later own versions have been undone before.
    pub(crate) fn undo(&self, guard: &Guard) {
        let (table, head) = (self.table(), self.head());
        unlink_top(table, head, self.version, guard);
        if self.kind == WriteKind::Insert {
            table.shared.garbage.note_head(&table.shared, table, head);
        }
    }

    /// Removes a claim that has no own version above it.
    pub(crate) fn release_lock(&self, guard: &Guard) {
        if self.kind != WriteKind::Lock {
            return;
        }
        let next = self.version().next.load(Ordering::Acquire);
        if self.head().replace_latest(self.version.as_ptr(), next) {
            self.table().release_version(self.version, guard);
        }
        // Else it is below a newer version, stamped as committed: the collector frees it.
    }

    /// Returns whether the write is one of a logged table.
    pub(crate) fn is_logged(&self) -> bool {
        self.kind != WriteKind::Lock && self.table().log().is_some()
    }

    /// Returns about how many bytes the write has in the log, at most; 0 if it is not logged.
    pub(crate) fn logged_bytes(&self) -> u64 {
        if self.is_logged() { logged_bytes(self.version().image()) } else { 0 }
    }

    /// Notes for checkpoints that the row changes; returns whether its table is logged. The caller is
    /// pinned until the change is visible.
    pub(crate) fn note_range(&self) -> bool {
        let is_logged = self.is_logged();
        if is_logged {
            self.table().note_range(self.head());
        }
        is_logged
    }

    /// Writes the change to the log, while the transaction's slot keeps the version below.
    pub(crate) fn write_change(&self, announced: &Announced<'_>, guard: &Guard) {
        let (head, version) = (self.head(), self.version());
        self.table().write_change(announced, (head, version), content_below(version, guard));
    }

    /// Stamps the version with the commit time, counts the row and notes the garbage.
    pub(crate) fn finish(
        &self,
        shared: &Shared,
        (ts, mark): (Timestamp, EpochMark),
        _guard: &Guard,
    ) {
        self.version().set_mark(mark);
        self.version().stamp(ts);
        let table = self.table();
        match self.kind {
            WriteKind::Insert => table.count_rows(1),
            WriteKind::Delete => table.count_rows(-1),
            WriteKind::Update | WriteKind::Lock => {}
        }
        match self.kind {
            WriteKind::Update | WriteKind::Delete => {
                shared.garbage.note_row(shared, table, self.head(), ts);
            }
            WriteKind::Insert | WriteKind::Lock => {}
        }
    }
}

/// Unlinks an own newest version, and removes from the indexes the keys that only it had.
pub(crate) fn unlink_top(table: &Table, head: &RowHead, version: NonNull<Version>, guard: &Guard) {
    // SAFETY: linked by this transaction and not undone yet.
    let own = unsafe { version.as_ref() };
    let next = own.next.load(Ordering::Acquire);
    let unlinked = head.replace_latest(version.as_ptr(), next);
    assert!(unlinked, "nobody links above an undecided version");
    if next.is_null() || head.have_keys_changed() {
        remove_dead_keys(table, head, own, guard);
    }
    table.release_version(version, guard);
}
