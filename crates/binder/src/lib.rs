//! The binder: syntax trees to bound trees, against one catalog snapshot.
//!
//! Pure: it reads the catalog and the session's names, and changes neither. One [`Binder`] binds one
//! leaf of a program (a data statement, or one expression of a control statement).
//!
//! - `expr/` binds scalar expressions (types, implicit conversions, functions, subqueries);
//! - `query/` binds SELECT, `dml/` the data-changing statements;
//! - `require.rs` checks what a statement asks of the login's rights;
//! - `program.rs` compiles a batch's control flow and variables.
#![forbid(unsafe_code)]

mod atomic;
mod context;
pub mod dml;
mod export;
pub mod expr;
pub mod external;
pub mod fragment;
pub mod hint;
pub mod program;
pub mod query;
pub mod require;
pub mod simple;
mod statement;
pub mod types;

pub use atomic::check_atomic_options;
pub use statement::{bind_scalar, bind_statement};
pub use statement::{new_shape, shape_of};

use std::cell::Cell;
use std::sync::Arc;

use smol_str::SmolStr;

pub use context::BinderContext;

use ::types::value::ColumnType;
use ::types::{Msg, Result};

use catalog::options::Meaning;
use catalog::options::Options;
use catalog::security::{Owner, Rights};
use catalog::{Catalog, ModuleDef, TableDef};
use plan::depth;
use plan::expr::{Expr, Register};
use plan::program::{TableVariableDef, VariableDef};
use plan::query::AggregateCall;
use plan::sink::Traits;
use plan::view::Library;

/// A height up to which the stack is not asked whether it has room for it.
const TALL_BYTES: usize = 64 * depth::EXPR_BYTES;

/// Binds one leaf.
pub struct Binder<'a> {
    /// The catalog snapshot.
    pub catalog: &'a Arc<Catalog>,
    /// Current database.
    pub database: &'a str,
    /// What the login may do; none where it need not be asked.
    pub rights: Option<&'a Rights>,
    /// The owner of the module that is being bound: nothing is asked about what it owns itself.
    pub chain: Option<Owner>,
    /// Set where the plan of a module depends on who calls it: it is not kept.
    pub unchained: Cell<bool>,
    /// SET options that change meaning (QUOTED_IDENTIFIER, ANSI_NULLS, DATEFORMAT, ..).
    pub options: &'a Options,
    /// What of them its expressions go by: within a module, as it was created.
    pub meaning: Meaning,
    /// Variables of the program.
    pub variables: &'a [VariableDef],
    /// What the parameters of the inline function are that is being unfolded.
    pub given: Vec<(String, Expr)>,
    /// Table variables of the program.
    pub table_variables: &'a [TableVariableDef],
    /// Finds temporary tables (`#t`, `##t`) of the session by name.
    pub temp_tables: &'a dyn Fn(&str) -> Option<Arc<TableDef>>,
    /// Functions and views of the server.
    pub library: &'a dyn Library,
    /// Query levels, innermost last: a name is looked up from the last to the first.
    pub levels: Vec<Level>,
    /// Registers given out so far.
    pub registers: u32,
    /// Scan row numbers given out so far.
    pub rows: u32,
    /// Set when the plan depends on the session (temporary tables): it is not kept.
    pub session_bound: bool,
    /// Depth of nested views and subqueries, bounded by `NESTING_MAX`.
    pub depth: u32,
    /// Expressions, conditions, queries and sources bound so far.
    pub size: u32,
    /// Views, inline functions and references of common table expressions unfolded so far.
    unfolded: u32,
    /// Stack that the deepest of what was bound at this level needs, in bytes: see [`plan::depth`].
    pub height: usize,
    /// Common table expressions in scope, innermost last.
    pub ctes: Vec<Cte>,
    /// What the methods of `xml` refer to.
    pub xml: expr::XmlScope,
    /// OPTION (MAXRECURSION n) of the statement.
    pub recursion_max: Option<u32>,
    /// Where the optimizer reads samples of tables.
    pub store: &'a Arc<storage::Store>,
    /// How much is optimized.
    pub level: optimizer::Level,
    /// What OPTION and join hints ask of the optimizer.
    pub hints: optimizer::Hints,
    /// Whether a subquery was met.
    pub subqueries: bool,
    /// Whether the statement assigns variables as it goes through its rows.
    pub assigns: bool,
    /// Whether a value of a sequence was asked for.
    pub takes_values: bool,
    /// Numbers given to subqueries that are run once.
    pub once: u32,
    /// What WITH CHECK OPTION of the views met so far asks.
    pub view_checks: Vec<Expr>,
    /// The rows of the nested statement that the FROM of an INSERT's SELECT is.
    pub nested: Option<dml::NestedRows>,
    /// Whether the definition of a view or function is being bound.
    pub in_view: bool,
    /// FOR SYSTEM_TIME of the view, or the table, that is being bound.
    pub system_time: Option<query::SystemTime>,
    /// Where columns that are not found are gathered, with their places in the text: none where the first of
    /// them ends the work.
    pub unfound: Option<Vec<(u32, ::types::Error)>>,
    /// The database whose collation was asked for last, and that.
    pub known_collation: Cell<Option<(&'a str, ::types::Collation)>>,
}

