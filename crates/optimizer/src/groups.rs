//! Row group elimination for Parquet files: conditions on rows become conditions on row groups. By
//! the minimum and maximum of a column, which are in the file's footer, many groups can be skipped
//! unread.
//!
//! ```text
//! c < 5            least < 5
//! c = 5            least <= 5 AND greatest >= 5
//! c IN (5, 9)      (least <= 5 AND greatest >= 5) OR (least <= 9 AND greatest >= 9)
//! ```
//! Each is true for every group that may contain a matching row; the rows of such groups are still
//! checked one by one. Only bare columns are used, and columns converted between numbers or between
//! dates, which preserves their order.

use types::{Collation, DataType};

use super::Optimizer;
use plan::expr::{CompareOp, Conversion, Expr, ExprKind, Register};
use plan::query::{BulkFormat, BulkScan, GroupTest};
use plan::walk::{self, Rewrite};

impl Optimizer<'_> {
    /// Adds to a scan the group conditions that follow from its rows' conditions.
    pub(crate) fn test_groups(&mut self, scan: &mut BulkScan, conjuncts: &[Expr]) {
        if !matches!(scan.format, BulkFormat::Parquet(_)) {
            return;
        }
        for conjunct in conjuncts {
            let mut maker = Maker { optimizer: self, scan, bounds: Vec::new() };
            let condition = maker.test(conjunct);
            let bounds = maker.bounds;
            if let Some(condition) = condition.filter(|_| !bounds.is_empty()) {
                scan.tests.push(GroupTest { condition, bounds });
            }
        }
    }

    /// Like [`Self::test_groups`], for conditions on values computed from the columns.
    pub(crate) fn test_groups_below(
        &mut self,
        scan: &mut BulkScan,
        conjuncts: &[Expr],
        computed: &[(Register, Expr)],
    ) {
        let mut below = conjuncts.to_vec();
        for conjunct in &mut below {
            walk::rewrite(conjunct, &mut |expr| {
                let ExprKind::Column(register) = expr.kind else { return Rewrite::Enter };
                if let Some((_, value)) = computed.iter().find(|c| c.0 == register) {
                    *expr = value.clone();
                }
                Rewrite::Done
            });
        }
        self.test_groups(scan, &below);
    }
}

/// Builds the group condition of one conjunct.
struct Maker<'m, 'o> {
    optimizer: &'m mut Optimizer<'o>,
    scan: &'m BulkScan,
    bounds: Vec<(u16, Register, Register)>,
}

/// The minimum or the maximum of a row group.
#[derive(Clone, Copy)]
enum End {
    Least,
    Greatest,
}

impl Maker<'_, '_> {
    /// Returns a condition that is true for every group with a matching row; `None` for a condition
    /// that does not limit the bounds.
    fn test(&mut self, condition: &Expr) -> Option<Expr> {
        let of = |kind| Expr { kind, ty: condition.ty };
        match &condition.kind {
            ExprKind::And(parts) => {
                let parts: Vec<Expr> = parts.iter().filter_map(|part| self.test(part)).collect();
                (!parts.is_empty()).then(|| of(ExprKind::And(parts.into())))
            }
            ExprKind::Or(parts) => {
                let parts: Option<Vec<Expr>> = parts.iter().map(|part| self.test(part)).collect();
                parts.map(|parts| of(ExprKind::Or(parts.into())))
            }
            ExprKind::Compare(op, collation, sides) => {
                let (left, right) = &**sides;
                match is_fixed(right) {
                    true => self.compare(*op, *collation, left, right, condition),
                    false if is_fixed(left) => {
                        self.compare(op.swapped(), *collation, right, left, condition)
                    }
                    false => None,
                }
            }
            ExprKind::InList(collation, value, list) if list.iter().all(is_fixed) => {
                let each = list
                    .iter()
                    .map(|item| self.compare(CompareOp::Equal, *collation, value, item, condition));
                let parts: Option<Vec<Expr>> = each.collect();
                parts.map(|parts| of(ExprKind::Or(parts.into())))
            }
            _ => None,
        }
    }

    fn compare(
        &mut self,
        op: CompareOp,
        collation: Collation,
        value: &Expr,
        fixed: &Expr,
        condition: &Expr,
    ) -> Option<Expr> {
        let of = |kind| Expr { kind, ty: condition.ty };
        let mut side = |op, end| {
            let bound = self.bound(value, collation, end)?;
            Some(of(ExprKind::Compare(op, collation, Box::new((bound, fixed.clone())))))
        };
        match op {
            CompareOp::Less | CompareOp::LessOrEqual => side(op, End::Least),
            CompareOp::Greater | CompareOp::GreaterOrEqual => side(op, End::Greatest),
            CompareOp::Equal => {
                let low = side(CompareOp::LessOrEqual, End::Least)?;
                let high = side(CompareOp::GreaterOrEqual, End::Greatest)?;
                Some(of(ExprKind::And(vec![low, high].into())))
            }
            CompareOp::NotEqual => None,
        }
    }

    /// Returns a value with its column replaced by the column's bound.
    fn bound(&mut self, value: &Expr, collation: Collation, end: End) -> Option<Expr> {
        match &value.kind {
            ExprKind::Column(register) => {
                let column = self.scan.columns.iter().find(|column| column.1 == *register);
                let ordinal = column?.0;
                // Bounds of strings are ordered by their bytes.
                if value.ty.data_type.is_string() && collation != value.ty.collation {
                    return None;
                }
                let (_, least, greatest) = self.registers(ordinal);
                let register = match end {
                    End::Least => least,
                    End::Greatest => greatest,
                };
                Some(Expr { kind: ExprKind::Column(register), ty: value.ty })
            }
            ExprKind::Convert(conversion) if conversion.style.is_none() => {
                let family = |ty: &DataType| Family::of(ty);
                let keeps_order = family(&value.ty.data_type).is_some()
                    && family(&value.ty.data_type) == family(&conversion.operand.ty.data_type);
                if !keeps_order {
                    return None;
                }
                let operand = self.bound(&conversion.operand, collation, end)?;
                let conversion = Conversion { operand, style: None, mode: conversion.mode };
                Some(Expr { kind: ExprKind::Convert(Box::new(conversion)), ty: value.ty })
            }
            _ => None,
        }
    }

    fn registers(&mut self, ordinal: u16) -> (u16, Register, Register) {
        if let Some(known) = self.bounds.iter().find(|bound| bound.0 == ordinal) {
            return *known;
        }
        let new = (ordinal, self.optimizer.new_register(), self.optimizer.new_register());
        self.bounds.push(new);
        new
    }
}

/// Types between which conversions preserve the order of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Number,
    Moment,
}

impl Family {
    fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::TinyInt
            | DataType::SmallInt
            | DataType::Int
            | DataType::BigInt
            | DataType::Decimal { .. }
            | DataType::Money
            | DataType::SmallMoney
            | DataType::Real
            | DataType::Float => Self::Number,
            DataType::Date
            | DataType::DateTime
            | DataType::SmallDateTime
            | DataType::DateTime2(_) => Self::Moment,
            _ => return None,
        })
    }
}

/// Returns whether an expression has the same value for all rows of a statement.
fn is_fixed(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Variable(_) => true,
        ExprKind::Convert(conversion) => {
            conversion.style.is_none() && is_fixed(&conversion.operand)
        }
        _ => false,
    }
}
