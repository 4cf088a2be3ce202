//! CREATE, ALTER, ENABLE and DISABLE TRIGGER, for DML triggers.

use std::sync::Arc;

use tsql::ast::{self, RoutineOption, TriggerTarget, TriggerTiming};
use types::{Error, Msg, Result};

use super::module::{execute_as, present};
use super::{change_database, check_no_database, ddl_trigger, table, target};
use ::catalog::name::Name;
use ::catalog::{
    DdlEvent, ForeignKeyDef, ModuleDef, ModuleSchema, Object, ReferenceAction, TableDef,
};
use ::compile::function::compile_trigger;
use ::compile::refuse;
use ::executor::Cx;

pub(crate) fn create(
    create: &ast::CreateTrigger,
    statement: &ast::Statement,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let TriggerTarget::Table(on) = &create.target else {
        return ddl_trigger::create(create, statement, cx);
    };
    check_options(create)?;
    check_events(create)?;
    if on.is_temporary() {
        return Err(Msg::TriggerOnTemporary.into());
    }
    let current = &cx.session.identity.database;
    if on.database.as_deref().is_some_and(|named| !Name::same(named, current)) {
        return Err(Msg::TriggerElsewhere(&on.to_string()).into());
    }
    let view = view_of(on, create.timing, cx)?;
    let table = match &view {
        Some(shape) => Arc::clone(shape),
        None => table::find_alone(on, cx)
            .map_err(|_| Error::from(Msg::InvalidForOperation(&on.to_string())))?,
    };
    check_no_database(&create.name, "CREATE/ALTER TRIGGER")?;
    let mut name = create.name.clone();
    // A trigger is in its table's schema.
    if name.schema.is_none() {
        name.schema = Some(ast::Ident::new(&*table.schema, ast::Quoting::Brackets, on.span));
    }
    if name.database.is_none() {
        name.database.clone_from(&on.database);
    }
    let to = target(&name, cx)?;
    if !Name::same(&to.schema, &table.schema) {
        return Err(Msg::TriggerSchema(&create.name.to_string()).into());
    }
    check_versioned_target(create, &table, view.is_some(), cx)?;
    let kind = if view.is_some() { "view" } else { "table" };
    check_instead(create, (&table, kind), &to.name, cx)?;
    let (on, source) = (Some(&*table), (&*cx.source, ModuleSchema::from(&*table)));
    let body = compile_trigger(cx.session, create, on, source, &to.database)?;
    ::compile::check::check_module(cx.session, body, &to.name)?;
    let execute_as = execute_as(&create.options, &to, cx)?;
    let options = cx.session.options.of_module();
    let instance = Arc::clone(&cx.session.instance);
    let text = cx.source.clone();
    change_database(cx.session, &to.database, |database| {
        let found = present(database, &to, create.mode, |object| match object {
            Object::Trigger(trigger) if trigger.parent_id == table.id => {
                Some(trigger.created.clone())
            }
            _ => None,
        })?;
        database.put(Object::Trigger(Arc::new(ModuleDef {
            id: found.id.unwrap_or_else(|| instance.catalog.next_object_id()),
            database_id: database.id,
            schema: to.schema.clone(),
            schema_id: table.schema_id,
            name: to.name.clone(),
            text,
            ast: statement.clone(),
            parent_id: table.id,
            type_code: "TR",
            created: found.created,
            routine: None,
            disabled: false,
            order: Vec::new(),
            shape: view.clone(),
            execute_as,
            options,
        })));
        Ok(())
    })
}

/// A table of history has no trigger, a table with history none INSTEAD OF a statement.
fn check_versioned_target(
    create: &ast::CreateTrigger,
    table: &TableDef,
    is_view: bool,
    cx: &Cx<'_>,
) -> Result<()> {
    let state = match create.timing {
        _ if table.is_history() => 1,
        TriggerTiming::InsteadOf if table.is_versioned() && !is_view => 2,
        _ => return Ok(()),
    };
    Err(Error::from(Msg::TriggerOnVersioned(&cx.qualified(table))).with_state(state))
}

