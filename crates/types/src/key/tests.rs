//! Tests that keys order as values do, and as SQL Server's documentation says.

use proptest::prelude::*;

use super::*;
use crate::{Bytes, DataType};

/// Strings of text columns, as a regular expression.
const TEXT: &str = "[ aAbBé_0\u{1}]{0,4}";

/// Two values of one type.
fn pair() -> impl Strategy<Value = (Value, Value)> {
    fn two<T: std::fmt::Debug>(
        one: impl Strategy<Value = T> + Clone,
        make: impl Fn(T) -> Value + Clone,
    ) -> impl Strategy<Value = (Value, Value)> {
        (one.clone(), one).prop_map(move |(a, b)| (make(a), make(b)))
    }
    let collation = Collation::default();
    let bytes = proptest::collection::vec(0_u8..3, 0..4);
    prop_oneof![
        two(any::<bool>(), Value::Bit),
        two(any::<u8>(), Value::TinyInt),
        two(any::<i16>(), Value::SmallInt),
        two(any::<i32>(), Value::Int),
        two(any::<i64>(), Value::BigInt),
        two(any::<i64>(), Value::Money),
        two(any::<i64>(), |v| Value::Decimal(Decimal::new(v.into(), 38, 4))),
        two(prop_oneof![Just(0.0), Just(-0.0), -1e300..1e300_f64], Value::Float),
        two(-1e30..1e30_f32, Value::Real),
        two(any::<i32>(), Value::Date),
        two(0..864_000_000_000_i64, Value::Time),
        two((any::<i32>(), any::<u32>()), |(days, ticks)| Value::DateTime { days, ticks }),
        two((any::<u16>(), any::<u16>()), |(days, minutes)| Value::SmallDateTime { days, minutes }),
        two((any::<i32>(), any::<i64>()), |(days, ticks)| Value::DateTime2 { days, ticks }),
        two((0..2, 0..2_i64, any::<i16>()), |(days, ticks, offset)| {
            Value::DateTimeOffset { days, ticks, offset }
        }),
        two(TEXT, move |t| Value::varchar(&t, collation)),
        two(TEXT, |t| Value::nvarchar(&t)),
        two(bytes, |b| Value::VarBinary(Bytes::from(b))),
        two(any::<[u8; 16]>(), Value::UniqueIdentifier),
        two((0..5, any::<i64>(), TEXT, 0..5_usize), |(kind, n, t, of)| {
            let value = match kind {
                0 => Value::BigInt(n % 100),
                1 => Value::Float(f64::from(i32::try_from(n % 100).unwrap())),
                2 => Value::nvarchar(&t),
                3 => Value::Decimal(Decimal::new(i128::from(n % 100) * 10, 10, 1)),
                _ => Value::Date(i32::try_from(n % 100).unwrap() + 1_000),
            };
            let collation = Collation::by_name(COLLATIONS[of]).expect("it is one");
            let of = ColumnType::of_value(&value, collation);
            Value::Variant(Box::new((value, of)))
        }),
    ]
}

/// Collations of strings in `sql_variant`: the first of two strings decides nothing about the other.
const COLLATIONS: [&str; 5] = [
    "Latin1_General_BIN2",
    "SQL_Latin1_General_CP1_CI_AS",
    "Latin1_General_CI_AS",
    "Latin1_General_100_CS_AS_SC",
    "Japanese_CI_AI",
];

fn or_null(pair: (Value, Value), nulls: u8) -> (Value, Value) {
    match nulls {
        0 => (Value::Null, pair.1),
        1 => (pair.0, Value::Null),
        2 => (Value::Null, Value::Null),
        3 => (pair.0.clone(), pair.0),
        _ => pair,
    }
}

