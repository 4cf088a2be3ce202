//! `Program`: a predicate compiled to a list of tests; each test has the next test for either
//! outcome.
//!
//! `a AND (b OR c)` becomes `a ? b : reject`, `b ? accept : c`, `c ? accept : reject`.

use super::action::{Fact, PredicateSource, Reader};
use super::comparator::{Comparator, Operand, Operation};
use super::error::XeError;
use super::event::Event;
use super::field::FieldType;
use super::mixed;
use super::spec::{Comparison, Predicate, PredicateInput};
use super::text;
use super::value::{OwnedValue, Value};
use crate::sync::{AtomicU64, Ordering};

/// The greatest number of tests of one predicate.
const TESTS_MAX: usize = 1000;
const ACCEPT: u16 = u16::MAX;
const REJECT: u16 = u16::MAX - 1;

/// Supplies the values of predicate sources.
pub(super) trait Sources {
    /// A value that this crate supplies.
    fn machine(&self, fact: Fact) -> Value<'static>;
    /// A value that the server supplies.
    fn caller(&self, number: u16, give: &mut dyn FnMut(Value<'_>));
}

/// The compiled predicate of one event.
#[derive(Debug, Default)]
pub(super) struct Program {
    tests: Vec<Test>,
    start: u16,
}

#[derive(Debug)]
struct Test {
    input: Input,
    compare: Compare,
    if_true: u16,
    if_false: u16,
}

#[derive(Debug)]
enum Input {
    Field(usize),
    Counter(AtomicU64),
    Machine(Fact),
    Caller(u16),
}

#[derive(Debug)]
enum Compare {
    Bool(Operation, bool),
    Int(Operation, i64),
    UInt(Operation, u64),
    Float(Operation, f64),
    Exact(Operation, Box<str>),
    Insensitive(Operation, Box<str>),
    Bytes(Operation, Box<[u8]>),
    Guid(Operation, [u8; 16]),
    /// The extreme so far, in a form that preserves the order as an unsigned number.
    Extreme(Operation, AtomicU64),
}

impl Program {
    /// A program that accepts every event.
    pub(super) const fn always() -> Self {
        Self { tests: Vec::new(), start: ACCEPT }
    }

    /// Compiles the predicate of an event.
    pub(super) fn compile(event: &'static Event, predicate: &Predicate) -> Result<Self, XeError> {
        let mut program = Self::always();
        program.start = program.node(event, predicate, ACCEPT, REJECT)?;
        Ok(program)
    }

    /// Compiles a node whose outcomes continue at the given tests; returns its first test.
    fn node(
        &mut self,
        event: &'static Event,
        node: &Predicate,
        if_true: u16,
        if_false: u16,
    ) -> Result<u16, XeError> {
        match node {
            Predicate::And(first, second) => {
                let second = self.node(event, second, if_true, if_false)?;
                self.node(event, first, second, if_false)
            }
            Predicate::Or(first, second) => {
                let second = self.node(event, second, if_true, if_false)?;
                self.node(event, first, if_true, second)
            }
            Predicate::Not(inner) => self.node(event, inner, if_false, if_true),
            Predicate::Compare(comparison) => {
                if self.tests.len() >= TESTS_MAX {
                    return Err(XeError::PredicateTooLong {
                        event: event.name,
                        leaves_max: TESTS_MAX,
                    });
                }
                let (input, compare) = leaf(event, comparison)?;
                self.tests.push(Test { input, compare, if_true, if_false });
                Ok(u16::try_from(self.tests.len() - 1).unwrap_or(REJECT))
            }
        }
    }

    /// Whether an event matches the predicate.
    #[inline]
    pub(super) fn accepts(&self, fields: &[Value<'_>], sources: &impl Sources) -> bool {
        let mut at = self.start;
        while let Some(test) = self.tests.get(usize::from(at)) {
            at = if test.passes(fields, sources) { test.if_true } else { test.if_false };
        }
        at == ACCEPT
    }
}

impl Test {
    fn passes(&self, fields: &[Value<'_>], sources: &impl Sources) -> bool {
        match &self.input {
            Input::Field(at) => fields.get(*at).is_some_and(|value| self.compare.holds(*value)),
            Input::Counter(count) => {
                // Relaxed: a count that orders nothing.
                let count = count.fetch_add(1, Ordering::Relaxed) + 1;
                self.compare.holds(Value::UInt(count))
            }
            Input::Machine(fact) => self.compare.holds(sources.machine(*fact)),
            Input::Caller(number) => {
                let mut holds = false;
                sources.caller(*number, &mut |value| holds = self.compare.holds(value));
                holds
            }
        }
    }
}

/// A value as an unsigned number, such that the order of the numbers is that of the values.
fn ordered(value: Value<'_>) -> Option<u64> {
    const SIGN: u64 = 1 << 63;
    match value {
        Value::UInt(value) => Some(value),
        Value::Map(value) => Some(u64::from(value)),
        Value::Int(value) => Some(value.cast_unsigned() ^ SIGN),
        Value::Float(value) => {
            let bits = value.to_bits();
            Some(if bits & SIGN == 0 { bits | SIGN } else { !bits })
        }
        _ => None,
    }
}

fn order<T: PartialOrd>(operation: Operation, value: &T, operand: &T) -> bool {
    match operation {
        Operation::Equal => value == operand,
        Operation::NotEqual => value != operand,
        Operation::Greater => value > operand,
        Operation::GreaterEqual => value >= operand,
        Operation::Less => value < operand,
        Operation::LessEqual => value <= operand,
        Operation::DividesBy
        | Operation::Like
        | Operation::GreaterThanMax
        | Operation::GreaterThanOrEqualMax
        | Operation::LessThanMin
        | Operation::LessThanOrEqualMin => false,
    }
}

impl Compare {
    #[inline]
    fn holds(&self, value: Value<'_>) -> bool {
        match (self, value) {
            (Self::UInt(operation, operand), Value::UInt(value)) => {
                unsigned(*operation, value, *operand)
            }
            (Self::UInt(operation, operand), Value::Map(value)) => {
                unsigned(*operation, u64::from(value), *operand)
            }
            (Self::Int(operation, operand), Value::Int(value)) => {
                order(*operation, &value, operand)
            }
            (Self::Bool(operation, operand), Value::Bool(value)) => {
                order(*operation, &value, operand)
            }
            (Self::Float(operation, operand), Value::Float(value)) => {
                order(*operation, &value, operand)
            }
            (Self::Exact(operation, operand), Value::Text(value)) => {
                order(*operation, &value, &&**operand)
            }
            (Self::Insensitive(Operation::Like, pattern), Value::Text(value)) => {
                text::is_like(value, pattern)
            }
            (Self::Insensitive(operation, operand), Value::Text(value)) => {
                order(*operation, &text::compare(value, operand), &std::cmp::Ordering::Equal)
            }
            (Self::Exact(..) | Self::Insensitive(..), Value::Mixed(runs)) => {
                // The only value that must be converted for a predicate.
                mixed::text_of(runs).is_some_and(|text| self.holds(Value::Text(&text)))
            }
            (Self::Bytes(operation, operand), Value::Bytes(value)) => {
                order(*operation, &value, &&**operand)
            }
            (Self::Guid(operation, operand), Value::Guid(value)) => {
                order(*operation, &value, operand)
            }
            (Self::Extreme(operation, extreme), value) => {
                ordered(value).is_some_and(|value| is_extreme(*operation, extreme, value))
            }
            _ => false,
        }
    }
}

#[inline]
fn unsigned(operation: Operation, value: u64, operand: u64) -> bool {
    match operation {
        Operation::DividesBy => operand != 0 && value.is_multiple_of(operand),
        other => order(other, &value, &operand),
    }
}

/// Whether a value is beyond the extreme so far (or equal, as the operation says); it then becomes
/// the extreme.
fn is_extreme(operation: Operation, extreme: &AtomicU64, value: u64) -> bool {
    // Relaxed: one word, which orders nothing else.
    match operation {
        Operation::GreaterThanMax => extreme.fetch_max(value, Ordering::Relaxed) < value,
        Operation::GreaterThanOrEqualMax => extreme.fetch_max(value, Ordering::Relaxed) <= value,
        Operation::LessThanMin => extreme.fetch_min(value, Ordering::Relaxed) > value,
        Operation::LessThanOrEqualMin => extreme.fetch_min(value, Ordering::Relaxed) >= value,
        _ => false,
    }
}

const fn is_extreme_of(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::GreaterThanMax
            | Operation::GreaterThanOrEqualMax
            | Operation::LessThanMin
            | Operation::LessThanOrEqualMin
    )
}

fn leaf(event: &'static Event, comparison: &Comparison) -> Result<(Input, Compare), XeError> {
    let (input, name, field_type) = match comparison.input {
        PredicateInput::Field(at) => {
            let field = event.fields.get(at).ok_or(XeError::PredicateType {
                event: event.name,
                input: "",
                comparator: comparison.comparator.name,
            })?;
            (Input::Field(at), field.name, field.field_type)
        }
        PredicateInput::Source(source) => (source_input(source), source.name, source.field_type),
    };
    let comparator = comparison.comparator;
    if !comparator.operand.accepts(field_type) {
        return Err(XeError::PredicateType {
            event: event.name,
            input: name,
            comparator: comparator.name,
        });
    }
    let compare = operand(comparator, field_type, &comparison.value).ok_or_else(|| {
        let value = shown(&comparison.value);
        XeError::PredicateValue { event: event.name, input: name, value }
    })?;
    Ok((input, compare))
}

fn source_input(source: &'static PredicateSource) -> Input {
    match source.reader {
        Reader::Machine(Fact::Counter) => Input::Counter(AtomicU64::new(0)),
        Reader::Machine(fact) => Input::Machine(fact),
        Reader::Caller(number) => Input::Caller(number),
    }
}

/// The operand of a comparison; `None` if the value does not fit its type.
fn operand(comparator: &Comparator, of: FieldType, value: &OwnedValue) -> Option<Compare> {
    let operation = comparator.operation;
    let plain = match comparator.operand {
        Operand::Boolean => Compare::Bool(operation, boolean(value)?),
        Operand::Int64 => Compare::Int(operation, signed(value)?),
        Operand::UInt64 => Compare::UInt(operation, unsigned_operand(of, value)?),
        Operand::Float64 => Compare::Float(operation, float(value)?),
        Operand::Text => Compare::Exact(operation, string(value)?),
        Operand::TextInsensitive => Compare::Insensitive(operation, string(value)?),
        Operand::Binary => match value {
            OwnedValue::Bytes(bytes) => Compare::Bytes(operation, bytes.as_slice().into()),
            _ => return None,
        },
        Operand::Guid => Compare::Guid(operation, guid(value)?),
    };
    if !is_extreme_of(operation) {
        return Some(plain);
    }
    let first = match plain {
        Compare::Int(_, value) => ordered(Value::Int(value)),
        Compare::UInt(_, value) => ordered(Value::UInt(value)),
        Compare::Float(_, value) => ordered(Value::Float(value)),
        _ => None,
    };
    first.map(|first| Compare::Extreme(operation, AtomicU64::new(first)))
}

fn boolean(value: &OwnedValue) -> Option<bool> {
    match value {
        OwnedValue::Bool(value) => Some(*value),
        OwnedValue::Int(0) | OwnedValue::UInt(0) => Some(false),
        OwnedValue::Int(1) | OwnedValue::UInt(1) => Some(true),
        OwnedValue::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
        OwnedValue::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn signed(value: &OwnedValue) -> Option<i64> {
    match value {
        OwnedValue::Int(value) => Some(*value),
        OwnedValue::UInt(value) => i64::try_from(*value).ok(),
        _ => None,
    }
}

fn unsigned_operand(of: FieldType, value: &OwnedValue) -> Option<u64> {
    match (of, value) {
        (FieldType::Map(map), OwnedValue::Text(text)) => map.key_of(text).map(u64::from),
        (FieldType::Ptr, OwnedValue::Text(text)) => {
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
            u64::from_str_radix(digits, 16).ok()
        }
        (_, OwnedValue::UInt(value)) => Some(*value),
        (_, OwnedValue::Int(value)) => u64::try_from(*value).ok(),
        (_, OwnedValue::Map(key)) => Some(u64::from(*key)),
        _ => None,
    }
}

fn float(value: &OwnedValue) -> Option<f64> {
    match value {
        OwnedValue::Float(value) => Some(*value),
        #[expect(clippy::cast_precision_loss, reason = "as SQL's conversion to float")]
        OwnedValue::Int(value) => Some(*value as f64),
        #[expect(clippy::cast_precision_loss, reason = "as SQL's conversion to float")]
        OwnedValue::UInt(value) => Some(*value as f64),
        _ => None,
    }
}

fn string(value: &OwnedValue) -> Option<Box<str>> {
    match value {
        OwnedValue::Text(text) => Some(text.as_str().into()),
        _ => None,
    }
}

fn guid(value: &OwnedValue) -> Option<[u8; 16]> {
    match value {
        OwnedValue::Guid(guid) => Some(*guid),
        OwnedValue::Text(text) => {
            let digits: String = text.chars().filter(|c| !matches!(c, '{' | '}' | '-')).collect();
            (digits.len() == 32).then_some(())?;
            let number = u128::from_str_radix(&digits, 16).ok()?;
            Some(number.to_be_bytes())
        }
        _ => None,
    }
}

fn shown(value: &OwnedValue) -> String {
    match value {
        OwnedValue::Null => "NULL".to_owned(),
        OwnedValue::Bool(value) => value.to_string(),
        OwnedValue::Int(value) => value.to_string(),
        OwnedValue::UInt(value) => value.to_string(),
        OwnedValue::Float(value) => value.to_string(),
        OwnedValue::Text(text) => text.clone(),
        OwnedValue::Bytes(bytes) => format!("{} bytes", bytes.len()),
        OwnedValue::Guid(guid) | OwnedValue::Activity(guid, _) => super::guid_text(guid),
        OwnedValue::Map(key) | OwnedValue::Stack(key) => key.to_string(),
    }
}

#[cfg(test)]
mod tests;
