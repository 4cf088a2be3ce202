//! Every encoding gives back what it was given: extremes, NULLs, all equal, random.

use proptest::prelude::*;
use types::batch::{Data, Selection, Vector};
use types::value::ColumnType;
use types::{Bytes, Collation, DataType, Decimal, Length, Value};

use super::numbers::{self, NumberEncoding, Numbers};
use super::{BLOCK_ROWS, Encoding, GroupBuilder, Segment, Zone, word_of};

fn words_back(bytes: &[u8], rows: usize) -> Vec<i64> {
    let words = Numbers::open(bytes);
    let mut all = Vec::new();
    for block in 0..rows.div_ceil(BLOCK_ROWS) {
        let mut out = [0; BLOCK_ROWS];
        let count = words.block(block, &mut out);
        all.extend_from_slice(&out[..count]);
    }
    assert_eq!(words.block(rows.div_ceil(BLOCK_ROWS), &mut [0; BLOCK_ROWS]), 0, "the end");
    for (block, values) in all.chunks(BLOCK_ROWS).enumerate() {
        let wanted: Vec<u16> = (0..).take(values.len()).skip(block % 3).step_by(41).collect();
        let mut out = [0; BLOCK_ROWS];
        assert_eq!(words.some(block, &wanted, &mut out), values.len());
        assert!(wanted.iter().all(|row| out[usize::from(*row)] == values[usize::from(*row)]));
    }
    all
}

/// Encodes numbers, reads them back, and returns the encoding that was chosen.
fn check_words(values: &[i64]) -> NumberEncoding {
    let mut bytes = vec![9, 9];
    numbers::encode(values, &mut bytes);
    assert_eq!(words_back(&bytes[2..], values.len()), values);
    let words = Numbers::open(&bytes[2..]);
    for (block, values) in values.chunks(BLOCK_ROWS).enumerate() {
        let sum = values.iter().map(|value| i128::from(*value)).sum::<i128>();
        assert_eq!(words.sum(block), sum, "the sum of block {block}");
    }
    words.encoding
}

#[test]
fn encoding_is_the_one_that_suits_the_numbers() {
    let rows = |value: fn(i64) -> i64| (0..3_000).map(value).collect::<Vec<_>>();
    assert_eq!(check_words(&[]), NumberEncoding::Constant);
    assert_eq!(check_words(&[i64::MIN]), NumberEncoding::Constant);
    assert_eq!(check_words(&rows(|_| i64::MAX)), NumberEncoding::Constant);
    assert_eq!(check_words(&rows(|row| (row / 700) << 40)), NumberEncoding::Runs);
    assert_eq!(check_words(&rows(|row| (row * 7919 % 13) << 50)), NumberEncoding::Dictionary);
    assert_eq!(check_words(&rows(|row| row * 7919 % 1_000)), NumberEncoding::Packed);
    assert_eq!(
        check_words(&rows(|row| row.wrapping_mul(0x5851_F42D_4C95_7F2D))),
        NumberEncoding::Packed
    );
    let far = |row| if row % 2 == 0 { i64::MIN + row } else { i64::MAX - row };
    assert_eq!(check_words(&rows(far)), NumberEncoding::Packed);
    assert_eq!(check_words(&[i64::MIN, i64::MAX, 0, -1]), NumberEncoding::Runs);
}

#[test]
fn dictionary_that_the_sample_did_not_foresee_is_given_up() {
    // The sample sees one row in four, all equal; the others are all different.
    let values: Vec<i64> = (0..4_000).map(|row| if row % 4 == 0 { 5 } else { row << 33 }).collect();
    assert_eq!(check_words(&values), NumberEncoding::Packed);
}

