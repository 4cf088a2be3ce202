//! Conversions: typed loops for pairs of types that queries use often; other pairs value by value.

use types::batch::{ByteKind, Data, Nulls, Selection, Vector};
use types::convert::is_unchanged;
use types::date::{DATETIME_DAYS_MAX, DATETIME_DAYS_MIN, DAYS_1900};
use types::value::ColumnType;
use types::{DataType, Length, Mode, Result, Value};

use super::arithmetic::push_holes;
use super::compare::is_null;
use super::side::{Operand, Side, Strings, map_checked};
use super::step::{Scope, Step, fill, passed};
use executor::Cx;
use sos::sched::BytePace;

/// Converts an operand; a style is a constant.
pub(super) struct Convert<'p> {
    operand: Box<dyn Step + 'p>,
    from: &'p ColumnType,
    to: &'p ColumnType,
    style: i32,
    mode: Mode,
    /// Whether values stay as they are: the operand's output is then the step's.
    is_unchanged: bool,
    output: Vector,
}

impl<'p> Convert<'p> {
    pub(super) fn new(
        operand: Box<dyn Step + 'p>,
        from: &'p ColumnType,
        to: &'p ColumnType,
        style: i32,
        mode: Mode,
    ) -> Self {
        let is_unchanged = is_unchanged(from, to);
        let output = Vector::with_capacity_for(to);
        Self { operand, from, to, style, mode, is_unchanged, output }
    }
}

impl Step for Convert<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        self.operand.compute(scope, rows, cx)?;
        if self.is_unchanged {
            return Ok(());
        }
        let operand = self.operand.output(scope);
        let total = scope.batch.rows();
        let options = cx.convert_options();
        let convert = |value: &Value| {
            types::convert(value, self.from, self.to, self.style, self.mode, &options)
        };
        if let Some(value) = operand.constant_value() {
            let value = if rows.is_empty() { Value::Null } else { convert(value)? };
            self.output.set_constant(value, total);
            return Ok(());
        }
        let out = &mut self.output;
        out.reset(total);
        out.parts_mut().1.add(operand.nulls());
        if numbers(Operand::of(operand), self.to, rows, out) {
            return Ok(());
        }
        if widen(operand, self.from, self.to, rows, out) {
            return Ok(());
        }
        if self.style == 0 && digits(Operand::of(operand), self.to, rows, out) {
            return Ok(());
        }
        let mut pace = BytePace::new();
        fill(out, rows, total, |row| {
            let value = operand.get(row);
            passed(&mut pace, value.string_bytes().map_or(0, <[u8]>::len), cx)?;
            convert(&value)
        })
    }

    fn output<'a>(&'a self, scope: &Scope<'a, '_>) -> &'a Vector {
        if self.is_unchanged { self.operand.output(scope) } else { &self.output }
    }
}

/// Converts numbers, dates and times; `false` if there is no loop for the pair, or a row failed.
fn numbers(from: Operand<'_>, to: &ColumnType, rows: &Selection, out: &mut Vector) -> bool {
    let (data, nulls) = out.parts_mut();
    let at = (rows, &*nulls);
    match from {
        Operand::Bit(Side::Rows(v)) => integers(v, i64::from, at, data),
        Operand::TinyInt(Side::Rows(v)) => integers(v, i64::from, at, data),
        Operand::SmallInt(Side::Rows(v)) => integers(v, i64::from, at, data),
        Operand::Int(Side::Rows(v)) => integers(v, i64::from, at, data),
        Operand::BigInt(Side::Rows(v)) => integers(v, |v| v, at, data),
        Operand::Short(Side::Rows(v), _, scale) => decimals(v, i128::from, scale, at, data),
        Operand::Long(Side::Rows(v), _, scale) => decimals(v, |v| v, scale, at, data),
        Operand::Real(Side::Rows(v)) => match data {
            Data::Float(out) => map_checked(v, at, out, |v| (f64::from(v), false)),
            _ => false,
        },
        Operand::Date(Side::Rows(v)) => dates(v, at, data),
        Operand::DateTime(Side::Rows(v)) => match data {
            Data::Date(out) => map_checked(v, at, out, |v| {
                (Data::unpack_datetime(v).0.wrapping_add(DAYS_1900), false)
            }),
            _ => false,
        },
        Operand::DateTime2(Side::Rows(v)) => match data {
            Data::Date(out) => map_checked(v, at, out, |v| (Data::unpack_datetime2(v).0, false)),
            Data::DateTime2(out) if to.data_type == DataType::DateTime2(7) => {
                map_checked(v, at, out, |v| (v, false))
            }
            _ => false,
        },
        _ => false,
    }
}

