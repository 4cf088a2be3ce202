//! Facts of types that INFORMATION_SCHEMA shows of columns, parameters and domains.

use types::{DataType, Length};

/// CHARACTER_MAXIMUM_LENGTH of INFORMATION_SCHEMA: in characters; -1 for `max`, `None` for a type
/// without length.
pub fn character_length(data_type: &DataType) -> Option<i32> {
    Some(match data_type {
        DataType::Text | DataType::Image => i32::MAX,
        DataType::NText => 1_073_741_823,
        DataType::Xml => -1,
        DataType::SqlVariant => 0,
        other => match other.length()? {
            Length::Limited(n) => i32::from(n),
            Length::Max => -1,
        },
    })
}

/// CHARACTER_OCTET_LENGTH of INFORMATION_SCHEMA: in bytes; `None` for a type without length.
pub fn octet_length(data_type: &DataType) -> Option<i32> {
    let characters = character_length(data_type)?;
    Some(match data_type {
        DataType::NText => 2_147_483_646,
        DataType::NChar(_) | DataType::NVarChar(_) if characters > 0 => characters * 2,
        _ => characters,
    })
}

/// NUMERIC_PRECISION, NUMERIC_PRECISION_RADIX and NUMERIC_SCALE of INFORMATION_SCHEMA; `None` for a
/// type that is not numeric.
pub fn numeric_facts(data_type: &DataType) -> Option<(u8, i16, Option<i32>)> {
    match data_type {
        DataType::Real | DataType::Float => Some((data_type.precision(), 2, None)),
        DataType::Bit => None,
        other if other.is_numeric() => {
            Some((other.precision(), 10, Some(i32::from(other.scale()))))
        }
        _ => None,
    }
}

/// DATETIME_PRECISION of INFORMATION_SCHEMA: fractional digits of the seconds.
pub fn datetime_precision(data_type: &DataType) -> Option<i16> {
    match data_type {
        DataType::Date | DataType::SmallDateTime => Some(0),
        DataType::DateTime => Some(3),
        DataType::Time(s) | DataType::DateTime2(s) | DataType::DateTimeOffset(s) => {
            Some(i16::from(*s))
        }
        _ => None,
    }
}
