//! Helpers of the tests: whole messages through the reader, whole responses through the writer, and
//! values of every type.

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};
use std::io::IoSlice;

use tds::client::{Token, TokenReader};
use tds::message::MESSAGE_BYTES_MAX;
use tds::{MessageReader, PacketType, Reset, ResponseWriter, Step, TdsVersion, WireSettings};
use types::data_type::{DataType, Length};
use types::{Bytes, Collation, ColumnType, Decimal, Value};

/// A message taken out of its buffers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) kind: PacketType,
    pub(crate) reset: Reset,
    pub(crate) payload: Vec<u8>,
}

/// Takes a step's message out of its buffers; panics on bulk parts.
pub(crate) fn own(step: Step<'_>) -> Option<Owned> {
    match step {
        Step::NeedMore | Step::Cancelled(_) => None,
        Step::Message(message) => {
            let mut body = message.body;
            let payload = body.bytes(body.remaining()).unwrap().into_owned();
            Some(Owned { kind: message.kind, reset: message.reset, payload })
        }
        Step::BulkPart { .. } => panic!("no bulk load was sent"),
    }
}

/// Reads all messages in `bytes`, which arrive in pieces of `piece` bytes.
pub(crate) fn read_in_pieces(bytes: &[u8], piece: usize) -> tds::Result<Vec<Owned>> {
    let mut reader = MessageReader::new();
    reader.set_message_bytes_max(MESSAGE_BYTES_MAX);
    let mut messages = Vec::new();
    for mut part in bytes.chunks(piece) {
        while !part.is_empty() {
            let (used, step) = reader.feed(part)?;
            messages.extend(own(step));
            part = &part[used..];
        }
    }
    Ok(messages)
}

/// Reads the only message in `bytes`.
pub(crate) fn read_one(bytes: &[u8]) -> tds::Result<Owned> {
    let mut messages = read_in_pieces(bytes, usize::MAX)?;
    assert_eq!(messages.len(), 1);
    Ok(messages.remove(0))
}

/// Writes a response and returns its packets.
pub(crate) fn respond(settings: WireSettings, write: impl FnOnce(&mut ResponseWriter)) -> Vec<u8> {
    let mut writer = ResponseWriter::new();
    writer.begin(settings);
    write(&mut writer);
    writer.finish();
    drain(&mut writer, usize::MAX)
}

/// Sends all that can be sent, at most `count_max` bytes at a time.
pub(crate) fn drain(writer: &mut ResponseWriter, count_max: usize) -> Vec<u8> {
    let mut sent = Vec::new();
    while writer.sendable_bytes() > 0 {
        let mut slices = [IoSlice::new(&[]); 3];
        let used = writer.slices(&mut slices);
        let mut now: Vec<u8> =
            slices[..used].iter().flat_map(|slice| slice.iter().copied()).collect();
        now.truncate(count_max);
        writer.consume(now.len());
        sent.extend(now);
    }
    sent
}

/// Decodes the tokens of a response's packets.
pub(crate) fn tokens(packets: &[u8], version: TdsVersion) -> Vec<Token> {
    let message = read_one(packets).unwrap();
    assert_eq!(message.kind, PacketType::Response);
    TokenReader::new(tds::Cursor::new(&message.payload), version).all().unwrap()
}

/// Settings for a version, with default packets.
pub(crate) fn settings(version: TdsVersion) -> WireSettings {
    WireSettings { version, ..WireSettings::default() }
}

/// A nullable column of this type.
pub(crate) fn column_type(data_type: DataType) -> ColumnType {
    ColumnType { data_type, collation: Collation::default(), nullable: true }
}

/// UTF-16LE of a text, as a value.
pub(crate) fn nvarchar(text: &str) -> Value {
    Value::NVarChar(tds::utf16::from_str(text).into())
}

fn run(bytes_max: usize) -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..=bytes_max).prop_map(Bytes::from)
}

fn units(units_max: usize) -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u16>(), 0..=units_max).prop_map(|units| {
        units.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>().into()
    })
}

const DAYS_END: i32 = 3_652_059;
const DAY: i64 = 864_000_000_000;

fn ticks(scale: u8) -> impl Strategy<Value = i64> {
    let unit = 10_i64.pow(7 - u32::from(scale));
    (0..DAY / unit).prop_map(move |count| count * unit)
}

