//! `IndexSet`: the indexes of a table and what else its writers must check, replaced as a whole.

use std::sync::Arc;

use crate::index::{Index, own_part};
use crate::row_group::ColumnIndex;
use crate::store::Gate;
use crate::version::{RowHead, Version};

/// Whether a plan can be trusted when it says that an update changes no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Yes: every plan knows all indexes.
    Plan,
    /// No: an index has been added to a table with rows, and a statement that was planned before
    /// may still run. Storage compares the keys itself.
    Nobody,
}

/// The indexes of a table at one moment.
pub(crate) struct IndexSet {
    pub(crate) list: Vec<Arc<Index>>,
    pub(crate) trust: Trust,
    /// Which sessions may write.
    pub(crate) gate: Gate,
    /// Whether writers must look for row locks (`row_lock/mod.rs`).
    pub(crate) has_holds: bool,
    /// The nonclustered columnstore index, if there is one.
    pub(crate) columns: Option<Arc<ColumnIndex>>,
}

impl IndexSet {
    /// Returns the set with one more index.
    pub(crate) fn with(&self, index: Arc<Index>, trust: Trust) -> Self {
        let mut list = self.list.clone();
        list.push(index);
        let trust = if self.trust == Trust::Nobody { Trust::Nobody } else { trust };
        Self { list, trust, ..self.copy() }
    }

    /// Returns the set without an index.
    pub(crate) fn without(&self, index: &Index) -> Self {
        let list = self.list.iter().filter(|other| !std::ptr::eq(&raw const ***other, index));
        Self { list: list.cloned().collect(), ..self.copy() }
    }

    /// Returns the set with writers that compare keys themselves: statements planned from now on do not know all
    /// indexes that get entries.
    pub(crate) fn distrusting(&self) -> Self {
        Self { trust: Trust::Nobody, ..self.copy() }
    }

    /// Returns the set with another gate.
    pub(crate) fn behind(&self, gate: Gate) -> Self {
        Self { gate, ..self.copy() }
    }

    /// Returns the set with another columnstore index.
    pub(crate) fn beside(&self, columns: Option<Arc<ColumnIndex>>) -> Self {
        Self { columns, ..self.copy() }
    }

    /// Returns the set with the flag that makes writers look for row locks.
    pub(crate) fn with_holds(&self, has_holds: bool) -> Self {
        Self { has_holds, ..self.copy() }
    }

    /// Returns the part of range indexes to which the calling thread adds the entries of a row.
    pub(crate) fn part(&self) -> u8 {
        if self.list.iter().any(|index| index.is_spread()) { own_part() } else { 0 }
    }

    /// Returns the part of a version that changes the key in the index `moved` alone, or in none. If
    /// it has entries of other indexes in common with the version before, these must be in one part.
    pub(crate) fn part_after(&self, moved: Option<&Index>, before: &Version) -> u8 {
        let is_alone = || self.list.iter().filter(|index| index.is_plain_range()).count() == 1;
        if moved.is_some() && is_alone() { self.part() } else { before.part() }
    }

    fn copy(&self) -> Self {
        let (list, columns) = (self.list.clone(), self.columns.clone());
        let Self { trust, gate, has_holds, .. } = *self;
        Self { list, trust, gate, has_holds, columns }
    }

    /// Clears the clean bit of a row in the columnstore index, before its new version is linked and
    /// under the pin under which the set was read.
    #[inline]
    pub(crate) fn note_change(&self, head: &RowHead) {
        if let Some(columns) = &self.columns {
            columns.note_change(head);
        }
    }
}
