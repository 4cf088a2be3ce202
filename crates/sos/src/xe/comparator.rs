//! `Comparator`: the comparison of a predicate's leaf, one for each operation on each type.

use super::field::FieldType;

/// The operation that compares a value with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// True if `value = operand`.
    Equal,
    /// True if `value <> operand`.
    NotEqual,
    /// True if `value > operand`.
    Greater,
    /// True if `value >= operand`.
    GreaterEqual,
    /// True if `value < operand`.
    Less,
    /// True if `value <= operand`.
    LessEqual,
    /// The value is a multiple of the operand, which selects one event in that many.
    DividesBy,
    /// `value LIKE pattern`, ignoring case.
    Like,
    /// Greater than all before it, and than the operand.
    GreaterThanMax,
    /// At least as great as all before it, and as the operand.
    GreaterThanOrEqualMax,
    /// Less than all before it, and than the operand.
    LessThanMin,
    /// At most as great as all before it, and as the operand.
    LessThanOrEqualMin,
}

/// The type that a comparator compares as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Values of type boolean.
    Boolean,
    /// Signed integers of any size.
    Int64,
    /// Unsigned integers, addresses, times and keys of maps.
    UInt64,
    /// Values of type float64.
    Float64,
    /// Text, case-sensitive: the comparators `string_*`.
    Text,
    /// Text, case-insensitive: the comparators `i_string_*`.
    TextInsensitive,
    /// Values of type binary_data.
    Binary,
    /// Values of type guid.
    Guid,
}

impl Operand {
    /// The operand type with which `=` and the other operators compare values of a type.
    #[must_use]
    pub const fn of(field_type: FieldType) -> Option<Self> {
        Some(match field_type {
            FieldType::Boolean => Self::Boolean,
            FieldType::Int8 | FieldType::Int16 | FieldType::Int32 | FieldType::Int64 => Self::Int64,
            FieldType::UInt8
            | FieldType::UInt16
            | FieldType::UInt32
            | FieldType::UInt64
            | FieldType::Ptr
            | FieldType::Datetime
            | FieldType::Map(_) => Self::UInt64,
            FieldType::Float64 => Self::Float64,
            FieldType::UnicodeString | FieldType::AnsiString => Self::TextInsensitive,
            FieldType::BinaryData => Self::Binary,
            FieldType::Guid => Self::Guid,
            FieldType::Xml
            | FieldType::Callstack
            | FieldType::ActivityId
            | FieldType::ActivityIdXfer => return None,
        })
    }

    /// Whether values of a type can be compared as this operand type; text as either of two.
    #[must_use]
    pub fn accepts(self, field_type: FieldType) -> bool {
        Self::of(field_type)
            .is_some_and(|own| own == self || (self == Self::Text && own == Self::TextInsensitive))
    }
}

/// A comparison that a predicate can name: `package0.divides_by_uint64`.
#[derive(Debug, PartialEq, Eq)]
pub struct Comparator {
    /// The name within package0.
    pub name: &'static str,
    /// The operation that it evaluates.
    pub operation: Operation,
    /// The type as which it compares.
    pub operand: Operand,
}

macro_rules! comparators {
    ($( $operation:ident $operand:ident $name:literal, )+) => {
        /// All comparators, which belong to package0.
        pub static COMPARATORS: &[Comparator] = &[
            $( Comparator {
                name: $name,
                operation: Operation::$operation,
                operand: Operand::$operand,
            }, )+
        ];
    };
}

