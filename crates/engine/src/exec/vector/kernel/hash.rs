//! Hashes of key columns: equal values have equal hashes, whatever form their vectors have.
//!
//! Equal is what grouping and joins hold equal: strings under their collation, decimals whatever their
//! scale, both zeros of a float, NULLs.

use types::batch::{ByteKind, Data, Selection, Vector};
use types::{Collation, Decimal, Value};

/// Hashes of NULLs and of nothing: digits of pi.
const NULL: u64 = 0x2438_6A88_85A3_08D3;
const SEED: u64 = 0x1319_8A2E_0370_7344;
const FACTOR: u64 = 0xA409_3822_299F_31D0 | 1;

/// Hashes rows of key columns, each with its collation, into `hashes`: one per row of the batch, of which
/// those of rows that are not selected hold anything.
pub fn hash(columns: &[(&Vector, Collation)], rows: &Selection, hashes: &mut Vec<u64>) {
    let total =
        columns.first().map_or_else(|| rows.iter().last().map_or(0, |r| r + 1), |c| c.0.len());
    hashes.clear();
    hashes.resize(total, SEED);
    let mut scratch = Vec::new();
    for (column, collation) in columns {
        add(column, *collation, rows, hashes, &mut scratch);
    }
}

/// Hashes one value, as [`hash`] does those of a vector.
pub fn hash_value(value: &Value, collation: Collation) -> u64 {
    value_hash(value, collation, &mut Vec::new())
}

fn add(
    column: &Vector,
    collation: Collation,
    rows: &Selection,
    hashes: &mut [u64],
    scratch: &mut Vec<u8>,
) {
    let nulls = column.nulls();
    macro_rules! each {
        ($values:expr, $value:ident => $hash:expr) => {
            if nulls.is_none() {
                rows.for_each(|row| {
                    let $value = $values[row];
                    hashes[row] = mix(hashes[row], $hash);
                })
            } else {
                rows.for_each(|row| {
                    let $value = $values[row];
                    let hash = if nulls.is_null(row) { NULL } else { $hash };
                    hashes[row] = mix(hashes[row], hash);
                })
            }
        };
    }
    match column.data() {
        Data::Bit(values) => each!(values, v => integer(i64::from(v))),
        Data::TinyInt(values) => each!(values, v => integer(i64::from(v))),
        Data::SmallInt(values) => each!(values, v => integer(i64::from(v))),
        Data::Int(values) | Data::Date(values) => each!(values, v => integer(i64::from(v))),
        Data::BigInt(values)
        | Data::Money(values)
        | Data::Time(values)
        | Data::DateTime(values)
        | Data::DateTime2(values) => each!(values, v => integer(v)),
        Data::Real(values) => each!(values, v => float(f64::from(v))),
        Data::Float(values) => each!(values, v => float(v)),
        Data::SmallDateTime(values) => each!(values, v => integer(i64::from(v))),
        Data::ShortDecimal { digits, scale, .. } => each!(digits, v => short_decimal(v, *scale)),
        Data::Decimal { digits, scale, .. } => each!(digits, v => decimal(v, *scale)),
        Data::Bytes(strings) => rows.for_each(|row| {
            let hash = match nulls.is_null(row) {
                true => NULL,
                false => string(strings.kind, strings.get(row), collation, scratch),
            };
            hashes[row] = mix(hashes[row], hash);
        }),
        Data::Values(values) => rows.for_each(|row| {
            hashes[row] = mix(hashes[row], value_hash(&values[row], collation, scratch));
        }),
        Data::Constant(value, _) => {
            let hash = value_hash(value, collation, scratch);
            rows.for_each(|row| hashes[row] = mix(hashes[row], hash));
        }
    }
}

fn value_hash(value: &Value, collation: Collation, scratch: &mut Vec<u8>) -> u64 {
    match value {
        Value::Null => NULL,
        Value::Bit(v) => integer(i64::from(*v)),
        Value::TinyInt(v) => integer(i64::from(*v)),
        Value::SmallInt(v) => integer(i64::from(*v)),
        Value::Int(v) | Value::Date(v) => integer(i64::from(*v)),
        Value::BigInt(v) | Value::Money(v) | Value::Time(v) => integer(*v),
        Value::Real(v) => float(f64::from(*v)),
        Value::Float(v) => float(*v),
        Value::DateTime { days, ticks } => integer(Data::pack_datetime(*days, *ticks)),
        Value::SmallDateTime { days, minutes } => {
            integer(i64::from(*days) << 16 | i64::from(*minutes))
        }
        Value::DateTime2 { days, ticks } => integer(Data::pack_datetime2(*days, *ticks)),
        Value::Decimal(v) => decimal(v.mantissa(), v.scale),
        Value::VarChar(v) => string(ByteKind::VarChar, v, collation, scratch),
        Value::NVarChar(v) => string(ByteKind::NVarChar, v, collation, scratch),
        Value::VarBinary(v) => string(ByteKind::VarBinary, v, collation, scratch),
        Value::DateTimeOffset { .. } | Value::UniqueIdentifier(_) | Value::Variant(_) => {
            scratch.clear();
            types::compare::group_key(value, collation, scratch);
            bytes(scratch)
        }
    }
}

/// Folds a hash into that of the columns before.
fn mix(so_far: u64, hash: u64) -> u64 {
    fold(so_far.rotate_left(23) ^ hash, FACTOR)
}

/// Multiplies to 128 bits and folds the halves: every bit of the input reaches all of the output.
#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

fn integer(value: i64) -> u64 {
    fold(value.cast_unsigned() ^ SEED, FACTOR)
}

fn float(value: f64) -> u64 {
    // Both zeros are one.
    integer(if value == 0.0 { 0 } else { value.to_bits().cast_signed() })
}

fn short_decimal(digits: i64, scale: u8) -> u64 {
    let (mut digits, mut scale) = (digits, scale);
    while scale > 0 && digits % 10 == 0 {
        digits /= 10;
        scale -= 1;
    }
    exact(digits, scale)
}

fn decimal(digits: i128, scale: u8) -> u64 {
    if let Ok(short) = i64::try_from(digits) {
        return short_decimal(short, scale);
    }
    let plain = Decimal::new(digits, 38, scale).without_trailing_zeros();
    match i64::try_from(plain.mantissa()) {
        Ok(short) => exact(short, plain.scale),
        Err(_) => bytes(&plain.mantissa().to_le_bytes()) ^ u64::from(plain.scale),
    }
}

/// Hashes a decimal without trailing zeros.
fn exact(digits: i64, scale: u8) -> u64 {
    integer(digits ^ i64::from(scale) << 56)
}

fn string(kind: ByteKind, value: &[u8], collation: Collation, scratch: &mut Vec<u8>) -> u64 {
    scratch.clear();
    match kind {
        ByteKind::VarChar => collation.sort_key_varchar(value, scratch),
        ByteKind::NVarChar => collation.sort_key_nvarchar(value, scratch),
        ByteKind::VarBinary => {
            let len = value.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
            return bytes(&value[..len]);
        }
    }
    bytes(scratch)
}

fn bytes(value: &[u8]) -> u64 {
    let mut hash = SEED ^ u64::try_from(value.len()).unwrap_or(0);
    let (words, rest) = value.as_chunks::<8>();
    for word in words {
        hash = mix(hash, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(hash, u64::from_le_bytes(last))
}
