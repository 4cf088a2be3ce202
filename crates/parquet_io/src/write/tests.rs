//! Values that are written are read back, by value.

use proptest::prelude::*;
use types::batch::{Batch, Selection, Vector};
use types::value::{ColumnType, Decimal};
use types::{Bytes, DataType, Length, Value};

use super::{Compression, Writer};
use crate::ParquetFile;

const ALL: [Compression; 5] = [
    Compression::None,
    Compression::Snappy,
    Compression::Gzip,
    Compression::Zstd,
    Compression::Lz4,
];

fn write(data_type: DataType, values: &[Value], compression: Compression) -> Vec<u8> {
    let columns = [("c".to_owned(), ColumnType::nullable(data_type))];
    let mut writer = Writer::new(Vec::new(), &columns, compression).unwrap();
    for value in values {
        writer.push(std::slice::from_ref(value)).unwrap();
    }
    writer.finish().unwrap()
}

/// Like [`write`], but in batches of which every third row is not selected.
fn write_batches(data_type: DataType, values: &[Value], compression: Compression) -> Vec<u8> {
    let columns = [("c".to_owned(), ColumnType::nullable(data_type))];
    let mut writer = Writer::new(Vec::new(), &columns, compression).unwrap();
    for part in values.chunks(50) {
        let mut vector = Vector::of_type(&data_type);
        let mut selected = Selection::default();
        for value in part {
            if vector.len() % 3 == 1 {
                vector.push(value);
            }
            selected.push(vector.len());
            vector.push(value);
        }
        let rows = vector.len();
        let mut batch = Batch::new(vec![Vector::empty(), vector]);
        batch.columns[0].set_constant(Value::Null, rows);
        batch.set_rows(rows);
        batch.selection = selected;
        writer.push_batch(&batch, &[1], rows).unwrap();
    }
    writer.finish().unwrap()
}

fn read(bytes: Vec<u8>) -> Vec<Value> {
    let file = ParquetFile::new(bytes).unwrap();
    let own = file.columns()[0].data_type.clone().unwrap();
    let wanted = match own {
        DataType::VarChar(_) => DataType::VarChar(Length::Max),
        DataType::VarBinary(_) => DataType::VarBinary(Length::Max),
        other => other,
    };
    let mut rows = file.into_rows(&[(0, wanted)]).unwrap();
    let mut batch = rows.new_batch();
    let mut values = Vec::new();
    while rows.next(&mut batch).unwrap() {
        values.extend((0..batch.rows()).map(|row| batch.columns[0].get(row)));
    }
    values
}