impl Binder<'_> {
    /// Runs `bind` for a part that is `bytes` higher than the highest of its own parts; a height is the stack that passes
    /// over the tree take.
    ///
    /// # Errors
    /// 8631 if the stack that is left is less than that, or recursion may go no deeper; those of `bind`.
    pub fn part<T>(
        &mut self,
        bytes: usize,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        depth::descend()?;
        self.size = self.size.saturating_add(1);
        let beside = std::mem::take(&mut self.height);
        let bound = bind(self);
        let grown = self.grow(bytes);
        self.height = self.height.max(beside);
        let bound = bound?;
        grown.map(|()| bound)
    }

    /// Lends the optimizer what it needs of the statement.
    pub fn statement(&mut self) -> optimizer::Statement<'_> {
        optimizer::Statement {
            level: self.level,
            registers: &mut self.registers,
            once: &mut self.once,
            hints: self.hints,
            subqueries: self.subqueries,
            assigns: self.assigns,
            size: self.size,
            unkept: &mut self.session_bound,
            store: self.store,
        }
    }

    /// Counts a view, an inline function or a reference of a common table expression that is to be unfolded.
    ///
    /// # Errors
    /// 8623 for too many.
    pub fn unfold(&mut self) -> Result<()> {
        self.unfolded += 1;
        if self.unfolded > depth::UNFOLDED_MAX { Err(Msg::NoPlan.into()) } else { Ok(()) }
    }

    /// Adds `bytes` to the height of the part that is being bound: a level of a chain.
    ///
    /// # Errors
    /// 8631 if the stack that is left is less than its height.
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        self.height = self.height.saturating_add(bytes);
        if self.height > TALL_BYTES { depth::require(self.height) } else { Ok(()) }
    }

    /// Makes a binder for a piece of text of its own (a default, a computed column) over the same
    /// names, with no tables in scope.
    pub fn child(&self) -> Binder<'_> {
        Binder {
            catalog: self.catalog,
            database: self.database,
            rights: None,
            chain: None,
            unchained: Cell::new(false),
            options: self.options,
            meaning: self.meaning,
            variables: &[],
            given: Vec::new(),
            table_variables: &[],
            temp_tables: self.temp_tables,
            library: self.library,
            levels: Vec::new(),
            registers: 0,
            rows: 0,
            session_bound: false,
            depth: self.depth,
            size: 0,
            unfolded: 0,
            height: 0,
            ctes: Vec::new(),
            xml: expr::XmlScope::default(),
            recursion_max: None,
            store: self.store,
            level: self.level,
            hints: self.hints,
            subqueries: false,
            assigns: false,
            takes_values: false,
            once: 0,
            view_checks: Vec::new(),
            nested: None,
            in_view: false,
            system_time: None,
            unfound: None,
            known_collation: Cell::new(None),
        }
    }
}

