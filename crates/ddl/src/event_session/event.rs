//! ADD EVENT: resolves the event's name, its settings and its actions.

use sos::xe::{Event, EventSpec};
use tsql::ast::{EventDefinition, EventName, Ident, Literal};
use types::{Msg, Result};

use super::{full, package_and_name, predicate, written};
use ::catalog::EventDef;
use ::session::event::registry;

/// Finds an event by package and name.
///
/// # Errors
/// 25623 if there is none.
pub(super) fn find(name: &EventName) -> Result<&'static Event> {
    let (package, event) = package_and_name("event", name)?;
    let found = registry::event(package, event);
    found.ok_or_else(|| Msg::EventNameInvalid("event", &written(name)).into())
}

/// Makes the definition of an event; its id is assigned by the session's definition.
///
/// # Errors
/// The errors of names, settings and predicates.
pub(super) fn resolve(definition: &EventDefinition) -> Result<EventDef> {
    let event = find(&definition.name)?;
    let mut spec = EventSpec::all(event);
    for (name, value) in &definition.settings {
        let setting = setting(event, name, value)?;
        if spec.settings.iter().any(|(place, _)| *place == setting.0) {
            let full = full(event.package.name, event.name);
            return Err(Msg::EventAttributeTwice("event", &full, name).into());
        }
        spec.settings.push(setting);
    }
    for name in &definition.actions {
        let (package, action) = package_and_name("action", name)?;
        let Some(action) = registry::action(package, action) else {
            return Err(Msg::EventNameInvalid("action", &written(name)).into());
        };
        if spec.actions.contains(&action) {
            let full = full(action.package.name, action.name);
            return Err(Msg::EventExistsInSession("action", &full).into());
        }
        spec.actions.push(action);
    }
    let mut text = String::new();
    if let Some(definition) = &definition.predicate {
        spec.predicate = Some(predicate::resolve(event, definition)?);
        text = predicate::text(event, definition)?;
    }
    Ok(EventDef { id: 0, spec, predicate: text })
}

/// Resolves a SET option: the event's customizable column and its value.
fn setting(event: &Event, name: &Ident, value: &Literal) -> Result<(usize, bool)> {
    let full = full(event.package.name, event.name);
    let Some(place) = event.setting(name) else {
        return Err(Msg::EventAttribute("event", &full, name).into());
    };
    match value {
        Literal::Int(0) => Ok((place, false)),
        Literal::Int(1) => Ok((place, true)),
        _ => Err(Msg::EventAttributeType("event", &full, name, "boolean").into()),
    }
}
