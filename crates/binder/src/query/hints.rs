//! What table hints ask of a scan, and what its database says about row versions.

use crate::Binder;
use plan::query::{ScanHints, TableSource, Versions, Whole};
use tsql::ast::{TableHint, TableHintKind, TableHintWord};

/// Resolves table hints to what a scan does about them. Hints about the size of locks (ROWLOCK ..) change
/// nothing: there is one size.
pub fn scan_hints(hints: &[TableHint]) -> ScanHints {
    let mut resolved = ScanHints::default();
    for hint in hints {
        let TableHintKind::Word(word) = hint.kind else { continue };
        match word {
            TableHintWord::UpdLock => resolved.exclusive = true,
            TableHintWord::XLock => (resolved.exclusive, resolved.alone) = (true, true),
            TableHintWord::TabLockX => resolved.whole = Whole::Exclusive,
            TableHintWord::TabLock if resolved.whole == Whole::No => {
                resolved.whole = Whole::Shared;
            }
            TableHintWord::ReadCommittedLock => resolved.committed_lock = true,
            TableHintWord::ReadPast => resolved.read_past = true,
            TableHintWord::NoLock | TableHintWord::ReadUncommitted => {
                resolved.read_uncommitted = true;
            }
            TableHintWord::ReadCommitted => resolved.read_committed = true,
            TableHintWord::RepeatableRead => resolved.repeatable_read = true,
            TableHintWord::HoldLock | TableHintWord::Serializable => resolved.serializable = true,
            TableHintWord::Snapshot => resolved.snapshot = true,
            TableHintWord::NoWait => resolved.no_wait = true,
            TableHintWord::ForceScan
            | TableHintWord::IgnoreConstraints
            | TableHintWord::IgnoreTriggers
            | TableHintWord::KeepDefaults
            | TableHintWord::KeepIdentity
            | TableHintWord::NoExpand
            | TableHintWord::PagLock
            | TableHintWord::RowLock
            | TableHintWord::TabLock => {}
        }
    }
    resolved
}

/// Finds what a table's database says about row versions.
pub(crate) fn versions_of(binder: &Binder<'_>, source: &TableSource) -> Versions {
    let TableSource::Table(table) = source else { return Versions::Private };
    if table.name.starts_with('#') && !table.name.starts_with("##") {
        return Versions::Private;
    }
    let Some(database) = binder.catalog.database_by_id(table.database_id) else {
        return Versions::Both;
    };
    let options = &database.options;
    match (options.read_committed_snapshot, options.allow_snapshot_isolation) {
        (true, true) => Versions::Both,
        (false, true) => Versions::Snapshot,
        (true, false) => Versions::ReadCommitted,
        (false, false) => Versions::None,
    }
}
