//! JSON, as far as answers need it.

use std::fmt::Write;

/// Appends a text as a JSON string.
pub(crate) fn push_text(text: &str, target: &mut String) {
    target.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => target.extend(['\\', letter]),
            '\n' => target.push_str("\\n"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(target, "\\u{:04x}", u32::from(control));
            }
            other => target.push(other),
        }
    }
    target.push('"');
}

/// Appends a text as a JSON string, or null.
pub(crate) fn push_option(text: Option<&str>, target: &mut String) {
    match text {
        Some(text) => push_text(text, target),
        None => target.push_str("null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_controls_are_escaped() {
        let mut text = String::new();
        push_text("a\"b\\c\n\u{1}\u{e9}", &mut text);
        assert_eq!(text, "\"a\\\"b\\\\c\\n\\u0001\u{e9}\"");
    }
}