proptest! {
    #[test]
    fn numbers_of_every_width_come_back(
        width in 0..=64_u32,
        base in any::<i64>(),
        random in proptest::collection::vec(any::<u64>(), 0..2_600),
    ) {
        let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
        let value = |random: &u64| base.wrapping_add((random & mask).cast_signed());
        check_words(&random.iter().map(value).collect::<Vec<_>>());
    }

    #[test]
    fn runs_come_back_wherever_they_end(
        runs in proptest::collection::vec((any::<i64>(), 1..900_usize), 1..12),
    ) {
        let values: Vec<i64> =
            runs.iter().flat_map(|(value, rows)| std::iter::repeat_n(*value, *rows)).collect();
        check_words(&values);
    }
}

fn of(data_type: DataType) -> ColumnType {
    ColumnType::nullable(data_type)
}

/// Returns every type that a segment supports, with its extreme values.
fn samples() -> Vec<(DataType, Vec<Value>)> {
    let decimal = |m, p, s| Value::Decimal(Decimal::new(m, p, s));
    let text = |t: &str| Value::varchar(t, Collation::default());
    let offset = |days, ticks, offset| Value::DateTimeOffset { days, ticks, offset };
    vec![
        (DataType::Bit, vec![Value::Bit(true), Value::Bit(false)]),
        (DataType::TinyInt, vec![Value::TinyInt(0), Value::TinyInt(255)]),
        (DataType::SmallInt, vec![Value::SmallInt(i16::MIN), Value::SmallInt(i16::MAX)]),
        (DataType::Int, vec![Value::Int(i32::MIN), Value::Int(0), Value::Int(i32::MAX)]),
        (
            DataType::BigInt,
            vec![Value::BigInt(i64::MIN), Value::BigInt(3), Value::BigInt(i64::MAX)],
        ),
        (DataType::Money, vec![Value::Money(i64::MIN), Value::Money(i64::MAX)]),
        (DataType::Real, vec![Value::Real(-0.0), Value::Real(f32::MAX), Value::Real(f32::MIN)]),
        (DataType::Float, vec![Value::Float(-0.0), Value::Float(f64::MAX), Value::Float(5e-324)]),
        (DataType::Date, vec![Value::Date(0), Value::Date(3_652_058)]),
        (DataType::Time(7), vec![Value::Time(0), Value::Time(863_999_999_999)]),
        (
            DataType::DateTime,
            vec![
                Value::DateTime { days: -53_690, ticks: 25_919_999 },
                Value::DateTime { days: 2_958_463, ticks: 0 },
            ],
        ),
        (
            DataType::SmallDateTime,
            vec![
                Value::SmallDateTime { days: 65_535, minutes: 1_439 },
                Value::SmallDateTime { days: 0, minutes: 0 },
            ],
        ),
        (
            DataType::DateTime2(7),
            vec![
                Value::DateTime2 { days: 3_652_058, ticks: 863_999_999_999 },
                Value::DateTime2 { days: 0, ticks: 1 },
            ],
        ),
        (DataType::DateTimeOffset(7), vec![offset(5, 6, -840), offset(3_652_058, 0, 840)]),
        (
            DataType::Decimal { precision: 18, scale: 2 },
            vec![decimal(-999_999_999_999_999_999, 18, 2), decimal(7, 18, 2)],
        ),
        (
            DataType::Decimal { precision: 38, scale: 0 },
            vec![decimal(10_i128.pow(38) - 1, 38, 0), decimal(-1, 38, 0)],
        ),
        (DataType::Char(5), vec![text("ab   "), text("     ")]),
        (
            DataType::VarChar(Length::Limited(60)),
            vec![text(""), text("a run of more than 22 bytes"), text("b")],
        ),
        (DataType::VarChar(Length::Max), vec![text("a"), text(&"long ".repeat(300)), text("")]),
        (DataType::NVarChar(Length::Limited(10)), vec![Value::nvarchar("é"), Value::nvarchar("")]),
        (
            DataType::VarBinary(Length::Max),
            vec![Value::VarBinary(Bytes::copy_from(&[0, 1])), Value::VarBinary(Bytes::new())],
        ),
        (
            DataType::UniqueIdentifier,
            vec![Value::UniqueIdentifier([0; 16]), Value::UniqueIdentifier([255; 16])],
        ),
    ]
}

