//! The JSON format: an array of objects for each result, a line for each row. Numbers are JSON
//! numbers, bit is true or false, everything else is a string as in the other formats.

use load::json::quote;
use tds::client::ResultColumn;
use types::{ColumnType, Value};

use super::Render;
use super::value::text;

/// Writes results as JSON arrays.
#[derive(Default)]
pub(super) struct Json {
    /// Column names, quoted once, with their types.
    columns: Vec<(String, ColumnType)>,
    rows: usize,
}

fn json(value: &Value, ty: &ColumnType) -> String {
    match value {
        Value::Bit(bit) => bit.to_string(),
        Value::Variant(inner) => json(&inner.0, &inner.1),
        Value::TinyInt(_)
        | Value::SmallInt(_)
        | Value::Int(_)
        | Value::BigInt(_)
        | Value::Decimal(_)
        | Value::Money(_)
        | Value::Real(_)
        | Value::Float(_) => text(value, ty).unwrap_or_default(),
        _ => text(value, ty).map_or_else(|| "null".to_owned(), |text| quote(&text)),
    }
}

impl Render for Json {
    fn begin(&mut self, columns: &[ResultColumn], out: &mut String) {
        self.columns.clear();
        let mut names: Vec<String> = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            let mut name = column.name.clone();
            if name.is_empty() || names.contains(&name) {
                name =
                    format!("{name}{}{}", if name.is_empty() { "column" } else { "_" }, place + 1);
            }
            self.columns.push((quote(&name), column.column_type));
            names.push(name);
        }
        self.rows = 0;
        out.push('[');
    }

    fn row(&mut self, values: &[Value], out: &mut String) {
        out.push_str(if self.rows == 0 { "\n{" } else { ",\n{" });
        self.rows += 1;
        for (place, ((name, ty), value)) in self.columns.iter().zip(values).enumerate() {
            if place > 0 {
                out.push(',');
            }
            out.push_str(name);
            out.push(':');
            out.push_str(&json(value, ty));
        }
        out.push('}');
    }

    fn end(&mut self, out: &mut String) {
        out.push_str(if self.rows == 0 { "]\n" } else { "\n]\n" });
    }
}
