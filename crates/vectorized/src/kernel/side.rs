//! `Side` and `Operand`: an operand in the form that a loop needs, a slice or one value for all
//! rows.

use types::batch::{ByteKind, Data, Nulls, Selection, Vector};
use types::{Decimal, Value};

/// The values of an operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side<'a, T> {
    /// One value per row.
    Rows(&'a [T]),
    /// The same value for all rows.
    One(T),
}

/// If less than one row in eight is selected, a loop visits the selected rows; otherwise it
/// computes all rows, which needs no selection and can use SIMD instructions.
const SPARSE: usize = 8;

/// Returns true if a loop over all `total` rows costs more than one over the selected rows.
pub(super) fn is_sparse(rows: &Selection, total: usize) -> bool {
    rows.len() * SPARSE < total
}

/// Computes `f` of two operands into `out`, for the selected rows and possibly others.
pub(super) fn zip<A: Copy, B: Copy, R>(
    (left, right): (Side<'_, A>, Side<'_, B>),
    rows: &Selection,
    out: &mut [R],
    f: impl Fn(A, B) -> R + Copy,
) {
    match (left, right) {
        (Side::Rows(l), Side::Rows(r)) if is_sparse(rows, out.len()) => {
            rows.for_each(|i| out[i] = f(l[i], r[i]));
        }
        (Side::Rows(l), Side::Rows(r)) => {
            out.iter_mut().zip(l).zip(r).for_each(|((out, l), r)| *out = f(*l, *r));
        }
        (Side::Rows(l), Side::One(r)) => map(l, rows, out, |l| f(l, r)),
        (Side::One(l), Side::Rows(r)) => map(r, rows, out, |r| f(l, r)),
        (Side::One(l), Side::One(r)) => out.iter_mut().for_each(|out| *out = f(l, r)),
    }
}

/// Computes `f` of one operand into `out`, for the selected rows and possibly others.
pub(super) fn map<A: Copy, R>(
    values: &[A],
    rows: &Selection,
    out: &mut [R],
    f: impl Fn(A) -> R + Copy,
) {
    if is_sparse(rows, out.len()) {
        rows.for_each(|i| out[i] = f(values[i]));
    } else {
        out.iter_mut().zip(values).for_each(|(out, value)| *out = f(*value));
    }
}

/// As [`zip`], for an `f` that may fail; returns true if no selected row that is not NULL has
/// failed.
pub(super) fn zip_checked<A: Copy, B: Copy, R>(
    (left, right): (Side<'_, A>, Side<'_, B>),
    (rows, nulls): (&Selection, &Nulls),
    out: &mut [R],
    f: impl Fn(A, B) -> (R, bool) + Copy,
) -> bool {
    match (left, right) {
        (Side::Rows(l), Side::Rows(r)) => {
            let mut failed = false;
            if is_sparse(rows, out.len()) {
                rows.for_each(|i| {
                    let (value, flag) = f(l[i], r[i]);
                    out[i] = value;
                    failed |= flag;
                });
            } else {
                for ((out, l), r) in out.iter_mut().zip(l).zip(r) {
                    let (value, flag) = f(*l, *r);
                    *out = value;
                    failed |= flag;
                }
            }
            !failed || rows.iter().all(|i| nulls.is_null(i) || !f(l[i], r[i]).1)
        }
        (Side::Rows(l), Side::One(r)) => map_checked(l, (rows, nulls), out, |l| f(l, r)),
        (Side::One(l), Side::Rows(r)) => map_checked(r, (rows, nulls), out, |r| f(l, r)),
        (Side::One(l), Side::One(r)) => {
            out.iter_mut().for_each(|out| *out = f(l, r).0);
            rows.is_empty() || !f(l, r).1
        }
    }
}

/// As [`map`], for an `f` that may fail; returns true if no selected row that is not NULL has
/// failed.
pub(super) fn map_checked<A: Copy, R>(
    values: &[A],
    (rows, nulls): (&Selection, &Nulls),
    out: &mut [R],
    f: impl Fn(A) -> (R, bool) + Copy,
) -> bool {
    let mut failed = false;
    if is_sparse(rows, out.len()) {
        rows.for_each(|i| {
            let (value, flag) = f(values[i]);
            out[i] = value;
            failed |= flag;
        });
    } else {
        for (out, value) in out.iter_mut().zip(values) {
            let (value, flag) = f(*value);
            *out = value;
            failed |= flag;
        }
    }
    !failed || rows.iter().all(|i| nulls.is_null(i) || !f(values[i]).1)
}

impl<T: Copy> Side<'_, T> {
    /// Returns the value of a row.
    pub(super) fn at(&self, row: usize) -> T {
        match self {
            Self::Rows(rows) => rows[row],
            Self::One(value) => *value,
        }
    }
}

