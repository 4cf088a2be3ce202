//! Pieces of T-SQL that come alone: a procedure's name in an RPC, the parameter list of sp_executesql.
//!
//! The parser takes batches, so each is put into the shortest batch that holds it.

use tsql::QuotedIdentifier;
use tsql::ast::{self, StatementKind};
use types::{Msg, Result};

/// Parses a name of one to four parts.
///
/// # Errors
/// 203 if it is none.
pub fn parse_object_name(text: &str) -> Result<ast::ObjectName> {
    let not_a_name = || Msg::InvalidIdentifier(text);
    let batch =
        tsql::parse(&format!("EXEC {text}"), QuotedIdentifier::On).map_err(|_| not_a_name())?;
    let mut statements = batch.statements;
    match statements.pop().map(|s| s.kind) {
        Some(StatementKind::Execute(execute))
            if statements.is_empty() && execute.arguments.is_empty() =>
        {
            match execute.procedure {
                ast::Callee::Name(name) => Ok(name),
                ast::Callee::Variable(_) => Err(not_a_name().into()),
            }
        }
        _ => Err(not_a_name().into()),
    }
}

/// Parses `@a int, @b nvarchar(10) OUTPUT`.
///
/// # Errors
/// 102 and its kin, as for a procedure's parameters.
pub fn parse_parameters(text: &str) -> Result<Vec<ast::Parameter>> {
    let batch = tsql::parse(&format!("CREATE PROCEDURE p {text} AS RETURN"), QuotedIdentifier::On)?;
    match batch.statements.into_iter().next().map(|s| s.kind) {
        Some(StatementKind::CreateProcedure(create)) => Ok(create.parameters),
        _ => Err(Msg::SyntaxNear(text).into()),
    }
}
