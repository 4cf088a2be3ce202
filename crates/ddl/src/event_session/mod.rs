//! CREATE, ALTER and DROP EVENT SESSION.
//!
//! A definition is checked as a whole before anything changes: names against the registry of
//! events, predicates against the types of their operands, parameters against their targets.
//! Running sessions are changed after the catalog, under the lock of
//! [`Events`](::session::event::Events), so that the two agree.

mod alter;
mod event;
mod option;
mod predicate;
pub mod system_health;
mod target;

use std::sync::Arc;

use tsql::ast::{CreateEventSession, DropEventSession, EventName, EventScope, Ident, Literal};
use types::{Error, Msg, Result};

use crate::refuse;
use ::catalog::name::Name;
use ::catalog::{EventDef, EventSessionDef, EventTargetDef};
use ::executor::Cx;
use ::session::event::registry::is_module;

pub use alter::alter;

/// The word by which messages call an event session.
const SESSION: &str = "event session";

/// Runs CREATE EVENT SESSION .. ON SERVER.
pub fn create(create: &CreateEventSession, cx: &mut Cx<'_>) -> Result<()> {
    let mut session = define(create)?;
    let name = create.name.as_str();
    cx.session.change_catalog(|catalog| {
        let key = Name::new(name);
        if catalog.event_sessions.contains_key(&key) {
            return Err(Msg::EventSessionExists(SESSION, name).into());
        }
        session.id = catalog.next_event_session_id();
        catalog.event_sessions.insert(key, Arc::new(session));
        Ok(())
    })
}

/// Makes the definition of an event session; the catalog assigns its id.
///
/// # Errors
/// The errors of names, options, predicates and parameters.
pub fn define(create: &CreateEventSession) -> Result<EventSessionDef> {
    of_server(create.scope)?;
    let name = create.name.as_str();
    if name.starts_with('#') {
        return Err(Msg::EventSessionTemporary(name).into());
    }
    let mut session = EventSessionDef {
        id: 0,
        name: name.to_owned(),
        options: option::apply(Default::default(), &create.options)?,
        events: Vec::new(),
        targets: Vec::new(),
        next_object: 0,
    };
    for definition in &create.events {
        add_event(&mut session, event::resolve(definition)?)?;
    }
    for definition in &create.targets {
        add_target(&mut session, target::resolve(definition)?)?;
    }
    check(&session)?;
    Ok(session)
}

/// Runs DROP EVENT SESSION .. ON SERVER.
pub fn drop(drop: &DropEventSession, cx: &mut Cx<'_>) -> Result<()> {
    of_server(drop.scope)?;
    let name = drop.name.as_str();
    let instance = Arc::clone(&cx.session.instance);
    let mut changing = instance.events.change();
    let dropped = cx.session.change_catalog(|catalog| {
        let dropped = catalog.event_sessions.remove(&Name::new(name));
        dropped.ok_or_else(|| missing("drop", name))
    });
    match dropped {
        Ok(session) => {
            changing.stop_if_running(&session.name);
            Ok(())
        }
        Err(_) if drop.if_exists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the error for a session that does not exist.
fn missing(verb: &str, name: &str) -> Error {
    let text = format!(
        "Cannot {verb} the {SESSION} '{name}', because it does not exist or you do not have permission."
    );
    Error::custom(15151, 16, 19, text)
}

/// Refuses ON DATABASE, which only Azure SQL Database has.
fn of_server(scope: EventScope) -> Result<()> {
    match scope {
        EventScope::Server => Ok(()),
        EventScope::Database => refuse("EVENT SESSION .. ON DATABASE"),
    }
}

/// Adds an event that the session does not have yet.
fn add_event(session: &mut EventSessionDef, mut added: EventDef) -> Result<()> {
    if session.events.iter().any(|other| other.spec.event == added.spec.event) {
        let event = added.spec.event;
        return Err(
            Msg::EventExistsInSession("event", &full(event.package.name, event.name)).into()
        );
    }
    added.id = session.next_id();
    session.events.push(added);
    Ok(())
}

/// Adds a target that the session does not have yet, under any of its names.
fn add_target(session: &mut EventSessionDef, mut added: EventTargetDef) -> Result<()> {
    let target = added.spec.target;
    if session.targets.iter().any(|other| other.spec.target == target) {
        return Err(
            Msg::EventExistsInSession("target", &full(target.package.name, target.name)).into()
        );
    }
    added.id = session.next_id();
    session.targets.push(added);
    Ok(())
}

/// Checks the definition as a whole.
fn check(session: &EventSessionDef) -> Result<()> {
    let asynchronous = session.targets.iter().any(|t| !t.spec.target.is_synchronous());
    if session.options.max_memory_kb == 0 && asynchronous {
        return Err(Msg::EventNoMemory.into());
    }
    sos::xe::Hub::check(&session.spec()).map_err(|error| ::session::event::error::of(&error))
}

/// Returns `package.name`, as messages show it.
fn full(package: &str, name: &str) -> String {
    format!("{package}.{name}")
}

/// Returns a name as it was written, for the message that it does not exist.
fn written(name: &EventName) -> String {
    let parts = [name.module.as_ref(), name.package.as_ref(), Some(&name.name)];
    parts.into_iter().flatten().map(Ident::as_str).collect::<Vec<_>>().join(".")
}

/// Splits a name into package and name.
///
/// # Errors
/// 25623 for a module that does not exist, and where the package is omitted.
fn package_and_name<'n>(kind: &str, name: &'n EventName) -> Result<(&'n str, &'n str)> {
    let module_known = name.module.as_deref().is_none_or(is_module);
    match name.package.as_deref() {
        Some(package) if module_known => Ok((package, name.name.as_str())),
        _ => Err(Msg::EventNameInvalid(kind, &written(name)).into()),
    }
}

/// Returns the text of a literal, without quotes.
fn text_of(literal: &Literal) -> String {
    match literal {
        Literal::Null => String::new(),
        Literal::Int(number) => number.to_string(),
        Literal::Decimal(digits) => digits.to_string(),
        Literal::Float(number) => number.to_string(),
        Literal::Money(amount) => format!("{}.{:04}", amount / 10_000, (amount % 10_000).abs()),
        Literal::String(text) | Literal::NString(text) | Literal::Odbc(_, text) => text.to_string(),
        Literal::Binary(bytes) => {
            let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("0x{}", digits.concat())
        }
    }
}
