//! Constructors of registry entries, and helpers that read arguments and build results.

use types::value::ColumnType;
use types::{Collation, DataType, Length, Mode, Result, Value};

use crate::{Call, Collating, Evaluate, Function};
use plan::convert::convert_to;
use plan::expr::Expr;
use plan::function::Context;
use plan::long;

/// Checks and converts arguments, and derives the type of the result.
pub type Bind = fn(&mut Vec<Expr>) -> Result<ColumnType>;
/// Computes a result from arguments.
pub type Eval = fn(&mut Context<'_>, &Call<'_>, &[Value]) -> Result<Value>;

/// Returns the entry of a function that is NULL for any NULL and depends only on its arguments.
pub const fn pure(name: &'static str, arity: (u8, u8), bind: Bind, eval: Eval) -> Function {
    Function {
        name,
        arity,
        bind,
        eval: Evaluate::Strict(eval),
        deterministic: true,
        collation: Collating::Apart,
    }
}

/// Returns the entry of a function that is NULL for any NULL and depends on the catalog or session.
pub const fn lookup(name: &'static str, arity: (u8, u8), bind: Bind, eval: Eval) -> Function {
    Function {
        name,
        arity,
        bind,
        eval: Evaluate::Strict(eval),
        deterministic: false,
        collation: Collating::Apart,
    }
}

/// Returns the entry of a function without arguments that reads the session.
pub const fn session(
    name: &'static str,
    bind: Bind,
    read: fn(&mut Context<'_>) -> Value,
) -> Function {
    Function {
        name,
        arity: (0, 0),
        bind,
        eval: Evaluate::Session(read),
        deterministic: false,
        collation: Collating::Apart,
    }
}

/// Returns a nullable type with the default collation.
pub fn of(data_type: DataType) -> ColumnType {
    ColumnType { data_type, collation: Collation::default(), nullable: true }
}

/// Derives the result type `int`.
pub fn int(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::Int))
}

/// Derives the result type `smallint`.
pub fn smallint(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::SmallInt))
}

/// Derives the result type `nvarchar(128)`.
pub fn sysname(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::NVarChar(Length::Limited(128))))
}

/// Derives the result type `sql_variant`.
pub fn variant(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::SqlVariant))
}

/// Converts the argument at `place`.
pub fn convert(arguments: &mut [Expr], place: usize, to: DataType) -> Result<()> {
    if let Some(argument) = arguments.get_mut(place) {
        let collation = argument.ty.collation;
        let taken = std::mem::replace(argument, Expr::constant(Value::Null, DataType::Int));
        let to = ColumnType { data_type: to, collation, nullable: true };
        *argument = convert_to(taken, &to, Mode::Implicit)?;
    }
    Ok(())
}

/// Returns a text argument; a number becomes its digits.
///
/// # Errors
/// 701 if there is no memory for a long one.
pub fn text(call: &Call<'_>, values: &[Value], place: usize) -> Result<Option<String>> {
    let Some(value) = values.get(place) else { return Ok(None) };
    let collation = call.arguments.get(place).map_or_else(Collation::default, |a| a.ty.collation);
    if let Value::Variant(inner) = value {
        return Ok(inner.0.as_text(collation));
    }
    Ok(long::text(value, collation)?.or_else(|| whole(values, place).map(|n| n.to_string())))
}

/// Returns an integer argument; digits in text become the number.
pub fn whole(values: &[Value], place: usize) -> Option<i64> {
    values.get(place)?.as_whole()
}

/// Returns an `int` argument, such as an object id.
pub fn id(values: &[Value], place: usize) -> Option<i32> {
    whole(values, place).and_then(|n| i32::try_from(n).ok())
}

/// Returns a value as a `sql_variant` of its type.
pub fn wrap(value: Value, data_type: DataType) -> Value {
    match value {
        Value::Null => Value::Null,
        value => Value::Variant(Box::new((value, of(data_type)))),
    }
}

/// Returns a text as a `sql_variant` of `nvarchar(128)`.
pub fn wrap_text(text: &str) -> Value {
    wrap(Value::nvarchar(text), DataType::NVarChar(Length::Limited(128)))
}

/// Returns a number as a `sql_variant` of `int`.
pub fn wrap_int(n: i32) -> Value {
    wrap(Value::Int(n), DataType::Int)
}

/// Returns a truth value as an `int`, 1 or 0.
pub fn flag(truth: bool) -> Value {
    Value::Int(i32::from(truth))
}
