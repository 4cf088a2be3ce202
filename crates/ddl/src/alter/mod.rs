//! ALTER TABLE: columns, constraints, options and rebuilds.
//!
//! A change of columns rewrites the table: an INSERT, bound for this purpose, fills a new row store
//! from the old one, and the new definition takes the old one's place in the catalog. Constraints
//! and defaults change the definition only, after the existing rows were checked.

mod dependent;
mod versioned;

use std::sync::Arc;

use tsql::ast::{
    self, AlterTableAction, ColumnOption, ConstraintKind, DropElementKind, TableElement,
};
use types::{DataType, Error, Length, Msg, Result};

pub(crate) use self::dependent::reader;
use self::dependent::{OwnDefault, check_free};
use super::drop_options::DropOptions;
use super::partition::Valued;
use super::{disable, rebuild, table, versioning};
use ::binder::dml::{Rewrite, bind_rewrite, bind_validation};
use ::catalog::name::Name;
use ::catalog::{
    ColumnDef, IndexConstraint, IndexDef, IndexFilter, RowShape, TableDef, create_rows, index_spec,
    layout_of,
};
use ::compile::refuse;
use ::compile::shape::{Place, Shaper, skipped};
use ::compile::table::created;
use ::executor::{Cx, dml, fault};

/// Where a constraint found by name is stored: its position in one of the table's lists.
enum Named {
    /// The id of the constraint's index.
    Index(i32),
    Check(usize),
    ForeignKey(usize),
    Default(usize),
}

pub(crate) fn run(alter: &ast::AlterTable, values: &[Valued], cx: &mut Cx<'_>) -> Result<()> {
    let table = table::find_alone(&alter.name, cx)?;
    if let AlterTableAction::Switch { source_partition, target, target_partition, options } =
        &alter.action
    {
        let mut values = values.iter();
        let from = source_partition.as_ref().and_then(|_| values.next());
        let to = target_partition.as_ref().and_then(|_| values.next());
        return super::switch::run(table, (&alter.name, target), options, (from, to), cx);
    }
    let is_trigger = matches!(alter.action, AlterTableAction::Trigger { .. });
    if table.columnstore.is_some() && !is_trigger {
        return refuse("ALTER TABLE of a table with a columnstore index");
    }
    versioned::check(&table, &alter.action, cx)?;
    let touches_rows = match &alter.action {
        AlterTableAction::Add { .. }
        | AlterTableAction::AlterColumn(_)
        | AlterTableAction::Rebuild { .. }
        | AlterTableAction::AlterColumnProperty { .. }
        | AlterTableAction::AlterIndex { .. }
        | AlterTableAction::Set(_) => true,
        AlterTableAction::Drop(elements) => {
            elements.iter().any(|element| element.kind != DropElementKind::Constraint)
        }
        AlterTableAction::CheckConstraint { .. }
        | AlterTableAction::Trigger { .. }
        | AlterTableAction::Switch { .. } => false,
    };
    if touches_rows {
        disable::check_clustered_enabled(&table)?;
    }
    match &alter.action {
        AlterTableAction::Add { check, elements } => {
            add(&table, elements, *check != Some(false), cx)
        }
        AlterTableAction::AlterColumn(column) => alter_column(&table, column, cx),
        AlterTableAction::Drop(elements) => drop(table, elements, cx),
        AlterTableAction::CheckConstraint { validate, enable, names } => {
            enable_constraints(&table, names, *enable, *validate == Some(true), cx)
        }
        AlterTableAction::Trigger { enable, names } => {
            super::trigger::enable_on(&table, names, *enable, cx)
        }
        AlterTableAction::Rebuild { partition, options } => {
            rebuild::table(&table, options, (partition, values), cx)
        }
        AlterTableAction::AlterColumnProperty { column, add, property } => match &**property {
            "HIDDEN" => versioned::set_hidden(&table, column, *add, cx),
            "NOT FOR REPLICATION" => spare_replication(&table, column, *add, cx),
            _ => refuse("ALTER COLUMN .. ADD and DROP"),
        },
        AlterTableAction::AlterIndex { index, options } => {
            super::index::alter_inline(&table, index, options, cx)
        }
        AlterTableAction::Set(options) => versioning::set(&table, options, cx),
        // Done above: it needs no change of the definition.
        AlterTableAction::Switch { .. } => Ok(()),
    }
}

