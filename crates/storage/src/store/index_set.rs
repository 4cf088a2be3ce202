//! `IndexSet`: the indexes of a table, replaced as a whole when one is added or dropped.

use std::sync::Arc;

use crate::index::Index;
use crate::row_group::column_index::ColumnIndex;
use crate::store::gate::Gate;
use crate::version::head::RowHead;

/// Whose word counts that an update changes no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The plan's.
    Plan,
    /// Nobody's: an index has been added while there were rows, and a statement that was planned
    /// before may still run. Storage compares the keys itself.
    Nobody,
}

/// The indexes of a table at one time.
pub(crate) struct IndexSet {
    pub(crate) list: Vec<Arc<Index>>,
    pub(crate) trust: Trust,
    /// Who may write.
    pub(crate) gate: Gate,
    /// Whether writers look for holds (`hold/mod.rs`).
    pub(crate) has_holds: bool,
    /// The columnstore index beside the rows, if there is one.
    pub(crate) columns: Option<Arc<ColumnIndex>>,
}

impl IndexSet {
    /// Returns the set with one more.
    pub(crate) fn with(&self, index: Arc<Index>, trust: Trust) -> Self {
        let mut list = self.list.clone();
        list.push(index);
        let trust = if self.trust == Trust::Nobody { Trust::Nobody } else { trust };
        Self { list, trust, ..self.copy() }
    }

    /// Returns the set without one.
    pub(crate) fn without(&self, index: &Index) -> Self {
        let list = self.list.iter().filter(|other| !std::ptr::eq(&raw const ***other, index));
        Self { list: list.cloned().collect(), ..self.copy() }
    }

    /// Returns the set behind another gate.
    pub(crate) fn behind(&self, gate: Gate) -> Self {
        Self { gate, ..self.copy() }
    }

    /// Returns the set beside another columnstore index.
    pub(crate) fn beside(&self, columns: Option<Arc<ColumnIndex>>) -> Self {
        Self { columns, ..self.copy() }
    }

    /// Returns the set whose writers look for holds, or do not.
    pub(crate) fn with_holds(&self, has_holds: bool) -> Self {
        Self { has_holds, ..self.copy() }
    }

    fn copy(&self) -> Self {
        let (list, columns) = (self.list.clone(), self.columns.clone());
        let Self { trust, gate, has_holds, .. } = *self;
        Self { list, trust, gate, has_holds, columns }
    }

    /// Notes that a row is about to get another version: before that is linked, and under the pin under which
    /// the set was read.
    #[inline]
    pub(crate) fn note_change(&self, head: &RowHead) {
        if let Some(columns) = &self.columns {
            columns.note_change(head);
        }
    }
}