proptest! {
    #[test]
    fn keys_order_as_rows(
        columns in proptest::collection::vec((pair(), 0_u8..12, any::<bool>()), 1..4),
    ) {
        let (mut left, mut right, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for (values, nulls, descends) in columns {
            let (a, b) = or_null(values, nulls);
            left.push(a);
            right.push(b);
            let direction = if descends { Direction::Descending } else { Direction::Ascending };
            parts.push(KeyPart { collation: Collation::default(), direction });
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        encode_key(&left, &parts, &mut a);
        encode_key(&right, &parts, &mut b);
        prop_assert_eq!(a.cmp(&b), compare_keys(&left, &right, &parts));
        prop_assert_eq!(b.cmp(&a), compare_keys(&right, &left, &parts));
        prop_assert!(a == b || !a.starts_with(&b) && !b.starts_with(&a));

        // A key of fewer columns is a prefix of the key of more, and its prefix end sorts behind
        // that.
        let mut prefix = Vec::new();
        encode_key(&left[..1], &parts, &mut prefix);
        prop_assert!(a.starts_with(&prefix));
        if to_prefix_end(&mut prefix) {
            prop_assert!(a < prefix);
        }
    }

    #[test]
    fn group_keys_are_equal_for_equal_values((a, b) in pair(), nulls in 0_u8..12) {
        let (a, b) = or_null((a, b), nulls);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let collation = Collation::default();
        compare::group_key(&a, collation, &mut x);
        compare::group_key(&b, collation, &mut y);
        prop_assert_eq!(x == y, compare::order(&a, &b, collation).is_eq());
    }
}

#[test]
fn guids_order_by_their_last_group_first() {
    // Ascending order, from the documentation of System.Data.SqlTypes.SqlGuid.
    let guid = |byte: usize| {
        let mut bytes = [0; 16];
        bytes[byte] = 1;
        Value::UniqueIdentifier(bytes)
    };
    // Bytes of the wire form, from least to most significant.
    let ascending = [3, 2, 1, 0, 5, 4, 7, 6, 9, 8, 15, 14, 13, 12, 11, 10];
    for bytes in ascending.windows(2) {
        let order = compare::order(&guid(bytes[0]), &guid(bytes[1]), Collation::default());
        assert_eq!(order, Ordering::Less, "{bytes:?}");
    }
}

#[test]
fn null_is_equal_to_nothing_but_sorts_first() {
    let collation = Collation::default();
    assert_eq!(compare::compare(&Value::Null, &Value::Null, collation), None);
    assert_eq!(compare::order(&Value::Null, &Value::Int(i32::MIN), collation), Ordering::Less);
}

#[test]
fn decimals_of_different_scale_group_together() {
    let key = |mantissa, scale| {
        let mut out = Vec::new();
        let value = Value::Decimal(Decimal::new(mantissa, 10, scale));
        compare::group_key(&value, Collation::default(), &mut out);
        out
    };
    assert_eq!(key(10, 1), key(100, 2));
    assert_ne!(key(10, 1), key(10, 2));
}

#[test]
fn binary_values_ignore_trailing_zeros_as_they_do_in_comparison() {
    let binary = |bytes: &[u8]| Value::VarBinary(Bytes::copy_from(bytes));
    let collation = Collation::default();
    assert_eq!(compare::order(&binary(&[1]), &binary(&[1, 0]), collation), Ordering::Equal);
    assert_eq!(compare::order(&binary(&[1]), &binary(&[1, 0, 1]), collation), Ordering::Less);
}

#[test]
fn variants_order_by_family_first() {
    let variant = |value: Value| {
        let of = ColumnType::of_value(&value, Collation::default());
        Value::Variant(Box::new((value, of)))
    };
    let ascending = [
        variant(Value::UniqueIdentifier([9; 16])),
        variant(Value::VarBinary(Bytes::copy_from(b"z"))),
        variant(Value::nvarchar("z")),
        variant(Value::BigInt(i64::MAX)),
        variant(Value::Float(-1.0)),
        variant(Value::Date(0)),
    ];
    for pair in ascending.windows(2) {
        assert_eq!(compare::order(&pair[0], &pair[1], Collation::default()), Ordering::Less);
    }
    let (int, decimal) = (variant(Value::Int(1)), variant(Value::Decimal(Decimal::new(100, 5, 2))));
    assert_eq!(compare::order(&int, &decimal, Collation::default()), Ordering::Equal);
    assert_eq!(DataType::SqlVariant.max_length(), 8_016);
}
