//! Comparisons `= <> < <= > >=`, and IS NULL.

use std::cmp::Ordering;

use types::batch::{ByteKind, Data, Selection, Vector};
use types::compare::Truth;
use types::text::PIECE_BYTES;
use types::{Bytes, Collation, DataType, Result, Value};

use super::side::{Operand, Side, Strings, zip};
use super::step::{Scope, Step, bytes_of, passed};
use executor::Cx;
use executor::long::compare;
use plan::expr::CompareOp;
use plan::long;
use sos::sched::BytePace;
use types::comparison;

/// Compares two operands of the same type.
pub(super) struct Compare<'p> {
    op: CompareOp,
    collation: Collation,
    left: Box<dyn Step + 'p>,
    right: Box<dyn Step + 'p>,
    output: Vector,
}

impl<'p> Compare<'p> {
    pub(super) fn new(
        op: CompareOp,
        collation: Collation,
        left: Box<dyn Step + 'p>,
        right: Box<dyn Step + 'p>,
    ) -> Self {
        Self { op, collation, left, right, output: truths() }
    }
}

/// Makes the vector that a condition writes its result to.
pub(super) fn truths() -> Vector {
    Vector::of_type(&DataType::Bit)
}

impl Step for Compare<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        self.left.compute(scope, rows, cx)?;
        self.right.compute(scope, rows, cx)?;
        let (left, right) = (self.left.output(scope), self.right.output(scope));
        let total = scope.batch.rows();
        if is_null(left) || is_null(right) {
            self.output.set_constant(Value::Null, total);
            return Ok(());
        }
        let bits = bits(&mut self.output, total);
        let (op, collation) = (self.op, self.collation);
        if !numbers(op, left, right, rows, bits)
            && !strings((op, collation), (left, right), rows, bits, cx)?
        {
            return values((op, collation), (left, right), rows, &mut self.output, cx);
        }
        let nulls = self.output.parts_mut().1;
        nulls.add(left.nulls());
        nulls.add(right.nulls());
        Ok(())
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}

/// Returns true if a vector is NULL in all rows.
pub(super) fn is_null(vector: &Vector) -> bool {
    vector.constant_value().is_some_and(Value::is_null)
}

/// Resizes a vector of conditions to `total` rows, none NULL, and returns its values.
pub(super) fn bits(output: &mut Vector, total: usize) -> &mut [bool] {
    output.reset(total);
    match output.parts_mut().0 {
        Data::Bit(bits) => bits,
        _ => unreachable!("a vector made for conditions is one of bits again when it is reset"),
    }
}

/// Compares numbers, dates and times; `false`, and nothing is done, for other operands.
fn numbers(
    op: CompareOp,
    left: &Vector,
    right: &Vector,
    rows: &Selection,
    out: &mut [bool],
) -> bool {
    match (Operand::of(left), Operand::of(right)) {
        (Operand::Bit(l), Operand::Bit(r)) => ordered(op, (l, r), rows, out),
        (Operand::TinyInt(l), Operand::TinyInt(r)) => ordered(op, (l, r), rows, out),
        (Operand::SmallInt(l), Operand::SmallInt(r)) => ordered(op, (l, r), rows, out),
        (Operand::Int(l), Operand::Int(r)) | (Operand::Date(l), Operand::Date(r)) => {
            ordered(op, (l, r), rows, out);
        }
        (Operand::BigInt(l), Operand::BigInt(r))
        | (Operand::Money(l), Operand::Money(r))
        | (Operand::Time(l), Operand::Time(r))
        | (Operand::DateTime(l), Operand::DateTime(r))
        | (Operand::DateTime2(l), Operand::DateTime2(r)) => ordered(op, (l, r), rows, out),
        (Operand::SmallDateTime(l), Operand::SmallDateTime(r)) => ordered(op, (l, r), rows, out),
        // SQL has no NaN, and a NULL row contains some number.
        (Operand::Real(l), Operand::Real(r)) => ordered(op, (l, r), rows, out),
        (Operand::Float(l), Operand::Float(r)) => ordered(op, (l, r), rows, out),
        (Operand::Short(l, _, a), Operand::Short(r, _, b)) if a == b => {
            ordered(op, (l, r), rows, out);
        }
        (Operand::Long(l, _, a), Operand::Long(r, _, b)) if a == b => {
            ordered(op, (l, r), rows, out);
        }
        (Operand::Short(l, _, a), Operand::Long(r, _, b)) if a == b => {
            mixed(op, (l, r), rows, out);
        }
        (Operand::Long(l, _, a), Operand::Short(r, _, b)) if a == b => {
            mixed(mirror(op), (r, l), rows, out);
        }
        _ => return false,
    }
    true
}

