//! The check of what is assigned to a variable that natively compiled modules declare NOT NULL.

use types::value::ColumnType;
use types::{Msg, Result, Value};

use crate::{Call, Collating, Function};
use plan::expr::Expr;
use plan::function::{Context, Evaluate};

/// Internal name of the check; no text can name it.
pub const NOT_NULL: &str = "NOT NULL";

pub(crate) static FUNCTIONS: &[Function] = &[Function {
    name: NOT_NULL,
    arity: (2, 2),
    bind,
    eval: Evaluate::Full(eval),
    deterministic: false,
    collation: Collating::Apart,
}];

/// The first argument is the value, the second the variable's name.
fn bind(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(ColumnType { nullable: false, ..arguments[0].ty })
}

fn eval(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    if values[0].is_null() {
        let name = values[1].as_text(call.arguments[1].ty.collation).unwrap_or_default();
        return Err(Msg::NullForNotNull(&name).into());
    }
    Ok(values[0].clone())
}
