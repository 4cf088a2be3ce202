//! The encoding of event sessions. Events, fields and the like are kept by name.

use catalog::{EventDef, EventSessionDef, EventSessionOptions, EventTargetDef};
use sos::xe::{
    Action, Comparator, Comparison, Event, EventSpec, FieldType, OwnedValue, PartitionMode,
    Predicate, PredicateInput, PredicateSource, Retention, Target, TargetSpec,
};

use crate::code::{
    Binary, Code, Cx, Fields, Result, choice, fault, put_field, put_sized, record, split_sized,
};

record! { EventSessionDef { 1 id, 2 name, 3 options, 4 events, 5 targets, 6 next_object } }
record! { EventSessionOptions {
    1 max_memory_kb, 2 retention, 3 max_dispatch_latency_ms, 4 max_event_size_kb, 5 partition,
    6 track_causality, 7 startup_state,
} }
choice! { Retention { SingleEventLoss = 0, MultipleEventLoss = 1, NoEventLoss = 2 } }
choice! { PartitionMode { None = 0, PerNode = 1, PerCpu = 2 } }
record! { EventDef { 1 id, 2 spec, 3 predicate } }
record! { EventTargetDef { 1 id, 2 spec } }

/// The functions that find what an event session names, by package and name.
#[derive(Clone, Copy, Debug)]
pub struct EventNames {
    /// Finds an event.
    pub event: fn(&str, &str) -> Option<&'static Event>,
    /// Finds an action.
    pub action: fn(&str, &str) -> Option<&'static Action>,
    /// Finds a source that a predicate can compare.
    pub source: fn(&str, &str) -> Option<&'static PredicateSource>,
    /// Finds a target.
    pub target: fn(&str, &str) -> Option<&'static Target>,
}

/// A package and a name in it.
type Named = (String, String);

fn found<T>(what: &str, found: Option<T>, named: &Named) -> Result<T> {
    found.map_or_else(|| fault(format!("the {what} `{}.{}`", named.0, named.1)), Ok)
}

impl Code for EventSpec {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { event, settings, actions, predicate } = self;
        put_field(out, 1, &(event.package.name.to_owned(), event.name.to_owned()));
        let named = settings.iter().filter_map(|(at, value)| {
            event.settings.get(*at).map(|setting| (setting.name.to_owned(), *value))
        });
        put_field(out, 2, &named.collect::<Vec<(String, bool)>>());
        let actions = actions.iter().map(|it| (it.package.name.to_owned(), it.name.to_owned()));
        put_field(out, 3, &actions.collect::<Vec<Named>>());
        let mut bytes = Vec::new();
        if let Some(predicate) = predicate {
            put_predicate(predicate, event, &mut bytes);
        }
        put_field(out, 4, &Binary(bytes));
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut fields = Fields::of(bytes);
        let named: Named = fields.take(1, cx)?;
        let settings: Vec<(String, bool)> = fields.take(2, cx)?;
        let actions: Vec<Named> = fields.take(3, cx)?;
        let predicate: Binary = fields.take(4, cx)?;
        fields.end()?;
        let event = found("event", (cx.names.event)(&named.0, &named.1), &named)?;
        let settings = settings.into_iter().map(|(name, value)| match event.setting(&name) {
            Some(at) => Ok((at, value)),
            None => fault(format!("the setting `{name}`")),
        });
        let actions = actions
            .iter()
            .map(|named| found("action", (cx.names.action)(&named.0, &named.1), named));
        let (settings, actions) =
            (settings.collect::<Result<_>>()?, actions.collect::<Result<_>>()?);
        let predicate = get_predicate(&predicate.0, event, cx)?;
        Ok(Self { event, settings, actions, predicate })
    }
}

