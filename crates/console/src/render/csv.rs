//! The CSV format, RFC 4180. NULL is an empty field, an empty string is two quotes.

use tds::client::ResultColumn;
use types::{ColumnType, Value};

use super::Render;
use super::value::text;

/// Writes results as CSV, with a blank line between two results.
#[derive(Default)]
pub(super) struct Csv {
    types: Vec<ColumnType>,
    results: usize,
}

fn put(cells: impl Iterator<Item = Option<String>>, out: &mut String) {
    for (place, cell) in cells.enumerate() {
        if place > 0 {
            out.push(',');
        }
        match cell {
            None => {}
            Some(cell) if cell.is_empty() || cell.contains([',', '"', '\n', '\r']) => {
                out.push('"');
                out.push_str(&cell.replace('"', "\"\""));
                out.push('"');
            }
            Some(cell) => out.push_str(&cell),
        }
    }
    out.push_str("\r\n");
}

impl Render for Csv {
    fn begin(&mut self, columns: &[ResultColumn], out: &mut String) {
        if self.results > 0 {
            out.push_str("\r\n");
        }
        self.results += 1;
        self.types = columns.iter().map(|column| column.column_type).collect();
        put(columns.iter().map(|column| Some(column.name.clone())), out);
    }

    fn row(&mut self, values: &[Value], out: &mut String) {
        put(values.iter().zip(&self.types).map(|(value, ty)| text(value, ty)), out);
    }

    fn end(&mut self, _out: &mut String) {}
}