fn numbers() -> impl Strategy<Value = (DataType, Value)> {
    let decimal = (1..=38_u8).prop_flat_map(|precision| {
        let end = 10_i128.pow(precision.into());
        (0..=precision, 1 - end..end).prop_map(move |(scale, mantissa)| {
            let value = Value::Decimal(Decimal::new(mantissa, precision, scale));
            (DataType::Decimal { precision, scale }, value)
        })
    });
    prop_oneof![
        any::<bool>().prop_map(|v| (DataType::Bit, Value::Bit(v))),
        any::<u8>().prop_map(|v| (DataType::TinyInt, Value::TinyInt(v))),
        any::<i16>().prop_map(|v| (DataType::SmallInt, Value::SmallInt(v))),
        any::<i32>().prop_map(|v| (DataType::Int, Value::Int(v))),
        any::<i64>().prop_map(|v| (DataType::BigInt, Value::BigInt(v))),
        decimal,
        any::<i64>().prop_map(|v| (DataType::Money, Value::Money(v))),
        any::<i32>().prop_map(|v| (DataType::SmallMoney, Value::Money(v.into()))),
        prop::num::f32::NORMAL.prop_map(|v| (DataType::Real, Value::Real(v))),
        prop::num::f64::NORMAL.prop_map(|v| (DataType::Float, Value::Float(v))),
    ]
}

fn dates() -> impl Strategy<Value = (DataType, Value)> {
    let scaled = (0..=7_u8).prop_flat_map(|scale| {
        (ticks(scale), 0..DAYS_END, -840..=840_i16, 0..3_u8).prop_map(
            move |(ticks, days, offset, kind)| match kind {
                0 => (DataType::Time(scale), Value::Time(ticks)),
                1 => (DataType::DateTime2(scale), Value::DateTime2 { days, ticks }),
                _ => {
                    (DataType::DateTimeOffset(scale), Value::DateTimeOffset { days, ticks, offset })
                }
            },
        )
    });
    prop_oneof![
        (0..DAYS_END).prop_map(|days| (DataType::Date, Value::Date(days))),
        (-53_690..=2_958_463_i32, 0..25_920_000_u32)
            .prop_map(|(days, ticks)| (DataType::DateTime, Value::DateTime { days, ticks })),
        (any::<u16>(), 0..1_440_u16).prop_map(|(days, minutes)| {
            (DataType::SmallDateTime, Value::SmallDateTime { days, minutes })
        }),
        scaled,
    ]
}

fn short_runs() -> impl Strategy<Value = (DataType, Value)> {
    prop_oneof![
        run(40).prop_map(|b| (DataType::Char(40), Value::VarChar(b))),
        run(60).prop_map(|b| (DataType::VarChar(Length::Limited(60)), Value::VarChar(b))),
        units(30).prop_map(|b| (DataType::NChar(30), Value::NVarChar(b))),
        units(449).prop_map(|b| (DataType::NVarChar(Length::Limited(449)), Value::NVarChar(b))),
        run(16).prop_map(|b| (DataType::Binary(16), Value::VarBinary(b))),
        run(7_000).prop_map(|b| (DataType::VarBinary(Length::Limited(8_000)), Value::VarBinary(b))),
        any::<[u8; 16]>().prop_map(|b| (DataType::UniqueIdentifier, Value::UniqueIdentifier(b))),
    ]
}

fn long_runs() -> impl Strategy<Value = (DataType, Value)> {
    prop_oneof![
        run(50_000).prop_map(|b| (DataType::VarChar(Length::Max), Value::VarChar(b))),
        units(20_000).prop_map(|b| (DataType::NVarChar(Length::Max), Value::NVarChar(b))),
        run(50_000).prop_map(|b| (DataType::VarBinary(Length::Max), Value::VarBinary(b))),
        run(300).prop_map(|b| (DataType::Text, Value::VarChar(b))),
        units(300).prop_map(|b| (DataType::NText, Value::NVarChar(b))),
        run(40_000).prop_map(|b| (DataType::Image, Value::VarBinary(b))),
        units(300).prop_map(|b| (DataType::Xml, Value::NVarChar(b))),
    ]
}

/// A type and a value of it or NULL, over all types that decode to the value that was encoded.
pub(crate) fn typed_value() -> impl Strategy<Value = (ColumnType, Value)> {
    let bare = || prop_oneof![4 => numbers(), 4 => dates(), 3 => short_runs()];
    let variant = bare().prop_map(|(data_type, value)| {
        let inner = column_type(data_type);
        (DataType::SqlVariant, Value::Variant(Box::new((value, inner))))
    });
    let any_type = prop_oneof![8 => bare(), 1 => long_runs(), 2 => variant];
    (any_type, prop_oneof![5 => Just(false), 1 => Just(true)]).prop_map(
        |((data_type, value), is_null)| {
            (column_type(data_type), if is_null { Value::Null } else { value })
        },
    )
}
