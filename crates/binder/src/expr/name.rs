//! Column names and variables.

use std::sync::Arc;

use tsql::ast::{ColumnRef, ObjectName, Variable};
use types::value::ColumnType;
use types::{DataType, Error, Length, Msg, Result, Value};

use crate::{Binder, Clause, Found, Source};
use catalog::TableDef;
use catalog::name::Name;
use plan::expr::{Expr, ExprKind, Slot};
use plan::program::VariablePlace;

/// Binds a column: looked up from the innermost query outwards; within a query it must be unique.
///
/// A column of `nodes()` can only be used by methods, which call [`find_column`].
pub(crate) fn bind_column(binder: &mut Binder<'_>, column: &ColumnRef) -> Result<Expr> {
    let found = find_column(binder, column)?;
    match found.kind {
        ExprKind::Column(register) if binder.xml.node_of(register).is_some() => {
            Err(Msg::NodesColumn(column.column.as_str()).into())
        }
        _ => Ok(found),
    }
}

/// Finds a column, including those of `nodes()`.
pub(crate) fn find_column(binder: &mut Binder<'_>, column: &ColumnRef) -> Result<Expr> {
    let name = column.column.as_str();
    let wants_identity = name.eq_ignore_ascii_case("$identity");
    for level in std::iter::once(&mut binder.level).chain(binder.outer.iter_mut().rev()) {
        let mut found = None;
        let mut seen_table = false;
        for (s, source) in level.sources.iter_mut().enumerate() {
            if column.table.as_ref().is_some_and(|table| !names_source(table, source)) {
                continue;
            }
            seen_table = true;
            let of_source = if wants_identity { source.identity() } else { source.find(name) };
            let c = match of_source {
                Found::None => continue,
                Found::One(c) if found.is_none() => c,
                Found::One(_) | Found::Several => return Err(Msg::AmbiguousColumn(name).into()),
            };
            found = Some((s, c));
        }
        if let Some((s, c)) = found {
            if let Some(guard) = &level.sources[s].guard {
                guard.check_read(c, &level.sources[s].columns[c].name)?;
            }
            let column = &mut level.sources[s].columns[c];
            column.used = true;
            return Ok(column.expr());
        }
        if seen_table && column.table.is_some() {
            return unfound(binder, column, Msg::InvalidColumn(name).into());
        }
    }
    let error = match &column.table {
        _ if binder.level.clause == Clause::Constant => Msg::NameNotPermitted(name).into(),
        Some(table) => Msg::MultiPartNotBound(&format!("{table}.{name}")).into(),
        None => Msg::InvalidColumn(name).into(),
    };
    unfound(binder, column, error)
}

/// Handles a column that is not found: where such errors are collected, NULL replaces it.
fn unfound(binder: &mut Binder<'_>, column: &ColumnRef, error: Error) -> Result<Expr> {
    let Some(errors) = &mut binder.unfound else { return Err(error) };
    errors.push((column.column.span.start, error));
    Ok(Expr::constant(Value::Null, DataType::Int))
}

/// Returns whether a qualifier refers to this source: its alias, or its table by one or more name
/// parts.
pub fn names_source(qualifier: &ObjectName, source: &Source) -> bool {
    if qualifier.database.is_some() || qualifier.schema.is_some() {
        let Some(schema) = &source.schema else { return false };
        let is_schema = |written| Name::same(written, schema);
        return qualifier.schema.as_deref().is_none_or(is_schema)
            && Name::same(&qualifier.object, &source.alias);
    }
    Name::same(&qualifier.object, &source.alias)
}

/// Binds a variable: a declared one, or a function such as `@@ROWCOUNT`.
pub(crate) fn bind_variable(binder: &mut Binder<'_>, variable: &Variable) -> Result<Expr> {
    if let Some((_, value)) = binder.given.iter().find(|(n, _)| Name::same(n, &variable.name)) {
        return Ok(value.clone());
    }
    if let Some((slot, ty)) = find_variable(binder, &variable.name) {
        return Ok(Expr::new(ExprKind::Variable(slot), ty));
    }
    if variable.is_global() {
        return super::call::bind_global(binder, &variable.name);
    }
    Err(Msg::MustDeclareScalar(&variable.name).into())
}

/// Finds a declared scalar variable by its name, including the `@`.
pub fn find_variable(binder: &Binder<'_>, name: &str) -> Option<(Slot, ColumnType)> {
    let index = match binder.names {
        Some(names) => match names.get(&Name::folded(name))? {
            VariablePlace::Scalar(place) => *place,
            VariablePlace::Table(_) => return None,
        },
        None => binder.variables.iter().position(|v| Name::same(&v.name, name))?,
    };
    binder.variables.get(index).filter(|variable| !variable.cursor)?;
    let slot = Slot(u32::try_from(index).ok()?);
    Some((slot, binder.variables[index].ty))
}

impl Binder<'_> {
    /// Finds a table variable by its name, including the `@`.
    pub fn table_variable(&self, name: &str) -> Option<(u32, Arc<TableDef>)> {
        let place = match self.names {
            Some(names) => match names.get(&Name::folded(name))? {
                VariablePlace::Table(place) => *place,
                VariablePlace::Scalar(_) => return None,
            },
            None => self.table_variables.iter().position(|v| Name::same(&v.name, name))?,
        };
        let slot = u32::try_from(place).ok()?;
        Some((slot, Arc::clone(&self.table_variables.get(place)?.definition)))
    }
}

/// Adds the check that a value assigned to a variable declared NOT NULL is not NULL.
///
/// # Errors
/// No error here: a NULL is error 11554 when the value is computed.
pub fn check_not_null(value: Expr, variable: &str, ty: &ColumnType) -> Result<Expr> {
    if ty.nullable || !value.ty.nullable {
        return Ok(value);
    }
    let function =
        functions::find(functions::not_null::NOT_NULL).expect("the library has this function");
    let name = Value::nvarchar(variable);
    let name = Expr::constant(name, DataType::NVarChar(Length::Limited(128)));
    let mut arguments = vec![value, name];
    let ty = (function.bind)(&mut arguments)?;
    Ok(Expr::new(ExprKind::Call(function, arguments.into()), ty))
}
