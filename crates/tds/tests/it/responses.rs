//! Tests responses: tokens, packets, and sending them.

use tds::client::{DoneScanner, EnvChanged, Token, TokenStream};
use tds::login7::feature;
use tds::response::writer::SHARED_BYTES_MIN;
use tds::{
    Column, ColumnFlags, Columns, Done, DoneKind, DoneStatus, EnvChange, ResponseWriter,
    TdsVersion, WireSettings,
};
use types::{Collation, ColumnType, DataType, Error, Length, Msg, Value};

use crate::support::{column_type, drain, read_one, respond, settings, tokens};

fn done(row_count: Option<u64>) -> Done {
    Done { kind: DoneKind::Done, status: DoneStatus::FINAL, command: 0xC1, row_count }
}

fn blob_column(version: TdsVersion) -> Columns {
    let column = Column {
        name: "item",
        column_type: column_type(DataType::VarBinary(Length::Max)),
        flags: ColumnFlags::default(),
        table: "",
        numeric: false,
    };
    Columns::new(&[column], version)
}

fn blob(bytes: usize) -> Value {
    let bytes: Vec<u8> = (0..bytes).map(|n| n.to_le_bytes()[0]).collect();
    Value::VarBinary(bytes.into())
}

#[test]
fn done_has_the_layout_of_the_specification() {
    let bytes = |version| respond(settings(version), |writer| writer.done(done(Some(3))));
    let packet = [4, 1, 0, 21, 0, 0, 1, 0, 0xFD, 0x10, 0, 0xC1, 0, 3, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(bytes(TdsVersion::V7_4), packet);
    let old = [4, 1, 0, 17, 0, 0, 1, 0, 0xFD, 0x10, 0, 0xC1, 0, 3, 0, 0, 0];
    assert_eq!(bytes(TdsVersion::V7_1), old);
}

#[test]
fn tokens_come_back_as_they_went() {
    for version in [TdsVersion::V7_1, TdsVersion::V7_2, TdsVersion::V7_4, TdsVersion::V8_0] {
        let error = Error::from(Msg::InvalidObject("dbo.x")).at_line(7).in_procedure("p");
        let info = Error::custom(5_701, 0, 2, "Changed database context to 'master'.").at_line(1);
        let packets = respond(settings(version), |writer| {
            writer.env_change(EnvChange::Database("master", "x"));
            writer.env_change(EnvChange::Language("us_english", ""));
            writer.env_change(EnvChange::PacketSize(8_000, 4_096));
            writer.env_change(EnvChange::Collation(Collation::default()));
            writer.env_change(EnvChange::BeginTransaction(7));
            writer.env_change(EnvChange::CommitTransaction(7));
            writer.env_change(EnvChange::ResetDone);
            writer.message(&error, "here");
            writer.message(&info, "here");
            writer.login_ack("Microsoft SQL Server", [16, 0, 3, 232]);
            writer.feature_ext_ack();
            writer.order(&[2, 1]);
            writer.return_status(-6);
            writer.no_columns();
            writer.done(done(None));
        });
        let read = tokens(&packets, version);
        let expected = [
            Token::EnvChange(EnvChanged::Database("master".into())),
            Token::EnvChange(EnvChanged::Language("us_english".into())),
            Token::EnvChange(EnvChanged::PacketSize(8_000)),
            Token::EnvChange(EnvChanged::Collation(Collation::default())),
            Token::EnvChange(EnvChanged::BeginTransaction(7)),
            Token::EnvChange(EnvChanged::EndTransaction(7)),
            Token::EnvChange(EnvChanged::ResetDone),
            Token::Message(error),
            Token::Message(info),
            Token::LoginAck {
                version_code: version.code(),
                program: "Microsoft SQL Server".into(),
                program_version: [16, 0, 3, 232],
            },
            Token::FeatureExtAck(vec![tds::login7::Feature {
                id: feature::UTF8_SUPPORT,
                data: vec![1],
            }]),
            Token::Order(vec![2, 1]),
            Token::ReturnStatus(-6),
            Token::Columns(vec![]),
            Token::Done(done(None)),
        ];
        assert_eq!(read, expected);
    }
}

#[test]
fn packets_are_full_numbered_and_only_the_last_ends_the_message() {
    let wire = WireSettings { packet_size: 512, spid: 51, ..settings(TdsVersion::V7_4) };
    let columns = blob_column(wire.version);
    let packets = respond(wire, |writer| {
        writer.columns(&columns);
        writer.row(&columns, &[blob(2_000)]);
        writer.done(done(Some(1)));
    });
    let mut rest = &packets[..];
    let mut id = 0;
    while !rest.is_empty() {
        id += 1;
        let length = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        let is_last = length == rest.len();
        assert_eq!((rest[0], rest[1], rest[5], rest[6]), (4, u8::from(is_last), 51, id));
        assert!(is_last || length == 512);
        rest = &rest[length..];
    }
    assert!(id >= 4);
}

#[test]
fn response_that_fills_its_packet_has_no_empty_one_behind_it() {
    let wire = WireSettings { packet_size: 512, ..settings(TdsVersion::V7_4) };
    let columns = blob_column(wire.version);
    let with_blob = |bytes: usize| {
        respond(wire, |writer| {
            writer.columns(&columns);
            writer.row(&columns, &[blob(bytes)]);
            writer.done(done(Some(1)));
        })
    };
    let overhead = with_blob(1).len() - 1;
    assert_eq!(with_blob(512 - overhead).len(), 512);
    let over = with_blob(512 - overhead + 1);
    assert_eq!((over.len(), over[1]), (512 + 8 + 1, 0));
}

#[test]
fn big_value_is_sent_from_where_it_lies() {
    let wire = settings(TdsVersion::V7_4);
    let columns = blob_column(wire.version);
    let value = blob(SHARED_BYTES_MIN * 3 + 77);
    let Value::VarBinary(bytes) = &value else { unreachable!() };
    let mut writer = ResponseWriter::new();
    writer.begin(wire);
    writer.columns(&columns);
    writer.row(&columns, std::slice::from_ref(&value));
    writer.row(&columns, &[blob(10)]);
    writer.done(done(Some(2)));
    writer.finish();
    assert!(writer.as_single().is_none());
    let mut slices = [std::io::IoSlice::new(&[]); 64];
    let used = writer.slices(&mut slices);
    let range = bytes.as_slice().as_ptr_range();
    let lent: usize = slices[..used]
        .iter()
        .filter(|slice| range.contains(&slice.as_ptr()))
        .map(|s| s.len())
        .sum();
    assert_eq!(lent, bytes.len(), "no byte of it was copied");
    let packets = drain(&mut writer, 1_000);
    let read = tokens(&packets, wire.version);
    assert_eq!(read[1..3], [Token::Row(vec![value]), Token::Row(vec![blob(10)])]);
}

#[test]
fn long_response_is_sent_while_it_is_written() {
    for packet_size in [512, 4_096, 32_767] {
        let wire = WireSettings { packet_size, ..settings(TdsVersion::V7_4) };
        let columns = blob_column(wire.version);
        let sizes = [1, 300, 20_000, 0, 40_000, 16_384, 5, 4_000, 70_000];
        let mut writer = ResponseWriter::new();
        for count_max in [usize::MAX, 1_500, 1] {
            writer.begin(wire);
            let mut packets = Vec::new();
            writer.columns(&columns);
            for bytes in sizes {
                writer.row(&columns, &[blob(bytes)]);
                packets.extend(drain(&mut writer, count_max));
            }
            writer.done(done(Some(9)));
            writer.finish();
            packets.extend(drain(&mut writer, count_max));
            let read = tokens(&packets, wire.version);
            let rows: Vec<_> = sizes.iter().map(|&bytes| Token::Row(vec![blob(bytes)])).collect();
            assert_eq!(read[1..10], rows);
        }
    }
}

#[test]
fn nulls_are_left_out_where_that_is_shorter_and_known() {
    let column = Column {
        name: "",
        column_type: column_type(DataType::Int),
        flags: ColumnFlags::default(),
        table: "",
        numeric: false,
    };
    let row_token = |version, values: &[Value]| {
        let columns = Columns::new(&vec![column; values.len()], version);
        let packets = respond(settings(version), |writer| {
            writer.row(&columns, values);
            writer.done(done(None));
        });
        read_one(&packets).unwrap().payload[0]
    };
    let mut values = vec![Value::Null; 9];
    assert_eq!(row_token(TdsVersion::V7_4, &values), 0xD2);
    assert_eq!(row_token(TdsVersion::V7_3A, &values), 0xD1);
    values = vec![Value::Int(1); 9];
    assert_eq!(row_token(TdsVersion::V7_4, &values), 0xD1);
}

#[test]
fn scanner_finds_the_end_however_the_response_arrives() {
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let wire = WireSettings { packet_size: 512, ..settings(version) };
        let columns = blob_column(version);
        let status = DoneStatus::ERROR;
        let mut stream = respond(wire, |writer| {
            writer.columns(&columns);
            writer.row(&columns, &[blob(5_000)]);
            writer.done(Done { kind: DoneKind::Proc, status, ..done(Some(12)) });
        });
        let first = stream.len();
        stream.extend(respond(wire, |writer| writer.done(done(None))));
        for piece in [1, 5, 8, 511, 512, 6_000] {
            let mut scanner = DoneScanner::new(version);
            let mut ends = Vec::new();
            for mut part in stream.chunks(piece) {
                while !part.is_empty() {
                    let (used, end) = scanner.feed(part).unwrap();
                    ends.extend(end);
                    part = &part[used..];
                }
            }
            assert_eq!(ends.len(), 2, "{piece}");
            assert!(ends[0].status.has(DoneStatus::ERROR));
            assert_eq!((ends[0].row_count, ends[0].bytes), (12, u64::try_from(first).unwrap()));
        }
    }
}

