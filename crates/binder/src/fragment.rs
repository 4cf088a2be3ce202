//! Parses the parameter list of sp_executesql.

use tsql::QuotedIdentifier;
use tsql::ast::{self, StatementKind};
use types::{Msg, Result};

/// Parses `@a int, @b nvarchar(10) OUTPUT`. Spans refer to the text that [`as_procedure`] returns.
///
/// # Errors
/// 102 and other syntax errors, as for a procedure's parameters.
pub fn parse_parameters(text: &str) -> Result<Vec<ast::Parameter>> {
    let batch = tsql::parse(&as_procedure(text), QuotedIdentifier::On)?;
    match batch.statements.into_iter().next().map(|s| s.kind) {
        Some(StatementKind::CreateProcedure(create)) => Ok(create.parameters),
        _ => Err(Msg::SyntaxNear(text).into()),
    }
}

/// Returns a definition that has a list's parameters.
#[must_use]
pub fn as_procedure(list: &str) -> String {
    format!("CREATE PROCEDURE p {list} AS RETURN")
}