/// Compares plain values. One loop per operator, so that the loop does not branch on it.
fn ordered<T: Copy + PartialOrd>(
    op: CompareOp,
    sides: (Side<'_, T>, Side<'_, T>),
    rows: &Selection,
    out: &mut [bool],
) {
    match op {
        CompareOp::Equal => zip(sides, rows, out, |a, b| a == b),
        CompareOp::NotEqual => zip(sides, rows, out, |a, b| a != b),
        CompareOp::Less => zip(sides, rows, out, |a, b| a < b),
        CompareOp::LessOrEqual => zip(sides, rows, out, |a, b| a <= b),
        CompareOp::Greater => zip(sides, rows, out, |a, b| a > b),
        CompareOp::GreaterOrEqual => zip(sides, rows, out, |a, b| a >= b),
    }
}

/// Compares decimals of one scale whose digits have different widths.
fn mixed(
    op: CompareOp,
    sides: (Side<'_, i64>, Side<'_, i128>),
    rows: &Selection,
    out: &mut [bool],
) {
    zip(sides, rows, out, |a, b| comparison::matches(op, i128::from(a).cmp(&b)));
}

/// Returns the operator for exchanged sides: `<` for `>`.
const fn mirror(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Equal | CompareOp::NotEqual => op,
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
    }
}

/// Compares strings; `false`, and nothing is done, unless both operands are of one known kind.
fn strings(
    (op, collation): (CompareOp, Collation),
    (left, right): (&Vector, &Vector),
    rows: &Selection,
    out: &mut [bool],
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let (Some(l), Some(r)) = (Strings::of(left), Strings::of(right)) else { return Ok(false) };
    let (Some(kind), Some(other)) = (l.kind(), r.kind()) else { return Ok(false) };
    if kind != other {
        return Ok(false);
    }
    let is_equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
    let wanted = op == CompareOp::Equal;
    let mut pace = BytePace::new();
    rows.try_for_each(|row| {
        let (a, b) = (l.get(row, kind).unwrap_or(&[]), r.get(row, kind).unwrap_or(&[]));
        out[row] = if is_equality {
            equal(kind, a, b, collation) == wanted
        } else {
            comparison::matches(op, order(kind, a, b, collation))
        };
        passed(&mut pace, a.len().min(b.len()), cx)
    })?;
    Ok(true)
}

/// Compares two strings of a kind.
fn order(kind: ByteKind, left: &[u8], right: &[u8], collation: Collation) -> Ordering {
    if left.len().min(right.len()) > PIECE_BYTES {
        let [left, right] = [left, right].map(|bytes| kind.value(Bytes::copy_from(bytes)));
        return long::order(&left, &right, collation);
    }
    match kind {
        ByteKind::VarChar => collation.compare_varchar(left, right),
        ByteKind::NVarChar => collation.compare_nvarchar(left, right),
        ByteKind::VarBinary => types::compare::order_binary(left, right),
    }
}

/// Returns true if two strings of a kind are equal.
pub(super) fn equal(kind: ByteKind, left: &[u8], right: &[u8], collation: Collation) -> bool {
    if left.len().min(right.len()) > PIECE_BYTES {
        return order(kind, left, right, collation).is_eq();
    }
    match kind {
        ByteKind::VarChar => collation.equals_varchar(left, right),
        ByteKind::NVarChar => collation.equals_nvarchar(left, right),
        ByteKind::VarBinary => types::compare::order_binary(left, right).is_eq(),
    }
}

/// Compares values of any types, one by one.
fn values(
    (op, collation): (CompareOp, Collation),
    (left, right): (&Vector, &Vector),
    rows: &Selection,
    output: &mut Vector,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let mut pace = BytePace::new();
    rows.try_for_each(|row| {
        let pair = [left.get(row), right.get(row)];
        let cancel = &cx.session.connection.cancel;
        let truth = compare(op, &pair[0], &pair[1], collation, cancel)?;
        write(output, row, truth);
        passed(&mut pace, bytes_of(&pair), cx)
    })
}

/// Writes one truth value into a vector of conditions.
pub(super) fn write(output: &mut Vector, row: usize, truth: Truth) {
    let (data, nulls) = output.parts_mut();
    if let Data::Bit(bits) = data {
        bits[row] = truth.is_true();
    }
    if truth == Truth::Unknown {
        nulls.set(row);
    }
}

/// `x IS NULL`, which is never unknown.
pub(super) struct IsNull<'p> {
    operand: Box<dyn Step + 'p>,
    output: Vector,
}

impl<'p> IsNull<'p> {
    pub(super) fn new(operand: Box<dyn Step + 'p>) -> Self {
        Self { operand, output: truths() }
    }
}

impl Step for IsNull<'_> {
    fn compute(&mut self, scope: &Scope<'_, '_>, rows: &Selection, cx: &mut Cx<'_>) -> Result<()> {
        self.operand.compute(scope, rows, cx)?;
        let operand = self.operand.output(scope);
        if operand.constant_value().is_some() || !operand.has_nulls() {
            self.output.set_constant(Value::Bit(is_null(operand)), scope.batch.rows());
            return Ok(());
        }
        let bits = bits(&mut self.output, scope.batch.rows());
        rows.for_each(|row| bits[row] = operand.is_null(row));
        Ok(())
    }

    fn output<'a>(&'a self, _: &Scope<'a, '_>) -> &'a Vector {
        &self.output
    }
}
