//! `Template`: a statement or procedure call whose parameter values are drawn for each request.

use sos::sync::{AtomicU64, Ordering};
use tds::client::{self, ClientSettings, RpcBuilder};
use tds::{ProcedureId, Reset};
use types::{Bytes, ColumnType, DataType, Length, Value};

use super::random::{Random, Zipf};

/// A distribution of numbers.
#[derive(Debug)]
pub(super) enum Draw {
    /// Uniform between two numbers, both included.
    Uniform(i64, i64),
    /// By Zipf's law from the first number on; the first ones are the most likely.
    Zipf(i64, Zipf),
    /// One number after the other over all connections, from the first to the last and again; in
    /// steps if other processes draw the numbers in between.
    Sequence { from: i64, to: i64, next: AtomicU64, step: u64 },
}

impl Draw {
    fn number(&self, random: &mut Random) -> i64 {
        match self {
            Self::Uniform(from, to) => random.between(*from, *to),
            Self::Zipf(from, law) => {
                from.wrapping_add(i64::try_from(law.draw(random)).unwrap_or(i64::MAX) - 1)
            }
            Self::Sequence { from, to, next, step } => {
                let span = to.abs_diff(*from).saturating_add(1);
                // Relaxed: a count that orders nothing.
                let place = next.fetch_add(*step, Ordering::Relaxed) % span;
                from.wrapping_add_unsigned(place)
            }
        }
    }
}

/// How a parameter's value is made.
#[derive(Debug)]
pub(super) enum Source {
    /// The drawn number itself.
    Number(Draw),
    /// A text with the drawn number appended.
    Numbered(String, Draw),
    /// A GUID derived from the drawn number, so that two requests can use the same one.
    NumberedGuid(Draw),
    /// A new random GUID for each request.
    Guid,
    /// Random letters; the length is in this range.
    Letters(i64, i64),
    /// Random bytes; the length is in this range.
    Bytes(i64, i64),
    /// One value of this list.
    List(Vec<Value>),
}

/// A parameter of a statement or procedure.
#[derive(Debug)]
pub(super) struct Parameter {
    /// Its name, with the `@`.
    pub(super) name: String,
    pub(super) data_type: DataType,
    pub(super) source: Source,
}

impl Parameter {
    fn draw(&self, random: &mut Random) -> Value {
        match &self.source {
            Source::Number(draw) => {
                let number = draw.number(random);
                match self.data_type {
                    DataType::Int => i32::try_from(number).map_or(Value::Null, Value::Int),
                    _ => Value::BigInt(number),
                }
            }
            Source::Numbered(prefix, draw) => {
                Value::nvarchar(&format!("{prefix}{}", draw.number(random)))
            }
            Source::NumberedGuid(draw) => {
                let number = draw.number(random).cast_unsigned();
                let mut other = Random::new(number);
                guid(number, other.bits())
            }
            Source::Guid => guid(random.bits(), random.bits()),
            Source::Letters(from, to) => {
                let letter = |random: &mut Random| {
                    char::from(b'a' + u8::try_from(random.below(26)).unwrap_or(0))
                };
                let count = random.between(*from, *to);
                let text: String = (0..count).map(|_| letter(random)).collect();
                Value::nvarchar(&text)
            }
            Source::Bytes(from, to) => {
                let count = usize::try_from(random.between(*from, *to)).unwrap_or(0);
                let mut bytes = Vec::with_capacity(count + 8);
                while bytes.len() < count {
                    bytes.extend_from_slice(&random.bits().to_le_bytes());
                }
                bytes.truncate(count);
                Value::VarBinary(Bytes::from(bytes))
            }
            Source::List(values) => {
                let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
                values[random.below(count) as usize].clone()
            }
        }
    }
}

/// Returns a version 4 GUID with these bits.
fn guid(low: u64, high: u64) -> Value {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&low.to_le_bytes());
    bytes[8..].copy_from_slice(&high.to_le_bytes());
    // The third group is little-endian.
    bytes[7] = bytes[7] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Value::UniqueIdentifier(bytes)
}

/// A request whose values are still to be drawn.
#[derive(Debug)]
pub(super) struct Template {
    head: RpcBuilder,
    parameters: Vec<Parameter>,
    pub(super) reset: Reset,
}

impl Template {
    /// Makes a template of a statement, sent by sp_executesql.
    pub(super) fn statement(text: &str, parameters: Vec<Parameter>) -> Self {
        let declare = |parameter: &Parameter| format!("{} {}", parameter.name, parameter.data_type);
        let declared = parameters.iter().map(declare).collect::<Vec<_>>().join(", ");
        let wide = ColumnType::nullable(DataType::NVarChar(Length::Max));
        let mut head = RpcBuilder::new(ClientSettings::default())
            .call_id(ProcedureId::ExecuteSql)
            .input("", wide, &Value::nvarchar(text));
        if !parameters.is_empty() {
            head = head.input("", wide, &Value::nvarchar(&declared));
        }
        Self { head, parameters, reset: Reset::No }
    }

    /// Makes a template of a procedure call.
    pub(super) fn procedure(name: &str, parameters: Vec<Parameter>) -> Self {
        let head = RpcBuilder::new(ClientSettings::default()).call(name);
        Self { head, parameters, reset: Reset::No }
    }

    /// Restricts sequences to the numbers of one of `shares` shares.
    pub(super) fn share(&mut self, index: u64, shares: u64) {
        for parameter in &mut self.parameters {
            let draw = match &mut parameter.source {
                Source::Number(draw) | Source::Numbered(_, draw) | Source::NumberedGuid(draw) => {
                    draw
                }
                Source::Guid | Source::Letters(..) | Source::Bytes(..) | Source::List(_) => {
                    continue;
                }
            };
            if let Draw::Sequence { next, step, .. } = draw {
                *next = AtomicU64::new(index);
                *step = shares;
            }
        }
    }

    /// Makes a request with newly drawn values.
    pub(super) fn request(&self, random: &mut Random) -> Vec<u8> {
        let mut request = self.head.clone();
        for parameter in &self.parameters {
            let ty = ColumnType::nullable(parameter.data_type);
            request = request.input(&parameter.name, ty, &parameter.draw(random));
        }
        let mut packets = request.finish();
        client::set_reset(&mut packets, self.reset);
        packets
    }
}
