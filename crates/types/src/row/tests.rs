//! Tests that rows decode to the values that were encoded.

use proptest::prelude::*;

use super::*;
use crate::batch::{Selection, Vector};
use crate::key::{Direction, KeyPart, encode_column, encode_value};
use crate::{Collation, Decimal, Length};

fn columns() -> Vec<ColumnType> {
    [
        DataType::Int,
        DataType::NVarChar(Length::Limited(88)),
        DataType::VarBinary(Length::Max),
        DataType::DateTime,
        DataType::Decimal { precision: 18, scale: 4 },
        DataType::Decimal { precision: 38, scale: 0 },
        DataType::Char(280),
        DataType::Bit,
        DataType::DateTimeOffset(7),
        DataType::SqlVariant,
        DataType::UniqueIdentifier,
    ]
    .map(ColumnType::nullable)
    .to_vec()
}

fn bytes(max: usize) -> impl Strategy<Value = Bytes> {
    proptest::collection::vec(any::<u8>(), 0..max).prop_map(Bytes::from)
}

fn row() -> impl Strategy<Value = Vec<Value>> {
    let variant = (any::<i64>(), any::<bool>()).prop_map(|(v, n)| {
        let of = if n { DataType::BigInt } else { DataType::NVarChar(Length::Limited(10)) };
        let value = if n { Value::BigInt(v) } else { Value::nvarchar(&v.to_string()) };
        Value::Variant(Box::new((value, ColumnType::nullable(of))))
    });
    let values = (
        any::<i32>().prop_map(Value::Int),
        bytes(176).prop_map(Value::NVarChar),
        bytes(3_000).prop_map(Value::VarBinary),
        (any::<i32>(), any::<u32>()).prop_map(|(days, ticks)| Value::DateTime { days, ticks }),
        any::<i32>().prop_map(|v| Value::Decimal(Decimal::new(v.into(), 18, 4))),
        any::<i128>().prop_map(|v| Value::Decimal(Decimal::new(v, 38, 0))),
        bytes(1_200).prop_map(Value::VarChar),
        any::<bool>().prop_map(Value::Bit),
        (any::<i32>(), any::<i64>(), any::<i16>())
            .prop_map(|(days, ticks, offset)| Value::DateTimeOffset { days, ticks, offset }),
        variant,
        any::<[u8; 16]>().prop_map(Value::UniqueIdentifier),
    );
    (values, any::<u16>()).prop_map(|((a, b, c, d, e, f, g, h, i, j, k), nulls)| {
        let mut row = vec![a, b, c, d, e, f, g, h, i, j, k];
        let is_null = |i: usize| nulls >> i & 1 != 0 && nulls >> (i / 2) & 1 != 0;
        (0..row.len()).filter(|i| is_null(*i)).for_each(|i| row[i] = Value::Null);
        row
    })
}

fn read(layout: &RowLayout, row: &RowBuffer) -> Vec<Value> {
    let view = layout.view(&row.bytes, &row.blobs);
    (0..layout.columns().len()).map(|ordinal| view.get(ordinal)).collect()
}

proptest! {
    #[test]
    fn rows_come_back(values in row()) {
        let layout = RowLayout::new(&columns());
        let mut encoded = RowBuffer::default();
        layout.encode(&values, &mut encoded);
        prop_assert_eq!(read(&layout, &encoded), values);
    }

    #[test]
    fn update_replaces_what_it_says_and_nothing_else(
        before in row(), after in row(), which in any::<u16>(),
    ) {
        let layout = RowLayout::new(&columns());
        let (mut source, mut target) = (RowBuffer::default(), RowBuffer::default());
        layout.encode(&before, &mut source);
        let changed: Vec<usize> = (0..before.len()).filter(|i| which >> i & 1 != 0).collect();
        let changes: Vec<_> = changed.iter().map(|i| (*i, &after[*i])).collect();
        layout.update(layout.view(&source.bytes, &source.blobs), &changes, &mut target);
        let mut expected = before.clone();
        changed.iter().for_each(|i| expected[*i] = after[*i].clone());
        prop_assert_eq!(read(&layout, &target), expected);
    }
}

/// Encodes the keys of a column of two rows, directly from the rows.
fn keys(layout: &RowLayout, rows: [&RowBuffer; 2], ordinal: usize, part: KeyPart) -> [Vec<u8>; 2] {
    rows.map(|row| {
        let view = layout.view(&row.bytes, &row.blobs);
        let (mut key, mut expected) = (vec![7], vec![7]);
        encode_column(&view, ordinal, part, &mut key);
        encode_value(&view.get(ordinal), part, &mut expected);
        assert_eq!(key, expected, "column {ordinal}");
        key
    })
}

