//! Messages as `sys.messages` shows them: the system's, from the registry, and those of users.

use types::Msg;

use ::catalog::{Catalog, UserMessage};

/// `language_id` of us_english.
pub const ENGLISH: i16 = 1_033;

/// A message.
pub struct MessageRow {
    /// `message_id`
    pub number: i32,
    /// `language_id`
    pub language: i16,
    /// `severity`
    pub severity: u8,
    /// Its text with places for what it is about.
    pub text: String,
    /// `is_event_logged`
    pub logged: bool,
}

/// Messages of SQL Server beyond those of the registry: what procedures of the system say, and what scripts of
/// SQL Server name in RAISERROR. Number, severity and text, in words of our own where the text takes more than its places.
const LISTED: &str = include_str!("messages.txt");

/// Finds a message of the system by its number.
pub fn system_message(number: i32) -> Option<UserMessage> {
    let row = system().find(|row| row.number == number)?;
    // Each of a statement's arguments fills a place, whatever the text that the engine fills itself makes of it.
    let text = row.text.replace("%.*ls", "%s").replace("%.*hs", "%s").replace("%S_MSG", "%s");
    Some(UserMessage { severity: row.severity, text, logged: row.logged })
}

/// Returns the messages of the system: of the registry, then the listed ones.
fn system() -> impl Iterator<Item = MessageRow> {
    let registry = Msg::TEXTS.iter().map(|(number, severity, text, places)| MessageRow {
        number: *number,
        language: ENGLISH,
        severity: *severity,
        text: as_format(text, places),
        logged: false,
    });
    registry.chain(LISTED.lines().filter_map(listed))
}

/// Reads a line of the list: number, severity, `L` if the message is always logged, text.
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

/// Returns the messages by number.
pub fn messages(catalog: &Catalog) -> Vec<MessageRow> {
    let mut rows: Vec<MessageRow> = system().collect();
    // The registry has some numbers twice, for texts of one message that differ in a place.
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

/// Writes a text of the registry as `sys.messages` has it: with `%.*ls` and `%d` for its places.
fn as_format(text: &str, places: &[(&str, &str)]) -> String {
    let mut format = text.replace('%', "%%");
    for (name, ty) in places {
        let place = if ty.ends_with("str") { "%.*ls" } else { "%d" };
        format = format.replace(&format!("{{{name}}}"), place);
    }
    format.replace("{{", "{").replace("}}", "}")
}
