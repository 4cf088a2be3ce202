//! Tests vectors and selections: values come back as they were pushed, in every form.

use proptest::prelude::*;

use super::*;
use crate::value::ColumnType;
use crate::{Bytes, Collation, DataType, Decimal, Length, Value};

fn of(data_type: DataType) -> ColumnType {
    ColumnType { data_type, collation: Collation::default(), nullable: true }
}

/// A type and two different values of it.
fn samples() -> Vec<(DataType, Value, Value)> {
    let decimal = |m, p, s| Value::Decimal(Decimal::new(m, p, s));
    let text = |t: &str| Value::varchar(t, Collation::default());
    vec![
        (DataType::Bit, Value::Bit(true), Value::Bit(false)),
        (DataType::TinyInt, Value::TinyInt(255), Value::TinyInt(1)),
        (DataType::SmallInt, Value::SmallInt(i16::MIN), Value::SmallInt(7)),
        (DataType::Int, Value::Int(i32::MIN), Value::Int(i32::MAX)),
        (DataType::BigInt, Value::BigInt(i64::MIN), Value::BigInt(1)),
        (DataType::Money, Value::Money(-1), Value::Money(i64::MAX)),
        (DataType::SmallMoney, Value::Money(-1), Value::Money(10)),
        (DataType::Real, Value::Real(-0.5), Value::Real(1e30)),
        (DataType::Float, Value::Float(-0.5), Value::Float(1e300)),
        (DataType::Date, Value::Date(0), Value::Date(3_652_058)),
        (DataType::Time(7), Value::Time(0), Value::Time(863_999_999_999)),
        (
            DataType::DateTime,
            Value::DateTime { days: -53_690, ticks: 25_919_999 },
            Value::DateTime { days: 1, ticks: 0 },
        ),
        (
            DataType::SmallDateTime,
            Value::SmallDateTime { days: 65_535, minutes: 1_439 },
            Value::SmallDateTime { days: 1, minutes: 0 },
        ),
        (
            DataType::DateTime2(7),
            Value::DateTime2 { days: 3_652_058, ticks: 863_999_999_999 },
            Value::DateTime2 { days: 0, ticks: 1 },
        ),
        (
            DataType::DateTimeOffset(7),
            Value::DateTimeOffset { days: 5, ticks: 6, offset: -840 },
            Value::DateTimeOffset { days: 5, ticks: 6, offset: 840 },
        ),
        (DataType::Decimal { precision: 18, scale: 2 }, decimal(-5, 18, 2), decimal(7, 18, 2)),
        (
            DataType::Decimal { precision: 38, scale: 0 },
            decimal(i128::from(i64::MAX) * 1000, 38, 0),
            decimal(-1, 38, 0),
        ),
        (DataType::Char(5), text("ab   "), text("")),
        (DataType::VarChar(Length::Limited(60)), text("a run of more than 22 bytes"), text("b")),
        (DataType::VarChar(Length::Max), text("a"), text("bb")),
        (DataType::NVarChar(Length::Limited(10)), Value::nvarchar("é"), Value::nvarchar("")),
        (
            DataType::VarBinary(Length::Limited(10)),
            Value::VarBinary(Bytes::copy_from(&[0, 1])),
            Value::VarBinary(Bytes::new()),
        ),
        (
            DataType::UniqueIdentifier,
            Value::UniqueIdentifier([1; 16]),
            Value::UniqueIdentifier([2; 16]),
        ),
        (
            DataType::SqlVariant,
            Value::Variant(Box::new((Value::Int(1), of(DataType::Int)))),
            Value::Variant(Box::new((Value::Bit(true), of(DataType::Bit)))),
        ),
    ]
}

fn values(vector: &Vector) -> Vec<Value> {
    (0..vector.len()).map(|row| vector.get(row)).collect()
}

#[test]
fn every_type_comes_back() {
    for (data_type, a, b) in samples() {
        let mut vector = Vector::with_capacity_for(&of(data_type));
        let rows = [a.clone(), Value::Null, b.clone(), b, Value::Null, a];
        rows.iter().for_each(|value| vector.push(value));
        assert_eq!(values(&vector), rows, "{data_type}");
        assert!(vector.is_null(1) && !vector.is_null(2), "{data_type}");
        vector.clear();
        assert!(vector.is_empty() && !vector.has_nulls());
    }
}

#[test]
fn value_that_does_not_fit_the_form_is_kept_as_it_is() {
    for (data_type, a, _) in samples() {
        let strange = [
            Value::Decimal(Decimal::new(i128::MAX, 38, 3)),
            Value::varchar("x", Collation::default()),
            Value::Int(1),
        ];
        let mut vector = Vector::with_capacity_for(&of(data_type));
        let rows: Vec<Value> = [a, Value::Null].into_iter().chain(strange).collect();
        rows.iter().for_each(|value| vector.push(value));
        assert_eq!(values(&vector), rows, "{data_type}");
        vector.clear();
        assert_eq!(vector.data(), &Data::of_type(&data_type), "plain again");
    }
}