/// Runs `ALTER COLUMN c ADD | DROP NOT FOR REPLICATION`, for an identity column.
///
/// # Errors
/// 4924 for an unknown column; 40517 for a column without IDENTITY.
fn spare_replication(
    table: &Arc<TableDef>,
    column: &ast::Ident,
    add: bool,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let missing = || Msg::AlterColumnNotFound("ALTER TABLE ALTER COLUMN", column, &table.name);
    let place = table.column(column).ok_or_else(missing)?;
    let mut next = TableDef::clone(table);
    match next.columns.get_mut(place) {
        Some(defined) if defined.identity.is_some() => defined.not_for_replication = add,
        _ => return refuse("NOT FOR REPLICATION of a column without IDENTITY"),
    }
    table::replace(next, cx)
}

fn place<'a>(table: &'a TableDef, source: &'a str) -> Place<'a> {
    Place {
        id: table.id,
        database_id: table.database_id,
        schema: (table.schema_id, table.schema.clone()),
        name: &table.name,
        source,
        created: created(),
    }
}

/// Returns the name of the table's database, for the binder.
fn database_of(table: &TableDef, cx: &Cx<'_>) -> String {
    let found = cx.session.catalog.database_by_id(table.database_id).filter(|_| table.id > 0);
    found.map_or_else(|| cx.session.identity.database.to_string(), |d| d.name.clone())
}

fn add(
    table: &Arc<TableDef>,
    elements: &[TableElement],
    validate: bool,
    cx: &mut Cx<'_>,
) -> Result<()> {
    for key in skipped(elements, &table.name) {
        fault::sent_message(cx, &Error::from(Msg::ForeignKeySkipped(key)))?;
    }
    if elements.iter().any(|element| matches!(element, TableElement::Index(_))) {
        super::index::check_inline(table, "ALTER TABLE ADD INDEX")?;
    }
    let mut next = {
        let database = database_of(table, cx);
        let context = compile::binding::bare_context(cx.session, &database);
        let binder = context.binder();
        let instance = &cx.session.instance;
        let place = place(table, &cx.source);
        let shaper = Shaper::new(&binder, &instance.catalog, &instance.store, place);
        let mut shaper = shaper.asking(&cx.session.identity.rights);
        shaper.adopt(table);
        for element in elements {
            if let TableElement::Column(column) = element {
                shaper.column(column)?;
                shaper.check_width()?;
            }
        }
        for element in elements {
            shaper.element(element)?;
        }
        shaper.changed(table)?
    };
    check_new_keys(table, &next)?;
    super::trigger::check_new_cascades(table, &next, cx)?;
    number_new_indexes(table, &mut next)?;
    if !validate {
        next.checks[table.checks.len()..].iter_mut().for_each(|c| c.trusted = false);
        let new = &mut next.foreign_keys[table.foreign_keys.len()..];
        new.iter_mut().for_each(|key| key.trusted = false);
    }
    if next.columns.len() == table.columns.len() {
        return add_constraints(table, next, validate, cx);
    }
    check_fillable(table, &next)?;
    let with_values: Vec<&ast::Ident> = elements.iter().filter_map(filled_column).collect();
    let sources = next.columns.iter().enumerate().map(|(i, column)| {
        let fills = !column.ty.nullable || with_values.iter().any(|n| Name::same(n, &column.name));
        match i < table.columns.len() {
            true => Rewrite::Keep(i),
            false if fills => Rewrite::Default,
            false => Rewrite::NullUnlessMade,
        }
    });
    let sources = sources.collect();
    rewrite(table, next, sources, validate, "ALTER TABLE", cx)
}

/// Returns the column of an element whose default fills existing rows: WITH VALUES.
fn filled_column(element: &TableElement) -> Option<&ast::Ident> {
    let TableElement::Column(column) = element else { return None };
    let fills = |option: &ColumnOption| match option {
        ColumnOption::Constraint(constraint) => {
            matches!(constraint.kind, ConstraintKind::Default { with_values: true, .. })
        }
        _ => false,
    };
    column.options.iter().any(fills).then_some(&column.name)
}

/// Checks that the columns of a new primary key are NOT NULL.
fn check_new_keys(before: &TableDef, after: &TableDef) -> Result<()> {
    for index in &after.indexes[before.indexes.len()..] {
        let primary = index.constraint == Some(IndexConstraint::PrimaryKey);
        let nullable = |(c, _): &(u16, bool)| {
            before.columns.get(usize::from(*c)).is_some_and(|c| c.ty.nullable)
        };
        if primary && index.keys.iter().any(nullable) {
            return Err(Msg::PrimaryKeyNullable(&before.name).into());
        }
    }
    Ok(())
}

