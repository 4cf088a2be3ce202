//! Tests messages from packets: whole, in pieces, interrupted, wrong.

use tds::client::{self, ClientSettings, RpcBuilder};
use tds::packet::{PACKET_SIZE_MAX, negotiated_packet_size};
use tds::{MessageReader, Opening, PacketType, ProtocolError, Reset, Step};
use types::{DataType, Length, Value};

use crate::support::{column_type, own, read_in_pieces, read_one};

fn packet(kind: u8, status: u8, id: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 8).unwrap().to_be_bytes();
    let mut bytes = vec![kind, status, length[0], length[1], 0, 0, id, 0];
    bytes.extend_from_slice(payload);
    bytes
}

#[test]
fn recorded_batch_of_the_specification_is_read() {
    // [MC-SMP] 4.3 prints this TDS packet: SET QUOTED_IDENTIFIER OFF.
    let mut bytes = vec![1, 1, 0, 0x50, 0, 0, 1, 0, 0x16, 0, 0, 0, 0x12, 0, 0, 0, 2, 0];
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    let text = tds::utf16::from_str("SET QUOTED_IDENTIFIER OFF");
    bytes.extend(&text);
    assert_eq!(bytes.len(), 0x50);
    let (reader, version) = (&mut MessageReader::new(), tds::TdsVersion::V7_2);
    let (used, step) = reader.feed(&bytes).unwrap();
    assert_eq!(used, bytes.len());
    let Step::Message(message) = step else { panic!("one packet is one message") };
    let tds::Request::Batch(batch) = tds::Request::decode(message, version).unwrap() else {
        panic!("packet type 1 is a batch")
    };
    assert_eq!((batch.transaction, &*batch.text), (0, &*text));
    assert!(matches!(batch.text, std::borrow::Cow::Borrowed(_)), "one packet needs no copy");
    assert_eq!(client::batch("SET QUOTED_IDENTIFIER OFF", ClientSettings::default()), bytes);
}

