//! ALTER INDEX .. DISABLE, and what enables a disabled index again: REBUILD, CREATE INDEX WITH (DROP_EXISTING = ON),
//! DBCC DBREINDEX, and a new clustered index in place of one that was dropped.
//!
//! ```text
//! indexes ── DISABLE ──► disabled ── REBUILD ──► indexes
//!                            └────── DROP INDEX, DROP CONSTRAINT
//! ```
//!
//! A disabled index is only a definition: storage drops it, plans do not know it, and duplicates of its keys may come
//! in. Foreign keys that refer to it are disabled as well and stay so. If the clustered index is disabled, all others
//! are, and the rows, which stay where they are, can't be read or changed: error 8655.

use std::sync::Arc;

use tsql::ast::{self, PartitionChoice};
use types::{Error, Msg, Result};

use super::{duplicate_key, table};
use ::catalog::name::Name;
use ::catalog::{ForeignKeyDef, IndexConstraint, IndexDef, Object, TableDef, index_spec};
use ::compile::refuse;
use ::executor::{Cx, fault};

/// Runs ALTER INDEX .. DISABLE for one index or for all of the table.
///
/// # Errors
/// 1971 and 1991 without ALTER on a table whose foreign key is disabled; 40517 for columnstore indexes.
pub(crate) fn disable(alter: &ast::AlterIndex, of: &Arc<TableDef>, cx: &mut Cx<'_>) -> Result<()> {
    check_kind(alter.index.as_deref(), of)?;
    let named = |index: &&IndexDef| is_wanted(alter, &index.name);
    let clustered = of.indexes.iter().filter(named).any(|index| index.clustered);
    let mut gone: Vec<&IndexDef> = of.indexes.iter().filter(|i| clustered || named(i)).collect();
    gone.sort_by_key(|index| index.id);
    // The clustered index has the lowest id.
    let mut next = TableDef::clone(of);
    let columns = of.column_index.as_ref().filter(|it| clustered || is_wanted(alter, &it.name));
    if columns.is_some() {
        next.disabled_columns = next.column_index.take();
    }
    let Some(first) = gone.first().copied() else {
        let Some(columns) = columns else { return Ok(()) };
        table::replace(next, cx)?;
        super::column_index::forget(columns, of);
        return Ok(());
    };
    next.indexes.retain(|index| gone.iter().all(|gone| gone.id != index.id));
    next.disabled.extend(gone.iter().copied().cloned());
    next.disabled.sort_by_key(|index| index.id);
    let uses = |key: &ForeignKeyDef| key.referenced == of.id && rests_on(key, of, &gone);
    let own = |key: &&mut ForeignKeyDef| key.enabled && (clustered || uses(key));
    let mut keys: Vec<(String, String, String)> = Vec::new();
    for key in next.foreign_keys.iter_mut().filter(own) {
        (key.enabled, key.trusted) = (false, false);
        let target = table_name(of.database_id, key.referenced, cx);
        keys.push((key.name.clone(), of.name.clone(), target));
    }
    keys.extend(disable_references(of, first, &uses, cx)?);
    table::replace(next, cx)?;
    columns.iter().for_each(|index| super::column_index::forget(index, of));
    for index in &gone {
        cx.session.drop_index(&of.rows.data, index.storage_id());
    }
    let others = gone.iter().filter(|index| !index.clustered).map(|index| &index.name);
    for name in others.chain(columns.map(|index| &index.name)).filter(|_| clustered) {
        fault::sent_message(cx, &Msg::IndexDisabledToo(name, &of.name).into())?;
    }
    for (key, from, to) in keys {
        fault::sent_message(cx, &Msg::ForeignKeyDisabled(&key, &from, &to, &first.name).into())?;
    }
    Ok(())
}

/// Refuses the tables and indexes that can't be disabled.
fn check_kind(name: Option<&str>, of: &TableDef) -> Result<()> {
    if name.map_or(of.columnstore.is_some(), |name| of.has_columnstore(name)) {
        return refuse("ALTER INDEX .. DISABLE of a clustered columnstore index");
    }
    let Some(index) = name.and_then(|name| of.index(name)).map(|place| &of.indexes[place]) else {
        return Ok(());
    };
    let is_primary = index.constraint == Some(IndexConstraint::PrimaryKey);
    if (index.clustered || is_primary) && (of.is_versioned() || of.is_history()) {
        return refuse("ALTER INDEX .. DISABLE of the key of a system-versioned or history table");
    }
    Ok(())
}

fn is_wanted(alter: &ast::AlterIndex, index: &str) -> bool {
    alter.index.as_ref().is_none_or(|name| Name::same(name, index))
}