#[test]
fn long_message_is_cut_not_broken() {
    let error = Error::custom(50_000, 16, 1, "\u{1F600}".repeat(40_000));
    let packets = respond(settings(TdsVersion::V7_4), |writer| {
        writer.message(&error, "s");
        writer.done(done(None));
    });
    let read = tokens(&packets, TdsVersion::V7_4);
    let Token::Message(read) = &read[0] else { panic!("{read:?}") };
    assert_eq!(read.message, "\u{1F600}".repeat(15_000));
}

#[test]
fn a_stream_gives_each_token_as_soon_as_it_is_whole() {
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let columns = blob_column(version);
        let packets = respond(settings(version), |writer| {
            for bytes in [3, 2_000, 40_000, 0] {
                writer.columns(&columns);
                writer.row(&columns, &[blob(bytes)]);
                writer.row(&columns, &[Value::Null]);
                writer.done(done(Some(2)));
            }
        });
        let expected = tokens(&packets, version);
        for piece in [1, 7, 512, packets.len()] {
            let mut stream = TokenStream::new(version);
            let mut found = Vec::new();
            let mut first_at = None;
            for (index, bytes) in packets.chunks(piece).enumerate() {
                assert!(!stream.is_complete());
                stream.feed(bytes).expect("packets of a response");
                while let Some(token) = stream.next_token().expect("tokens") {
                    first_at.get_or_insert(index * piece);
                    found.push(token);
                }
            }
            assert!(stream.is_complete());
            assert_eq!(found, expected, "{version:?} in pieces of {piece}");
            assert!(first_at.is_some_and(|at| at < 100), "the first is not held back");
        }
        let mut stream = TokenStream::new(version);
        let end = packets.len() - 1;
        stream.feed(&packets[..end]).expect("packets");
        assert!(!stream.is_complete(), "a byte is missing");
    }
}

