//! CREATE INDEX, ALTER INDEX and DROP INDEX, while other sessions use the table.

use std::sync::Arc;

use tsql::ast::{self, AlterIndexAction};
use types::{Error, Msg, Result};

use crate::disable;
use crate::drop_options::DropOptions;
use crate::partition::Valued;
use crate::rebuild::{check_alike, check_columnstore, check_reorganized, rebuild_partitions};
use crate::table;
use ::catalog::name::Name;
use ::catalog::{IndexConstraint, IndexDef, IndexKind, Object, TableDef};
use ::compile::refuse;
use ::compile::shape::index_option;
use ::compile::shape::{Place, Shaper, duplicate_index};
use ::compile::table::created;
use ::executor::Cx;

/// The states of error 3701 of ALTER TABLE .. ALTER INDEX and DROP INDEX.
const ALTER_MISSING: u8 = 22;
const DROP_MISSING: u8 = 21;
/// The state of error 10790 of ALTER TABLE .. ALTER INDEX.
const ALTER_RANGE: u8 = 4;

pub(crate) fn create(create: &ast::CreateIndex, cx: &mut Cx<'_>) -> Result<()> {
    index_option::check_names(&create.index.options, "CREATE INDEX")?;
    refuse_view(&create.table, cx)?;
    let missing = |error: Error| match error.number {
        4902 => Msg::ObjectNotFound(&create.table.to_string()).into(),
        _ => error,
    };
    let table = table::find(&create.table, cx).map_err(missing)?;
    check_kind(create, &table)?;
    if ::compile::shape::columnstore::is_columnstore(&create.index) {
        return super::columnstore::create(create, cx);
    }
    if ::compile::shape::column_index::is_column_index(&create.index) {
        return super::column_index::create(create, cx);
    }
    if table.columnstore.is_some() {
        return refuse("keys and other indexes of a table with a columnstore index");
    }
    let table = table::find_for_index(&create.table, cx).map_err(missing)?;
    let replaced = replaced(&table, &create.index)?;
    let mut index = {
        let context = compile::binding::bare_context(cx.session, &cx.session.identity.database);
        let binder = context.binder();
        let instance = &cx.session.instance;
        let place = Place {
            id: table.id,
            database_id: table.database_id,
            schema: (table.schema_id, table.schema.clone()),
            name: &table.name,
            source: &cx.source,
            created: created(),
        };
        let shaper = Shaper::new(&binder, &instance.catalog, &instance.store, place);
        shaper.index_on(&table, &create.index)?
    };
    if replaced.is_some() && index.clustered {
        return refuse("CREATE CLUSTERED INDEX .. WITH (DROP_EXISTING = ON)");
    }
    let has_clustered = table.all_indexes().any(|i| i.clustered);
    if index.clustered && has_clustered {
        return Err(Msg::MultipleClustered(&table.name).into());
    }
    disable::check_buildable("create", &index.name, &table)?;
    // Storage identifies an index by its id, so ids are not reused while the table exists.
    let columns = table.column_index.iter().chain(&table.disabled_columns).map(|i| i.id);
    let highest = columns.fold(table.highest_index_id(), i32::max);
    index.id = if index.clustered { 1 } else { highest + 1 };
    let is_clustered = index.clustered;
    let mut next = TableDef::clone(&table);
    if index.clustered {
        // The rows are where the clustered index is.
        next.on = None;
    }
    disable::build(&table, &index, cx)?;
    next.indexes.push(index);
    let old = match replaced {
        Some(Replaced::Enabled(place)) => Some(next.indexes.remove(place)),
        Some(Replaced::Disabled(place)) => {
            next.disabled.remove(place);
            None
        }
        None => None,
    };
    table::replace(next.clone(), cx)?;
    if let Some(old) = old {
        cx.session.drop_index(&table.rows.data, old.storage_id());
    }
    // A new clustered index builds the disabled ones again.
    if is_clustered {
        disable::enable(&Arc::new(next), |_| true, cx)?;
    }
    Ok(())
}

/// The index that DROP_EXISTING = ON replaces: its place among the table's.
#[derive(Clone, Copy, Debug)]
enum Replaced {
    Enabled(usize),
    Disabled(usize),
}

/// Checks that a table of this kind may have the index.
fn check_kind(create: &ast::CreateIndex, table: &TableDef) -> Result<()> {
    refuse_in_memory(table, "CREATE INDEX")?;
    let of_columns = ::compile::shape::columnstore::is_columnstore(&create.index)
        || ::compile::shape::column_index::is_column_index(&create.index);
    if table.is_versioned() && of_columns {
        return refuse("columnstore indexes of system-versioned and history tables");
    }
    if table.is_history() && create.index.unique {
        return refuse("unique indexes of a history table");
    }
    Ok(())
}

