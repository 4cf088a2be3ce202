//! Comparison of two values of a common type, and the byte form by which grouping hashes and
//! compares.

use std::cmp::Ordering;

use crate::date::Moment;
use crate::key::{self, Direction, KeyPart};
use crate::pause::Watched;
use crate::text::PIECE_BYTES;
use crate::{Collation, ColumnType, Decimal, Value, text};

/// The result of a predicate in three-valued logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Truth {
    /// The predicate is true.
    True,
    /// The predicate is false.
    False,
    /// The predicate is unknown: an operand was NULL.
    Unknown,
}

impl Truth {
    /// Three-valued AND: false if either operand is false.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::True, Self::True) => Self::True,
            _ => Self::Unknown,
        }
    }

    /// Three-valued OR: true if either operand is true.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::True, _) | (_, Self::True) => Self::True,
            (Self::False, Self::False) => Self::False,
            _ => Self::Unknown,
        }
    }

    /// Returns whether WHERE keeps the row.
    pub const fn is_true(self) -> bool {
        matches!(self, Self::True)
    }
}

impl std::ops::Not for Truth {
    type Output = Self;
    fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// Compares two values of one type as `=`, `<` and `>` do; `None` if either is NULL.
pub fn compare(left: &Value, right: &Value, collation: Collation) -> Option<Ordering> {
    if left.is_null() || right.is_null() {
        return None;
    }
    Some(order(left, right, collation))
}

/// Compares two values of one type as ORDER BY does: NULL first, NULLs equal.
///
/// Decimals may differ in scale, `datetimeoffset` values in offset. Values of two types compare as
/// `sql_variant` values do, by family first.
pub fn order(left: &Value, right: &Value, collation: Collation) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Bit(a), Value::Bit(b)) => a.cmp(b),
        (Value::TinyInt(a), Value::TinyInt(b)) => a.cmp(b),
        (Value::SmallInt(a), Value::SmallInt(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::BigInt(a), Value::BigInt(b)) => a.cmp(b),
        (Value::Decimal(a), Value::Decimal(b)) => a.order(b),
        (Value::Money(a), Value::Money(b)) => a.cmp(b),
        (Value::Real(a), Value::Real(b)) => order_float(f64::from(*a), f64::from(*b)),
        (Value::Float(a), Value::Float(b)) => order_float(*a, *b),
        (Value::VarChar(a), Value::VarChar(b)) => collation.compare_varchar(a, b),
        (Value::NVarChar(a), Value::NVarChar(b)) => collation.compare_nvarchar(a, b),
        (Value::VarBinary(a), Value::VarBinary(b)) => order_binary(a, b),
        (Value::UniqueIdentifier(a), Value::UniqueIdentifier(b)) => {
            guid_order(a).cmp(&guid_order(b))
        }
        (Value::Variant(a), Value::Variant(b)) => order_variant(&a.0, &a.1, &b.0, &b.1),
        _ => order_moment(left, right).unwrap_or_else(|| {
            let of = |value: &Value| ColumnType::of_value(value, collation);
            order_variant(left, &of(left), right, &of(right))
        }),
    }
}

/// As [`order`], for long strings and binary values: pauses, and ends early where the result is no longer wanted.
pub fn order_watched(
    left: &Value,
    right: &Value,
    collation: Collation,
    watched: &Watched<'_>,
) -> Ordering {
    match (left, right) {
        (Value::VarChar(a), Value::VarChar(b)) => collation.compare_varchar_watched(a, b, watched),
        (Value::NVarChar(a), Value::NVarChar(b)) => {
            collation.compare_nvarchar_watched(a, b, watched)
        }
        (Value::VarBinary(a), Value::VarBinary(b)) => {
            let zip = a.chunks(PIECE_BYTES).zip(b.chunks(PIECE_BYTES));
            let same = zip.take_while(|(a, b)| a == b && watched.piece()).count() * PIECE_BYTES;
            order_binary(&a[same.min(a.len())..], &b[same.min(b.len())..])
        }
        _ => order(left, right, collation),
    }
}

/// Compares dates and times of one type.
fn order_moment(left: &Value, right: &Value) -> Option<Ordering> {
    let key = |value: &Value| match value {
        Value::Date(days) => Some((i64::from(*days), 0)),
        Value::Time(ticks) => Some((0, *ticks)),
        Value::DateTime { days, ticks } => Some((i64::from(*days), i64::from(*ticks))),
        Value::SmallDateTime { days, minutes } => Some((i64::from(*days), i64::from(*minutes))),
        Value::DateTime2 { days, ticks } | Value::DateTimeOffset { days, ticks, .. } => {
            Some((i64::from(*days), *ticks))
        }
        _ => None,
    };
    if std::mem::discriminant(left) != std::mem::discriminant(right) {
        return None;
    }
    Some(key(left)?.cmp(&key(right)?))
}

