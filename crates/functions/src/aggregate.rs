//! Aggregate functions and their accumulators.

#![expect(clippy::ptr_arg, reason = "binders share a signature, and some add arguments")]

use std::collections::VecDeque;

use types::arith;
use types::type_rules::BinaryOp;
use types::value::ColumnType;
use types::{Collation, DataType, Decimal, Error, Length, Mode, Msg, Result, Value};

use crate::{Accumulator, AggregateFunction};
use plan::convert::convert_to;
use plan::expr::Expr;
use plan::long;

pub(crate) static FUNCTIONS: &[AggregateFunction] = &[
    AggregateFunction { name: "COUNT", bind: bind_count, start: start_count },
    AggregateFunction { name: "COUNT_BIG", bind: bind_count_big, start: start_count_big },
    AggregateFunction { name: "SUM", bind: bind_sum, start: start_sum },
    AggregateFunction { name: "AVG", bind: bind_avg, start: start_avg },
    AggregateFunction { name: "MIN", bind: bind_extreme, start: start_min },
    AggregateFunction { name: "MAX", bind: bind_extreme, start: start_max },
    AggregateFunction { name: "STDEV", bind: bind_statistic, start: start_stdev },
    AggregateFunction { name: "STDEVP", bind: bind_statistic, start: start_stdevp },
    AggregateFunction { name: "VAR", bind: bind_statistic, start: start_var },
    AggregateFunction { name: "VARP", bind: bind_statistic, start: start_varp },
    AggregateFunction { name: "STRING_AGG", bind: bind_string_agg, start: start_string_agg },
    AggregateFunction { name: "CHECKSUM_AGG", bind: bind_checksum, start: start_checksum },
];

fn of(data_type: DataType, nullable: bool) -> ColumnType {
    ColumnType { data_type, collation: Collation::default(), nullable }
}

fn only(arguments: &mut Vec<Expr>, name: &str) -> Result<Expr> {
    match (arguments.pop(), arguments.is_empty()) {
        (Some(argument), true) => Ok(argument),
        _ => Err(Msg::FunctionArguments(name, 1).into()),
    }
}

fn bind_counted(arguments: &[Expr], result: DataType) -> Result<ColumnType> {
    if arguments.len() > 1 {
        return Err(Msg::FunctionArguments("count", 1).into());
    }
    Ok(of(result, false))
}

fn bind_count(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    bind_counted(arguments, DataType::Int)
}

fn bind_count_big(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    bind_counted(arguments, DataType::BigInt)
}

struct Count {
    rows: i64,
    nulls: bool,
    big: bool,
}

fn start_count(_: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    Box::new(Count { rows: 0, nulls: false, big: false })
}

fn start_count_big(_: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    Box::new(Count { rows: 0, nulls: false, big: true })
}

impl Accumulator for Count {
    fn add(&mut self, arguments: &[Value]) -> Result<()> {
        match arguments.first() {
            Some(Value::Null) => self.nulls = true,
            Some(_) | None => self.rows += 1,
        }
        Ok(())
    }
    fn saw_null(&self) -> bool {
        self.nulls
    }
    fn finish(&mut self) -> Result<Value> {
        if self.big {
            return Ok(Value::BigInt(self.rows));
        }
        let rows = i32::try_from(self.rows);
        rows.map(Value::Int).map_err(|_| Error::from(Msg::ArithmeticOverflow("int")))
    }
    fn slide(&mut self) -> bool {
        true
    }
    fn remove_first(&mut self, arguments: &[Value]) -> Result<()> {
        self.rows -= i64::from(!matches!(arguments.first(), Some(Value::Null)));
        Ok(())
    }
}

/// Returns the result type of SUM and AVG, in which they also accumulate.
fn sum_type(argument: &DataType, name: &str) -> Result<DataType> {
    Ok(match argument {
        DataType::TinyInt | DataType::SmallInt | DataType::Int => DataType::Int,
        DataType::BigInt => DataType::BigInt,
        DataType::Decimal { scale, .. } => DataType::Decimal { precision: 38, scale: *scale },
        DataType::Money | DataType::SmallMoney => DataType::Money,
        DataType::Real | DataType::Float => DataType::Float,
        other => return Err(Msg::InvalidOperandType(other.name(), name).into()),
    })
}

fn bind_sum(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let argument = only(arguments, "sum")?;
    let ty = of(sum_type(&argument.ty.data_type, "sum")?, true);
    arguments.push(convert_to(argument, &ty, Mode::Implicit)?);
    Ok(ty)
}

