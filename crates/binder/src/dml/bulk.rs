//! INSERT of rows sent by a client: INSERT BULK, and the rows of a table-valued parameter.

use std::sync::Arc;

use tsql::ast::{Ident, Target};
use types::value::ColumnType;
use types::{Msg, Result};

use super::insert::{
    Triggers, add_triggers, assign_named, check_history, finish, make, named_columns, resolve,
};
use super::{in_level, row};
use crate::Binder;
use crate::expr::is_null;
use catalog::TableDef;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::TableSource;
use plan::statement::{Insert, InsertSource, InsertValue, table_of};

/// The treatment of a NULL that a client sends for a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// KEEP_NULLS: it stays NULL.
    Keep,
    /// The column's default replaces it, if there is one.
    Default,
}

/// Binds an INSERT of rows of these types that arrive by INSERT BULK.
///
/// # Errors
/// Errors of names and types.
pub fn bind_bulk_rows(
    binder: &mut Binder<'_>,
    target: &Target,
    columns: &[Ident],
    types: &[ColumnType],
    triggers: Triggers,
    nulls: Nulls,
) -> Result<Insert> {
    crate::require::require_target(binder, target, &[], &["INSERT"])?;
    in_level(binder, None, |binder| {
        let target = resolve(binder, target)?;
        let table = Arc::clone(table_of(&target));
        check_history(binder, &table)?;
        let columns = named_columns(&table, columns)?;
        if columns.len() != types.len() {
            return Err(Msg::BulkPrematureEnd.into());
        }
        let first = binder.new_registers(types.len());
        let registers: Vec<Register> = (0..types.len()).map(|i| first.plus(i)).collect();
        let source = |(r, ty): (&Register, &ColumnType)| {
            Expr::new(ExprKind::Column(*r), ColumnType { nullable: true, ..*ty })
        };
        let values: Vec<Expr> = registers.iter().zip(types).map(source).collect();
        let mut named = assign_named(binder, &table, &columns, values.clone())?;
        if nulls == Nulls::Default {
            for ((ordinal, value), source) in named.iter_mut().zip(values) {
                or_default(binder, &table, *ordinal, value, source)?;
            }
        }
        let mut insert = make(binder, target, InsertSource::Default, registers, named)?;
        if triggers == Triggers::Fire {
            add_triggers(binder, &mut insert)?;
        }
        finish(binder, &mut insert)?;
        Ok(insert)
    })
}

/// Replaces a NULL by the column's default.
fn or_default(
    binder: &mut Binder<'_>,
    table: &TableDef,
    ordinal: usize,
    value: &mut InsertValue,
    source: Expr,
) -> Result<()> {
    let column = &table.columns[ordinal];
    let Some(default) = row::default_of(binder, table, column)? else { return Ok(()) };
    let InsertValue::Source(given) = std::mem::replace(value, InsertValue::Default(None)) else {
        return Err(Msg::InternalError.into());
    };
    let ty = ColumnType { nullable: true, ..column.ty };
    let when = Box::new([(is_null(source), default)]);
    *value = InsertValue::Source(Expr::new(ExprKind::Case(when, Some(Box::new(given))), ty));
    Ok(())
}

/// Binds an INSERT of rows that a client has sent for a table-valued parameter; a column without a
/// type has its default. The table is the first table variable of the frame.
///
/// # Errors
/// 1077 for a value of an identity column, 271 and 273 for computed and `rowversion` columns, and
/// errors of types.
pub fn bind_table_rows(
    binder: &mut Binder<'_>,
    table: Arc<TableDef>,
    types: &[Option<ColumnType>],
) -> Result<Insert> {
    in_level(binder, None, |binder| {
        let first = binder.new_registers(types.len());
        let registers: Vec<Register> = (0..types.len()).map(|i| first.plus(i)).collect();
        let mut named = Vec::with_capacity(types.len());
        for (ordinal, ty) in types.iter().enumerate() {
            let (Some(ty), Some(column)) = (ty, table.columns.get(ordinal)) else { continue };
            if column.identity.is_some() {
                return Err(Msg::IdentityOfTableVariable.into());
            }
            if column.computed.is_some() {
                return Err(Msg::ColumnCannotBeModified(&column.name).into());
            }
            let value = Expr::new(ExprKind::Column(registers[ordinal]), *ty);
            named.extend(assign_named(binder, &table, &[ordinal], vec![value])?);
        }
        let target = TableSource::Variable(0, table);
        let mut insert = make(binder, target, InsertSource::Default, registers, named)?;
        finish(binder, &mut insert)?;
        Ok(insert)
    })
}
