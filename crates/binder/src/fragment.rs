//! Parses the parameter list of sp_executesql.

use tsql::QuotedIdentifier;
use tsql::ast::{self, StatementKind};
use types::{Msg, Result};

/// Parses `@a int, @b nvarchar(10) OUTPUT`.
///
/// # Errors
/// 102 and other syntax errors, as for a procedure's parameters.
pub fn parse_parameters(text: &str) -> Result<Vec<ast::Parameter>> {
    let batch = tsql::parse(&format!("CREATE PROCEDURE p {text} AS RETURN"), QuotedIdentifier::On)?;
    match batch.statements.into_iter().next().map(|s| s.kind) {
        Some(StatementKind::CreateProcedure(create)) => Ok(create.parameters),
        _ => Err(Msg::SyntaxNear(text).into()),
    }
}
