//! Binds queries: SELECT, its clauses, and set operations.
//!
//! A query becomes one tree of operators. FROM and WHERE are bound as written; the optimizer makes
//! a plan of the complete statement.
//!
//! - `spec.rs` binds one SELECT; `from.rs` its sources, `sample.rs` TABLESAMPLE; `group.rs`
//!   rewrites expressions above GROUP BY;
//! - `cte.rs` binds WITH, recursion included; `set.rs` binds UNION, EXCEPT and INTERSECT.

mod bulk;
mod check_option;
mod cte;
mod document;
mod explicit;
mod from;
mod function;
mod group;
mod hints;
mod order;
mod pivot;
mod recursion;
mod sample;
mod set;
mod spec;
mod temporal;

use tsql::ast::{self, QueryBody, QueryExpression};
use types::{Msg, Result};

use super::Binder;
use plan::depth;
use plan::document::WhenEmpty;
use plan::expr::Register;
use plan::query::Query;

pub use cte::declare as declare_ctes;
pub use document::bind as bind_document;
pub use from::{
    Lateral, Resolved, SourceName, add_table_source, bind_from, bind_named_source, bind_table_ref,
    guard_target, resolve_table,
};
pub use function::{Given, bind_inline, column_type};
pub use hints::scan_hints;
pub use order::require_no_order;
pub use spec::{bind_spec_parts, compound, top_of, traits_of};
pub use temporal::SystemTime;

/// Maximum nesting of expressions, subqueries, views, derived tables and CTEs that expand into each
/// other.
const NESTING_MAX: u32 = 512;
/// Stack for the operators of one SELECT's clauses: filters, an aggregate, windows, a sort and the
/// like.
const LEVEL_BYTES: usize = 8 * depth::NODE_BYTES;

/// Binds a query expression in a new level: a subquery, a derived table, the source of INSERT.
///
/// # Errors
/// Those of names (207, 208, 209, 4104), types and clauses.
pub fn bind_query(binder: &mut Binder<'_>, query: &QueryExpression) -> Result<Query> {
    deeper(binder, |binder| match &query.for_clause {
        Some(clause) => document::bind(binder, query, clause, WhenEmpty::Null),
        None => bind_body(binder, &query.body, &query.order_by, query.offset.as_ref()),
    })
}

/// Binds a subquery. No outer expression reads its registers, so unread columns are removed.
///
/// # Errors
/// As [`bind_query`].
pub fn bind_subquery(binder: &mut Binder<'_>, query: &QueryExpression) -> Result<Query> {
    order::require_no_order(query)?;
    let mut query = bind_query(binder, query)?;
    binder.subqueries = true;
    optimizer::prune_query(&mut query);
    Ok(query)
}

/// Binds the query of EXISTS, whose output is never read.
///
/// # Errors
/// As [`bind_query`].
pub fn bind_exists(binder: &mut Binder<'_>, query: &QueryExpression) -> Result<Query> {
    order::require_no_order(query)?;
    let mut query = match starless(query) {
        Some(query) => bind_query(binder, &query)?,
        None => bind_query(binder, query)?,
    };
    query.output.clear();
    binder.subqueries = true;
    optimizer::prune_query(&mut query);
    Ok(query)
}

/// Returns the query of an EXISTS with a constant in place of `*`, where the columns of `*` could
/// not be read: SQL Server does not expand it there.
fn starless(query: &QueryExpression) -> Option<QueryExpression> {
    let QueryBody::Select(select) = &query.body else { return None };
    let is_star = |item: &ast::SelectItem| matches!(item.kind, ast::SelectItemKind::Star);
    let unread = select.from.is_empty() || select.group_by.is_some() || select.having.is_some();
    if !unread || !select.items.iter().any(is_star) {
        return None;
    }
    let mut query = query.clone();
    if let QueryBody::Select(select) = &mut query.body {
        for item in select.items.iter_mut().filter(|item| is_star(item)) {
            let kind = ast::ExprKind::Literal(ast::Literal::Int(1));
            let expr = ast::Expr { kind, span: item.span };
            item.kind = ast::SelectItemKind::Expr { expr, alias: None };
        }
    }
    Some(query)
}

fn bind_body(
    binder: &mut Binder<'_>,
    body: &QueryBody,
    order_by: &[ast::OrderBy],
    offset: Option<&ast::Offset>,
) -> Result<Query> {
    match body {
        QueryBody::Select(select) => spec::bind_select(binder, select, order_by, offset),
        QueryBody::Parenthesized(inner) if order_by.is_empty() && offset.is_none() => {
            bind_query(binder, inner)
        }
        QueryBody::Parenthesized(inner) => {
            let query = bind_query(binder, inner)?;
            set::order_output(binder, query, body, order_by, offset)
        }
        QueryBody::SetOperation { first, rest } => {
            let query = deeper(binder, |binder| set::bind_chain(binder, first, rest))?;
            set::order_output(binder, query, body, order_by, offset)
        }
    }
}

/// Goes one level deeper, or returns an error.
fn deeper(
    binder: &mut Binder<'_>,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<Query>,
) -> Result<Query> {
    let before = binder.depth;
    binder.depth = before.saturating_add(1);
    let bound = match binder.depth > NESTING_MAX {
        true => Err(Msg::NestedTooDeeply.into()),
        false => binder.part(LEVEL_BYTES, bind),
    };
    binder.depth = before;
    bound
}

impl Binder<'_> {
    /// Allocates one new register.
    pub fn new_register(&mut self) -> Register {
        let register = Register(self.registers);
        self.registers += 1;
        register
    }

    /// Allocates consecutive registers, and returns the first.
    pub fn new_registers(&mut self, count: usize) -> Register {
        let first = Register(self.registers);
        self.registers += u32::try_from(count).expect("a row has fewer than 2^32 columns");
        first
    }

    /// Allocates a row number for a scan.
    pub fn new_row(&mut self) -> u32 {
        self.rows += 1;
        self.rows - 1
    }
}
