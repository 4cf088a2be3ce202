//! pprof's format: `profile.proto` of github.com/google/pprof, encoded by hand and compressed.
//!
//! ```text
//!   Profile ─► Sample: location ids (innermost first), values, labels
//!           ─► Location: address, mapping, a Line for each function there, inlined ones first
//!           ─► Function: name and file by their places in the table of strings
//! ```

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Frame, Kind, Profile, Stack};
use crate::Result;

/// Returns a profile in pprof's format.
///
/// # Errors
/// If compressing fails.
pub fn pprof(profile: &Profile, began_unix_ns: u64) -> Result<Vec<u8>> {
    let plain = Encoder::default().profile(profile, began_unix_ns);
    let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
    let written = compressed.write_all(&plain);
    written.and_then(|()| compressed.finish()).map_err(|error| format!("gzip: {error}"))
}

/// A message being written: its fields in order.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        loop {
            let low = u8::try_from(value & 0x7F).unwrap_or(0);
            value >>= 7;
            if value == 0 {
                self.0.push(low);
                return;
            }
            self.0.push(low | 0x80);
        }
    }

    /// Writes a number; zero is left out, since readers take an absent number for zero.
    fn number(mut self, field: u64, value: u64) -> Self {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn packed(self, field: u64, values: impl IntoIterator<Item = u64>) -> Self {
        let mut packed = Self::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.bytes(field, &packed.0)
    }

    fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }
}

/// Tables of strings, functions and locations, to which samples refer by number.
#[derive(Default)]
struct Encoder {
    strings: HashMap<String, u64>,
    table: Vec<String>,
    functions: HashMap<(u64, u64), u64>,
    mappings: HashMap<u64, u64>,
    locations: HashMap<Vec<Frame>, u64>,
    rest: Message,
}

impl Encoder {
    fn profile(mut self, profile: &Profile, began_unix_ns: u64) -> Vec<u8> {
        // The format requires the first string to be empty.
        self.string("");
        let (name, unit) = match profile.kind {
            Kind::Cpu => ("cpu", "nanoseconds"),
            Kind::Wait => ("wait", "nanoseconds"),
            Kind::Allocation => ("alloc_space", "bytes"),
        };
        let count = self.value_type("samples", "count");
        let weight = self.value_type(name, unit);
        let mut all = Message::default().message(1, &count).message(1, &weight);
        for stack in &profile.stacks {
            let sample = self.sample(stack);
            all = all.message(2, &sample);
        }
        all.0.append(&mut self.rest.0);
        for text in &self.table {
            all = all.bytes(6, text.as_bytes());
        }
        all = all.number(9, began_unix_ns).number(10, profile.duration_ns);
        all.message(11, &weight).number(12, profile.period).0
    }

    fn string(&mut self, text: &str) -> u64 {
        if let Some(&place) = self.strings.get(text) {
            return place;
        }
        let place = self.table.len() as u64;
        self.strings.insert(text.to_owned(), place);
        self.table.push(text.to_owned());
        place
    }

    fn value_type(&mut self, name: &str, unit: &str) -> Message {
        let (name, unit) = (self.string(name), self.string(unit));
        Message::default().number(1, name).number(2, unit)
    }

    fn sample(&mut self, stack: &Stack) -> Message {
        // Inlined functions share the location of the function that contains them.
        let mut locations = Vec::new();
        let mut held: Vec<Frame> = Vec::new();
        for frame in &stack.frames {
            held.push(Frame::clone(frame));
            if !frame.is_inlined {
                locations.push(self.location(std::mem::take(&mut held)));
            }
        }
        let mut sample = Message::default().packed(1, locations);
        sample = sample.packed(2, [stack.samples, stack.weight]);
        for (key, value) in &stack.labels {
            let (key, value) = (self.string(key), self.string(value));
            sample = sample.message(3, &Message::default().number(1, key).number(2, value));
        }
        sample
    }

    fn location(&mut self, frames: Vec<Frame>) -> u64 {
        if let Some(&id) = self.locations.get(&frames) {
            return id;
        }
        let id = self.locations.len() as u64 + 1;
        let mut location = Message::default().number(1, id);
        if let Some(frame) = frames.first() {
            let mapping = self.mapping(&frame.module);
            location = location.number(2, mapping).number(3, frame.address);
        }
        for frame in &frames {
            let function = self.function(frame);
            let line = u64::from(frame.line.unwrap_or(0));
            let line = Message::default().number(1, function).number(2, line);
            location = location.message(4, &line);
        }
        self.put(4, &location);
        self.locations.insert(frames, id);
        id
    }

    fn mapping(&mut self, module: &str) -> u64 {
        const HAS_FUNCTIONS: u64 = 7;
        const HAS_INLINE_FRAMES: u64 = 10;
        let file = self.string(module);
        if let Some(&id) = self.mappings.get(&file) {
            return id;
        }
        let id = self.mappings.len() as u64 + 1;
        self.mappings.insert(file, id);
        let mapping = Message::default().number(1, id).number(5, file);
        let mapping =
            (HAS_FUNCTIONS..=HAS_INLINE_FRAMES).fold(mapping, |m, flag| m.number(flag, 1));
        self.put(3, &mapping);
        id
    }

    fn function(&mut self, frame: &Frame) -> u64 {
        let name = self.string(&frame.name);
        let file = self.string(frame.file.as_deref().unwrap_or(""));
        if let Some(&id) = self.functions.get(&(name, file)) {
            return id;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert((name, file), id);
        let function = Message::default().number(1, id).number(2, name);
        self.put(5, &function.number(3, name).number(4, file));
        id
    }

    fn put(&mut self, field: u64, message: &Message) {
        let rest = std::mem::take(&mut self.rest);
        self.rest = rest.message(field, message);
    }
}
