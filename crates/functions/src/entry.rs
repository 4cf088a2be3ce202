//! Registry entries of functions whose result type is fixed, and what their arguments are read with.

use types::value::ColumnType;
use types::{Collation, DataType, Length, Mode, Result, Value};

use crate::{Call, Evaluate, Function};
use plan::convert::convert_to;
use plan::expr::Expr;
use plan::function::Context;

/// Checks and converts arguments, and derives the type of the result.
pub type Bind = fn(&mut Vec<Expr>) -> Result<ColumnType>;
/// Computes a result from arguments.
pub type Eval = fn(&mut Context<'_>, &Call<'_>, &[Value]) -> Result<Value>;

/// A function that is NULL for any NULL and depends on nothing but its arguments.
pub const fn pure(name: &'static str, arity: (u8, u8), bind: Bind, eval: Eval) -> Function {
    Function { name, arity, bind, eval: Evaluate::Strict(eval), deterministic: true }
}

/// A function that is NULL for any NULL and depends on catalog or session.
pub const fn lookup(name: &'static str, arity: (u8, u8), bind: Bind, eval: Eval) -> Function {
    Function { name, arity, bind, eval: Evaluate::Strict(eval), deterministic: false }
}

/// A function without arguments that reads the session.
pub const fn session(
    name: &'static str,
    bind: Bind,
    read: fn(&mut Context<'_>) -> Value,
) -> Function {
    Function { name, arity: (0, 0), bind, eval: Evaluate::Session(read), deterministic: false }
}

/// Makes a nullable type.
pub fn of(data_type: DataType) -> ColumnType {
    ColumnType { data_type, collation: Collation::default(), nullable: true }
}

/// Gives `int`.
pub fn int(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::Int))
}

/// Gives `smallint`.
pub fn smallint(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::SmallInt))
}

/// Gives `nvarchar(128)`.
pub fn sysname(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::NVarChar(Length::Limited(128))))
}

/// Gives `sql_variant`.
pub fn variant(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::SqlVariant))
}

/// Converts an argument.
pub fn convert(arguments: &mut [Expr], place: usize, to: DataType) -> Result<()> {
    if let Some(argument) = arguments.get_mut(place) {
        let collation = argument.ty.collation;
        let taken = std::mem::replace(argument, Expr::constant(Value::Null, DataType::Int));
        let to = ColumnType { data_type: to, collation, nullable: true };
        *argument = convert_to(taken, &to, Mode::Implicit)?;
    }
    Ok(())
}

/// Reads a text argument; a number reads as its digits.
pub fn text(call: &Call<'_>, values: &[Value], place: usize) -> Option<String> {
    let value = values.get(place)?;
    let collation = call.arguments.get(place).map_or_else(Collation::default, |a| a.ty.collation);
    if let Value::Variant(inner) = value {
        return inner.0.as_text(collation);
    }
    value.as_text(collation).or_else(|| whole(values, place).map(|n| n.to_string()))
}

/// Reads a whole number argument; digits in text read as the number.
pub fn whole(values: &[Value], place: usize) -> Option<i64> {
    values.get(place)?.as_whole()
}

/// Reads an object id or another `int`.
pub fn id(values: &[Value], place: usize) -> Option<i32> {
    whole(values, place).and_then(|n| i32::try_from(n).ok())
}

/// Makes a `sql_variant` of a value of a type.
pub fn wrap(value: Value, data_type: DataType) -> Value {
    match value {
        Value::Null => Value::Null,
        value => Value::Variant(Box::new((value, of(data_type)))),
    }
}

/// Makes a `sql_variant` of `nvarchar(128)`.
pub fn wrap_text(text: &str) -> Value {
    wrap(Value::nvarchar(text), DataType::NVarChar(Length::Limited(128)))
}

/// Makes a `sql_variant` of `int`.
pub fn wrap_int(n: i32) -> Value {
    wrap(Value::Int(n), DataType::Int)
}

/// Makes an `int` of a truth.
pub fn flag(truth: bool) -> Value {
    Value::Int(i32::from(truth))
}
