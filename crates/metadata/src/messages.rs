//! Messages as `sys.messages` shows them: the system's, from the error registry, and those that
//! users added.

use types::{Msg, is_event_logged};

use ::catalog::{Catalog, UserMessage};

/// `language_id` of us_english, the only language of the system's messages.
pub const ENGLISH: i16 = 1_033;

/// One message: a row of `sys.messages`.
pub struct MessageRow {
    /// `message_id`: the error number; users' messages start at 50001.
    pub number: i32,
    /// `language_id`: 1033 for us_english.
    pub language: i16,
    /// `severity`: 1 to 25.
    pub severity: u8,
    /// `text`, with conversion specifications (`%s`, `%d`) for its arguments.
    pub text: String,
    /// `is_event_logged`: whether the message goes to the event log.
    pub logged: bool,
}

/// SQL Server's messages that are not in the registry: those that system procedures send, and those
/// that scripts name in RAISERROR. Number, severity and text; where the text is more than its
/// arguments, the words are our own.
const LISTED: &str = include_str!("messages.txt");

/// Returns a message of the system, by its number.
pub fn system_message(number: i32) -> Option<UserMessage> {
    let row = system().find(|row| row.number == number)?;
    // RAISERROR's arguments fill every place, also those of types that only the server fills.
    let text = row.text.replace("%.*ls", "%s").replace("%.*hs", "%s").replace("%S_MSG", "%s");
    Some(UserMessage { severity: row.severity, text, logged: row.logged })
}

/// Returns the system's messages: those of the registry, then the listed ones.
fn system() -> impl Iterator<Item = MessageRow> {
    let registry = Msg::TEXTS.iter().map(|(number, severity, text, places)| MessageRow {
        number: *number,
        language: ENGLISH,
        severity: *severity,
        text: as_format(text, places),
        logged: is_event_logged(*number),
    });
    registry.chain(LISTED.lines().filter_map(listed))
}

/// Parses a line of the list: number, severity, `L` if always logged, text.
fn listed(line: &str) -> Option<MessageRow> {
    let (number, rest) = line.split_once(' ')?;
    let (severity, text) = rest.split_once(' ')?;
    let (logged, text) = match text.strip_prefix("L ") {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (number, severity) = (number.parse().ok()?, severity.parse().ok()?);
    Some(MessageRow { number, language: ENGLISH, severity, text: text.to_owned(), logged })
}

/// Returns all messages, ordered by number.
pub fn messages(catalog: &Catalog) -> Vec<MessageRow> {
    let mut rows: Vec<MessageRow> = system().collect();
    // The registry has a number twice where two texts of one message differ in a place.
    rows.sort_by_key(|row| row.number);
    rows.dedup_by_key(|row| row.number);
    rows.extend(catalog.messages.iter().map(|((number, language), message)| MessageRow {
        number: *number,
        language: *language,
        severity: message.severity,
        text: message.text.clone(),
        logged: message.logged,
    }));
    rows
}

/// Converts a text of the registry to the form of `sys.messages`, with `%.*ls` and `%d` for its
/// places.
fn as_format(text: &str, places: &[(&str, &str)]) -> String {
    let mut format = text.replace('%', "%%");
    for (name, ty) in places {
        let place = if ty.ends_with("str") { "%.*ls" } else { "%d" };
        format = format.replace(&format!("{{{name}}}"), place);
    }
    format.replace("{{", "{").replace("}}", "}")
}
