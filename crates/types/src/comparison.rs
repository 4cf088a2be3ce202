//! Comparison operators, and what they give for two values.

use std::cmp::Ordering;

use crate::compare::{self, Truth};
use crate::{Collation, Value};

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `=`
    Equal,
    /// `<>`, `!=`
    NotEqual,
    /// `<`, `!>=`
    Less,
    /// `<=`, `!>`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`, `!<`
    GreaterOrEqual,
}

impl CompareOp {
    /// Returns the operator for the operands in the other order: `a < b` is `b > a`.
    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::NotEqual => Self::NotEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    /// Returns the operator that holds for equal operands, too.
    #[must_use]
    pub fn or_equal(self) -> Self {
        match self {
            Self::Less | Self::LessOrEqual => Self::LessOrEqual,
            Self::Greater | Self::GreaterOrEqual => Self::GreaterOrEqual,
            Self::Equal | Self::NotEqual => self,
        }
    }

    /// Returns the operator that holds where this one does not, of operands that are not NULL.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }
}

/// Compares two values of one type.
#[inline]
pub fn compare(op: CompareOp, left: &Value, right: &Value, collation: Collation) -> Truth {
    let ordering = match (left, right) {
        // The commonest types, without the call.
        (Value::Int(l), Value::Int(r)) => l.cmp(r),
        (Value::BigInt(l), Value::BigInt(r)) => l.cmp(r),
        (Value::Bit(l), Value::Bit(r)) => l.cmp(r),
        _ => match compare::compare(left, right, collation) {
            Some(ordering) => ordering,
            None => return Truth::Unknown,
        },
    };
    matches(op, ordering).into()
}

/// Tells whether an operator holds for two operands of this order.
#[inline]
pub fn matches(op: CompareOp, ordering: Ordering) -> bool {
    match op {
        CompareOp::Equal => ordering.is_eq(),
        CompareOp::NotEqual => ordering.is_ne(),
        CompareOp::Less => ordering.is_lt(),
        CompareOp::LessOrEqual => ordering.is_le(),
        CompareOp::Greater => ordering.is_gt(),
        CompareOp::GreaterOrEqual => ordering.is_ge(),
    }
}
