//! The binder: converts syntax trees to bound trees, against one catalog snapshot.
//!
//! It is pure: it reads the catalog and the session's names, and changes neither. One [`Binder`]
//! binds one leaf of a program (a data statement, or one expression of a control statement).
//!
//! - `expr/` binds scalar expressions (types, implicit conversions, functions, subqueries);
//! - `query/` binds SELECT, `dml/` the data-changing statements;
//! - `require.rs` checks the permissions that a statement needs;
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
mod level;
mod names;
pub mod parameter;
pub mod program;
pub mod query;
pub mod require;
mod scope;
pub mod simple;
mod statement;
pub mod types;

pub use statement::{bind_scalar, bind_statement};
pub use statement::{new_shape, shape_of};

use std::cell::Cell;
use std::mem;
use std::sync::Arc;

pub use context::BinderContext;
pub use level::{Clause, Level, OrderedValue, Source, SourceColumn, ViewSource};
pub use names::{Found, NamePlaces};
pub use scope::{Cte, CteScope};

use ::types::{Msg, Result};

use catalog::options::Meaning;
use catalog::options::Options;
use catalog::security::{Owner, Rights};
use catalog::{Catalog, Database, TableDef, Unqualified};
use plan::depth;
use plan::expr::Expr;
use plan::program::{TableVariableDef, VariableDef, VariableNames};
use plan::view::Library;
use tsql::ast::ObjectName;

/// Height up to which the remaining stack is not checked.
const TALL_BYTES: usize = 64 * depth::EXPR_BYTES;

/// Binds one leaf of a program.
pub struct Binder<'a> {
    /// Snapshot of the catalog.
    pub catalog: &'a Arc<Catalog>,
    /// This server's name, the first of four parts.
    pub(crate) server: &'a str,
    /// Name of the current database.
    pub database: &'a str,
    /// Where names without a schema are looked up before dbo.
    pub unqualified: Unqualified<'a>,
    /// Permissions of the principal; `None` if they need no check.
    pub rights: Option<&'a Rights>,
    /// The owner of the module that is being bound: no permission is checked on that owner's
    /// objects.
    pub chain: Option<Owner>,
    /// Set if a module's plan depends on its caller: it is not stored.
    pub unchained: Cell<bool>,
    /// The synonym that names the target of the statement, if its permissions are those for OUTPUT.
    pub synonym: Option<require::Guarded>,
    /// SET options of the session, such as DATEFORMAT.
    pub options: &'a Options,
    /// Options that the meaning of expressions depends on; within a module, those of its creation.
    pub meaning: Meaning,
    /// Variables of the program.
    pub variables: &'a [VariableDef],
    /// Arguments of the inline function that is being expanded, by parameter name.
    pub given: Vec<(String, Expr)>,
    /// Table variables of the program.
    pub table_variables: &'a [TableVariableDef],
    /// Places of these and of the variables, if they are many.
    pub names: Option<&'a VariableNames>,
    /// Finds temporary tables (`#t`, `##t`) of the session by name.
    pub temp_tables: &'a dyn Fn(&str) -> Option<Arc<TableDef>>,
    /// Built-in functions, views and procedures.
    pub library: &'a dyn Library,
    /// The innermost query level: names are looked up in it, then in `outer`.
    pub level: Level,
    /// The levels around it, the outermost first. Only `within` and `apart` change them.
    outer: Vec<Level>,
    /// Number of registers allocated.
    pub registers: u32,
    /// Number of scan row numbers allocated.
    pub rows: u32,
    /// Set if the plan depends on the session (temporary tables): it is not stored.
    pub session_bound: bool,
    /// Depth of nested views and subqueries, bounded by `NESTING_MAX`.
    pub depth: u32,
    /// Number of expressions, conditions, queries and sources bound so far.
    pub size: u32,
    /// Number of views, inline functions and references to common table expressions expanded so
    /// far.
    unfolded: u32,
    /// Stack for the deepest part bound so far in the current part, in bytes: see [`plan::depth`].
    pub height: usize,
    /// Common table expressions in scope.
    pub ctes: CteScope,
    /// Names that the methods of `xml` can refer to.
    pub xml: expr::XmlScope,
    /// OPTION (MAXRECURSION n) of the statement.
    pub recursion_max: Option<u32>,
    /// Storage from which the optimizer samples tables.
    pub store: &'a Arc<storage::Store>,
    /// Is set once the client cancels the request.
    pub cancel: &'a sos::park::Cancel,
    /// How much the optimizer does.
    pub optimization: optimizer::Level,
    /// Query hints and join hints for the optimizer.
    pub hints: optimizer::Hints,
    /// Whether the statement contains a subquery.
    pub subqueries: bool,
    /// Whether the statement assigns variables for each row.
    pub assigns: bool,
    /// Whether the statement uses NEXT VALUE FOR.
    pub takes_values: bool,
    /// Number of numbers allocated to subqueries that run once.
    pub once: u32,
    /// WITH CHECK OPTION conditions of the views bound so far.
    pub view_checks: Vec<Expr>,
    /// Rows of the nested statement in the FROM of an INSERT's SELECT.
    pub nested: Option<dml::NestedRows>,
    /// Whether a view's or function's definition is being bound.
    pub in_view: bool,
    /// FOR SYSTEM_TIME of the view or table that is being bound.
    pub system_time: Option<query::SystemTime>,
    /// Errors for columns that are not found, with their positions in the text; `None` if the first
    /// such error ends binding.
    pub unfound: Option<Vec<(u32, ::types::Error)>>,
    /// The last database whose collation was looked up, with that collation.
    pub known_collation: Cell<Option<(&'a str, ::types::Collation)>>,
}

