//! ALTER EVENT SESSION: changes what a session collects and its options, starts and stops it.

use std::sync::Arc;

use tsql::ast::{AlterEventAction, AlterEventSession};
use types::{Msg, Result};

use super::{add_event, add_target, check, event, full, missing, of_server, option, target};
use ::catalog::EventSessionDef;
use ::catalog::name::Name;
use ::executor::Cx;
use ::session::event::Changing;

/// Runs ALTER EVENT SESSION .. ON SERVER.
pub fn alter(alter: &AlterEventSession, cx: &mut Cx<'_>) -> Result<()> {
    of_server(alter.scope)?;
    let instance = Arc::clone(&cx.session.instance);
    let mut changing = instance.events.change();
    // Read under the lock, so that no other session can change it.
    cx.session.refresh_catalog();
    let name = alter.name.as_str();
    let Some(before) = cx.session.catalog.event_sessions.get(&Name::new(name)).cloned() else {
        return Err(missing("alter", name));
    };
    let running = changing.is_running(&before.name);
    let after = changed(&before, alter, running)?;
    let Some(after) = after else {
        return change_state(alter, &before, running, &mut changing, cx);
    };
    check(&after)?;
    if running {
        changing.alter(&after)?;
    }
    let after = Arc::new(after);
    let kept = Arc::clone(&after);
    cx.session.change_catalog(|catalog| {
        catalog.event_sessions.insert(Name::new(name), kept);
        Ok(())
    })?;
    change_state(alter, &after, running, &mut changing, cx)
}

/// Returns the definition with additions, removals and options applied; `None` if the statement
/// only changes the state.
fn changed(
    before: &EventSessionDef,
    alter: &AlterEventSession,
    running: bool,
) -> Result<Option<EventSessionDef>> {
    let mut session = before.clone();
    let mut is_changed = false;
    if let Some(option) = alter.options.first() {
        let only_startup = alter.options.iter().all(|o| o.name.as_ref() == "STARTUP_STATE");
        if running && !only_startup {
            return Err(Msg::EventOptionRunning(&option.name.to_ascii_lowercase()).into());
        }
        session.options = option::apply(session.options, &alter.options)?;
        is_changed = true;
    }
    for action in &alter.actions {
        match action {
            AlterEventAction::AddEvent(definition) => {
                add_event(&mut session, event::resolve(definition)?)?;
            }
            AlterEventAction::DropEvent(name) => {
                let event = event::find(name)?;
                let kept = session.events.len();
                session.events.retain(|other| other.spec.event != event);
                if session.events.len() == kept {
                    let full = full(event.package.name, event.name);
                    return Err(Msg::EventNotInSession("event", &full).into());
                }
            }
            AlterEventAction::AddTarget(definition) => {
                add_target(&mut session, target::resolve(definition)?)?;
            }
            AlterEventAction::DropTarget(name) => {
                let target = target::find(name)?;
                let kept = session.targets.len();
                session.targets.retain(|other| other.spec.target != target);
                if session.targets.len() == kept {
                    let full = full(target.package.name, target.name);
                    return Err(Msg::EventNotInSession("target", &full).into());
                }
            }
            AlterEventAction::Start | AlterEventAction::Stop => continue,
        }
        is_changed = true;
    }
    Ok(is_changed.then_some(session))
}

/// Runs STATE = START and STATE = STOP.
fn change_state(
    alter: &AlterEventSession,
    session: &EventSessionDef,
    mut running: bool,
    changing: &mut Changing<'_>,
    cx: &Cx<'_>,
) -> Result<()> {
    for action in &alter.actions {
        match action {
            AlterEventAction::Start if running => return Err(Msg::EventSessionStarted.into()),
            AlterEventAction::Start => {
                changing.start(session, cx.session)?;
                running = true;
            }
            AlterEventAction::Stop if !running => return Err(Msg::EventSessionStopped.into()),
            AlterEventAction::Stop => {
                changing.stop_if_running(&session.name);
                running = false;
            }
            AlterEventAction::AddEvent(_)
            | AlterEventAction::DropEvent(_)
            | AlterEventAction::AddTarget(_)
            | AlterEventAction::DropTarget(_) => {}
        }
    }
    Ok(())
}
