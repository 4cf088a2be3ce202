//! Binds queries.

use tsql::ast;
use types::Result;

use crate::bind::Binder;
use crate::plan::query::Query;

/// Binds a query expression in a level of its own.
///
/// # Errors
/// Those of names and types.
pub fn bind_query(_binder: &mut Binder<'_>, _query: &ast::QueryExpression) -> Result<Query> {
    crate::bind::expr::not_supported("subqueries")
}
