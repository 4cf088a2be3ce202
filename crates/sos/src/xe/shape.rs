//! `Shape`: the names and types of a record's values, by which a record becomes an [`EventRecord`].

use std::collections::BTreeMap;

use super::action::Action;
use super::event::Event;
use super::field::FieldType;
use super::map::Map;
use super::package::Package;
use super::record::Record;
use super::report::{EventRecord, RecordField};
use super::value::{OwnedValue, Value};
use crate::sync::Arc;

/// The names and types of the records of one event of a session.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) package: Arc<str>,
    pub(super) name: Arc<str>,
    /// The fields, and then the actions.
    pub(super) parts: Vec<Part>,
    pub(super) fields: usize,
}

/// The name and type of one value.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) package: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) type_name: Arc<str>,
    pub(super) type_package: Arc<str>,
    pub(super) texts: Texts,
}

/// The names of a map's keys.
#[derive(Clone, Debug)]
pub(super) enum Texts {
    /// The value is no key of a map.
    None,
    /// A map of this process.
    Known(&'static Map),
    /// A map that was read from an event file.
    Read(Arc<BTreeMap<u32, Arc<str>>>),
}

impl Texts {
    /// All keys with their names.
    pub(super) fn all(&self) -> Vec<(u32, Arc<str>)> {
        match self {
            Self::None => Vec::new(),
            Self::Known(map) => map.values().map(|(key, text)| (key, text.into())).collect(),
            Self::Read(texts) => texts.iter().map(|(key, text)| (*key, text.clone())).collect(),
        }
    }

    fn text_of(&self, key: u32) -> Option<Arc<str>> {
        match self {
            Self::None => None,
            Self::Known(map) => map.text_of(key).map(Arc::from),
            Self::Read(texts) => texts.get(&key).cloned(),
        }
    }
}

impl Part {
    fn new(package: &'static Package, name: &'static str, field_type: FieldType) -> Self {
        let texts = match field_type {
            FieldType::Map(map) => Texts::Known(map),
            _ => Texts::None,
        };
        Self {
            package: package.name.into(),
            name: name.into(),
            type_name: field_type.name().into(),
            type_package: field_type.package().name.into(),
            texts,
        }
    }

    fn decode(&self, value: Value<'_>) -> RecordField {
        let text = match value {
            Value::Map(key) => self.texts.text_of(key),
            _ => None,
        };
        RecordField {
            package: Arc::clone(&self.package),
            name: Arc::clone(&self.name),
            type_name: Arc::clone(&self.type_name),
            type_package: Arc::clone(&self.type_package),
            value: value.to_owned(),
            text,
        }
    }
}

impl Shape {
    /// Whether a value may be a call stack.
    pub(super) fn has_stack(&self) -> bool {
        self.parts.iter().any(|part| &*part.type_name == "callstack")
    }

    /// The shape of an event with these actions.
    pub(super) fn new(event: &'static Event, actions: &[&'static Action]) -> Self {
        let field = |field: &super::Field| Part::new(event.package, field.name, field.field_type);
        let action =
            |action: &&'static Action| Part::new(action.package, action.name, action.field_type);
        let mut parts: Vec<Part> = event.fields.iter().map(field).collect();
        parts.extend(actions.iter().map(action));
        Self {
            package: event.package.name.into(),
            name: event.name.into(),
            parts,
            fields: event.fields.len(),
        }
    }

    /// Decodes a record that was fired at `timestamp_100ns`.
    pub(super) fn decode(&self, record: Record<'_>, timestamp_100ns: u64) -> EventRecord {
        let mut decoded: Vec<RecordField> = self
            .parts
            .iter()
            .zip(record.values())
            .map(|(part, value)| part.decode(value))
            .collect();
        let actions = decoded.split_off(self.fields.min(decoded.len()));
        EventRecord {
            package: Arc::clone(&self.package),
            name: Arc::clone(&self.name),
            timestamp_100ns,
            fields: decoded,
            actions,
        }
    }

    /// As [`Self::decode`], with the texts that `stack` returns in place of stack numbers.
    pub(super) fn decode_with(
        &self,
        record: Record<'_>,
        timestamp_100ns: u64,
        stack: impl Fn(u32) -> Option<String>,
    ) -> EventRecord {
        let mut decoded = self.decode(record, timestamp_100ns);
        for field in decoded.fields.iter_mut().chain(&mut decoded.actions) {
            if let OwnedValue::Stack(id) = field.value {
                field.value = stack(id).map_or(OwnedValue::Null, OwnedValue::Text);
            }
        }
        decoded
    }
}