fn check_keys(columns: &[ColumnType], one: &[Value], other: &[Value]) {
    let layout = RowLayout::new(columns);
    let rows = [&encode(&layout, one), &encode(&layout, other)];
    let [a, b] = rows.map(|row| layout.view(&row.bytes, &row.blobs));
    for ordinal in 0..columns.len() {
        for direction in [Direction::Ascending, Direction::Descending] {
            let part = KeyPart { collation: Collation::default(), direction };
            let [x, y] = keys(&layout, rows, ordinal, part);
            match a.likeness(&b, ordinal) {
                Likeness::Same => assert_eq!(x, y, "column {ordinal}"),
                Likeness::Differs => assert_ne!(x, y, "column {ordinal}"),
                Likeness::Unknown => {}
            }
        }
    }
}

proptest! {
    #[test]
    fn a_column_has_the_key_and_the_likeness_of_its_value(
        one in row(), other in row(), third in more_row(), fourth in more_row(), which in any::<u16>(),
    ) {
        check_keys(&columns(), &one, &other);
        check_keys(&more_columns(), &third, &fourth);
        // Takes some columns of either row.
        let mix = |a: &[Value], b: &[Value]| -> Vec<Value> {
            let pick = |i: usize| if which >> i & 1 != 0 { &a[i] } else { &b[i] };
            (0..a.len()).map(|i| pick(i).clone()).collect()
        };
        check_keys(&columns(), &one, &mix(&one, &other));
        check_keys(&more_columns(), &third, &mix(&third, &fourth));
    }
}

#[test]
fn other_bytes_may_be_the_same_number() {
    let layout = RowLayout::new(&[ColumnType::nullable(DataType::Float)]);
    let rows = [0.0, -0.0].map(|v| encode(&layout, &[Value::Float(v)]));
    let [a, b] = rows.each_ref().map(|row| layout.view(&row.bytes, &row.blobs));
    assert_eq!(a.likeness(&b, 0), Likeness::Unknown);
    assert_eq!(a.likeness(&a, 0), Likeness::Same);
}

#[test]
fn unchanged_blob_is_shared_by_versions() {
    let layout = RowLayout::new(&[DataType::Int, DataType::Image].map(ColumnType::nullable));
    let blob = Bytes::from(vec![7; 10_000]);
    let (mut source, mut target) = (RowBuffer::default(), RowBuffer::default());
    layout.encode(&[Value::Int(1), Value::VarBinary(blob.clone())], &mut source);
    assert!(source.bytes.len() < 32, "the blob is out of line");
    let view = layout.view(&source.bytes, &source.blobs);
    layout.update(view, &[(0, &Value::Int(2))], &mut target);
    let Value::VarBinary(read) = layout.view(&target.bytes, &target.blobs).get(1) else { panic!() };
    let same = |a: &Bytes, b: &Bytes| std::ptr::eq(a.as_slice(), b.as_slice());
    assert!(same(&read, &blob), "a blob is never copied");
}

#[test]
fn a_row_of_many_long_columns_has_wide_ends() {
    let columns = [ColumnType::nullable(DataType::VarChar(Length::Limited(8_000))); 100];
    let layout = RowLayout::new(&columns);
    let values = vec![Value::VarChar(Bytes::from(vec![b'x'; INLINE_BYTES_MAX])); 100];
    let mut row = RowBuffer::default();
    layout.encode(&values, &mut row);
    assert_eq!(read(&layout, &row), values);
    assert!(row.blobs.is_empty());
}

fn encode(layout: &RowLayout, values: &[Value]) -> RowBuffer {
    let mut row = RowBuffer::default();
    layout.encode(values, &mut row);
    row
}

/// Columns of the other fixed types.
fn more_columns() -> Vec<ColumnType> {
    [
        DataType::TinyInt,
        DataType::SmallInt,
        DataType::BigInt,
        DataType::Money,
        DataType::Real,
        DataType::Float,
        DataType::Date,
        DataType::Time(7),
        DataType::SmallDateTime,
        DataType::DateTime2(7),
        DataType::VarChar(Length::Limited(20)),
    ]
    .map(ColumnType::nullable)
    .to_vec()
}

fn more_row() -> impl Strategy<Value = Vec<Value>> {
    let values = (any::<i64>(), any::<i16>(), any::<u32>(), any::<f32>(), any::<u16>());
    (values, any::<u16>()).prop_map(|((big, small, word, real, half), nulls)| {
        let ticks = i64::from(word) * 200;
        let days = i32::from(half) * 50;
        let mut row = vec![
            Value::TinyInt(big.to_le_bytes()[0]),
            Value::SmallInt(small),
            Value::BigInt(big),
            Value::Money(big),
            Value::Real(if real.is_nan() { 0.0 } else { real }),
            Value::Float(f64::from(small) / 3.0),
            Value::Date(days),
            Value::Time(ticks),
            Value::SmallDateTime { days: half, minutes: half % 1440 },
            Value::DateTime2 { days, ticks },
            Value::VarChar(Bytes::from(vec![b'x'; usize::from(half % 20)])),
        ];
        (0..row.len()).filter(|i| nulls >> i & 3 == 3).for_each(|i| row[i] = Value::Null);
        row
    })
}

