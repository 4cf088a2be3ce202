//! SQL Server's messages for why a session cannot start, or cannot be as it is defined.

use sos::xe::XeError;
use types::{Error, Msg};

/// What messages call the left side of a comparison.
const SOURCE: &str = "event attribute or predicate source";

/// Makes the message of an error of the machine layer.
pub(crate) fn of(error: &XeError) -> Error {
    let event = full_name;
    let target = |name: &str| format!("package0.{name}");
    match error {
        XeError::AlreadyStarted(_) => Msg::EventSessionStarted.into(),
        XeError::NotStarted(_) => Msg::EventSessionStopped.into(),
        XeError::NoEvent => configuration("event session", "", "The session has no event."),
        XeError::DuplicateEvent(name) => Msg::EventExistsInSession("event", &event(name)).into(),
        XeError::DuplicateTarget(name) => Msg::EventExistsInSession("target", &target(name)).into(),
        XeError::CannotBlock { event: name } => Msg::EventNotLossless("event", &event(name)).into(),
        XeError::PredicateType { event: name, .. } => {
            Msg::EventPredicateType("event", &event(name)).into()
        }
        XeError::PredicateValue { event: name, input, .. } => {
            Msg::EventPredicateValue(SOURCE, input, "event", name).into()
        }
        XeError::PredicateTooLong { event: name, leaves_max } => {
            let max = i64::try_from(*leaves_max).unwrap_or(i64::MAX);
            Msg::EventPredicateLength(&event(name), max).into()
        }
        XeError::UnknownParameter { target: name, parameter } => {
            Msg::EventAttribute("target", &target(name), parameter).into()
        }
        XeError::MissingParameter { target: name, .. } => {
            Msg::EventMandatory("target", &target(name)).into()
        }
        XeError::ParameterValue { target: name, parameter, value } => {
            let why = format!("It cannot be '{value}'.");
            Msg::EventParameter("target", &target(name), parameter, &why).into()
        }
        XeError::TargetMemory { target: name, .. } => {
            configuration("target", &target(name), &error.to_string())
        }
        XeError::MemoryTooSmall { .. } => Msg::EventBufferTooSmall.into(),
        XeError::OutOfMemory => Msg::EventOutOfMemory.into(),
        XeError::NoThread(_) | XeError::FileFormat { .. } => {
            configuration("event session", "", &error.to_string())
        }
        XeError::File { .. } => configuration("target", &target("event_file"), &error.to_string()),
    }
}

/// `package.name` of an event.
fn full_name(name: &str) -> String {
    let found = super::registry::events().find(|event| event.name == name);
    found.map_or_else(|| name.to_owned(), |event| format!("{}.{}", event.package.name, event.name))
}

fn configuration(kind: &str, name: &str, why: &str) -> Error {
    Msg::EventConfiguration(kind, name, why).into()
}
