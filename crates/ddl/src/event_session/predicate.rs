//! WHERE of an event: resolves the operands of its comparisons, checks their types, and formats the
//! predicate for the views.

use sos::xe::{
    Comparator, Comparison, Event, FieldType, Operand, Operation, OwnedValue, Predicate,
    PredicateInput,
};
use tsql::ast::{CompareOp, EventName, EventPredicate, Literal};
use types::{Error, Msg, Result};

use super::{full, package_and_name, text_of, written};
use ::session::event::registry;

/// Most characters of a predicate's text.
const TEXT_MAX: usize = 3000;

/// The phrase by which messages call the left side of a comparison.
const SOURCE: &str = "event attribute or predicate source";

/// Resolves a predicate on an event.
///
/// # Errors
/// 25706 and 25623 for unknown names, 25715 and 25630 for comparisons that the types do not have,
/// 25713 for values of another type.
pub(super) fn resolve(event: &'static Event, predicate: &EventPredicate) -> Result<Predicate> {
    match predicate {
        EventPredicate::And(parts) => join(event, parts, Predicate::And),
        EventPredicate::Or(parts) => join(event, parts, Predicate::Or),
        EventPredicate::Not(inner) => Ok(Predicate::Not(Box::new(resolve(event, inner)?))),
        EventPredicate::Compare { source, op, value } => {
            by_operator(event, source, (operation(*op), symbol(*op)), value)
        }
        EventPredicate::Like { source, pattern } => {
            by_operator(event, source, (Operation::Like, "LIKE"), pattern)
        }
        EventPredicate::Comparator { comparator, source, value } => {
            by_name(event, comparator, source, value)
        }
    }
}

fn join(
    event: &'static Event,
    parts: &[EventPredicate],
    join: fn(Box<Predicate>, Box<Predicate>) -> Predicate,
) -> Result<Predicate> {
    let mut resolved = parts.iter().map(|part| resolve(event, part));
    let first = resolved.next().expect("a chain has operands")?;
    resolved.try_fold(first, |left, right| Ok(join(Box::new(left), Box::new(right?))))
}

/// The left side of a comparison, resolved: its source, type and name.
struct Left {
    input: PredicateInput,
    field_type: FieldType,
    name: String,
}

fn left(event: &'static Event, source: &EventName) -> Result<Left> {
    let missing = || Error::from(Msg::EventObjectNotFound(SOURCE, &written(source)));
    if source.package.is_none() {
        let place = event.field(&source.name).ok_or_else(missing)?;
        let field = &event.fields[place];
        let (field_type, name) = (field.field_type, field.name.to_owned());
        return Ok(Left { input: PredicateInput::Field(place), field_type, name });
    }
    let (package, name) = package_and_name(SOURCE, source)?;
    let found = registry::predicate_source(package, name).ok_or_else(missing)?;
    let name = full(found.package.name, found.name);
    Ok(Left { input: PredicateInput::Source(found), field_type: found.field_type, name })
}

fn by_operator(
    event: &'static Event,
    source: &EventName,
    (operation, symbol): (Operation, &str),
    value: &Literal,
) -> Result<Predicate> {
    let left = left(event, source)?;
    let Some(comparator) = Comparator::of(operation, left.field_type) else {
        let name = left.field_type.name();
        return Err(
            Msg::EventPredicateOperator(event.name, symbol, name, SOURCE, &left.name).into()
        );
    };
    leaf(event, left, comparator, value)
}

fn by_name(
    event: &'static Event,
    name: &EventName,
    source: &EventName,
    value: &Literal,
) -> Result<Predicate> {
    let (package, comparator) = package_and_name("predicate compare", name)?;
    let Some(comparator) = registry::comparator(package, comparator) else {
        return Err(Msg::EventNameInvalid("predicate compare", &written(name)).into());
    };
    let left = left(event, source)?;
    if !comparator.operand.accepts(left.field_type) {
        return Err(Msg::EventPredicateType("event", event.name).into());
    }
    leaf(event, left, comparator, value)
}

fn leaf(
    event: &'static Event,
    left: Left,
    comparator: &'static Comparator,
    value: &Literal,
) -> Result<Predicate> {
    let Some(value) = value_of(value, comparator.operand, left.field_type) else {
        return Err(Msg::EventPredicateValue(SOURCE, &left.name, "event", event.name).into());
    };
    Ok(Predicate::Compare(Comparison { input: left.input, comparator, value }))
}

