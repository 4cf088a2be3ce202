//! Values of identity columns: the next one, one that the statement gives, and what SCOPE_IDENTITY() and @@IDENTITY return.

use types::value::Decimal;
use types::{DataType, Error, Msg, Result, Value};

use crate::Cx;
use catalog::{TableDef, TableRows};

/// Takes the next value of a table's identity column.
///
/// # Errors
/// 545 if SET IDENTITY_INSERT is ON for the table, which then needs a value from the statement.
pub(super) fn next_identity(
    table: &TableDef,
    ordinal: usize,
    rows: &TableRows,
    cx: &Cx<'_>,
) -> Result<i64> {
    if cx.session.held.identity_insert == Some(table.id) {
        return Err(Msg::IdentityValueMissing(&table.name).into());
    }
    let increment = table.columns[ordinal].identity.map_or(1, |(_, increment)| increment);
    Ok(rows.identity.take(increment))
}

/// Checks an identity value that the statement provides, which requires SET IDENTITY_INSERT.
pub(super) fn explicit_identity(
    value: &Value,
    table: &TableDef,
    ordinal: usize,
    rows: &TableRows,
    cx: &Cx<'_>,
) -> Result<i64> {
    if cx.session.held.identity_insert != Some(table.id) {
        return Err(Msg::IdentityInsertOff(&table.name).into());
    }
    let given = match value {
        Value::TinyInt(n) => i64::from(*n),
        Value::SmallInt(n) => i64::from(*n),
        Value::Int(n) => i64::from(*n),
        Value::BigInt(n) => *n,
        Value::Decimal(d) => i64::try_from(d.mantissa()).unwrap_or(i64::MAX),
        _ => return Ok(0),
    };
    let increment = table.columns[ordinal].identity.map_or(1, |(_, increment)| increment);
    rows.identity.raise(given, increment);
    Ok(given)
}

pub(super) fn identity_value(next: i64, ty: &DataType) -> Result<Value> {
    let overflow = || Error::from(Msg::ArithmeticOverflowConverting("IDENTITY", ty.name()));
    Ok(match ty {
        DataType::TinyInt => Value::TinyInt(u8::try_from(next).map_err(|_| overflow())?),
        DataType::SmallInt => Value::SmallInt(i16::try_from(next).map_err(|_| overflow())?),
        DataType::Int => Value::Int(i32::try_from(next).map_err(|_| overflow())?),
        DataType::Decimal { precision, .. } => {
            Value::Decimal(Decimal::new(i128::from(next), *precision, 0))
        }
        _ => Value::BigInt(next),
    })
}

/// Stores the identity value for SCOPE_IDENTITY() and @@IDENTITY, which are `numeric(38, 0)`.
pub(super) fn note_identity(identity: Option<i64>, cx: &mut Cx<'_>) {
    let Some(identity) = identity else { return };
    let value = Value::Decimal(Decimal::new(i128::from(identity), 38, 0));
    cx.frame.scope_identity = Some(value.clone());
    cx.session.last.identity = Some(value);
}