#[test]
fn message_is_the_same_however_it_arrives() {
    let settings = ClientSettings { packet_size: 512, ..ClientSettings::default() };
    let blob: Vec<u8> = (0..3_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let bytes = RpcBuilder::new(settings)
        .call("dbo.TempInsert")
        .input("@id", column_type(DataType::Int), &Value::Int(7))
        .input("@b", column_type(DataType::VarBinary(Length::Max)), &Value::VarBinary(blob.into()))
        .finish();
    let whole = read_one(&bytes).unwrap();
    for piece in [1, 2, 3, 7, 8, 9, 100, 511, 512, 513, 1_024, 2_000] {
        assert_eq!(read_in_pieces(&bytes, piece).unwrap(), [read_one(&bytes).unwrap()], "{piece}");
    }
    assert!(whole.payload.len() < bytes.len());
}

#[test]
fn two_messages_in_one_receive_are_two() {
    let mut bytes = client::batch("select 1", ClientSettings::default());
    let first = bytes.len();
    client::set_reset(&mut bytes, Reset::Session);
    bytes.extend(client::batch("select 2", ClientSettings::default()));
    let mut reader = MessageReader::new();
    let (used, step) = reader.feed(&bytes).unwrap();
    assert_eq!((used, own(step).unwrap().reset), (first, Reset::Session));
    let (used, step) = reader.feed(&bytes[first..]).unwrap();
    assert_eq!((used, own(step).unwrap().reset), (bytes.len() - first, Reset::No));
    assert_eq!(reader.held_bytes(), 0, "what came whole needs no memory");
}

#[test]
fn receiving_behind_a_half_message_gives_the_same_message() {
    let settings = ClientSettings { packet_size: 4_096, ..ClientSettings::default() };
    let text = "x".repeat(100_000);
    let big = client::batch(&text, settings);
    let mut stream = big.clone();
    stream.extend(client::batch("select 2", settings));
    let mut reader = MessageReader::new();
    reader.set_message_bytes_max(1 << 20);
    let (mut at, step) = reader.feed(&stream[..5_000]).unwrap();
    assert!(own(step).is_none());
    let message = loop {
        let spare = reader.spare().expect("a message is half here");
        let count = spare.len().min(stream.len() - at).min(9_999);
        spare[..count].copy_from_slice(&stream[at..at + count]);
        at += count;
        if let Some(message) = own(reader.received(count).unwrap()) {
            break message;
        }
    };
    assert_eq!(message, read_one(&big).unwrap());
    assert_eq!(at, stream.len(), "the receive brought the next message along");
    assert!(reader.spare().is_none());
    let (used, step) = reader.feed(&[]).unwrap();
    assert_eq!(used, 0);
    assert_eq!(own(step).unwrap(), read_one(&client::batch("select 2", settings)).unwrap());
    reader.release();
    assert_eq!(reader.held_bytes(), 0);
}

#[test]
fn attention_in_the_midst_of_a_message_discards_it() {
    let mut bytes = packet(1, 0, 1, b"half");
    bytes.extend(client::attention());
    bytes.extend(client::batch("select 1", ClientSettings::default()));
    let kinds: Vec<_> =
        read_in_pieces(&bytes, 5).unwrap().into_iter().map(|message| message.kind).collect();
    assert_eq!(kinds, [PacketType::Attention, PacketType::SqlBatch]);
}

#[test]
fn message_taken_back_by_its_sender_is_cancelled() {
    let mut bytes = packet(3, 0, 1, b"half");
    bytes.extend(packet(3, 3, 2, b"never mind"));
    let mut reader = MessageReader::new();
    let (used, step) = reader.feed(&bytes).unwrap();
    assert!(matches!(step, Step::Cancelled(PacketType::Rpc)));
    assert_eq!(used, bytes.len());
    assert!(!reader.is_mid_message());
}

#[test]
fn bulk_load_comes_in_parts() {
    let mut bytes = packet(7, 0, 1, b"abc");
    bytes.extend(packet(7, 1, 2, b"de"));
    let mut reader = MessageReader::new();
    let (used, step) = reader.feed(&bytes).unwrap();
    assert!(matches!(step, Step::BulkPart { body, last: false } if body.remaining() == 3));
    let (_, step) = reader.feed(&bytes[used..]).unwrap();
    assert!(matches!(step, Step::BulkPart { body, last: true } if body.remaining() == 2));
}

#[test]
fn malformed_packets_are_named() {
    let pairs = |first: Vec<u8>, second: Vec<u8>| [first, second].concat();
    let error = |bytes: &[u8]| read_in_pieces(bytes, usize::MAX).unwrap_err();
    assert_eq!(error(b"GET / HTTP/1.1\r\n\r\n"), ProtocolError::UnknownPacketType(b'G'));
    assert_eq!(error(&[1, 1, 0, 7, 0, 0, 1, 0]), ProtocolError::PacketLength(7));
    assert_eq!(error(&[1, 1, 0xFF, 0xFF, 0, 0, 1, 0]), ProtocolError::PacketLength(0xFFFF));
    assert_eq!(error(&[6, 1, 0, 9, 0, 0, 1, 0, 0]), ProtocolError::PacketLength(9));
    assert_eq!(error(&packet(1, 0x19, 1, b"")), ProtocolError::PacketStatus(0x19));
    assert_eq!(error(&packet(1, 0x02, 1, b"")), ProtocolError::PacketStatus(0x02));
    let (first, next) = (PacketType::SqlBatch, PacketType::Rpc);
    assert_eq!(
        error(&pairs(packet(1, 0, 1, b"a"), packet(3, 1, 2, b"b"))),
        ProtocolError::MixedMessage { first, next }
    );
    assert_eq!(
        error(&pairs(packet(1, 0, 1, b"a"), packet(1, 1, 3, b"b"))),
        ProtocolError::PacketOrder { expected: 2, actual: 3 }
    );
}

#[test]
fn packet_ids_may_follow_wrap_around_or_stay() {
    // FreeTDS and jTDS send 1 in every packet.
    for (first, second) in [(1, 2), (255, 0), (1, 1), (0, 0)] {
        let bytes = [packet(1, 0, first, b"a"), packet(1, 1, second, b"b")].concat();
        assert_eq!(read_one(&bytes).unwrap().payload, b"ab", "{first}, {second}");
    }
}

#[test]
fn message_longer_than_the_limit_is_refused_when_its_header_says_so() {
    let mut reader = MessageReader::new();
    reader.set_message_bytes_max(1_000);
    assert!(reader.feed(&packet(1, 0, 1, &[0; 900])).is_ok());
    let next_header = &packet(1, 0, 2, &[0; 900])[..8];
    assert_eq!(reader.feed(next_header).unwrap_err(), ProtocolError::MessageTooLong(1_000));
}

#[test]
fn empty_packets_count_towards_the_limit() {
    let mut reader = MessageReader::new();
    reader.set_message_bytes_max(1_000);
    let error = (0..200).find_map(|_| reader.feed(&packet(1, 0, 1, &[])).err());
    assert_eq!(error, Some(ProtocolError::MessageTooLong(1_000)));
}

#[test]
fn memory_held_follows_what_arrived_not_what_was_announced() {
    let mut reader = MessageReader::new();
    let header = packet(1, 0, 1, &[0; 30_000]);
    reader.feed(&header[..9]).unwrap();
    assert!(reader.is_mid_message());
    assert!(reader.held_bytes() <= 16 * 1024);
}

#[test]
fn reset_bits_count_on_three_kinds_of_requests() {
    for (kind, reset) in [(1, true), (3, true), (14, true), (16, false), (18, false)] {
        let message = read_one(&packet(kind, 0x09, 1, b"")).unwrap();
        assert_eq!(message.reset == Reset::Session, reset, "{kind}");
    }
    let message = read_one(&packet(1, 0x11, 1, b"")).unwrap();
    assert_eq!(message.reset, Reset::KeepTransaction);
}

#[test]
fn packet_size_is_brought_into_range() {
    let sizes = [0, 100, 512, 8_000, 32_767, 32_768, u32::MAX].map(negotiated_packet_size);
    assert_eq!(sizes, [4_096, 512, 512, 8_000, 32_767, 32_767, PACKET_SIZE_MAX]);
}

#[test]
fn first_byte_tells_how_a_connection_opens() {
    let openings = [0x12, 0x16, 0x10, b'G'].map(Opening::of);
    let expected = [Opening::Prelogin, Opening::Tls, Opening::Login7, Opening::Unknown(b'G')];
    assert_eq!(openings, expected);
}