/// Converts a literal to the operand's type; `None` if it does not convert.
fn value_of(literal: &Literal, operand: Operand, field_type: FieldType) -> Option<OwnedValue> {
    let text = match literal {
        Literal::String(text) | Literal::NString(text) => Some(text.as_ref()),
        _ => None,
    };
    match operand {
        Operand::Boolean => match (integer(literal), text) {
            (Some(0), _) => Some(OwnedValue::Bool(false)),
            (Some(1), _) => Some(OwnedValue::Bool(true)),
            (None, Some(text)) if text.eq_ignore_ascii_case("true") => Some(OwnedValue::Bool(true)),
            (None, Some(text)) if text.eq_ignore_ascii_case("false") => {
                Some(OwnedValue::Bool(false))
            }
            _ => None,
        },
        Operand::Int64 => i64::try_from(integer(literal)?).ok().map(OwnedValue::Int),
        Operand::UInt64 => match (field_type, text) {
            (FieldType::Map(map), Some(text)) => {
                map.key_of(text).map(|key| OwnedValue::UInt(u64::from(key)))
            }
            _ => u64::try_from(integer(literal)?).ok().map(OwnedValue::UInt),
        },
        Operand::Float64 => text_of(literal).parse().ok().map(OwnedValue::Float),
        Operand::Text | Operand::TextInsensitive => {
            text.map(|text| OwnedValue::Text(text.to_owned()))
        }
        Operand::Binary => match literal {
            Literal::Binary(bytes) => Some(OwnedValue::Bytes(bytes.to_vec())),
            _ => None,
        },
        Operand::Guid => text.map(|text| OwnedValue::Text(text.to_owned())),
    }
}

/// Parses a literal as a whole number.
fn integer(literal: &Literal) -> Option<i128> {
    match literal {
        Literal::Int(number) => Some(i128::from(*number)),
        Literal::Decimal(digits) => digits.parse().ok(),
        _ => None,
    }
}

fn operation(op: CompareOp) -> Operation {
    match op {
        CompareOp::Equal => Operation::Equal,
        CompareOp::NotEqual => Operation::NotEqual,
        CompareOp::Greater => Operation::Greater,
        CompareOp::GreaterOrEqual => Operation::GreaterEqual,
        CompareOp::Less => Operation::Less,
        CompareOp::LessOrEqual => Operation::LessEqual,
    }
}

fn symbol(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "=",
        CompareOp::NotEqual => "<>",
        CompareOp::Greater => ">",
        CompareOp::GreaterOrEqual => ">=",
        CompareOp::Less => "<",
        CompareOp::LessOrEqual => "<=",
    }
}

/// Formats a predicate as the views show it: `([type]=(61) AND [sqlserver].[session_id]>(50))`.
///
/// # Errors
/// 25716 if it is too long.
pub(super) fn text(event: &Event, predicate: &EventPredicate) -> Result<String> {
    let mut text = String::new();
    put(predicate, &mut text);
    if !text.starts_with('(') {
        text = format!("({text})");
    }
    if text.chars().count() > TEXT_MAX {
        let max = i64::try_from(TEXT_MAX).unwrap_or(i64::MAX);
        return Err(Msg::EventPredicateLength(&full(event.package.name, event.name), max).into());
    }
    Ok(text)
}

fn put(predicate: &EventPredicate, text: &mut String) {
    match predicate {
        EventPredicate::And(parts) => put_chain(parts, " AND ", text),
        EventPredicate::Or(parts) => put_chain(parts, " OR ", text),
        EventPredicate::Not(inner) => {
            text.push_str("NOT (");
            put(inner, text);
            text.push(')');
        }
        EventPredicate::Compare { source, op, value } => {
            let (source, value) = (bracketed(source), shown(value));
            text.push_str(&format!("{source}{}{value}", symbol(*op)));
        }
        EventPredicate::Like { source, pattern } => {
            let (source, pattern) = (bracketed(source), shown(pattern));
            text.push_str(&format!("[sqlserver].[like_i_sql_unicode_string]({source},{pattern})"));
        }
        EventPredicate::Comparator { comparator, source, value } => {
            let (comparator, source, value) =
                (bracketed(comparator), bracketed(source), shown(value));
            text.push_str(&format!("{comparator}({source},{value})"));
        }
    }
}

fn put_chain(parts: &[EventPredicate], between: &str, text: &mut String) {
    text.push('(');
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            text.push_str(between);
        }
        put(part, text);
    }
    text.push(')');
}

fn bracketed(name: &EventName) -> String {
    let parts = [name.package.as_deref(), Some(name.name.as_str())];
    let bracketed = |part: &str| format!("[{}]", part.replace(']', "]]"));
    parts.into_iter().flatten().map(bracketed).collect::<Vec<_>>().join(".")
}

fn shown(value: &Literal) -> String {
    match value {
        Literal::String(text) => format!("'{}'", text.replace('\'', "''")),
        Literal::NString(text) => format!("N'{}'", text.replace('\'', "''")),
        other => format!("({})", text_of(other)),
    }
}