/// Numbers new indexes. Storage identifies an index by its id, so ids continue after the existing
/// ones; the clustered index is 1.
fn number_new_indexes(before: &TableDef, after: &mut TableDef) -> Result<()> {
    let mut clustered = before.all_indexes().any(|i| i.clustered);
    let mut highest = before.highest_index_id();
    for index in &mut after.indexes[before.indexes.len()..] {
        if index.clustered && clustered {
            if index.constraint.is_none() {
                return Err(Msg::MultipleClustered(&before.name).into());
            }
            index.clustered = false;
        }
        clustered |= index.clustered;
        highest += i32::from(!index.clustered);
        index.id = if index.clustered { 1 } else { highest };
    }
    Ok(())
}

/// Checks that a new NOT NULL column has a value for existing rows.
fn check_fillable(before: &TableDef, after: &TableDef) -> Result<()> {
    for column in &after.columns[before.columns.len()..] {
        let made = column.default.is_some()
            || column.identity.is_some()
            || column.computed.is_some()
            || column.ty.data_type == DataType::RowVersion;
        if !column.ty.nullable && !made && before.rows.data.row_count() > 0 {
            return Err(Msg::AddColumnNotNull(&column.name, &before.name).into());
        }
    }
    Ok(())
}

/// Adds keys, checks, foreign keys and defaults; the columns do not change.
fn add_constraints(
    before: &Arc<TableDef>,
    after: TableDef,
    validate: bool,
    cx: &mut Cx<'_>,
) -> Result<()> {
    if validate {
        let checks = after.checks[before.checks.len()..].iter().map(|c| c.name.as_str());
        let foreign = after.foreign_keys[before.foreign_keys.len()..].iter();
        let names: Vec<&str> = checks.chain(foreign.map(|f| f.name.as_str())).collect();
        check_rows(&Arc::new(after.clone()), &names, cx)?;
    }
    versioned::check_period(before, &after, cx)?;
    for index in &after.indexes[before.indexes.len()..] {
        build_index(&after, index, cx)?;
    }
    publish(after, cx)
}

fn build_index(table: &TableDef, index: &IndexDef, cx: &mut Cx<'_>) -> Result<()> {
    let spec = index_spec(index, &table.columns, &table.layout);
    let duplicate = match cx.session.build_index(&table.rows.data, spec) {
        Ok(()) => return Ok(()),
        Err(storage::Error::Unique { key, .. }) => super::duplicate_key(table, index, &key, cx)?,
        Err(other) => return Err(fault::raise(cx, other)),
    };
    not_created(duplicate, index, cx)
}

/// Ends a statement whose new index found duplicates. A constraint's failure takes two messages.
fn not_created(duplicate: Error, index: &IndexDef, cx: &mut Cx<'_>) -> Result<()> {
    if index.constraint.is_none() {
        return Err(duplicate);
    }
    say_first(duplicate, cx)?;
    Err(Msg::ConstraintNotCreated.into())
}

/// Finds the new index whose uniqueness the copied rows violate, and returns its error 1505.
fn new_duplicate<'t>(
    before: &TableDef,
    after: &'t TableDef,
    error: &Error,
) -> Option<(Error, &'t IndexDef)> {
    if !matches!(error.number, 2601 | 2627) {
        return None;
    }
    let is_new = |index: &&IndexDef| before.indexes.iter().all(|old| old.id != index.id);
    let named = |index: &&IndexDef| error.message.contains(&format!("'{}'", index.name));
    let index = after.indexes.iter().find(|index| is_new(index) && named(index))?;
    let (_, key) = error.message.rsplit_once(" is ")?;
    let key = key.trim_end_matches('.');
    Some((Msg::CreateUniqueDuplicate(&after.qualified_name(), &index.name, key).into(), index))
}

/// Checks existing rows against the named constraints.
fn check_rows(table: &Arc<TableDef>, names: &[&str], cx: &mut Cx<'_>) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let database = database_of(table, cx);
    let bound = {
        let context = compile::binding::bare_context(cx.session, &database);
        bind_validation(&mut context.binder(), table, names)?
    };
    dml::validate(&bound, cx).map_err(|error| in_words_of("ALTER TABLE", error))
}

