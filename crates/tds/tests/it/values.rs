//! Tests values of every type, encoded and decoded.

use proptest::prelude::{any, proptest};
use proptest::test_runner::Config;

use tds::client::{ClientSettings, RpcBuilder, Token};
use tds::{Column, ColumnFlags, Columns, Done, DoneKind, DoneStatus, TdsVersion, WireSettings};
use types::{DataType, Decimal, Length, Value};

use crate::support::{column_type, nvarchar, respond, settings, tokens, typed_value};

fn done() -> Done {
    Done { kind: DoneKind::Done, status: DoneStatus::FINAL, command: 0, row_count: Some(1) }
}

fn columns(types: &[types::ColumnType], version: TdsVersion) -> Columns {
    let columns: Vec<_> = types
        .iter()
        .map(|&column_type| Column {
            name: "c",
            column_type,
            flags: ColumnFlags::default(),
            table: "",
            numeric: false,
        })
        .collect();
    Columns::new(&columns, version)
}

proptest! {
    #![proptest_config(Config::with_cases(200))]

    #[test]
    fn row_comes_back_as_it_went(
        cells in proptest::collection::vec(typed_value(), 1..20),
        packet_size in 512_u16..9_000,
    ) {
        let (types, values): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        let wire = WireSettings { packet_size, ..settings(TdsVersion::V7_4) };
        let columns = columns(&types, wire.version);
        let packets = respond(wire, |writer| {
            writer.columns(&columns);
            writer.row(&columns, &values);
            writer.done(done());
        });
        let tokens = tokens(&packets, wire.version);
        let Token::Columns(read) = &tokens[0] else { panic!("{tokens:?}") };
        for (column, sent) in read.iter().zip(&types) {
            assert_eq!(column.column_type.data_type, sent.data_type);
        }
        assert_eq!(tokens[1], Token::Row(values));
        assert_eq!(tokens[2], Token::Done(done()));
    }

    #[test]
    fn parameter_comes_back_as_it_went(
        cell in typed_value(),
        packet_size in 512_u16..9_000,
        piece in 1_usize..5_000,
        is_output in any::<bool>(),
    ) {
        let (column_type, value) = cell;
        let settings = ClientSettings { packet_size, ..ClientSettings::default() };
        let call = RpcBuilder::new(settings).call("p");
        let call = if is_output {
            call.output("@v", column_type, &value)
        } else {
            call.input("@v", column_type, &value)
        };
        // Through the reader, so that the value spans packets and buffers.
        let packets = call.finish();
        let mut reader = tds::MessageReader::new();
        let mut found = None;
        for mut part in packets.chunks(piece) {
            while !part.is_empty() {
                let (used, step) = reader.feed(part).unwrap();
                part = &part[used..];
                if let tds::Step::Message(message) = step {
                    let request = tds::Request::decode(message, TdsVersion::V7_4).unwrap();
                    let tds::Request::Rpc(mut calls) = request else { panic!("{request:?}") };
                    calls.next_call().unwrap().unwrap();
                    let parameter = calls.next_parameter().unwrap().unwrap();
                    found = Some((parameter.column_type, parameter.value, parameter.is_output));
                }
            }
        }
        let (read_type, read, read_output) = found.expect("the message is whole");
        assert_eq!(read_type.data_type, column_type.data_type);
        assert_eq!((read, read_output), (tds::ParameterValue::Value(value), is_output));
    }

    #[test]
    fn return_value_comes_back_as_it_went(cell in typed_value()) {
        let (column_type, value) = cell;
        let wire = settings(TdsVersion::V7_4);
        let packets = respond(wire, |writer| {
            let name = &tds::utf16::from_str("@v");
            let returned = tds::Returned { ordinal: 3, name, column_type, numeric: false };
            writer.return_value(&returned, &value);
            writer.return_value_of(&tds::ReturnHead::new(&returned, wire.version), &value);
            writer.done(done());
        });
        let tokens = tokens(&packets, wire.version);
        let Token::ReturnValue { ordinal, name, column_type: read_type, value: read } = &tokens[0]
        else {
            panic!("{tokens:?}")
        };
        assert_eq!((*ordinal, name.as_str(), read), (3, "@v", &value));
        assert_eq!(read_type.data_type, column_type.data_type);
        assert_eq!(tokens[1], tokens[0], "a head that was encoded before");
    }
}