/// AVG of a decimal has a scale of at least 6.
fn bind_avg(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let argument = only(arguments, "avg")?;
    let sum = of(sum_type(&argument.ty.data_type, "avg")?, true);
    arguments.push(convert_to(argument, &sum, Mode::Implicit)?);
    Ok(match sum.data_type {
        DataType::Decimal { precision, scale } => {
            of(DataType::Decimal { precision, scale: scale.max(6) }, true)
        }
        _ => sum,
    })
}

/// A running sum in the widest form of the type, so that only the result can overflow.
#[derive(Clone, Copy, Debug)]
pub enum Total {
    /// Sum of integers or money, in units of the last digit.
    Whole(i128),
    /// Sum of decimals; `None` before the first.
    Decimal(Option<Decimal>),
    /// Sum of `float` or `real` values.
    Float(f64),
}

struct Sum {
    total: Total,
    rows: i64,
    nulls: bool,
    average: bool,
    ty: DataType,
}

fn start_total(ty: &ColumnType, average: bool) -> Box<dyn Accumulator> {
    let total = match ty.data_type {
        DataType::Decimal { .. } => Total::Decimal(None),
        DataType::Float => Total::Float(0.0),
        _ => Total::Whole(0),
    };
    Box::new(Sum { total, rows: 0, nulls: false, average, ty: ty.data_type })
}

fn start_sum(ty: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    start_total(ty, false)
}

fn start_avg(ty: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    start_total(ty, true)
}

impl Accumulator for Sum {
    fn add(&mut self, arguments: &[Value]) -> Result<()> {
        let Some(value) = arguments.first().filter(|v| !v.is_null()) else {
            self.nulls = true;
            return Ok(());
        };
        self.rows += 1;
        match (&mut self.total, value) {
            (Total::Whole(total), Value::Int(n)) => *total += i128::from(*n),
            (Total::Whole(total), Value::BigInt(n) | Value::Money(n)) => *total += i128::from(*n),
            (Total::Float(total), Value::Float(x)) => *total += x,
            (Total::Decimal(total), Value::Decimal(d)) => {
                *total = Some(match total {
                    None => *d,
                    Some(sum) => sum.add(d, 38, d.scale)?,
                });
            }
            _ => return Err(Msg::InternalError.into()),
        }
        Ok(())
    }
    fn saw_null(&self) -> bool {
        self.nulls
    }
    fn finish(&mut self) -> Result<Value> {
        finish_total(&self.total, self.rows, self.average, &self.ty)
    }
    fn slide(&mut self) -> bool {
        // A sum of floats depends on the order of the additions.
        matches!(self.total, Total::Whole(_))
    }
    fn remove_first(&mut self, arguments: &[Value]) -> Result<()> {
        match (&mut self.total, arguments.first()) {
            (_, None | Some(Value::Null)) => return Ok(()),
            (Total::Whole(total), Some(Value::Int(n))) => *total -= i128::from(*n),
            (Total::Whole(total), Some(Value::BigInt(n) | Value::Money(n))) => {
                *total -= i128::from(*n);
            }
            _ => return Err(Msg::InternalError.into()),
        }
        self.rows -= 1;
        Ok(())
    }
}

/// Returns the result of SUM or AVG for a total over this many rows.
pub fn finish_total(total: &Total, rows: i64, average: bool, ty: &DataType) -> Result<Value> {
    if rows == 0 {
        return Ok(Value::Null);
    }
    let overflow = || Error::from(Msg::ArithmeticOverflow(ty.name()));
    match total {
        Total::Whole(total) => {
            let n = if average { total / i128::from(rows) } else { *total };
            let n = i64::try_from(n).map_err(|_| overflow())?;
            match ty {
                DataType::Money => Ok(Value::Money(n)),
                DataType::BigInt => Ok(Value::BigInt(n)),
                _ => i32::try_from(n).map(Value::Int).map_err(|_| overflow()),
            }
        }
        // The count is exact as a float below 2^53, which no table reaches.
        #[expect(clippy::cast_precision_loss, reason = "as said")]
        Total::Float(total) => Ok(Value::Float(if average { total / rows as f64 } else { *total })),
        Total::Decimal(None) => Ok(Value::Null),
        Total::Decimal(Some(total)) if average => {
            let rows = Value::Decimal(Decimal::new(i128::from(rows), 19, 0));
            arith::binary(BinaryOp::Divide, &Value::Decimal(*total), &rows, ty)
        }
        Total::Decimal(Some(total)) => Ok(Value::Decimal(*total)),
    }
}