fn order_float(left: f64, right: f64) -> Ordering {
    // -0.0 and 0.0 are equal; there is no NaN in SQL.
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// The family of strings: see [`variant_form`].
pub(crate) const STRINGS: u8 = 3;

/// Compares two `sql_variant` values: by family, then within it, strings by their collations first.
fn order_variant(a: &Value, a_type: &ColumnType, b: &Value, b_type: &ColumnType) -> Ordering {
    let (a_family, a) = variant_form(a, a_type);
    let (b_family, b) = variant_form(b, b_type);
    let by_collation = || match a_family {
        STRINGS if a_type.collation != b_type.collation => {
            a_type.collation.rank().cmp(&b_type.collation.rank())
        }
        _ => Ordering::Equal,
    };
    a_family.cmp(&b_family).then_with(by_collation).then_with(|| match (&a, &b) {
        (Value::Variant(_), _) | (_, Value::Variant(_)) => Ordering::Equal,
        _ => order(&a, &b, a_type.collation),
    })
}

/// Returns the rank of a value's family within `sql_variant`, and the value in the family's widest
/// form. Families from low to high: `uniqueidentifier`, binary, character, exact numeric,
/// approximate numeric, date and time.
pub(crate) fn variant_form(value: &Value, of: &ColumnType) -> (u8, Value) {
    let exact = |v: i128, scale| (4, Value::Decimal(Decimal::new(v, 38, scale)));
    match value {
        Value::Null | Value::Variant(_) => (0, Value::Null),
        Value::UniqueIdentifier(_) => (1, value.clone()),
        Value::VarBinary(_) => (2, value.clone()),
        Value::VarChar(bytes) => {
            (STRINGS, Value::NVarChar(text::code_page_to_utf16(bytes, of.collation)))
        }
        Value::NVarChar(_) => (STRINGS, value.clone()),
        Value::Bit(v) => exact(i128::from(*v), 0),
        Value::TinyInt(v) => exact(i128::from(*v), 0),
        Value::SmallInt(v) => exact(i128::from(*v), 0),
        Value::Int(v) => exact(i128::from(*v), 0),
        Value::BigInt(v) => exact(i128::from(*v), 0),
        Value::Money(v) => exact(i128::from(*v), 4),
        Value::Decimal(v) => exact(v.mantissa(), v.scale),
        Value::Real(v) => (5, Value::Float(f64::from(*v))),
        Value::Float(_) => (5, value.clone()),
        Value::Date(_)
        | Value::Time(_)
        | Value::DateTime { .. }
        | Value::SmallDateTime { .. }
        | Value::DateTime2 { .. }
        | Value::DateTimeOffset { .. } => {
            let (days, ticks) = Moment::from_value(value).map_or((0, 0), Moment::to_utc);
            (6, Value::DateTime2 { days, ticks })
        }
    }
}

/// Returns the bytes of a `uniqueidentifier` in the order in which they compare: the last group
/// first.
pub(crate) fn guid_order(guid: &[u8; 16]) -> [u8; 16] {
    const ORDER: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];
    ORDER.map(|at| guid[at])
}

/// Compares two binary values; trailing zeros do not count.
pub fn order_binary(left: &[u8], right: &[u8]) -> Ordering {
    // If the first eight bytes differ, they decide, whatever zeros follow them.
    if let (Some(left), Some(right)) = (left.first_chunk::<8>(), right.first_chunk::<8>())
        && left != right
    {
        return u64::from_be_bytes(*left).cmp(&u64::from_be_bytes(*right));
    }
    trim_zeros(left).cmp(trim_zeros(right))
}

/// Cuts trailing zeros, which a comparison of binary values ignores.
pub(crate) fn trim_zeros(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
    &bytes[..len]
}

/// Appends bytes that are equal exactly if the values are equal (NULLs included): the form that
/// grouping, DISTINCT and hash joins hash and compare. Several forms in a row stay unambiguous.
pub fn group_key(value: &Value, collation: Collation, out: &mut Vec<u8>) {
    match value {
        Value::Decimal(v) => {
            let v = v.without_trailing_zeros();
            out.push(1);
            out.push(v.scale);
            out.extend_from_slice(&v.mantissa().to_be_bytes());
        }
        _ => key::encode_value(value, KeyPart { collation, direction: Direction::Ascending }, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_zeros_of_binary_values_do_not_count_and_first_bytes_decide() {
        let one = [1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(order_binary(&one, &[1]), Ordering::Equal);
        assert_eq!(order_binary(&one, &one[..8]), Ordering::Equal);
        let (mut two, mut high) = (one, one);
        (two[8], high[0]) = (1, 2);
        assert_eq!(order_binary(&one, &two), Ordering::Less);
        assert_eq!(order_binary(&high, &two), Ordering::Greater);
        assert_eq!(order_binary(&[0; 9], &[]), Ordering::Equal);
        assert_eq!(order_binary(&[255], &two), Ordering::Greater);
    }
}
