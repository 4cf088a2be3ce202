//! Mathematical functions. Those that keep their argument's type compute in it; the others compute
//! in `float`, and a result that no float can represent is error 3623 or 8115.

use types::value::ColumnType;
use types::{DataType, Decimal, Error, Msg, Result, Value};

use crate::entry::{convert, of, pure, whole};
use crate::{Call, Collating, Evaluate, Function};
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[
    pure("ABS", (1, 1), bind_same, eval_abs),
    pure("SIGN", (1, 1), bind_same, eval_sign),
    pure("FLOOR", (1, 1), bind_whole, |_, _, v| Ok(to_whole(&v[0], f64::floor, Toward::Less))),
    pure("CEILING", (1, 1), bind_whole, |_, _, v| Ok(to_whole(&v[0], f64::ceil, Toward::More))),
    pure("ROUND", (2, 3), bind_round, eval_round),
    pure("POWER", (2, 2), bind_power, eval_power),
    pure("SQRT", (1, 1), bind_float, |_, _, v| of_float(v, f64::sqrt)),
    pure("SQUARE", (1, 1), bind_float, |_, _, v| of_float(v, |x| x * x)),
    pure("EXP", (1, 1), bind_float, |_, _, v| of_float(v, f64::exp)),
    pure("LOG", (1, 2), bind_float, eval_log),
    pure("LOG10", (1, 1), bind_float, |_, _, v| of_float(v, f64::log10)),
    pure("SIN", (1, 1), bind_float, |_, _, v| of_float(v, f64::sin)),
    pure("COS", (1, 1), bind_float, |_, _, v| of_float(v, f64::cos)),
    pure("TAN", (1, 1), bind_float, |_, _, v| of_float(v, f64::tan)),
    pure("COT", (1, 1), bind_float, |_, _, v| of_float(v, |x| 1.0 / x.tan())),
    pure("ASIN", (1, 1), bind_float, |_, _, v| of_float(v, f64::asin)),
    pure("ACOS", (1, 1), bind_float, |_, _, v| of_float(v, f64::acos)),
    pure("ATAN", (1, 1), bind_float, |_, _, v| of_float(v, f64::atan)),
    pure("ATN2", (2, 2), bind_float, |_, _, v| finite(float(v, 0).atan2(float(v, 1)))),
    pure("PI", (0, 0), bind_float, |_, _, _| Ok(Value::Float(std::f64::consts::PI))),
    pure("DEGREES", (1, 1), bind_angle, |cx, c, v| eval_angle(cx, c, v, f64::to_degrees)),
    pure("RADIANS", (1, 1), bind_angle, |cx, c, v| eval_angle(cx, c, v, f64::to_radians)),
    Function {
        name: "RAND",
        arity: (0, 1),
        bind: bind_rand,
        eval: Evaluate::Full(eval_rand),
        deterministic: false,
        collation: Collating::Apart,
    },
];

/// Returns the type that a function which keeps its argument's type computes in: `int` for small
/// integers, `float` for text and `bit`.
fn computed_in(ty: DataType) -> DataType {
    match ty {
        DataType::TinyInt | DataType::SmallInt | DataType::Int => DataType::Int,
        DataType::BigInt | DataType::Decimal { .. } | DataType::Money => ty,
        DataType::SmallMoney => DataType::Money,
        _ => DataType::Float,
    }
}

fn bind_same(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let ty = computed_in(arguments[0].ty.data_type);
    convert(arguments, 0, ty)?;
    Ok(of(ty))
}

fn bind_whole(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let ty = bind_same(arguments)?;
    Ok(match ty.data_type {
        DataType::Decimal { precision, .. } => of(DataType::Decimal { precision, scale: 0 }),
        _ => ty,
    })
}

fn bind_round(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    convert(arguments, 1, DataType::Int)?;
    convert(arguments, 2, DataType::Int)?;
    bind_same(arguments)
}

