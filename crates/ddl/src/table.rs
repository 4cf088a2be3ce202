//! CREATE TABLE, temporary tables and table variables; finding a table for a definition and
//! publishing its change.

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{Error, Msg, Result};

use crate::{change_database, target, versioning};
use ::catalog::name::Name;
use ::catalog::{ColumnDef, DBO_SCHEMA, ExternalPlace, Object, TableDef};
use ::compile::refuse;
use ::compile::shape::storage;
use ::compile::shape::{Place, skipped};
use ::compile::table::created;
use ::compile::table::{Content, shape, temporary_place};
use ::executor::Cx;
use ::executor::fault;
use ::plan::sink::Traits;
use ::session::instance::SessionCounter;

/// The state of error 2714 when CREATE TABLE finds the name taken.
const TABLE_EXISTS: u8 = 6;

pub(crate) fn create(create: &ast::CreateTable, cx: &mut Cx<'_>) -> Result<()> {
    if let Some(kind) = &create.as_kind {
        return refuse(&format!("CREATE TABLE .. AS {kind}"));
    }
    let name = create.name.database.as_deref().filter(|d| !d.is_empty());
    let name = if create.name.is_temporary() { Some("tempdb") } else { name };
    let database = cx.session.catalog.database(name.unwrap_or(&cx.session.identity.database));
    if let Some(database) = database {
        storage::check(&cx.session.catalog, database.id, &create.storage)?;
    }
    make(&create.name, Content::Elements(create), cx)
}

fn make(name: &ast::ObjectName, content: Content<'_>, cx: &mut Cx<'_>) -> Result<()> {
    if name.is_temporary() {
        if let Content::Elements(create) = &content {
            for key in skipped(&create.elements, &name.object) {
                fault::sent_message(cx, &Error::from(Msg::ForeignKeySkipped(key)))?;
            }
        }
        return create_temporary(&name.object, content, cx);
    }
    let to = target(name, cx)?;
    let database = cx.session.catalog.database(&to.database).map(Arc::clone);
    let Some(database) = database else { return Err(Msg::DatabaseMissing(&to.database).into()) };
    let Some(schema) = database.schema(&to.schema) else {
        return Err(Msg::SchemaNotFound(&to.schema).into());
    };
    if database.is_name_taken(&to.schema, &to.name) {
        return Err(Error::from(Msg::ObjectExists(&to.name)).with_state(TABLE_EXISTS));
    }
    let place = Place {
        id: cx.session.instance.catalog.next_object_id(),
        database_id: database.id,
        schema: (schema.id, schema.name.clone()),
        name: &to.name,
        source: &cx.source,
        created: created(),
    };
    let wanted = versioning_of(&content)?;
    let table = shape(cx.session, &to.database, place, content)?;
    let Some(wanted) = wanted else { return publish(cx, &to.database, table) };
    cx.session.note_made(table.rows.data.id());
    for key in &table.foreign_keys {
        close_by_id(table.database_id, key.referenced, cx)?;
    }
    let referenced: Vec<i32> = table.foreign_keys.iter().map(|key| key.referenced).collect();
    let database_id = table.database_id;
    let pair = versioning::pair(table, &wanted, cx)?;
    versioning::replace(pair.current, pair.history, cx)?;
    mark_all_referenced(database_id, &referenced, cx)
}

/// Checks, before a long statement that creates a table, that the table's name is free.
///
/// # Errors
/// 2714 if it is taken; the errors of an unknown database or schema.
pub fn check_name_free(name: &ast::ObjectName, cx: &Cx<'_>) -> Result<()> {
    let to = target(name, cx)?;
    let database = cx.session.catalog.database(&to.database);
    if database.is_some_and(|database| database.is_name_taken(&to.schema, &to.name)) {
        return Err(Error::from(Msg::ObjectExists(&to.name)).with_state(TABLE_EXISTS));
    }
    Ok(())
}

