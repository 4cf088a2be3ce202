//! Parses scripts: batches between GO lines, and procedure calls in ODBC's form.

use crate::inside::{Inside, go_count};

/// Splits a script into batches at GO lines, as sqlcmd does: in any case, with an optional count of
/// repetitions, but neither in a comment nor in quotes. Empty batches are left out.
pub fn batches(script: &str) -> Vec<String> {
    let mut batches = Vec::new();
    let mut batch = String::new();
    let mut inside = Inside::Code;
    for line in script.lines() {
        if inside == Inside::Code
            && let Some(count) = go_count(line)
        {
            put(&mut batches, &mut batch, count);
            continue;
        }
        inside = inside.after(line);
        batch.push_str(line);
        batch.push('\n');
    }
    put(&mut batches, &mut batch, 1);
    batches
}

fn put(batches: &mut Vec<String>, batch: &mut String, count: usize) {
    let text = std::mem::take(batch);
    if !text.trim().is_empty() {
        batches.extend(std::iter::repeat_n(text, count));
    }
}

/// Returns the procedure of a text that is only an ODBC call without arguments: `{call name}` or
/// `{call name()}`. Arguments would need their types, so a call with arguments is sent as text.
pub fn call_of(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let (word, rest) = inner.split_once(char::is_whitespace)?;
    if !word.eq_ignore_ascii_case("call") {
        return None;
    }
    let name = match rest.split_once('(') {
        Some((name, arguments)) if arguments.trim() == ")" => name.trim(),
        Some(_) => return None,
        None => rest.trim(),
    };
    let is_name =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '#' | '@' | '$');
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_splits_where_it_stands_alone() {
        let script = "select 1\nGO\n\ngo 2\nselect 2\n go 3 \nselect 'a\ngo\nb'\ngo -- on\n/* x\ngo\n*/ select 3";
        let found = batches(script);
        assert_eq!(found[0], "select 1\n");
        assert_eq!(found[1..4], ["select 2\n", "select 2\n", "select 2\n"]);
        assert_eq!(found[4], "select 'a\ngo\nb'\n");
        assert_eq!(found[5..], ["/* x\ngo\n*/ select 3\n"]);
    }

    #[test]
    fn brackets_and_line_comments_hide_quotes() {
        assert_eq!(batches("select [a'b]\ngo\nselect 1 -- it's\ngo\nselect 2").len(), 3);
        assert_eq!(batches("/* /* */ ' */ select 1\ngo\nselect 2").len(), 2);
    }

    #[test]
    fn calls_without_arguments_are_procedure_calls() {
        for (text, name) in
            [("{call p}", "p"), (" { CALL dbo.p ( ) }", "dbo.p"), ("{call [a].[b]()}", "[a].[b]")]
        {
            assert_eq!(call_of(text).as_deref(), Some(name), "{text}");
        }
        assert_eq!(call_of("{call p(1)}"), None);
        assert_eq!(call_of("select 1"), None);
        assert_eq!(call_of("{call sp_reset_connection()}").as_deref(), Some("sp_reset_connection"));
    }
}