/// Returns whether a foreign key rests on one of these indexes of the referenced table: on the first that has its
/// columns. With a clustered index among them, every key does.
fn rests_on(key: &ForeignKeyDef, of: &TableDef, gone: &[&IndexDef]) -> bool {
    let first = of.indexes.iter().find(|index| has_columns(key, index));
    gone.iter().any(|index| index.clustered || first.is_some_and(|first| first.id == index.id))
}

/// Returns whether an index is one that a foreign key can refer to.
fn has_columns(key: &ForeignKeyDef, index: &IndexDef) -> bool {
    let has = |column: &u16| index.keys.iter().any(|(own, _)| own == column);
    index.is_key()
        && index.keys.len() == key.referenced_columns.len()
        && key.referenced_columns.iter().all(has)
}

fn table_name(database_id: i16, id: i32, cx: &Cx<'_>) -> String {
    let database = cx.session.catalog.database_by_id(database_id);
    database.and_then(|d| d.table_by_id(id)).map(|t| t.name.clone()).unwrap_or_default()
}

/// Disables the foreign keys of other tables that `uses` holds for. Returns each key's name, its table's and that of
/// the referenced one.
fn disable_references(
    of: &TableDef,
    index: &IndexDef,
    uses: &dyn Fn(&ForeignKeyDef) -> bool,
    cx: &mut Cx<'_>,
) -> Result<Vec<(String, String, String)>> {
    let database = cx.session.catalog.database_by_id(of.database_id).map(Arc::clone);
    let Some(database) = database.filter(|_| of.id > 0) else { return Ok(Vec::new()) };
    let refers = |other: &&Arc<TableDef>| {
        other.id != of.id && other.foreign_keys.iter().any(|key| key.enabled && uses(key))
    };
    let mut disabled = Vec::new();
    for other in database.tables().filter(refers) {
        table::close(other, cx)?;
        cx.session.refresh_catalog();
        let now = cx.session.catalog.database_by_id(of.database_id);
        let Some(now) = now.and_then(|d| d.table_by_id(other.id)).cloned() else { continue };
        let mut next = TableDef::clone(&now);
        for key in next.foreign_keys.iter_mut().filter(|key| key.enabled && uses(key)) {
            let object = Object::Table(Arc::clone(&now));
            if !cx.session.identity.rights.alters(&database, &object) {
                let names = [&index.name, &of.name, &key.name, &now.name].map(String::as_str);
                return Err(permission_denied(index.clustered, names));
            }
            (key.enabled, key.trusted) = (false, false);
            disabled.push((key.name.clone(), now.name.clone(), of.name.clone()));
        }
        table::replace(next, cx)?;
    }
    Ok(disabled)
}

fn permission_denied(is_clustered: bool, [index, of, key, from]: [&str; 4]) -> Error {
    match is_clustered {
        true => Msg::DisableClusteredDenied(index, of, key, from).into(),
        false => Msg::DisableIndexDenied(index, of, key, from).into(),
    }
}

/// Checks what SET, REORGANIZE and REBUILD of one partition ask of an index: that it is not disabled. Of all indexes
/// of a table, they leave out disabled ones.
///
/// # Errors
/// 1973.
pub(crate) fn check_enabled(alter: &ast::AlterIndex, of: &TableDef) -> Result<()> {
    let one = matches!(alter.partition, PartitionChoice::One(_));
    let allowed = match alter.action {
        ast::AlterIndexAction::Rebuild => !one,
        action => action == ast::AlterIndexAction::Disable,
    };
    let is_disabled =
        |name: &str| of.disabled_index(name).is_some() || of.has_disabled_columns(name);
    match alter.index.as_deref() {
        Some(name) if !allowed && is_disabled(name) => {
            Err(Msg::OperationOnDisabledIndex(name, &of.name).into())
        }
        _ => Ok(()),
    }
}

/// Refuses an operation on a table whose clustered index is disabled.
///
/// # Errors
/// 1974.
pub(crate) fn check_clustered_enabled(of: &TableDef) -> Result<()> {
    match of.disabled_clustered() {
        Some(index) => Err(Msg::OperationOnDisabledClustered(&of.name, &index.name).into()),
        None => Ok(()),
    }
}

/// Checks that a nonclustered index may be built: `verb` is `create` or `rebuild`.
///
/// # Errors
/// 1987 if the clustered index is disabled.
pub(crate) fn check_buildable(verb: &str, index: &str, of: &TableDef) -> Result<()> {
    match of.disabled_clustered() {
        Some(_) => Err(Msg::NonclusteredOfDisabled(verb, index, &of.name).into()),
        None => Ok(()),
    }
}