/// Encoded rows in a list.
struct List(Vec<RowBuffer>);

impl Images for List {
    fn count(&self) -> usize {
        self.0.len()
    }
    fn bytes(&self, row: usize) -> &[u8] {
        &self.0[row].bytes
    }
    fn blobs(&self, row: usize) -> &[Bytes] {
        &self.0[row].blobs
    }
}

proptest! {
    #[test]
    fn columns_hold_what_the_rows_hold(
        first in proptest::collection::vec(row(), 0..20),
        second in proptest::collection::vec(more_row(), 0..20),
        selected in any::<u32>(),
        is_all in any::<bool>(),
    ) {
        for (columns, rows) in [(columns(), first), (more_columns(), second)] {
            check_columns(&columns, &rows, (!is_all).then_some(selected));
        }
    }
}

fn check_columns(columns: &[ColumnType], rows: &[Vec<Value>], selected: Option<u32>) {
    let layout = RowLayout::new(columns);
    let images = List(rows.iter().map(|row| encode(&layout, row)).collect());
    let mut selection = Selection::all(rows.len());
    if let Some(selected) = selected {
        selection.filter(&Selection::all(rows.len()), |row| selected >> row & 1 != 0);
    }
    for (ordinal, column) in columns.iter().enumerate() {
        let mut vector = Vector::with_capacity_for(column);
        // Twice: what the vector held before must not matter.
        layout.decode_column(ordinal, &images, &Selection::all(rows.len()), &mut vector);
        layout.decode_column(ordinal, &images, &selection, &mut vector);
        assert_eq!(vector.len(), rows.len());
        for row in selection.iter() {
            assert_eq!(vector.get(row), rows[row][ordinal]);
        }
    }
}

proptest! {
    #[test]
    fn images_put_a_row_together(
        first in (row(), row()), second in (more_row(), more_row()), which in any::<u16>(),
    ) {
        for (columns, (before, after)) in [(columns(), first), (more_columns(), second)] {
            let layout = RowLayout::new(&columns);
            let mixed: Vec<Value> = (0..before.len())
                .map(|i| if which >> (i % 16) & 1 != 0 { &after[i] } else { &before[i] }.clone())
                .collect();
            let (old, new) = (encode(&layout, &before), encode(&layout, &mixed));
            let old = layout.view(&old.bytes, &old.blobs);
            let new = layout.view(&new.bytes, &new.blobs);
            let mut row = RowBuffer::default();
            layout.assemble(None, new.images(), &mut row).expect("all columns");
            prop_assert_eq!(&read(&layout, &row), &mixed);
            let mut changes = Vec::new();
            new.each_change(old, |ordinal, image| changes.push((ordinal, image)));
            layout.assemble(Some(old), changes.iter().copied(), &mut row).expect("the changes");
            prop_assert_eq!(&read(&layout, &row), &mixed);
            // What did not change is not among the changes.
            for (ordinal, image) in changes {
                let at = ordinal as usize;
                prop_assert_eq!(image, new.image(at));
                prop_assert!(old.image(at) != image);
            }
        }
    }

    #[test]
    fn foreign_images_are_errors(
        images in proptest::collection::vec((0..14_u32, proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40))), 0..14),
    ) {
        let layout = RowLayout::new(&columns());
        let mut images = images;
        images.sort_by_key(|(ordinal, _)| *ordinal);
        images.dedup_by_key(|(ordinal, _)| *ordinal);
        let mut row = RowBuffer::default();
        let images = images.iter().map(|(ordinal, image)| (*ordinal, image.as_deref()));
        if layout.assemble(None, images.clone(), &mut row).is_ok() {
            let view = layout.view(&row.bytes, &row.blobs);
            for (ordinal, image) in images {
                prop_assert_eq!(view.image(ordinal as usize), image);
            }
        }
    }
}

#[test]
fn changes_are_found_behind_64_columns_and_in_short_rows() {
    let bit = ColumnType::nullable(DataType::Bit);
    for columns in [1, 7, 63, 64, 65, 130] {
        let layout = RowLayout::new(&vec![bit; columns]);
        let before = vec![Value::Bit(false); columns];
        for at in [0, columns / 2, columns - 1] {
            for value in [Value::Null, Value::Bit(true)] {
                let mut after = before.clone();
                after[at] = value;
                let rows = [&before, &after].map(|values| encode(&layout, values));
                let [old, new] = rows.each_ref().map(|row| layout.view(&row.bytes, &row.blobs));
                let mut changes = Vec::new();
                new.each_change(old, |ordinal, image| changes.push((ordinal as usize, image)));
                assert_eq!(changes, [(at, new.image(at))], "{columns} columns");
            }
        }
    }
}