fn bind_extreme(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let [argument] = arguments.as_slice() else {
        return Err(Msg::FunctionArguments("max", 1).into());
    };
    match argument.ty.data_type {
        DataType::Bit => Err(Msg::InvalidOperandType("bit", "max").into()),
        DataType::Text | DataType::NText | DataType::Image | DataType::Xml => {
            Err(Msg::InvalidOperandType(argument.ty.data_type.name(), "max").into())
        }
        _ => Ok(ColumnType { nullable: true, ..argument.ty }),
    }
}

/// The values of a frame that may be its best one when those before them have left it, in the order
/// in which they were added, each with its number. Each is better than those behind it, or equal.
#[derive(Default)]
struct Candidates {
    values: VecDeque<(u64, Value)>,
    added: u64,
    removed: u64,
}

struct Extreme {
    best: Value,
    candidates: Option<Candidates>,
    nulls: bool,
    keep: std::cmp::Ordering,
    collation: Collation,
}

fn start_extreme(ty: &ColumnType, keep: std::cmp::Ordering) -> Box<dyn Accumulator> {
    Box::new(Extreme {
        best: Value::Null,
        candidates: None,
        nulls: false,
        keep,
        collation: ty.collation,
    })
}

fn start_min(ty: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    start_extreme(ty, std::cmp::Ordering::Less)
}

fn start_max(ty: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    start_extreme(ty, std::cmp::Ordering::Greater)
}

impl Accumulator for Extreme {
    fn add(&mut self, arguments: &[Value]) -> Result<()> {
        let Some(value) = arguments.first().filter(|v| !v.is_null()) else {
            self.nulls = true;
            return Ok(());
        };
        if let Some(candidates) = &mut self.candidates {
            // What is older and not as good is never the best again.
            let is_better =
                |old: &Value| plan::long::order(value, old, self.collation) == self.keep;
            while candidates.values.back().is_some_and(|(_, old)| is_better(old)) {
                candidates.values.pop_back();
            }
            candidates.values.push_back((candidates.added, value.clone()));
            candidates.added += 1;
            return Ok(());
        }
        if self.best.is_null() || plan::long::order(value, &self.best, self.collation) == self.keep
        {
            self.best = value.clone();
        }
        Ok(())
    }
    fn saw_null(&self) -> bool {
        self.nulls
    }
    fn finish(&mut self) -> Result<Value> {
        // A window function calls `finish` after each row, so the value is cloned.
        let first = self.candidates.as_ref().map(|candidates| candidates.values.front());
        Ok(first.map_or_else(
            || self.best.clone(),
            |first| first.map_or(Value::Null, |(_, value)| value.clone()),
        ))
    }
    fn slide(&mut self) -> bool {
        self.candidates = Some(Candidates::default());
        true
    }
    fn remove_first(&mut self, arguments: &[Value]) -> Result<()> {
        let is_null = arguments.first().is_none_or(Value::is_null);
        let Some(candidates) = self.candidates.as_mut().filter(|_| !is_null) else { return Ok(()) };
        if candidates.values.front().is_some_and(|(number, _)| *number == candidates.removed) {
            candidates.values.pop_front();
        }
        candidates.removed += 1;
        Ok(())
    }
}

fn bind_statistic(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let argument = only(arguments, "stdev")?;
    if !argument.ty.data_type.is_numeric() || argument.ty.data_type == DataType::Bit {
        return Err(Msg::InvalidOperandType(argument.ty.data_type.name(), "stdev").into());
    }
    let ty = of(DataType::Float, true);
    arguments.push(convert_to(argument, &ty, Mode::Implicit)?);
    Ok(ty)
}

/// Welford's running mean and sum of squared differences from it.
struct Statistic {
    rows: f64,
    mean: f64,
    squares: f64,
    nulls: bool,
    sample: bool,
    root: bool,
}

fn start_statistic(sample: bool, root: bool) -> Box<dyn Accumulator> {
    Box::new(Statistic { rows: 0.0, mean: 0.0, squares: 0.0, nulls: false, sample, root })
}

fn start_stdev(_: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    start_statistic(true, true)
}
fn start_stdevp(_: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    start_statistic(false, true)
}
fn start_var(_: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    start_statistic(true, false)
}
fn start_varp(_: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    start_statistic(false, false)
}