/// Finds the index that DROP_EXISTING = ON replaces.
///
/// # Errors
/// 1913 if the name is taken without DROP_EXISTING, 7999 if there is no such index with it, 40517
/// for an index that can't be replaced.
fn replaced(table: &TableDef, index: &ast::InlineIndex) -> Result<Option<Replaced>> {
    let name = index.name.as_str();
    let drops = index.options.iter().any(|option| {
        *option.name == *"DROP_EXISTING" && matches!(option.value, ast::OptionValue::On)
    });
    let found = match (table.index(name), table.disabled_index(name)) {
        (Some(place), _) => Some((Replaced::Enabled(place), &table.indexes[place])),
        (None, place) => place.map(|place| (Replaced::Disabled(place), &table.disabled[place])),
    };
    match found {
        Some((_, index)) if drops && index.constraint.is_some() => {
            refuse("DROP_EXISTING = ON for the index of a constraint")
        }
        Some((_, index)) if drops && index.clustered => {
            refuse("DROP_EXISTING = ON for a clustered index")
        }
        Some((replaced, _)) if drops => Ok(Some(replaced)),
        None if drops => Err(no_such_index(name, table)),
        None if !table.has_column_index(name) && !table.has_disabled_columns(name) => Ok(None),
        Some(_) | None => Err(duplicate_index(name, &table.qualified_name())),
    }
}

/// The error of DROP_EXISTING = ON without an index of the name: 7999.
pub(crate) fn no_such_index(name: &str, table: &TableDef) -> Error {
    let text = format!("Could not find any index named '{name}' for table '{}'.", table.name);
    Error::custom(7999, 16, 9, text)
}

/// Refuses an index on a view: with the error of the rule that the view breaks, or with 40517.
fn refuse_view(name: &ast::ObjectName, cx: &Cx<'_>) -> Result<()> {
    let Some(Object::View(view)) = crate::find_object(name, cx) else { return Ok(()) };
    let ast::StatementKind::CreateView(definition) = &view.ast.kind else { return Ok(()) };
    match definition.options.iter().any(|option| **option == *"SCHEMABINDING") {
        true => refuse("indexed views"),
        false => Err(Msg::IndexViewNotBound(&view.name).into()),
    }
}

pub(crate) fn alter(alter: &ast::AlterIndex, values: &[Valued], cx: &mut Cx<'_>) -> Result<()> {
    let mut table = table::find(&alter.table, cx)?;
    refuse_in_memory(&table, "ALTER INDEX")?;
    match alter.action {
        AlterIndexAction::Rebuild if table.has_disabled() => {
            table = table::find_for_index(&alter.table, cx)?;
            disable::check_enabled(alter, &table)?;
            let (name, online) = (alter.index.as_deref(), disable::is_online(&alter.options));
            table = disable::rebuild(name, online, table, cx)?;
        }
        AlterIndexAction::Disable if table.column_index.is_some() => {
            table = table::find_alone(&alter.table, cx)?;
        }
        _ => disable::check_enabled(alter, &table)?,
    }
    let is_columnstore = match &alter.index {
        Some(index) => table.has_columnstore(index),
        None => table.columnstore.is_some(),
    };
    let is_column_index = match &alter.index {
        Some(index) => table.has_column_index(index),
        None => table.column_index.is_some(),
    };
    if let Some(index) = &alter.index
        && !table.has_index(index)
        && !table.has_disabled_columns(index)
        && !is_columnstore
        && !is_column_index
    {
        return Err(Msg::IndexNotFound(index).into());
    }
    if !is_column_index && !is_columnstore {
        table = table::find_for_index(&alter.table, cx)?;
        show_options(alter, values, &table, cx)?;
    } else {
        check_columnstore(alter, values, &table, cx)?;
    }
    match alter.action {
        AlterIndexAction::Rebuild | AlterIndexAction::Reorganize if is_column_index => {
            super::column_index::change(alter, cx)
        }
        AlterIndexAction::Rebuild | AlterIndexAction::Reorganize if is_columnstore => {
            super::columnstore::change(alter, cx)
        }
        // Rowstore indexes in memory do not fragment, so there is nothing to rebuild. SET is done.
        AlterIndexAction::Rebuild | AlterIndexAction::Reorganize => Ok(()),
        AlterIndexAction::Set if is_column_index || is_columnstore => {
            refuse("ALTER INDEX .. SET of a columnstore index")
        }
        AlterIndexAction::Set => Ok(()),
        AlterIndexAction::Disable => disable::disable(alter, &table, cx),
        AlterIndexAction::Resume | AlterIndexAction::Pause | AlterIndexAction::Abort => {
            refuse("resumable index operations")
        }
    }
}

