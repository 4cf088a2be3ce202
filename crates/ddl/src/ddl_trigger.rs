//! CREATE, ALTER, DROP, ENABLE and DISABLE TRIGGER .. ON DATABASE and ON ALL SERVER.

use std::sync::Arc;

use tsql::ast::{self, CreateMode, TriggerTarget, TriggerTiming};
use types::{Error, Msg, Result};

use super::module::{Present, execute_as};
use super::trigger::check_options;
use super::{Target, change_database};
use ::catalog::name::Name;
use ::catalog::{DBO_SCHEMA, DdlEvent, ModuleDef};
use ::compile::refuse;
use ::compile::table::created;
use ::executor::Cx;

/// DDL triggers by name, as the catalog stores them.
type Triggers = std::collections::BTreeMap<Name, Arc<ModuleDef>>;

/// The database in which the body of a server trigger resolves names.
const MASTER: &str = "master";

pub(crate) fn create(
    create: &ast::CreateTrigger,
    statement: &ast::Statement,
    cx: &mut Cx<'_>,
) -> Result<()> {
    check_options(create)?;
    if create.timing == TriggerTiming::InsteadOf {
        return Err(Msg::SyntaxNearKeyword("INSTEAD").into());
    }
    check_events(create)?;
    if let Some(schema) = &create.name.schema {
        return Err(Msg::SyntaxNear(schema).into());
    }
    check_rights(&create.target, cx)?;
    let database = match create.target {
        TriggerTarget::AllServer => MASTER.to_owned(),
        TriggerTarget::Database | TriggerTarget::Table(_) => {
            cx.session.identity.database.to_string()
        }
    };
    let name = create.name.object.to_string();
    let to = Target { database, schema: DBO_SCHEMA.to_owned(), name };
    let source = (&*cx.source, to.module_schema(cx));
    let body =
        ::compile::function::compile_trigger(cx.session, create, None, source, &to.database)?;
    ::compile::check::check_module(cx.session, body, &to.name)?;
    let execute_as = execute_as(&create.options, &to, cx)?;
    let options = cx.session.options.of_module();
    let instance = Arc::clone(&cx.session.instance);
    let (text, ast) = (cx.source.clone(), statement.clone());
    let database_id = cx.session.catalog.database(&to.database).map_or(1, |d| d.id);
    let define = |triggers: &mut Triggers| {
        let found = present(triggers, &to.name, create.mode)?;
        let module = ModuleDef {
            id: found.id.unwrap_or_else(|| instance.catalog.next_object_id()),
            database_id,
            schema: String::new(),
            schema_id: 0,
            name: to.name.clone(),
            text,
            ast,
            parent_id: 0,
            type_code: "TR",
            created: found.created,
            routine: None,
            disabled: false,
            order: Vec::new(),
            shape: None,
            execute_as,
            options,
        };
        triggers.insert(Name::new(&to.name), Arc::new(module));
        Ok(())
    };
    change(&create.target, cx, define)
}

fn present(triggers: &Triggers, name: &str, mode: CreateMode) -> Result<Present> {
    match (triggers.get(&Name::new(name)), mode) {
        (None, CreateMode::Alter) => Err(Error::from(Msg::InvalidObject(name)).with_state(6)),
        (None, _) => Ok(Present { id: None, created: created() }),
        (Some(_), CreateMode::Create) => Err(Msg::ObjectExists(name).into()),
        (Some(module), CreateMode::Alter | CreateMode::CreateOrAlter) => {
            Ok(Present { id: Some(module.id), created: module.created.clone() })
        }
    }
}

/// Checks that the events exist, and that they occur in the trigger's scope.
fn check_events(create: &ast::CreateTrigger) -> Result<()> {
    let on_server = create.target == TriggerTarget::AllServer;
    for (name, written) in create.events.iter().zip(&create.events_written) {
        if **name == *"LOGON" && on_server {
            return refuse("logon triggers");
        }
        let Some(event) = DdlEvent::find(name) else {
            return Err(Msg::InvalidEventType(written).into());
        };
        if !on_server && !event.is_of_database() {
            return Err(Msg::EventTypeNotValid.into());
        }
    }
    Ok(())
}

/// Checks the permission: CONTROL SERVER for a trigger of the server; as for other definitions for
/// one of a database.
fn check_rights(target: &TriggerTarget, cx: &Cx<'_>) -> Result<()> {
    if *target == TriggerTarget::AllServer && !cx.session.identity.rights.is_all() {
        return Err(Msg::NoPermissionForAction.into());
    }
    Ok(())
}

/// Changes the DDL triggers of the session's database, or of the server.
fn change<T>(
    target: &TriggerTarget,
    cx: &mut Cx<'_>,
    edit: impl FnOnce(&mut Triggers) -> Result<T>,
) -> Result<T> {
    match target {
        TriggerTarget::AllServer => {
            cx.session.change_catalog(|catalog| edit(&mut catalog.triggers))
        }
        TriggerTarget::Database | TriggerTarget::Table(_) => {
            let database = Arc::clone(&cx.session.identity.database);
            change_database(cx.session, &database, |database| edit(&mut database.triggers))
        }
    }
}

/// Drops a trigger; returns false if it does not exist.
pub(crate) fn drop(
    target: &TriggerTarget,
    name: &ast::ObjectName,
    cx: &mut Cx<'_>,
) -> Result<bool> {
    check_rights(target, cx)?;
    let key = Name::new(&name.object);
    change(target, cx, |triggers| Ok(triggers.remove(&key).is_some()))
}

/// `ENABLE | DISABLE TRIGGER names ON DATABASE | ALL SERVER`.
pub(crate) fn enable(statement: &ast::EnableTrigger, cx: &mut Cx<'_>) -> Result<()> {
    check_rights(&statement.target, cx)?;
    change(&statement.target, cx, |triggers| {
        let names = statement.names.iter().map(|name| Name::new(&name.object));
        let mut names: Vec<Name> = names.collect();
        if names.is_empty() {
            names.extend(triggers.keys().cloned());
        }
        for name in names {
            let Some(module) = triggers.get(&name) else {
                return Err(Msg::AlterTableNotFound(name.as_str()).into());
            };
            let disabled = !statement.enable;
            let changed = ModuleDef { disabled, ..ModuleDef::clone(module) };
            triggers.insert(name, Arc::new(changed));
        }
        Ok(())
    })
}