/// Adds a new table to the catalog. The session drops its rows if the statement is undone.
fn publish(cx: &mut Cx<'_>, database: &str, table: TableDef) -> Result<()> {
    let storage_id = table.rows.data.id();
    cx.session.note_made(storage_id);
    if table.period.is_some() {
        cx.session.instance.note_periods();
    }
    for key in &table.foreign_keys {
        close_by_id(table.database_id, key.referenced, cx)?;
    }
    change_database(cx.session, database, |database| {
        if database.is_name_taken(&table.schema, &table.name) {
            return Err(Msg::ObjectExists(&table.name).into());
        }
        // The table goes in first: its foreign keys may refer to itself.
        let referenced: Vec<i32> = table.foreign_keys.iter().map(|key| key.referenced).collect();
        database.put(Object::Table(Arc::new(table)));
        referenced.into_iter().for_each(|id| mark_referenced(database, id));
        Ok(())
    })
}

/// Locks a table against writers until the definition is committed or rolled back.
///
/// # Errors
/// 1222 for a lock timeout and 1205 for a deadlock.
pub(crate) fn close(table: &TableDef, cx: &mut Cx<'_>) -> Result<()> {
    if table.id < 0 {
        return Ok(());
    }
    let closed = cx.session.close_table(&table.rows.data);
    closed.map_err(|error| fault::raise(cx, error))
}

fn close_by_id(database_id: i16, id: i32, cx: &mut Cx<'_>) -> Result<()> {
    let database = cx.session.catalog.database_by_id(database_id);
    let Some(table) = database.and_then(|d| d.table_by_id(id)).cloned() else { return Ok(()) };
    close(&table, cx)
}

