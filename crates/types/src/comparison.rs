//! Comparison operators and their result for two values.

use std::cmp::Ordering;

use crate::compare::{self, Truth};
use crate::{Collation, Value};

/// A comparison operator of T-SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `a = b`: equal.
    Equal,
    /// `a <> b` or `a != b`: not equal.
    NotEqual,
    /// `a < b`: less than.
    Less,
    /// `a <= b` or `a !> b`: less than or equal.
    LessOrEqual,
    /// `a > b`: greater than.
    Greater,
    /// `a >= b` or `a !< b`: greater than or equal.
    GreaterOrEqual,
}

impl CompareOp {
    /// Returns the operator for swapped operands: `a < b` is `b > a`.
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

    /// Returns the operator that is true for equal operands as well: `<` becomes `<=`.
    #[must_use]
    pub fn or_equal(self) -> Self {
        match self {
            Self::Less | Self::LessOrEqual => Self::LessOrEqual,
            Self::Greater | Self::GreaterOrEqual => Self::GreaterOrEqual,
            Self::Equal | Self::NotEqual => self,
        }
    }

    /// Returns the operator that is true exactly where this one is false, for operands that are not
    /// NULL.
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
        // The most frequent types, without a call.
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

/// Returns whether an operator is true for two operands of this order.
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
