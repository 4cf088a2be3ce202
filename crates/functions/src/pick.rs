//! Functions that pick one of their arguments: CHOOSE, GREATEST, LEAST.

use std::cmp::Ordering;

use types::value::ColumnType;
use types::{DataType, Mode, Result, Value, type_rules};

use crate::entry::{Eval, convert, whole};
use crate::{Call, Collating, Evaluate, Function};
use plan::convert::convert_to;
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[
    pick("CHOOSE", (2, 254), bind_choose, eval_choose, Collating::Combine),
    pick("GREATEST", (1, 254), bind_all, eval_greatest, Collating::Compare),
    pick("LEAST", (1, 254), bind_all, eval_least, Collating::Compare),
];

const fn pick(
    name: &'static str,
    arity: (u8, u8),
    bind: crate::entry::Bind,
    eval: Eval,
    collation: Collating,
) -> Function {
    Function { name, arity, bind, eval: Evaluate::Full(eval), deterministic: true, collation }
}

/// Converts the arguments from `first` on to the type of highest precedence.
fn unify(arguments: &mut Vec<Expr>, first: usize) -> Result<ColumnType> {
    let typed = || arguments[first..].iter().filter(|a| !a.is_null_literal());
    let mut data_type = typed().next().map_or(DataType::Int, |a| a.ty.data_type);
    for argument in typed() {
        data_type = type_rules::common(&data_type, &argument.ty.data_type)?;
    }
    let collation = typed()
        .find(|a| a.ty.data_type.is_string())
        .map_or_else(types::Collation::default, |a| a.ty.collation);
    let ty = ColumnType { data_type, collation, nullable: true };
    for argument in arguments.drain(first..).collect::<Vec<_>>() {
        arguments.push(convert_to(argument, &ty, Mode::Implicit)?);
    }
    Ok(ty)
}

fn bind_choose(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    convert(arguments, 0, DataType::Int)?;
    unify(arguments, 1)
}

fn bind_all(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    unify(arguments, 0)
}

fn eval_choose(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let place = whole(values, 0).and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    Ok(place.and_then(|n| values.get(n)).cloned().unwrap_or(Value::Null))
}

fn eval_greatest(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    Ok(extreme(call, values, Ordering::Greater))
}

fn eval_least(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    Ok(extreme(call, values, Ordering::Less))
}

/// NULLs are ignored; if all are NULL, so is the result.
fn extreme(call: &Call<'_>, values: &[Value], keep: Ordering) -> Value {
    let mut best = &Value::Null;
    for value in values.iter().filter(|v| !v.is_null()) {
        if best.is_null() || plan::long::order(value, best, call.ty.collation) == keep {
            best = value;
        }
    }
    best.clone()
}
