//! The encoding of the machine layer's types: values, data types, collations, times.

use types::comparison::CompareOp;
use types::date::Moment;
use types::value::ColumnType;
use types::{Bytes, Collation, DataType, Decimal, Length, Value};

use crate::code::{Code, Cx, Result, choice, fault, put_sized, record, split_sized};

record! { ColumnType { 1 data_type, 2 collation, 3 nullable } }
record! { Moment { 1 days, 2 ticks, 3 offset } }
choice! { CompareOp {
    Equal = 0, NotEqual = 1, Less = 2, LessOrEqual = 3, Greater = 4, GreaterOrEqual = 5,
} }

impl Code for Collation {
    fn put(&self, out: &mut Vec<u8>) {
        self.name().put(out);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let name = String::get(bytes, cx)?;
        Self::by_name(&name).map_or_else(|| fault(format!("the collation `{name}`")), Ok)
    }

    fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    fn usual() -> Option<Self> {
        Some(Self::default())
    }
}

impl Code for Length {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Limited(length) => length.put(out),
            Self::Max => {}
        }
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        if bytes.is_empty() { Ok(Self::Max) } else { u16::get(bytes, cx).map(Self::Limited) }
    }
}

impl Code for DataType {
    fn put(&self, out: &mut Vec<u8>) {
        let mut plain = |number: u8| out.push(number);
        match self {
            Self::Bit => plain(1),
            Self::TinyInt => plain(2),
            Self::SmallInt => plain(3),
            Self::Int => plain(4),
            Self::BigInt => plain(5),
            Self::Decimal { precision, scale } => out.extend([6, *precision, *scale]),
            Self::Money => plain(7),
            Self::SmallMoney => plain(8),
            Self::Real => plain(9),
            Self::Float => plain(10),
            Self::Date => plain(11),
            Self::Time(scale) => out.extend([12, *scale]),
            Self::DateTime => plain(13),
            Self::SmallDateTime => plain(14),
            Self::DateTime2(scale) => out.extend([15, *scale]),
            Self::DateTimeOffset(scale) => out.extend([16, *scale]),
            Self::Char(length) => with(out, 17, length),
            Self::VarChar(length) => with(out, 18, length),
            Self::NChar(length) => with(out, 19, length),
            Self::NVarChar(length) => with(out, 20, length),
            Self::Text => plain(21),
            Self::NText => plain(22),
            Self::Binary(length) => with(out, 23, length),
            Self::VarBinary(length) => with(out, 24, length),
            Self::Image => plain(25),
            Self::UniqueIdentifier => plain(26),
            Self::RowVersion => plain(27),
            Self::SqlVariant => plain(28),
            Self::Xml => plain(29),
        }
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let Some((&number, rest)) = bytes.split_first() else { return fault("no data type") };
        Ok(match (number, rest) {
            (1, []) => Self::Bit,
            (2, []) => Self::TinyInt,
            (3, []) => Self::SmallInt,
            (4, []) => Self::Int,
            (5, []) => Self::BigInt,
            (6, &[precision @ 1..=38, scale]) if scale <= precision => {
                Self::Decimal { precision, scale }
            }
            (7, []) => Self::Money,
            (8, []) => Self::SmallMoney,
            (9, []) => Self::Real,
            (10, []) => Self::Float,
            (11, []) => Self::Date,
            (12, &[scale @ 0..=7]) => Self::Time(scale),
            (13, []) => Self::DateTime,
            (14, []) => Self::SmallDateTime,
            (15, &[scale @ 0..=7]) => Self::DateTime2(scale),
            (16, &[scale @ 0..=7]) => Self::DateTimeOffset(scale),
            (17, _) => Self::Char(u16::get(rest, cx)?),
            (18, _) => Self::VarChar(Length::get(rest, cx)?),
            (19, _) => Self::NChar(u16::get(rest, cx)?),
            (20, _) => Self::NVarChar(Length::get(rest, cx)?),
            (21, []) => Self::Text,
            (22, []) => Self::NText,
            (23, _) => Self::Binary(u16::get(rest, cx)?),
            (24, _) => Self::VarBinary(Length::get(rest, cx)?),
            (25, []) => Self::Image,
            (26, []) => Self::UniqueIdentifier,
            (27, []) => Self::RowVersion,
            (28, []) => Self::SqlVariant,
            (29, []) => Self::Xml,
            _ => return fault(format!("the data type {number}")),
        })
    }
}

/// Appends the number of a variant and its content.
fn with(out: &mut Vec<u8>, number: u8, content: &impl Code) {
    out.push(number);
    content.put(out);
}

