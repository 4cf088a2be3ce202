//! Parameter lists of sp_executesql, and defaults of parameters.

use plan::program::ParameterDefault;
use tsql::QuotedIdentifier;
use tsql::ast::{self, StatementKind};
use types::convert::ConvertOptions;
use types::value::ColumnType;
use types::{Mode, Msg, Result};

use crate::Binder;

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

/// Evaluates the default of a parameter: a constant, or a system function that each call evaluates.
///
/// # Errors
/// 102 for another expression, 137 for an unknown function, and errors of the conversion.
pub fn parameter_default(
    binder: &mut Binder<'_>,
    (default, source): (&ast::Expr, &str),
    ty: &ColumnType,
    options: &ConvertOptions,
) -> Result<ParameterDefault> {
    if let ast::ExprKind::Variable(global) = &default.kind
        && global.is_global()
    {
        let value = crate::expr::bind_global(binder, &global.name)?;
        crate::expr::assign(value, ty, Mode::Implicit)?;
        return Ok(ParameterDefault::Function(global.name.to_ascii_uppercase()));
    }
    let bound = crate::expr::bind_expr(binder, default)?;
    let Some(value) = bound.as_constant() else {
        return Err(Msg::SyntaxNear(default.span.text(source)).into());
    };
    let value = types::convert(value, &bound.ty, ty, 0, Mode::Implicit, options)?;
    Ok(ParameterDefault::Value(value))
}
