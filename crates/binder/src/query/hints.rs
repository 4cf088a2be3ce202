//! Table hints, and the row-version options of a table's database.

use crate::Binder;
use plan::query::{ScanHints, TableSource, Versions, Whole};
use tsql::ast::{TableHint, TableHintKind, TableHintWord};

/// Converts table hints to settings of a scan. Hints about lock granularity (ROWLOCK ..) have no
/// effect, since there is only one.
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

/// Returns the row-version options of a table's database.
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
