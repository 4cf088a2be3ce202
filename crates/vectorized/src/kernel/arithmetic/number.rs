//! Arithmetic of integers, money and floats.

use types::batch::{Data, Nulls, Selection, Vector};
use types::type_rules::BinaryOp;

use super::super::side::{Operand, Side, map_checked, zip_checked};

/// Computes `left op right` into `out`; `false` if there is no loop for the operator, or a row
/// failed.
pub(super) fn binary(
    op: BinaryOp,
    operands: (Operand<'_>, Operand<'_>),
    rows: &Selection,
    out: &mut Vector,
) -> bool {
    let (data, nulls) = out.parts_mut();
    let nulls = &*nulls;
    match (operands.0, operands.1, data) {
        (Operand::Int(l), Operand::Int(r), Data::Int(out)) => {
            integers::<i32>(op, (l, r), (rows, nulls), out)
        }
        (Operand::BigInt(l), Operand::BigInt(r), Data::BigInt(out)) => {
            integers::<i64>(op, (l, r), (rows, nulls), out)
        }
        (Operand::SmallInt(l), Operand::SmallInt(r), Data::SmallInt(out)) => {
            integers::<i16>(op, (l, r), (rows, nulls), out)
        }
        (Operand::TinyInt(l), Operand::TinyInt(r), Data::TinyInt(out)) => {
            integers::<u8>(op, (l, r), (rows, nulls), out)
        }
        (Operand::Money(l), Operand::Money(r), Data::Money(out)) => {
            money(op, (l, r), (rows, nulls), out)
        }
        (Operand::Float(l), Operand::Float(r), Data::Float(out)) => {
            floats(op, (l, r), (rows, nulls), out)
        }
        _ => false,
    }
}

/// An integer type; its operators return a flag that is true on failure.
trait Integer: Copy {
    fn add(self, by: Self) -> (Self, bool);
    fn subtract(self, by: Self) -> (Self, bool);
    fn multiply(self, by: Self) -> (Self, bool);
    fn divide(self, by: Self) -> (Self, bool);
    fn modulo(self, by: Self) -> (Self, bool);
    fn and(self, with: Self) -> Self;
    fn or(self, with: Self) -> Self;
    fn xor(self, with: Self) -> Self;
}

macro_rules! integer {
    ($($of:ty),*) => {$(
        impl Integer for $of {
            fn add(self, by: Self) -> (Self, bool) {
                self.overflowing_add(by)
            }
            fn subtract(self, by: Self) -> (Self, bool) {
                self.overflowing_sub(by)
            }
            fn multiply(self, by: Self) -> (Self, bool) {
                self.overflowing_mul(by)
            }
            fn divide(self, by: Self) -> (Self, bool) {
                self.checked_div(by).map_or((0, true), |quotient| (quotient, false))
            }
            fn modulo(self, by: Self) -> (Self, bool) {
                // The least number divided by -1 overflows, but its remainder is 0.
                if by == 0 { (0, true) } else { (self.wrapping_rem(by), false) }
            }
            fn and(self, with: Self) -> Self {
                self & with
            }
            fn or(self, with: Self) -> Self {
                self | with
            }
            fn xor(self, with: Self) -> Self {
                self ^ with
            }
        }
    )*};
}
integer!(u8, i16, i32, i64);

fn integers<T: Integer>(
    op: BinaryOp,
    sides: (Side<'_, T>, Side<'_, T>),
    at: (&Selection, &Nulls),
    out: &mut [T],
) -> bool {
    match op {
        BinaryOp::Add => zip_checked(sides, at, out, T::add),
        BinaryOp::Subtract => zip_checked(sides, at, out, T::subtract),
        BinaryOp::Multiply => zip_checked(sides, at, out, T::multiply),
        BinaryOp::Divide => zip_checked(sides, at, out, T::divide),
        BinaryOp::Modulo => zip_checked(sides, at, out, T::modulo),
        BinaryOp::BitAnd => zip_checked(sides, at, out, |a, b| (a.and(b), false)),
        BinaryOp::BitOr => zip_checked(sides, at, out, |a, b| (a.or(b), false)),
        BinaryOp::BitXor => zip_checked(sides, at, out, |a, b| (a.xor(b), false)),
    }
}

/// Adds and subtracts money as integers; other operators round.
fn money(
    op: BinaryOp,
    sides: (Side<'_, i64>, Side<'_, i64>),
    at: (&Selection, &Nulls),
    out: &mut [i64],
) -> bool {
    match op {
        BinaryOp::Add => zip_checked(sides, at, out, i64::overflowing_add),
        BinaryOp::Subtract => zip_checked(sides, at, out, i64::overflowing_sub),
        _ => false,
    }
}

fn floats(
    op: BinaryOp,
    sides: (Side<'_, f64>, Side<'_, f64>),
    at: (&Selection, &Nulls),
    out: &mut [f64],
) -> bool {
    fn finite(value: f64) -> (f64, bool) {
        (value, !value.is_finite())
    }
    match op {
        BinaryOp::Add => zip_checked(sides, at, out, |a, b| finite(a + b)),
        BinaryOp::Subtract => zip_checked(sides, at, out, |a, b| finite(a - b)),
        BinaryOp::Multiply => zip_checked(sides, at, out, |a, b| finite(a * b)),
        // Division by zero gives infinity or NaN, which fails.
        BinaryOp::Divide => zip_checked(sides, at, out, |a, b| finite(a / b)),
        BinaryOp::Modulo | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => false,
    }
}

/// Computes `-x` into `out`; `false` if there is no loop for the type, or a row failed.
pub(super) fn negate(operand: Operand<'_>, rows: &Selection, out: &mut Vector) -> bool {
    let (data, nulls) = out.parts_mut();
    let at = (rows, &*nulls);
    match (operand, data) {
        (Operand::Int(Side::Rows(v)), Data::Int(out)) => {
            map_checked(v, at, out, i32::overflowing_neg)
        }
        (Operand::BigInt(Side::Rows(v)), Data::BigInt(out))
        | (Operand::Money(Side::Rows(v)), Data::Money(out)) => {
            map_checked(v, at, out, i64::overflowing_neg)
        }
        (Operand::Float(Side::Rows(v)), Data::Float(out)) => {
            map_checked(v, at, out, |v| (-v, false))
        }
        (Operand::Short(Side::Rows(v), p, s), Data::ShortDecimal { digits, precision, scale })
            if p == *precision && s == *scale =>
        {
            map_checked(v, at, digits, i64::overflowing_neg)
        }
        _ => false,
    }
}
