//! sp_addmessage, sp_altermessage and sp_dropmessage: user-defined messages in sys.messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::{Error, Msg, Value};

use crate::procedure::{SystemProcedure, argument, text, whole};
use ::catalog::{MessageKey, UserMessage};
use ::executor::Cx;
use interpreter::{Argument, Stop};
use metadata::messages::ENGLISH;

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_addmessage", id: 0, run: add },
    SystemProcedure { name: "sp_altermessage", id: 0, run: alter },
    SystemProcedure { name: "sp_dropmessage", id: 0, run: drop },
];

/// Greatest number of the system's messages.
const SYSTEM_NUMBER_MAX: i32 = 50_000;
/// Greatest length of a message's text, in characters.
const TEXT_LENGTH_MAX: usize = 255;

/// `sp_addmessage @msgnum, @severity, @msgtext [, @lang] [, @with_log] [, @replace]`.
fn add(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    check_permission(cx)?;
    let number = number(arguments, "@msgnum", "sp_addmessage")?;
    if number <= SYSTEM_NUMBER_MAX {
        return Err(custom(
            15_040,
            "User-defined error messages must have an ID greater than 50000.",
        ));
    }
    let severity = whole(arguments, 1, "@severity").and_then(|n| u8::try_from(n).ok());
    let Some(severity) = severity.filter(|n| (1..=25).contains(n)) else {
        let text = "User-defined error messages must have a severity level between 1 and 25.";
        return Err(custom(15_041, text));
    };
    let said = text(arguments, 2, "@msgtext", cx)?;
    let Some(said) = said else {
        return Err(Msg::ParameterNotSupplied("sp_addmessage", "@msgtext").into());
    };
    check_language(text(arguments, 3, "@lang", cx)?.as_deref())?;
    let logged = with_log(text(arguments, 4, "@with_log", cx)?.as_deref())?;
    let replace = text(arguments, 5, "@replace", cx)?;
    let replaces = replace.as_deref().is_some_and(|word| word.eq_ignore_ascii_case("REPLACE"));
    change(cx, |messages| {
        if !replaces && messages.contains_key(&(number, ENGLISH)) {
            let text = "You must specify 'REPLACE' to overwrite an existing message.";
            return Err(Error::custom(15_043, 16, 1, text));
        }
        let text = said.chars().take(TEXT_LENGTH_MAX).collect();
        messages.insert((number, ENGLISH), UserMessage { severity, text, logged });
        Ok(())
    })
}

/// `sp_altermessage @message_id, 'WITH_LOG', @parameter_value`.
fn alter(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    check_permission(cx)?;
    let number = number(arguments, "@message_id", "sp_altermessage")?;
    let parameter = text(arguments, 1, "@parameter", cx)?.unwrap_or_default();
    if !parameter.eq_ignore_ascii_case("WITH_LOG") {
        return Err(Msg::NotSupported(&format!("sp_altermessage '{parameter}'")).into());
    }
    let logged = with_log(text(arguments, 2, "@parameter_value", cx)?.as_deref())?;
    if number <= SYSTEM_NUMBER_MAX {
        return Err(Msg::NotSupported("sp_altermessage of a message of the system").into());
    }
    change(cx, |messages| match messages.get_mut(&(number, ENGLISH)) {
        Some(message) => {
            message.logged = logged;
            Ok(())
        }
        None => Err(missing(number)),
    })
}

/// `sp_dropmessage @msgnum [, @lang | 'all']`.
fn drop(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    check_permission(cx)?;
    let number = number(arguments, "@msgnum", "sp_dropmessage")?;
    if number <= SYSTEM_NUMBER_MAX {
        return Err(custom(15_178, "Cannot drop a message with an ID less than 50,000."));
    }
    let language = text(arguments, 1, "@lang", cx)?;
    check_language(language.as_deref().filter(|lang| !lang.eq_ignore_ascii_case("all")))?;
    change(cx, |messages| match messages.remove(&(number, ENGLISH)) {
        Some(_) => Ok(()),
        None => Err(missing(number)),
    })
}

fn change(
    cx: &mut Cx<'_>,
    edit: impl FnOnce(&mut BTreeMap<MessageKey, UserMessage>) -> types::Result<()>,
) -> Result<i32, Stop> {
    let mark = cx.session.mark_definitions();
    let changed = cx.session.change_catalog(|catalog| edit(Arc::make_mut(&mut catalog.messages)));
    cx.session.end_definition(&mark, changed.is_err());
    changed?;
    cx.session.refresh_catalog();
    Ok(0)
}

fn number(arguments: &[Argument], name: &str, procedure: &str) -> Result<i32, Stop> {
    if argument(arguments, 0, name).is_none_or(|a| a.value == Value::Null) {
        return Err(Msg::ParameterNotSupplied(procedure, name).into());
    }
    let number = whole(arguments, 0, name).and_then(|n| i32::try_from(n).ok());
    number.ok_or_else(|| Stop::from(missing(0)))
}

/// Parses `@with_log`; `None` is FALSE.
///
/// # Errors
/// 15042 for another word.
fn with_log(word: Option<&str>) -> Result<bool, Stop> {
    match word {
        None => Ok(false),
        Some(word) if word.eq_ignore_ascii_case("TRUE") => Ok(true),
        Some(word) if word.eq_ignore_ascii_case("FALSE") => Ok(false),
        Some(_) => Err(custom(15_042, "The @with_log parameter value must be 'true' or 'false'.")),
    }
}

/// Refuses any language but us_english, the only one that a session can have.
fn check_language(language: Option<&str>) -> Result<(), Stop> {
    let ours = |name: &str| {
        name.is_empty()
            || name.eq_ignore_ascii_case("us_english")
            || name.eq_ignore_ascii_case("English")
    };
    match language.filter(|name| !ours(name)) {
        None => Ok(()),
        Some(other) => {
            Err(Msg::NotSupported(&format!("messages in the language '{other}'")).into())
        }
    }
}

fn check_permission(cx: &Cx<'_>) -> Result<(), Stop> {
    match cx.session.identity.rights.is_in_server_role(&cx.session.catalog, "serveradmin") {
        true => Ok(()),
        false => Err(Msg::NoPermissionForAction.into()),
    }
}

fn missing(number: i32) -> Error {
    let text = format!("The message number {number} or specified language version does not exist.");
    Error::custom(15_179, 16, 1, text)
}

fn custom(number: i32, text: &str) -> Stop {
    Error::custom(number, 16, 1, text).into()
}