fn bind_power(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let ty = match computed_in(arguments[0].ty.data_type) {
        DataType::Decimal { scale, .. } => DataType::Decimal { precision: 38, scale },
        other => other,
    };
    convert(arguments, 0, DataType::Float)?;
    convert(arguments, 1, DataType::Float)?;
    Ok(of(ty))
}

fn bind_float(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    for place in 0..arguments.len() {
        convert(arguments, place, DataType::Float)?;
    }
    Ok(of(DataType::Float))
}

/// DEGREES and RADIANS return their argument's type; a decimal gets a scale of 18.
fn bind_angle(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let ty = match computed_in(arguments[0].ty.data_type) {
        DataType::Decimal { .. } => DataType::Decimal { precision: 38, scale: 18 },
        other => other,
    };
    convert(arguments, 0, DataType::Float)?;
    Ok(of(ty))
}

fn bind_rand(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    convert(arguments, 0, DataType::Int)?;
    Ok(of(DataType::Float))
}

fn float(values: &[Value], place: usize) -> f64 {
    match values.get(place) {
        Some(Value::Float(x)) => *x,
        _ => 0.0,
    }
}

/// Returns a finite number; error 3623 for NaN, 8115 for infinity.
fn finite(x: f64) -> Result<Value> {
    if x.is_nan() {
        let text = "An invalid floating point operation occurred.";
        return Err(Error::custom(3623, 16, 1, text));
    }
    if x.is_infinite() {
        return Err(Msg::ArithmeticOverflow("float").into());
    }
    Ok(Value::Float(x))
}

fn of_float(values: &[Value], compute: fn(f64) -> f64) -> Result<Value> {
    let x = compute(float(values, 0));
    // The logarithm of 0 is undefined in SQL Server too.
    finite(if x == f64::NEG_INFINITY { f64::NAN } else { x })
}

fn eval_log(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    if values.len() == 1 {
        return of_float(values, f64::ln);
    }
    let (x, base) = (float(values, 0), float(values, 1));
    finite(if x <= 0.0 || base <= 0.0 || base == 1.0 { f64::NAN } else { x.ln() / base.ln() })
}

fn overflow(ty: &DataType) -> Error {
    Msg::ArithmeticOverflow(if matches!(ty, DataType::Decimal { .. }) {
        "numeric"
    } else {
        ty.name()
    })
    .into()
}

fn eval_abs(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let too_large = || overflow(&call.ty.data_type);
    Ok(match &values[0] {
        Value::Int(n) => Value::Int(n.checked_abs().ok_or_else(too_large)?),
        Value::BigInt(n) => Value::BigInt(n.checked_abs().ok_or_else(too_large)?),
        Value::Money(n) => Value::Money(n.checked_abs().ok_or_else(too_large)?),
        Value::Decimal(d) => Value::Decimal(Decimal::new(d.mantissa().abs(), d.precision, d.scale)),
        Value::Float(x) => Value::Float(x.abs()),
        _ => Value::Null,
    })
}

fn eval_sign(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    Ok(match &values[0] {
        Value::Int(n) => Value::Int(n.signum()),
        Value::BigInt(n) => Value::BigInt(n.signum()),
        Value::Money(n) => Value::Money(n.signum() * 10_000),
        Value::Decimal(d) => {
            let one = 10_i128.pow(u32::from(d.scale));
            Value::Decimal(Decimal::new(d.mantissa().signum() * one, d.precision, d.scale))
        }
        Value::Float(x) if *x == 0.0 => Value::Float(0.0),
        Value::Float(x) => Value::Float(x.signum()),
        _ => Value::Null,
    })
}

/// The direction of rounding to an integer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Toward {
    Less,
    More,
}

fn to_whole(value: &Value, of_float: fn(f64) -> f64, toward: Toward) -> Value {
    let whole = |n: i128, unit: i128| {
        let down = n.div_euclid(unit);
        if toward == Toward::More && n.rem_euclid(unit) != 0 { down + 1 } else { down }
    };
    match value {
        Value::Money(n) => {
            Value::Money(i64::try_from(whole(i128::from(*n), 10_000) * 10_000).unwrap_or(*n))
        }
        Value::Decimal(d) => {
            let unit = 10_i128.pow(u32::from(d.scale));
            Value::Decimal(Decimal::new(whole(d.mantissa(), unit), d.precision, 0))
        }
        Value::Float(x) => Value::Float(of_float(*x)),
        other => other.clone(),
    }
}