comparators! {
    Equal Boolean "equal_boolean",
    Equal Int64 "equal_int64",
    Equal UInt64 "equal_uint64",
    Equal Float64 "equal_float64",
    Equal Text "equal_unicode_string",
    Equal Text "equal_ansi_string",
    Equal TextInsensitive "equal_i_sql_unicode_string",
    Equal TextInsensitive "equal_i_sql_ansi_string",
    Equal TextInsensitive "equal_i_unicode_string",
    Equal TextInsensitive "equal_i_ansi_string",
    Equal Binary "equal_binary_data",
    Equal Guid "equal_guid",
    NotEqual Boolean "not_equal_boolean",
    NotEqual Int64 "not_equal_int64",
    NotEqual UInt64 "not_equal_uint64",
    NotEqual Float64 "not_equal_float64",
    NotEqual Text "not_equal_unicode_string",
    NotEqual Text "not_equal_ansi_string",
    NotEqual TextInsensitive "not_equal_i_sql_unicode_string",
    NotEqual TextInsensitive "not_equal_i_sql_ansi_string",
    NotEqual TextInsensitive "not_equal_i_unicode_string",
    NotEqual TextInsensitive "not_equal_i_ansi_string",
    NotEqual Binary "not_equal_binary_data",
    NotEqual Guid "not_equal_guid",
    Greater Int64 "greater_than_int64",
    Greater UInt64 "greater_than_uint64",
    Greater Float64 "greater_than_float64",
    Greater TextInsensitive "greater_than_i_sql_unicode_string",
    Greater TextInsensitive "greater_than_i_sql_ansi_string",
    GreaterEqual Int64 "greater_than_equal_int64",
    GreaterEqual UInt64 "greater_than_equal_uint64",
    GreaterEqual Float64 "greater_than_equal_float64",
    GreaterEqual TextInsensitive "greater_than_equal_i_sql_unicode_string",
    GreaterEqual TextInsensitive "greater_than_equal_i_sql_ansi_string",
    Less Int64 "less_than_int64",
    Less UInt64 "less_than_uint64",
    Less Float64 "less_than_float64",
    Less TextInsensitive "less_than_i_sql_unicode_string",
    Less TextInsensitive "less_than_i_sql_ansi_string",
    LessEqual Int64 "less_than_equal_int64",
    LessEqual UInt64 "less_than_equal_uint64",
    LessEqual Float64 "less_than_equal_float64",
    LessEqual TextInsensitive "less_than_equal_i_sql_unicode_string",
    LessEqual TextInsensitive "less_than_equal_i_sql_ansi_string",
    DividesBy UInt64 "divides_by_uint64",
    Like TextInsensitive "like_i_sql_unicode_string",
    Like TextInsensitive "like_i_sql_ansi_string",
    GreaterThanMax Int64 "greater_than_max_int64",
    GreaterThanMax UInt64 "greater_than_max_uint64",
    GreaterThanMax Float64 "greater_than_max_float64",
    GreaterThanOrEqualMax Int64 "greater_than_equal_max_int64",
    GreaterThanOrEqualMax UInt64 "greater_than_equal_max_uint64",
    GreaterThanOrEqualMax Float64 "greater_than_equal_max_float64",
    LessThanMin Int64 "less_than_min_int64",
    LessThanMin UInt64 "less_than_min_uint64",
    LessThanMin Float64 "less_than_min_float64",
    LessThanOrEqualMin Int64 "less_than_equal_min_int64",
    LessThanOrEqualMin UInt64 "less_than_equal_min_uint64",
    LessThanOrEqualMin Float64 "less_than_equal_min_float64",
}

impl Comparator {
    /// The comparator with a name, ignoring case.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        COMPARATORS.iter().find(|comparator| comparator.name.eq_ignore_ascii_case(name))
    }

    /// The comparator of an operator on values of a type; `None` if the type has no such
    /// comparison.
    #[must_use]
    pub fn of(operation: Operation, field_type: FieldType) -> Option<&'static Self> {
        let operand = Operand::of(field_type)?;
        COMPARATORS
            .iter()
            .find(|comparator| comparator.operation == operation && comparator.operand == operand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_find_the_comparator_of_the_type() {
        let name = |operation, field_type| Comparator::of(operation, field_type).map(|c| c.name);
        assert_eq!(name(Operation::Equal, FieldType::UInt16), Some("equal_uint64"));
        assert_eq!(
            name(Operation::NotEqual, FieldType::UnicodeString),
            Some("not_equal_i_sql_unicode_string")
        );
        assert_eq!(name(Operation::Less, FieldType::Guid), None);
        assert_eq!(name(Operation::Equal, FieldType::Callstack), None);
    }
}