/// Stores the options of ALTER INDEX for one rowstore index, or for all of the table.
fn show_options(
    alter: &ast::AlterIndex,
    values: &[Valued],
    table: &Arc<TableDef>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    check_alike(alter, table)?;
    type Set = fn(&mut IndexDef, &ast::IndexOption) -> Result<()>;
    let (set, statement): (Set, _) = match alter.action {
        AlterIndexAction::Rebuild => (index_option::rebuild, "ALTER INDEX REBUILD"),
        AlterIndexAction::Set => (index_option::change, "ALTER INDEX SET"),
        AlterIndexAction::Reorganize => (index_option::reorganize, "ALTER INDEX REORGANIZE"),
        // Refused elsewhere, as a whole statement.
        _ => return Ok(()),
    };
    // ALL on a table without indexes: an unknown option is still an error.
    index_option::check_names(&alter.options, statement)?;
    let mut next = TableDef::clone(table);
    let wanted = |name: &str| alter.index.as_ref().is_none_or(|index| Name::same(index, name));
    let mut is_changed = false;
    for index in next.indexes.iter_mut().filter(|index| wanted(&index.name)) {
        let before = (index.shown, index.ignore_dup_key, index.on.clone());
        if alter.action == AlterIndexAction::Set {
            alter.options.iter().try_for_each(|option| set(index, option))?;
        } else {
            let (name, mut on) = (index.name.clone(), index.on.take());
            let subject = ("ALTER INDEX", "index", name.as_str());
            let given = ((&alter.partition, values), alter.options.as_slice());
            let rebuilt = match alter.action {
                AlterIndexAction::Reorganize => {
                    check_reorganized(table, on.as_ref(), given.0, subject, cx)
                }
                _ => rebuild_partitions(table, &mut on, given, subject, cx),
            };
            index.on = on;
            rebuilt?;
            if !matches!(alter.partition, ast::PartitionChoice::One(_)) {
                let mut whole = alter.options.iter().filter(|o| o.on_partitions.is_empty());
                whole.try_for_each(|option| set(index, option))?;
            }
        }
        is_changed |= before != (index.shown, index.ignore_dup_key, index.on.clone());
    }
    if is_changed { table::replace(next, cx) } else { Ok(()) }
}

pub(crate) fn drop(drop: &ast::DropIndex, cx: &mut Cx<'_>) -> Result<()> {
    let all = drop.indexes.iter().map(|(.., options)| DropOptions::new(options, "DROP INDEX"));
    let all = all.collect::<Result<Vec<_>>>()?;
    if all.len() > 1 && all.iter().any(DropOptions::is_online) {
        return Err(Msg::SeveralDroppedOnline.into());
    }
    for ((index, name, _), options) in drop.indexes.iter().zip(all) {
        let found = table::find(name, cx).ok();
        found.iter().try_for_each(|table| refuse_in_memory(table, "DROP INDEX"))?;
        if found.as_ref().is_some_and(|table| table.has_columnstore(index)) {
            super::columnstore::drop(name, &options, cx)?;
            continue;
        }
        let of_columns =
            |table: &TableDef| table.has_column_index(index) || table.has_disabled_columns(index);
        if found.as_deref().is_some_and(of_columns) {
            options.check_nonclustered(&format!("{name}.{index}"))?;
            super::column_index::drop(name, cx)?;
            continue;
        }
        if !found.as_ref().is_some_and(|table| table.has_index(index)) {
            if drop.if_exists {
                continue;
            }
            return Err(super::cannot_drop("index", &format!("{name}.{index}")));
        }
        let table = table::find_for_index(name, cx)?;
        let missing = || super::cannot_drop("index", &format!("{name}.{index}"));
        let defined = table.all_indexes().find(|it| Name::same(&it.name, index));
        let defined = defined.ok_or_else(missing)?;
        if !defined.clustered {
            options.check_nonclustered(&format!("{name}.{index}"))?;
        }
        remove(&table, defined, &options, cx)?;
    }
    Ok(())
}

