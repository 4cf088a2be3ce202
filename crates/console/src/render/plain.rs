//! The plain format: columns as wide as their types require, as in sqlcmd, so that rows can be
//! written at once.

use tds::client::ResultColumn;
use types::{ColumnType, Value};

use super::value::{is_number, text};
use super::{Layout, Render};

/// The text of NULL; a nullable column is at least as wide.
const NULL: &str = "NULL";

struct Column {
    name: String,
    ty: ColumnType,
    width: usize,
    /// Whether values are written whole, without blanks behind them.
    is_open: bool,
}

/// Writes results in sqlcmd's format.
pub(super) struct Plain {
    layout: Layout,
    columns: Vec<Column>,
    rows: i32,
}

impl Plain {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, columns: Vec::new(), rows: 0 }
    }

    fn column(&self, column: &ResultColumn) -> Column {
        let ty = &column.column_type;
        let wide = ty
            .data_type
            .display_size()
            .map_or(usize::MAX, |size| usize::try_from(size).unwrap_or(usize::MAX));
        let is_fixed = wide < 256 && !(ty.data_type.is_string() || ty.data_type.is_large());
        let wide = if is_fixed { wide } else { wide.min(self.layout.variable_max) };
        let least = if ty.nullable { NULL.len() } else { 1 };
        let width = wide.max(least).max(column.name.chars().count());
        let is_open = !is_fixed && self.layout.variable_max == 0;
        Column { name: column.name.clone(), ty: *ty, width, is_open }
    }

    fn put_header(&self, out: &mut String) {
        let line = |out: &mut String, cell: &dyn Fn(&Column) -> String| {
            for (place, column) in self.columns.iter().enumerate() {
                if place > 0 {
                    out.push_str(&self.layout.separator);
                }
                let cell = cell(column);
                out.push_str(&cell);
                if !self.layout.trims {
                    out.extend(std::iter::repeat_n(' ', column.width - cell.chars().count()));
                }
            }
            out.push('\n');
        };
        line(out, &|column| column.name.clone());
        let dashes = |column: &Column| {
            let count = if self.layout.trims { column.name.chars().count() } else { column.width };
            "-".repeat(count)
        };
        line(out, &dashes);
    }
}

impl Render for Plain {
    fn begin(&mut self, columns: &[ResultColumn], out: &mut String) {
        self.columns = columns.iter().map(|column| self.column(column)).collect();
        self.rows = 0;
        if self.layout.header_rows >= 0 {
            self.put_header(out);
        }
    }

    fn row(&mut self, values: &[Value], out: &mut String) {
        if self.layout.header_rows > 0 && self.rows == self.layout.header_rows {
            out.push('\n');
            self.put_header(out);
            self.rows = 0;
        }
        self.rows += 1;
        for (place, (column, value)) in self.columns.iter().zip(values).enumerate() {
            if place > 0 {
                out.push_str(&self.layout.separator);
            }
            let cell = text(value, &column.ty).unwrap_or_else(|| NULL.to_owned());
            if self.layout.trims {
                out.push_str(cell.trim_end());
                continue;
            }
            if column.is_open {
                out.push_str(&cell);
                continue;
            }
            let length = cell.chars().count();
            let blanks = std::iter::repeat_n(' ', column.width.saturating_sub(length));
            if is_number(&column.ty.data_type) {
                out.extend(blanks);
                out.push_str(&cell);
            } else {
                out.extend(cell.chars().take(column.width));
                out.extend(blanks);
            }
        }
        out.push('\n');
    }

    fn end(&mut self, _out: &mut String) {
        self.columns.clear();
    }
}
