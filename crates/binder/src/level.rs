//! Query levels: the sources of a FROM clause, and what one SELECT collects during binding.
//!
//! A binder always has an innermost level. Before any query it is an empty one, in which no column
//! is found and no aggregate is allowed. `Binder::within` enters a level for a nested query and
//! leaves it again; `Binder::apart` binds text that sees no name of the query around it.

use std::sync::Arc;

use smol_str::SmolStr;
use tsql::ast;
use types::Msg;
use types::value::ColumnType;

use crate::names::{Found, NamePlaces};
use catalog::name::Name;
use catalog::security::Guard;
use catalog::{ModuleDef, TableDef};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{AggregateCall, SortKey, WindowCall};
use plan::sink::Traits;

/// The value of `NEXT VALUE FOR s OVER (ORDER BY ..)`, which rows get in an order: its register, the
/// expression, and the sort keys.
pub type OrderedValue = (Register, Expr, Vec<SortKey>);

/// One query level: the sources of a FROM clause, and what its SELECT collects during binding.
#[derive(Default)]
pub struct Level {
    /// Sources in the order of FROM.
    pub sources: Vec<Source>,
    /// The clause that is being bound; it determines whether aggregates and windows are allowed.
    pub clause: Clause,
    /// Aggregates found so far, each with its register.
    pub aggregates: Vec<AggregateCall>,
    /// Window functions found so far.
    pub windows: Vec<WindowCall>,
    /// Whether this is the level of a SELECT, not of another statement.
    pub is_spec: bool,
    /// NEXT VALUE FOR .. OVER found so far.
    pub next_values: Vec<OrderedValue>,
    /// Whether GROUPING or GROUPING_ID is called.
    pub asks_grouping: bool,
    /// Definitions of the WINDOW clause.
    pub named: Vec<(ast::Ident, ast::Over)>,
}

/// The clause that is being bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clause {
    /// FROM, WHERE, VALUES ..: no aggregates (147), no windows (4108).
    #[default]
    Plain,
    /// ON of a join: no aggregates (1015).
    On,
    /// The SET list of UPDATE: no aggregates (157).
    Set,
    /// OUTPUT of a statement that changes data: no aggregates (158).
    Changed,
    /// A computed column or CHECK: no aggregates (175).
    Definition,
    /// DEFAULT of a column: no aggregates (175), no columns (128).
    Constant,
    /// An argument of an aggregate: neither aggregates (130) nor windows (4109).
    Argument,
    /// An argument or the OVER of a window function: no windows (4109).
    Window,
    /// GROUP BY: no aggregates.
    GroupBy,
    /// HAVING: aggregates but no windows.
    Having,
    /// SELECT list and ORDER BY: both.
    Output,
}

impl Level {
    /// Returns a level with one source.
    pub fn of(source: Source) -> Self {
        Self { sources: vec![source], ..Self::default() }
    }

    /// Adds a source behind the others.
    ///
    /// # Errors
    /// 1011 for an alias that is there, 1012 for one that is a table's name, 1013 for a table that is there.
    pub(crate) fn add(&mut self, source: Source) -> types::Result<()> {
        let same = |other: &&Source| Name::same(&other.alias, &source.alias);
        for other in self.sources.iter().filter(same) {
            let alias = &source.alias;
            match (&other.schema, &source.schema) {
                (Some(a), Some(b)) if !Name::same(a, b) => {}
                (Some(_), Some(_)) => return Err(Msg::SameExposedNames(alias, alias).into()),
                (None, None) => return Err(Msg::CorrelationTwice(alias).into()),
                _ => return Err(Msg::CorrelationIsTable(alias, alias).into()),
            }
        }
        self.sources.push(source);
        Ok(())
    }

    /// Returns the source that was bound last.
    pub(crate) fn last(&self) -> &Source {
        self.sources.last().expect("a bound table of FROM is a source of its level")
    }

    /// Returns the source that was bound last, to change it.
    pub(crate) fn last_mut(&mut self) -> &mut Source {
        self.sources.last_mut().expect("a bound table of FROM is a source of its level")
    }

    /// Returns whether one of the level's sources has a column in this register.
    pub(crate) fn has(&self, register: Register) -> bool {
        let mut columns = self.sources.iter().flat_map(|source| &source.columns);
        columns.any(|column| column.register == register)
    }
}

/// A table, view, derived table or function of a FROM clause.
#[derive(Default)]
pub struct Source {
    /// Alias, or the table's name.
    pub alias: SmolStr,
    /// Schema, if the name was qualified or resolved, and no alias given.
    pub schema: Option<SmolStr>,
    /// Columns: name, type, register. Registers of unused columns are never filled: see `used`.
    pub columns: Vec<SourceColumn>,
    /// Definition of a table; `None` for any other source.
    pub table: Option<Arc<TableDef>>,
    /// The view behind the source, if there is one.
    pub view: Option<ViewSource>,
    /// Column permissions, if they differ between its columns.
    pub guard: Option<Arc<Guard>>,
    /// Places of the columns by name.
    pub places: NamePlaces,
}

impl Source {
    /// Checks that the column of a register may be read.
    ///
    /// # Errors
    /// 229, or 230 for the column.
    pub fn check_read(&self, register: Register) -> types::Result<()> {
        let Some(guard) = &self.guard else { return Ok(()) };
        let mut columns = self.columns.iter().enumerate().filter(|(_, c)| c.register == register);
        columns.try_for_each(|(place, column)| guard.check_read(place, &column.name))
    }

    /// Finds a column by its name.
    pub(crate) fn find(&mut self, name: &str) -> Found {
        self.places.find(self.columns.iter().map(|column| column.name.as_str()), name)
    }

    /// Finds its identity column.
    pub(crate) fn identity(&self) -> Found {
        let identities = self.columns.iter().enumerate().filter(|(_, c)| c.traits.identity);
        identities.fold(Found::None, |found, (place, _)| found.and(place))
    }

    /// Checks that all of its columns may be read.
    ///
    /// # Errors
    /// 230 for the first that may not.
    pub fn check_reads(&self) -> types::Result<()> {
        let Some(guard) = &self.guard else { return Ok(()) };
        let mut columns = self.columns.iter().enumerate();
        columns.try_for_each(|(place, column)| guard.check_read(place, &column.name))
    }
}

/// A view as a source.
pub struct ViewSource {
    /// Definition of the view.
    pub module: Arc<ModuleDef>,
    /// Conditions of WITH CHECK OPTION for a row written through the view, over registers of the
    /// tables behind it.
    pub checks: Vec<Expr>,
    /// Whether it has such conditions and joins tables.
    pub joined: bool,
}

impl SourceColumn {
    /// Returns the column as an expression: its register, or the literal NULL if it is untyped.
    pub fn expr(&self) -> Expr {
        if self.traits.untyped {
            return Expr::constant(types::Value::Null, types::DataType::Int);
        }
        Expr::new(ExprKind::Column(self.register), self.ty)
    }
}

/// A column of a source.
pub struct SourceColumn {
    /// Name of the column.
    pub name: SmolStr,
    /// Type of the column.
    pub ty: ColumnType,
    /// Register of its value.
    pub register: Register,
    /// Whether any expression uses it.
    pub used: bool,
    /// Properties besides the type, for result metadata.
    pub traits: Traits,
}