/// Finds a table, locks it against writers, and returns the definition that is current then.
///
/// # Errors
/// 4902 if it does not exist, 1222 and 1205 of the lock.
pub(crate) fn find_alone(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<Arc<TableDef>> {
    loop {
        let table = find(name, cx)?;
        close(&table, cx)?;
        // The previous owner of the lock may have changed the table.
        cx.session.refresh_catalog();
        let now = find(name, cx)?;
        if Arc::ptr_eq(&now.rows, &table.rows) {
            return Ok(now);
        }
    }
}

/// Finds a table for a change of its indexes, during which other sessions may use it, but not redefine it. In a
/// transaction, it is locked as by [`find_alone`].
///
/// # Errors
/// As [`find_alone`].
pub(crate) fn find_for_index(name: &ast::ObjectName, cx: &mut Cx<'_>) -> Result<Arc<TableDef>> {
    loop {
        let table = find(name, cx)?;
        if table.id < 0 {
            return Ok(table);
        }
        let held = cx.session.hold_definition(&table.rows.data);
        held.map_err(|error| fault::raise(cx, error))?;
        // The previous owner of the lock may have changed the table.
        cx.session.refresh_catalog();
        let now = find(name, cx)?;
        if Arc::ptr_eq(&now.rows, &table.rows) {
            return Ok(now);
        }
    }
}

fn mark_referenced(database: &mut ::catalog::Database, id: i32) {
    if let Some(target) = database.table_by_id(id).map(|t| TableDef::clone(t)) {
        database.put(Object::Table(Arc::new(TableDef { referenced: true, ..target })));
    }
}

fn create_temporary(name: &str, content: Content<'_>, cx: &mut Cx<'_>) -> Result<()> {
    if name.starts_with("##") {
        return create_global(name, content, cx);
    }
    if versioning_of(&content)?.is_some() {
        return Err(Msg::VersionedInTempdb(name).into());
    }
    if cx.session.temp.find_in_scope(name).is_some() {
        return Err(Error::from(Msg::ObjectExists(name)).with_state(TABLE_EXISTS));
    }
    let place = temporary_place(cx.session, name, &cx.source);
    let table = shape(cx.session, &cx.session.identity.database, place, content)?;
    cx.session.note_temp_made(table.id);
    cx.session.note_made(table.rows.data.id());
    cx.session.temp.add(Arc::new(table));
    cx.session.accounting.counters.count(SessionCounter::TempTablesMade);
    Ok(())
}

/// Creates `##t` in tempdb, visible to all sessions until the session that created it ends.
fn create_global(name: &str, content: Content<'_>, cx: &mut Cx<'_>) -> Result<()> {
    if versioning_of(&content)?.is_some() {
        return Err(Msg::VersionedInTempdb(name).into());
    }
    let place = Place {
        id: cx.session.instance.catalog.next_object_id(),
        ..temporary_place(cx.session, name, &cx.source)
    };
    let table = shape(cx.session, "tempdb", place, content)?;
    let id = table.id;
    publish(cx, "tempdb", table)?;
    cx.session.temp.add_global(id);
    Ok(())
}

/// Creates the table of SELECT .. INTO from column names, types and other properties.
///
/// # Errors
/// 2714 if the name is taken, 2705 for a duplicate column, 1038 for a column without a name.
pub fn create_from_columns(
    name: &ast::ObjectName,
    columns: &[(String, ColumnType, Traits)],
    cx: &mut Cx<'_>,
) -> Result<Arc<TableDef>> {
    let columns = columns.iter().map(|(column, ty, traits)| (column, ty, *traits));
    let defined = plain_columns(name, columns)?;
    make(name, Content::Columns(defined), cx)?;
    cx.session.refresh_catalog();
    find(name, cx)
}

fn plain_columns<'c>(
    name: &ast::ObjectName,
    columns: impl Iterator<Item = (&'c String, &'c ColumnType, Traits)>,
) -> Result<Vec<ColumnDef>> {
    let mut defined: Vec<ColumnDef> = Vec::new();
    for (column, ty, traits) in columns {
        if column.is_empty() {
            return Err(Msg::NameMissing.into());
        }
        if defined.iter().any(|c| Name::same(&c.name, column)) {
            return Err(Msg::DuplicateColumn(column, &name.object).into());
        }
        defined.push(ColumnDef {
            name: column.clone(),
            ty: *ty,
            user_type: None,
            identity: traits.identity.then_some((1, 1)),
            default: None,
            computed: None,
            row_guid: false,
            numeric: traits.numeric,
            sparse: false,
            generated: None,
            hidden: false,
            trims: false,
            persisted: false,
            not_for_replication: false,
        });
    }
    Ok(defined)
}

/// Creates an external table from column names and types and the place of its files.
///
/// # Errors
/// As [`create_from_columns`]; 46518 for a temporary table.
pub(crate) fn create_external(
    name: &ast::ObjectName,
    columns: &[(String, ColumnType)],
    place: Arc<ExternalPlace>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    if name.is_temporary() {
        return Err(Msg::ExternalNotSupported("name", &name.object).into());
    }
    let columns = columns.iter().map(|(column, ty)| (column, ty, Traits::default()));
    make(name, Content::External(plain_columns(name, columns)?, place), cx)?;
    cx.session.refresh_catalog();
    Ok(())
}

/// Finds the table of a definition: a temporary table or one of the catalog.
///
/// # Errors
/// 4902 if it does not exist.
pub(crate) fn find(name: &ast::ObjectName, cx: &Cx<'_>) -> Result<Arc<TableDef>> {
    let missing = || Error::from(Msg::AlterTableNotFound(&name.to_string()));
    if name.is_temporary() && !name.object.starts_with("##") {
        return cx.session.temp.find(&name.object).ok_or_else(missing);
    }
    let found = match name.is_temporary() {
        true => cx.session.catalog.find_object("tempdb", DBO_SCHEMA, &name.object),
        false => crate::find_object(name, cx),
    };
    let found = match found {
        Some(Object::Table(table)) => Some(table),
        _ => None,
    };
    match found {
        Some(table) if table.external.is_some() => Err(super::external::refused(&table.name)),
        Some(table) => Ok(Arc::clone(table)),
        None => Err(missing()),
    }
}

