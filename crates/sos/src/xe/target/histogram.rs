//! `Histogram`: counts and weights by value. The threads that fire update it, each in a shard; a
//! reader adds up the shards.
//!
//! A shard is a hash table with linear probing, twice as many places as slots, and an arena of 64
//! bytes per slot for the bytes of the values. An event that finds no slot, or no room for its
//! value, is counted as truncated.

use std::collections::HashMap;

use crate::lock::TryCell;
use crate::sync::{AtomicU64, CachePadded, Ordering};
use crate::xe::error::XeError;
use crate::xe::field::FieldType;
use crate::xe::map::Map;
use crate::xe::partition::table;
use crate::xe::record::{Record, decode};
use crate::xe::report::{HistogramData, HistogramSlot};
use crate::xe::spec::{EventSpec, SessionSpec, TargetSpec};
use crate::xe::target::Parameters;

/// The greatest number of slots.
const SLOTS_MAX: u64 = 1 << 20;
const SLOTS_DEFAULT: u64 = 256;
const ARENA_BYTES_PER_SLOT: usize = 64;

/// The positions of the values in a record that a histogram needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::xe) struct Bucket {
    /// The position of the value to group by.
    pub(in crate::xe) source: usize,
    /// The position of the value to add up.
    pub(in crate::xe) weight: Option<usize>,
}

/// The parameters of a histogram.
#[derive(Debug)]
pub(in crate::xe) struct HistogramPlan {
    slots: usize,
    source: String,
    is_field: bool,
    only: Option<String>,
    weight: Option<String>,
}

impl HistogramPlan {
    /// Checks the parameters of a target.
    pub(in crate::xe) fn of(spec: &TargetSpec) -> Result<Self, XeError> {
        let parameters = Parameters::of(spec)?;
        let slots = parameters.number("slots")?.unwrap_or(SLOTS_DEFAULT);
        if slots == 0 || slots > SLOTS_MAX {
            return Err(parameters.refuse("slots"));
        }
        let is_field = match parameters.number("source_type")?.unwrap_or(1) {
            0 => true,
            1 => false,
            _ => return Err(parameters.refuse("source_type")),
        };
        let only = parameters.text("filtering_event_name").map(str::to_owned);
        if is_field && only.is_none() {
            return Err(XeError::MissingParameter {
                target: spec.target.name,
                parameter: "filtering_event_name",
            });
        }
        Ok(Self {
            slots: usize::try_from(slots.next_power_of_two()).unwrap_or(usize::MAX),
            source: parameters.text("source").unwrap_or_default().to_owned(),
            is_field,
            only,
            weight: parameters.text("weight").map(str::to_owned),
        })
    }

    /// The memory of one shard, in bytes.
    pub(in crate::xe) const fn shard_bytes(&self) -> usize {
        self.slots * (2 * size_of::<Slot>() + ARENA_BYTES_PER_SLOT)
    }

    /// The positions in the records of an event; `None` if the histogram does not count the event.
    pub(in crate::xe) fn bucket(&self, event: &EventSpec) -> Option<Bucket> {
        if let Some(only) = &self.only
            && !is_named(only, event.event.package.name, event.event.name)
        {
            return None;
        }
        let source = if self.is_field {
            event.event.field(unqualified(&self.source))?
        } else {
            let is_it = |action: &&&super::super::Action| {
                is_named(&self.source, action.package.name, action.name)
            };
            event.event.fields.len() + event.actions.iter().position(|action| is_it(&action))?
        };
        let weight = match &self.weight {
            None => None,
            Some(name) => {
                let field = event.event.field(unqualified(name))?;
                event.event.fields[field].field_type.is_number().then_some(field)?;
                Some(field)
            }
        };
        Some(Bucket { source, weight })
    }

    /// Checks that the histogram counts at least one event of the session.
    pub(in crate::xe) fn check(
        &self,
        spec: &SessionSpec,
        target: &TargetSpec,
    ) -> Result<(), XeError> {
        if spec.events.iter().any(|event| self.bucket(event).is_some()) {
            return Ok(());
        }
        let with = |source: &str, weight: Option<String>| Self {
            slots: self.slots,
            source: source.to_owned(),
            is_field: self.is_field,
            only: self.only.clone(),
            weight,
        };
        let is_source = spec.events.iter().any(|e| with(&self.source, None).bucket(e).is_some());
        let (parameter, value) = if is_source {
            ("weight", self.weight.clone().unwrap_or_default())
        } else {
            ("source", self.source.clone())
        };
        Err(XeError::ParameterValue { target: target.target.name, parameter, value })
    }

