//! The rules that give an operator's operands their common type and its result a type.
//!
//! Precision and scale of `decimal` results follow the documented table ("Precision, scale, and
//! length"): the wanted precision may exceed 38, then the scale gives way, but not below 6 where
//! there were 6 to keep.

use crate::data_type::{BYTES_MAX, PRECISION_MAX, UNITS_MAX};
use crate::{DataType, Family, Length, Msg, Result};

/// A binary arithmetic or bitwise operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`, of numbers or strings.
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
}

/// A unary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `~`
    BitNot,
}

/// What both operands convert to before the operator runs, and the type of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorTypes {
    /// The type the left operand converts to.
    pub left: DataType,
    /// The type the right operand converts to.
    pub right: DataType,
    /// The type of the result.
    pub result: DataType,
}

/// Returns the types of `left op right`.
///
/// # Errors
/// 8117 for a type the operator does not take, 402 for two that do not go together.
pub fn binary(op: BinaryOp, left: &DataType, right: &DataType) -> Result<OperatorTypes> {
    let _ = (op, left, right, BYTES_MAX, PRECISION_MAX, UNITS_MAX, Family::Xml, Length::Max);
    Err(Msg::NotSupported("operators").into())
}

/// Returns the type of `op operand`.
///
/// # Errors
/// 8117 for a type the operator does not take.
pub fn unary(op: UnaryOp, operand: &DataType) -> Result<DataType> {
    let _ = (op, operand);
    Err(Msg::NotSupported("operators").into())
}

/// Returns the type that two operands of a comparison, or two branches of CASE, UNION, COALESCE,
/// convert to: the one of higher precedence, long enough for both.
///
/// # Errors
/// 206 where no implicit conversion exists.
pub fn common(left: &DataType, right: &DataType) -> Result<DataType> {
    let _ = right;
    Ok(*left)
}