impl Code for TargetSpec {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { target, parameters } = self;
        put_field(out, 1, &(target.package.name.to_owned(), target.name.to_owned()));
        put_field(out, 2, parameters);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut fields = Fields::of(bytes);
        let named: Named = fields.take(1, cx)?;
        let parameters = fields.take(2, cx)?;
        fields.end()?;
        let target = found("target", (cx.names.target)(&named.0, &named.1), &named)?;
        Ok(Self { target, parameters })
    }
}

/// Appends a predicate, operands before their operator. A long chain of OR is a deep tree, so neither
/// way recurses.
fn put_predicate(predicate: &Predicate, event: &Event, out: &mut Vec<u8>) {
    let mut open = vec![Step::Operand(predicate)];
    while let Some(step) = open.pop() {
        match step {
            Step::Operator(number) => put_sized(out, |out| out.push(number)),
            Step::Operand(Predicate::And(left, right)) => {
                open.extend([Step::Operator(1), Step::Operand(right), Step::Operand(left)]);
            }
            Step::Operand(Predicate::Or(left, right)) => {
                open.extend([Step::Operator(2), Step::Operand(right), Step::Operand(left)]);
            }
            Step::Operand(Predicate::Not(operand)) => {
                open.extend([Step::Operator(3), Step::Operand(operand)]);
            }
            Step::Operand(Predicate::Compare(comparison)) => put_sized(out, |out| {
                out.push(4);
                put_comparison(comparison, event, out);
            }),
        }
    }
}

/// A part of a predicate that is still to be written.
enum Step<'p> {
    Operand(&'p Predicate),
    Operator(u8),
}

fn get_predicate(
    mut bytes: &[u8],
    event: &'static Event,
    cx: &mut Cx<'_>,
) -> Result<Option<Predicate>> {
    let mut operands: Vec<Predicate> = Vec::new();
    while !bytes.is_empty() {
        let (item, rest) = split_sized(bytes)?;
        bytes = rest;
        let mut operand = || match operands.pop() {
            Some(operand) => Ok(Box::new(operand)),
            None => fault("an operator without operands"),
        };
        let made = match item.split_first() {
            Some((1, [])) => {
                let right = operand()?;
                Predicate::And(operand()?, right)
            }
            Some((2, [])) => {
                let right = operand()?;
                Predicate::Or(operand()?, right)
            }
            Some((3, [])) => Predicate::Not(operand()?),
            Some((4, rest)) => Predicate::Compare(get_comparison(rest, event, cx)?),
            _ => return fault("not a predicate"),
        };
        operands.push(made);
    }
    let predicate = operands.pop();
    if operands.is_empty() { Ok(predicate) } else { fault("an operand without an operator") }
}

fn put_comparison(comparison: &Comparison, event: &Event, out: &mut Vec<u8>) {
    let Comparison { input, comparator, value } = comparison;
    let (input, field_type) = match input {
        PredicateInput::Field(at) => {
            let field = &event.fields[*at];
            ((String::new(), field.name.to_owned()), field.field_type)
        }
        PredicateInput::Source(source) => {
            ((source.package.name.to_owned(), source.name.to_owned()), source.field_type)
        }
    };
    put_field(out, 1, &input);
    put_field(out, 2, &comparator.name.to_owned());
    put_field(out, 3, &Operand::of(value, field_type));
}

fn get_comparison(bytes: &[u8], event: &'static Event, cx: &mut Cx<'_>) -> Result<Comparison> {
    let mut fields = Fields::of(bytes);
    let (input, comparator): (Named, String) = (fields.take(1, cx)?, fields.take(2, cx)?);
    let operand: Operand = fields.take(3, cx)?;
    fields.end()?;
    let (input, field_type) = if input.0.is_empty() {
        let at = found("field", event.field(&input.1), &input)?;
        (PredicateInput::Field(at), event.fields[at].field_type)
    } else {
        let source = found("source", (cx.names.source)(&input.0, &input.1), &input)?;
        (PredicateInput::Source(source), source.field_type)
    };
    let Some(comparator) = Comparator::named(&comparator) else {
        return fault(format!("the comparator `{comparator}`"));
    };
    let value = operand.value(field_type)?;
    Ok(Comparison { input, comparator, value })
}

