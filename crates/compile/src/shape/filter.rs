//! The WHERE clause of CREATE INDEX. It is bound like a CHECK constraint, then split into the
//! single-column tests that a filtered index can have.

use tsql::ast;
use types::{ConvertOptions, Family, Mode, Msg, Result, Value};

use crate::binding::over_columns;
use ::binder::Binder;
use ::binder::expr::bind_condition;
use ::catalog::{ColumnDef, ColumnTest, Test};
use ::plan::expr::{Expr, ExprKind};

/// The index whose filter is bound, for messages.
pub(super) struct Filtered<'a> {
    pub index: &'a str,
    pub table: &'a str,
    pub columns: &'a [ColumnDef],
    /// Options for converting constants: SET DATEFORMAT of the session.
    pub options: ConvertOptions,
}

/// Binds the clause.
///
/// # Errors
/// 10735 for anything but a comparison of a column with constants, 10611 where the column would
/// have to be converted, 10609 for a computed column.
pub(super) fn bind(
    binder: &Binder<'_>,
    of: &Filtered<'_>,
    condition: &ast::Condition,
) -> Result<Vec<ColumnTest>> {
    let mut inner = binder.child();
    let bound =
        over_columns(&mut inner, of.table, of.columns, |inner| bind_condition(inner, condition))?;
    let mut tests = Vec::new();
    of.conjuncts(&bound, &mut tests)?;
    Ok(tests)
}

impl Filtered<'_> {
    fn incorrect<T>(&self) -> Result<T> {
        Err(Msg::FilterIncorrect(self.index, self.table).into())
    }

    fn conjuncts(&self, expr: &Expr, tests: &mut Vec<ColumnTest>) -> Result<()> {
        if let ExprKind::And(all) = &expr.kind {
            return all.iter().try_for_each(|one| self.conjuncts(one, tests));
        }
        tests.push(self.test(expr)?);
        Ok(())
    }

    fn test(&self, expr: &Expr) -> Result<ColumnTest> {
        match &expr.kind {
            ExprKind::IsNull(operand) => {
                Ok(ColumnTest { column: self.column(operand)?, test: Test::Null })
            }
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::IsNull(operand) => {
                    Ok(ColumnTest { column: self.column(operand)?, test: Test::NotNull })
                }
                _ => self.incorrect(),
            },
            ExprKind::Compare(op, collation, pair) => {
                let (column, constant) = self.sides(&pair.0, &pair.1)?;
                Ok(ColumnTest { column, test: Test::Compare(*op, constant, *collation) })
            }
            ExprKind::InList(collation, operand, list) => {
                let column = self.sides(operand, list.first().unwrap_or(operand))?.0;
                let value = |item| Ok(self.sides(operand, item)?.1);
                let list = list.iter().map(value).collect::<Result<_>>()?;
                Ok(ColumnTest { column, test: Test::In(list, *collation) })
            }
            _ => self.incorrect(),
        }
    }

    /// Returns the column and the constant in the column's type. The binder converts both sides of
    /// a numeric comparison to a common type; the constant is converted back, if it fits.
    fn sides(&self, left: &Expr, right: &Expr) -> Result<(u16, Value)> {
        let constant = self.constant(right)?;
        let ExprKind::Convert(conversion) = &left.kind else {
            return Ok((self.column(left)?, constant));
        };
        let from = &conversion.operand.ty;
        if from.data_type.family() != Family::ExactNumeric
            || left.ty.data_type.family() != Family::ExactNumeric
        {
            return Ok((self.column(left)?, constant));
        }
        let column = self.column(&conversion.operand)?;
        let options = ConvertOptions::default();
        let fitting = types::convert(&constant, &right.ty, from, 0, Mode::Try, &options);
        let back = |v: &Value| types::convert(v, from, &right.ty, 0, Mode::Try, &options);
        match fitting {
            Ok(fitting) if back(&fitting).is_ok_and(|back| back == constant) => {
                Ok((column, fitting))
            }
            _ => self.column(left).map(|column| (column, constant)),
        }
    }

    fn column(&self, expr: &Expr) -> Result<u16> {
        let register = match &expr.kind {
            ExprKind::Column(register) => register,
            ExprKind::Convert(conversion) => {
                let column = usize::from(self.column(&conversion.operand)?);
                let name = &self.columns[column].name;
                return Err(Msg::FilterConverts(self.index, self.table, name, name).into());
            }
            _ => return self.incorrect(),
        };
        let Some(column) = self.columns.get(register.index()) else { return self.incorrect() };
        if column.computed.is_some() {
            return Err(Msg::FilterComputed(self.index, self.table, &column.name).into());
        }
        u16::try_from(register.index()).or_else(|_| self.incorrect())
    }

    fn constant(&self, expr: &Expr) -> Result<Value> {
        match &expr.kind {
            ExprKind::Constant(value) if !value.is_null() => Ok(value.clone()),
            // '20240101' compared with a date: the constant is converted once, here.
            ExprKind::Convert(conversion) if conversion.style.is_none() => {
                let ExprKind::Constant(value) = &conversion.operand.kind else {
                    return self.incorrect();
                };
                let (from, to) = (&conversion.operand.ty, &expr.ty);
                match types::convert(value, from, to, 0, conversion.mode, &self.options)? {
                    Value::Null => self.incorrect(),
                    converted => Ok(converted),
                }
            }
            _ => self.incorrect(),
        }
    }
}
