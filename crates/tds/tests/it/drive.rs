//! The checks of the fuzz targets on their input, shared with the tests that run the corpus.
//!
//! Each function accepts any bytes and must return: no panic, no endless loop, no allocation sized
//! by an unchecked length field. It checks what it can about the values that were read.

use tds::client::{DoneScanner, TokenReader};
use tds::message::Message;
use tds::tls_wrap::{Unwrapped, Unwrapper};
use tds::wire_type::{Place, WireType};
use tds::{
    BulkReader, Cursor, Login7, MessageReader, PacketType, ParameterValue, Prelogin, Request,
    Reset, RpcReader, Step, TdsVersion,
};
use types::Value;

const VERSIONS: [TdsVersion; 6] = [
    TdsVersion::V7_1,
    TdsVersion::V7_2,
    TdsVersion::V7_3A,
    TdsVersion::V7_3B,
    TdsVersion::V7_4,
    TdsVersion::V8_0,
];

fn version(byte: u8) -> TdsVersion {
    VERSIONS[usize::from(byte) % VERSIONS.len()]
}

/// Reads packets and messages: the first byte chooses the pieces in which the rest arrives.
pub(crate) fn packets(data: &[u8]) {
    let Some((&choice, stream)) = data.split_first() else { return };
    let piece = usize::from(choice & 0x7F) * 7 + 1;
    let uses_spare = choice & 0x80 != 0;
    let mut reader = MessageReader::new();
    let mut scanner = DoneScanner::new(version(choice));
    let _ = scanner.feed(stream);
    let mut bulk = BulkReader::new(TdsVersion::V7_4);
    let mut rest = stream;
    while !rest.is_empty() {
        let count = rest.len().min(piece);
        let used = if let (true, Some(spare)) = (uses_spare, reader.spare()) {
            let count = count.min(spare.len());
            spare[..count].copy_from_slice(&rest[..count]);
            match reader.received(count) {
                Ok(step) => step_of(step, &mut bulk),
                Err(_) => return,
            }
            count
        } else {
            match reader.feed(&rest[..count]) {
                Ok((used, step)) => {
                    step_of(step, &mut bulk);
                    used
                }
                Err(_) => return,
            }
        };
        rest = &rest[used..];
        assert!(reader.held_bytes() <= 2 * stream.len() + 16 * 1024, "memory follows what arrived");
    }
}

fn step_of(step: Step<'_>, bulk: &mut BulkReader) {
    match step {
        Step::NeedMore | Step::Cancelled(_) => {}
        Step::BulkPart { body, last } => {
            if bulk.push(body, last).is_ok() {
                rows(bulk);
            }
        }
        Step::Message(message) => match message.kind {
            PacketType::Prelogin => drop(Prelogin::parse(message.body)),
            PacketType::Login7 => drop(Login7::parse(message.body)),
            PacketType::Response => drop(TokenReader::new(message.body, TdsVersion::V7_4).all()),
            _ => request(message, TdsVersion::V7_4),
        },
    }
}

fn rows(bulk: &mut BulkReader) {
    let mut row = Vec::new();
    while let Ok(true) = bulk.next_row(&mut row) {}
}

fn request(message: Message<'_>, version: TdsVersion) {
    let bytes = message.body.remaining();
    if let Ok(Request::Rpc(reader)) = Request::decode(message, version) {
        calls(reader, bytes);
    }
}

/// Reads all calls; what was read may not be longer than what was sent.
fn calls(mut reader: RpcReader<'_>, bytes_sent: usize) {
    let mut bytes_read = 0;
    while let Ok(Some(_)) = reader.next_call() {
        while let Ok(Some(parameter)) = reader.next_parameter() {
            match parameter.value {
                ParameterValue::Default => {}
                ParameterValue::Value(value) => {
                    bytes_read += value_bytes(&value);
                    round_trip(parameter.column_type, &value);
                }
                ParameterValue::Table(table) => {
                    bytes_read += table.values.iter().map(value_bytes).sum::<usize>();
                    assert!(table.values.len() <= bytes_sent * table.columns.len());
                }
            }
        }
        if !reader.has_more_calls() {
            break;
        }
    }
    assert!(bytes_read <= bytes_sent, "what was read had been sent");
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::VarChar(bytes) | Value::NVarChar(bytes) | Value::VarBinary(bytes) => bytes.len(),
        Value::Variant(inner) => value_bytes(&inner.0),
        _ => 0,
    }
}

/// Checks that a decoded value can be encoded and decoded again.
fn round_trip(column_type: types::ColumnType, value: &Value) {
    let wire = WireType::for_output(column_type, TdsVersion::V7_4);
    let mut bytes = Vec::new();
    wire.encode(&mut bytes);
    wire.encode_value(&mut bytes, value, Place::Parameter);
    let mut cursor = Cursor::new(&bytes);
    let again = WireType::decode(&mut cursor).expect("our own type");
    let read = again.decode_value(&mut cursor, Place::Parameter).expect("our own value");
    assert_eq!((&read, cursor.is_empty()), (value, true));
}

/// Reads the messages before login: PRELOGIN, LOGIN7, and a wrapped handshake.
pub(crate) fn login(data: &[u8]) {
    if let Ok(prelogin) = Prelogin::parse(Cursor::new(data)) {
        let payload = prelogin.to_client_payload();
        Prelogin::parse(Cursor::new(&payload)).expect("our own PRELOGIN");
    }
    if let Ok(login) = Login7::parse(Cursor::new(data)) {
        assert!(login.user.len() <= data.len() * 3 && login.features.len() <= data.len());
        let _ = login.unsupported_authentication();
    }
    let mut unwrapper = Unwrapper::new();
    let mut rest = data;
    while !rest.is_empty() {
        match unwrapper.next(rest) {
            Ok(Unwrapped::Handshake { used, .. }) => {
                assert!(used > 0, "a step forward at each call");
                rest = &rest[used..];
            }
            Ok(Unwrapped::Bare) | Err(_) => return,
        }
    }
}

/// Reads the payloads of requests and responses: the first byte chooses the version and the kind.
pub(crate) fn rpc(data: &[u8]) {
    let Some((&choice, payload)) = data.split_first() else { return };
    let version = version(choice & 0x0F);
    let of = |kind| Message { kind, reset: Reset::No, body: Cursor::new(payload) };
    match choice >> 4 {
        0 => request(of(PacketType::Rpc), version),
        1 => request(of(PacketType::Transaction), version),
        2 => request(of(PacketType::SqlBatch), version),
        3 => {
            let mut bulk = BulkReader::new(version);
            let (first, second) = payload.split_at(payload.len() / 2);
            if bulk.push(Cursor::new(first), false).is_ok() {
                rows(&mut bulk);
                if bulk.push(Cursor::new(second), true).is_ok() {
                    rows(&mut bulk);
                }
            }
        }
        _ => drop(TokenReader::new(Cursor::new(payload), version).all()),
    }
}
