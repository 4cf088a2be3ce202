//! Calls of user-defined functions, and NEXT VALUE FOR.

use std::sync::Arc;

use tsql::ast;
use types::value::ColumnType;
use types::{Mode, Msg, Result};

use crate::Binder;
use crate::expr::{assign, bind_expr};
use catalog::{ModuleDef, ModuleSchema, Object, Unqualified};
use plan::expr::{Expr, ExprKind, UserCall};

/// Where the target of a synonym is, if it has no schema.
const OF_SYNONYM: Unqualified<'static> = Unqualified::Module(ModuleSchema::DBO);

/// Finds an object of the current or the named database by its own name: a synonym is not followed.
pub fn find<'b>(binder: &'b Binder<'_>, name: &ast::ObjectName) -> Option<&'b Object> {
    find_from(binder, name, binder.unqualified)
}

fn find_from<'b>(
    binder: &'b Binder<'_>,
    name: &ast::ObjectName,
    unqualified: Unqualified<'_>,
) -> Option<&'b Object> {
    let database = binder.catalog.database(name.database.as_deref().unwrap_or(binder.database))?;
    let first = unqualified.schema_in(database);
    let schema = database.schema_of_object(name.schema.as_deref(), first, &name.object);
    database.object(schema, &name.object)
}

/// Finds a user-defined function, by its name or by a synonym.
///
/// # Errors
/// 470 for a synonym of a synonym.
pub fn find_function(
    binder: &Binder<'_>,
    name: &ast::ObjectName,
) -> Result<Option<Arc<ModuleDef>>> {
    let found = match find(binder, name) {
        Some(Object::Synonym(synonym)) => match find_from(binder, &synonym.target, OF_SYNONYM) {
            Some(Object::Synonym(_)) => {
                let (name, target) = (name.to_string(), synonym.target.to_string());
                return Err(Msg::SynonymChain(&name, &target).into());
            }
            found => found,
        },
        found => found,
    };
    Ok(match found {
        Some(Object::Function(function)) => Some(Arc::clone(function)),
        _ => None,
    })
}

/// Binds a call of a scalar function; `None` if there is none of that name.
pub(crate) fn bind_scalar(binder: &mut Binder<'_>, call: &ast::Call) -> Result<Option<Expr>> {
    let Some(module) = find_function(binder, &call.name)? else { return Ok(None) };
    let Some(returns) = module.routine.as_ref().and_then(|r| r.returns) else { return Ok(None) };
    crate::require::require_routine(binder, &call.name, &module, "EXECUTE")?;
    let arguments = bind_arguments(binder, &module, &call.name, &call.arguments)?;
    let ty = ColumnType { nullable: true, ..returns };
    let call = UserCall { module, arguments };
    Ok(Some(Expr::new(ExprKind::CallUser(Box::new(call)), ty)))
}

/// Binds the arguments of a function with the types of its parameters; DEFAULT is the parameter's
/// default.
///
/// # Errors
/// 313 and 8144 for a wrong number of arguments, and errors of conversion.
pub fn bind_arguments(
    binder: &mut Binder<'_>,
    module: &ModuleDef,
    name: &ast::ObjectName,
    arguments: &[ast::Expr],
) -> Result<Vec<Expr>> {
    let parameters = module.routine.as_ref().map(|r| &r.parameters[..]).unwrap_or_default();
    let name = name.to_string();
    if arguments.len() > parameters.len() {
        return Err(Msg::TooManyArguments(&name).into());
    }
    if arguments.len() < parameters.len() {
        return Err(Msg::TooFewArguments(&name).into());
    }
    let mut bound = Vec::with_capacity(arguments.len());
    for (argument, parameter) in arguments.iter().zip(parameters) {
        if parameter.table_type.is_some() {
            return Err(Msg::NotSupported("table-valued parameters of functions").into());
        }
        let value = match (&argument.kind, &parameter.default) {
            (ast::ExprKind::Default, Some(_)) if parameter.default_function.is_some() => {
                let function = parameter.default_function.as_deref().unwrap_or_default();
                super::call::bind_global(binder, function)?
            }
            (ast::ExprKind::Default, Some(default)) => {
                Expr::new(ExprKind::Constant(default.clone()), parameter.ty)
            }
            (ast::ExprKind::Default, None) => return Err(Msg::TooFewArguments(&name).into()),
            _ => bind_expr(binder, argument)?,
        };
        bound.push(assign(value, &parameter.ty, Mode::Implicit)?);
    }
    Ok(bound)
}