/// The rows that a loop must compute, and those that are NULL.
type Place<'a> = (&'a Selection, &'a Nulls);

/// Narrows an integer; the flag is true if it does not fit.
fn narrowed<T: TryFrom<i64> + Default>(value: i64) -> (T, bool) {
    T::try_from(value).map_or((T::default(), true), |value| (value, false))
}

fn integers<T: Copy>(
    values: &[T],
    wide: impl Fn(T) -> i64 + Copy,
    at: Place<'_>,
    data: &mut Data,
) -> bool {
    match data {
        Data::Bit(out) => map_checked(values, at, out, |v| (wide(v) != 0, false)),
        Data::TinyInt(out) => map_checked(values, at, out, |v| narrowed(wide(v))),
        Data::SmallInt(out) => map_checked(values, at, out, |v| narrowed(wide(v))),
        Data::Int(out) => map_checked(values, at, out, |v| narrowed(wide(v))),
        Data::BigInt(out) => map_checked(values, at, out, |v| (wide(v), false)),
        #[expect(clippy::cast_precision_loss, reason = "a float is approximate")]
        Data::Float(out) => map_checked(values, at, out, |v| (wide(v) as f64, false)),
        Data::ShortDecimal { digits, precision, scale } => {
            let (unit, limit) = (power(*scale), power(*precision));
            map_checked(values, at, digits, |v| {
                let (value, is_lost) = wide(v).overflowing_mul(unit);
                (value, is_lost || value <= -limit || value >= limit)
            })
        }
        Data::Decimal { digits, precision, scale } => {
            let unit = 10_i128.pow(u32::from(*scale));
            let limit = 10_i128.pow(u32::from(*precision));
            map_checked(values, at, digits, |v| {
                let (value, is_lost) = i128::from(wide(v)).overflowing_mul(unit);
                (value, is_lost || value <= -limit || value >= limit)
            })
        }
        _ => false,
    }
}

/// Returns a power of ten, up to 10^18.
fn power(exponent: u8) -> i64 {
    10_i64.pow(u32::from(exponent.min(18)))
}

/// Converts decimals to decimals of the same or a greater scale, and to whole numbers.
fn decimals<T: Copy>(
    values: &[T],
    wide: impl Fn(T) -> i128 + Copy,
    scale: u8,
    at: Place<'_>,
    data: &mut Data,
) -> bool {
    let up = |to: u8| to.checked_sub(scale).map(|steps| 10_i128.pow(u32::from(steps)));
    match data {
        Data::ShortDecimal { digits, precision, scale: to } => {
            let (Some(unit), limit) = (up(*to), i128::from(power(*precision))) else {
                return false;
            };
            map_checked(values, at, digits, |v| {
                let (value, is_lost) = wide(v).overflowing_mul(unit);
                let is_lost = is_lost || value <= -limit || value >= limit;
                (i64::try_from(value).unwrap_or(0), is_lost)
            })
        }
        Data::Decimal { digits, precision, scale: to } => {
            let (Some(unit), limit) = (up(*to), 10_i128.pow(u32::from(*precision))) else {
                return false;
            };
            map_checked(values, at, digits, |v| {
                let (value, is_lost) = wide(v).overflowing_mul(unit);
                (value, is_lost || value <= -limit || value >= limit)
            })
        }
        Data::Float(out) => map_checked(values, at, out, |v| {
            (types::Decimal::new(wide(v), 38, scale).to_f64(), false)
        }),
        _ => false,
    }
}

