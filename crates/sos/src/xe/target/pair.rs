//! `Pairs`: the pair matching target, which keeps each begin event until its end event comes.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::memory;
use crate::sync::Arc;
use crate::xe::error::XeError;
use crate::xe::record::Record;
use crate::xe::report::PairData;
use crate::xe::shape::{Part, Shape};
use crate::xe::spec::{EventSpec, SessionSpec, TargetSpec};
use crate::xe::target::Parameters;
use crate::xe::target::histogram::is_named;

const ORPHANS_DEFAULT: u64 = 10_000;

/// One side of a pair: the event, and its values that must equal those of the other side. By name,
/// because positions change when the session is altered.
#[derive(Debug)]
struct End {
    event: String,
    columns: Vec<String>,
    actions: Vec<String>,
}

impl End {
    /// The positions of the values in the records of a shape; `None` if it is another event.
    fn places(&self, shape: &Shape) -> Option<Vec<usize>> {
        if !is_named(&self.event, &shape.package, &shape.name) {
            return None;
        }
        let (fields, actions) = shape.parts.split_at(shape.fields);
        let mut places = Vec::new();
        for name in &self.columns {
            places.push(fields.iter().position(|part| part.name.eq_ignore_ascii_case(name))?);
        }
        for name in &self.actions {
            let is_it = |part: &Part| is_named(name, &part.package, &part.name);
            places.push(shape.fields + actions.iter().position(is_it)?);
        }
        Some(places)
    }
}

/// Whether a shape is the begin, the end, both or neither, with the positions of its values.
#[derive(Debug)]
struct Known {
    shape: Arc<Shape>,
    begin: Option<Vec<usize>>,
    end: Option<Vec<usize>>,
}

#[derive(Debug)]
struct Orphan {
    shape: Arc<Shape>,
    key: Vec<u8>,
    bytes: Box<[u8]>,
    time_100ns: u64,
}

/// The pair matching target.
#[derive(Debug)]
pub(in crate::xe) struct Pairs {
    begin: End,
    end: End,
    known: Vec<Known>,
    responds: bool,
    orphans_max: usize,
    next: u64,
    orphans: BTreeMap<u64, Orphan>,
    by_key: HashMap<Vec<u8>, VecDeque<u64>>,
    matched: u64,
    truncated: u64,
    pressed: u64,
}

/// The list of names in a parameter.
fn names(parameters: &Parameters<'_>, name: &str) -> Vec<String> {
    let list = parameters.text(name).unwrap_or_default();
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

fn end(
    spec: &SessionSpec,
    parameters: &Parameters<'_>,
    names_of: [&'static str; 3],
) -> Result<End, XeError> {
    let [event_name, columns, actions] = names_of;
    let end = End {
        event: parameters.text(event_name).unwrap_or_default().to_owned(),
        columns: names(parameters, columns),
        actions: names(parameters, actions),
    };
    let is_it = |e: &&EventSpec| is_named(&end.event, e.event.package.name, e.event.name);
    let event = spec.events.iter().find(is_it).ok_or_else(|| parameters.refuse(event_name))?;
    if end.columns.iter().any(|column| event.event.field(column).is_none()) {
        return Err(parameters.refuse(columns));
    }
    let has = |name: &String| {
        event.actions.iter().any(|action| is_named(name, action.package.name, action.name))
    };
    if !end.actions.iter().all(has) {
        return Err(parameters.refuse(actions));
    }
    Ok(end)
}

impl Pairs {
    /// Makes the target without begin events.
    pub(in crate::xe) fn new(session: &SessionSpec, spec: &TargetSpec) -> Result<Self, XeError> {
        let parameters = Parameters::of(spec)?;
        let names = ["begin_event", "begin_matching_columns", "begin_matching_actions"];
        let begin = end(session, &parameters, names)?;
        let names = ["end_event", "end_matching_columns", "end_matching_actions"];
        let end = end(session, &parameters, names)?;
        let values = |end: &End| end.columns.len() + end.actions.len();
        if values(&begin) != values(&end) {
            return Err(parameters.refuse("end_matching_columns"));
        }
        let orphans_max = parameters.number("max_orphans")?.unwrap_or(ORPHANS_DEFAULT);
        Ok(Self {
            begin,
            end,
            known: Vec::new(),
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

    /// Handles an event: a begin is kept, an end removes its begin.
    pub(in crate::xe) fn receive(&mut self, shape: &Arc<Shape>, record: Record<'_>, time: u64) {
        let at = self.know(shape);
        let keys = |places: &Option<Vec<usize>>| places.as_deref().map(|p| key(record, p));
        let (begin, end) = (keys(&self.known[at].begin), keys(&self.known[at].end));
        if end.is_some_and(|key| self.resolve(&key)) {
            return;
        }
        let Some(key) = begin else { return };
        if self.orphans.len() >= self.orphans_max {
            self.give_up_oldest();
            self.truncated += 1;
        }
        self.by_key.entry(key.clone()).or_default().push_back(self.next);
        let bytes = record.bytes().into();
        let orphan = Orphan { shape: Arc::clone(shape), key, bytes, time_100ns: time };
        self.orphans.insert(self.next, orphan);
        self.next += 1;
    }

    /// Looks a shape up, and adds it if it is new.
    fn know(&mut self, shape: &Arc<Shape>) -> usize {
        let found = self.known.iter().position(|known| Arc::ptr_eq(&known.shape, shape));
        found.unwrap_or_else(|| {
            let (begin, end) = (self.begin.places(shape), self.end.places(shape));
            self.known.push(Known { shape: Arc::clone(shape), begin, end });
            self.known.len() - 1
        })
    }

    /// Removes the begin event of an end event; false if there is none.
    fn resolve(&mut self, key: &[u8]) -> bool {
        let Some(waiting) = self.by_key.get_mut(key) else { return false };
        let first = waiting.pop_front();
        if waiting.is_empty() {
            self.by_key.remove(key);
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

    /// Ends a batch: drops all begin events if memory is short and the parameters say so.
    pub(in crate::xe) fn finish(&mut self) {
        if self.responds && memory::check().is_err() {
            self.pressed += self.orphans.len() as u64;
            self.orphans.clear();
            self.by_key.clear();
        }
    }

    /// The target's contents for readers.
    pub(in crate::xe) fn data(&self) -> PairData {
        let decode = |orphan: &Orphan| {
            let (record, _) = Record::take(&orphan.bytes)?;
            Some(orphan.shape.decode(record, orphan.time_100ns))
        };
        PairData {
            truncated: self.truncated,
            matched: self.matched,
            memory_pressure_dropped: self.pressed,
            orphans: self.orphans.values().filter_map(decode).collect(),
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
