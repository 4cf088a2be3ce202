//! `$PARTITION`: the number of the partition that a value is in.

use types::{Result, Value};

use crate::function::entry::int;
use crate::function::session::session_of;
use crate::function::{Call, Collating, Evaluate, Function};
use ::plan::function::Context;

/// The binder makes a call with three arguments: `database_id`, `function_id` and the value, which
/// has the type of the partition function's parameter.
pub(super) static FUNCTIONS: &[Function] = &[Function {
    name: "$PARTITION",
    arity: (3, 3),
    bind: int,
    eval: Evaluate::Full(number),
    deterministic: false,
    collation: Collating::Apart,
}];

fn number(cx: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let [Value::SmallInt(database), Value::Int(function), value] = values else {
        return Ok(Value::Null);
    };
    let catalog = &session_of(cx).catalog;
    let database = catalog.database_by_id(*database);
    let found = database.and_then(|database| database.partition_function(*function));
    let number = found.map(|function| function.number(value));
    Ok(number.map_or(Value::Null, |number| Value::Int(i32::try_from(number).unwrap_or(i32::MAX))))
}