pub(crate) fn check_options(create: &ast::CreateTrigger) -> Result<()> {
    if create.append {
        return refuse("WITH APPEND");
    }
    for option in &create.options {
        match option {
            RoutineOption::SchemaBinding
            | RoutineOption::Encryption
            | RoutineOption::ExecuteAs(_) => {}
            RoutineOption::NativeCompilation => return refuse("natively compiled triggers"),
            RoutineOption::Recompile => return refuse("RECOMPILE of a trigger"),
            RoutineOption::ReturnsNullOnNullInput => {
                return refuse("RETURNS NULL ON NULL INPUT of a trigger");
            }
            RoutineOption::CalledOnNullInput => {
                return refuse("CALLED ON NULL INPUT of a trigger");
            }
            RoutineOption::Inline(_) => return refuse("INLINE of a trigger"),
        }
    }
    Ok(())
}

/// Checks that the events are changes of rows, each once.
fn check_events(create: &ast::CreateTrigger) -> Result<()> {
    for (place, name) in create.events.iter().enumerate() {
        if !matches!(&**name, "INSERT" | "UPDATE" | "DELETE") {
            let is_known = &**name == "LOGON" || DdlEvent::find(name).is_some();
            return Err(match is_known {
                true => Msg::EventTypeNotValid.into(),
                false => Msg::InvalidEventType(&create.events_written[place]).into(),
            });
        }
        if create.events[..place].contains(name) {
            return Err(Msg::TriggerActionTwice(name).into());
        }
    }
    Ok(())
}

/// Refuses system versioning of a table that has INSTEAD OF triggers.
///
/// # Errors
/// 13569 if it has one.
pub(crate) fn check_versioned(table: &TableDef, cx: &Cx<'_>) -> Result<()> {
    let database = cx.session.catalog.database_by_id(table.database_id);
    let mut triggers = database.into_iter().flat_map(|d| d.triggers_on(table.id));
    if triggers.any(|(_, create)| create.timing == TriggerTiming::InsteadOf) {
        return Err(Msg::TriggerOnVersioned(&cx.qualified(table)).into());
    }
    Ok(())
}

/// Returns the columns of the trigger's view, if it is on a view.
fn view_of(
    on: &ast::ObjectName,
    timing: TriggerTiming,
    cx: &mut Cx<'_>,
) -> Result<Option<Arc<TableDef>>> {
    if on.schema.is_some() {
        target(on, cx)?;
    }
    let Some((database, schema)) = crate::find_place(on, cx) else { return Ok(None) };
    let Some(Object::View(view)) = database.object(schema, &on.object) else { return Ok(None) };
    let ast::StatementKind::CreateView(definition) = &view.ast.kind else { return Ok(None) };
    if timing == TriggerTiming::After || definition.check_option {
        return Err(Msg::InvalidForOperation(&on.to_string()).into());
    }
    ::compile::table::shape_of_view(cx.session, database, view).map(Some)
}

/// Updates the columns of `inserted` and `deleted` in a view's triggers.
pub(crate) fn refresh_shapes(view: &ModuleDef, cx: &mut Cx<'_>) -> Result<()> {
    let Some(database) = cx.session.catalog.database_by_id(view.database_id).map(Arc::clone) else {
        return Ok(());
    };
    if database.triggers_on(view.id).next().is_none() {
        return Ok(());
    }
    let shape = ::compile::table::shape_of_view(cx.session, &database, view)?;
    change_database(cx.session, &database.name, |database| {
        let own: Vec<Arc<ModuleDef>> =
            database.triggers_on(view.id).map(|(trigger, _)| Arc::clone(trigger)).collect();
        for trigger in own {
            let shape = Some(Arc::clone(&shape));
            let changed = ModuleDef { shape, ..ModuleDef::clone(&trigger) };
            database.put(Object::Trigger(Arc::new(changed)));
        }
        Ok(())
    })
}