impl Accumulator for Statistic {
    fn add(&mut self, arguments: &[Value]) -> Result<()> {
        match arguments.first() {
            Some(Value::Float(x)) => {
                self.rows += 1.0;
                let difference = x - self.mean;
                self.mean += difference / self.rows;
                self.squares += difference * (x - self.mean);
            }
            _ => self.nulls = true,
        }
        Ok(())
    }
    fn saw_null(&self) -> bool {
        self.nulls
    }
    fn finish(&mut self) -> Result<Value> {
        let divisor = if self.sample { self.rows - 1.0 } else { self.rows };
        if divisor <= 0.0 {
            return Ok(Value::Null);
        }
        let variance = self.squares / divisor;
        Ok(Value::Float(if self.root { variance.sqrt() } else { variance }))
    }
}

fn bind_string_agg(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let (Some(separator), Some(text)) = (arguments.pop(), arguments.pop()) else {
        return Err(Msg::FunctionArguments("string_agg", 2).into());
    };
    let wide = text.ty.data_type.is_unicode() || separator.ty.data_type.is_unicode();
    // A MAX argument gives a MAX result, any other the longest limited string.
    let large = text.ty.data_type.is_large();
    let data_type = match (wide, large) {
        (true, true) => DataType::NVarChar(Length::Max),
        (true, false) => DataType::NVarChar(Length::Limited(4000)),
        (false, true) => DataType::VarChar(Length::Max),
        (false, false) => DataType::VarChar(Length::Limited(8000)),
    };
    let ty = ColumnType { data_type, collation: text.ty.collation, nullable: true };
    arguments.push(convert_to(text, &ty, Mode::Implicit)?);
    arguments.push(convert_to(separator, &ty, Mode::Implicit)?);
    Ok(ty)
}

struct StringAgg {
    text: Vec<u8>,
    any: bool,
    nulls: bool,
    wide: bool,
    bytes_max: usize,
}

fn start_string_agg(ty: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    Box::new(StringAgg {
        text: Vec::new(),
        any: false,
        nulls: false,
        wide: ty.data_type.is_unicode(),
        bytes_max: ty.data_type.bytes_max().map_or(usize::MAX, usize::from),
    })
}

impl Accumulator for StringAgg {
    fn add(&mut self, arguments: &[Value]) -> Result<()> {
        let Some(text) = arguments.first().and_then(Value::string_bytes) else {
            self.nulls = true;
            return Ok(());
        };
        if std::mem::replace(&mut self.any, true)
            && let Some(separator) = arguments.get(1).and_then(Value::string_bytes)
        {
            long::append(&mut self.text, separator)?;
        }
        long::append(&mut self.text, text)?;
        if self.text.len() > self.bytes_max {
            return Err(Error::custom(
                9829,
                16,
                1,
                "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation.",
            ));
        }
        Ok(())
    }
    fn saw_null(&self) -> bool {
        self.nulls
    }
    fn finish(&mut self) -> Result<Value> {
        if !self.any {
            return Ok(Value::Null);
        }
        let text = std::mem::take(&mut self.text).into();
        Ok(if self.wide { Value::NVarChar(text) } else { Value::VarChar(text) })
    }
}

fn bind_checksum(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let argument = only(arguments, "checksum_agg")?;
    let ty = of(DataType::Int, true);
    arguments.push(convert_to(argument, &ty, Mode::Implicit)?);
    Ok(ty)
}

struct Checksum {
    sum: i32,
    /// Rows that are not NULL.
    rows: u64,
    nulls: bool,
}

fn start_checksum(_: &ColumnType, _: &[ColumnType]) -> Box<dyn Accumulator> {
    Box::new(Checksum { sum: 0, rows: 0, nulls: false })
}

impl Accumulator for Checksum {
    fn add(&mut self, arguments: &[Value]) -> Result<()> {
        match arguments.first() {
            Some(Value::Int(n)) => {
                self.sum ^= n;
                self.rows += 1;
            }
            _ => self.nulls = true,
        }
        Ok(())
    }
    fn saw_null(&self) -> bool {
        self.nulls
    }
    fn finish(&mut self) -> Result<Value> {
        Ok(if self.rows == 0 { Value::Null } else { Value::Int(self.sum) })
    }
    fn slide(&mut self) -> bool {
        true
    }
    fn remove_first(&mut self, arguments: &[Value]) -> Result<()> {
        if let Some(Value::Int(n)) = arguments.first() {
            // XOR is its own inverse.
            self.sum ^= n;
            self.rows -= 1;
        }
        Ok(())
    }
}
