//! Values and checks of every new row of a table: defaults, computed columns, CHECK and FOREIGN KEY
//! constraints.

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Mode, Msg, Result, Value};

use crate::expr::{assign, bind_condition, bind_expr};
use crate::{Binder, Clause, Level, Source, SourceColumn};
use catalog::table::TEMPDB;
use catalog::{ColumnDef, ModuleSchema, TableDef, Unqualified};
use plan::expr::{Expr, ExprKind, Register};
use plan::sink::Traits;
use plan::statement::{InsertValue, Lookup, NewRow};

/// Binds a part of a table's definition: its names are those of the table's database, whichever is current. A
/// temporary table has those of the session.
fn in_database_of<T>(
    binder: &mut Binder<'_>,
    table: &TableDef,
    bind: impl FnOnce(&mut Binder<'_>) -> T,
) -> T {
    let outer = (binder.database, binder.unqualified);
    if table.database_id != TEMPDB
        && let Some(own) = binder.catalog.database_by_id(table.database_id)
    {
        binder.database = own.name.as_str();
        binder.unqualified = Unqualified::Module(ModuleSchema::from(table));
    }
    let bound = bind(binder);
    (binder.database, binder.unqualified) = outer;
    bound
}

/// Binds an expression of a table's definition. Only the table's columns are in scope, at the
/// registers that `register` returns.
fn over_row<T>(
    binder: &mut Binder<'_>,
    table: &Arc<TableDef>,
    register: &dyn Fn(usize) -> Register,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<T> {
    let columns = table.columns.iter().enumerate().map(|(i, c)| SourceColumn {
        name: c.name.as_str().into(),
        ty: c.shown_type(),
        register: register(i),
        used: false,
        traits: Traits::default(),
    });
    let source = Source {
        alias: table.name.as_str().into(),
        schema: Some(table.schema.as_str().into()),
        columns: columns.collect(),
        table: Some(Arc::clone(table)),
        ..Source::default()
    };
    let ctes = std::mem::take(&mut binder.ctes);
    let variables = std::mem::take(&mut binder.variables);
    let bound = in_database_of(binder, table, |binder| {
        binder.apart(|binder| binder.within(Level::of(source), bind))
    });
    binder.ctes = ctes;
    binder.variables = variables;
    bound
}

/// Binds a column's default, converted to the column's type; `None` without one.
pub(crate) fn default_of(
    binder: &mut Binder<'_>,
    table: &TableDef,
    column: &ColumnDef,
) -> Result<Option<Expr>> {
    let Some(default) = &column.default else { return Ok(None) };
    let variables = std::mem::take(&mut binder.variables);
    // A table and the objects that its defaults use have the same owner, so no permission is
    // checked.
    let rights = binder.rights.take();
    let bound = match functions::logic::sequential_default(&default.text.tree) {
        Some(bound) => Ok(bound),
        None => in_database_of(binder, table, |binder| {
            binder.apart(|binder| bind_expr(binder, &default.text.tree))
        }),
    };
    binder.rights = rights;
    binder.variables = variables;
    Ok(Some(stored(bound?, column)?))
}

/// Binds the value of a DEFAULT that is being defined.
///
/// # Errors
/// 128 for a column, 175 for an aggregate; other errors of names.
pub fn defined_default(binder: &mut Binder<'_>, value: &ast::Expr) -> Result<Expr> {
    if let Some(sequential) = functions::logic::sequential_default(value) {
        return Ok(sequential);
    }
    let level = Level { clause: Clause::Constant, ..Level::default() };
    binder.within(level, |binder| bind_expr(binder, value))
}

/// Converts a value to a column's type as it is stored.
///
/// # Errors
/// As [`assign`].
pub(crate) fn stored(value: Expr, column: &ColumnDef) -> Result<Expr> {
    let value = assign(value, &column.ty, Mode::Assignment)?;
    if !column.trims || value.is_null_literal() {
        return Ok(value);
    }
    let function = functions::find("ANSI TRIM").expect("the library has this function");
    let ty = value.ty;
    Ok(Expr::new(ExprKind::Call(function, Box::new([value])), ty))
}

/// Checks the SET options for a statement that changes a table with filtered indexes or indexes on
/// computed columns: such indexes depend on the ANSI options.
///
/// # Errors
/// 1934 if one has the wrong value.
pub(crate) fn check_indexed(binder: &Binder<'_>, table: &TableDef, statement: &str) -> Result<()> {
    if binder.meaning.is_for_indexes() {
        return Ok(());
    }
    let is_computed = |(column, _): &(u16, bool)| {
        table.columns.get(usize::from(*column)).is_some_and(|c| c.computed.is_some())
    };
    let needs = table.indexes.iter().any(|i| i.filter.is_some() || i.keys.iter().any(is_computed));
    if needs { check_options(binder, statement) } else { Ok(()) }
}

/// Checks the SET options for a statement that needs the ANSI options.
///
/// # Errors
/// 1934 if one has the wrong value.
pub fn check_options(binder: &Binder<'_>, statement: &str) -> Result<()> {
    if binder.meaning.is_for_indexes() {
        return Ok(());
    }
    Err(Msg::SetOptionsWrong(statement, &binder.options.wrong_for_indexes()).into())
}

/// Returns the value of a column that the statement does not name.
pub(crate) fn unnamed(
    binder: &mut Binder<'_>,
    table: &TableDef,
    column: &ColumnDef,
) -> Result<InsertValue> {
    if column.computed.is_some() {
        return Ok(InsertValue::Computed);
    }
    if column.identity.is_some() {
        return Ok(InsertValue::Identity);
    }
    if column.ty.data_type == DataType::RowVersion {
        return Ok(InsertValue::RowVersion);
    }
    if let Some(generated) = column.generated {
        return Ok(InsertValue::Period(generated));
    }
    Ok(InsertValue::Default(default_of(binder, table, column)?))
}

/// Binds the value of DEFAULT for a column: NULL without a default.
pub fn default_value(
    binder: &mut Binder<'_>,
    table: &TableDef,
    column: &ColumnDef,
) -> Result<Expr> {
    let null =
        Expr::new(ExprKind::Constant(Value::Null), ColumnType { nullable: true, ..column.ty });
    Ok(default_of(binder, table, column)?.unwrap_or(null))
}

/// Binds the completion of a new row; only the parts that depend on a column for which `changes`
/// holds.
pub fn new_row(
    binder: &mut Binder<'_>,
    table: &Arc<TableDef>,
    register: &dyn Fn(usize) -> Register,
    changes: &dyn Fn(usize) -> bool,
) -> Result<NewRow> {
    let mut row = NewRow::default();
    let computed =
        table.columns.iter().enumerate().filter_map(|(i, c)| Some((i, c, c.computed.as_ref()?)));
    for (i, column, text) in computed {
        let expr = over_row(binder, table, register, |b| bind_expr(b, &text.tree))?;
        let expr = stored(expr, column)?;
        let ordinal = u16::try_from(i).map_err(|_| Msg::TooManySelectItems(1_024))?;
        row.computed.push((ordinal, register(i), expr));
    }
    for check in table.checks.iter().filter(|c| c.enabled) {
        let expr = over_row(binder, table, register, |b| bind_condition(b, &check.text.tree))?;
        let reads = plan::walk::reads(&expr);
        let concerned = (0..table.columns.len()).any(|i| changes(i) && reads.contains(register(i)));
        if concerned {
            row.checks.push((check.name.clone(), expr));
        }
    }
    for key in table.foreign_keys.iter().filter(|k| k.enabled) {
        if !key.columns.iter().any(|&c| changes(usize::from(c))) {
            continue;
        }
        let database = binder.catalog.database_by_id(table.database_id);
        let referenced = database.and_then(|d| d.table_by_id(key.referenced));
        let Some(referenced) = referenced else { continue };
        let Some(lookup) = lookup(key, referenced, register) else { continue };
        row.foreign.push(lookup);
    }
    Ok(row)
}

/// Finds the unique index by which a foreign key's row is looked up.
fn lookup(
    key: &catalog::ForeignKeyDef,
    referenced: &Arc<TableDef>,
    register: &dyn Fn(usize) -> Register,
) -> Option<Lookup> {
    let place = referenced.indexes.iter().position(|index| {
        index.is_key()
            && index.keys.len() == key.referenced_columns.len()
            && index.keys.iter().all(|(c, _)| key.referenced_columns.contains(c))
    })?;
    let registers = referenced.indexes[place].keys.iter().map(|(column, _)| {
        let at = key.referenced_columns.iter().position(|c| c == column)?;
        Some(register(usize::from(*key.columns.get(at)?)))
    });
    Some(Lookup {
        constraint: key.name.clone(),
        table: Arc::clone(referenced),
        index: u16::try_from(place).ok()?,
        key: registers.collect::<Option<Vec<_>>>()?,
    })
}

/// Binds the computed columns that are computed when read: those that are not PERSISTED and are not
/// deterministic, as they use the clock or a user's function. The other ones are stored in the row.
///
/// # Errors
/// Errors of names in the expressions.
pub fn computed_at_read(
    binder: &mut Binder<'_>,
    table: &Arc<TableDef>,
    first: Register,
) -> Result<Vec<(Register, Expr)>> {
    let mut computed = Vec::new();
    for (i, column) in table.columns.iter().enumerate().filter(|(_, c)| !c.persisted) {
        let Some(text) = &column.computed else { continue };
        let register = |at: usize| first.plus(at);
        let rights = binder.rights.take();
        let bound = over_row(binder, table, &register, |b| bind_expr(b, &text.tree));
        binder.rights = rights;
        let value = bound?;
        let mut is_volatile = false;
        plan::walk::visit(&value, &mut |e| match &e.kind {
            ExprKind::CallUser(_) | ExprKind::NextValue(_) => is_volatile = true,
            ExprKind::Call(function, _) => is_volatile |= !function.deterministic,
            _ => {}
        });
        if is_volatile {
            computed.push((first.plus(i), assign(value, &column.ty, Mode::Implicit)?));
        }
    }
    Ok(computed)
}

/// Returns whether completing the row allows a point statement: no other row is read.
pub(crate) fn is_simple(row: &NewRow) -> bool {
    let plain = |e: &Expr| !plan::walk::has_subquery(e);
    row.foreign.is_empty()
        && row.views.iter().flat_map(|views| &views.predicates).all(plain)
        && row.checks.iter().all(|(_, e)| plain(e))
        && row.computed.iter().all(|(_, _, e)| plain(e))
}
