//! Arithmetic `+ - * / % & | ^`, `-x` and `~x`.
//!
//! A loop computes all rows and records whether any of them failed. Only if one did, the rows are
//! checked again, to see whether it was a selected one that is not NULL.

mod decimal;
mod number;

use types::batch::{Selection, Vector};
use types::type_rules::{BinaryOp, UnaryOp};
use types::value::ColumnType;
use types::{Result, Value, arith};

use super::compare::is_null;
use super::side::{Operand, Strings};
use super::step::{Scope, Step, fill};
use executor::Cx;

/// `left op right`; both operands have the operator's types.
pub(super) struct Arithmetic<'p> {
    op: BinaryOp,
    ty: &'p ColumnType,
    left: Box<dyn Step + 'p>,
    right: Box<dyn Step + 'p>,
    output: Vector,
}

impl<'p> Arithmetic<'p> {
    pub(super) fn new(
        op: BinaryOp,
        ty: &'p ColumnType,
        left: Box<dyn Step + 'p>,
        right: Box<dyn Step + 'p>,
    ) -> Self {
        Self { op, ty, left, right, output: Vector::with_capacity_for(ty) }
    }
}

impl Step for Arithmetic<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        self.left.compute(scope, rows, cx)?;
        self.right.compute(scope, rows, cx)?;
        let (left, right) = (self.left.output(scope), self.right.output(scope));
        let total = scope.batch.rows();
        if is_null(left) || is_null(right) {
            self.output.set_constant(Value::Null, total);
            return Ok(());
        }
        let out = &mut self.output;
        out.reset(total);
        {
            let nulls = out.parts_mut().1;
            nulls.add(left.nulls());
            nulls.add(right.nulls());
        }
        let operands = (Operand::of(left), Operand::of(right));
        if number::binary(self.op, operands, rows, out)
            || decimal::binary(self.op, operands, rows, self.ty, out)
        {
            return Ok(());
        }
        if self.op == BinaryOp::Add && concatenate(self.ty, left, right, rows, out) {
            return Ok(());
        }
        let (op, ty) = (self.op, &self.ty.data_type);
        fill(out, rows, total, |row| arith::binary(op, &left.get(row), &right.get(row), ty))
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}

/// Concatenates strings; `false`, and `out` is unusable, if there is a row that it can't
/// concatenate.
fn concatenate(
    ty: &ColumnType,
    left: &Vector,
    right: &Vector,
    rows: &Selection,
    out: &mut Vector,
) -> bool {
    let (Some(l), Some(r)) = (Strings::of(left), Strings::of(right)) else { return false };
    let (Some(kind), Some(other)) = (l.kind(), r.kind()) else { return false };
    let Some(bytes_max) = ty.data_type.bytes_max().map(usize::from) else { return false };
    let total = out.len();
    out.clear();
    if kind != other || out.byte_rows().is_none_or(|own| own.kind != kind) {
        return false;
    }
    for row in rows.iter() {
        if left.is_null(row) || right.is_null(row) {
            push_holes(out, row);
            out.push_null();
            continue;
        }
        let (a, b) = (l.get(row, kind).unwrap_or(&[]), r.get(row, kind).unwrap_or(&[]));
        push_holes(out, row);
        let Some(own) = out.byte_rows_mut().filter(|own| own.has_room(a.len() + b.len())) else {
            return false;
        };
        // The first string is never truncated, nor is the second if the first is empty.
        let room = if a.is_empty() { b.len() } else { bytes_max.saturating_sub(a.len()) };
        own.push_with(|arena| {
            arena.extend_from_slice(a);
            arena.extend_from_slice(&b[..b.len().min(room)]);
        });
    }
    push_holes(out, total);
    true
}

/// Appends placeholder rows up to `row`, which are not selected.
pub(super) fn push_holes(out: &mut Vector, row: usize) {
    (out.len()..row).for_each(|_| out.push_hole());
}

/// `-x` or `~x` of a number.
pub(super) struct Unary<'p> {
    op: UnaryOp,
    ty: &'p ColumnType,
    operand: Box<dyn Step + 'p>,
    output: Vector,
}

impl<'p> Unary<'p> {
    pub(super) fn new(op: UnaryOp, ty: &'p ColumnType, operand: Box<dyn Step + 'p>) -> Self {
        Self { op, ty, operand, output: Vector::with_capacity_for(ty) }
    }
}

impl Step for Unary<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        self.operand.compute(scope, rows, cx)?;
        let operand = self.operand.output(scope);
        let total = scope.batch.rows();
        let out = &mut self.output;
        out.reset(total);
        out.parts_mut().1.add(operand.nulls());
        if self.op == UnaryOp::Negate && number::negate(Operand::of(operand), rows, out) {
            return Ok(());
        }
        fill(out, rows, total, |row| arith::unary(self.op, &operand.get(row), &self.ty.data_type))
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}