/// Replaces the statement's name in error 547: the check ran as an INSERT.
fn in_words_of(statement: &str, error: Error) -> Error {
    let body = error.clone().into_body();
    let words =
        body.message.replacen("The INSERT statement", &format!("The {statement} statement"), 1);
    if words == body.message {
        return error;
    }
    Error::custom(body.number, body.severity, body.state, words)
}

/// Rewrites the table's rows: with other columns, or in another storage format.
pub(crate) fn rewrite(
    before: &Arc<TableDef>,
    after: TableDef,
    sources: Vec<Rewrite>,
    validate: bool,
    statement: &str,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let Some(history) = versioning::history_of(before, cx) else {
        let Some(after) = refill(before, after, &sources, (validate, statement), cx)? else {
            return Ok(());
        };
        publish(after, cx)?;
        cx.session.note_gone(&before.rows.data);
        return Ok(());
    };
    table::close(&history, cx)?;
    let next = versioned::follow(&history, &after, &sources)?;
    let Some(after) = refill(before, after, &sources, (validate, statement), cx)? else {
        return Ok(());
    };
    let Some(next) = refill(&history, next, &sources, (false, statement), cx)? else {
        return Ok(());
    };
    versioned::publish(after, next, cx)?;
    cx.session.note_gone(&before.rows.data);
    cx.session.note_gone(&history.rows.data);
    Ok(())
}

/// Fills a new row store with the table's rows. `None` if a new key found duplicates, which have
/// been reported inside TRY.
fn refill(
    before: &Arc<TableDef>,
    mut after: TableDef,
    sources: &[Rewrite],
    (validate, statement): (bool, &str),
    cx: &mut Cx<'_>,
) -> Result<Option<TableDef>> {
    let instance = Arc::clone(&cx.session.instance);
    after.layout = layout_of(&after.columns);
    let shape = RowShape {
        columns: &after.columns,
        indexes: &after.indexes,
        layout: &after.layout,
        memory_optimized: after.memory_optimized,
        has_columns: after.columnstore.is_some(),
        durable: after.is_durable(),
        restored: None,
    };
    after.rows = create_rows(&instance.store, &instance.catalog, &shape)?;
    cx.session.note_made(after.rows.data.id());
    if let Err(error) = fill(before, &Arc::new(after.clone()), sources, validate, cx) {
        return match new_duplicate(before, &after, &error) {
            Some((duplicate, index)) => not_created(duplicate, index, cx).map(|()| None),
            None => Err(in_words_of(statement, error)),
        };
    }
    versioned::check_period(before, &after, cx)?;
    Ok(Some(after))
}

/// Copies the rows, in the session's open transaction if there is one.
fn fill(
    before: &Arc<TableDef>,
    after: &Arc<TableDef>,
    sources: &[Rewrite],
    validate: bool,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let database = database_of(before, cx);
    let insert = {
        let context = compile::binding::bare_context(cx.session, &database);
        bind_rewrite(&mut context.binder(), before, after, sources, validate)?
    };
    let session = &mut *cx.session;
    let identity_insert = session.held.identity_insert.replace(after.id);
    let keeps_identity = before.columns.iter().any(|c| c.identity.is_some());
    if !keeps_identity {
        session.held.identity_insert = None;
    }
    let row_limit = std::mem::take(&mut session.options.row_count);
    let filled = dml::run_insert(&insert, cx);
    let session = &mut *cx.session;
    session.options.row_count = row_limit;
    session.held.identity_insert = identity_insert;
    filled?;
    if keeps_identity {
        after.rows.identity.set(before.rows.identity.peek());
        after.rows.identity.settle();
    }
    Ok(())
}

/// Replaces the old definition with the changed one.
fn publish(after: TableDef, cx: &mut Cx<'_>) -> Result<()> {
    let referenced: Vec<i32> = after.foreign_keys.iter().map(|key| key.referenced).collect();
    let (id, database_id) = (after.id, after.database_id);
    table::replace(after, cx)?;
    if id > 0 {
        table::mark_all_referenced(database_id, &referenced, cx)?;
    }
    cx.session.refresh_catalog();
    Ok(())
}

