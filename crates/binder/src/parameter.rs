//! Defaults of parameters, of procedures and of sp_executesql's list.

use plan::program::ParameterDefault;
use tsql::ast;
use types::convert::ConvertOptions;
use types::value::ColumnType;
use types::{Mode, Msg, Result};

use crate::Binder;

/// Evaluates the default of a parameter: a constant, or a system function that each call evaluates.
///
/// # Errors
/// 102 for another expression, 137 for an unknown function, and errors of the conversion.
pub fn default_of(
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
