//! The table format: columns as wide as their content. If a row is wider than the terminal, the
//! widest columns are cut; if that is not enough, each row is written as a list of names and
//! values.

use tds::client::ResultColumn;
use types::{ColumnType, Value};
use unicode_width::UnicodeWidthStr;

use super::Render;
use super::value::{is_number, text};

/// Rows that are held back before the widths are chosen.
const SAMPLE_ROWS: usize = 500;
/// The narrowest width to which a column is cut.
const CELL_MIN: usize = 8;
/// The text between two columns.
const BETWEEN: &str = " | ";

/// Writes results as tables.
pub(super) struct Table {
    terminal: Option<usize>,
    names: Vec<String>,
    types: Vec<ColumnType>,
    /// Rows held back until the widths are known.
    held: Vec<Vec<String>>,
    shape: Option<Shape>,
}

enum Shape {
    /// A table with these column widths.
    Columns(Vec<usize>),
    /// A list for each row; the number of rows so far.
    List(usize),
}

impl Table {
    pub(super) fn new(terminal: Option<usize>) -> Self {
        Self { terminal, names: Vec::new(), types: Vec::new(), held: Vec::new(), shape: None }
    }

    /// Chooses the layout from the rows held back, and writes them.
    fn fix(&mut self, out: &mut String) {
        if self.shape.is_some() || self.names.is_empty() {
            return;
        }
        let mut widths: Vec<usize> = self.names.iter().map(|name| name.width()).collect();
        for row in &self.held {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width().max(*width);
            }
        }
        let shape = match self.terminal {
            Some(columns) if !fit(&mut widths, columns) => Shape::List(0),
            _ => Shape::Columns(widths),
        };
        if let Shape::Columns(widths) = &shape {
            self.put_header(widths, out);
        }
        self.shape = Some(shape);
        for row in std::mem::take(&mut self.held) {
            self.put(&row, out);
        }
    }

    fn put_header(&self, widths: &[usize], out: &mut String) {
        self.put_columns(&self.names, widths, out);
        for (place, width) in widths.iter().enumerate() {
            out.push_str(if place > 0 { "-+-" } else { "-" });
            out.extend(std::iter::repeat_n('-', *width));
        }
        out.push_str("-\n");
    }

    fn put(&mut self, row: &[String], out: &mut String) {
        match &mut self.shape {
            Some(Shape::List(rows)) => {
                *rows += 1;
                let wide = self.names.iter().map(|name| name.width()).max().unwrap_or(0);
                out.push_str(&format!("-- row {rows}\n"));
                for (name, cell) in self.names.iter().zip(row) {
                    out.push_str(&format!("{name}{} | {cell}\n", " ".repeat(wide - name.width())));
                }
            }
            Some(Shape::Columns(widths)) => {
                let widths = std::mem::take(widths);
                self.put_columns(row, &widths, out);
                self.shape = Some(Shape::Columns(widths));
            }
            None => {}
        }
    }

    fn put_columns(&self, cells: &[String], widths: &[usize], out: &mut String) {
        let mut line = String::from(" ");
        for (place, ((cell, width), ty)) in cells.iter().zip(widths).zip(&self.types).enumerate() {
            if place > 0 {
                line.push_str(BETWEEN);
            }
            let cell = cut(cell, *width);
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            let (before, after) = if is_number(&ty.data_type) {
                (blanks.as_str(), "")
            } else {
                ("", blanks.as_str())
            };
            line.push_str(before);
            line.push_str(&cell);
            line.push_str(after);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Narrows the widest columns until a row fits; returns `false` if it cannot.
fn fit(widths: &mut [usize], columns: usize) -> bool {
    let between = 2 + (widths.len() - 1) * BETWEEN.len();
    let Some(room) = columns.checked_sub(between) else { return false };
    loop {
        let total: usize = widths.iter().sum();
        if total <= room {
            return true;
        }
        let Some(widest) = widths.iter_mut().max() else { return true };
        if *widest <= CELL_MIN {
            return false;
        }
        // As much as needed at once, but not below half: another column may be the widest then.
        *widest = widest.saturating_sub(total - room).max(*widest / 2).max(CELL_MIN);
    }
}

/// Returns a cell of at most this width, with a mark if it was cut.
fn cut(cell: &str, width: usize) -> String {
    if cell.width() <= width {
        return cell.to_owned();
    }
    let mut kept = String::new();
    for character in cell.chars() {
        kept.push(character);
        if kept.width() >= width {
            kept.pop();
            break;
        }
    }
    kept.push('\u{2026}');
    kept
}

/// Returns a cell on one line: control characters are shown as text.
fn shown(text: String) -> String {
    if !text.contains(char::is_control) {
        return text;
    }
    let picture = |c: char| match u32::from(c) {
        control @ 0..0x20 => char::from_u32(0x2400 + control).unwrap_or(' '),
        0x7F..0xA0 => '\u{FFFD}',
        _ => c,
    };
    text.chars().map(picture).collect()
}

impl Render for Table {
    fn begin(&mut self, columns: &[ResultColumn], _out: &mut String) {
        self.names = columns.iter().map(|column| shown(column.name.clone())).collect();
        self.types = columns.iter().map(|column| column.column_type).collect();
        self.held.clear();
        self.shape = None;
    }

    fn row(&mut self, values: &[Value], out: &mut String) {
        let cell = |(value, ty): (&Value, &ColumnType)| {
            text(value, ty).map_or_else(|| "NULL".to_owned(), shown)
        };
        let row: Vec<String> = values.iter().zip(&self.types).map(cell).collect();
        if self.shape.is_some() {
            return self.put(&row, out);
        }
        self.held.push(row);
        if self.held.len() >= SAMPLE_ROWS {
            self.fix(out);
        }
    }

    fn settle(&mut self, out: &mut String) {
        self.fix(out);
    }

    fn end(&mut self, out: &mut String) {
        self.fix(out);
        self.names.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_columns_are_cut_until_a_row_fits() {
        let mut widths = [4, 100, 60];
        assert!(fit(&mut widths, 80));
        assert!(widths.iter().sum::<usize>() + 8 <= 80 && widths[0] == 4, "{widths:?}");
        assert!(widths[1].abs_diff(widths[2]) < 40, "{widths:?}");
        assert!(!fit(&mut [20; 20], 80));
        assert_eq!(cut("abcdef", 4), "abc\u{2026}");
        assert_eq!(cut("\u{4e2d}\u{6587}x", 4), "\u{4e2d}\u{2026}");
        assert_eq!(shown("a\nb\u{1b}".to_owned()), "a\u{240a}b\u{241b}");
    }
}