    /// The map of the grouped values, if they are keys of one.
    fn map(&self, spec: &SessionSpec) -> Option<&'static Map> {
        let (event, bucket) = spec.events.iter().find_map(|e| Some((e, self.bucket(e)?)))?;
        let field = event.event.fields.get(bucket.source)?;
        match field.field_type {
            FieldType::Map(map) => Some(map),
            _ => None,
        }
    }
}

/// The name without its package and brackets.
fn unqualified(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name).trim_matches(['[', ']'])
}

/// Whether `written`, with or without the package, means this name.
pub(in crate::xe) fn is_named(written: &str, package: &str, name: &str) -> bool {
    let mut parts = written.rsplit('.').map(|part| part.trim().trim_matches(['[', ']']));
    let is_name = parts.next().is_some_and(|part| part.eq_ignore_ascii_case(name));
    is_name && parts.next().is_none_or(|part| part.eq_ignore_ascii_case(package))
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u64,
    /// The start of the value in the arena, and its length: 0 for a free place.
    start: u32,
    length: u32,
    events: u64,
    weight: u64,
}

#[derive(Debug)]
struct Shard {
    places: Box<[Slot]>,
    arena: Box<[u8]>,
    used_slots: usize,
    used_bytes: usize,
    truncated: u64,
}

impl Shard {
    fn new(slots: usize) -> Self {
        Self {
            places: table(slots * 2),
            arena: table(slots * ARENA_BYTES_PER_SLOT),
            used_slots: 0,
            used_bytes: 0,
            truncated: 0,
        }
    }

    fn value(&self, slot: &Slot) -> &[u8] {
        let start = slot.start as usize;
        &self.arena[start..start + slot.length as usize]
    }

    fn add(&mut self, value: &[u8], weight: u64) {
        let hash = hash(value);
        let mask = self.places.len() - 1;
        let mut at = usize::try_from(hash >> 32).unwrap_or(0) & mask;
        loop {
            let slot = self.places[at];
            if slot.length == 0 {
                break;
            }
            if slot.hash == hash && self.value(&slot) == value {
                let slot = &mut self.places[at];
                slot.events += 1;
                slot.weight = slot.weight.saturating_add(weight);
                return;
            }
            at = (at + 1) & mask;
        }
        let end = self.used_bytes + value.len();
        let (Ok(start), Ok(length)) = (u32::try_from(self.used_bytes), u32::try_from(value.len()))
        else {
            self.truncated += 1;
            return;
        };
        if self.used_slots * 2 >= self.places.len() || end > self.arena.len() {
            self.truncated += 1;
            return;
        }
        self.arena[self.used_bytes..end].copy_from_slice(value);
        self.places[at] = Slot { hash, start, length, events: 1, weight };
        self.used_bytes = end;
        self.used_slots += 1;
    }
}

/// FNV-1a over words. The values are short, and no attacker gains from a slow histogram of their
/// own.
fn hash(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(PRIME);
        hash ^= hash >> 29;
    }
    hash.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The histogram target: its shards and parameters.
#[derive(Debug)]
pub(in crate::xe) struct Histogram {
    pub(in crate::xe) plan: HistogramPlan,
    shards: Box<[CachePadded<TryCell<Shard>>]>,
    map: Option<&'static Map>,
    /// Events that found every shard in use by another thread.
    missed: AtomicU64,
}

impl Histogram {
    /// Makes an empty histogram.
    pub(in crate::xe) fn new(plan: HistogramPlan, shards: usize, spec: &SessionSpec) -> Self {
        let slots = plan.slots;
        let map = plan.map(spec);
        let shard = |_| CachePadded::new(TryCell::new(Shard::new(slots)));
        let shards = (0..shards.max(1)).map(shard).collect();
        Self { plan, shards, map, missed: AtomicU64::new(0) }
    }

    /// The memory of its tables, in bytes.
    pub(in crate::xe) fn bytes(&self) -> u64 {
        (self.shards.len() * self.plan.shard_bytes()) as u64
    }