fn find_constraint(table: &TableDef, name: &str) -> Option<Named> {
    let same = |other: &str| Name::same(other, name);
    let index = table.all_indexes().find(|i| i.constraint.is_some() && same(&i.name));
    let check = || table.checks.iter().position(|c| same(&c.name)).map(Named::Check);
    let foreign = || table.foreign_keys.iter().position(|f| same(&f.name)).map(Named::ForeignKey);
    let default = || {
        let named = |c: &ColumnDef| c.default.as_ref().is_some_and(|d| same(&d.name));
        table.columns.iter().position(named).map(Named::Default)
    };
    index.map(|index| Named::Index(index.id)).or_else(check).or_else(foreign).or_else(default)
}

fn drop(table: Arc<TableDef>, elements: &[ast::DropElement], cx: &mut Cx<'_>) -> Result<()> {
    let mut table = table;
    for element in elements {
        match element.kind {
            DropElementKind::Constraint => drop_constraint(&table, element, cx)?,
            DropElementKind::Column => drop_column(&table, element, cx)?,
            DropElementKind::Index => super::index::drop_inline(&table, element, cx)?,
            DropElementKind::Period => versioned::drop_period(&table, cx)?,
        }
        let (id, name) = (table.id, table.database_id);
        let found = if id < 0 {
            cx.session.temp.find(&table.name)
        } else {
            cx.session.catalog.database_by_id(name).and_then(|d| d.table_by_id(id)).cloned()
        };
        table = found.ok_or_else(|| Error::from(Msg::AlterTableNotFound(&table.name)))?;
    }
    Ok(())
}

fn drop_constraint(
    table: &Arc<TableDef>,
    element: &ast::DropElement,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let options = DropOptions::new(&element.options, "ALTER TABLE")?;
    let mut next = TableDef::clone(table);
    match find_constraint(table, &element.name) {
        None if element.if_exists => return Ok(()),
        None => {
            say_first(Msg::NotAConstraint(&element.name).into(), cx)?;
            return Err(Msg::CannotDropConstraint.into());
        }
        Some(Named::Index(id)) => {
            let index = table.all_indexes().find(|index| index.id == id);
            return drop_key(table, index.ok_or(Msg::InternalError)?, (element, &options), cx);
        }
        Some(Named::Check(place)) => drop_at(&mut next.checks, place),
        Some(Named::ForeignKey(place)) => drop_at(&mut next.foreign_keys, place),
        Some(Named::Default(place)) => next.columns[place].default = None,
    }
    publish(next, cx)
}