/// An operand by its form, for kernels of numbers, dates and times. Ignores NULLs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand<'a> {
    /// `bit`: one `bool` per row.
    Bit(Side<'a, bool>),
    /// `tinyint`: 0 to 255.
    TinyInt(Side<'a, u8>),
    /// `smallint`: 16 bits, signed.
    SmallInt(Side<'a, i16>),
    /// `int`: 32 bits, signed.
    Int(Side<'a, i32>),
    /// `bigint`: 64 bits, signed.
    BigInt(Side<'a, i64>),
    /// `money`, as a number of ten-thousandths.
    Money(Side<'a, i64>),
    /// `real`: a 32-bit float.
    Real(Side<'a, f32>),
    /// `float`: a 64-bit float.
    Float(Side<'a, f64>),
    /// `date`, as a day number.
    Date(Side<'a, i32>),
    /// `time`, as ticks since midnight.
    Time(Side<'a, i64>),
    /// `datetime`, packed into one integer.
    DateTime(Side<'a, i64>),
    /// `smalldatetime`, packed into one integer.
    SmallDateTime(Side<'a, u32>),
    /// `datetime2`, packed into one integer.
    DateTime2(Side<'a, i64>),
    /// `decimal` of up to 18 digits: digits, precision and scale.
    Short(Side<'a, i64>, u8, u8),
    /// `decimal` of more than 18 digits: digits, precision and scale.
    Long(Side<'a, i128>, u8, u8),
    /// A vector of any other form.
    Other,
}

impl<'a> Operand<'a> {
    /// Returns a vector as an operand; a constant NULL is [`Operand::Other`].
    pub(super) fn of(vector: &'a Vector) -> Self {
        match vector.data() {
            Data::Bit(rows) => Self::Bit(Side::Rows(rows)),
            Data::TinyInt(rows) => Self::TinyInt(Side::Rows(rows)),
            Data::SmallInt(rows) => Self::SmallInt(Side::Rows(rows)),
            Data::Int(rows) => Self::Int(Side::Rows(rows)),
            Data::BigInt(rows) => Self::BigInt(Side::Rows(rows)),
            Data::Money(rows) => Self::Money(Side::Rows(rows)),
            Data::Real(rows) => Self::Real(Side::Rows(rows)),
            Data::Float(rows) => Self::Float(Side::Rows(rows)),
            Data::Date(rows) => Self::Date(Side::Rows(rows)),
            Data::Time(rows) => Self::Time(Side::Rows(rows)),
            Data::DateTime(rows) => Self::DateTime(Side::Rows(rows)),
            Data::SmallDateTime(rows) => Self::SmallDateTime(Side::Rows(rows)),
            Data::DateTime2(rows) => Self::DateTime2(Side::Rows(rows)),
            Data::ShortDecimal { digits, precision, scale } => {
                Self::Short(Side::Rows(digits), *precision, *scale)
            }
            Data::Decimal { digits, precision, scale } => {
                Self::Long(Side::Rows(digits), *precision, *scale)
            }
            Data::Constant(value, _) => Self::one(value),
            Data::Bytes(_) | Data::Values(_) => Self::Other,
        }
    }

    fn one(value: &Value) -> Self {
        match value {
            Value::Bit(v) => Self::Bit(Side::One(*v)),
            Value::TinyInt(v) => Self::TinyInt(Side::One(*v)),
            Value::SmallInt(v) => Self::SmallInt(Side::One(*v)),
            Value::Int(v) => Self::Int(Side::One(*v)),
            Value::BigInt(v) => Self::BigInt(Side::One(*v)),
            Value::Money(v) => Self::Money(Side::One(*v)),
            Value::Real(v) => Self::Real(Side::One(*v)),
            Value::Float(v) => Self::Float(Side::One(*v)),
            Value::Date(v) => Self::Date(Side::One(*v)),
            Value::Time(v) => Self::Time(Side::One(*v)),
            Value::DateTime { days, ticks } => {
                Self::DateTime(Side::One(Data::pack_datetime(*days, *ticks)))
            }
            Value::SmallDateTime { days, minutes } => {
                Self::SmallDateTime(Side::One(u32::from(*days) << 16 | u32::from(*minutes)))
            }
            Value::DateTime2 { days, ticks } => {
                Self::DateTime2(Side::One(Data::pack_datetime2(*days, *ticks)))
            }
            Value::Decimal(v) => Self::one_decimal(v),
            Value::Null
            | Value::DateTimeOffset { .. }
            | Value::VarChar(_)
            | Value::NVarChar(_)
            | Value::VarBinary(_)
            | Value::UniqueIdentifier(_)
            | Value::Variant(_) => Self::Other,
        }
    }

    fn one_decimal(value: &Decimal) -> Self {
        match i64::try_from(value.mantissa()) {
            Ok(digits) if value.precision <= 18 => {
                Self::Short(Side::One(digits), value.precision, value.scale)
            }
            _ => Self::Long(Side::One(value.mantissa()), value.precision, value.scale),
        }
    }
}

/// The strings of an operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Strings<'a> {
    /// One string per row.
    Rows(&'a types::batch::ByteRows),
    /// The same string for all rows.
    One(ByteKind, &'a [u8]),
    /// Values of any kind, which need not be strings.
    Values(&'a [Value]),
}

impl<'a> Strings<'a> {
    /// Returns a vector as strings; `None` if it can't have any.
    pub(super) fn of(vector: &'a Vector) -> Option<Self> {
        match vector.data() {
            Data::Bytes(rows) => Some(Self::Rows(rows)),
            Data::Constant(value, _) => {
                ByteKind::of(value).map(|(kind, bytes)| Self::One(kind, bytes))
            }
            Data::Values(values) => Some(Self::Values(values)),
            _ => None,
        }
    }

    /// Returns the bytes of a row; `None` if it is not a string of this kind.
    pub(super) fn get(&self, row: usize, kind: ByteKind) -> Option<&'a [u8]> {
        match self {
            Self::Rows(rows) => (rows.kind == kind).then(|| rows.get(row)),
            Self::One(own, bytes) => (*own == kind).then_some(*bytes),
            Self::Values(values) => match ByteKind::of(&values[row]) {
                Some((own, bytes)) if own == kind => Some(bytes),
                _ => None,
            },
        }
    }

    /// Returns the kind that all rows have; `None` if it is unknown.
    pub(super) const fn kind(&self) -> Option<ByteKind> {
        match self {
            Self::Rows(rows) => Some(rows.kind),
            Self::One(kind, _) => Some(*kind),
            Self::Values(_) => None,
        }
    }
}
