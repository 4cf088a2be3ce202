//! Arithmetic of decimals: in plain integers if the result's type has room for every result, which
//! it has unless its precision was cut to 38; otherwise digit by digit, with [`Decimal`].

use types::batch::{Data, Nulls, Selection, Vector};
use types::type_rules::BinaryOp;
use types::value::ColumnType;
use types::{Decimal, arith};

use super::super::side::{Operand, Side, zip_checked};

/// An operand's digits, in 64 or 128 bits.
#[derive(Clone, Copy)]
enum Digits<'a> {
    Short(Side<'a, i64>),
    Long(Side<'a, i128>),
}

/// Digits, precision and scale of an operand.
type Decimals<'a> = (Digits<'a>, u8, u8);

fn decimals(operand: Operand<'_>) -> Option<Decimals<'_>> {
    match operand {
        Operand::Short(digits, precision, scale) => Some((Digits::Short(digits), precision, scale)),
        Operand::Long(digits, precision, scale) => Some((Digits::Long(digits), precision, scale)),
        _ => None,
    }
}

/// The rows that a loop must compute, and those that are NULL.
type Place<'a> = (&'a Selection, &'a Nulls);

/// Computes `left op right` into `out`; `false` if the operands are not decimals, or a row failed.
pub(super) fn binary(
    op: BinaryOp,
    operands: (Operand<'_>, Operand<'_>),
    rows: &Selection,
    ty: &ColumnType,
    out: &mut Vector,
) -> bool {
    let (Some(left), Some(right)) = (decimals(operands.0), decimals(operands.1)) else {
        return false;
    };
    let (data, nulls) = out.parts_mut();
    let at = (rows, &*nulls);
    match data {
        Data::ShortDecimal { digits, precision, scale } => {
            let to = (*precision, *scale);
            plain_short(op, (left, right), to, at, digits)
                || slow(op, (left, right), (at, ty), |row, value| {
                    i64::try_from(value.mantissa()).map(|v| digits[row] = v).is_ok()
                })
        }
        Data::Decimal { digits, precision, scale } => {
            let to = (*precision, *scale);
            plain_long(op, (left, right), to, at, digits)
                || slow(op, (left, right), (at, ty), |row, value| {
                    digits[row] = value.mantissa();
                    true
                })
        }
        _ => false,
    }
}

/// Returns the factors that convert two operands to the scale of their sum; `None` if that can
/// overflow.
fn sum_factors(left: (u8, u8), right: (u8, u8), to: (u8, u8)) -> Option<(i128, i128)> {
    let whole = (left.0 - left.1).max(right.0 - right.1);
    let has_room = to.1 == left.1.max(right.1) && to.0 > whole + to.1;
    has_room.then(|| (power(to.1 - left.1), power(to.1 - right.1)))
}

fn power(exponent: u8) -> i128 {
    10_i128.pow(u32::from(exponent))
}

/// Returns true if the product of the digits is the result without rounding.
fn is_plain_product(left: (u8, u8), right: (u8, u8), to: (u8, u8)) -> bool {
    to.1 == left.1 + right.1 && to.0 >= left.0 + right.0
}

/// Computes results of up to 18 digits in 64 bits.
fn plain_short(
    op: BinaryOp,
    ((left, lp, ls), (right, rp, rs)): (Decimals<'_>, Decimals<'_>),
    to: (u8, u8),
    at: Place<'_>,
    out: &mut [i64],
) -> bool {
    let (Digits::Short(l), Digits::Short(r)) = (left, right) else { return false };
    match op {
        BinaryOp::Add | BinaryOp::Subtract => {
            let Some((f, g)) = sum_factors((lp, ls), (rp, rs), to) else { return false };
            let (Ok(f), Ok(g)) = (i64::try_from(f), i64::try_from(g)) else { return false };
            // NULL rows have arbitrary digits, which may overflow: the operation wraps.
            if op == BinaryOp::Add {
                zip_checked((l, r), at, out, |a, b| {
                    (a.wrapping_mul(f).wrapping_add(b.wrapping_mul(g)), false)
                })
            } else {
                zip_checked((l, r), at, out, |a, b| {
                    (a.wrapping_mul(f).wrapping_sub(b.wrapping_mul(g)), false)
                })
            }
        }
        BinaryOp::Multiply if is_plain_product((lp, ls), (rp, rs), to) => {
            zip_checked((l, r), at, out, |a, b| (a.wrapping_mul(b), false))
        }
        _ => false,
    }
}

/// Computes results of up to 38 digits that can't overflow.
fn plain_long(
    op: BinaryOp,
    ((left, lp, ls), (right, rp, rs)): (Decimals<'_>, Decimals<'_>),
    to: (u8, u8),
    at: Place<'_>,
    out: &mut [i128],
) -> bool {
    match op {
        BinaryOp::Add | BinaryOp::Subtract => {
            let Some((f, g)) = sum_factors((lp, ls), (rp, rs), to) else { return false };
            let g = if op == BinaryOp::Add { g } else { -g };
            widened((left, right), at, out, |a, b| {
                (a.wrapping_mul(f).wrapping_add(b.wrapping_mul(g)), false)
            })
        }
        BinaryOp::Multiply if is_plain_product((lp, ls), (rp, rs), to) => {
            widened((left, right), at, out, |a, b| (a.wrapping_mul(b), false))
        }
        // The precision was cut to 38, and no digit after the point.
        BinaryOp::Multiply if to.1 == ls + rs && to.0 == PRECISION_MAX => {
            widened((left, right), at, out, product)
        }
        _ => false,
    }
}

/// Greatest precision of a decimal.
const PRECISION_MAX: u8 = 38;

/// Multiplies; the flag is true if the product has more digits than a decimal.
fn product(a: i128, b: i128) -> (i128, bool) {
    if let (Ok(a), Ok(b)) = (i64::try_from(a), i64::try_from(b)) {
        // At most 2^126, which has 38 digits.
        return (i128::from(a) * i128::from(b), false);
    }
    match a.checked_mul(b) {
        Some(product) => (product, product.unsigned_abs() >= 10_u128.pow(PRECISION_MAX.into())),
        None => (0, true),
    }
}

/// Computes `f` in 128 bits, from operands of either width; the flag of `f` is true if it failed.
fn widened(
    (left, right): (Digits<'_>, Digits<'_>),
    at: Place<'_>,
    out: &mut [i128],
    f: impl Fn(i128, i128) -> (i128, bool) + Copy,
) -> bool {
    match (left, right) {
        (Digits::Short(l), Digits::Short(r)) => {
            zip_checked((l, r), at, out, |a, b| f(i128::from(a), i128::from(b)))
        }
        (Digits::Short(l), Digits::Long(r)) => {
            zip_checked((l, r), at, out, |a, b| f(i128::from(a), b))
        }
        (Digits::Long(l), Digits::Short(r)) => {
            zip_checked((l, r), at, out, |a, b| f(a, i128::from(b)))
        }
        (Digits::Long(l), Digits::Long(r)) => zip_checked((l, r), at, out, f),
    }
}

/// Computes row by row, as the row executor does; `write` returns whether the result fits.
fn slow(
    op: BinaryOp,
    ((left, lp, ls), (right, rp, rs)): (Decimals<'_>, Decimals<'_>),
    ((rows, nulls), ty): (Place<'_>, &ColumnType),
    mut write: impl FnMut(usize, Decimal) -> bool,
) -> bool {
    let of = |digits: Digits<'_>, row| match digits {
        Digits::Short(side) => i128::from(side.at(row)),
        Digits::Long(side) => side.at(row),
    };
    rows.iter().filter(|row| !nulls.is_null(*row)).all(|row| {
        let (a, b) = (Decimal::new(of(left, row), lp, ls), Decimal::new(of(right, row), rp, rs));
        arith::decimal(op, &a, &b, &ty.data_type).is_ok_and(|value| write(row, value))
    })
}
