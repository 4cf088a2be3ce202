//! Errors of event sessions that cannot start or be defined, as SQL Server's messages.

use sos::xe::XeError;
use types::{Error, Msg};

/// Name that messages give the left side of a comparison.
const SOURCE: &str = "event attribute or predicate source";

/// GUID of SQL Server's module with the targets, which its start-up messages contain.
const TARGETS_MODULE: &str = "5B2DA06D-898A-43C8-9309-39BBBE93EBBD";

/// Returns the message for an error of the machine layer.
pub fn of(error: &XeError) -> Error {
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
        XeError::MemoryTooSmall { needed } => {
            Msg::EventBufferTooSmall(i64::try_from(*needed).unwrap_or(i64::MAX)).into()
        }
        XeError::OutOfMemory => Msg::EventOutOfMemory.into(),
        XeError::NoThread(_) | XeError::FileFormat { .. } => {
            configuration("event session", "", &error.to_string())
        }
        XeError::File { path, reason } => {
            let (number, text) = of_system(reason);
            let why = format!(
                "The operating system returned error {number}: '{text}' while creating the file '{path}'."
            );
            let name = format!("{TARGETS_MODULE}.{}", target("event_file"));
            configuration("target", &name, &why)
        }
    }
}

/// Returns the number and text of an operating system error; number 0 if there is none.
pub fn of_system(reason: &str) -> (i32, &str) {
    let parts = reason.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (os error "));
    let numbered = parts.and_then(|(text, number)| Some((number.parse().ok()?, text)));
    numbered.unwrap_or((0, reason))
}

/// Returns `package.name` of an event.
fn full_name(name: &str) -> String {
    let found = super::registry::events().find(|event| event.name == name);
    found.map_or_else(|| name.to_owned(), |event| format!("{}.{}", event.package.name, event.name))
}

fn configuration(kind: &str, name: &str, why: &str) -> Error {
    Msg::EventConfiguration(kind, name, why).into()
}
