//! Arithmetic and bitwise operators over values that were already converted to the operator's types.
//!
//! [`crate::type_rules::binary`] says which types those are; NULL in gives NULL out.

use crate::type_rules::{BinaryOp, UnaryOp};
use crate::{DataType, Msg, Result, Value};

/// Computes `left op right`; `result` is the type that [`crate::type_rules::binary`] gave.
///
/// # Errors
/// 8115 on overflow, 8134 on division by zero.
pub fn binary(op: BinaryOp, left: &Value, right: &Value, result: &DataType) -> Result<Value> {
    let _ = (op, left, right, result);
    Err(Msg::NotSupported("operators").into())
}

/// Computes `op operand`.
///
/// # Errors
/// 8115 on overflow.
pub fn unary(op: UnaryOp, operand: &Value, result: &DataType) -> Result<Value> {
    let _ = (op, operand, result);
    Err(Msg::NotSupported("operators").into())
}