#[test]
fn what_is_not_null_has_the_fixed_form_and_numeric_its_own_type() {
    let of = |data_type, nullable, numeric| Column {
        name: "c",
        column_type: ColumnType { nullable, ..ColumnType::nullable(data_type) },
        flags: ColumnFlags::default(),
        table: "",
        numeric,
    };
    let amount = DataType::Decimal { precision: 9, scale: 2 };
    let columns = [
        of(DataType::Int, false, false),
        of(DataType::Int, true, false),
        of(amount, false, false),
        of(amount, false, true),
    ];
    let columns = Columns::new(&columns, TdsVersion::V7_4);
    let ten = Value::Decimal(types::Decimal::new(1_000, 9, 2));
    let packets = respond(settings(TdsVersion::V7_4), |writer| {
        writer.columns(&columns);
        writer.row(&columns, &[Value::Int(7), Value::Int(8), ten.clone(), ten.clone()]);
        writer.done(done(Some(1)));
    });
    // User type, flags, type ([MS-TDS] 2.2.5.4), name; a decimal is a sign and a number of 4 bytes.
    let name = [1, b'c', 0];
    let mut wanted = vec![0x81, 4, 0];
    wanted.extend([&[0, 0, 0, 0, 0, 0, 0x38][..], &name].concat());
    wanted.extend([&[0, 0, 0, 0, 1, 0, 0x26, 4][..], &name].concat());
    wanted.extend([&[0, 0, 0, 0, 0, 0, 0x6A, 17, 9, 2][..], &name].concat());
    wanted.extend([&[0, 0, 0, 0, 0, 0, 0x6C, 17, 9, 2][..], &name].concat());
    wanted.extend([0xD1, 7, 0, 0, 0, 4, 8, 0, 0, 0]);
    wanted.extend([5, 1, 0xE8, 3, 0, 0, 5, 1, 0xE8, 3, 0, 0]);
    assert_eq!(packets[8..8 + wanted.len()], wanted);
}