impl Code for Value {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.push(0),
            Self::Bit(value) => with(out, 1, value),
            Self::TinyInt(value) => with(out, 2, value),
            Self::SmallInt(value) => with(out, 3, value),
            Self::Int(value) => with(out, 4, value),
            Self::BigInt(value) => with(out, 5, value),
            Self::Decimal(value) => {
                out.extend([6, value.precision, value.scale]);
                value.mantissa().put(out);
            }
            Self::Money(value) => with(out, 7, value),
            Self::Real(value) => with(out, 8, value),
            Self::Float(value) => with(out, 9, value),
            Self::Date(days) => with(out, 10, days),
            Self::Time(ticks) => with(out, 11, ticks),
            Self::DateTime { days, ticks } => {
                with(out, 12, &(*days, *ticks));
            }
            Self::SmallDateTime { days, minutes } => with(out, 13, &(*days, *minutes)),
            Self::DateTime2 { days, ticks } => with(out, 14, &(*days, *ticks)),
            Self::DateTimeOffset { days, ticks, offset } => {
                with(out, 15, &(*days, (*ticks, *offset)));
            }
            Self::VarChar(bytes) => put_bytes(out, 16, bytes),
            Self::NVarChar(bytes) => put_bytes(out, 17, bytes),
            Self::VarBinary(bytes) => put_bytes(out, 18, bytes),
            Self::UniqueIdentifier(guid) => {
                out.push(19);
                out.extend_from_slice(guid);
            }
            Self::Variant(inner) => {
                out.push(20);
                put_sized(out, |out| inner.1.put(out));
                inner.0.put(out);
            }
        }
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let Some((&number, rest)) = bytes.split_first() else { return fault("no value") };
        if number != 20 {
            return scalar(number, rest, cx);
        }
        let (ty, rest) = split_sized(rest)?;
        let ty = ColumnType::get(ty, cx)?;
        // A variant has no variant inside, so this does not recurse.
        match rest.split_first() {
            Some((&number, rest)) if number != 20 => {
                Ok(Self::Variant(Box::new((scalar(number, rest, cx)?, ty))))
            }
            _ => fault("a variant without a value"),
        }
    }
}

fn put_bytes(out: &mut Vec<u8>, number: u8, bytes: &Bytes) {
    out.push(number);
    out.extend_from_slice(bytes.as_slice());
}

/// Reads a value that is no variant.
fn scalar(number: u8, rest: &[u8], cx: &mut Cx<'_>) -> Result<Value> {
    Ok(match (number, rest) {
        (0, []) => Value::Null,
        (1, _) => Value::Bit(bool::get(rest, cx)?),
        (2, _) => Value::TinyInt(u8::get(rest, cx)?),
        (3, _) => Value::SmallInt(i16::get(rest, cx)?),
        (4, _) => Value::Int(i32::get(rest, cx)?),
        (5, _) => Value::BigInt(i64::get(rest, cx)?),
        (6, &[precision @ 1..=38, scale, ref mantissa @ ..]) if scale <= precision => {
            Value::Decimal(Decimal::new(i128::get(mantissa, cx)?, precision, scale))
        }
        (7, _) => Value::Money(i64::get(rest, cx)?),
        (8, _) => Value::Real(f32::get(rest, cx)?),
        (9, _) => Value::Float(f64::get(rest, cx)?),
        (10, _) => Value::Date(i32::get(rest, cx)?),
        (11, _) => Value::Time(i64::get(rest, cx)?),
        (12, _) => {
            let (days, ticks) = <(i32, u32)>::get(rest, cx)?;
            Value::DateTime { days, ticks }
        }
        (13, _) => {
            let (days, minutes) = <(u16, u16)>::get(rest, cx)?;
            Value::SmallDateTime { days, minutes }
        }
        (14, _) => {
            let (days, ticks) = <(i32, i64)>::get(rest, cx)?;
            Value::DateTime2 { days, ticks }
        }
        (15, _) => {
            let (days, (ticks, offset)) = <(i32, (i64, i16))>::get(rest, cx)?;
            Value::DateTimeOffset { days, ticks, offset }
        }
        (16, _) => Value::VarChar(Bytes::copy_from(rest)),
        (17, _) => Value::NVarChar(Bytes::copy_from(rest)),
        (18, _) => Value::VarBinary(Bytes::copy_from(rest)),
        (19, _) => match rest.try_into() {
            Ok(guid) => Value::UniqueIdentifier(guid),
            Err(_) => return fault("a uniqueidentifier of another length"),
        },
        _ => return fault(format!("the kind of value {number}")),
    })
}