/// Drops a PRIMARY KEY or UNIQUE constraint with its index.
fn drop_key(
    table: &Arc<TableDef>,
    index: &IndexDef,
    (element, options): (&ast::DropElement, &DropOptions<'_>),
    cx: &mut Cx<'_>,
) -> Result<()> {
    if index.constraint == Some(IndexConstraint::PrimaryKey) && table.is_versioned() {
        return refuse("dropping the primary key of a system-versioned table");
    }
    if let Some((other, key)) = referring_key(table, index, cx) {
        let why = Msg::ConstraintReferenced(&element.name, &other, &key);
        say_first(why.into(), cx)?;
        return Err(Msg::CannotDropConstraint.into());
    }
    if !index.clustered
        && let Err(error) = options.check_nonclustered(&element.name)
    {
        say_first(error, cx)?;
        return Err(Msg::CannotDropConstraint.into());
    }
    let next = super::index::without(table, index, options, cx)?;
    publish(next.clone(), cx)?;
    super::index::forget(table, index, next, cx)?;
    cx.session.refresh_catalog();
    Ok(())
}

fn drop_at<T>(list: &mut Vec<T>, place: usize) {
    list.remove(place);
}

/// Sends the message that precedes the one that ends the statement; inside TRY only the last
/// counts.
pub(crate) fn say_first(error: Error, cx: &mut Cx<'_>) -> Result<()> {
    if cx.session.request.try_depth > 0 {
        return Ok(());
    }
    let error = error.at_line(cx.session.request.line);
    fault::sent_message(cx, &error)
}

/// Finds a foreign key, of any table, that references the key.
fn referring_key(table: &TableDef, index: &IndexDef, cx: &Cx<'_>) -> Option<(String, String)> {
    let database = cx.session.catalog.database_by_id(table.database_id)?;
    let columns: Vec<u16> = index.keys.iter().map(|(c, _)| *c).collect();
    database.tables().find_map(|other| {
        let key = other.foreign_keys.iter().find(|key| {
            key.referenced == table.id
                && key.referenced_columns.len() == columns.len()
                && key.referenced_columns.iter().all(|c| columns.contains(c))
        })?;
        Some((other.name.clone(), key.name.clone()))
    })
}

fn ordinal_of(table: &TableDef, name: &str, statement: &str) -> Result<u16> {
    let found = table.column(name).and_then(|place| u16::try_from(place).ok());
    found.ok_or_else(|| Msg::AlterColumnNotFound(statement, name, &table.name).into())
}

fn drop_column(table: &Arc<TableDef>, element: &ast::DropElement, cx: &mut Cx<'_>) -> Result<()> {
    const STATEMENT: &str = "ALTER TABLE DROP COLUMN";
    if element.if_exists && table.column(&element.name).is_none() {
        return Ok(());
    }
    let ordinal = ordinal_of(table, &element.name, STATEMENT)?;
    check_free(table, (ordinal, OwnDefault::Blocks), STATEMENT, cx)?;
    if table.columns.len() == 1 {
        return Err(Msg::OnlyDataColumn(&element.name, &table.name).into());
    }
    let mut next = TableDef::clone(table);
    next.columns.remove(usize::from(ordinal));
    let moved = |c: &mut u16| *c -= u16::from(*c > ordinal);
    for index in next.all_indexes_mut() {
        index.keys.iter_mut().for_each(|(c, _)| moved(c));
        index.included.iter_mut().for_each(moved);
        let renumbered =
            |f: &Arc<IndexFilter>| Arc::new(f.renumbered(|c| c - u16::from(c > ordinal)));
        index.filter = index.filter.as_ref().map(renumbered);
    }
    let columns = next.column_index.iter_mut().chain(&mut next.disabled_columns);
    columns.flat_map(|index| &mut index.columns).for_each(moved);
    next.placements_mut().map(|on| &mut on.column).for_each(moved);
    next.checks.iter_mut().filter_map(|c| c.column.as_mut()).for_each(moved);
    next.statistics.iter_mut().flat_map(|s| &mut s.columns).for_each(moved);
    next.period.iter_mut().flat_map(|p| [&mut p.start, &mut p.end]).for_each(moved);
    for key in &mut next.foreign_keys {
        key.columns.iter_mut().for_each(moved);
        if key.referenced == table.id {
            key.referenced_columns.iter_mut().for_each(moved);
        }
    }
    let kept = (0..table.columns.len()).filter(|i| *i != usize::from(ordinal));
    let sources = kept.map(Rewrite::Keep).collect();
    let (id, database_id) = (table.id, table.database_id);
    rewrite(table, next, sources, false, STATEMENT, cx)?;
    if id > 0 {
        let database = database_of(table, cx);
        super::change_database(cx.session, &database, |database| {
            database.forget_column(id, i32::from(ordinal) + 1);
            Ok(())
        })?;
    }
    if id > 0 && table.referenced {
        table::move_references(database_id, id, ordinal, cx)?;
    }
    Ok(())
}

/// Returns true if a type only becomes longer, so that all values and keys stay the same.
fn only_longer(before: &DataType, after: &DataType) -> bool {
    let longer = |a: &Length, b: &Length| match (a, b) {
        (_, Length::Max) => true,
        (Length::Max, Length::Limited(_)) => false,
        (Length::Limited(a), Length::Limited(b)) => a <= b,
    };
    match (before, after) {
        (DataType::VarChar(a), DataType::VarChar(b))
        | (DataType::NVarChar(a), DataType::NVarChar(b))
        | (DataType::VarBinary(a), DataType::VarBinary(b)) => longer(a, b),
        (a, b) => a == b,
    }
}

fn alter_column(
    table: &Arc<TableDef>,
    column: &ast::ColumnDefinition,
    cx: &mut Cx<'_>,
) -> Result<()> {
    const STATEMENT: &str = "ALTER TABLE ALTER COLUMN";
    let ordinal = ordinal_of(table, &column.name, STATEMENT)?;
    let place = usize::from(ordinal);
    let before = &table.columns[place];
    if before.computed.is_some() {
        return Err(Msg::CannotAlterColumn(&column.name, "COMPUTED").into());
    }
    if before.ty.data_type == DataType::RowVersion {
        return Err(Msg::CannotAlterColumn(&column.name, "timestamp").into());
    }
    let mut defined = {
        let database = database_of(table, cx);
        let context = compile::binding::bare_context(cx.session, &database);
        let binder = context.binder();
        let instance = &cx.session.instance;
        let place = self::place(table, &cx.source);
        let shaper = Shaper::new(&binder, &instance.catalog, &instance.store, place);
        shaper.one_column(column)?
    };
    // Neither NULL nor NOT NULL: unlike a new column, it becomes nullable, and is never trimmed.
    let says_null =
        |o: &ast::ColumnOption| matches!(o, ast::ColumnOption::Null | ast::ColumnOption::NotNull);
    if defined.user_type.is_none() && !column.options.iter().any(says_null) {
        defined.ty.nullable = defined.ty.data_type != DataType::RowVersion;
    }
    defined.trims = false;
    defined.identity = before.identity;
    defined.default.clone_from(&before.default);
    defined.row_guid = before.row_guid;
    defined.not_for_replication = before.not_for_replication;
    if defined.identity.is_some() {
        defined.ty.nullable = false;
    }
    let same_collation =
        !defined.ty.data_type.is_string() || defined.ty.collation == before.ty.collation;
    let in_primary = table.all_indexes().any(|i| {
        i.constraint == Some(IndexConstraint::PrimaryKey)
            && i.keys.iter().any(|(c, _)| *c == ordinal)
    });
    let places_rows = table.placements().any(|on| on.column == ordinal);
    let harmless = !places_rows
        && only_longer(&before.ty.data_type, &defined.ty.data_type)
        && same_collation
        && (!in_primary || !defined.ty.nullable);
    if !harmless {
        let kind = |ty: &DataType| std::mem::discriminant(ty);
        let own = match kind(&before.ty.data_type) == kind(&defined.ty.data_type) {
            true => OwnDefault::Stays,
            false => OwnDefault::Blocks,
        };
        check_free(table, (ordinal, own), STATEMENT, cx)?;
    }
    let mut next = TableDef::clone(table);
    next.columns[place] = defined;
    let sources = (0..table.columns.len()).map(Rewrite::Keep).collect();
    rewrite(table, next, sources, false, "ALTER TABLE", cx)
}

fn enable_constraints(
    table: &Arc<TableDef>,
    names: &[ast::Ident],
    enable: bool,
    validate: bool,
    cx: &mut Cx<'_>,
) -> Result<()> {
    // A constraint that is enabled without a check of the rows is not trusted. One that was enabled and trusted stays
    // so: the scripts that management tools write enable each constraint again after they have added it.
    let trusted = |was_enabled, was_trusted| enable && (validate || was_enabled && was_trusted);
    let mut next = TableDef::clone(table);
    let mut changed: Vec<String> = Vec::new();
    if names.is_empty() {
        next.checks
            .iter_mut()
            .for_each(|c| (c.enabled, c.trusted) = (enable, trusted(c.enabled, c.trusted)));
        next.foreign_keys
            .iter_mut()
            .for_each(|k| (k.enabled, k.trusted) = (enable, trusted(k.enabled, k.trusted)));
        changed.extend(next.checks.iter().map(|c| c.name.clone()));
        changed.extend(next.foreign_keys.iter().map(|k| k.name.clone()));
    }
    for name in names {
        match find_constraint(table, name) {
            Some(Named::Check(place)) => {
                let check = &mut next.checks[place];
                (check.enabled, check.trusted) = (enable, trusted(check.enabled, check.trusted));
            }
            Some(Named::ForeignKey(place)) => {
                let key = &mut next.foreign_keys[place];
                (key.enabled, key.trusted) = (enable, trusted(key.enabled, key.trusted));
            }
            Some(Named::Index(_) | Named::Default(_)) | None => {
                return Err(Msg::ConstraintMissing(name).into());
            }
        }
        changed.push(name.to_string());
    }
    if enable {
        check_referenced_keys(&next, &changed, cx)?;
    }
    if enable && validate {
        let names: Vec<&str> = changed.iter().map(String::as_str).collect();
        check_rows(&Arc::new(next.clone()), &names, cx)?;
    }
    publish(next, cx)
}

/// Checks that the keys to which foreign keys refer are enabled.
fn check_referenced_keys(table: &TableDef, names: &[String], cx: &Cx<'_>) -> Result<()> {
    let Some(database) = cx.session.catalog.database_by_id(table.database_id) else {
        return Ok(());
    };
    for key in table.foreign_keys.iter().filter(|key| names.contains(&key.name)) {
        if let Some(target) = database.table_by_id(key.referenced) {
            disable::check_key_enabled(key, target)?;
        }
    }
    Ok(())
}