/// Returns whether the options have ONLINE = ON.
pub(crate) fn is_online(options: &[ast::IndexOption]) -> bool {
    options
        .iter()
        .any(|option| *option.name == *"ONLINE" && !matches!(option.value, ast::OptionValue::Off))
}

/// Runs the part of ALTER INDEX .. REBUILD that is about disabled indexes: builds and enables the named one, or all.
/// Returns the table as it is then.
///
/// # Errors
/// 1505 for duplicates, 1987 for a nonclustered index alone while the clustered one is disabled, 1988 for ONLINE = ON.
pub(crate) fn rebuild(
    name: Option<&str>,
    is_online: bool,
    of: Arc<TableDef>,
    cx: &mut Cx<'_>,
) -> Result<Arc<TableDef>> {
    let wanted = |index: &str| name.is_none_or(|name| Name::same(name, index));
    let clustered = of.disabled_clustered().map(|index| index.name.as_str());
    if let Some(name) = name.filter(|name| clustered.is_none_or(|it| !Name::same(it, name))) {
        check_buildable("rebuild", name, &of)?;
    }
    if let Some(index) = of.disabled_clustered()
        && wanted(&index.name)
        && is_online
    {
        return Err(Msg::RebuildDisabledOnline(&index.name).into());
    }
    enable(&of, wanted, cx)
}

/// Builds the disabled indexes of a table that `wanted` holds for, the clustered one first, and enables them.
///
/// # Errors
/// 1505 for duplicates.
pub(crate) fn enable(
    of: &Arc<TableDef>,
    wanted: impl Fn(&str) -> bool,
    cx: &mut Cx<'_>,
) -> Result<Arc<TableDef>> {
    let has_columns = of.disabled_columns.as_ref().is_some_and(|index| wanted(&index.name));
    if !has_columns && !of.disabled.iter().any(|index| wanted(&index.name)) {
        return Ok(Arc::clone(of));
    }
    let mut next = TableDef::clone(of);
    let (built, left) = next.disabled.into_iter().partition(|index| wanted(&index.name));
    next.disabled = left;
    let built: Vec<IndexDef> = built;
    for index in &built {
        build(of, index, cx)?;
    }
    next.indexes.extend(built);
    if has_columns {
        super::column_index::enable(&mut next, cx)?;
    }
    table::replace(next.clone(), cx)?;
    Ok(Arc::new(next))
}

/// Runs DBCC DBREINDEX: as ALTER INDEX .. REBUILD of one index, or of all.
///
/// # Errors
/// As `rebuild`, and of the lock on the table.
pub fn reindex(of: Arc<TableDef>, name: Option<&str>, cx: &mut Cx<'_>) -> Result<()> {
    if !of.has_disabled() {
        return Ok(());
    }
    let of = match of.id < 0 {
        true => of,
        false => {
            let held = cx.session.hold_definition(&of.rows.data);
            held.map_err(|error| fault::raise(cx, error))?;
            // The previous owner of the lock may have changed the table.
            cx.session.refresh_catalog();
            let database = cx.session.catalog.database_by_id(of.database_id);
            let now = database.and_then(|database| database.table_by_id(of.id)).cloned();
            now.ok_or_else(|| Error::from(Msg::AlterTableNotFound(&of.name)))?
        }
    };
    rebuild(name, false, of, cx).map(drop)
}

/// Builds an index over the table's rows.
///
/// # Errors
/// 1505 for duplicates.
pub(crate) fn build(of: &TableDef, index: &IndexDef, cx: &mut Cx<'_>) -> Result<()> {
    let spec = index_spec(index, &of.columns, &of.layout);
    match cx.session.build_index(&of.rows.data, spec) {
        Ok(()) => Ok(()),
        Err(storage::Error::Unique { key, .. }) => Err(duplicate_key(of, index, &key, cx)?),
        Err(other) => Err(fault::raise(cx, other)),
    }
}

/// Checks that the key to which a foreign key refers is enabled.
///
/// # Errors
/// 1989.
pub(crate) fn check_key_enabled(key: &ForeignKeyDef, target: &TableDef) -> Result<()> {
    if target.indexes.iter().any(|index| has_columns(key, index)) {
        return Ok(());
    }
    match target.disabled.iter().find(|index| has_columns(key, index)) {
        Some(index) => Err(Msg::ForeignKeyOnDisabled(&key.name, &index.name).into()),
        None => Ok(()),
    }
}