/// Maximum number of digits: rounding beyond it does nothing, or gives 0.
const DIGITS_MAX: i64 = 38;

/// Rounds to this many decimals; truncates if the third argument is not 0.
fn eval_round(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let places = whole(values, 1).unwrap_or(0).clamp(-DIGITS_MAX, DIGITS_MAX);
    let cut = whole(values, 2).unwrap_or(0) != 0;
    let too_large = || overflow(&call.ty.data_type);
    let at = |n: i128, scale: i64| round_digits(n, scale - places, cut);
    Ok(match &values[0] {
        Value::Int(n) => Value::Int(i32::try_from(at(i128::from(*n), 0)).map_err(|_| too_large())?),
        Value::BigInt(n) => {
            Value::BigInt(i64::try_from(at(i128::from(*n), 0)).map_err(|_| too_large())?)
        }
        Value::Money(n) => {
            Value::Money(i64::try_from(at(i128::from(*n), 4)).map_err(|_| too_large())?)
        }
        Value::Decimal(d) => {
            let n = at(d.mantissa(), i64::from(d.scale));
            Value::Decimal(Decimal::checked(n, d.precision, d.scale).ok_or_else(too_large)?)
        }
        Value::Float(x) => Value::Float(round_float(*x, places, cut)),
        _ => Value::Null,
    })
}

/// Sets the last `digits` digits of a number to 0, rounding half away from 0.
fn round_digits(n: i128, digits: i64, cut: bool) -> i128 {
    if digits <= 0 {
        return n;
    }
    let Some(unit) = u32::try_from(digits).ok().and_then(|d| 10_i128.checked_pow(d)) else {
        return 0;
    };
    let rest = n % unit;
    let down = n - rest;
    if cut || rest.abs() < unit - rest.abs() { down } else { down + unit * n.signum() }
}

fn round_float(x: f64, places: i64, cut: bool) -> f64 {
    let Ok(places) = i32::try_from(places) else { return x };
    let unit = 10_f64.powi(places.abs());
    let scaled = if places < 0 { x / unit } else { x * unit };
    if !scaled.is_finite() {
        return x;
    }
    let whole = if cut { scaled.trunc() } else { scaled.round() };
    if places < 0 { whole * unit } else { whole / unit }
}

/// Converts a float back to the type of the first argument; fractions of integers are truncated.
fn back(x: f64, call: &Call<'_>) -> Result<Value> {
    let ty = &call.ty.data_type;
    finite(x)?;
    if let DataType::Decimal { precision, scale } = ty {
        let decimal = Decimal::from_f64(x, *precision, *scale);
        return decimal.map(Value::Decimal).ok_or_else(|| overflow(ty));
    }
    let options = types::ConvertOptions::default();
    let from = of(DataType::Float);
    types::convert(&Value::Float(x), &from, call.ty, 0, types::Mode::Explicit, &options)
        .map_err(|_| overflow(ty))
}

fn eval_power(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    back(float(values, 0).powf(float(values, 1)), call)
}

fn eval_angle(
    _: &mut Context<'_>,
    call: &Call<'_>,
    values: &[Value],
    compute: fn(f64) -> f64,
) -> Result<Value> {
    back(compute(float(values, 0)), call)
}

/// Returns a number from 0 to 1: with a seed always the same one, without one a random one.
fn eval_rand(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let bits = match whole(values, 0) {
        Some(seed) => scramble(seed.cast_unsigned()),
        None => u64::from_le_bytes(sos::sys::random_bytes::<8>()),
    };
    // A float has 53 significant bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let x = (bits >> 11) as f64 / (1_u64 << 53) as f64;
    Ok(Value::Float(x))
}

/// Returns one step of SplitMix64.
fn scramble(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