    /// Adds a record to the calling thread's shard, or to the next one that is free. If none is,
    /// the record counts as truncated, because a thread must not wait here.
    pub(in crate::xe) fn add(&self, own: usize, record: Record<'_>, bucket: Bucket) {
        let Some(value) = record.value_bytes(bucket.source) else { return };
        let weigh = |at| {
            let bytes = record.value_bytes(at)?;
            decode(bytes).and_then(|(value, _)| value.as_number())
        };
        let weight = bucket.weight.map_or(1, |at| weigh(at).unwrap_or(0));
        let count = self.shards.len();
        let is_added = (0..count).any(|step| {
            let shard = &self.shards[(own + step) % count];
            shard.try_with(|shard| shard.add(value, weight)).is_some()
        });
        if !is_added {
            // Relaxed: a count that orders nothing.
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The target's contents for readers.
    pub(in crate::xe) fn data(&self) -> HistogramData {
        let mut sums: HashMap<Vec<u8>, (u64, u64)> = HashMap::new();
        let mut truncated = self.missed.load(Ordering::Relaxed);
        for shard in &self.shards {
            shard.with(crate::sys::yield_cpu, |shard| {
                truncated += shard.truncated;
                for slot in shard.places.iter().filter(|slot| slot.length != 0) {
                    let sum = sums.entry(shard.value(slot).to_vec()).or_default();
                    sum.0 += slot.events;
                    sum.1 = sum.1.saturating_add(slot.weight);
                }
            });
        }
        let mut slots: Vec<HistogramSlot> = sums
            .into_iter()
            .filter_map(|(value, (events, weight))| {
                let (value, _) = decode(&value)?;
                Some(HistogramSlot { value: value.to_owned(), events, weight })
            })
            .collect();
        slots.sort_by_key(|slot| std::cmp::Reverse((slot.weight, slot.events)));
        truncated += slots.iter().skip(self.plan.slots).map(|slot| slot.events).sum::<u64>();
        slots.truncate(self.plan.slots);
        let buckets = self.plan.slots as u64;
        HistogramData { truncated, buckets, map: self.map, slots }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::xe::record::Encoder;
    use crate::xe::spec::SessionOptions;
    use crate::xe::value::Value;

    fn histogram(slots: usize, shards: usize) -> Histogram {
        let plan = HistogramPlan {
            slots,
            source: String::new(),
            is_field: true,
            only: None,
            weight: None,
        };
        let (name, options) = (String::new(), SessionOptions::default());
        let spec = SessionSpec { name, events: Vec::new(), targets: Vec::new(), options };
        Histogram::new(plan, shards, &spec)
    }

    proptest! {
        #[test]
        fn histogram_is_a_bounded_map(
            adds in proptest::collection::vec(("[a-z]{0,2}", 0_u64..100, 0_usize..8), 0..400),
        ) {
            const SLOTS: usize = 64;
            let histogram = histogram(SLOTS, 3);
            let mut map: HashMap<String, (u64, u64)> = HashMap::new();
            for (text, weight, shard) in &adds {
                let mut buffer = [0; 64];
                let mut encoder = Encoder::new(&mut buffer);
                encoder.value(Value::Text(text));
                encoder.value(Value::UInt(*weight));
                let bytes = encoder.finish(0, 0).expect("there is room");
                let (record, _) = Record::take(&buffer[..bytes]).expect("a record");
                histogram.add(*shard, record, Bucket { source: 0, weight: Some(1) });
                let sum = map.entry(text.clone()).or_default();
                *sum = (sum.0 + 1, sum.1 + weight);
            }
            let data = histogram.data();
            prop_assert!(data.slots.len() <= SLOTS);
            let counted: u64 = data.slots.iter().map(|slot| slot.events).sum();
            prop_assert_eq!(counted + data.truncated, adds.len() as u64);
            prop_assert!(data.slots.is_sorted_by_key(|slot| std::cmp::Reverse(slot.weight)));
            for slot in &data.slots {
                let crate::xe::OwnedValue::Text(text) = &slot.value else { panic!("a text") };
                let (events, weight) = map[text.as_str()];
                prop_assert!(slot.events <= events && slot.weight <= weight);
                if map.len() <= SLOTS {
                    prop_assert_eq!((slot.events, slot.weight), (events, weight));
                }
            }
            prop_assert!(map.len() > SLOTS || data.truncated == 0);
        }
    }

    #[test]
    fn values_that_the_arena_has_no_room_for_are_truncated() {
        let histogram = histogram(2, 1);
        let mut buffer = [0; 400];
        for letter in ["a", "b"] {
            let mut encoder = Encoder::new(&mut buffer);
            let text = letter.repeat(100);
            encoder.value(Value::Text(&text));
            let bytes = encoder.finish(0, 0).expect("there is room");
            let (record, _) = Record::take(&buffer[..bytes]).expect("a record");
            histogram.add(0, record, Bucket { source: 0, weight: None });
        }
        let data = histogram.data();
        assert_eq!((data.slots.len(), data.truncated), (1, 1));
    }

    #[test]
    fn names_are_known_with_and_without_package_and_brackets() {
        for written in ["callstack", "package0.callstack", "[package0].[callstack]", "CALLSTACK"] {
            assert!(is_named(written, "package0", "callstack"), "{written}");
        }
        assert!(!is_named("sqlos.callstack", "package0", "callstack"));
    }
}
