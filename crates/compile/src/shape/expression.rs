//! What the expressions of a table's definition may be: DEFAULT, CHECK and computed columns are bound when
//! they are defined, so that a mistake is an error of CREATE TABLE and not of the first INSERT.

use binder::expr::bind_condition;
use binder::{Binder, Clause};
use plan::expr::{Expr, ExprKind, Register};
use plan::walk;
use tsql::ast;
use types::{Error, Msg, Result};

use super::{Shaper, column};
use crate::binding::over_columns;
use ::catalog::name::Name;
use ::catalog::{DefaultDef, ModuleSchema, Unqualified};

impl Shaper<'_, '_> {
    /// Makes the definition of a DEFAULT.
    pub(super) fn default(
        &self,
        constraint: &ast::Constraint,
        value: &ast::Expr,
        column: &str,
    ) -> Result<DefaultDef> {
        self.check_default(value)?;
        let id = self.cell.next_object_id();
        let (name, system_named) = self.constraint_name(constraint, "DF", column, id);
        Ok(DefaultDef { id, name, text: self.text_of_value(value), system_named })
    }

    /// Gives an existing column a default: `ADD DEFAULT value FOR column`.
    pub(super) fn default_for(
        &mut self,
        constraint: &ast::Constraint,
        value: &ast::Expr,
        column: &ast::Ident,
    ) -> Result<()> {
        let ordinal = usize::from(self.ordinal(column)?);
        if self.columns[ordinal].default.is_some() {
            return Err(Msg::DefaultExists.into());
        }
        column::check_defaulted(&self.columns[ordinal], self.place.name)?;
        self.columns[ordinal].default = Some(self.default(constraint, value, column)?);
        Ok(())
    }

    /// Checks the value of a DEFAULT.
    ///
    /// # Errors
    /// 128 for a column, 175 for an aggregate, 1046 for a subquery, 112 for a variable.
    pub(super) fn check_default(&self, value: &ast::Expr) -> Result<()> {
        let bound = binder::dml::defined_default(&mut self.own(), value);
        let bound = bound.map_err(|error| self.of_variable(error))?;
        self.check_parts(&bound)
    }

    /// Checks the condition of a CHECK; `own` is the column whose definition contains it.
    ///
    /// # Errors
    /// 8141 for another column than its own, 175, 1046 and 112 as for a DEFAULT, and errors of names.
    pub(super) fn check_condition(
        &self,
        condition: &ast::Condition,
        own: Option<&ast::Ident>,
    ) -> Result<()> {
        let bind = |binder: &mut Binder<'_>| {
            binder.level.clause = Clause::Definition;
            for source in &mut binder.level.sources {
                source.schema = Some(self.place.schema.1.as_str().into());
            }
            bind_condition(binder, condition)
        };
        let bound = over_columns(&mut self.own(), self.place.name, &self.columns, bind);
        let bound = bound.map_err(|error| self.of_variable(error))?;
        self.check_parts(&bound)?;
        let Some(own) = own else { return Ok(()) };
        let read = walk::reads(&bound);
        let others = (0_u32..).zip(&self.columns);
        let mut others = others.filter(|(_, column)| !Name::same(&column.name, own));
        match others.any(|(at, _)| read.contains(Register(at))) {
            true => Err(Msg::ConstraintOtherColumn("CHECK", own, self.place.name).into()),
            false => Ok(()),
        }
    }

    /// Checks the expression of a computed column, which was bound over the columns before it.
    ///
    /// # Errors
    /// 1759 for another computed column, 1046 and 112 as for a DEFAULT.
    pub(super) fn check_computed(&self, bound: &Expr) -> Result<()> {
        self.check_parts(bound)?;
        let read = walk::reads(bound);
        let mut columns = (0_u32..).zip(&self.columns);
        let computed =
            columns.find(|(at, column)| column.computed.is_some() && read.contains(Register(*at)));
        match computed {
            Some((_, column)) => Err(Msg::ComputedInComputed(&column.name, self.place.name).into()),
            None => Ok(()),
        }
    }

    /// Returns a binder whose names are those of the table's database. A temporary table has those of the session.
    pub(super) fn own(&self) -> Binder<'_> {
        let mut binder = self.binder.child();
        if self.place.database_id != ::catalog::table::TEMPDB
            && let Some(own) = self.binder.catalog.database_by_id(self.place.database_id)
        {
            binder.database = own.name.as_str();
            let (database, schema) = (self.place.database_id, self.place.schema.0);
            binder.unqualified = Unqualified::Module(ModuleSchema { database, schema });
        }
        binder
    }

    /// Turns the error of an unknown variable, which every variable is in a definition, into 112.
    fn of_variable(&self, error: Error) -> Error {
        let statement = if self.adopted > 0 { "ALTER TABLE" } else { "CREATE TABLE" };
        if error.number == 137 { Msg::VariablesNotAllowed(statement).into() } else { error }
    }

    /// Returns error 1046 for a subquery.
    fn check_parts(&self, bound: &Expr) -> Result<()> {
        let mut wrong = None;
        walk::visit(bound, &mut |expr| match expr.kind {
            ExprKind::ScalarSubquery(_) | ExprKind::Exists(_) | ExprKind::Quantified(_) => {
                wrong = wrong.take().or(Some(Msg::SubqueryNotAllowed));
            }
            _ => {}
        });
        wrong.map_or(Ok(()), |wrong| Err(wrong.into()))
    }
}