/// A constant in a predicate. A key of a map is kept by its name, since another version may number
/// the keys in another way.
enum Operand {
    Key(String),
    Value(OwnedValue),
}

impl Operand {
    fn of(value: &OwnedValue, field_type: FieldType) -> Self {
        let key = match (value, field_type) {
            (OwnedValue::UInt(key), FieldType::Map(map)) => {
                u32::try_from(*key).ok().and_then(|key| map.text_of(key))
            }
            (OwnedValue::Map(key), FieldType::Map(map)) => map.text_of(*key),
            _ => None,
        };
        key.map_or_else(|| Self::Value(value.clone()), |key| Self::Key(key.to_owned()))
    }

    fn value(self, field_type: FieldType) -> Result<OwnedValue> {
        match (self, field_type) {
            (Self::Value(value), _) => Ok(value),
            (Self::Key(name), FieldType::Map(map)) => match map.key_of(&name) {
                Some(key) => Ok(OwnedValue::UInt(u64::from(key))),
                None => fault(format!("the key `{name}`")),
            },
            (Self::Key(name), _) => fault(format!("the key `{name}` of what has no keys")),
        }
    }
}

impl Code for Operand {
    fn put(&self, out: &mut Vec<u8>) {
        let mut with = |number: u8, content: &[u8]| {
            out.push(number);
            out.extend_from_slice(content);
        };
        match self {
            Self::Key(name) => with(0, name.as_bytes()),
            Self::Value(OwnedValue::Null) => with(1, &[]),
            Self::Value(OwnedValue::Bool(value)) => with(2, &[u8::from(*value)]),
            Self::Value(OwnedValue::Int(value)) => with(3, &value.to_le_bytes()),
            Self::Value(OwnedValue::UInt(value)) => with(4, &value.to_le_bytes()),
            Self::Value(OwnedValue::Float(value)) => with(5, &value.to_le_bytes()),
            Self::Value(OwnedValue::Text(text)) => with(6, text.as_bytes()),
            Self::Value(OwnedValue::Bytes(bytes)) => with(7, bytes),
            Self::Value(OwnedValue::Guid(guid)) => with(8, guid),
            Self::Value(OwnedValue::Map(key)) => with(9, &key.to_le_bytes()),
            Self::Value(OwnedValue::Stack(id)) => with(10, &id.to_le_bytes()),
            Self::Value(OwnedValue::Activity(guid, number)) => {
                with(11, guid);
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let Some((&number, rest)) = bytes.split_first() else { return fault("no operand") };
        Ok(Self::Value(match number {
            0 => return String::get(rest, cx).map(Self::Key),
            1 => OwnedValue::Null,
            2 => OwnedValue::Bool(Code::get(rest, cx)?),
            3 => OwnedValue::Int(Code::get(rest, cx)?),
            4 => OwnedValue::UInt(Code::get(rest, cx)?),
            5 => OwnedValue::Float(Code::get(rest, cx)?),
            6 => OwnedValue::Text(Code::get(rest, cx)?),
            7 => OwnedValue::Bytes(rest.to_vec()),
            8 => OwnedValue::Guid(guid(rest)?),
            9 => OwnedValue::Map(Code::get(rest, cx)?),
            10 => OwnedValue::Stack(Code::get(rest, cx)?),
            11 => match rest.split_at_checked(16) {
                Some((bytes, rest)) => OwnedValue::Activity(guid(bytes)?, Code::get(rest, cx)?),
                None => return fault("half an activity"),
            },
            _ => return fault(format!("the kind of operand {number}")),
        }))
    }
}

fn guid(bytes: &[u8]) -> Result<[u8; 16]> {
    bytes.try_into().or_else(|_| fault("a GUID of another length"))
}
