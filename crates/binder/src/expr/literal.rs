//! Literals and their types.

use tsql::ast::{self, Literal, OdbcKind};
use types::value::ColumnType;
use types::{Bytes, Collation, DataType, Decimal, Length, Mode, Msg, Result, Value};

use crate::Binder;
use crate::expr::convert_to;
use plan::expr::{Expr, ExprKind};
use plan::long;

pub(crate) fn bind(binder: &Binder<'_>, literal: &Literal) -> Result<Expr> {
    let collation = match literal {
        Literal::String(_) | Literal::NString(_) | Literal::Odbc(..) => binder.database_collation(),
        Literal::Null
        | Literal::Int(_)
        | Literal::Decimal(_)
        | Literal::Float(_)
        | Literal::Money(_)
        | Literal::Binary(_) => Collation::default(),
    };
    constant(literal, collation)
}

/// Binds a literal in a database with this collation.
pub fn constant(literal: &Literal, collation: Collation) -> Result<Expr> {
    Ok(match literal {
        Literal::Null => Expr::constant(Value::Null, DataType::Int),
        Literal::Int(n) => Expr::constant(Value::Int(*n), DataType::Int),
        Literal::Decimal(digits) => decimal(digits)?,
        Literal::Float(x) => Expr::constant(Value::Float(*x), DataType::Float),
        Literal::Money(ten_thousandths) => {
            Expr::constant(Value::Money(*ten_thousandths), DataType::Money)
        }
        Literal::String(text) => varchar(text, collation),
        Literal::NString(text) => nvarchar(text, collation),
        Literal::Binary(bytes) => {
            let value = Value::VarBinary(Bytes::copy_from(bytes));
            Expr::constant(value, DataType::VarBinary(length(bytes.len(), 8000)))
        }
        Literal::Odbc(kind, text) => odbc(*kind, text, collation)?,
    })
}

/// Returns the length of a literal's type: at least 1; `max` beyond the type's limit.
fn length(units: usize, most: u16) -> Length {
    match u16::try_from(units.max(1)) {
        Ok(n) if n <= most => Length::Limited(n),
        _ => Length::Max,
    }
}

fn varchar(text: &str, collation: Collation) -> Expr {
    let value = long::varchar(text, collation);
    let units = if let Value::VarChar(bytes) = &value { bytes.len() } else { 0 };
    let data_type = DataType::VarChar(length(units, 8000));
    Expr::new(ExprKind::Constant(value), ColumnType { data_type, collation, nullable: false })
}

fn nvarchar(text: &str, collation: Collation) -> Expr {
    let value = long::nvarchar(text);
    let units = if let Value::NVarChar(bytes) = &value { bytes.len() / 2 } else { 0 };
    let data_type = DataType::NVarChar(length(units, 4000));
    Expr::new(ExprKind::Constant(value), ColumnType { data_type, collation, nullable: false })
}

/// Binds a decimal literal. `12.50` is `decimal(4,2)`: every digit counts, except leading zeros of
/// the integer part.
fn decimal(digits: &str) -> Result<Expr> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let out_of_range = || Msg::NumericRange("number", digits);
    let scale = u8::try_from(fraction.len()).map_err(|_| out_of_range())?;
    let precision =
        u8::try_from((whole.len() + fraction.len()).max(1)).map_err(|_| out_of_range())?;
    if precision > 38 {
        return Err(out_of_range().into());
    }
    let mantissa: i128 = format!("0{whole}{fraction}").parse().map_err(|_| out_of_range())?;
    let value = Value::Decimal(Decimal::new(mantissa, precision, scale));
    Ok(Expr::constant(value, DataType::Decimal { precision, scale }))
}

fn odbc(kind: OdbcKind, text: &str, collation: Collation) -> Result<Expr> {
    let data_type = match kind {
        OdbcKind::Date | OdbcKind::Time | OdbcKind::Timestamp => DataType::DateTime,
        OdbcKind::Guid => DataType::UniqueIdentifier,
    };
    let target = ColumnType { data_type, collation, nullable: false };
    convert_to(varchar(text, collation), &target, Mode::Explicit)
}

/// Converts an integer literal beside a decimal to a decimal of just enough digits: `1.0 / 3` has
/// six decimals, `1.0 / CAST(3 AS int)` has twelve.
pub(crate) fn beside_decimal(written: &ast::Expr, bound: Expr, other: &DataType) -> Expr {
    let is_literal = match &written.kind {
        ast::ExprKind::Literal(ast::Literal::Int(_)) => true,
        ast::ExprKind::Unary { op: ast::UnaryOp::Minus | ast::UnaryOp::Plus, operand } => {
            matches!(operand.kind, ast::ExprKind::Literal(ast::Literal::Int(_)))
        }
        _ => false,
    };
    match (other, bound.as_constant()) {
        (DataType::Decimal { .. }, Some(Value::Int(n))) if is_literal => {
            let digits = n.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
            let precision = u8::try_from(digits).unwrap_or(10);
            let value = Value::Decimal(Decimal::new(i128::from(*n), precision, 0));
            Expr::constant(value, DataType::Decimal { precision, scale: 0 })
        }
        _ => bound,
    }
}