/// Replaces the definition of a table in the catalog or among the session's temporary tables.
pub(crate) fn replace(table: TableDef, cx: &mut Cx<'_>) -> Result<()> {
    let table = Arc::new(table);
    if table.id < 0 {
        let before = cx.session.temp.iter().find(|t| t.id == table.id).cloned();
        if let Some(before) = before {
            cx.session.note_temp(before);
        }
        cx.session.temp.replace(&table);
        return Ok(());
    }
    let database = cx.session.catalog.database_by_id(table.database_id);
    let name = database.map(|d| d.name.clone()).unwrap_or_default();
    change_database(cx.session, &name, |database| {
        if database.table_by_id(table.id).is_none() {
            return Err(Msg::AlterTableNotFound(&table.name).into());
        }
        database.put(Object::Table(Arc::clone(&table)));
        Ok(())
    })
}

/// Marks a table's constraints as not trusted: rows were added without checking them.
///
/// # Errors
/// The errors of changing the catalog.
pub fn distrust(table: &TableDef, cx: &mut Cx<'_>) -> Result<()> {
    let is_trusted = table.checks.iter().any(|c| c.enabled && c.trusted)
        || table.foreign_keys.iter().any(|k| k.enabled && k.trusted);
    if !is_trusted {
        return Ok(());
    }
    let current = match table.id < 0 {
        true => cx.session.temp.iter().find(|t| t.id == table.id).cloned(),
        false => {
            cx.session.refresh_catalog();
            let database = cx.session.catalog.database_by_id(table.database_id);
            database.and_then(|d| d.table_by_id(table.id)).cloned()
        }
    };
    // The batch's own trigger has dropped the table.
    let Some(current) = current else { return Ok(()) };
    let mut next = TableDef::clone(&current);
    next.checks.iter_mut().for_each(|check| check.trusted = false);
    next.foreign_keys.iter_mut().for_each(|key| key.trusted = false);
    replace(next, cx)
}

/// Marks tables as referenced by foreign keys.
pub(crate) fn mark_all_referenced(database_id: i16, ids: &[i32], cx: &mut Cx<'_>) -> Result<()> {
    let Some(database) = cx.session.catalog.database_by_id(database_id) else { return Ok(()) };
    let unmarked = |id: &&i32| database.table_by_id(**id).is_some_and(|t| !t.referenced);
    let wanted: Vec<i32> = ids.iter().filter(unmarked).copied().collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let name = database.name.clone();
    for id in &wanted {
        close_by_id(database_id, *id, cx)?;
    }
    change_database(cx.session, &name, |database| {
        wanted.iter().for_each(|id| mark_referenced(database, *id));
        Ok(())
    })
}

/// Adjusts the column ordinals in other tables' foreign keys after a column of their referenced
/// table was dropped.
pub(crate) fn move_references(
    database_id: i16,
    id: i32,
    ordinal: u16,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let Some(database) = cx.session.catalog.database_by_id(database_id) else { return Ok(()) };
    let name = database.name.clone();
    change_database(cx.session, &name, |database| {
        let refers = |t: &&Arc<TableDef>| {
            t.id != id && t.foreign_keys.iter().any(|key| key.referenced == id)
        };
        let referring: Vec<TableDef> =
            database.tables().filter(refers).map(|t| TableDef::clone(t)).collect();
        for mut table in referring {
            for key in table.foreign_keys.iter_mut().filter(|key| key.referenced == id) {
                key.referenced_columns.iter_mut().for_each(|c| *c -= u16::from(*c > ordinal));
            }
            database.put(Object::Table(Arc::new(table)));
        }
        Ok(())
    })
}

/// Returns what SYSTEM_VERSIONING of CREATE TABLE asks for.
fn versioning_of(content: &Content<'_>) -> Result<Option<versioning::Wanted>> {
    match content {
        Content::Elements(create) => versioning::of_options(&create.options),
        Content::Columns(_) | Content::External(..) => Ok(None),
    }
}
