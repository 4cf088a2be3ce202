//! JSON_MODIFY: changes one value in a JSON text; the rest of the text is copied unchanged.

use types::{Error, Msg, Result};

use super::path::{Path, PathMode, Step};
use super::text::{Kind, Node};
use plan::document::text::push_string;

/// Stores `value` (JSON text; `None` for NULL) at the path.
///
/// In lax mode a missing property is added and NULL removes one; in strict mode the first is an
/// error and the second writes `null`.
///
/// # Errors
/// 13608 if the path leads nowhere in strict mode, 13624 if the whole text is not the array to
/// append to.
pub(crate) fn modify(text: &str, root: &Node, path: &Path, value: Option<&str>) -> Result<String> {
    let Some((last, parents)) = path.steps.split_last() else {
        return match (value, path.append) {
            (Some(value), true) => append(text, root, value),
            (Some(value), false) => Ok(value.to_owned()),
            (None, _) => Ok(text.to_owned()),
        };
    };
    let parent = parents.iter().try_fold(root, |node, step| step.find(node));
    let target = parent.and_then(|parent| last.find(parent));
    if path.append {
        return match (target, value) {
            (Some(target), value) if matches!(target.kind, Kind::Array(_)) => {
                append(text, target, value.unwrap_or("null"))
            }
            (None, Some(value)) if path.mode == PathMode::Lax => {
                add(text, parent, last, &format!("[{value}]"))
            }
            (_, _) if path.mode == PathMode::Strict => Err(Msg::JsonPropertyNotFound.into()),
            (_, _) => Ok(text.to_owned()),
        };
    }
    match (target, value) {
        (Some(target), Some(value)) => Ok(replaced(text, target.span.clone(), value)),
        (Some(target), None) if path.mode == PathMode::Strict => {
            Ok(replaced(text, target.span.clone(), "null"))
        }
        (Some(_), None) => Ok(parent.map_or(text.to_owned(), |p| removed(text, p, last))),
        (None, _) if path.mode == PathMode::Strict => {
            Err(Error::from(Msg::JsonPropertyNotFound).with_state(1))
        }
        (None, Some(value)) => add(text, parent, last, value),
        (None, None) => Ok(text.to_owned()),
    }
}

fn replaced(text: &str, span: std::ops::Range<usize>, value: &str) -> String {
    format!("{}{value}{}", &text[..span.start], &text[span.end..])
}

fn append(text: &str, array: &Node, value: &str) -> Result<String> {
    let Kind::Array(elements) = &array.kind else { return Err(Msg::JsonObjectNotFound.into()) };
    Ok(insert(text, elements.last(), array, value))
}

/// Inserts a text after the last member of an array or object.
fn insert(text: &str, last: Option<&Node>, whole: &Node, piece: &str) -> String {
    match last {
        Some(last) => {
            let at = last.span.end;
            format!("{},{piece}{}", &text[..at], &text[at..])
        }
        None => {
            let at = whole.span.start + 1;
            format!("{}{piece}{}", &text[..at], &text[at..])
        }
    }
}

/// Adds a missing property; an element can only be added by `append`.
fn add(text: &str, parent: Option<&Node>, step: &Step, value: &str) -> Result<String> {
    let (Some(parent), Step::Name(name)) = (parent, step) else { return Ok(text.to_owned()) };
    let Kind::Object(properties) = &parent.kind else { return Ok(text.to_owned()) };
    let mut piece = String::new();
    push_string(name, &mut piece);
    piece.push(':');
    piece.push_str(value);
    Ok(insert(text, properties.last().map(|p| &p.value), parent, &piece))
}

/// Removes a property with one adjacent comma; an element becomes `null`, as documented.
fn removed(text: &str, parent: &Node, step: &Step) -> String {
    match (step, &parent.kind) {
        (Step::Name(name), Kind::Object(properties)) => {
            let Some(place) = properties.iter().position(|p| p.name == *name) else {
                return text.to_owned();
            };
            let (start, end) = match (place.checked_sub(1), properties.get(place + 1)) {
                (Some(before), _) => {
                    (properties[before].value.span.end, properties[place].value.span.end)
                }
                (None, Some(next)) => (properties[place].start, next.start),
                (None, None) => (properties[place].start, properties[place].value.span.end),
            };
            format!("{}{}", &text[..start], &text[end..])
        }
        (Step::Index(index), Kind::Array(elements)) => match elements.get(*index) {
            Some(element) => replaced(text, element.span.clone(), "null"),
            None => text.to_owned(),
        },
        _ => text.to_owned(),
    }
}
