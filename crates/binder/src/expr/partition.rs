//! Binds `$PARTITION.function(value)`: the number of the partition that a value is in.

use tsql::ast;
use types::{DataType, Mode, Msg, Result, Value};

use crate::Binder;
use crate::expr::{bind_expr, not_supported};
use catalog::Database;
use catalog::name::Name;
use plan::convert::convert_to;
use plan::expr::{Expr, ExprKind};

/// The name in the place of a schema, and the library's name of the function.
pub(crate) const PARTITION: &str = "$PARTITION";
/// The state of error 208 for a database that does not exist.
const NO_DATABASE: u8 = 212;

/// Returns whether a call is `$PARTITION.f(x)` or `database.$PARTITION.f(x)`.
pub(crate) fn is_partition(name: &ast::ObjectName) -> bool {
    name.schema.as_ref().is_some_and(|schema| schema.is(PARTITION))
}

/// Binds a call whose name [`is_partition`].
///
/// # Errors
/// 208 for an unknown function or database, 8144 for a second argument, and those of converting the
/// argument to the type of the function's parameter.
pub(crate) fn bind(binder: &mut Binder<'_>, call: &ast::Call) -> Result<Expr> {
    let name = call.name.to_string();
    let missing = || types::Error::from(Msg::InvalidObject(&name));
    let catalog = binder.catalog;
    let named = call.name.database.as_deref().filter(|part| !part.is_empty());
    let database = catalog.database(named.unwrap_or(binder.database));
    let database: &Database = database.ok_or_else(|| missing().with_state(NO_DATABASE))?;
    let function = database.partition_functions.get(&Name::new(&call.name.object));
    let function = function.ok_or_else(missing)?;
    if call.over.is_some() || call.nulls.is_some() || call.distinct {
        return not_supported("a window or DISTINCT with $PARTITION");
    }
    let argument = match call.arguments.as_slice() {
        [argument] => argument,
        [] => return Err(Msg::SyntaxNear(")").into()),
        _ => return Err(Msg::TooManyArguments(&call.name.object).into()),
    };
    let value = convert_to(bind_expr(binder, argument)?, &function.ty, Mode::Implicit)?;
    of_value(binder, (database.id, function.id), value)
}

/// Returns the expression for the partition number of a value of the parameter's type, by the ids
/// of the database and the function.
pub(crate) fn of_value(
    binder: &Binder<'_>,
    (database, function): (i16, i32),
    value: Expr,
) -> Result<Expr> {
    let Some(computing) = binder.library.scalar(PARTITION) else {
        return Err(Msg::InternalError.into());
    };
    let mut arguments = vec![
        Expr::constant(Value::SmallInt(database), DataType::SmallInt),
        Expr::constant(Value::Int(function), DataType::Int),
        value,
    ];
    let ty = (computing.bind)(&mut arguments)?;
    Ok(Expr::new(ExprKind::Call(computing, arguments.into()), ty))
}
