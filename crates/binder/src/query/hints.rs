//! Table hints, and what decides whether a table can be read: a disabled index, the row-version options of its
//! database.

use crate::Binder;
use catalog::{IndexDef, TableDef};
use plan::query::{ScanHints, TableSource, Versions, Whole};
use tsql::ast::{self, TableHint, TableHintKind, TableHintWord};
use types::{Msg, Result};

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

/// Checks that the rows of a table can be read and changed.
///
/// # Errors
/// 8655 if its clustered index is disabled.
pub fn check_readable(table: &TableDef) -> Result<()> {
    match table.disabled_clustered() {
        Some(index) => Err(Msg::IndexDisabled(&index.name, &table.name).into()),
        None => Ok(()),
    }
}

/// Finds an index by name or id; `None` for 0, which means all rows.
pub(super) fn hinted(table: &TableDef, index: &ast::IndexRef) -> Result<Option<u16>> {
    let of = table.qualified_name();
    let place = match index {
        ast::IndexRef::Number(0) => return Ok(None),
        ast::IndexRef::Name(name) => match (table.index(name), table.disabled_index(name)) {
            (Some(place), _) => place,
            (None, Some(_)) => return Err(Msg::HintedIndexDisabled(name, &of).into()),
            (None, None) => return Err(Msg::HintedIndexMissing(name, &of).into()),
        },
        ast::IndexRef::Number(id) => {
            let is_it = |i: &IndexDef| u32::try_from(i.id).is_ok_and(|known| known == *id);
            match table.indexes.iter().position(is_it) {
                Some(place) => place,
                None if table.disabled.iter().any(is_it) => {
                    return Err(Msg::HintedIndexIdDisabled(i64::from(*id), &of).into());
                }
                None => return Err(Msg::HintedIndexIdMissing(i64::from(*id), &of).into()),
            }
        }
    };
    Ok(u16::try_from(place).ok())
}