/// Encodes rows as a segment and reads them back.
fn check_rows(data_type: DataType, rows: &[Value]) {
    let mut builder = GroupBuilder::new(&[of(data_type)]);
    // The second group is built in the buffers that the first has left.
    for _ in 0..2 {
        rows.iter().for_each(|row| builder.push(std::slice::from_ref(row)));
        let segments = builder.finish().expect("a segment holds this type");
        assert!(builder.is_empty());
        let segment = Segment::open(&segments[0]);
        assert_eq!(segment.rows(), rows.len());
        assert_eq!(segment.nulls(), rows.iter().filter(|row| row.is_null()).count());
        let mut back = Vec::new();
        let mut vector = Vector::of_type(&data_type);
        for block in 0..segment.blocks() {
            segment.block(block, &mut vector);
            let rows: Vec<Value> = (0..vector.len()).map(|row| vector.get(row)).collect();
            let nulls = rows.iter().filter(|row| row.is_null()).count();
            assert_eq!(segment.block_nulls(block), nulls, "{data_type}: block {block}");
            if let Some(sum) = segment.block_sum(block) {
                let words = rows.iter().filter_map(|row| word_of(&of(data_type), row));
                assert_eq!(sum, words.map(i128::from).sum::<i128>(), "{data_type}: block {block}");
            }
            check_some_rows(segment, block, &rows, &data_type);
            back.extend(rows);
        }
        let same = back.iter().zip(rows).all(|(a, b)| format!("{a:?}") == format!("{b:?}"));
        assert!(same && back.len() == rows.len(), "{data_type}: {rows:?} is {back:?}");
    }
}

/// Reads a few rows of a block, and more than a few. Their values are those of the whole block, and
/// the dictionary, if there is one, has their strings.
fn check_some_rows(segment: Segment<'_>, block: usize, all: &[Value], data_type: &DataType) {
    let mut vector = Vector::of_type(data_type);
    for step in [5, 37, 1_000] {
        let mut rows = Selection::all(all.len());
        rows.clear();
        (step / 5..all.len()).step_by(step).for_each(|row| rows.push(row));
        segment.rows_of_block(block, &rows, &mut vector);
        assert_eq!(vector.len(), all.len(), "{data_type}: the rows of block {block}");
        rows.for_each(|row| {
            let (some, whole) = (format!("{:?}", vector.get(row)), format!("{:?}", all[row]));
            assert_eq!(some, whole, "{data_type}: row {row} of block {block}");
        });
        let Some(dictionary) = segment.dictionary() else { continue };
        let mut codes = Vec::new();
        dictionary.codes(block, rows.list(), &mut codes);
        assert_eq!(codes.len(), all.len());
        let Some(strings) = vector.byte_rows() else { continue };
        let of_rows = strings.codes().filter(|codes| codes.dictionary == dictionary.id());
        rows.iter().filter(|row| !all[*row].is_null()).for_each(|row| {
            let string = dictionary.get(codes[row]);
            assert_eq!(string, strings.get(row), "{data_type}: row {row} of block {block}");
            assert_eq!(of_rows.map(|of_rows| of_rows.rows[row]), Some(codes[row]));
        });
    }
}

#[test]
fn extremes_of_every_type_come_back_with_and_without_nulls() {
    for (data_type, values) in samples() {
        check_rows(data_type, &[]);
        check_rows(data_type, &values);
        check_rows(data_type, &vec![Value::Null; BLOCK_ROWS + 1]);
        for value in &values {
            check_rows(data_type, &vec![value.clone(); BLOCK_ROWS * 2]);
        }
        let mut mixed: Vec<Value> = values.iter().cloned().cycle().take(BLOCK_ROWS + 9).collect();
        mixed.iter_mut().step_by(3).for_each(|value| *value = Value::Null);
        check_rows(data_type, &mixed);
    }
}

