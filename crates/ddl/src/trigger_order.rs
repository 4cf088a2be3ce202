//! sp_settriggerorder: makes a trigger the first or the last to fire for an event.

use std::sync::Arc;

use tsql::ast::{CreateTrigger, ObjectName, StatementKind, TriggerTiming};
use types::{Msg, Result};

use super::change_database;
use ::catalog::name::Name;
use ::catalog::{Catalog, Database, DdlEvent, ModuleDef, Object, TriggerPlace};
use ::executor::Cx;

/// `@namespace` of sp_settriggerorder: where the trigger is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// NULL: on a table or view.
    Table,
    /// 'DATABASE': on the current database.
    Database,
    /// 'SERVER': on the server.
    Server,
}

/// An order as the caller wrote it, for messages, and as it is meant.
pub struct Wanted<'a> {
    /// The name of the trigger, as `@triggername` has it.
    pub trigger: &'a str,
    /// The word for the place, as `@order` has it.
    pub order: &'a str,
    /// The place that `@order` names.
    pub place: TriggerPlace,
    /// The statement or DDL event, as `@stmttype` has it.
    pub statement: &'a str,
}

/// Sets the place of a trigger.
///
/// # Errors
/// 15165 if there is no such trigger, or without permission; 15133 for an INSTEAD OF trigger; 15125 if
/// it does not fire for the statement; 15130 if another trigger has the place.
pub fn set(namespace: Namespace, wanted: &Wanted<'_>, cx: &mut Cx<'_>) -> Result<()> {
    let name = tsql::parse_object_name(wanted.trigger).map_err(|_| missing(wanted))?;
    let found = match namespace {
        Namespace::Table => of_table(&name, cx),
        Namespace::Database | Namespace::Server if name.schema.is_some() => None,
        Namespace::Database => of_database(&name, cx),
        Namespace::Server => of_server(&name, cx),
    };
    let found = found.ok_or_else(|| missing(wanted))?;
    let event = wanted.statement.to_ascii_uppercase();
    check(&found, namespace, &event, wanted)?;
    let others = |other: &ModuleDef| {
        other.id != found.id
            && other.parent_id == found.parent_id
            && other.place_for(&event) == wanted.place
    };
    let is_taken = wanted.place != TriggerPlace::None && any(namespace, &found, cx, others);
    if is_taken {
        return Err(Msg::TriggerPlaceTaken(wanted.order, wanted.statement).into());
    }
    let mut changed = ModuleDef::clone(&found);
    changed.set_place(&event, wanted.place);
    put(namespace, changed, cx)
}

fn missing(wanted: &Wanted<'_>) -> types::Error {
    Msg::ObjectOrPermission(wanted.trigger).into()
}

/// Finds a trigger of a table or view of the current database which the session may alter.
fn of_table(name: &ObjectName, cx: &Cx<'_>) -> Option<Arc<ModuleDef>> {
    let (database, schema) = super::find_place(name, cx)?;
    if !Name::same(&database.name, &cx.session.identity.database) {
        return None;
    }
    let Object::Trigger(found) = database.object(schema, &name.object)? else { return None };
    let parent = database.object_by_id(found.parent_id)?;
    let rights = &cx.session.identity.rights;
    (rights.is_all() || rights.alters(database, parent)).then(|| Arc::clone(found))
}

fn of_database(name: &ObjectName, cx: &Cx<'_>) -> Option<Arc<ModuleDef>> {
    let database = cx.session.catalog.database(&cx.session.identity.database)?;
    let rights = &cx.session.identity.rights;
    if !rights.is_all() && !rights.has_of_database(database, super::require::DDL_TRIGGERS) {
        return None;
    }
    database.triggers.get(&Name::new(&name.object)).cloned()
}

fn of_server(name: &ObjectName, cx: &Cx<'_>) -> Option<Arc<ModuleDef>> {
    if !cx.session.identity.rights.is_all() {
        return None;
    }
    cx.session.catalog.triggers.get(&Name::new(&name.object)).cloned()
}

fn definition(trigger: &ModuleDef) -> Result<&CreateTrigger> {
    match &trigger.ast.kind {
        StatementKind::CreateTrigger(create) => Ok(create),
        _ => Err(Msg::InternalError.into()),
    }
}

/// Checks that the trigger fires after statements of the type. A DDL trigger may name a group of
/// events; the order is that for one event.
fn check(
    trigger: &ModuleDef,
    namespace: Namespace,
    event: &str,
    wanted: &Wanted<'_>,
) -> Result<()> {
    let create = definition(trigger)?;
    if create.timing == TriggerTiming::InsteadOf {
        return Err(Msg::InsteadOfOrder(wanted.trigger).into());
    }
    let fires = match namespace {
        Namespace::Table => create.events.iter().any(|own| **own == *event),
        Namespace::Database | Namespace::Server => {
            let named = create.events.iter().filter_map(|own| DdlEvent::find(own));
            let wanted = DdlEvent::find(event);
            wanted.is_some_and(|event| named.into_iter().any(|own| own.covers(event)))
        }
    };
    match fires {
        true => Ok(()),
        false => {
            let statement = wanted.statement.to_ascii_lowercase();
            Err(Msg::TriggerNotFor(wanted.trigger, &statement).into())
        }
    }
}

/// Returns whether any trigger of the same table, database or server satisfies a condition.
fn any(
    namespace: Namespace,
    trigger: &ModuleDef,
    cx: &Cx<'_>,
    is_it: impl Fn(&ModuleDef) -> bool,
) -> bool {
    let database = || cx.session.catalog.database_by_id(trigger.database_id);
    match namespace {
        Namespace::Table => {
            database().is_some_and(|d| d.triggers_on(trigger.parent_id).any(|(t, _)| is_it(t)))
        }
        Namespace::Database => database().is_some_and(|d| d.triggers.values().any(|t| is_it(t))),
        Namespace::Server => cx.session.catalog.triggers.values().any(|t| is_it(t)),
    }
}

/// Replaces the definition of a trigger.
fn put(namespace: Namespace, trigger: ModuleDef, cx: &mut Cx<'_>) -> Result<()> {
    let name = Name::new(&trigger.name);
    let database = Arc::clone(&cx.session.identity.database);
    match namespace {
        Namespace::Table => change_database(cx.session, &database, |database: &mut Database| {
            database.put(Object::Trigger(Arc::new(trigger)));
            Ok(())
        }),
        Namespace::Database => change_database(cx.session, &database, |database| {
            database.triggers.insert(name, Arc::new(trigger));
            Ok(())
        }),
        Namespace::Server => cx.session.change_catalog(|catalog: &mut Catalog| {
            catalog.triggers.insert(name, Arc::new(trigger));
            Ok(())
        }),
    }
}
