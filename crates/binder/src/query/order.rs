//! Where ORDER BY may stand: it orders what a client receives, and what TOP and OFFSET choose from.

use tsql::ast::{self, QueryExpression};
use types::{Msg, Result};

/// Refuses ORDER BY where it says nothing: the rows of a view, of a subquery and the like have no order.
///
/// # Errors
/// 1033, unless TOP, OFFSET or FOR XML gives it a meaning.
pub fn require_no_order(query: &QueryExpression) -> Result<()> {
    let means_nothing = !query.order_by.is_empty()
        && query.offset.is_none()
        && query.for_clause.is_none()
        && !has_top(query);
    if means_nothing { Err(Msg::OrderByInView.into()) } else { Ok(()) }
}

fn has_top(query: &QueryExpression) -> bool {
    body_has_top(&query.body)
}

/// Of a set operation, TOP in one branch is enough.
fn body_has_top(body: &ast::QueryBody) -> bool {
    match body {
        ast::QueryBody::Select(spec) => spec.top.is_some(),
        ast::QueryBody::Parenthesized(inner) => has_top(inner),
        ast::QueryBody::SetOperation { first, rest } => {
            body_has_top(first) || rest.iter().any(|(_, branch)| body_has_top(branch))
        }
    }
}
