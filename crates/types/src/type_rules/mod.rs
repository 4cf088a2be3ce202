//! The rules that give an operator's operands their common type and its result a type.
//!
//! Precision and scale of `decimal` results follow the documented table ("Precision, scale, and
//! length"): if the exact precision exceeds 38, the scale is reduced, but not below 6 if it was 6
//! or more.

use crate::convert::{Mode, check};
use crate::data_type::{BYTES_MAX, PRECISION_MAX, UNITS_MAX};
use crate::{DataType, Family, Length, Msg, Result};

/// A binary arithmetic or bitwise operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`, of numbers or strings.
    Add,
    /// `a - b`: subtraction.
    Subtract,
    /// `a * b`: multiplication.
    Multiply,
    /// `a / b`: division.
    Divide,
    /// `a % b`: remainder of a division.
    Modulo,
    /// `a & b`: bitwise AND.
    BitAnd,
    /// `a | b`: bitwise OR.
    BitOr,
    /// `a ^ b`: bitwise exclusive OR.
    BitXor,
}

/// A unary arithmetic or bitwise operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`: negates the operand.
    Negate,
    /// `~x`: inverts the bits of an integer.
    BitNot,
}

/// The types that both operands convert to before the operator runs, and the type of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorTypes {
    /// The type the left operand converts to.
    pub left: DataType,
    /// The type the right operand converts to.
    pub right: DataType,
    /// The type of the result.
    pub result: DataType,
}

impl OperatorTypes {
    const fn all(of: DataType) -> Self {
        Self { left: of, right: of, result: of }
    }
}

impl BinaryOp {
    /// Returns the operator's name as messages 402 and 8117 have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Divide => "divide",
            Self::Modulo => "modulo",
            Self::BitAnd => "'&'",
            Self::BitOr => "'|'",
            Self::BitXor => "'^'",
        }
    }

    const fn is_bitwise(self) -> bool {
        matches!(self, Self::BitAnd | Self::BitOr | Self::BitXor)
    }
}

/// Returns the types of `left op right`.
///
/// # Errors
/// 8117 for a type the operator does not accept, 402 or 206 for two that do not go together.
pub fn binary(op: BinaryOp, left: &DataType, right: &DataType) -> Result<OperatorTypes> {
    if op == BinaryOp::Add && is_text(left) && is_text(right) {
        return Ok(concatenation(left, right));
    }
    if op == BinaryOp::Add && is_bytes(left) && is_bytes(right) {
        return Ok(concatenation(left, right));
    }
    if op.is_bitwise() {
        return bitwise(op, left, right);
    }
    let winner = if left.precedence() >= right.precedence() { left } else { right };
    let numeric = |of: &DataType| if is_bytes(of) || is_text(of) { *winner } else { *of };
    let (l, r) = (numeric(left), numeric(right));
    match winner.family() {
        Family::ExactNumeric => exact(op, winner, &l, &r),
        Family::ApproximateNumeric if op == BinaryOp::Modulo => incompatible(op, left, right),
        Family::ApproximateNumeric => convertible(op, winner, left, right),
        Family::DateTime => moment(op, winner, left, right),
        Family::String | Family::UnicodeString | Family::Binary
            if left.family() != right.family() =>
        {
            incompatible(op, left, right)
        }
        Family::String
        | Family::UnicodeString
        | Family::Binary
        | Family::UniqueIdentifier
        | Family::Variant
        | Family::Xml => invalid(op.name(), winner),
    }
}

/// Returns the type of `op operand`.
///
/// # Errors
/// 8117 for a type the operator does not accept.
pub fn unary(op: UnaryOp, operand: &DataType) -> Result<DataType> {
    match (op, operand) {
        // There is no negative tinyint.
        (UnaryOp::Negate, DataType::TinyInt) => Ok(DataType::SmallInt),
        (UnaryOp::Negate, DataType::Bit) => invalid("minus", operand),
        (UnaryOp::Negate, _) if operand.is_numeric() => Ok(*operand),
        (UnaryOp::Negate, _) => invalid("minus", operand),
        (UnaryOp::BitNot, _) if operand.is_integer() => Ok(*operand),
        (UnaryOp::BitNot, _) => invalid("'~'", operand),
    }
}

