//! `Row`: a row of an answer with every value as text, so that servers that answer in other types
//! of numbers are read alike, and tests can keep rows in files.

use types::Value;

/// One row of a result: its values as text, `None` for NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row(Vec<Option<String>>);

impl Row {
    /// Converts the values of a row.
    #[must_use]
    pub fn from_values(values: &[Value]) -> Self {
        Self(values.iter().map(text_of).collect())
    }

    /// Parses a recorded row: values separated by tabs, `\N` for NULL.
    #[must_use]
    pub fn from_record(line: &str) -> Self {
        let cell = |text: &str| (text != "\\N").then(|| text.replace("\\n", "\n"));
        Self(line.split('\t').map(cell).collect())
    }

    /// Returns the text of a column, empty for NULL or a column that is not there.
    #[must_use]
    pub fn text(&self, column: usize) -> &str {
        self.0.get(column).and_then(Option::as_deref).unwrap_or("")
    }

    /// Returns the whole number of a column; `None` for NULL and text.
    #[must_use]
    pub fn integer(&self, column: usize) -> Option<i64> {
        self.text(column).parse().ok()
    }

    /// Returns the number of a column; `None` for NULL and text.
    #[must_use]
    pub fn number(&self, column: usize) -> Option<f64> {
        self.text(column).parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Returns a column that counts upwards; 0 for NULL and negative numbers.
    #[must_use]
    pub fn count(&self, column: usize) -> u64 {
        self.integer(column).and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
    }
}

/// Converts a value; the questions ask for no other types than these.
fn text_of(value: &Value) -> Option<String> {
    Some(match value {
        Value::Bit(is_set) => u8::from(*is_set).to_string(),
        Value::TinyInt(number) => number.to_string(),
        Value::SmallInt(number) => number.to_string(),
        Value::Int(number) => number.to_string(),
        Value::BigInt(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::NVarChar(units) => types::text::from_utf16(units),
        Value::VarBinary(bytes) => {
            let digits = bytes.iter().map(|byte| format!("{byte:02X}"));
            digits.fold("0x".to_owned(), |text, digits| text + &digits)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_type_are_read_alike() {
        for value in [Value::TinyInt(7), Value::SmallInt(7), Value::Int(7), Value::BigInt(7)] {
            assert_eq!(Row::from_values(&[value]).integer(0), Some(7));
        }
        assert_eq!(Row::from_values(&[Value::Real(12.5)]).number(0), Some(12.5));
        let negative = Row::from_values(&[Value::Int(-3)]);
        assert_eq!((negative.integer(0), negative.count(0)), (Some(-3), 0));
    }

    #[test]
    fn null_and_missing_columns_are_empty() {
        let row = Row::from_record("a\t\\N\tb\\nc");
        assert_eq!((row.text(0), row.text(1), row.text(2), row.text(9)), ("a", "", "b\nc", ""));
        assert_eq!((row.integer(0), row.number(1), row.count(9)), (None, None, 0));
    }

    #[test]
    fn handles_are_hexadecimal() {
        let row = Row::from_values(&[Value::VarBinary(vec![6, 0, 0xAB].into())]);
        assert_eq!(row.text(0), "0x0600AB");
    }
}