#[test]
fn type_that_no_segment_holds_is_refused_and_the_rows_stay() {
    let mut builder = GroupBuilder::new(&[of(DataType::SqlVariant)]);
    let variant = Value::Variant(Box::new((Value::Int(1), of(DataType::Int))));
    builder.push(&[variant]);
    assert!(builder.finish().is_none());
    assert_eq!(builder.len(), 1);
}

#[test]
fn strings_are_coded_where_few_differ() {
    let text = |number: usize| Value::varchar(&format!("text {number}"), Collation::default());
    let data_type = DataType::VarChar(Length::Limited(60));
    let encoding = |different: usize| {
        let mut builder = GroupBuilder::new(&[of(data_type)]);
        (0..2_000).for_each(|row| builder.push(&[text(row * 7 % different)]));
        let segments = builder.finish().unwrap();
        (Segment::open(&segments[0]).encoding(), Segment::open(&segments[0]).dictionary_entries())
    };
    assert_eq!(encoding(1), (Encoding::StringDictionary, 1));
    assert_eq!(encoding(40), (Encoding::StringDictionary, 40));
    assert_eq!(encoding(41), (Encoding::Strings, 0));
    assert_eq!(encoding(2_000), (Encoding::Strings, 0));
}

#[test]
fn zone_bounds_what_is_not_null() {
    let mut builder = GroupBuilder::new(&[of(DataType::Int), of(DataType::Float)]);
    for row in 0..2_100 {
        let number =
            if row % 5 == 0 || row >= 2_048 { Value::Null } else { Value::Int(row - 1_000) };
        builder.push(&[number, Value::Float(f64::from(row))]);
    }
    let segments = builder.finish().unwrap();
    let numbers = Segment::open(&segments[0]);
    assert_eq!(numbers.zone(), Some(Zone { least: -999, largest: 1_047 }));
    assert_eq!(numbers.block_zone(0), Some(Zone { least: -999, largest: 23 }));
    assert_eq!(numbers.block_zone(1), Some(Zone { least: 24, largest: 1_047 }));
    assert_eq!(numbers.block_zone(2), None, "all NULL");
    let floats = Segment::open(&segments[1]);
    assert_eq!((floats.zone(), floats.block_zone(0)), (None, None), "bits do not order");
}

proptest! {
    #[test]
    fn rows_of_every_type_come_back(
        picks in proptest::collection::vec(0..4_usize, 0..2_300),
        sorted in any::<bool>(),
    ) {
        for (data_type, values) in samples() {
            let mut picks = picks.clone();
            if sorted {
                picks.sort_unstable();
            }
            let row = |pick: &usize| match pick {
                0 => Value::Null,
                pick => values[pick % values.len()].clone(),
            };
            check_rows(data_type, &picks.iter().map(row).collect::<Vec<_>>());
        }
    }

    #[test]
    fn random_strings_come_back(
        texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..1_500),
        repeats in 1..30_usize,
    ) {
        let rows: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(row, _)| &texts[row / repeats])
            .map(|text| Value::VarBinary(Bytes::copy_from(text)))
            .collect();
        check_rows(DataType::VarBinary(Length::Limited(40)), &rows);
    }

    #[test]
    fn batches_are_added_without_their_holes(
        live in proptest::collection::vec(any::<bool>(), 0..200),
    ) {
        let mut batch = Vector::of_type(&DataType::Int);
        (0..200).for_each(|row| batch.push(&Value::Int(row)));
        let mut selection = Selection::default();
        selection.clear();
        (0..live.len()).filter(|row| live[*row]).for_each(|row| selection.push(row));
        let mut builder = GroupBuilder::new(&[of(DataType::Int)]);
        builder.append(std::iter::once(&batch), &selection);
        let wanted: Vec<i32> =
            (0..).zip(&live).filter(|(_, live)| **live).map(|(row, _)| row).collect();
        prop_assert_eq!(builder.len(), wanted.len());
        prop_assert_eq!(builder.columns()[0].data(), &Data::Int(wanted));
    }
}