fn row_for(version: TdsVersion, cells: &[(DataType, Value)]) -> Vec<Value> {
    let types: Vec<_> = cells.iter().map(|(data_type, _)| column_type(*data_type)).collect();
    let values: Vec<_> = cells.iter().map(|(_, value)| value.clone()).collect();
    let columns = columns(&types, version);
    let packets = respond(settings(version), |writer| {
        writer.columns(&columns);
        writer.row(&columns, &values);
        writer.done(done());
    });
    let tokens = tokens(&packets, version);
    match &tokens[1] {
        Token::Row(row) => row.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn old_clients_get_dates_as_text() {
    // 2026-11-21 is day 739,940 (Python: date.toordinal() - 1).
    let days = 739_940;
    let ticks = ((13 * 60 + 5) * 60 + 9) * 10_000_000 + 1_234_567;
    let cells = [
        (DataType::Date, Value::Date(days)),
        (DataType::Date, Value::Date(0)),
        (DataType::Date, Value::Date(3_652_058)),
        (DataType::Time(7), Value::Time(ticks)),
        (DataType::Time(0), Value::Time(ticks - 1_234_567)),
        (DataType::DateTime2(3), Value::DateTime2 { days, ticks: ticks - 4_567 }),
        (DataType::DateTimeOffset(0), Value::DateTimeOffset { days, ticks: 0, offset: -330 }),
        (DataType::Date, Value::Null),
    ];
    let expected = [
        nvarchar("2026-11-21"),
        nvarchar("0001-01-01"),
        nvarchar("9999-12-31"),
        nvarchar("13:05:09.1234567"),
        nvarchar("13:05:09"),
        nvarchar("2026-11-21 13:05:09.123"),
        nvarchar("2026-11-20 18:30:00 -05:30"),
        Value::Null,
    ];
    assert_eq!(row_for(TdsVersion::V7_2, &cells), expected);
    assert_eq!(row_for(TdsVersion::V7_1, &cells), expected);
}

#[test]
fn tds_7_1_gets_the_old_large_types() {
    let cells = [
        (DataType::VarChar(Length::Max), Value::VarChar(b"abc"[..].into())),
        (DataType::NVarChar(Length::Max), nvarchar("abc")),
        (DataType::VarBinary(Length::Max), Value::VarBinary(vec![7; 20_000].into())),
        (DataType::Xml, nvarchar("<a/>")),
        (DataType::Image, Value::Null),
        (DataType::Int, Value::Int(-1)),
    ];
    let row = row_for(TdsVersion::V7_1, &cells);
    let sent: Vec<_> = cells.iter().map(|(_, value)| value.clone()).collect();
    assert_eq!(row, sent);
}

#[test]
fn integers_may_be_narrower_than_announced() {
    let cells = [(DataType::BigInt, Value::TinyInt(3)), (DataType::SmallInt, Value::Int(-4))];
    let row = row_for(TdsVersion::V7_4, &cells);
    assert_eq!(row, [Value::BigInt(3), Value::SmallInt(-4)]);
}

#[test]
#[should_panic(expected = "announced as int")]
fn value_of_another_type_is_a_mistake_of_the_engine() {
    row_for(TdsVersion::V7_4, &[(DataType::Int, nvarchar("1"))]);
}

#[test]
fn decimal_of_a_lower_scale_is_widened() {
    let data_type = DataType::Decimal { precision: 10, scale: 4 };
    let row = row_for(TdsVersion::V7_4, &[(data_type, Value::Decimal(Decimal::new(-15, 3, 1)))]);
    assert_eq!(row, [Value::Decimal(Decimal::new(-15_000, 10, 4))]);
}

#[test]
#[should_panic(expected = "no more than its precision")]
fn decimal_beyond_its_precision_is_a_mistake_of_the_engine() {
    let data_type = DataType::Decimal { precision: 5, scale: 0 };
    row_for(TdsVersion::V7_4, &[(data_type, Value::Decimal(Decimal::new(1 << 40, 20, 0)))]);
}

#[test]
#[should_panic(expected = "8,000 bytes")]
fn short_value_of_more_than_8000_bytes_is_a_mistake_of_the_engine() {
    let data_type = DataType::VarBinary(Length::Limited(8_000));
    row_for(TdsVersion::V7_4, &[(data_type, Value::VarBinary(vec![0; 9_000].into()))]);
}

#[test]
fn rowversion_is_sent_as_binary_with_its_user_type() {
    let columns = columns(&[column_type(DataType::RowVersion)], TdsVersion::V7_4);
    let packets = respond(settings(TdsVersion::V7_4), |writer| {
        writer.columns(&columns);
        writer.done(done());
    });
    // Header, token, count, user type 80, flags, BIGBINARY(8).
    assert_eq!(packets[8..20], [0x81, 1, 0, 80, 0, 0, 0, 1, 0, 0xAD, 8, 0]);
}