/// Runs ALTER TABLE .. ALTER INDEX i REBUILD WITH (BUCKET_COUNT = n). A hash index has as many
/// buckets as its keys need, whatever was declared, so only what the catalog shows changes.
///
/// # Errors
/// 10785 for an ordinary table, 3701 for an unknown index, 10790 for a range index, 155 for another
/// option.
pub(crate) fn alter_inline(
    table: &Arc<TableDef>,
    index: &ast::Ident,
    options: &[ast::IndexOption],
    cx: &mut Cx<'_>,
) -> Result<()> {
    check_inline(table, "ALTER TABLE ALTER INDEX")?;
    let Some(place) = table.index(index) else {
        return Err(inline_missing("alter", index, ALTER_MISSING));
    };
    let mut next = TableDef::clone(table);
    for option in options {
        let is_hash = next.indexes[place].kind == IndexKind::Hash;
        match option.name.as_ref() {
            "BUCKET_COUNT" if is_hash => index_option::set(&mut next.indexes[place], option)?,
            "BUCKET_COUNT" => {
                let message = Msg::BucketCountOfRange("BUCKET_COUNT").to_string();
                return Err(Error::custom(10790, 16, ALTER_RANGE, message));
            }
            _ => return Err(Msg::UnrecognizedOption(&option.written, "ALTER TABLE").into()),
        }
    }
    table::replace(next, cx)
}

/// Runs ALTER TABLE .. DROP INDEX.
///
/// # Errors
/// 10785 for an ordinary table, 3701 for an unknown index, 3723 for the index of a constraint, 41327
/// for the last index.
pub(crate) fn drop_inline(
    table: &Arc<TableDef>,
    element: &ast::DropElement,
    cx: &mut Cx<'_>,
) -> Result<()> {
    check_inline(table, "ALTER TABLE DROP INDEX")?;
    let options = DropOptions::new(&element.options, "ALTER TABLE")?;
    match table.index(&element.name) {
        Some(_) if table.indexes.len() == 1 => {
            Err(Msg::MemoryOptimizedNeedsIndex(&table.name).into())
        }
        Some(place) => {
            remove(table, &table.indexes[place], &options, cx)?;
            // The statement's next element sees the table without it.
            cx.session.refresh_catalog();
            Ok(())
        }
        None if element.if_exists => Ok(()),
        None => Err(inline_missing("drop", &element.name, DROP_MISSING)),
    }
}

/// Returns error 3701 of ALTER TABLE for an index that a memory-optimized table does not have.
fn inline_missing(verb: &str, index: &str, state: u8) -> Error {
    let message = Msg::CannotDoDoesNotExist(verb, "index", index).to_string();
    Error::custom(3701, 16, state, message)
}

/// Refuses what memory-optimized tables have a form of ALTER TABLE for.
///
/// # Errors
/// 10794.
fn refuse_in_memory(table: &TableDef, operation: &str) -> Result<()> {
    match table.memory_optimized {
        true => {
            let with = "memory optimized tables";
            Err(Msg::NotSupportedWith("operation", operation, with).into())
        }
        false => Ok(()),
    }
}

pub(crate) fn check_inline(table: &TableDef, operation: &str) -> Result<()> {
    if table.memory_optimized {
        return Ok(());
    }
    let text =
        format!("The operation '{operation}' is supported only with memory optimized tables.");
    Err(Error::custom(10785, 16, 1, text))
}

/// Removes an index from a table: its definition, and its storage unless it is disabled.
fn remove(
    table: &Arc<TableDef>,
    index: &IndexDef,
    options: &DropOptions<'_>,
    cx: &mut Cx<'_>,
) -> Result<()> {
    if let Some(constraint) = index.constraint {
        let kind = match constraint {
            IndexConstraint::PrimaryKey => "PRIMARY KEY",
            IndexConstraint::Unique => "UNIQUE KEY",
        };
        let name = format!("{}.{}", table.qualified_name(), index.name);
        return Err(Msg::IndexIsConstraint(&name, kind).into());
    }
    let next = without(table, index, options, cx)?;
    table::replace(next.clone(), cx)?;
    forget(table, index, next, cx)
}

/// Returns a table's definition without an index.
///
/// # Errors
/// As `DropOptions::place`.
pub(crate) fn without(
    table: &Arc<TableDef>,
    index: &IndexDef,
    options: &DropOptions<'_>,
    cx: &Cx<'_>,
) -> Result<TableDef> {
    let mut next = TableDef::clone(table);
    next.indexes.retain(|other| other.id != index.id);
    next.disabled.retain(|other| other.id != index.id);
    if index.clustered {
        next.on = options.place(table, index.on.as_ref(), cx)?;
    }
    Ok(next)
}

/// Frees the storage of an index that a definition has no more. If it was the clustered one, and disabled, the others
/// are built again.
pub(crate) fn forget(
    table: &Arc<TableDef>,
    index: &IndexDef,
    next: TableDef,
    cx: &mut Cx<'_>,
) -> Result<()> {
    if table.disabled.iter().all(|other| other.id != index.id) {
        cx.session.drop_index(&table.rows.data, index.storage_id());
    } else if index.clustered {
        disable::enable(&Arc::new(next), |_| true, cx)?;
    }
    Ok(())
}
