//! TABLESAMPLE: the size of the sample, and its seed.

use tsql::ast;
use types::value::ColumnType;
use types::{ConvertOptions, DataType, Mode, Msg, Result, Value};

use crate::Binder;
use crate::expr::bind_expr;
use plan::expr::{Expr, ExprKind};
use plan::query::{Sample, SampleSize, sample_portion};
use plan::walk;

/// Binds the clause of a table with this name.
///
/// # Errors
/// 476 to 479, 497 and 498, as in SQL Server.
pub(crate) fn bind(
    binder: &mut Binder<'_>,
    clause: &ast::TableSample,
    table: &str,
) -> Result<Sample> {
    if binder.in_view {
        return Err(Msg::SampleInView.into());
    }
    let size = match clause.rows {
        true => SampleSize::Rows(positive(binder, &clause.count, table)?),
        false => SampleSize::Share(share(binder, &clause.count, table)?),
    };
    let seed = clause.seed.as_ref().map(|seed| positive(binder, seed, table)).transpose()?;
    Ok(Sample { size, seed })
}

/// Returns the value and type of a constant.
fn constant(binder: &mut Binder<'_>, expr: &ast::Expr) -> Result<(Value, ColumnType)> {
    let bound = bind_expr(binder, expr)?;
    let mut has_variable = false;
    walk::visit(&bound, &mut |e| has_variable |= matches!(e.kind, ExprKind::Variable(_)));
    if has_variable {
        return Err(Msg::SampleVariable.into());
    }
    literal(&bound).ok_or_else(|| Msg::SampleInvalid.into())
}

fn literal(expr: &Expr) -> Option<(Value, ColumnType)> {
    match &expr.kind {
        ExprKind::Constant(value) if !value.is_null() => Some((value.clone(), expr.ty)),
        ExprKind::Negate(inner) => {
            let (value, ty) = literal(inner)?;
            let negative = match value {
                Value::Int(n) => Value::Int(n.checked_neg()?),
                Value::BigInt(n) => Value::BigInt(n.checked_neg()?),
                Value::Float(n) => Value::Float(-n),
                Value::Decimal(n) => {
                    let mantissa = n.mantissa().checked_neg()?;
                    Value::Decimal(types::value::Decimal::new(mantissa, n.precision, n.scale))
                }
                _ => return None,
            };
            Some((negative, ty))
        }
        _ => None,
    }
}

/// Binds the value of ROWS or REPEATABLE: an integer above 0.
fn positive(binder: &mut Binder<'_>, expr: &ast::Expr, table: &str) -> Result<u64> {
    let number = match constant(binder, expr)?.0 {
        Value::TinyInt(n) => i64::from(n),
        Value::SmallInt(n) => i64::from(n),
        Value::Int(n) => i64::from(n),
        Value::BigInt(n) => n,
        _ => return Err(Msg::SampleNotInteger(table).into()),
    };
    match u64::try_from(number) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Msg::SampleNotPositive(number, table).into()),
    }
}

/// Binds PERCENT as a fraction in units of 2^-64; `None` for all rows.
fn share(binder: &mut Binder<'_>, expr: &ast::Expr, table: &str) -> Result<Option<u64>> {
    let (value, ty) = constant(binder, expr)?;
    let float = ColumnType { data_type: DataType::Float, nullable: false, ..ty };
    let converted =
        types::convert(&value, &ty, &float, 0, Mode::Implicit, &ConvertOptions::default());
    let Ok(Value::Float(percent)) = converted else { return Err(Msg::SampleInvalid.into()) };
    if !(0.0..=100.0).contains(&percent) {
        return Err(Msg::SamplePercent(&format!("{percent:.6}"), table).into());
    }
    if percent >= 100.0 {
        return Ok(None);
    }
    Ok(Some(sample_portion(percent / 100.0)))
}