/// A common table expression in scope.
#[derive(Clone)]
pub struct Cte {
    /// Its name.
    pub name: String,
    /// Its column list, if it has one.
    pub columns: Vec<String>,
    /// Its query.
    pub query: Arc<tsql::ast::QueryExpression>,
    /// For a recursive reference: work table id and columns.
    pub recursive: Option<(u32, Vec<(String, ColumnType)>)>,
}

/// The tables of one FROM clause and what its SELECT collects while it is bound.
#[derive(Default)]
pub struct Level {
    /// The tables, left to right.
    pub sources: Vec<Source>,
    /// Which clause is being bound: decides whether aggregates and windows are allowed.
    pub clause: Clause,
    /// Aggregates met so far; each has got a register.
    pub aggregates: Vec<AggregateCall>,
    /// Window functions met so far.
    pub windows: Vec<plan::query::WindowCall>,
    /// Grouping keys of GROUP BY, bound, and the registers that stand for them after grouping.
    pub groups: Vec<(Expr, Register)>,
    /// `inserted` and `deleted` of OUTPUT and triggers are sources with these aliases; none here
    /// means that the level has no such rows.
    pub has_output: bool,
    /// Whether this is the level of a SELECT, not that of another statement.
    pub is_spec: bool,
    /// NEXT VALUE FOR .. OVER met so far.
    pub next_values: Vec<expr::OrderedValue>,
    /// Windows of the WINDOW clause.
    pub named: Vec<(tsql::ast::Ident, tsql::ast::Over)>,
}

/// Which clause is being bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clause {
    /// FROM, ON, WHERE, VALUES, SET..: no aggregates (147), no windows (4108).
    #[default]
    Plain,
    /// GROUP BY: no aggregates.
    GroupBy,
    /// HAVING: aggregates but no windows.
    Having,
    /// SELECT list and ORDER BY: both.
    Output,
}

/// A table, view, derived table or function of a FROM clause.
#[derive(Default)]
pub struct Source {
    /// Alias, or the table's name.
    pub alias: SmolStr,
    /// Schema, where the name was qualified or known and no alias given.
    pub schema: Option<SmolStr>,
    /// Columns: name, type, register. Registers of unused columns are never filled: see `used`.
    pub columns: Vec<SourceColumn>,
    /// Register numbers are given when a column is first used, so that scans decode no more than that.
    pub table: Option<Arc<TableDef>>,
    /// The view, if it is one.
    pub view: Option<ViewSource>,
    /// What may be done with its columns, where that is not the same for all.
    pub guard: Option<Arc<catalog::security::Guard>>,
}

impl Source {
    /// Checks that all of its columns may be read.
    ///
    /// # Errors
    /// 230 for the first that may not.
    pub fn check_reads(&self) -> ::types::Result<()> {
        let Some(guard) = &self.guard else { return Ok(()) };
        let mut columns = self.columns.iter().enumerate();
        columns.try_for_each(|(place, column)| guard.check_read(place, &column.name))
    }
}

/// A view that is a source.
pub struct ViewSource {
    /// Its definition.
    pub module: Arc<ModuleDef>,
    /// What WITH CHECK OPTION asks of a row that is written through it, over the registers of the
    /// tables behind it.
    pub checks: Vec<Expr>,
    /// Whether it has such conditions and joins tables.
    pub joined: bool,
}

impl SourceColumn {
    /// Returns its value: the literal NULL, where that is what it is in every row.
    pub fn expr(&self) -> Expr {
        if self.traits.untyped {
            return Expr::constant(::types::Value::Null, ::types::DataType::Int);
        }
        Expr::new(plan::expr::ExprKind::Column(self.register), self.ty)
    }
}

/// A column of a source.
pub struct SourceColumn {
    /// Its name.
    pub name: SmolStr,
    /// Its type.
    pub ty: ColumnType,
    /// Where its value is.
    pub register: Register,
    /// Whether any expression has used it.
    pub used: bool,
    /// What it is beside its type, for result metadata.
    pub traits: Traits,
}