/// Parts of a statement that are bound between two checks for the quantum and for cancellation.
const PARTS_PER_CHECK: u32 = 64;

impl Binder<'_> {
    /// Runs `bind` for a part that is `bytes` higher than the highest of its children. A height is
    /// the stack that passes over the tree need.
    ///
    /// # Errors
    /// 8631 if less stack is left, or recursion may go no deeper; errors of `bind`; an error that stops the
    /// request if its client has cancelled it.
    pub fn part<T>(
        &mut self,
        bytes: usize,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        depth::descend()?;
        self.size = self.size.saturating_add(1);
        if self.size.is_multiple_of(PARTS_PER_CHECK) {
            sos::sched::yield_if_quantum_due();
            if self.cancel.is_set() {
                return Err(plan::stop::cancelled());
            }
        }
        let beside = mem::take(&mut self.height);
        let bound = bind(self);
        let grown = self.grow(bytes);
        self.height = self.height.max(beside);
        let bound = bound?;
        grown.map(|()| bound)
    }

    /// Returns the schema of an object's name in a database: that written, else the one in which it
    /// is found.
    pub fn schema_of<'n>(&self, database: &'n Database, name: &'n ObjectName) -> &'n str {
        let first = self.unqualified.schema_in(database);
        database.schema_of_object(name.schema.as_deref(), first, &name.object)
    }

    /// Returns the parts of the statement's state that the optimizer needs.
    pub fn statement(&mut self) -> optimizer::Statement<'_> {
        optimizer::Statement {
            level: self.optimization,
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

    /// Counts an expansion of a view, an inline function or a reference to a common table
    /// expression.
    ///
    /// # Errors
    /// 8623 for too many.
    pub fn unfold(&mut self) -> Result<()> {
        self.unfolded += 1;
        if self.unfolded > depth::UNFOLDED_MAX { Err(Msg::NoPlan.into()) } else { Ok(()) }
    }

    /// Adds `bytes` to the height of the part that is being bound: one level of a chain.
    ///
    /// # Errors
    /// 8631 if less stack than its height is left.
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        self.height = self.height.saturating_add(bytes);
        if self.height > TALL_BYTES { depth::require(self.height) } else { Ok(()) }
    }

    /// Binds in a new innermost level; the levels around it stay in scope.
    pub fn within<T>(&mut self, level: Level, bind: impl FnOnce(&mut Self) -> T) -> T {
        self.outer.push(mem::replace(&mut self.level, level));
        let bound = bind(self);
        self.level = self.outer.pop().expect("the level around this one was pushed above");
        bound
    }

    /// Binds with no level in scope: no column of the query around the text is found.
    pub(crate) fn apart<T>(&mut self, bind: impl FnOnce(&mut Self) -> T) -> T {
        let outer = mem::take(&mut self.outer);
        let level = mem::take(&mut self.level);
        let bound = bind(self);
        self.level = level;
        self.outer = outer;
        bound
    }

    /// Binds with the sources of the innermost level out of scope.
    pub(crate) fn without_sources<T>(&mut self, bind: impl FnOnce(&mut Self) -> T) -> T {
        let sources = mem::take(&mut self.level.sources);
        let bound = bind(self);
        self.level.sources = sources;
        bound
    }

    /// Returns all levels, the innermost first.
    pub(crate) fn levels(&self) -> impl Iterator<Item = &Level> {
        std::iter::once(&self.level).chain(self.outer.iter().rev())
    }

    /// Returns the level that is `distance` levels out from the innermost one.
    pub(crate) fn level_mut(&mut self, distance: usize) -> &mut Level {
        match distance {
            0 => &mut self.level,
            _ => {
                let place = self.outer.len() - distance;
                &mut self.outer[place]
            }
        }
    }
}
