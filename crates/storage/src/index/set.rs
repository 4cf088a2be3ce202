//! `IndexSet`: the indexes of a table, replaced as a whole when one is added or dropped.

use std::sync::Arc;

use super::Index;
use crate::gate::Gate;

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
}

impl IndexSet {
    /// Returns the set with one more.
    pub(crate) fn with(&self, index: Arc<Index>, trust: Trust) -> Self {
        let mut list = self.list.clone();
        list.push(index);
        let trust = if self.trust == Trust::Nobody { Trust::Nobody } else { trust };
        Self { list, trust, gate: self.gate }
    }

    /// Returns the set without one.
    pub(crate) fn without(&self, index: &Index) -> Self {
        let list = self.list.iter().filter(|other| !std::ptr::eq(&raw const ***other, index));
        Self { list: list.cloned().collect(), trust: self.trust, gate: self.gate }
    }

    /// Returns the set behind another gate.
    pub(crate) fn behind(&self, gate: Gate) -> Self {
        Self { list: self.list.clone(), trust: self.trust, gate }
    }
}