/// Rows of a few distinct values, with NULLs and runs: pages with and without dictionaries, several
/// row groups.
fn column(value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Vec<Value>> {
    let few = prop::collection::vec(value, 1..40);
    let picks = prop::collection::vec((any::<prop::sample::Index>(), 1..12_usize, 0..5_u8), 0..40);
    (few, picks)
        .prop_map(|(few, picks)| {
            let run = |(pick, count, null): (prop::sample::Index, usize, u8)| {
                let value = if null == 0 { Value::Null } else { pick.get(&few).clone() };
                vec![value; count]
            };
            picks.into_iter().flat_map(run).collect()
        })
        .boxed()
}

fn decimal(precision: u8, scale: u8) -> impl Strategy<Value = Value> {
    let most = 10_i128.pow(u32::from(precision)) - 1;
    (-most..=most).prop_map(move |n| Value::Decimal(Decimal::new(n, precision, scale)))
}

fn unicode(text: &str) -> Value {
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    Value::NVarChar(Bytes::copy_from(&units))
}

fn round_trip(data_type: DataType, values: &[Value]) -> Result<(), TestCaseError> {
    for compression in ALL {
        let read = read(write(data_type, values, compression));
        prop_assert_eq!(&read, values, "{:?} {:?}", data_type, compression);
    }
    for compression in [Compression::None, Compression::Snappy] {
        let (rows, batches) =
            (write(data_type, values, compression), write_batches(data_type, values, compression));
        prop_assert!(rows == batches, "{:?}: the same rows are another file", data_type);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn numbers_are_read_as_they_were_written(
        bits in column(any::<bool>().prop_map(Value::Bit)),
        tiny in column(any::<u8>().prop_map(Value::TinyInt)),
        small in column(any::<i16>().prop_map(Value::SmallInt)),
        int in column(any::<i32>().prop_map(Value::Int)),
        big in column(any::<i64>().prop_map(Value::BigInt)),
        real in column(prop::num::f32::NORMAL.prop_map(Value::Real)),
        float in column(prop::num::f64::NORMAL.prop_map(Value::Float)),
    ) {
        round_trip(DataType::Bit, &bits)?;
        round_trip(DataType::TinyInt, &tiny)?;
        round_trip(DataType::SmallInt, &small)?;
        round_trip(DataType::Int, &int)?;
        round_trip(DataType::BigInt, &big)?;
        round_trip(DataType::Real, &real)?;
        round_trip(DataType::Float, &float)?;
    }

    #[test]
    fn decimals_are_read_as_they_were_written(
        short in column(decimal(9, 2)),
        middle in column(decimal(18, 0)),
        long in column(decimal(19, 4)),
        longest in column(decimal(38, 38)),
    ) {
        round_trip(DataType::Decimal { precision: 9, scale: 2 }, &short)?;
        round_trip(DataType::Decimal { precision: 18, scale: 0 }, &middle)?;
        round_trip(DataType::Decimal { precision: 19, scale: 4 }, &long)?;
        round_trip(DataType::Decimal { precision: 38, scale: 38 }, &longest)?;
    }

    #[test]
    fn dates_and_times_are_read_as_they_were_written(
        date in column((0..=3_652_058_i32).prop_map(Value::Date)),
        time in column((0..864_000_000_000_i64).prop_map(Value::Time)),
        moment in column((0..=3_652_058_i32, 0..86_400_000_000_i64)
            .prop_map(|(days, micros)| Value::DateTime2 { days, ticks: micros * 10 })),
        exact in column((612_412..=825_913_i32, 0..864_000_000_000_i64)
            .prop_map(|(days, ticks)| Value::DateTime2 { days, ticks })),
    ) {
        round_trip(DataType::Date, &date)?;
        round_trip(DataType::Time(7), &time)?;
        round_trip(DataType::DateTime2(6), &moment)?;
        round_trip(DataType::DateTime2(7), &exact)?;
    }

    #[test]
    fn bytes_and_texts_are_read_as_they_were_written(
        binary in column(prop::collection::vec(any::<u8>(), 0..80)
            .prop_map(|bytes| Value::VarBinary(Bytes::copy_from(&bytes)))),
        guid in column(any::<[u8; 16]>().prop_map(Value::UniqueIdentifier)),
        texts in prop::collection::vec(prop::option::of("\\PC{0,70}"), 0..200),
    ) {
        round_trip(DataType::VarBinary(Length::Max), &binary)?;
        round_trip(DataType::UniqueIdentifier, &guid)?;
        // What is written as nvarchar is read as UTF-8.
        let of = |text: &Option<String>| text.as_deref().map_or(Value::Null, unicode);
        let values: Vec<Value> = texts.iter().map(of).collect();
        let read = read(write(DataType::NVarChar(Length::Max), &values, Compression::Zstd));
        let utf8 = |text: &Option<String>| match text {
            Some(text) => Value::VarChar(Bytes::copy_from(text.as_bytes())),
            None => Value::Null,
        };
        prop_assert_eq!(read, texts.iter().map(utf8).collect::<Vec<_>>());
    }

    #[test]
    fn bounds_enclose_the_values_of_each_row_group(values in column(any::<i64>().prop_map(Value::BigInt))) {
        let file = ParquetFile::new(write(DataType::BigInt, &values, Compression::None)).unwrap();
        for (group, rows) in values.chunks(64).enumerate() {
            let bounds = file.bounds(group, 0);
            let number = |value: &Value| match value { Value::BigInt(n) => Some(*n), _ => None };
            let least = rows.iter().filter_map(number).min();
            let greatest = rows.iter().filter_map(number).max();
            prop_assert_eq!(bounds.least, least.map(Value::BigInt));
            prop_assert_eq!(bounds.greatest, greatest.map(Value::BigInt));
            prop_assert_eq!(bounds.is_null, least.is_none());
        }
    }
}

#[test]
fn extremes_are_read_as_they_were_written() {
    let check = |data_type, values: &[Value]| round_trip(data_type, values).unwrap();
    check(DataType::BigInt, &[Value::BigInt(i64::MIN), Value::Null, Value::BigInt(i64::MAX)]);
    check(DataType::Float, &[Value::Float(f64::MIN), Value::Float(-0.0), Value::Float(f64::MAX)]);
    check(DataType::Real, &[Value::Real(f32::MIN_POSITIVE), Value::Real(0.0)]);
    check(DataType::VarBinary(Length::Max), &[Value::VarBinary(Bytes::copy_from(&[]))]);
    let large = Value::VarBinary(Bytes::copy_from(&vec![7; 3 << 20]));
    check(DataType::VarBinary(Length::Max), &[large.clone(), Value::Null, large]);
    check(DataType::Int, &[]);
    check(DataType::Int, &vec![Value::Null; 200]);
    check(DataType::Bit, &vec![Value::Bit(true); 200]);
}

#[test]
fn times_of_1900_are_what_clients_show_of_them() {
    let values = [
        Value::DateTime { days: -53_690, ticks: 0 },
        Value::DateTime { days: 0, ticks: 1 },
        Value::DateTime { days: 2_958_463, ticks: 25_919_999 },
    ];
    let read = read(write(DataType::DateTime, &values, Compression::None));
    let moment = |days, ticks| Value::DateTime2 { days, ticks };
    // 1753-01-01, .003 s, and 9999-12-31 23:59:59.997.
    let wanted = [moment(639_905, 0), moment(693_595, 30_000), moment(3_652_058, 863_999_970_000)];
    assert_eq!(read, wanted);
}

#[test]
fn what_a_type_does_not_hold_is_an_error_with_its_row() {
    let columns = [("at".to_owned(), ColumnType::nullable(DataType::DateTime2(7)))];
    let mut writer = Writer::new(Vec::new(), &columns, Compression::None).unwrap();
    writer.push(&[Value::Null]).unwrap();
    let error = writer.push(&[Value::DateTime2 { days: 3_652_058, ticks: 0 }]).err().unwrap();
    let text = error.to_string();
    assert!(
        text.contains("column at") && text.contains("row 1") && text.contains("scale 6"),
        "{text}"
    );
    let columns = [("s".to_owned(), ColumnType::nullable(DataType::NVarChar(Length::Max)))];
    let mut writer = Writer::new(Vec::new(), &columns, Compression::None).unwrap();
    let half = Value::NVarChar(Bytes::copy_from(&[0x00, 0xD8]));
    assert!(writer.push(&[half]).is_err());
    let columns = [("x".to_owned(), ColumnType::nullable(DataType::Xml))];
    assert!(Writer::new(Vec::new(), &columns, Compression::None).is_err());
}

#[test]
fn values_that_repeat_go_into_a_dictionary_and_others_do_not() {
    let text = |n: usize| unicode(&format!("a rather long text that repeats, number {}", n % 3));
    let same: Vec<Value> = (0..64).map(text).collect();
    let different: Vec<Value> =
        (0..64).map(|n| unicode(&format!("a rather long text, number {n}"))).collect();
    let ty = DataType::NVarChar(Length::Limited(100));
    let (same, different) =
        (write(ty, &same, Compression::None), write(ty, &different, Compression::None));
    assert!(same.len() < 700, "{}", same.len());
    assert!(different.len() > 64 * 28, "{}", different.len());
}
