//! FORMATMESSAGE and RAISERROR: replaces the conversion specifications of a format, as printf does.

use types::{Msg, Result, Value};

use crate::messages::ENGLISH;
use ::catalog::UserMessage;
use ::session::SessionState;

/// Longest text that PRINT and RAISERROR send, in characters.
const MESSAGE_LENGTH_MAX: usize = 2047;
/// More bytes than a text of that length has, and some for the one character more that shows that it is longer.
const MESSAGE_BYTES_MAX: usize = 4 * (MESSAGE_LENGTH_MAX + 2);

/// Returns a message that sp_addmessage has added, by its number.
pub fn user_message(number: i32, session: &SessionState) -> Option<UserMessage> {
    session.catalog.messages.get(&(number, ENGLISH)).cloned()
}

/// Returns a value converted to text, as PRINT shows it; `None` for NULL. Of a string only as many characters: a long one
/// is not decoded to show its beginning.
pub fn shown(value: &Value, chars: usize, session: &SessionState) -> Option<String> {
    let collation = session.collation();
    match value {
        Value::Null => None,
        Value::Bit(b) => Some(i32::from(*b).to_string()),
        Value::TinyInt(n) => Some(n.to_string()),
        Value::SmallInt(n) => Some(n.to_string()),
        Value::Int(n) => Some(n.to_string()),
        Value::BigInt(n) => Some(n.to_string()),
        other => other.as_text_up_to(chars, collation),
    }
}

/// Returns a value converted to text; `None` for NULL.
///
/// # Errors
/// 701 if there is no memory for a long one.
pub fn text_of(value: &Value, session: &SessionState) -> Result<Option<String>> {
    match value {
        Value::VarChar(_) | Value::NVarChar(_) => plan::long::text(value, session.collation()),
        other => Ok(shown(other, usize::MAX, session)),
    }
}

/// Replaces `%s`, `%d`, `%i`, `%u`, `%o`, `%x` and `%X`, with flags, width and precision, as printf
/// does.
pub fn format_message(text: &str, arguments: &[Value], session: &SessionState) -> Result<String> {
    let mut out = String::with_capacity(text.len().min(MESSAGE_BYTES_MAX));
    let mut next = arguments.iter();
    let mut position = 0;
    let mut rest = text;
    while let Some(percent) = rest.find('%') {
        plan::long::pause();
        push(&mut out, &rest[..percent]);
        rest = &rest[percent + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            out.push('%');
            rest = behind;
            continue;
        }
        let (specification, behind) = specification(rest, &mut next, session)?;
        position += 1;
        let value = next.next().ok_or(Msg::SubstitutionMismatch(position))?;
        substitute(&mut out, &specification, value, position, session)?;
        rest = behind;
    }
    push(&mut out, rest);
    if out.chars().count() > MESSAGE_LENGTH_MAX {
        out = out.chars().take(MESSAGE_LENGTH_MAX - 3).chain("...".chars()).collect();
    }
    Ok(out)
}

/// Appends what is shown of a text: the rest of a long message is left out.
fn push(out: &mut String, text: &str) {
    let room = MESSAGE_BYTES_MAX.saturating_sub(out.len());
    out.push_str(&text[..text.floor_char_boundary(room)]);
}

/// One conversion specification: `%`, flags, width, precision, conversion.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the format")]
struct Specification {
    left: bool,
    plus: bool,
    zero: bool,
    prefix: bool,
    blank: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

fn specification<'t, 'v>(
    text: &'t str,
    arguments: &mut impl Iterator<Item = &'v Value>,
    session: &SessionState,
) -> Result<(Specification, &'t str)> {
    let mut found = Specification::default();
    let mut rest = text.trim_start_matches(|c| {
        match c {
            '-' => found.left = true,
            '+' => found.plus = true,
            '0' => found.zero = true,
            '#' => found.prefix = true,
            ' ' => found.blank = true,
            _ => return false,
        }
        true
    });
    found.width = count(&mut rest, arguments, session).unwrap_or(0);
    if let Some(behind) = rest.strip_prefix('.') {
        rest = behind;
        found.precision = Some(count(&mut rest, arguments, session).unwrap_or(0));
    }
    if let Some(behind) = rest.strip_prefix("I64") {
        rest = behind;
    } else {
        rest = rest.trim_start_matches(['h', 'l']);
    }
    let kind = rest.chars().next().filter(|c| "diosuxX".contains(*c));
    let Some(kind) = kind else { return Err(Msg::InvalidFormat(&format!("%{text}")).into()) };
    found.kind = kind;
    Ok((found, &rest[1..]))
}

/// Reads a width or precision: a number, or `*`, which takes the next argument.
fn count<'v>(
    rest: &mut &str,
    arguments: &mut impl Iterator<Item = &'v Value>,
    session: &SessionState,
) -> Option<usize> {
    /// More digits than a width has.
    const DIGITS_MAX: usize = 40;
    if let Some(behind) = rest.strip_prefix('*') {
        *rest = behind;
        return arguments
            .next()
            .and_then(|v| shown(v, DIGITS_MAX, session))
            .and_then(|t| t.parse().ok());
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, behind) = rest.split_at(digits);
    *rest = behind;
    number.parse().ok()
}

fn substitute(
    out: &mut String,
    specification: &Specification,
    value: &Value,
    position: i64,
    session: &SessionState,
) -> Result<()> {
    let whole = match value {
        Value::TinyInt(n) => Some(i64::from(*n)),
        Value::SmallInt(n) => Some(i64::from(*n)),
        Value::Int(n) => Some(i64::from(*n)),
        Value::BigInt(n) => Some(*n),
        _ => None,
    };
    let is_text = matches!(value, Value::VarChar(_) | Value::NVarChar(_));
    let body = match (specification.kind, value, whole) {
        (_, Value::Null, _) => "(null)".to_owned(),
        ('s', _, None) if is_text => {
            let most = specification.precision.unwrap_or(usize::MAX).min(MESSAGE_LENGTH_MAX + 1);
            shown(value, most, session).unwrap_or_default()
        }
        ('s', _, _) | (_, _, None) => return Err(Msg::SubstitutionMismatch(position).into()),
        (kind, _, Some(n)) => number(kind, n, specification),
    };
    let width = specification.width.min(MESSAGE_LENGTH_MAX + 1);
    let missing = width.saturating_sub(body.chars().count());
    if specification.left {
        push(out, &body);
        out.extend(std::iter::repeat_n(' ', missing));
    } else {
        let fill = if specification.zero && specification.kind != 's' { '0' } else { ' ' };
        out.extend(std::iter::repeat_n(fill, missing));
        push(out, &body);
    }
    Ok(())
}

fn number(kind: char, n: i64, specification: &Specification) -> String {
    let digits = match kind {
        'o' => format!("{n:o}"),
        'x' => format!("{n:x}"),
        'X' => format!("{n:X}"),
        'u' => n.cast_unsigned().to_string(),
        _ => n.unsigned_abs().to_string(),
    };
    let width = specification.precision.unwrap_or(0).min(MESSAGE_LENGTH_MAX + 1);
    let digits = format!("{digits:0>width$}");
    let sign = match kind {
        'd' | 'i' if n < 0 => "-",
        'd' | 'i' if specification.plus => "+",
        'd' | 'i' if specification.blank => " ",
        'o' if specification.prefix => "0",
        'x' if specification.prefix => "0x",
        'X' if specification.prefix => "0X",
        _ => "",
    };
    format!("{sign}{digits}")
}