/// Returns the type that two operands of a comparison, or two branches of CASE, UNION, COALESCE,
/// convert to: the one of higher precedence, long enough for both.
///
/// # Errors
/// 206 where no implicit conversion exists.
pub fn common(left: &DataType, right: &DataType) -> Result<DataType> {
    if left == right {
        return Ok(*left);
    }
    let (high, low) =
        if left.precedence() >= right.precedence() { (left, right) } else { (right, left) };
    check(low, high, Mode::Implicit)?;
    Ok(match (high, low) {
        (DataType::Decimal { .. }, _) => match as_decimal(low) {
            Some(other) => widest(parts(high), other),
            None => *high,
        },
        (DataType::DateTimeOffset(a), _) => DataType::DateTimeOffset((*a).max(low.fraction())),
        (DataType::DateTime2(a), _) => DataType::DateTime2((*a).max(low.fraction())),
        (DataType::Time(a), DataType::Time(b)) => DataType::Time((*a).max(*b)),
        _ if is_text(high) && is_text(low) => {
            let length = longer(high, low);
            match (high, low) {
                (DataType::Char(_), DataType::Char(_)) => DataType::Char(length.or(BYTES_MAX)),
                (DataType::NChar(_), DataType::NChar(_)) => DataType::NChar(length.or(UNITS_MAX)),
                _ if high.is_unicode() => DataType::NVarChar(length.capped(UNITS_MAX)),
                _ => DataType::VarChar(length),
            }
        }
        _ if is_bytes(high) && is_bytes(low) => match (high, low, longer(high, low)) {
            (DataType::Binary(_), DataType::Binary(_), n) => DataType::Binary(n.or(BYTES_MAX)),
            (_, _, n) => DataType::VarBinary(n),
        },
        _ => *high,
    })
}

/// Returns whether the common type of two exact numbers would round one of them, because 38 digits
/// do not hold all digits of both: such numbers are compared without conversion.
pub fn rounds(left: &DataType, right: &DataType) -> bool {
    let (Some(one), Some(other)) = (as_decimal(left), as_decimal(right)) else { return false };
    let is_decimal = |of: &DataType| matches!(of, DataType::Decimal { .. });
    let common = widest(one, other);
    (is_decimal(left) || is_decimal(right)) && common.scale() < one.1.max(other.1)
}

/// Returns the `decimal` that holds every value of an exact numeric type; `None` for other types.
pub fn as_decimal(of: &DataType) -> Option<(u8, u8)> {
    Some(match of {
        DataType::Decimal { precision, scale } => (*precision, *scale),
        DataType::Money | DataType::SmallMoney => (of.precision(), 4),
        DataType::Bit
        | DataType::TinyInt
        | DataType::SmallInt
        | DataType::Int
        | DataType::BigInt => (of.precision(), 0),
        _ => return None,
    })
}

fn parts(of: &DataType) -> (u8, u8) {
    (of.precision(), of.scale())
}

