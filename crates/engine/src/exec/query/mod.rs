//! Runs queries: one file per operator.

use types::Result;

use crate::exec::Cx;
use crate::plan::query::Query;

/// Whether the receiver of rows wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    More,
    /// It has seen enough.
    Enough,
}

/// Runs a query; `receive` is called with the registers filled for each row.
///
/// # Errors
/// Those of the query's expressions and of storage.
pub fn run_query(
    _query: &Query,
    _cx: &mut Cx<'_>,
    _receive: &mut dyn FnMut(&mut Cx<'_>) -> Result<Flow>,
) -> Result<()> {
    crate::bind::expr::not_supported("queries")
}
