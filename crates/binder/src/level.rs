//! Query levels: the sources of a FROM clause, and what one SELECT collects during binding.
//!
//! A binder always has an innermost level. Before any query it is an empty one, in which no column
//! is found and no aggregate is allowed. [`Binder::within`] enters a level for a nested query and
//! leaves it again; [`Binder::apart`] binds text that sees no name of the query around it.

use std::mem;

use crate::expr::OrderedValue;
use crate::{Binder, Source};
use plan::expr::Register;
use plan::query::{AggregateCall, WindowCall};
use tsql::ast;

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
    /// Definitions of the WINDOW clause.
    pub named: Vec<(ast::Ident, ast::Over)>,
}

/// The clause that is being bound.
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

impl Level {
    /// Returns a level with one source.
    pub fn of(source: Source) -> Self {
        Self { sources: vec![source], ..Self::default() }
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

impl Binder<'_> {
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
