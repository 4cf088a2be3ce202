//! Whole files: every row is the one that DuckDB reads.

use std::path::PathBuf;

use parquet_io::{Column, Fault, ParquetFile, Result};
use types::convert::ConvertOptions;
use types::value::ColumnType;
use types::{DataType, Length, Mode, Value};

pub(crate) fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn open(name: &str) -> ParquetFile<Vec<u8>> {
    ParquetFile::new(std::fs::read(data(name)).unwrap()).unwrap()
}

/// The columns that can be read, with their types.
pub(crate) fn readable(columns: &[Column]) -> Vec<(usize, DataType)> {
    let typed = |(place, column): (usize, &Column)| Some((place, *column.data_type.as_ref().ok()?));
    columns.iter().enumerate().filter_map(typed).collect()
}

/// Reads all rows as texts.
pub(crate) fn read(file: ParquetFile<Vec<u8>>) -> Result<Vec<Vec<String>>> {
    let columns = readable(file.columns());
    let mut rows = file.into_rows(&columns)?;
    let mut batch = rows.new_batch();
    let mut texts = Vec::new();
    while rows.next(&mut batch)? {
        for row in 0..batch.rows() {
            let values = batch.columns.iter().zip(&columns);
            texts.push(values.map(|(column, (_, ty))| text(&column.get(row), *ty)).collect());
        }
    }
    Ok(texts)
}

/// Writes a value as DuckDB does.
fn text(value: &Value, data_type: DataType) -> String {
    let from = ColumnType::nullable(data_type);
    let to = ColumnType::nullable(DataType::NVarChar(Length::Max));
    match value {
        Value::Null => "\\N".to_owned(),
        Value::Bit(bit) => bit.to_string(),
        Value::Real(number) => format!("{number:?}"),
        Value::Float(number) => format!("{number:?}"),
        Value::VarChar(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Value::VarBinary(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        value => {
            let options = ConvertOptions::default();
            let text = types::convert(value, &from, &to, 0, Mode::Explicit, &options).unwrap();
            let Value::NVarChar(units) = text else { panic!("a text") };
            let units: Vec<u16> =
                units.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
            let text = String::from_utf16(&units).unwrap().to_lowercase();
            match (value, text.split_once('.')) {
                (Value::Time(_) | Value::DateTime2 { .. }, Some((seconds, fraction))) => {
                    let fraction = fraction.trim_end_matches('0');
                    if fraction.is_empty() {
                        seconds.to_owned()
                    } else {
                        format!("{seconds}.{fraction}")
                    }
                }
                _ => text,
            }
        }
    }
}

fn expected(name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(data(name)).unwrap();
    // A moment in UTC has no offset in T-SQL's datetime2.
    let field = |field: &str| field.strip_suffix("+00").unwrap_or(field).to_owned();
    text.lines().map(|line| line.split('\t').map(field).collect()).collect()
}

fn check(file: &str, rows: &str) {
    let (read, expected) = (read(open(file)).unwrap(), expected(rows));
    assert_eq!(read.len(), expected.len(), "{file}");
    for (row, (read, expected)) in read.iter().zip(&expected).enumerate() {
        assert_eq!(read, expected, "{file}, row {row}");
    }
}

#[test]
fn every_type_and_compression_reads_as_duckdb_reads_it() {
    for codec in ["none", "snappy", "gzip", "zstd", "lz4"] {
        check(&format!("types_{codec}.parquet"), "types.rows");
    }
}

#[test]
fn pages_of_version_2_and_several_row_groups_read_as_duckdb_reads_them() {
    assert_eq!(open("types_v2.parquet").row_groups(), 3);
    check("types_v2.parquet", "types_v2.rows");
}

#[test]
fn delta_and_split_encodings_read_as_duckdb_reads_them() {
    check("keys_delta.parquet", "keys.rows");
    check("keys_plain.parquet", "keys.rows");
}

#[test]
fn files_of_duckdb_read_as_duckdb_reads_them() {
    check("duckdb_v1.parquet", "duckdb.rows");
    check("duckdb_v2.parquet", "duckdb.rows");
}

#[test]
fn moments_of_96_bits_read_as_duckdb_reads_them() {
    check("int96.parquet", "int96.rows");
}

#[test]
fn types_are_those_of_microsofts_table() {
    let file = open("types_none.parquet");
    let types: Vec<_> = file.columns().iter().map(|c| c.data_type.clone().unwrap()).collect();
    let decimal = |precision, scale| DataType::Decimal { precision, scale };
    let limit = Length::Limited(8_000);
    let (text, bytes) = (DataType::VarChar(limit), DataType::VarBinary(limit));
    let (time, moment) = (DataType::Time(7), DataType::DateTime2(7));
    let wanted = [
        DataType::Bit,
        DataType::SmallInt,
        DataType::TinyInt,
        DataType::SmallInt,
        DataType::Int,
        DataType::Int,
        DataType::BigInt,
        DataType::BigInt,
        decimal(20, 0),
        DataType::Real,
        DataType::Float,
        text,
        text,
        bytes,
        bytes,
        DataType::Date,
        time,
        time,
        moment,
        moment,
        decimal(5, 2),
        decimal(18, 4),
        decimal(38, 9),
    ];
    assert_eq!(types, wanted);
}

#[test]
fn nested_columns_are_named_and_the_others_read() {
    let file = open("nested.parquet");
    let refused: Vec<_> =
        file.columns().iter().filter(|c| c.data_type.is_err()).map(|c| c.name.as_str()).collect();
    assert_eq!(refused, ["list", "s"]);
    assert_eq!(read(file).unwrap(), [["1", "x"], ["2", "y"], ["3", "z"]]);
    let error = open("nested.parquet").into_rows(&[(1, DataType::Int)]).err().unwrap();
    assert!(matches!(error.fault, Fault::NotSupported(_)), "{error}");
}

#[test]
fn a_file_without_rows_has_none() {
    let file = open("empty.parquet");
    assert_eq!((file.row_count(), file.columns().len()), (0, 5));
    assert!(read(file).unwrap().is_empty());
}

#[test]
fn rows_are_counted_without_reading_a_column() {
    let mut rows = open("types_v2.parquet").into_rows(&[]).unwrap();
    let (mut batch, mut count) = (rows.new_batch(), 0);
    while rows.next(&mut batch).unwrap() {
        count += batch.rows();
    }
    assert_eq!(count, 1_100);
}
