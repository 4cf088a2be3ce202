//! APPROX_COUNT_DISTINCT, APPROX_PERCENTILE_CONT and _DISC, all computed exactly; GROUPING and
//! GROUPING_ID; functions about the statement that fired a trigger.

use hashbrown::HashSet;
use plan::long::group_key;
use types::value::ColumnType;
use types::{Collation, DataType, Length, Msg, Result, Value};

use crate::entry::{Bind, convert, lookup, of, session, whole};
use crate::{Accumulator, AggregateFunction, Call, Collating, Evaluate, Function};
use plan::expr::Expr;
use plan::function::Context;
use types::percentile::percentile;

pub(crate) static AGGREGATES: &[AggregateFunction] = &[
    AggregateFunction {
        name: "APPROX_COUNT_DISTINCT",
        bind: bind_count,
        start: |_, types| {
            let collation = types.first().map_or_else(Collation::default, |ty| ty.collation);
            Box::new(Distinct { seen: HashSet::new(), nulls: false, collation })
        },
    },
    AggregateFunction {
        name: "APPROX_PERCENTILE_CONT",
        bind: bind_percentile,
        start: |_, _| Box::new(Percentile { continuous: true, ..Percentile::default() }),
    },
    AggregateFunction {
        name: "APPROX_PERCENTILE_DISC",
        bind: bind_percentile,
        start: |_, _| Box::new(Percentile::default()),
    },
];

/// Returns whether the key of an aggregate's WITHIN GROUP becomes its last argument; as a `float`
/// if `Some(true)`.
pub fn takes_key(name: &str) -> Option<bool> {
    match name {
        "APPROX_PERCENTILE_CONT" => Some(true),
        "APPROX_PERCENTILE_DISC" => Some(false),
        _ => None,
    }
}

pub(crate) static FUNCTIONS: &[Function] = &[
    session("COLUMNS_UPDATED", bind_columns_updated, |cx| {
        let updated = cx.updated_columns();
        updated.map_or(Value::Null, |mask| Value::VarBinary(types::Bytes::copy_from(mask)))
    }),
    // No text can name this one either: it converts a value for a column created under ANSI_PADDING
    // OFF.
    lookup(
        "ANSI TRIM",
        (1, 1),
        |arguments| Ok(arguments[0].ty),
        |_, _, values| Ok(ansi_trimmed(&values[0])),
    ),
    // No text can name this: the binder makes it of UPDATE(column) in a trigger.
    lookup("UPDATE COLUMN", (1, 1), bind_columns_updated, |cx, _, values| {
        let ordinal = whole(values, 0).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let mask = cx.updated_columns().unwrap_or_default();
        Ok(Value::Bit(mask.get(ordinal / 8).is_some_and(|byte| byte >> (ordinal % 8) & 1 == 1)))
    }),
    grouping("GROUPING", (1, 1), |_| Ok(not_null(DataType::TinyInt))),
    grouping("GROUPING_ID", (1, 32), |_| Ok(not_null(DataType::Int))),
];

/// Removes trailing blanks from a text, and trailing zeros from binary data.
pub(crate) fn ansi_trimmed(value: &Value) -> Value {
    let Some(bytes) = value.string_bytes() else { return value.clone() };
    let filler = if matches!(value, Value::VarBinary(_)) { 0 } else { b' ' };
    let kept = bytes.iter().rposition(|byte| *byte != filler).map_or(0, |last| last + 1);
    value.with_bytes(types::Bytes::copy_from(&bytes[..kept]))
}

/// A function of the current grouping set. The binder replaces its arguments by the mask of absent
/// keys and the bits of that mask to return.
const fn grouping(name: &'static str, arity: (u8, u8), bind: Bind) -> Function {
    Function {
        name,
        arity,
        bind,
        eval: Evaluate::Full(eval_grouping),
        deterministic: false,
        collation: Collating::Apart,
    }
}

fn bind_columns_updated(_: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(of(DataType::VarBinary(Length::Limited(128))))
}

fn not_null(data_type: DataType) -> ColumnType {
    ColumnType { nullable: false, ..of(data_type) }
}

fn eval_grouping(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let mask = whole(values, 0).unwrap_or(0);
    let bit = |place: usize| {
        let bit = whole(values, place).and_then(|n| u32::try_from(n).ok());
        bit.and_then(|bit| mask.checked_shr(bit)).unwrap_or(0) & 1
    };
    let id = (1..values.len()).fold(0_i64, |id, place| id << 1 | bit(place));
    Ok(match call.ty.data_type {
        DataType::TinyInt => Value::TinyInt(u8::try_from(id).unwrap_or(0)),
        _ => Value::Int(i32::try_from(id).unwrap_or(0)),
    })
}

fn bind_count(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let [argument] = arguments.as_slice() else {
        return Err(Msg::FunctionArguments("approx_count_distinct", 1).into());
    };
    let ty = argument.ty.data_type;
    if matches!(ty, DataType::Text | DataType::NText | DataType::Image | DataType::Xml) {
        return Err(Msg::InvalidOperandType(ty.name(), "approx_count_distinct").into());
    }
    Ok(of(DataType::BigInt))
}

/// Counts exactly: the documented error of 2 % is an upper limit.
struct Distinct {
    seen: HashSet<Box<[u8]>>,
    nulls: bool,
    collation: Collation,
}

impl Accumulator for Distinct {
    fn add(&mut self, arguments: &[Value]) -> Result<()> {
        match arguments.first() {
            Some(value) if !value.is_null() => {
                let mut key = Vec::new();
                group_key(value, self.collation, &mut key)?;
                self.seen.insert(key.into());
            }
            _ => self.nulls = true,
        }
        Ok(())
    }
    fn saw_null(&self) -> bool {
        self.nulls
    }
    fn finish(&mut self) -> Result<Value> {
        Ok(Value::BigInt(i64::try_from(self.seen.len()).unwrap_or(i64::MAX)))
    }
}

/// Binds the fraction; the key becomes an argument later and determines the type.
fn bind_percentile(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    if arguments.len() != 1 {
        return Err(Msg::FunctionArguments("approx_percentile", 1).into());
    }
    convert(arguments, 0, DataType::Float)?;
    Ok(of(DataType::Float))
}

/// The value at a fraction of a group's ordered values: exact, while the documentation allows an
/// error of 1.33 % of the ranks. Rows arrive in the order of WITHIN GROUP.
#[derive(Default)]
struct Percentile {
    continuous: bool,
    share: Option<f64>,
    values: Vec<Value>,
    nulls: bool,
}

impl Accumulator for Percentile {
    fn add(&mut self, arguments: &[Value]) -> Result<()> {
        let [share, value] = arguments else { return Err(Msg::InternalError.into()) };
        let Value::Float(share @ 0.0..=1.0) = *share else {
            return Err(Msg::InvalidParameter(1, "approx_percentile").into());
        };
        self.share = Some(share);
        match value.is_null() {
            true => self.nulls = true,
            false => self.values.push(value.clone()),
        }
        Ok(())
    }
    fn saw_null(&self) -> bool {
        self.nulls
    }
    fn finish(&mut self) -> Result<Value> {
        let values = std::mem::take(&mut self.values);
        let Some(share) = self.share else { return Ok(Value::Null) };
        percentile(self.continuous, share, &values.iter().collect::<Vec<_>>())
    }
}
