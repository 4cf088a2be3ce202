//! Formats a value as sqlcmd does, with dates in ISO form.

use std::fmt::Write;

use types::{ColumnType, DataType, Value};

/// Returns the text of a value; `None` for NULL.
pub fn text(value: &Value, ty: &ColumnType) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bit(bit) => u8::from(*bit).to_string(),
        Value::TinyInt(number) => number.to_string(),
        Value::SmallInt(number) => number.to_string(),
        Value::Int(number) => number.to_string(),
        Value::BigInt(number) => number.to_string(),
        Value::Decimal(number) => decimal(number.mantissa(), usize::from(number.scale)),
        Value::Money(number) => decimal(i128::from(*number), 4),
        Value::Real(number) => float(f64::from(*number), &number.to_string()),
        Value::Float(number) => float(*number, &number.to_string()),
        Value::Date(_)
        | Value::Time(_)
        | Value::DateTime { .. }
        | Value::SmallDateTime { .. }
        | Value::DateTime2 { .. }
        | Value::DateTimeOffset { .. } => moment(value, &ty.data_type),
        Value::VarChar(bytes) => types::text::from_code_page(bytes, ty.collation),
        Value::NVarChar(units) => types::text::from_utf16(units),
        Value::VarBinary(bytes) => hex(bytes),
        Value::UniqueIdentifier(bytes) => guid(bytes),
        Value::Variant(inner) => return text(&inner.0, &inner.1),
    })
}

/// Returns whether a type's values are numbers, which are right-aligned.
pub fn is_number(ty: &DataType) -> bool {
    ty.is_numeric() || matches!(ty, DataType::Bit)
}

fn decimal(mantissa: i128, scale: usize) -> String {
    let sign = if mantissa < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", mantissa.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Returns the fewest digits that read back as the same number, with an exponent if that is
/// shorter.
fn float(number: f64, plain: &str) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-5..1e17).contains(&size) {
        format!("{number:e}")
    } else {
        plain.to_owned()
    }
}

fn moment(value: &Value, ty: &DataType) -> String {
    // 121: yyyy-mm-dd hh:mi:ss with as many decimals as the type has. smalldatetime has no seconds
    // to show, and sqlcmd shows them: 120.
    let style = if matches!(value, Value::SmallDateTime { .. }) { 120 } else { 121 };
    let language = types::Language::us_english();
    types::date::format(value, ty, style, language).unwrap_or_else(|error| error.message.clone())
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 + bytes.len() * 2);
    out.push_str("0x");
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02X}");
    }
    out
}

/// The first three groups are little-endian on the wire.
fn guid(bytes: &[u8; 16]) -> String {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut out = String::with_capacity(36);
    for (place, from) in ORDER.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        let _ = write!(out, "{:02X}", bytes[from]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(decimal(-5, 2), "-0.05");
        assert_eq!(decimal(12_345, 2), "123.45");
        assert_eq!(decimal(7, 0), "7");
        assert_eq!(float(0.1, "0.1"), "0.1");
        assert_eq!(float(1e300, &1e300_f64.to_string()), "1e300");
        assert_eq!(float(0.0, "0"), "0");
    }

    #[test]
    fn identifiers_and_bytes_are_in_sql_servers_form() {
        let bytes = [0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 8, 9, 10, 11, 12, 13, 14, 255];
        assert_eq!(guid(&bytes), "00112233-4455-6677-0809-0A0B0C0D0EFF");
        assert_eq!(hex(&[0, 0xAB]), "0x00AB");
    }
}