/// Returns the decimal that holds both; above 38 digits its scale is reduced.
fn widest((p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> DataType {
    let scale = s1.max(s2);
    let whole = (p1 - s1).max(p2 - s2);
    let scale = scale.min(PRECISION_MAX - whole.min(PRECISION_MAX));
    DataType::Decimal { precision: (whole + scale).min(PRECISION_MAX), scale }
}

/// Types of an operator between exact numbers.
fn exact(
    op: BinaryOp,
    winner: &DataType,
    left: &DataType,
    right: &DataType,
) -> Result<OperatorTypes> {
    match winner {
        DataType::Bit => invalid(op.name(), winner),
        DataType::Decimal { .. } => {
            let (Some(l), Some(r)) = (as_decimal(left), as_decimal(right)) else {
                return incompatible(op, left, right);
            };
            let decimal = |(precision, scale)| DataType::Decimal { precision, scale };
            Ok(OperatorTypes {
                left: decimal(l),
                right: decimal(r),
                result: decimal(result(op, l, r)),
            })
        }
        // smallmoney computes as money, so that intermediate products do not overflow.
        DataType::SmallMoney => Ok(OperatorTypes::all(DataType::Money)),
        _ => Ok(OperatorTypes::all(*winner)),
    }
}

/// Returns the documented precision and scale of a decimal result.
fn result(op: BinaryOp, (p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> (u8, u8) {
    let (whole1, whole2) = (p1 - s1, p2 - s2);
    match op {
        BinaryOp::Add | BinaryOp::Subtract => {
            let (scale, whole) = (s1.max(s2), whole1.max(whole2));
            let precision = (whole + scale + 1).min(PRECISION_MAX);
            (precision, scale.min(precision - whole))
        }
        BinaryOp::Multiply => reduce(p1 + p2 + 1, s1 + s2),
        BinaryOp::Divide => {
            let scale = (s1 + p2 + 1).max(6);
            reduce(whole1 + s2 + scale, scale)
        }
        BinaryOp::Modulo | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
            let scale = s1.max(s2);
            (whole1.min(whole2) + scale, scale)
        }
    }
}

/// Reduces a product or quotient to 38 digits.
fn reduce(precision: u8, scale: u8) -> (u8, u8) {
    if precision <= PRECISION_MAX {
        return (precision, scale);
    }
    let whole = precision - scale;
    let scale = if whole < 32 { scale.min(PRECISION_MAX - whole) } else { scale.min(6) };
    (PRECISION_MAX, scale)
}

fn bitwise(op: BinaryOp, left: &DataType, right: &DataType) -> Result<OperatorTypes> {
    let (l, r) = (left.is_integer(), right.is_integer());
    if l && r {
        let winner = if left.precedence() >= right.precedence() { left } else { right };
        return Ok(OperatorTypes::all(*winner));
    }
    match (l, r) {
        (true, _) if is_bytes(right) => Ok(OperatorTypes::all(*left)),
        (_, true) if is_bytes(left) => Ok(OperatorTypes::all(*right)),
        (false, false) if left.family() == right.family() => invalid(op.name(), left),
        _ => incompatible(op, left, right),
    }
}

/// Types of `+` and `-` on `datetime` and `smalldatetime`, which compute in days; no other type has
/// them.
fn moment(
    op: BinaryOp,
    winner: &DataType,
    left: &DataType,
    right: &DataType,
) -> Result<OperatorTypes> {
    let adds = matches!(op, BinaryOp::Add | BinaryOp::Subtract);
    if adds && matches!(winner, DataType::DateTime | DataType::SmallDateTime) {
        return convertible(op, winner, left, right);
    }
    if left.family() == right.family() { invalid(op.name(), winner) } else { clash(left, right) }
}

/// Types of an operator for which both operands convert to `winner`, if they do so implicitly.
fn convertible(
    op: BinaryOp,
    winner: &DataType,
    left: &DataType,
    right: &DataType,
) -> Result<OperatorTypes> {
    if [left, right].iter().any(|of| check(of, winner, Mode::Implicit).is_err()) {
        return incompatible(op, left, right);
    }
    Ok(OperatorTypes::all(*winner))
}

fn concatenation(left: &DataType, right: &DataType) -> OperatorTypes {
    let sum = match (length(left), length(right)) {
        (Length::Limited(a), Length::Limited(b)) => Length::Limited(a.saturating_add(b)),
        _ => Length::Max,
    };
    if is_bytes(left) {
        let operand = |of| DataType::VarBinary(length(of));
        let result = DataType::VarBinary(sum.capped_limited(BYTES_MAX));
        return OperatorTypes { left: operand(left), right: operand(right), result };
    }
    if left.is_unicode() || right.is_unicode() {
        let operand = |of| DataType::NVarChar(length(of).capped(UNITS_MAX));
        let result = DataType::NVarChar(sum.capped_limited(UNITS_MAX));
        return OperatorTypes { left: operand(left), right: operand(right), result };
    }
    let operand = |of| DataType::VarChar(length(of));
    let result = DataType::VarChar(sum.capped_limited(BYTES_MAX));
    OperatorTypes { left: operand(left), right: operand(right), result }
}

fn is_text(of: &DataType) -> bool {
    of.is_string() && !matches!(of, DataType::Text | DataType::NText)
}

fn is_bytes(of: &DataType) -> bool {
    matches!(of, DataType::Binary(_) | DataType::VarBinary(_) | DataType::RowVersion)
}

fn length(of: &DataType) -> Length {
    of.length().unwrap_or(Length::Max)
}

fn longer(left: &DataType, right: &DataType) -> Length {
    match (length(left), length(right)) {
        (Length::Limited(a), Length::Limited(b)) => Length::Limited(a.max(b)),
        _ => Length::Max,
    }
}

impl Length {
    /// Returns the number, or `max` for `MAX`.
    const fn or(self, max: u16) -> u16 {
        match self {
            Self::Limited(n) => n,
            Self::Max => max,
        }
    }

    /// Turns a number above `max` into `MAX`.
    const fn capped(self, max: u16) -> Self {
        match self {
            Self::Limited(n) if n <= max => self,
            _ => Self::Max,
        }
    }

    /// Turns a number above `max` into `max`.
    const fn capped_limited(self, max: u16) -> Self {
        match self {
            Self::Limited(n) if n > max => Self::Limited(max),
            _ => self,
        }
    }
}

impl DataType {
    /// Returns the number of decimals of a second that a date or time type keeps; `datetime` has 3.
    const fn fraction(&self) -> u8 {
        match self {
            Self::Time(s) | Self::DateTime2(s) | Self::DateTimeOffset(s) => *s,
            Self::DateTime => 3,
            _ => 0,
        }
    }
}

fn invalid<T>(operator: &str, of: &DataType) -> Result<T> {
    Err(Msg::InvalidOperandType(of.name(), operator).into())
}

fn incompatible<T>(op: BinaryOp, left: &DataType, right: &DataType) -> Result<T> {
    Err(Msg::IncompatibleTypes(left.name(), right.name(), op.name()).into())
}

fn clash<T>(left: &DataType, right: &DataType) -> Result<T> {
    Err(Msg::OperandClash(left.name(), right.name()).into())
}

#[cfg(test)]
mod tests;