/// Checks that new foreign keys do not cascade to a table with an INSTEAD OF trigger for that
/// action.
pub(crate) fn check_new_cascades(before: &TableDef, after: &TableDef, cx: &Cx<'_>) -> Result<()> {
    let Some(database) = cx.session.catalog.database_by_id(after.database_id) else {
        return Ok(());
    };
    let instead = database
        .triggers_on(after.id)
        .filter(|(_, create)| create.timing == TriggerTiming::InsteadOf);
    let events: Vec<Box<str>> = instead.flat_map(|(_, create)| create.events.clone()).collect();
    let added = &after.foreign_keys[before.foreign_keys.len()..];
    match added.iter().find(|key| does(key, &events)) {
        Some(key) => Err(Msg::CascadeInstead(&key.name, &after.name).into()),
        None => Ok(()),
    }
}

/// Returns true if a foreign key cascades one of the trigger's events to the rows of its table.
fn does(key: &ForeignKeyDef, events: &[Box<str>]) -> bool {
    let of = |event: &str| events.iter().any(|e| **e == *event);
    (key.on_delete == ReferenceAction::Cascade && of("DELETE"))
        || (key.on_update != ReferenceAction::NoAction && of("UPDATE"))
}

/// Checks that a table has at most one INSTEAD OF trigger per action, and none for an action that a
/// foreign key cascades.
fn check_instead(
    create: &ast::CreateTrigger,
    (table, kind): (&TableDef, &str),
    own: &str,
    cx: &Cx<'_>,
) -> Result<()> {
    if create.timing != TriggerTiming::InsteadOf {
        return Ok(());
    }
    let Some(database) = cx.session.catalog.database_by_id(table.database_id) else {
        return Ok(());
    };
    if table.foreign_keys.iter().any(|key| does(key, &create.events)) {
        return Err(Msg::InsteadCascade(own, &table.name).into());
    }
    for event in &create.events {
        let other = database.triggers_on(table.id).find(|(trigger, other)| {
            other.timing == TriggerTiming::InsteadOf
                && other.events.contains(event)
                && !Name::same(&trigger.name, own)
        });
        if other.is_some() {
            let object = table.qualified_name();
            return Err(Msg::InsteadOfExists("create", own, kind, &object, event).into());
        }
    }
    Ok(())
}

/// `ENABLE | DISABLE TRIGGER names ON table`.
pub(crate) fn enable(statement: &ast::EnableTrigger, cx: &mut Cx<'_>) -> Result<()> {
    let TriggerTarget::Table(on) = &statement.target else {
        return ddl_trigger::enable(statement, cx);
    };
    let table = match view_of(on, TriggerTiming::InsteadOf, cx)? {
        Some(shape) => shape,
        None => table::find_alone(on, cx)?,
    };
    let names: Vec<ast::Ident> = statement.names.iter().map(|n| n.object.clone()).collect();
    enable_on(&table, &names, statement.enable, cx)
}

/// Enables or disables triggers of a table; all of them if no name is given.
pub(crate) fn enable_on(
    table: &TableDef,
    names: &[ast::Ident],
    enable: bool,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let Some(database) = cx.session.catalog.database_by_id(table.database_id) else {
        return Err(Msg::AlterTableNotFound(&table.name).into());
    };
    let name = database.name.clone();
    change_database(cx.session, &name, |database| {
        let own: Vec<Arc<ModuleDef>> =
            database.triggers_on(table.id).map(|(trigger, _)| Arc::clone(trigger)).collect();
        for name in names {
            if !own.iter().any(|trigger| Name::same(&trigger.name, name)) {
                return Err(Msg::AlterTableNotFound(name).into());
            }
        }
        let wanted = |trigger: &&Arc<ModuleDef>| {
            names.is_empty() || names.iter().any(|name| Name::same(&trigger.name, name))
        };
        for trigger in own.iter().filter(wanted) {
            let changed = ModuleDef { disabled: !enable, ..ModuleDef::clone(trigger) };
            database.put(Object::Trigger(Arc::new(changed)));
        }
        Ok(())
    })
}
