//! Equality of key columns, and the byte forms of keys.

use types::batch::{ByteKind, Data, Vector};
use types::key::{self, KeyPart};
use types::{Collation, compare};

use super::compare::equal;

/// Whether NULL equals NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullKeys {
    /// It does: grouping, DISTINCT, set operations.
    Equal,
    /// It equals nothing: joins.
    Different,
}

/// Keeps of pairs of rows, one of `left` and one of `right`, those whose keys are equal. Both columns are
/// of one type.
///
/// # Panics
/// If a vector has no such row.
pub fn keep_equal(
    (left, right): (&Vector, &Vector),
    collation: Collation,
    null_keys: NullKeys,
    pairs: &mut Vec<(u32, u32)>,
) {
    if left.has_nulls() || right.has_nulls() {
        pairs.retain(|(l, r)| match (left.is_null(*l as usize), right.is_null(*r as usize)) {
            (true, true) => null_keys == NullKeys::Equal,
            (false, false) => is_equal((left, *l as usize), (right, *r as usize), collation),
            _ => false,
        });
        return;
    }
    macro_rules! plain {
        ($l:expr, $r:expr) => {
            pairs.retain(|(l, r)| $l[*l as usize] == $r[*r as usize])
        };
    }
    match (left.data(), right.data()) {
        (Data::Int(l), Data::Int(r)) | (Data::Date(l), Data::Date(r)) => plain!(l, r),
        (Data::BigInt(l), Data::BigInt(r))
        | (Data::Money(l), Data::Money(r))
        | (Data::DateTime(l), Data::DateTime(r))
        | (Data::DateTime2(l), Data::DateTime2(r)) => plain!(l, r),
        (
            Data::ShortDecimal { digits: l, scale: a, .. },
            Data::ShortDecimal { digits: r, scale: b, .. },
        ) if a == b => plain!(l, r),
        _ => pairs.retain(|(l, r)| is_equal((left, *l as usize), (right, *r as usize), collation)),
    }
}

/// Tells whether two rows, neither NULL, are equal.
fn is_equal(
    (left, l): (&Vector, usize),
    (right, r): (&Vector, usize),
    collation: Collation,
) -> bool {
    match (left.data(), right.data()) {
        (Data::Int(a), Data::Int(b)) | (Data::Date(a), Data::Date(b)) => a[l] == b[r],
        (Data::BigInt(a), Data::BigInt(b)) => a[l] == b[r],
        (Data::Bytes(a), Data::Bytes(b)) if a.kind == b.kind => {
            equal(a.kind, a.get(l), b.get(r), collation)
        }
        _ => compare::order(&left.get(l), &right.get(r), collation).is_eq(),
    }
}

/// Tells whether two rows are equal as grouping holds them: NULLs are.
///
/// # Panics
/// If a vector has no such row.
pub fn is_same((left, l): (&Vector, usize), (right, r): (&Vector, usize), of: Collation) -> bool {
    match (left.is_null(l), right.is_null(r)) {
        (true, true) => true,
        (false, false) => is_equal((left, l), (right, r), of),
        _ => false,
    }
}

/// Appends the bytes of a row's key that are equal for what grouping holds equal: see
/// [`compare::group_key`].
///
/// # Panics
/// If the vector has no such row.
pub fn push_group_key(column: &Vector, row: usize, collation: Collation, out: &mut Vec<u8>) {
    match column.data() {
        Data::Bytes(_) => {
            let part = KeyPart { collation, direction: key::Direction::Ascending };
            push_sort_key(column, row, part, out);
        }
        _ => compare::group_key(&column.get(row), collation, out),
    }
}

/// Appends the bytes of a row's sort key, whose order is that of the values: see [`key::encode_value`].
///
/// # Panics
/// If the vector has no such row.
pub fn push_sort_key(column: &Vector, row: usize, part: KeyPart, out: &mut Vec<u8>) {
    match column.data() {
        Data::Bytes(strings) if !column.is_null(row) => {
            let (bytes, collation) = (strings.get(row), part.collation);
            let start = out.len();
            // As `encode_value` writes it, without a value.
            out.push(1);
            match strings.kind {
                ByteKind::VarChar => collation.sort_key_varchar(bytes, out),
                ByteKind::NVarChar => collation.sort_key_nvarchar(bytes, out),
                ByteKind::VarBinary => key::push_binary(bytes, out),
            }
            if part.direction == key::Direction::Descending {
                out[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        _ => key::encode_value(&column.get(row), part, out),
    }
}