fn dates(values: &[i32], at: Place<'_>, data: &mut Data) -> bool {
    match data {
        Data::DateTime2(out) => {
            map_checked(values, at, out, |days| (Data::pack_datetime2(days, 0), false))
        }
        Data::DateTime(out) => map_checked(values, at, out, |days| {
            let days = days.wrapping_sub(DAYS_1900);
            let is_in = (DATETIME_DAYS_MIN..=DATETIME_DAYS_MAX).contains(&days);
            (Data::pack_datetime(days, 0), !is_in)
        }),
        _ => false,
    }
}

/// Converts `varchar` to `nvarchar` of sufficient length, if all of it is ASCII, which every code
/// page contains; `false`, and `out` is unusable, if not.
fn widen(
    operand: &Vector,
    from: &ColumnType,
    to: &ColumnType,
    rows: &Selection,
    out: &mut Vector,
) -> bool {
    let has_room = match (from.data_type.length(), to.data_type) {
        (Some(Length::Limited(from)), DataType::NVarChar(Length::Limited(to))) => from <= to,
        _ => false,
    };
    let Some(strings) = Strings::of(operand).filter(|_| has_room) else { return false };
    if strings.kind() != Some(ByteKind::VarChar) || is_null(operand) {
        return false;
    }
    let total = out.len();
    out.clear();
    for row in rows.iter() {
        push_holes(out, row);
        if operand.is_null(row) {
            out.push_null();
            continue;
        }
        let text = strings.get(row, ByteKind::VarChar).unwrap_or(&[]);
        let own = out.byte_rows_mut().filter(|own| own.has_room(text.len() * 2));
        let Some(own) = own.filter(|own| own.kind == ByteKind::NVarChar && text.is_ascii()) else {
            return false;
        };
        own.push_with(|arena| arena.extend(text.iter().flat_map(|byte| [*byte, 0])));
    }
    push_holes(out, total);
    true
}

/// Converts whole numbers to their bytes, most significant first; `false` if there is no loop for
/// the pair.
fn digits(from: Operand<'_>, to: &ColumnType, rows: &Selection, out: &mut Vector) -> bool {
    let (limit, is_fixed) = match to.data_type {
        DataType::VarBinary(Length::Limited(limit)) => (usize::from(limit), false),
        DataType::Binary(limit) => (usize::from(limit), true),
        _ => return false,
    };
    // No integer is wider, so a `binary` never has more bytes than there are to copy.
    if out.byte_rows().is_none() || (is_fixed && limit > WORD_BYTES) {
        return false;
    }
    let width = |bytes: usize| if is_fixed { limit } else { limit.min(bytes) };
    match from {
        Operand::TinyInt(Side::Rows(v)) => push_digits(v, i64::from, width(1), rows, out),
        Operand::SmallInt(Side::Rows(v)) => {
            push_digits(v, |v| i64::from(v.cast_unsigned()), width(2), rows, out);
        }
        Operand::Int(Side::Rows(v)) => {
            push_digits(v, |v| i64::from(v.cast_unsigned()), width(4), rows, out);
        }
        Operand::BigInt(Side::Rows(v)) => push_digits(v, |v| v, width(8), rows, out),
        _ => return false,
    }
    true
}

/// Bytes of the widest integer.
const WORD_BYTES: usize = 8;

/// Appends the last `width` bytes of each word. `out` already has its NULLs.
fn push_digits<T: Copy>(
    values: &[T],
    word: impl Fn(T) -> i64 + Copy,
    width: usize,
    rows: &Selection,
    out: &mut Vector,
) {
    let total = out.len();
    let (data, _) = out.parts_mut();
    let Data::Bytes(own) = data else { return };
    own.clear();
    own.reserve(total, total * width);
    for row in rows.iter() {
        own.push_empty(row - own.len());
        let bytes = word(values[row]).to_be_bytes();
        // A copy of constant length is far cheaper than one of variable length.
        match width {
            WORD_BYTES => own.push(&bytes),
            _ => own.push(&bytes[WORD_BYTES - width..]),
        }
    }
    own.push_empty(total - own.len());
}
