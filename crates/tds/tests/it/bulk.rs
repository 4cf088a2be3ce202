//! Tests bulk load: rows decoded from a stream, however it is cut into parts.

use tds::client::{BulkBuilder, ClientSettings};
use tds::{
    BulkReader, Column, ColumnFlags, Columns, Cursor, Done, DoneKind, DoneStatus, ProtocolError,
    TdsVersion,
};
use types::{DataType, Length, Value};

use crate::support::{column_type, nvarchar, read_one, respond, settings};

const VERSION: TdsVersion = TdsVersion::V7_4;

/// A load of 100 rows, the third column a blob that grows. A response has the same tokens.
fn load() -> (Vec<u8>, Vec<Vec<Value>>) {
    let types = [
        DataType::Int,
        DataType::NVarChar(Length::Limited(20)),
        DataType::VarBinary(Length::Max),
        DataType::Image,
    ];
    let columns: Vec<_> = types
        .iter()
        .map(|&data_type| Column {
            name: "c",
            column_type: column_type(data_type),
            flags: ColumnFlags::default(),
            table: "t",
            numeric: false,
        })
        .collect();
    let columns = Columns::of_load(&columns, VERSION);
    let rows: Vec<Vec<Value>> = (0..100_i32)
        .map(|n| {
            let bytes = usize::try_from(n).unwrap() * 50;
            let blob = Value::VarBinary(vec![n.to_le_bytes()[0]; bytes].into());
            let image = if n % 3 == 0 { Value::Null } else { blob.clone() };
            vec![Value::Int(n), nvarchar(&format!("row {n}")), blob, image]
        })
        .collect();
    let packets = respond(settings(VERSION), |writer| {
        writer.columns(&columns);
        rows.iter().for_each(|row| writer.row(&columns, row));
        let (kind, status) = (DoneKind::Done, DoneStatus::FINAL);
        writer.done(Done { kind, status, command: 0, row_count: None });
    });
    (read_one(&packets).unwrap().payload, rows)
}

fn read(stream: &[u8], part: usize) -> tds::Result<Vec<Vec<Value>>> {
    let mut reader = BulkReader::new(VERSION);
    let mut rows = Vec::new();
    let mut row = Vec::new();
    let count = stream.len().div_ceil(part);
    for (index, bytes) in stream.chunks(part).enumerate() {
        reader.push(Cursor::new(bytes), index + 1 == count)?;
        while reader.next_row(&mut row)? {
            rows.push(row.clone());
        }
    }
    assert!(reader.is_complete());
    Ok(rows)
}

#[test]
fn rows_are_the_same_whatever_the_parts() {
    let (stream, rows) = load();
    for part in [1, 13, 100, 4_088, 32_759, stream.len()] {
        assert_eq!(read(&stream, part).unwrap(), rows, "{part}");
    }
}

#[test]
fn built_load_reads_as_its_rows() {
    let types = [DataType::BigInt, DataType::NVarChar(Length::Limited(9)), DataType::Float];
    let columns = types.map(|data_type| Column {
        name: "c",
        column_type: column_type(data_type),
        flags: ColumnFlags::default(),
        table: "",
        numeric: false,
    });
    let rows: Vec<_> = (0..500_i64)
        .map(|n| vec![Value::BigInt(n), nvarchar(&format!("{n}")), Value::Null])
        .collect();
    let mut builder = BulkBuilder::new(ClientSettings::default(), &columns);
    rows.iter().for_each(|row| builder.row(row));
    let mut rest = &builder.finish()[..];
    let mut stream = Vec::new();
    while !rest.is_empty() {
        assert_eq!(rest[0], 7, "every packet says that it is of a bulk load");
        let (packet, later) = rest.split_at(usize::from(u16::from_be_bytes([rest[2], rest[3]])));
        stream.extend_from_slice(&packet[8..]);
        rest = later;
    }
    assert_eq!(read(&stream, stream.len()).unwrap(), rows);
}

#[test]
fn load_without_its_done_is_complete() {
    let (stream, rows) = load();
    assert_eq!(read(&stream[..stream.len() - 13], 5_000).unwrap(), rows);
}

#[test]
fn columns_are_known_before_the_first_row() {
    let (stream, _) = load();
    let mut reader = BulkReader::new(VERSION);
    reader.push(Cursor::new(&stream[..10]), false).unwrap();
    assert_eq!(reader.columns().unwrap(), None);
    reader.push(Cursor::new(&stream[10..200]), false).unwrap();
    let columns = reader.columns().unwrap().unwrap();
    let types: Vec<_> = columns.iter().map(|column| column.column_type.data_type).collect();
    assert_eq!(types[..2], [DataType::Int, DataType::NVarChar(Length::Limited(20))]);
}

#[test]
fn cut_load_is_an_error_after_its_whole_rows() {
    let (stream, rows) = load();
    let mut reader = BulkReader::new(VERSION);
    reader.push(Cursor::new(&stream[..stream.len() / 2]), true).unwrap();
    let mut row = Vec::new();
    let mut count = 0;
    let error = loop {
        match reader.next_row(&mut row) {
            Ok(true) => {
                assert_eq!(row, rows[count]);
                count += 1;
            }
            Ok(false) => panic!("the load is cut within a row"),
            Err(error) => break error,
        }
    };
    assert_eq!(error, ProtocolError::Truncated);
    assert!(count > 10);
}

#[test]
fn other_tokens_are_refused() {
    assert_eq!(read(&[0x99], 1).unwrap_err(), ProtocolError::UnknownToken(0x99));
    let (mut stream, _) = load();
    stream.push(0xD1);
    assert_eq!(read(&stream, 9_999).unwrap_err(), ProtocolError::UnknownToken(0xD1));
}
