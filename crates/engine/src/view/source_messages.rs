//! Messages as `sys.messages` shows them: the system's, from the registry, and those of users.

use types::Msg;

use crate::catalog::Catalog;

/// `language_id` of us_english.
pub(crate) const ENGLISH: i16 = 1_033;

/// A message.
pub(crate) struct MessageRow {
    /// `message_id`
    pub(crate) number: i32,
    /// `language_id`
    pub(crate) language: i16,
    /// `severity`
    pub(crate) severity: u8,
    /// Its text with places for what it is about.
    pub(crate) text: String,
    /// `is_event_logged`
    pub(crate) logged: bool,
}

/// Returns the messages by number.
pub(crate) fn messages(catalog: &Catalog) -> Vec<MessageRow> {
    let mut rows: Vec<MessageRow> = Msg::TEXTS
        .iter()
        .map(|(number, severity, text, places)| MessageRow {
            number: *number,
            language: ENGLISH,
            severity: *severity,
            text: as_format(text, places),
            logged: false,
        })
        .collect();
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
