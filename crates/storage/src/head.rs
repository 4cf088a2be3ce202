//! `RowHead`: the fixed place of a logical row.

use crate::row::RowId;

/// The head of a row's chain of versions.
pub(crate) struct RowHead {
    id: u64,
}

impl RowHead {
    pub(crate) fn id(&self) -> RowId {
        RowId(self.id)
    }
}
