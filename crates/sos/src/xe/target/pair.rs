//! `Pairs`: begin events, each kept until its end comes.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::memory;
use crate::sync::Arc;
use crate::xe::error::XeError;
use crate::xe::record::Record;
use crate::xe::report::PairData;
use crate::xe::shape::Shape;
use crate::xe::spec::{EventSpec, SessionSpec, TargetSpec};
use crate::xe::target::Parameters;
use crate::xe::target::histogram::is_named;

const ORPHANS_DEFAULT: u64 = 10_000;

/// One end of a pair: which event, and which of its values must be those of the other end.
#[derive(Debug)]
struct End {
    event: usize,
    values: Vec<usize>,
}

#[derive(Debug)]
struct Orphan {
    shape: Arc<Shape>,
    key: Vec<u8>,
    bytes: Box<[u8]>,
    time_100ns: u64,
}

/// A target that matches pairs.
#[derive(Debug)]
pub(in crate::xe) struct Pairs {
    begin: End,
    end: End,
    responds: bool,
    orphans_max: usize,
    next: u64,
    orphans: BTreeMap<u64, Orphan>,
    by_key: HashMap<Vec<u8>, VecDeque<u64>>,
    matched: u64,
    truncated: u64,
    pressed: u64,
}

/// The list in a parameter.
fn names<'a>(parameters: &'a Parameters<'_>, name: &str) -> Vec<&'a str> {
    let list = parameters.text(name).unwrap_or_default();
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

fn end(
    spec: &SessionSpec,
    parameters: &Parameters<'_>,
    names_of: [&'static str; 3],
) -> Result<End, XeError> {
    let [event_name, columns, actions] = names_of;
    let written = parameters.text(event_name).unwrap_or_default();
    let is_it = |e: &EventSpec| is_named(written, e.event.package.name, e.event.name);
    let event = spec.events.iter().position(is_it).ok_or_else(|| parameters.refuse(event_name))?;
    let event_spec = &spec.events[event];
    let mut values = Vec::new();
    for column in names(parameters, columns) {
        values.push(event_spec.event.field(column).ok_or_else(|| parameters.refuse(columns))?);
    }
    for name in names(parameters, actions) {
        let mut all = event_spec.actions.iter();
        let at = all.position(|action| is_named(name, action.package.name, action.name));
        let at = at.ok_or_else(|| parameters.refuse(actions))?;
        values.push(event_spec.event.fields.len() + at);
    }
    Ok(End { event, values })
}

impl Pairs {
    /// Makes an empty one.
    pub(in crate::xe) fn new(session: &SessionSpec, spec: &TargetSpec) -> Result<Self, XeError> {
        let parameters = Parameters::of(spec)?;
        let names = ["begin_event", "begin_matching_columns", "begin_matching_actions"];
        let begin = end(session, &parameters, names)?;
        let names = ["end_event", "end_matching_columns", "end_matching_actions"];
        let end = end(session, &parameters, names)?;
        if begin.values.len() != end.values.len() {
            return Err(parameters.refuse("end_matching_columns"));
        }
        let orphans_max = parameters.number("max_orphans")?.unwrap_or(ORPHANS_DEFAULT);
        Ok(Self {
            begin,
            end,
            responds: parameters.boolean("respond_to_memory_pressure")?,
            orphans_max: usize::try_from(orphans_max).unwrap_or(usize::MAX).max(1),
            next: 0,
            orphans: BTreeMap::new(),
            by_key: HashMap::new(),
            matched: 0,
            truncated: 0,
            pressed: 0,
        })
    }

    /// Follows an altered specification, whose events have other positions.
    pub(in crate::xe) fn rebind(
        &mut self,
        session: &SessionSpec,
        spec: &TargetSpec,
    ) -> Result<(), XeError> {
        let fresh = Self::new(session, spec)?;
        (self.begin, self.end) = (fresh.begin, fresh.end);
        Ok(())
    }

    /// Looks at an event.
    pub(in crate::xe) fn receive(&mut self, shape: &Arc<Shape>, record: Record<'_>, time: u64) {
        if record.event() == self.end.event && self.resolve(record) {
            return;
        }
        if record.event() != self.begin.event {
            return;
        }
        if self.orphans.len() >= self.orphans_max {
            self.give_up_oldest();
            self.truncated += 1;
        }
        let key = key(record, &self.begin.values);
        self.by_key.entry(key.clone()).or_default().push_back(self.next);
        let bytes = record.bytes().into();
        let orphan = Orphan { shape: Arc::clone(shape), key, bytes, time_100ns: time };
        self.orphans.insert(self.next, orphan);
        self.next += 1;
    }

    /// Finds the begin of an end; false if there is none.
    fn resolve(&mut self, record: Record<'_>) -> bool {
        let key = key(record, &self.end.values);
        let Some(waiting) = self.by_key.get_mut(&key) else { return false };
        let first = waiting.pop_front();
        if waiting.is_empty() {
            self.by_key.remove(&key);
        }
        let found = first.and_then(|first| self.orphans.remove(&first)).is_some();
        self.matched += u64::from(found);
        found
    }

    fn give_up_oldest(&mut self) {
        let Some((number, orphan)) = self.orphans.pop_first() else { return };
        if let Some(waiting) = self.by_key.get_mut(&orphan.key) {
            waiting.retain(|other| *other != number);
            if waiting.is_empty() {
                self.by_key.remove(&orphan.key);
            }
        }
    }

    /// Ends a batch: gives all up if memory is short and it was told to.
    pub(in crate::xe) fn finish(&mut self) {
        if self.responds && memory::check().is_err() {
            self.pressed += self.orphans.len() as u64;
            self.orphans.clear();
            self.by_key.clear();
        }
    }

    /// What it holds.
    pub(in crate::xe) fn data(&self) -> PairData {
        let tell = |orphan: &Orphan| {
            let (record, _) = Record::take(&orphan.bytes)?;
            Some(orphan.shape.tell(record, orphan.time_100ns))
        };
        PairData {
            truncated: self.truncated,
            matched: self.matched,
            memory_pressure_dropped: self.pressed,
            orphans: self.orphans.values().filter_map(tell).collect(),
        }
    }
}

fn key(record: Record<'_>, values: &[usize]) -> Vec<u8> {
    let mut key = Vec::new();
    for &at in values {
        key.extend_from_slice(record.value_bytes(at).unwrap_or_default());
    }
    key
}