#[test]
fn constant_is_one_value_and_can_grow() {
    for (data_type, a, b) in samples() {
        let mut vector = Vector::constant(a.clone(), &of(data_type), 2);
        assert_eq!(values(&vector), [a.clone(), a.clone()]);
        vector.push(&b);
        vector.push_null();
        assert_eq!(values(&vector), [a.clone(), a, b, Value::Null]);
    }
    let null = Vector::constant(Value::Null, &of(DataType::Int), 3);
    assert!(null.has_nulls() && null.is_null(2));
    assert_eq!(values(&null), [Value::Null, Value::Null, Value::Null]);
}

#[test]
fn packed_dates_order_as_their_values() {
    let moments = [(-53_690, 0), (-1, 25_919_999), (0, 0), (0, 1), (2_958_463, 25_919_999)];
    let packed = moments.map(|(days, ticks)| Data::pack_datetime(days, ticks));
    assert!(packed.is_sorted());
    assert_eq!(packed.map(Data::unpack_datetime), moments);
    let moments = [(0, 0), (0, 863_999_999_999), (1, 0), (3_652_058, 863_999_999_999)];
    let packed = moments.map(|(days, ticks)| Data::pack_datetime2(days, ticks));
    assert!(packed.is_sorted());
    assert_eq!(packed.map(Data::unpack_datetime2), moments);
}

#[test]
fn batch_with_columns_of_two_lengths_is_refused() {
    let mut batch = Batch::new(vec![Vector::of_type(&DataType::Int); 2]);
    batch.columns.iter_mut().for_each(|column| column.push(&Value::Int(1)));
    batch.set_rows(1);
    assert_eq!((batch.rows(), batch.selection.len()), (1, 1));
    batch.columns[0].push_null();
    assert!(std::panic::catch_unwind(move || batch.set_rows(2)).is_err());
}

/// A selection of rows below `rows` with holes.
fn selection(rows: usize) -> impl Strategy<Value = Selection> {
    proptest::collection::vec(any::<bool>(), rows).prop_map(|live| {
        let mut selection = Selection::default();
        selection.clear();
        live.iter().enumerate().filter(|(_, l)| **l).for_each(|(row, _)| selection.push(row));
        selection
    })
}

proptest! {
    #[test]
    fn gathered_rows_are_the_selected_ones(
        picks in proptest::collection::vec(0..3_u8, 70),
        live in selection(70),
        order in proptest::collection::vec(0..70_u32, 0..200),
    ) {
        for (data_type, a, b) in samples() {
            let rows: Vec<Value> = picks.iter().map(|pick| match pick {
                0 => Value::Null,
                1 => a.clone(),
                _ => b.clone(),
            }).collect();
            let mut vector = Vector::with_capacity_for(&of(data_type));
            rows.iter().for_each(|value| vector.push(value));
            let wanted: Vec<Value> = live.iter().map(|row| rows[row].clone()).collect();
            prop_assert_eq!(values(&vector.gather(&live)), wanted);
            let mut taken = Vector::with_capacity_for(&of(data_type));
            taken.push_null();
            taken.take(&vector, &order);
            let wanted: Vec<Value> = std::iter::once(Value::Null)
                .chain(order.iter().map(|row| rows[*row as usize].clone()))
                .collect();
            prop_assert_eq!(values(&taken), wanted);
            // Into a vector of another form.
            let mut other = Vector::of_type(&DataType::Bit);
            other.append(&vector, &Selection::all(70));
            prop_assert_eq!(values(&other), rows);
        }
    }

    #[test]
    fn selections_are_sets(a in selection(100), b in selection(100), all in any::<bool>()) {
        let a = if all { Selection::all(100) } else { a };
        let list = |s: &Selection| s.iter().collect::<Vec<_>>();
        let mut rest = a.clone();
        rest.remove(&b);
        let expected: Vec<usize> = a.iter().filter(|row| !b.iter().any(|r| r == *row)).collect();
        prop_assert_eq!(list(&rest), expected);
        prop_assert_eq!(rest.len(), rest.iter().count());
        let mut both = Selection::default();
        both.filter(&a, |row| b.iter().any(|r| r == row));
        prop_assert_eq!(both.len(), a.len() - rest.len());
        both.merge(&rest);
        prop_assert_eq!(list(&both), list(&a));
        let mut seen = Vec::new();
        a.for_each(|row| seen.push(row));
        prop_assert_eq!(seen, list(&a));
        let mut copy = b.clone();
        copy.copy_from(&a);
        prop_assert_eq!(list(&copy), list(&a));
    }

    #[test]
    fn nulls_of_two_add_up(a in proptest::collection::vec(0..300_usize, 0..20),
                           b in proptest::collection::vec(0..300_usize, 0..20)) {
        let make = |rows: &[usize]| {
            let mut nulls = Nulls::default();
            rows.iter().for_each(|row| nulls.set(*row));
            nulls
        };
        let mut sum = make(&a);
        sum.add(&make(&b));
        for row in 0..400 {
            prop_assert_eq!(sum.is_null(row), a.contains(&row) || b.contains(&row));
        }
        sum.clear();
        prop_assert!(sum.is_none() && !sum.is_null(3));
    }
}
